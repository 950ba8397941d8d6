//! The fuzz targets `diameter_codec` and `diameter_engines` without a fuzzer: their committed corpora, and random bytes.
//!
//! The corpora are genuine conversations; `KEYTOLL_BLESS=1` writes them anew. The fuzzer's findings are added beside them
//! under any other name.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "this is a test: it may fail and say why")]

mod exchange;

use std::path::PathBuf;

use proptest::prelude::*;

fn corpus(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name)
}

/// Passes every file of a corpus to `check`, after writing the seeds anew if requested.
fn replay(name: &str, seeds: &[(String, Vec<u8>)], check: impl Fn(&[u8]) -> usize) {
    if std::env::var_os("KEYTOLL_BLESS").is_some() {
        std::fs::create_dir_all(corpus(name)).unwrap();
        seeds.iter().for_each(|(file, bytes)| std::fs::write(corpus(name).join(file), bytes).unwrap());
    }
    let files = std::fs::read_dir(corpus(name)).expect("the corpus is part of the repository");
    let paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    assert!(paths.len() >= seeds.len(), "only {} files in the corpus", paths.len());
    for path in paths {
        println!("{}", path.display());
        check(&std::fs::read(path).unwrap());
    }
}

#[test]
fn the_corpus_of_the_codec() {
    replay("diameter_codec", &exchange::messages(), |bytes| usize::from(exchange::check(bytes)));
    assert!(exchange::messages().iter().all(|(_, bytes)| exchange::check(bytes)));
}

#[test]
fn the_corpus_of_the_engines() {
    replay("diameter_engines", &exchange::seeds(), exchange::run);
}

#[test]
fn genuine_conversations_get_their_vectors() {
    for (name, bytes) in exchange::seeds() {
        let wanted = if name.starts_with("through") { 2 } else { 1 };
        assert!(exchange::run(&bytes) >= wanted, "{name}");
    }
}

/// Steps of any kind, most of them harmless, so that conversations get somewhere.
fn steps() -> impl Strategy<Value = Vec<u8>> {
    let data = prop::collection::vec(any::<u8>(), 0..60);
    let with_data = |step: Vec<u8>, data: Vec<u8>| [step, vec![0, data.len() as u8], data].concat();
    let step = prop_oneof![
        3 => any::<[u8; 2]>().prop_map(|[wanted, count]| vec![0, wanted, count]),
        8 => Just(vec![1]),
        1 => prop::sample::select(vec![vec![2], vec![6], vec![7]]),
        1 => any::<[u8; 2]>().prop_map(|[at, byte]| vec![3, 0, at, byte]),
        1 => (0..6_u8, any::<[u8; 2]>(), data.clone())
            .prop_map(move |(which, [of, flags], data)| with_data(vec![4, which, of, flags], data)),
        1 => data.prop_map(move |data| with_data(vec![5], data)),
        1 => any::<u8>().prop_map(|which| vec![8, which]),
    ];
    prop::collection::vec(step, 0..60).prop_map(|steps| steps.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        exchange::check(&bytes);
        exchange::run(&bytes);
    }

    #[test]
    fn any_conversation(bytes in steps()) {
        exchange::run(&bytes);
    }
}
