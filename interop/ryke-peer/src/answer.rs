//! Responses that ryke has no function for: refusals, and IKE_AUTH with payloads of one's choice.

use ryke::ikev2::message::{encode_payload_chain, first_payload_type};
use ryke::{
    CompletedSaInit, Flags, IkeHeader, MessageBuilder, Notify, PayloadType, build_encrypted_gcm, notify_type,
    open_informational,
};

use crate::Outcome;

/// An encrypted response of IKE_AUTH.
pub fn ike_auth(
    sa: &CompletedSaInit,
    request: &[u8],
    inner: &[(PayloadType, Vec<u8>)],
    iv: &[u8; 8],
) -> Outcome<Vec<u8>> {
    let header = header(request, sa.spi_r)?;
    let first = first_payload_type(inner);
    Ok(build_encrypted_gcm(header, first, &encode_payload_chain(inner), &sa.keys.sk_er, iv)?)
}

/// AUTHENTICATION_FAILED, RFC 7296 §2.21.2.
pub fn not_authenticated(sa: &CompletedSaInit, request: &[u8], iv: &[u8; 8]) -> Outcome<Vec<u8>> {
    let notify = Notify::status(notify_type::AUTHENTICATION_FAILED, Vec::new());
    ike_auth(sa, request, &[(PayloadType::Notify, notify.to_bytes())], iv)
}

/// NO_PROPOSAL_CHOSEN in IKE_SA_INIT, RFC 7296 §2.21.1.
pub fn no_proposal(request: &[u8]) -> Outcome<Vec<u8>> {
    let notify = Notify::status(notify_type::NO_PROPOSAL_CHOSEN, Vec::new());
    Ok(MessageBuilder::new(header(request, 0)?).push(PayloadType::Notify, notify.to_bytes()).build())
}

/// Of the response to a request; the builders fill in the first payload and the length.
fn header(request: &[u8], spi: u64) -> Outcome<IkeHeader> {
    let asked = IkeHeader::parse(request)?;
    Ok(IkeHeader {
        initiator_spi: asked.initiator_spi,
        responder_spi: spi,
        next_payload: PayloadType::NoNext,
        major_version: 2,
        minor_version: 0,
        exchange_type: asked.exchange_type,
        flags: Flags { initiator: false, version: false, response: true },
        message_id: asked.message_id,
        length: 0,
    })
}

/// The numbers of error notifications in a response, for the message of a failure.
pub fn error_in(sa: &CompletedSaInit, response: &[u8]) -> String {
    let inner = open_informational(sa, response).unwrap_or_default();
    let notifies = inner.iter().filter(|(kind, _)| *kind == PayloadType::Notify);
    let errors = notifies.filter_map(|(_, body)| Notify::parse(body).ok()).filter(Notify::is_error);
    errors.map(|error| format!(", notification {}", error.notify_type)).collect()
}
