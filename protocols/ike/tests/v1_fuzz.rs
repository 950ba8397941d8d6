//! The fuzz targets `ikev1_codec`, `ikev1_responder` and `ikev1_overheard` without a fuzzer: their committed corpora, and
//! random bytes.
//!
//! The corpora are the messages of one genuine conversation of ours; `KEYTOLL_BLESS=1` writes them anew. The fuzzer's findings
//! are added beside them under any other name.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "this is a test: it may fail and say why")]

use crate::codec_v1 as codec;
use crate::overheard_v1 as overheard;
use crate::support::responder_v1;
use crate::v1::configs;

use std::path::PathBuf;

use crate::support::{Bench, Side};
use keytoll_ike::config::Phase1;
use keytoll_ike::event::Command;
use proptest::prelude::*;

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

fn replay(target: &str, run: impl Fn(&str, &[u8])) -> usize {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(corpus(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in &files {
        println!("{}", file.display());
        run(&file.file_name().unwrap().to_string_lossy(), &std::fs::read(file).unwrap());
    }
    files.len()
}

#[test]
fn the_corpora_hold() {
    let messages = replay("ikev1_codec", |name, bytes| {
        let (is_message, is_inside) = codec::check(bytes);
        assert!(!name.starts_with("clear-") || is_message, "{name} is a message");
        assert!(!name.starts_with("inner-") || is_inside, "{name} is a chain of payloads");
    });
    assert!(messages >= 20, "only {messages} files");
    let steps = replay("ikev1_responder", |_, bytes| responder_v1::run(bytes));
    assert!(steps >= 20, "only {steps} files");
    let opened = replay("ikev1_overheard", |name, bytes| {
        let [clear, opened, closed] = overheard::run(bytes);
        let is_whole = !name.starts_with("whole-") || clear >= 2 && opened >= 8 && closed == 0;
        assert!(is_whole, "{name}: {clear} in the clear, {opened} opened, {closed} not");
    });
    assert!(opened >= 2, "only {opened} files");
}

#[test]
fn the_corpora_are_whole_conversations() {
    let targets =
        [("ikev1_codec", messages()), ("ikev1_responder", seeds()), ("ikev1_overheard", overheard_seeds())];
    for (target, seeds) in targets {
        for (name, bytes) in seeds {
            let file = corpus(target).join(name);
            if std::env::var_os("KEYTOLL_BLESS").is_some() {
                std::fs::create_dir_all(corpus(target)).unwrap();
                std::fs::write(&file, &bytes).unwrap();
            }
            let committed = std::fs::read(&file).unwrap_or_default();
            assert!(committed == bytes, "{} is another one; KEYTOLL_BLESS=1 writes it anew", file.display());
        }
    }
}

/// What `I` sends to `R` in one conversation about everything, under null cryptography.
fn conversation(phase1: Phase1) -> Vec<Vec<u8>> {
    let mut bench = Bench::null(configs::psk(phase1), 1).established();
    let wishes: [fn(&mut Bench) -> Command; 6] = [
        |bench| Command::Probe(bench.sa(Side::I)),
        |bench| Command::CreateChild(bench.sa(Side::I)),
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
    bench.sent.into_iter().map(|(_, datagram)| datagram.bytes).collect()
}

/// Every message of both modes, unencrypted ones unchanged, else the decrypted contents.
fn messages() -> Vec<(String, Vec<u8>)> {
    let all = [("main", Phase1::Main), ("aggressive", Phase1::Aggressive)].into_iter();
    let named = all.flat_map(|(mode, phase1)| {
        let messages = conversation(phase1).into_iter().enumerate();
        messages.map(move |(n, message)| {
            let encrypted = message[19] & 1 != 0;
            let kind = if encrypted { "inner" } else { "clear" };
            let inside = [&message[16..17], &message[28..]].concat();
            (format!("{kind}-{mode}-{n:02}"), if encrypted { inside } else { message })
        })
    });
    named.collect()
}

/// A message as a step: unchanged before there are keys, else its decrypted contents.
fn step(n: usize, message: &[u8]) -> Vec<u8> {
    let length = |bytes: &[u8]| u16::try_from(bytes.len()).unwrap().to_be_bytes();
    if message[19] & 1 == 0 {
        return [&[0], &length(message)[..], message].concat();
    }
    let phase1 = message[20..24] == [0; 4];
    let chain = if phase1 { &message[28..] } else { &message[28 + usize::from(message[31])..] };
    let (id, first) = if phase1 { (0, message[16]) } else { (u8::try_from(n).unwrap(), message[28]) };
    [&[1, message[18], id, first], &length(chain)[..], chain].concat()
}

fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (mode, phase1) in [("main", Phase1::Main), ("aggressive", Phase1::Aggressive)] {
        let steps: Vec<Vec<u8>> =
            conversation(phase1).iter().enumerate().map(|(n, message)| step(n, message)).collect();
        for state in 0..6_u8 {
            let row: Vec<u8> = steps.iter().flat_map(|step| [step.clone(), vec![2]].concat()).collect();
            seeds.push((format!("{mode}-all-in-state-{state}"), [&[state], &row[..]].concat()));
        }
    }
    for state in 4..6_u8 {
        for which in 0..6_u8 {
            seeds.push((format!("wish-{which}-in-state-{state}"), vec![state, 3, which, 2, 3, 0, 2, 2, 2]));
        }
    }
    seeds
}

/// Every message up to the next phase 1 in order; and the same with the last one of phase 1 lost.
fn overheard_seeds() -> Vec<(String, Vec<u8>)> {
    let all = [("main", Phase1::Main, 3, 5), ("aggressive", Phase1::Aggressive, 1, 2)].into_iter();
    let named = all.flat_map(|(mode, phase1, public, last)| {
        let mut messages = conversation(phase1);
        // Public values of null cryptography are all equal and look like a retransmission: the responder's is changed.
        let answer = &mut messages[public];
        let at = answer.windows(128).position(|bytes| bytes == [0; 128]).expect("a public value");
        answer[at] = 1;
        let cookies = messages[1][..16].to_vec();
        let ours = messages.iter().filter(|message| message[..8] == cookies[..8]);
        let row = |lost: Option<usize>| {
            let steps = ours.clone().enumerate().flat_map(|(n, message)| {
                let length = u16::try_from(message.len()).unwrap().to_be_bytes();
                [&[u8::from(lost != Some(n))], &length[..], message].concat()
            });
            [16].into_iter().chain(steps).collect::<Vec<u8>>()
        };
        [(format!("whole-{mode}"), row(None)), (format!("lost-{mode}"), row(Some(last)))]
    });
    named.collect()
}

/// Steps of the conversation, slightly damaged, in any order.
fn damaged_steps() -> impl Strategy<Value = Vec<u8>> {
    let messages: Vec<Vec<u8>> = [conversation(Phase1::Main), conversation(Phase1::Aggressive)].concat();
    let steps: Vec<Vec<u8>> = messages.iter().enumerate().map(|(n, message)| step(n, message)).collect();
    let one = (0..steps.len() + 2, any::<prop::sample::Index>(), any::<u8>(), any::<u8>());
    (0..6_u8, prop::collection::vec(one, 0..12)).prop_map(move |(state, choices)| {
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

/// A message of the conversation, truncated or with one byte changed.
fn damaged_messages() -> impl Strategy<Value = Vec<u8>> {
    let messages = messages();
    let choice = (0..messages.len(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
    choice.prop_map(move |(n, at, value, cut)| {
        let mut bytes = messages[n].1.clone();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = value;
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        codec::check(&bytes);
        responder_v1::run(&bytes);
        overheard::run(&bytes);
    }

    #[test]
    fn any_conversation(bytes in damaged_steps()) {
        responder_v1::run(&bytes);
    }

    #[test]
    fn any_damaged_message(bytes in damaged_messages()) {
        codec::check(&bytes);
    }
}
