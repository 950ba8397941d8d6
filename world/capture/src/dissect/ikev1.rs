//! IKEv1 from the outside: RFC 2408 §3.1 (header), §3.2 (payloads), RFC 2409 §5 (exchanges). What is encrypted stays so.

use keytoll_engine::trace::names;
use keytoll_engine::wire::Reader;
use keytoll_ike::wire::Header;

use super::{Dissected, Part};

/// RFC 2408 §3.1: the body is encrypted.
const ENCRYPTED: u8 = 0x01;
/// As many payloads as an IKEv2 message may have.
const PAYLOADS_MAX: usize = 64;

pub(super) fn name(header: &Header) -> String {
    match header.exchange.0 {
        2 => "Main Mode".to_owned(),
        4 => "Aggressive Mode".to_owned(),
        5 => "Informational (IKEv1)".to_owned(),
        6 => format!("Transaction {:08x}", header.message_id),
        32 => format!("Quick Mode {:08x}", header.message_id),
        33 => "New Group Mode".to_owned(),
        other => format!("IKEv1 exchange {other}"),
    }
}

pub(super) fn dissect(bytes: &[u8], header: &Header, dissected: &mut Dissected) {
    if header.flags.0 & ENCRYPTED != 0 {
        dissected.parts.push(Part::bare("encrypted"));
        return;
    }
    let mut r = Reader::new(bytes);
    let mut kind = header.next_payload.0;
    let walked = r.skip(Header::LEN, "header").and_then(|()| {
        for _ in 0..PAYLOADS_MAX {
            if kind == 0 {
                break;
            }
            dissected.parts.push(Part::bare(payload_name(kind)));
            kind = r.u8("next payload")?;
            r.skip(1, "reserved")?;
            let length = r.u16("payload length")?;
            r.skip(usize::from(length).saturating_sub(4), "payload")?;
        }
        Ok(())
    });
    if let Err(error) = walked {
        dissected.remarks.push(format!("MALFORMED: {error}"));
    }
}

/// The registry's name, and those of drafts that are still spoken.
fn payload_name(kind: u8) -> String {
    match (names::ike_payload(kind), kind) {
        (_, 130) => "NAT-D".to_owned(),
        (_, 132) => "FRAG".to_owned(),
        ("?", _) => format!("payload type {kind}"),
        (name, _) => name.to_owned(),
    }
}
