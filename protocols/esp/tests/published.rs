//! ESP packets that others made: RFC 7634 appendix A, and Linux's xfrm.

use crate::support;

use std::net::IpAddr;

use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::Encryption;
use keytoll_crypto_api::{Secret, TrafficKey};
use keytoll_esp::lifetime::Lifetime;
use keytoll_esp::replay::Window;
use keytoll_esp::selector::Flow;
use keytoll_esp::{Dropped, Frame, Inbound};
use keytoll_net::ip;
use support::checksum;

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect()
}

/// What is in a packet, and that the same packet is a replay then, and nothing when a bit of it is changed.
fn opened(encryption: Encryption, key: &[u8], high: Option<u64>, packet: &[u8]) -> Vec<u8> {
    let key = TrafficKey::new(encryption, None, Secret::from(key), Secret::default());
    let mut inbound = Inbound::with(0x222, key, high.is_some(), Window::default(), Lifetime::NONE);
    if let Some(high) = high {
        inbound.resume_after(high << 32);
    }
    let mut open = |packet: &[u8]| {
        let mut packet = packet.to_vec();
        let mut frame = Frame::whole(&mut packet);
        let next_header = inbound.open(&mut frame, &mut Real::default(), &mut ())?;
        assert_eq!(next_header, ip::protocol::IPV4, "{encryption}");
        Ok(frame.bytes().to_vec())
    };
    if encryption.is_aead() {
        let mut damaged = packet.to_vec();
        damaged[packet.len() / 2] ^= 0x40;
        assert_eq!(open(&damaged), Err(Dropped::Integrity), "{encryption}");
    }
    let inner = open(packet).unwrap_or_else(|why| panic!("{encryption}: {why}"));
    assert_eq!(open(packet), Err(Dropped::Replay), "{encryption}");
    inner
}

/// The kernel's packets carry pings, whose own checksums say that nothing was mistaken.
#[test]
fn linux() {
    let text = include_str!("published/linux.txt");
    let lines: Vec<_> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 8);
    for line in lines {
        let fields: Vec<_> = line.split(' ').collect();
        let &[algorithm, key, high, packet] = &fields[..] else { panic!("four fields: {line}") };
        let encryption = Encryption::named(algorithm).expect("an algorithm");
        let inner = opened(encryption, &bytes(key), high.parse().ok(), &bytes(packet));
        let (header, flow) = Flow::of(&inner).expect("an IP packet");
        let is_private = |address| matches!(address, IpAddr::V4(address) if address.octets()[0] == 10);
        assert!(is_private(flow.source()) && is_private(flow.destination()), "{flow:?}");
        assert_eq!((flow.protocol(), header.total_len, inner.len()), (1, 84, 84), "{algorithm}");
        assert_eq!(checksum(&inner[..20]), 0, "{algorithm}: the IPv4 header's checksum");
        assert_eq!(checksum(&inner[20..]), 0, "{algorithm}: the ICMP message's checksum");
    }
}

/// RFC 7634 appendix A.
#[test]
fn chacha20_poly1305() {
    let key = bytes("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3");
    let packet = bytes(concat!(
        "0102030400000005101112131415161724039428b97f417e3c13753a4f05087b",
        "67c352e6a7fab1b982d466ef407ae5c614ee8099d52844eb61aa95dfab4c02f7",
        "2aa71e7c4c4f64c9befe2facc638e8f3cbec163fac469b502773f6fb94e664da",
        "9165b82829f641e076aaa8266b7fb0f7b11b369907e1ad43",
    ));
    let inner = bytes(concat!(
        "45000054a6f200004001e778c6336405c000020508005b7a3a080000553bec10",
        "0007362708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
        "2425262728292a2b2c2d2e2f3031323334353637",
    ));
    assert_eq!(opened(Encryption::ChaCha20Poly1305, &key, None, &packet), inner);
}
