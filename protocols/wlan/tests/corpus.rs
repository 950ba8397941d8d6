//! Every file of the fuzz corpora through the functions that the fuzz targets call, and random bytes after them.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

mod eapol;
mod frame;
mod handshake;
mod sae;

use std::path::Path;

use proptest::prelude::*;

/// Passes every file of a corpus to `check`; returns how many there were.
fn replay(corpus: &str, check: impl Fn(&str, &[u8])) -> usize {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(corpus);
    let files = std::fs::read_dir(&directory).expect("the corpus is part of the repository");
    let paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        println!("{name}");
        check(&name, &std::fs::read(path).unwrap());
    }
    paths.len()
}

#[test]
fn the_corpus_of_sae() {
    let files = replay("wlan_sae", |name, bytes| {
        let accepted = sae::run(bytes);
        assert!(accepted >= 1 || !name.ends_with("-whole"), "{name} is an exchange with an end");
    });
    assert!(files >= 6, "only {files} files in the corpus");
}

/// A whole handshake installs keys on both sides.
#[test]
fn the_corpus_of_the_handshake() {
    let files = replay("wlan_handshake", |name, bytes| {
        let [ap, station] = handshake::run(bytes);
        assert!(ap >= 1 && station >= 1 || !name.ends_with("-whole"), "{name} is a handshake with an end");
    });
    assert!(files >= 10, "only {files} files in the corpus");
}

/// A name that ends in `-opened-3` says how many frames the keys open.
#[test]
fn the_corpus_of_frames() {
    let files = replay("wlan_frame", |name, bytes| {
        let expected = name.split_once("-opened-").map_or(0, |(_, number)| number.parse().unwrap());
        assert_eq!(frame::run(bytes), expected, "{name}");
    });
    assert!(files >= 10, "only {files} files in the corpus");
}

#[test]
fn the_corpus_of_key_descriptors() {
    let files = replay("eapol_key", |name, bytes| {
        let descriptors = eapol::run(bytes);
        assert!(descriptors >= 1 || !name.ends_with("-whole"), "{name} is a key descriptor");
    });
    assert!(files >= 8, "only {files} files in the corpus");
}

proptest! {
    #[test]
    fn any_bytes(bytes: Vec<u8>) {
        eapol::run(&bytes);
        frame::run(&bytes);
        handshake::run(&bytes);
        sae::run(&bytes);
    }

    #[test]
    fn any_steps(settings: u8, steps in prop::collection::vec((0_u8..6, any::<[u8; 4]>()), 0..40)) {
        let mut input = vec![settings];
        for (step, octets) in steps {
            input.push(step);
            input.extend(octets);
        }
        sae::run(&input);
    }

    #[test]
    fn any_steps_of_a_handshake(terms: u8, steps in prop::collection::vec((0_u8..8, any::<[u8; 2]>()), 0..24)) {
        let operands = |step| usize::from(step == 1) * 2 + usize::from(step == 3);
        let mut input = vec![terms];
        for (step, rest) in steps {
            input.push(step);
            input.extend_from_slice(&rest[..operands(step)]);
        }
        handshake::run(&input);
    }
}
