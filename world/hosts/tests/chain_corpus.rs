//! The fuzz target `eap_chain` without a fuzzer: its committed corpus, and random bytes. `KEYTOLL_BLESS=1` writes the
//! corpus anew; the fuzzer's findings are added beside it under any other name.

#![allow(clippy::unwrap_used, reason = "this is a test: it may fail and say why")]

use std::path::PathBuf;

use crate::chain::{CHAINS, run};
use proptest::prelude::*;

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/eap_chain")
}

/// Genuine answers, enough for every method to finish.
const THROUGH: [u8; 12] = [0; 12];

/// Name and steps of each seed; one of each per chain.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let junk = |step: &[u8]| [step, &THROUGH].concat();
    vec![
        ("through", THROUGH.to_vec()),
        ("twice", [&THROUGH[..], &[10], &THROUGH].concat()),
        ("wrong-identifier", junk(&[1, 0, 1, 0x99])),
        ("wrong-identifier-later", junk(&[0, 1, 0, 1, 0x99])),
        ("wrong-code", junk(&[1, 0, 0, 1])),
        ("wrong-code-later", junk(&[0, 1, 0, 0, 1])),
        ("wrong-length", junk(&[1, 0, 3, 0xff])),
        ("cut-short", junk(&[2, 0, 4])),
        ("empty", junk(&[4, 0, 0])),
        ("nak", junk(&[0, 3, 3, 0, 1, 13])),
        ("another-type", junk(&[0, 3, 99, 0, 2, 1, 2])),
        ("another-type-again", [&[3, 99, 0, 2, 1, 2][..]; 6].concat()),
        ("success-at-once", vec![5, 0, 0]),
        ("failure-halfway", vec![0, 6, 9, 9]),
        ("lost-request", [&[8, 0, 9, 9], &THROUGH[..]].concat()),
        ("lost-for-good", vec![8, 0, 8, 9, 8, 9, 8, 9, 8, 9, 8, 9, 8, 9]),
        ("changed-radius", [&[7, 0, 0, 3], &THROUGH[..]].concat()),
        ("many", [&[10; 40][..], &[9, 9], &THROUGH].concat()),
    ]
}

#[test]
fn the_corpus_is_complete_and_runs_as_named() {
    for (name, steps) in seeds() {
        for chain in 0..CHAINS {
            let bytes = [&[chain], &steps[..]].concat();
            let path = corpus().join(format!("{chain:02}-{name}"));
            if std::env::var_os("KEYTOLL_BLESS").is_some() {
                std::fs::create_dir_all(corpus()).unwrap();
                std::fs::write(&path, &bytes).unwrap();
            }
            assert!(path.exists(), "{} is missing; KEYTOLL_BLESS=1 writes it", path.display());
            let let_in = run(&bytes);
            match name {
                "through" => assert_eq!(let_in, 1, "chain {chain}"),
                "twice" => assert_eq!(let_in, 2, "chain {chain}"),
                "success-at-once" | "failure-halfway" | "wrong-identifier" | "wrong-code" | "cut-short" => {
                    assert_eq!(let_in, 0, "chain {chain}, {name}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn all_findings_hold() {
    for entry in std::fs::read_dir(corpus()).unwrap() {
        run(&std::fs::read(entry.unwrap().path()).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_a_device_says_in_eap(bytes in proptest::collection::vec(prop_oneof![0..11_u8, any::<u8>()], 0..200)) {
        run(&bytes);
    }
}
