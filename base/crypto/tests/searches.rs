//! Known lengths of searches for primes (`base/native/src/awslc/rsa/searches.rs`) change no key.

use keytoll_crypto_api::Rng;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_native::awslc::key::{Kind, PrivateKey};

/// A key of the stream that measurements of signatures use; `hidden` changes the bits of the first candidate that the
/// search sets anyway, so that it is another search to the table, with the same candidates.
fn key(bits: usize, name: &str, hidden: bool) -> (Vec<u8>, u32) {
    let (mut rng, mut draws) = (Rng::named(1, name), 0);
    let key = PrivateKey::generate(Kind::Rsa(bits), &mut |candidate| {
        rng.fill(candidate);
        draws += 1;
        candidate[0] ^= if hidden { 0xc0 } else { 0 };
    });
    (key.to_pkcs8(), draws)
}

/// Whether the table has the first search of the stream: otherwise nothing would be compared.
fn is_known(bits: usize, name: &str) -> bool {
    let mut first = vec![0; bits / 16];
    Rng::named(1, name).fill(&mut first);
    let length = u16::try_from(first.len()).expect("at most 2048 bits").to_be_bytes();
    let table = include_bytes!("../../native/src/awslc/rsa/searches.bin");
    table.chunks(12).any(|record| record[..8] == first[..8] && record[8..10] == length)
}

#[test]
fn known_searches_give_the_keys_of_full_searches() {
    let kinds = [(1024, KeyKind::Rsa1024), (2048, KeyKind::Rsa2048), (3072, KeyKind::Rsa3072)];
    assert!(
        kinds.iter().any(|(bits, kind)| is_known(*bits, kind.name())),
        "the table has none of these searches"
    );
    for (bits, kind) in kinds {
        assert_eq!(key(bits, kind.name(), false), key(bits, kind.name(), true), "{bits} bits");
    }
}
