//! Arbitrary bytes as messages observed with an encryption key: the fuzz target `ikev1_overheard`, and the test that replays
//! its corpus. RFC 2409 appendix B.
//!
//! Null cryptography, so that the bytes can forge everything. The format:
//!
//!   KeyLen(1) Step(*)
//!   Arrives(1) Length(2) Bytes(*)               a message, which is delivered if the first bit is set

use keytoll_crypto::Null;
use keytoll_ike::v1::overheard::{NotOpened, Overheard};
use keytoll_ike::v1::wire::Message;
use keytoll_ike::wire::Header;
use keytoll_net::wire::Reader;

/// Runs the bytes; returns how many messages were unencrypted, how many were decrypted, and how many were not.
///
/// # Panics
/// If a decrypted message is not what the message carries.
pub(crate) fn run(bytes: &[u8]) -> [usize; 3] {
    let mut r = Reader::new(bytes);
    let mut counts = [0; 3];
    let Ok(key_len) = r.u8("key length") else { return counts };
    let key = vec![0; usize::from(key_len)];
    let mut overheard = Overheard::default();
    while let Some((arrives, message)) = step(&mut r) {
        if let Some(outcome) = hear(&mut overheard, message, &key, arrives) {
            counts[outcome] += 1;
        }
    }
    counts
}

fn step<'a>(r: &mut Reader<'a>) -> Option<(bool, &'a [u8])> {
    let arrives = r.u8("arrives").ok()? & 1 == 1;
    let length = usize::from(r.u16("length").ok()?).min(r.len());
    Some((arrives, r.take(length, "bytes").ok()?))
}

fn hear(overheard: &mut Overheard, bytes: &[u8], key: &[u8], arrives: bool) -> Option<usize> {
    let header = Header::read(&mut Reader::new(bytes)).ok()?;
    if !header.flags.is_encrypted() {
        overheard.note(&Message::read(bytes).ok()?);
        return Some(0);
    }
    let had_suite = overheard.chosen().is_some();
    match overheard.open((&header, bytes), key, arrives, &mut Null) {
        Ok(opened) => {
            assert!(had_suite, "nothing is opened without a suite");
            assert_eq!(opened.plaintext(), &bytes[Header::LEN..], "null encryption changes nothing");
            assert!(
                opened.payloads().is_ok_and(|payloads| !payloads.is_empty()),
                "there is something inside"
            );
            Some(1)
        }
        Err(why) => {
            assert!(had_suite || why == NotOpened::NoPhase1, "{why}");
            Some(2)
        }
    }
}
