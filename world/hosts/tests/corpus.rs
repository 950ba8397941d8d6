//! The fuzz targets `eap_peer` and `eap_server` without a fuzzer: their committed corpora, and random bytes.
//!
//! The corpora are genuine conversations of every method, once unchanged and once with every packet written out;
//! `KEYTOLL_BLESS=1` writes them anew. The fuzzer's findings are added beside them under any other name.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "this is a test: it may fail and say why")]

use crate::conversation;

use std::path::PathBuf;

use conversation::{CONVERSATIONS, Target, genuine, run};
use proptest::prelude::*;

const TARGETS: [(Target, &str); 2] = [(Target::Peer, "eap_peer"), (Target::Server, "eap_server")];

fn corpus(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name)
}

/// A step that sends a packet instead of the due one: its type and data, or its bytes if it has none.
fn spelt(packet: &[u8]) -> Vec<u8> {
    let length = |bytes: &[u8]| u16::try_from(bytes.len()).unwrap().to_be_bytes();
    match packet {
        [_, _, _, _, kind, data @ ..] => [&[3, *kind], &length(data)[..], data].concat(),
        end => [&[4], &length(end)[..], end].concat(),
    }
}

/// Conversations of every method: unchanged, written out, one after the other, and with an unavailable database.
fn seeds(target: Target) -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for choice in 0..CONVERSATIONS {
        let said = genuine(choice, target);
        let through = vec![0; said.len()];
        let spelt: Vec<u8> = said.iter().flat_map(|packet| spelt(packet)).collect();
        let again = [&through[..], &[7], &through, &[7], &through].concat();
        let mut add = |name: &str, steps: &[u8]| {
            seeds.push((format!("{choice:02}-{name}"), [&[choice], steps].concat()));
        };
        add("through", &through);
        add("three-times", &again);
        add("database-down", &[&[8, 4], &through[..]].concat());
        add("spelt", &spelt);
    }
    seeds
}

#[test]
fn the_corpora_are_complete() {
    for (target, name) in TARGETS {
        for (file, bytes) in seeds(target) {
            let path = corpus(name).join(file);
            if std::env::var_os("KEYTOLL_BLESS").is_some() {
                std::fs::create_dir_all(corpus(name)).unwrap();
                std::fs::write(&path, &bytes).unwrap();
            }
            assert!(path.exists(), "{} is missing; KEYTOLL_BLESS=1 writes it", path.display());
        }
    }
}

#[test]
fn the_corpora_hold() {
    for (target, name) in TARGETS {
        let files = std::fs::read_dir(corpus(name)).expect("the corpus is part of the repository");
        for file in files.map(|entry| entry.unwrap().path()) {
            println!("{}", file.display());
            run(&std::fs::read(&file).unwrap(), target);
        }
    }
}

/// Unchanged conversations succeed, also the second time: resumed, with a pseudonym, or fast.
#[test]
fn genuine_conversations_succeed() {
    for (target, name) in TARGETS {
        for (file, bytes) in seeds(target) {
            let wanted = file.ends_with("through") || file.ends_with("three-times");
            assert!(run(&bytes, target) || !wanted, "{name} {file}");
        }
    }
}

/// Steps of any kind, most of them harmless, so that conversations get somewhere.
fn steps() -> impl Strategy<Value = Vec<u8>> {
    let data = prop::collection::vec(any::<u8>(), 0..60);
    let with_data = |step: Vec<u8>, data: Vec<u8>| [step, vec![0, data.len() as u8], data].concat();
    let step = prop_oneof![
        8 => Just(vec![0]),
        2 => any::<[u8; 2]>().prop_map(|[at, byte]| vec![1, 0, at, byte]),
        1 => any::<u8>().prop_map(|cut| vec![2, 0, cut]),
        1 => (any::<u8>(), data.clone()).prop_map(move |(kind, data)| with_data(vec![3, kind % 60], data)),
        1 => data.prop_map(move |data| with_data(vec![4], data)),
        2 => (5..=6_u8, any::<u8>()).prop_map(|(step, which)| vec![step, which]),
        1 => Just(vec![7]),
        1 => any::<u8>().prop_map(|answer| vec![8, answer]),
    ];
    (0..CONVERSATIONS, prop::collection::vec(step, 0..40))
        .prop_map(|(choice, steps)| [vec![choice], steps.concat()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_conversation(bytes in steps()) {
        for (target, _) in TARGETS {
            run(&bytes, target);
        }
    }
}
