//! Properties that hold for arbitrary bytes as an ISAKMP message: the one function behind `tests/corpus.rs`, the property test
//! and the fuzz target `ikev1_codec`. RFC 2408 §3.

use keytoll_ike::number::PayloadType;
use keytoll_ike::v1::number::IDENTITY_PROTECTION;
use keytoll_ike::v1::proposal::{Phase1Transform, Phase2Transform};
use keytoll_ike::v1::wire::payload::read_chain;
use keytoll_ike::v1::wire::{Attributes, Message, Payload};
use keytoll_ike::wire::{Flags, Header};
use keytoll_net::wire::Reader;

/// Decodes the bytes as a message and as the contents of an encrypted one; anything decoded is the same after encoding and
/// decoding again. Whether it is a message, and whether it is a chain of payloads after the type of the first.
pub(crate) fn check(bytes: &[u8]) -> (bool, bool) {
    let is_inside = bytes.split_first().is_some_and(|(&first, chain)| check_chain(PayloadType(first), chain));
    (check_message(bytes), is_inside)
}

fn check_message(bytes: &[u8]) -> bool {
    let Ok(message) = Message::read(bytes) else { return false };
    let again = message.write();
    let read = Message::read(&again).unwrap();
    // RFC 2408 §3: ours are aligned to four octets.
    let header = Header { length: message.header.length, ..read.header };
    assert_eq!((header, &read.payloads), (message.header, &message.payloads));
    assert_eq!((again.len() % 4, read.write()), (0, again));
    message.payloads.iter().for_each(walk);
    true
}

/// The decrypted payloads of a message, the first one of type `first`, followed by padding.
fn check_chain(first: PayloadType, chain: &[u8]) -> bool {
    let Ok(located) = read_chain(first, &mut Reader::new(chain)) else { return false };
    assert!(located.iter().all(|one| one.end <= chain.len()), "payloads end inside the message");
    let payloads: Vec<Payload<'_>> = located.iter().map(|one| one.payload).collect();
    payloads.iter().for_each(walk);
    let header = Header::new((1, 2), IDENTITY_PROTECTION, Flags::NONE, 0);
    let header = Header { version: Header::VERSION_1, ..header };
    let again = Message { header, payloads: payloads.clone() }.write();
    assert_eq!(Message::read(&again).map(|message| message.payloads), Ok(payloads));
    true
}

/// Iterates over the lists inside a payload.
fn walk(payload: &Payload<'_>) {
    match payload {
        Payload::SecurityAssociation(sa) => {
            assert!(sa.proposals().count() > 0, "an SA payload without proposals is refused");
            for transform in sa.proposals().flat_map(|proposal| proposal.transforms()) {
                let _ = (Phase1Transform::read(&transform), Phase2Transform::read(&transform));
                let bytes = transform.attributes.as_bytes();
                let again = Attributes::read(&mut Reader::new(bytes));
                assert_eq!(again, Ok(transform.attributes), "attributes are read alike on their own");
            }
        }
        Payload::Identification(id) => {
            assert!(!id.to_identity().to_string().is_empty(), "identities have a text");
        }
        Payload::Delete(delete) => {
            assert!(delete.child_spis().count() == 0 || delete.cookies().count() == 0, "of one protocol");
        }
        _ => {}
    }
}
