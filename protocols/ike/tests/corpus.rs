//! Every file of the fuzz corpus through the function of the fuzz target: findings stay fixed.

use crate::codec;

use std::path::Path;

/// Files named `charon-…` are messages of strongSwan 5.9.8 in the laboratory, `inner-…` payload chains from inside encrypted
/// messages; the others are findings of the fuzzer.
#[test]
fn the_corpus_of_the_codec() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ikev2_codec");
    let mut files = 0;
    for entry in std::fs::read_dir(&directory).expect("the corpus is part of the repository") {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        println!("{name}");
        let meaning = codec::check(&std::fs::read(&path).unwrap());
        assert!(!name.starts_with("charon-") || meaning.is_message, "{name} is a message");
        assert!(!name.starts_with("inner-") || meaning.is_inside, "{name} is a chain of payloads");
        files += 1;
    }
    assert!(files >= 20, "only {files} files in the corpus");
}
