//! The fuzz target `ikev2_responder` without a fuzzer: its committed corpus, and random bytes.
//!
//! The corpus is the messages of one genuine conversation, each as the first step in its state and all in sequence;
//! `KEYTOLL_BLESS=1` writes it anew. The fuzzer's findings are added beside it under any other name.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "this is a test: it may fail and say why")]

use crate::support;

use std::path::PathBuf;

use keytoll_ike::Command;
use proptest::prelude::*;
use support::lab::psk;
use support::{Bench, Side, responder};

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ikev2_responder")
}

#[test]
fn the_corpus_holds() {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= seeds().len(), "{} files", files.len());
    for file in files {
        println!("{}", file.display());
        responder::run(&std::fs::read(&file).unwrap());
    }
}

#[test]
fn the_corpus_is_a_whole_conversation() {
    for (name, bytes) in seeds() {
        let file = corpus().join(name);
        if std::env::var_os("KEYTOLL_BLESS").is_some() {
            std::fs::create_dir_all(corpus()).unwrap();
            std::fs::write(&file, &bytes).unwrap();
        }
        let committed = std::fs::read(&file).unwrap_or_default();
        assert!(committed == bytes, "{} is another one; KEYTOLL_BLESS=1 writes it anew", file.display());
    }
}

/// What `I` sends to `R` in one conversation about everything, as steps of the fuzz target.
fn conversation() -> Vec<(u8, Vec<u8>)> {
    let mut bench = Bench::null(psk(), 1).established();
    let wishes: [fn(&mut Bench) -> Command; 6] = [
        |bench| Command::CreateChild(bench.sa(Side::I)),
        |bench| Command::Probe(bench.sa(Side::I)),
        |bench| Command::RekeyChild(bench.sa(Side::I), bench.i.books.all_children()[0].1.pair.inbound_spi),
        |bench| Command::DeleteChild(bench.sa(Side::I), bench.i.books.all_children()[0].1.pair.inbound_spi),
        |bench| Command::RekeyIke(bench.sa(Side::I)),
        |bench| Command::Delete(bench.sa(Side::I)),
    ];
    for wish in wishes {
        let command = wish(&mut bench);
        bench.command(Side::I, command);
        bench.settle();
    }
    let from_i = bench.sent.iter().filter(|(side, _)| *side == Side::I);
    from_i.map(|(_, datagram)| (datagram.bytes[18], step(&datagram.bytes))).collect()
}

/// A message as a step: unchanged before there are keys, else its decrypted contents.
fn step(message: &[u8]) -> Vec<u8> {
    let length = |bytes: &[u8]| u16::try_from(bytes.len()).unwrap().to_be_bytes();
    if message[16] != 46 {
        return [&[0], &length(message)[..], message].concat();
    }
    let inside = &message[28 + 4 + 8..message.len() - 16];
    let chain = &inside[..inside.len() - 1 - usize::from(*inside.last().unwrap())];
    [&[1, message[18], message[19], message[28]], &length(chain)[..], chain].concat()
}

fn seeds() -> Vec<(String, Vec<u8>)> {
    let steps = conversation();
    let state = |exchange: u8| match exchange {
        34 => 0,
        35 => 1,
        _ => 2,
    };
    let alone = |(n, (exchange, step)): (usize, &(u8, Vec<u8>))| {
        (format!("step-{n:02}-exchange-{exchange}"), [&[state(*exchange)], &step[..]].concat())
    };
    let mut seeds: Vec<(String, Vec<u8>)> = steps.iter().enumerate().map(alone).collect();
    let row: Vec<u8> = steps.iter().flat_map(|(_, step)| step.clone()).collect();
    seeds.push(("all".to_owned(), [&[0], &row[..]].concat()));
    for state in 2..=4 {
        let later: Vec<u8> =
            steps.iter().skip(2).flat_map(|(_, step)| [step.clone(), vec![2]].concat()).collect();
        seeds.push((format!("all-and-ticks-in-state-{state}"), [&[state], &later[..]].concat()));
        let wishes: Vec<u8> = (0..6).flat_map(|which| [3, which, 2]).collect();
        seeds.push((format!("wishes-in-state-{state}"), [&[state], &wishes[..]].concat()));
    }
    seeds.extend(cleartext_seeds(&steps));
    seeds
}

/// The first protected message of each state after unencrypted bytes: a few, the maximum that is accepted, one octet more,
/// and nearly a whole datagram.
fn cleartext_seeds(steps: &[(u8, Vec<u8>)]) -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (state, of) in [(1, 35), (2, 37)] {
        let (_, step) =
            steps.iter().find(|(exchange, _)| *exchange == of).expect("it is in the conversation");
        for cleartext in [4, 1024, 1025, 65_000_u16] {
            let step = [&[0x81], &cleartext.to_be_bytes()[..], &step[1..]].concat();
            seeds.push((format!("exchange-{of}-behind-{cleartext}-octets"), [&[state], &step[..]].concat()));
        }
    }
    seeds
}

/// Steps of the conversation, slightly damaged, in any order.
fn damaged_steps() -> impl Strategy<Value = Vec<u8>> {
    let steps: Vec<Vec<u8>> = conversation().into_iter().map(|(_, step)| step).collect();
    let one = (0..steps.len() + 2, any::<prop::sample::Index>(), any::<u8>(), any::<u8>());
    (0..5_u8, prop::collection::vec(one, 0..12)).prop_map(move |(state, choices)| {
        let mut bytes = vec![state];
        for (n, at, change, which) in choices {
            match steps.get(n) {
                Some(step) => {
                    let mut step = step.clone();
                    let at = at.index(step.len());
                    if at > 0 && which % 2 == 0 {
                        step[at] ^= change;
                    }
                    bytes.extend(step);
                }
                None if n == steps.len() => bytes.push(2),
                None => bytes.extend([3, which]),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        responder::run(&bytes);
    }

    #[test]
    fn any_conversation(bytes in damaged_steps()) {
        responder::run(&bytes);
    }
}
