//! The contents of a request, once it is authenticated. RFC 2865 §4.1, RFC 2866 §4.1, RFC 3579 §3.

use keytoll_crypto_api::Crypto;
use keytoll_net::Socket;
use keytoll_net::wire::{DecodeError, Problem, Reader};

use super::config::Client;
use super::event::{Accounting, Credential};
use crate::number::{AcctStatus, AttributeType};
use crate::protect::{chap, password};
use crate::wire::{Attributes, Authenticator, Packet, State, eap_message};

/// The parts of a request that its response needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReplyTo {
    /// The client.
    pub(super) from: Socket,
    /// The address the request was sent to.
    pub(super) to: Socket,
    pub(super) identifier: u8,
    pub(super) authenticator: Authenticator,
    pub(super) user_name: Vec<u8>,
    /// RFC 2865 §5.33: returned in their order, untouched.
    pub(super) proxy_states: Attributes,
}

impl ReplyTo {
    pub(super) fn read(from: Socket, to: Socket, packet: &Packet<'_>) -> Result<Self, DecodeError> {
        let is_proxy_state = |kind| kind == AttributeType::PROXY_STATE;
        let proxy_states = packet.attributes.iter().filter(|attribute| is_proxy_state(attribute.kind()));
        let user_name = optional(packet, AttributeType::USER_NAME)?;
        let Packet { identifier, authenticator, .. } = *packet;
        Ok(Self { from, to, identifier, authenticator, user_name, proxy_states: proxy_states.collect() })
    }
}

/// An Access-Request.
#[derive(Debug)]
pub(super) struct AccessRequest {
    pub(super) state: Option<State>,
    /// `None` if there is none of a known kind.
    pub(super) credential: Option<Credential>,
    pub(super) attributes: Attributes,
}

impl AccessRequest {
    pub(super) fn read(
        packet: &Packet<'_>,
        client: &Client,
        crypto: &mut dyn Crypto,
    ) -> Result<Self, DecodeError> {
        let state = State::read(&packet.attributes)?;
        let credential = credential(packet, client, crypto)?;
        let ours = [
            AttributeType::USER_PASSWORD,
            AttributeType::CHAP_PASSWORD,
            AttributeType::CHAP_CHALLENGE,
            AttributeType::STATE,
            AttributeType::PROXY_STATE,
            AttributeType::EAP_MESSAGE,
            AttributeType::MESSAGE_AUTHENTICATOR,
        ];
        Ok(Self { state, credential, attributes: without(packet, &ours) })
    }
}

// RFC 3579 §3.3: a request carries a password, its proof or EAP-Messages, and only one of them.
fn credential(
    packet: &Packet<'_>,
    client: &Client,
    crypto: &mut dyn Crypto,
) -> Result<Option<Credential>, DecodeError> {
    let eap = eap_message::join(&packet.attributes)?;
    let hidden = packet.attributes.at_most_one(AttributeType::USER_PASSWORD)?;
    let proof = packet.attributes.at_most_one(AttributeType::CHAP_PASSWORD)?;
    match (eap, hidden, proof) {
        (Some(_), Some(hidden), _) => Err(hidden.error("User-Password", Problem::Repeated)),
        (Some(_), None, Some(proof)) | (None, Some(_), Some(proof)) => {
            Err(proof.error("CHAP-Password", Problem::Repeated))
        }
        (Some(eap), None, None) => Ok(Some(Credential::Eap(eap))),
        (None, Some(hidden), None) => {
            let password = password::reveal(hidden, &packet.authenticator, &client.secret, crypto)?;
            Ok(Some(Credential::Password(password)))
        }
        (None, None, Some(proof)) => {
            Ok(Some(Credential::Chap(chap::Answer::read(proof, &challenge(packet)?)?)))
        }
        (None, None, None) => Ok(None),
    }
}

// RFC 2865 §5.3: the challenge is in CHAP-Challenge if that is present, else it is the Request Authenticator.
fn challenge(packet: &Packet<'_>) -> Result<Vec<u8>, DecodeError> {
    let value = packet.attributes.at_most_one(AttributeType::CHAP_CHALLENGE)?;
    Ok(value.map_or_else(|| packet.authenticator.to_vec(), |mut value| value.rest().to_vec()))
}

/// The contents of an Accounting-Request.
pub(super) fn read_accounting(client: Socket, packet: &Packet<'_>) -> Result<Accounting, DecodeError> {
    let mut value = packet.attributes.exactly_one(AttributeType::ACCT_STATUS_TYPE)?;
    let at = value;
    let number = value.u32("Acct-Status-Type")?;
    value.end("Acct-Status-Type")?;
    let status = AcctStatus::from_number(number)
        .ok_or_else(|| at.error("Acct-Status-Type", Problem::Value(number.into())))?;
    // RFC 2866 §4.1: every report identifies its session.
    let session_id = packet.attributes.exactly_one(AttributeType::ACCT_SESSION_ID)?.rest().to_vec();
    let user_name = optional(packet, AttributeType::USER_NAME)?;
    Ok(Accounting {
        client,
        status,
        session_id,
        user_name,
        attributes: without(packet, &[AttributeType::PROXY_STATE]),
    })
}

fn optional(packet: &Packet<'_>, kind: AttributeType) -> Result<Vec<u8>, DecodeError> {
    let value = packet.attributes.at_most_one(kind)?;
    Ok(value.map(|mut value: Reader<'_>| value.rest().to_vec()).unwrap_or_default())
}

fn without(packet: &Packet<'_>, kinds: &[AttributeType]) -> Attributes {
    packet.attributes.iter().filter(|attribute| !kinds.contains(&attribute.kind())).collect()
}
