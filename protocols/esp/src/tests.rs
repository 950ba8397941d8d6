//! SA pairs against each other, damage against the receiver.

use keytoll_crypto::{Exponents, Real};
use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_crypto_api::{Rng, Secret};
use proptest::prelude::*;

use super::*;
use crate::lifetime::{Lifetime, Limit};
use crate::replay::Window;

fn key(encryption: Encryption, integrity: Option<Integrity>) -> TrafficKey {
    let integrity = if encryption.is_aead() { None } else { integrity };
    let secret = |byte, len| Secret::new(vec![byte; len]);
    let integrity_key = secret(0x22, integrity.map_or(0, Integrity::key_len));
    TrafficKey::new(encryption, integrity, secret(0x11, encryption.key_len()), integrity_key)
}

/// Both ends of one direction, with what they need besides.
struct Ends {
    out: Outbound,
    inb: Inbound,
    rng: Rng,
    crypto: Real,
}

impl Ends {
    fn new(encryption: Encryption, integrity: Integrity, esn: bool) -> Self {
        let key = key(encryption, Some(integrity));
        Self {
            out: Outbound::with(7, key.clone(), esn, Lifetime::NONE),
            inb: Inbound::with(7, key, esn, Window::default(), Lifetime::NONE),
            rng: Rng::named(1, "esp"),
            crypto: Real::new(Exponents::Short),
        }
    }

    fn seal_as(&mut self, next_header: u8, payload: &[u8]) -> Result<Vec<u8>, Dropped> {
        let mut buffer = [&[0xaa; HEADROOM], payload, &[0xbb; TAILROOM]].concat();
        let mut frame = Frame::new(&mut buffer, HEADROOM..HEADROOM + payload.len());
        self.out.seal(&mut frame, next_header, &mut self.rng, &mut self.crypto, &mut ())?;
        Ok(frame.bytes().to_vec())
    }

    fn seal(&mut self, payload: &[u8]) -> Vec<u8> {
        self.seal_as(58, payload).unwrap()
    }

    /// What comes out of a packet. Nothing may be left of one that is dropped.
    fn open(&mut self, packet: &[u8]) -> Result<(u8, Vec<u8>), Dropped> {
        let mut buffer = packet.to_vec();
        let mut frame = Frame::whole(&mut buffer);
        let opened = self.inb.open(&mut frame, &mut self.crypto, &mut ());
        let opened = opened.map(|next_header| (next_header, frame.bytes().to_vec()));
        assert!(opened.is_ok() || (frame.is_empty() && buffer.iter().all(|&byte| byte == 0)));
        opened
    }
}

fn suites() -> impl Strategy<Value = (Encryption, Integrity, bool)> {
    (proptest::sample::select(Encryption::ALL), proptest::sample::select(Integrity::ALL), any::<bool>())
}

proptest! {
    #[test]
    fn what_was_sealed_opens_once(
        (encryption, integrity, esn) in suites(), payload in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut ends = Ends::new(encryption, integrity, esn);
        // From the third packet on the keys are expanded.
        for _ in 0..4 {
            let packet = ends.seal(&payload);
            prop_assert_eq!(packet.len() % 4, 0);
            prop_assert_eq!(ends.open(&packet), Ok((58, payload.clone())));
            prop_assert_eq!(ends.open(&packet), Err(Dropped::Replay));
        }
    }

    #[test]
    fn a_flipped_bit_or_a_cut_is_refused(
        (encryption, integrity, esn) in suites(), at in any::<prop::sample::Index>(), bit in 0..8_u8, packets in 0..4,
    ) {
        let mut ends = Ends::new(encryption, integrity, esn);
        let packet = (0..=packets).map(|_| ends.seal(&[0; 64])).last().unwrap();
        let mut damaged = packet.clone();
        damaged[at.index(packet.len())] ^= 1 << bit;
        prop_assert!(ends.open(&damaged).is_err());
        prop_assert!(ends.open(&packet[..at.index(packet.len())]).is_err());
        prop_assert!(ends.open(&packet).is_ok());
    }

    /// RFC 4303 A2.2: the halves that are not sent are guessed right across the wrap.
    #[test]
    fn extended_numbers_pass_the_wrap((encryption, integrity, _) in suites(), before in 1_u64..100) {
        let mut ends = Ends::new(encryption, integrity, true);
        ends.out.resume_after((1 << 32) - before);
        ends.inb.resume_after((1 << 32) - before);
        let first = ends.seal(b"first");
        prop_assert!(ends.open(&first).is_ok());
        let packets: Vec<_> = (0..100).map(|_| ends.seal(b"next")).collect();
        prop_assert!(packets.iter().all(|packet| ends.open(packet).is_ok()));
        prop_assert_eq!(ends.inb.highest(), (1 << 32) - before + 101);
        // What lies below the window is taken for the next round of the numbers, as A2.2 must.
        let mut again = packets.iter().rev().map(|packet| ends.open(packet));
        prop_assert!(again.by_ref().take(64).all(|opened| opened == Err(Dropped::Replay)));
        prop_assert!(again.all(|opened| opened == Err(Dropped::Integrity)));
    }
}

/// One packet of an SA with extended numbers against a receiver without: what is authenticated differs.
#[test]
fn the_half_that_is_not_sent_is_authenticated() {
    for &encryption in Encryption::ALL {
        let mut ends = Ends::new(encryption, Integrity::HmacSha1_96, true);
        ends.inb = Inbound::new(7, key(encryption, Some(Integrity::HmacSha1_96)));
        let packet = ends.seal(b"payload");
        assert_eq!(ends.open(&packet), Err(Dropped::Integrity), "{encryption}");
    }
}

#[test]
fn an_exhausted_sequence_number_stops_the_sa() {
    for (esn, last) in [(false, u64::from(u32::MAX)), (true, u64::MAX)] {
        let mut ends = Ends::new(Encryption::Aes128Gcm16, Integrity::HmacSha1_96, esn);
        ends.out.resume_after(last - 1);
        assert!(ends.seal_as(58, &[]).is_ok());
        assert_eq!(ends.seal_as(58, &[]), Err(Dropped::SequenceOverflow));
        assert_eq!(ends.seal_as(58, &[]), Err(Dropped::SequenceOverflow));
    }
}

#[test]
fn dummy_packets_are_dropped_and_move_the_window() {
    let mut ends = Ends::new(Encryption::Aes128Gcm16, Integrity::HmacSha1_96, false);
    let dummy = ends.seal_as(keytoll_net::ip::protocol::NO_NEXT_HEADER, &[9; 40]).unwrap();
    assert_eq!(ends.open(&dummy), Err(Dropped::Dummy));
    assert_eq!(ends.inb.highest(), 1);
    assert!(Dropped::Dummy.is_silent());
}

#[test]
fn a_hard_lifetime_ends_both_directions() {
    let mut ends = Ends::new(Encryption::Aes128Gcm16, Integrity::HmacSha1_96, false);
    let lifetime = Lifetime { hard: Limit { packets: 2, bytes: u64::MAX }, ..Lifetime::NONE };
    let packets: Vec<_> = (0..3).map(|_| ends.seal(b"payload")).collect();
    ends.inb = Inbound::with(7, key(Encryption::Aes128Gcm16, None), false, Window::default(), lifetime);
    ends.out = Outbound::with(7, key(Encryption::Aes128Gcm16, None), false, lifetime);
    assert_eq!(
        packets.iter().map(|packet| ends.open(packet).err()).collect::<Vec<_>>(),
        [None, None, Some(Dropped::Lifetime)]
    );
    let sealed: Vec<_> = (0..3).map(|_| ends.seal_as(58, b"payload").err()).collect();
    assert_eq!(sealed, [None, None, Some(Dropped::Lifetime)]);
}

/// A successor is asked for once, however many packets passed since somebody asked; the soft limit and, while none has come,
/// half of what is left are what to ask for it at.
#[test]
fn a_soft_lifetime_is_told_once_by_the_receiver() {
    let mut ends = Ends::new(Encryption::Aes128Gcm16, Integrity::HmacSha1_96, false);
    let limit = |packets| Limit { packets, bytes: u64::MAX };
    let lifetime = Lifetime { soft: limit(2), hard: limit(6) };
    ends.inb = Inbound::with(7, key(Encryption::Aes128Gcm16, None), false, Window::default(), lifetime);
    let packets: Vec<_> = (0..6).map(|_| ends.seal(b"payload")).collect();
    let told: Vec<_> =
        packets[..3].iter().map(|packet| (ends.open(packet).is_ok(), ends.inb.take_soft())).collect();
    assert_eq!(told, [(true, false), (true, true), (true, false)]);
    // The fourth and the fifth each pass half of what was left.
    assert!(packets[3..].iter().all(|packet| ends.open(packet).is_ok()));
    assert_eq!([ends.inb.take_soft(), ends.inb.take_soft()], [true, false]);
}

/// Padding that is authentic and wrong: made with the cipher that leaves everything readable, its check value made anew.
#[test]
fn bad_padding_is_dropped_and_nothing_of_it_released() {
    use keytoll_crypto_api::Crypto;
    let integrity = Integrity::HmacSha1_96;
    let mut ends = Ends::new(Encryption::Null, integrity, false);
    let good = ends.seal(&[1, 2, 3, 4, 5]);
    // Payload of 5, so padding 1, its length 1, next header 58: each wrong in turn.
    for (at, byte) in [(13, 2), (14, 7), (14, 255)] {
        let mut bad = good.clone();
        bad[at] = byte;
        let text = bad.len() - integrity.tag_len();
        let tag = ends.crypto.mac(integrity, &[0x22; 20], &[&bad[..text]]);
        bad[text..].copy_from_slice(&tag);
        ends.inb = Inbound::new(7, key(Encryption::Null, Some(integrity)));
        assert_eq!(ends.open(&bad), Err(Dropped::Padding), "byte {at} {byte}");
    }
}

/// Every way to be too short has a field and an offset; every cut of a packet is one of them or fails its check.
#[test]
fn short_packets_say_which_field_is_cut() {
    let mut ends = Ends::new(Encryption::Aes128Cbc, Integrity::HmacSha256_128, false);
    let packet = ends.seal(&[0; 30]);
    let cut = |ends: &mut Ends, len: usize| ends.open(&packet[..len]).unwrap_err().to_string();
    assert_eq!(cut(&mut ends, 3), "malformed: SPI at offset 0: needs 4 bytes, 3 are left");
    assert_eq!(cut(&mut ends, 7), "malformed: Sequence Number at offset 4: needs 4 bytes, 3 are left");
    assert_eq!(cut(&mut ends, 20), "malformed: IV at offset 8: needs 16 bytes, 12 are left");
    assert_eq!(
        cut(&mut ends, 41),
        "malformed: Pad Length, Next Header, ICV at offset 24: needs 18 bytes, 17 are left"
    );
    assert_eq!(cut(&mut ends, 45), "ciphertext is not a multiple of the block size");
    for len in 0..packet.len() {
        let why = ends.open(&packet[..len]).unwrap_err();
        assert!(matches!(why, Dropped::Malformed(_) | Dropped::Blocks | Dropped::Integrity), "{len}: {why}");
    }
}
