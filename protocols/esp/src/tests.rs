//! SA pairs against each other, damage against the receiver.

use keytoll_crypto::{Exponents, Real};
use keytoll_engine::Rng;
use keytoll_engine::algorithm::{Encryption, Integrity};
use proptest::prelude::*;

use super::*;

fn keys(encryption: Encryption, integrity: Option<Integrity>) -> Keys {
    let integrity = if encryption.is_aead() { None } else { integrity };
    Keys {
        encryption,
        integrity,
        encryption_key: Secret::new(vec![0x11; encryption.key_len()]),
        integrity_key: Secret::new(vec![0x22; integrity.map_or(0, Integrity::key_len)]),
    }
}

fn pair(encryption: Encryption, integrity: Option<Integrity>) -> (Outbound, Inbound) {
    let keys = keys(encryption, integrity);
    (Outbound::new(7, keys.clone()), Inbound::new(7, keys))
}

proptest! {
    #[test]
    fn what_was_sealed_opens(
        encryption in proptest::sample::select(Encryption::ALL),
        integrity in proptest::sample::select(Integrity::ALL),
        payload in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let (mut out, mut inb) = pair(encryption, Some(integrity));
        let (mut rng, mut crypto) = (Rng::named(1, "esp"), Real::new(Exponents::Short));
        let packet = out.seal(58, &payload, &mut rng, &mut crypto).unwrap();
        prop_assert_eq!(packet.len() % 4, 0);
        let opened = inb.open(&packet, &mut crypto).unwrap();
        prop_assert_eq!(opened, Opened { next_header: 58, payload });
        prop_assert_eq!(inb.open(&packet, &mut crypto), Err(Dropped::Replay));
    }

    #[test]
    fn a_flipped_bit_or_a_cut_is_refused(
        encryption in proptest::sample::select(Encryption::ALL),
        at in any::<prop::sample::Index>(), bit in 0..8_u8,
    ) {
        let (mut out, mut inb) = pair(encryption, Some(Integrity::HmacSha256_128));
        let (mut rng, mut crypto) = (Rng::named(1, "esp"), Real::new(Exponents::Short));
        let packet = out.seal(58, &[0; 64], &mut rng, &mut crypto).unwrap();
        let mut damaged = packet.clone();
        damaged[at.index(packet.len())] ^= 1 << bit;
        prop_assert!(inb.open(&damaged, &mut crypto).is_err());
        prop_assert!(inb.open(&packet[..at.index(packet.len())], &mut crypto).is_err());
        prop_assert!(inb.open(&packet, &mut crypto).is_ok());
    }
}

#[test]
fn an_exhausted_sequence_number_stops_the_sa() {
    let (mut out, _) = pair(Encryption::Aes128Gcm16, None);
    out.sequence = u32::MAX;
    let (mut rng, mut crypto) = (Rng::named(1, "esp"), Real::new(Exponents::Short));
    assert_eq!(out.seal(58, &[], &mut rng, &mut crypto), Err(SequenceExhausted));
}
