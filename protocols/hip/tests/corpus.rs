//! Every file of the fuzz corpora through the functions that the fuzz targets call, and random bytes after them.

use crate::{codec, responder};

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

/// Files named after an exchange are packets of it.
#[test]
fn the_corpus_of_the_codec() {
    let files = replay("hip_codec", |name, bytes| {
        let is_packet = codec::check(bytes);
        let recorded = name.starts_with("base-") || name.starts_with("diet-");
        assert!(is_packet || !recorded, "{name} is a packet");
    });
    assert!(files >= 10, "only {files} files in the corpus");
}

/// A whole exchange brings an association up.
fn assert_whole(name: &str, up: usize) {
    assert!(up == 1 || !name.ends_with("-whole"), "{name} is an exchange with an end");
}

#[test]
fn the_corpus_of_the_responder() {
    let files = replay("hip_responder", |name, bytes| assert_whole(name, responder::run(bytes)));
    assert!(files >= 10, "only {files} files in the corpus");
}

#[test]
fn the_corpus_of_the_responder_of_the_diet_exchange() {
    let files = replay("hip_diet_responder", |name, bytes| assert_whole(name, responder::run_diet(bytes)));
    assert!(files >= 10, "only {files} files in the corpus");
}

proptest! {
    #[test]
    fn any_bytes(bytes: Vec<u8>) {
        codec::check(&bytes);
        responder::run(&bytes);
        responder::run_diet(&bytes);
    }

    #[test]
    fn any_steps(exchange in 0_u8..3, packets in 0_u8..64, steps in prop::collection::vec((0_u8..5, any::<[u8; 3]>()), 0..12)) {
        let mut input = vec![exchange, packets];
        for (step, rest) in steps {
            let len = [0, 3, 0, 0, 1][usize::from(step)];
            input.push(step);
            input.extend_from_slice(if step == 0 { &[0, 0] } else { &rest[..len] });
        }
        responder::run(&input);
        responder::run_diet(&input);
    }
}
