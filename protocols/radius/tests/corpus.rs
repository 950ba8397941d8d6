//! Every file of the fuzz corpora through the functions that the fuzz targets call, and random bytes after them.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

use crate::codec;

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

/// Files named `freeradius-…` and `rfc2865-…` are packets of their sources; the others are findings of the fuzzer.
#[test]
fn the_corpus_of_the_codec() {
    let files = replay("radius_codec", |name, bytes| {
        let is_packet = codec::check(bytes);
        let published = name.starts_with("freeradius-") || name.starts_with("rfc2865-");
        assert!(is_packet || !published, "{name} is a packet");
    });
    assert!(files >= 10, "only {files} files in the corpus");
}

#[test]
fn the_corpus_of_the_engines() {
    let files = replay("radius_engines", |_, bytes| codec::check_engines(bytes));
    assert!(files >= 10, "only {files} files in the corpus");
}

/// Attributes, mostly of known types, mostly with valid lengths.
fn attributes() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![prop::sample::select(vec![1_u8, 2, 24, 26, 32, 33, 40, 44, 79, 80]), any::<u8>()];
    let value =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..40), Just(vec![0; 16]), Just(vec![0, 0, 0, 1])];
    let attribute =
        (kind, value).prop_map(|(kind, value)| [vec![kind, value.len() as u8 + 2], value].concat());
    prop::collection::vec(attribute, 0..8).prop_map(|attributes| attributes.concat())
}

proptest! {
    #[test]
    fn any_bytes(bytes: Vec<u8>) {
        codec::check(&bytes);
        codec::check_engines(&bytes);
    }

    #[test]
    fn anything_said_by_one_who_knows_the_secret(choice: u8, attributes in attributes()) {
        codec::check_engines(&[vec![choice], attributes].concat());
    }
}
