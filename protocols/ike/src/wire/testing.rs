//! Checks shared by the tests of all payloads: a written payload can be read, and every truncation is an error.

use keytoll_net::wire::{Reader, Writer};

use super::Payload;
use super::payload::{Generic, Unknown, read_chain};

/// The payload as a chain of one.
pub(crate) fn with_generic_header(payload: &Payload<'_>) -> Vec<u8> {
    let mut w = Writer::default();
    w.u8(payload.first_inside().map_or(0, |kind| kind.0));
    w.u8(if matches!(payload, Payload::Unknown(Unknown { critical: true, .. })) {
        Generic::CRITICAL
    } else {
        0
    });
    w.u16(0);
    payload.write_body(&mut w);
    let length = u16::try_from(w.len()).unwrap();
    w.patch_u16(2, length);
    w.finish()
}

/// Checks the round trip, and a decode error for every truncation.
pub(crate) fn check_codec(payload: &Payload<'_>) {
    let bytes = with_generic_header(payload);
    assert_eq!(read_chain(payload.kind(), &mut Reader::new(&bytes)), Ok(vec![*payload]));
    for cut in 0..bytes.len() {
        assert!(read_chain(payload.kind(), &mut Reader::new(&bytes[..cut])).is_err(), "cut at {cut}");
        check_shortened_body(payload, &bytes, cut);
    }
}

/// A truncated body with a corrected length field must be an error or another valid payload, never a panic.
fn check_shortened_body(payload: &Payload<'_>, bytes: &[u8], cut: usize) {
    if cut < Generic::LEN {
        return;
    }
    let mut shortened = bytes[..cut].to_vec();
    shortened[2..4].copy_from_slice(&u16::try_from(cut).unwrap().to_be_bytes());
    if let Ok(read) = read_chain(payload.kind(), &mut Reader::new(&shortened)) {
        assert_ne!(read, vec![*payload], "cut at {cut}");
    }
}
