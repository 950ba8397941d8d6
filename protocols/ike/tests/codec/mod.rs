//! Properties that hold for arbitrary bytes: the one function behind `tests/corpus.rs` and the fuzz target `ikev2_codec`.
//! RFC 7296 §3.

use keytoll_ike::number::PayloadType;
use keytoll_ike::v2::protect::Envelope;
use keytoll_ike::v2::signature::DigitalSignature;
use keytoll_ike::wire::payload::read_chain;
use keytoll_ike::wire::{Flags, Header, Message, MessageBuilder, Payload};
use keytoll_net::wire::Reader;

/// What some bytes decode to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// A message.
    pub(crate) is_message: bool,
    /// The type of a first payload, and the contents of an encrypted message.
    pub(crate) is_inside: bool,
}

/// Decodes the bytes both ways; anything decoded is the same after encoding and decoding again.
pub(crate) fn check(bytes: &[u8]) -> Meaning {
    let _ = Envelope::read(bytes);
    let is_inside = bytes.split_first().is_some_and(|(&first, chain)| check_chain(PayloadType(first), chain));
    Meaning { is_message: check_message(bytes), is_inside }
}

fn check_message(bytes: &[u8]) -> bool {
    let Ok(message) = Message::read(bytes) else { return false };
    let again = message.write();
    assert_eq!(Message::read(&again).as_ref(), Ok(&message));
    message.payloads.iter().for_each(walk);
    true
}

/// The decrypted payloads of a message; the first one is of type `first`.
fn check_chain(first: PayloadType, chain: &[u8]) -> bool {
    let Ok(payloads) = read_chain(first, &mut Reader::new(chain)) else { return false };
    payloads.iter().for_each(walk);
    let header = Header::new((1, 2), keytoll_ike::number::ExchangeType::IKE_AUTH, Flags::NONE, 1);
    let mut builder = MessageBuilder::plain(&header);
    payloads.iter().for_each(|payload| builder.push(payload));
    let again = builder.finish();
    assert_eq!(Message::read(&again).map(|message| message.payloads), Ok(payloads));
    true
}

/// Iterates over the lists inside a payload and formats what can be formatted.
fn walk(payload: &Payload<'_>) {
    match payload {
        Payload::SecurityAssociation(sa) => {
            let proposals = sa.proposals().map(|proposal| proposal.to_owned().transforms.len());
            assert!(proposals.count() > 0, "an SA payload without proposals is refused");
        }
        Payload::IdInitiator(id) | Payload::IdResponder(id) => {
            assert!(!id.to_identity().to_string().is_empty(), "identities have a text");
        }
        Payload::SelectorsInitiator(selectors) | Payload::SelectorsResponder(selectors) => {
            for selector in selectors.selectors() {
                assert_eq!(selector.narrow(&selector), Some(selector));
                assert!(!selector.to_string().is_empty(), "selectors have a text");
            }
        }
        Payload::Configuration(configuration) => {
            for attribute in configuration.attributes() {
                assert!(
                    attribute.ipv4().is_none() || attribute.ipv6().is_none(),
                    "no value is of both families"
                );
            }
        }
        Payload::Authentication(auth) => {
            let _ = DigitalSignature::read(auth.data);
        }
        Payload::CertificateRequest(request) => {
            assert!(request.authorities().count() < 4096, "a payload has no room for more");
        }
        Payload::Delete(delete) => assert!(delete.spis().count() < 16_384, "a payload has no room for more"),
        _ => {}
    }
}
