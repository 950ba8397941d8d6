//! The fuzz targets without a fuzzer: their committed corpora, and random bytes after them.
//!
//! Files named `seed-…` are packets of the tests' own, so that the fuzzer need not guess what one looks like; others are
//! what it found.

use crate::hostile;

use std::path::Path;

use keytoll_crypto_api::algorithm::Integrity;
use proptest::prelude::*;

fn replay(corpus: &str, check: fn(&[u8]) -> bool) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(corpus);
    let files = std::fs::read_dir(&directory).expect("the corpus is part of the repository");
    let paths: Vec<_> = files.map(|entry| entry.expect("a file").path()).collect();
    assert!(paths.len() >= 10, "only {} files in {corpus}", paths.len());
    for path in paths {
        let taken = check(&std::fs::read(&path).expect("a file"));
        let is_seed = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seed-"));
        assert!(taken || !is_seed, "{} is a packet", path.display());
    }
}

#[test]
fn the_corpora() {
    replay("esp_input", hostile::esp);
    replay("ah_input", hostile::ah);
}

/// RFC 8200 §3: an IPv6 packet may be 40 bytes longer than 16 bits tell, and what AH leaves of it still too long for them.
#[test]
fn ah_opens_the_longest_packet_of_ipv6() {
    for (how, integrity) in Integrity::ALL.iter().enumerate() {
        let ah_len = (12 + integrity.tag_len()).next_multiple_of(8);
        let mut packet = [&[0x60, 0, 0, 0, 0xff, 0xff, 51, 64][..], &[1; 32]].concat();
        packet.extend([59, (ah_len / 4 - 2) as u8, 0, 0, 0, 0, 2, 0x22, 0, 0, 0, 1]);
        packet.resize(40 + 0xffff, 0);
        assert!(hostile::ah(&[&[how as u8], &packet[..]].concat()), "{integrity:?}");
    }
}

/// Something like an IP packet with something like ESP or AH behind it, or like ESP alone.
fn packets() -> impl Strategy<Value = Vec<u8>> {
    let v4 = |protocol: u8| {
        (0..8_u8, any::<[u8; 2]>()).prop_map(move |(options, [flags, offset])| {
            let (flags, offset) = if flags % 4 == 0 { (flags, offset) } else { (0, 0) };
            let mut head = vec![
                0x45 + options,
                0,
                0,
                0,
                0,
                0,
                flags,
                offset,
                64,
                protocol,
                0,
                0,
                1,
                1,
                1,
                1,
                2,
                2,
                2,
                2,
            ];
            head.resize(20 + usize::from(options) * 4, 1);
            head
        })
    };
    let v6 = |protocol: u8| {
        proptest::collection::vec(proptest::sample::select(&[0_u8, 43, 44, 60][..]), 0..4).prop_map(
            move |kinds| {
                let mut head = [&[0x60, 0, 0, 0, 0, 0, 0, 64][..], &[1; 32]].concat();
                let mut at = 6;
                for kind in kinds {
                    head[at] = kind;
                    at = head.len();
                    head.extend([0, 0, 1, 0, 0, 0, 0, 0]);
                }
                head[at] = protocol;
                head
            },
        )
    };
    let protocol = proptest::sample::select(&[4_u8, 6, 17, 41, 50, 51, 58][..]);
    let head = prop_oneof![protocol.clone().prop_flat_map(v4), protocol.prop_flat_map(v6), Just(Vec::new()),];
    let spi = prop_oneof![4 => Just(vec![0, 0, 2, 0x22, 0, 0, 0, 1]), 1 => Just(vec![5, 4, 0, 0, 0, 0, 2, 0x22, 0, 0, 0, 1])];
    let tail = (0..60_usize, proptest::collection::vec(any::<u8>(), 0..40), 0..40_usize);
    (head, spi, tail).prop_map(|(head, spi, (before, noise, zeros))| {
        let mut packet = [&head[..], &spi, &vec![0; before], &noise, &vec![0; zeros]].concat();
        let len = packet.len();
        match head.first().map(|first| first >> 4) {
            Some(4) => packet[2..4].copy_from_slice(&(len as u16).to_be_bytes()),
            Some(6) => packet[4..6].copy_from_slice(&(len as u16 - 40).to_be_bytes()),
            _ => {}
        }
        packet
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn packets_of_any_shape(choice in any::<[u8; 2]>(), packet in packets()) {
        hostile::esp(&[&choice[..], &packet].concat());
        hostile::ah(&[&choice[..1], &packet].concat());
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        hostile::esp(&bytes);
        hostile::ah(&bytes);
    }
}
