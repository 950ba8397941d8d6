//! Every primitive of the crypto trait, with keys as the protocols give them: `cargo bench -p keytoll-crypto`.
//!
//! Filter by name, e.g. `-- agree` or `-- encrypt/1400`; the figures to compare with are in the reference on crates.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use keytoll_crypto::{Exponents, Metered, Null, Real, keys};
use keytoll_crypto_api::algorithm::{Encryption, Group, Hash, Integrity, KeyKind, Prf, SignatureScheme};
use keytoll_crypto_api::{Crypto, Rng, Secret, TrafficKey};
use keytoll_native::awslc::aead::{Aead, Key};

fn main() {
    divan::main();
}

/// A short message (an IKE payload, a ping) and a full packet; whole blocks for CBC.
const LENGTHS: [usize; 2] = [64, 1408];

const KINDS: [KeyKind; 8] = [
    KeyKind::Rsa1024,
    KeyKind::Rsa2048,
    KeyKind::Rsa3072,
    KeyKind::Rsa4096,
    KeyKind::EcdsaP256,
    KeyKind::EcdsaP384,
    KeyKind::EcdsaP521,
    KeyKind::Ed25519,
];

fn rng() -> Rng {
    Rng::named(1, "bench")
}

fn supported() -> impl Iterator<Item = Group> {
    Group::ALL.iter().copied().filter(|&group| Real::supports(group))
}

#[divan::bench(args = Hash::ALL, consts = LENGTHS)]
fn hash<const LENGTH: usize>(bencher: Bencher<'_, '_>, algorithm: &Hash) {
    let message = vec![7; LENGTH];
    let mut real = Real::default();
    bencher.counter(BytesCount::new(LENGTH)).bench_local(|| real.hash(*algorithm, &[black_box(&message)]));
}

#[divan::bench(args = Prf::ALL, consts = LENGTHS)]
fn prf<const LENGTH: usize>(bencher: Bencher<'_, '_>, algorithm: &Prf) {
    let (key, message) = (vec![3; algorithm.output_len()], vec![7; LENGTH]);
    let mut real = Real::default();
    bencher
        .counter(BytesCount::new(LENGTH))
        .bench_local(|| real.prf(*algorithm, &key, &[black_box(&message)]));
}

#[divan::bench(args = Integrity::ALL, consts = LENGTHS)]
fn mac<const LENGTH: usize>(bencher: Bencher<'_, '_>, algorithm: &Integrity) {
    let (key, message) = (vec![3; algorithm.key_len()], vec![7; LENGTH]);
    let mut real = Real::default();
    bencher
        .counter(BytesCount::new(LENGTH))
        .bench_local(|| real.mac(*algorithm, &key, &[black_box(&message)]));
}

#[divan::bench(args = Encryption::ALL, consts = LENGTHS)]
fn encrypt<const LENGTH: usize>(bencher: Bencher<'_, '_>, algorithm: &Encryption) {
    let (key, iv) = (vec![3; algorithm.key_len()], vec![5; algorithm.iv_len()]);
    let (mut data, mut tag) = (vec![7; LENGTH], vec![0; algorithm.tag_len()]);
    let mut real = Real::default();
    bencher
        .counter(BytesCount::new(LENGTH))
        .bench_local(|| real.encrypt(*algorithm, &key, &iv, black_box(&[1; 8]), &mut data, &mut tag));
}

/// As `encrypt`, with an already expanded key.
#[divan::bench(args = Encryption::ALL, consts = LENGTHS)]
fn encrypt_traffic<const LENGTH: usize>(bencher: Bencher<'_, '_>, algorithm: &Encryption) {
    let (key, iv) = (vec![3; algorithm.key_len()], vec![5; algorithm.iv_len()]);
    let (mut data, mut tag) = (vec![7; LENGTH], vec![0; algorithm.tag_len()]);
    let mut real = Real::default();
    let mut key = TrafficKey::new(*algorithm, None, Secret::new(key), Secret::default());
    let mut seal = || real.encrypt_traffic(&mut key, &iv, black_box(&[1; 8]), &mut data, &mut tag);
    (0..3).for_each(|_| seal());
    bencher.counter(BytesCount::new(LENGTH)).bench_local(seal);
}

/// As `mac`, with an already expanded key.
#[divan::bench(args = Integrity::ALL, consts = LENGTHS)]
fn mac_traffic<const LENGTH: usize>(bencher: Bencher<'_, '_>, algorithm: &Integrity) {
    let (key, message) = (vec![3; algorithm.key_len()], vec![7; LENGTH]);
    let (mut real, mut tag) = (Real::default(), vec![0; algorithm.tag_len()]);
    let mut key = TrafficKey::new(Encryption::Null, Some(*algorithm), Secret::default(), Secret::new(key));
    let mut authenticate = || {
        real.encrypt_traffic(&mut key, &[], &[], &mut [], &mut []);
        real.mac_traffic(&mut key, &[black_box(&message)], &mut tag);
    };
    (0..3).for_each(|_| authenticate());
    bencher.counter(BytesCount::new(LENGTH)).bench_local(authenticate);
}

/// The library alone with an expanded key: the baseline of `encrypt_traffic`.
#[divan::bench(args = [16, 32], consts = LENGTHS)]
fn raw_aes_gcm<const LENGTH: usize>(bencher: Bencher<'_, '_>, key_len: usize) {
    let key = Key::new(Aead::AesGcm, &vec![3; key_len], 16);
    let (mut data, mut tag) = (vec![7; LENGTH], [0; 16]);
    bencher
        .counter(BytesCount::new(LENGTH))
        .bench_local(|| key.seal(&[5; 12], black_box(&[1; 8]), &mut data, &mut tag));
}

#[divan::bench(args = Encryption::ALL, consts = LENGTHS)]
fn decrypt<const LENGTH: usize>(bencher: Bencher<'_, '_>, algorithm: &Encryption) {
    let (key, iv) = (vec![3; algorithm.key_len()], vec![5; algorithm.iv_len()]);
    let (mut cipher, mut tag) = (vec![7; LENGTH], vec![0; algorithm.tag_len()]);
    let mut real = Real::default();
    real.encrypt(*algorithm, &key, &iv, &[1; 8], &mut cipher, &mut tag);
    // Decryption is in place, so the figure includes a copy of the ciphertext (about 20 ns for a full packet).
    let mut data = cipher.clone();
    bencher.counter(BytesCount::new(LENGTH)).bench_local(|| {
        data.copy_from_slice(&cipher);
        real.decrypt(*algorithm, &key, &iv, black_box(&[1; 8]), &mut data, &tag)
    });
}

#[divan::bench(args = supported())]
fn generate(bencher: Bencher<'_, '_>, group: Group) {
    let (mut real, mut rng) = (Real::new(Exponents::Short), rng());
    bencher.bench_local(|| real.generate(group, &mut rng));
}

#[divan::bench(args = supported())]
fn agree(bencher: Bencher<'_, '_>, group: Group) {
    agree_with(bencher, group, Exponents::Short);
}

#[divan::bench(args = supported().filter(|group| group.is_modp()), sample_count = 20)]
fn agree_full(bencher: Bencher<'_, '_>, group: Group) {
    agree_with(bencher, group, Exponents::Full);
}

fn agree_with(bencher: Bencher<'_, '_>, group: Group, exponents: Exponents) {
    let (mut real, mut rng) = (Real::new(exponents), rng());
    let (ours, theirs) = (real.generate(group, &mut rng), real.generate(group, &mut rng));
    bencher.bench_local(|| real.agree(&ours.private, black_box(&theirs.public)));
}

#[divan::bench(args = KINDS)]
fn sign(bencher: Bencher<'_, '_>, kind: KeyKind) {
    let key = keys::generate(kind, &mut rng());
    let scheme = keys::usual_scheme(kind);
    bencher.bench_local(|| Real::default().sign(&key, scheme, &[black_box(b"message")]));
}

#[divan::bench(args = KINDS)]
fn verify(bencher: Bencher<'_, '_>, kind: KeyKind) {
    let key = keys::generate(kind, &mut rng());
    let scheme = keys::usual_scheme(kind);
    let signature = Real::default().sign(&key, scheme, &[b"message"]);
    bencher.bench_local(|| Real::default().verify(&key.spki, scheme, &[black_box(b"message")], &signature));
}

/// PSS costs as much as PKCS #1, so one size is enough.
#[divan::bench]
fn sign_pss_rsa2048(bencher: Bencher<'_, '_>) {
    let key = keys::generate(KeyKind::Rsa2048, &mut rng());
    let scheme = SignatureScheme::RsaPss(Hash::Sha256);
    bencher.bench_local(|| Real::default().sign(&key, scheme, &[black_box(b"message")]));
}

#[divan::bench(args = KINDS, sample_count = 20, sample_size = 1)]
fn generate_key(bencher: Bencher<'_, '_>, kind: KeyKind) {
    let mut rng = rng();
    bencher.bench_local(|| keys::generate(kind, &mut rng));
}

/// The overhead of the meter: the same null operation bare, counted, and counted and timed.
#[divan::bench(args = ["bare", "counted", "timed"])]
fn meter(bencher: Bencher<'_, '_>, how: &str) {
    let (mut bare, mut counted, mut timed) = (Null, Metered::count_only(Null), Metered::new(Null));
    let crypto: &mut dyn Crypto = match how {
        "bare" => &mut bare,
        "counted" => &mut counted,
        _ => &mut timed,
    };
    bencher.bench_local(|| crypto.mac(Integrity::HmacSha256_128, &[], &[black_box(b"message")]));
}

/// The same with the system's OpenSSL, called as strongSwan calls it.
#[cfg(feature = "ossl")]
mod ossl {
    use super::*;
    use keytoll_crypto::Ossl;

    #[divan::bench(args = Group::ALL)]
    fn generate(bencher: Bencher<'_, '_>, group: &Group) {
        let (mut ossl, mut rng) = (Ossl::new(Exponents::Short), rng());
        bencher.bench_local(|| ossl.generate(*group, &mut rng));
    }

    #[divan::bench(args = Group::ALL)]
    fn agree(bencher: Bencher<'_, '_>, group: &Group) {
        let (mut ossl, mut rng) = (Ossl::new(Exponents::Short), rng());
        let (ours, theirs) = (ossl.generate(*group, &mut rng), ossl.generate(*group, &mut rng));
        bencher.bench_local(|| ossl.agree(&ours.private, black_box(&theirs.public)));
    }

    #[divan::bench(args = KINDS)]
    fn sign(bencher: Bencher<'_, '_>, kind: KeyKind) {
        let key = Ossl::adopt(&keys::generate(kind, &mut rng())).expect("a key made here");
        let scheme = keys::usual_scheme(kind);
        bencher.bench_local(|| Ossl::default().sign(&key, scheme, &[black_box(b"message")]));
    }

    #[divan::bench(args = KINDS)]
    fn verify(bencher: Bencher<'_, '_>, kind: KeyKind) {
        let key = keys::generate(kind, &mut rng());
        let scheme = keys::usual_scheme(kind);
        let signature = Real::default().sign(&key, scheme, &[b"message"]);
        bencher
            .bench_local(|| Ossl::default().verify(&key.spki, scheme, &[black_box(b"message")], &signature));
    }

    #[divan::bench(args = Prf::ALL.iter().filter(|&&prf| prf != Prf::AesXcbc128), consts = LENGTHS)]
    fn prf<const LENGTH: usize>(bencher: Bencher<'_, '_>, algorithm: &Prf) {
        let (key, message) = (vec![3; algorithm.output_len()], vec![7; LENGTH]);
        bencher.bench_local(|| Ossl::default().prf(*algorithm, &key, &[black_box(&message)]));
    }

    #[divan::bench(args = Encryption::ALL, consts = LENGTHS)]
    fn encrypt<const LENGTH: usize>(bencher: Bencher<'_, '_>, algorithm: &Encryption) {
        let (key, iv) = (vec![3; algorithm.key_len()], vec![5; algorithm.iv_len()]);
        let (mut data, mut tag) = (vec![7; LENGTH], vec![0; algorithm.tag_len()]);
        bencher.bench_local(|| {
            Ossl::default().encrypt(*algorithm, &key, &iv, black_box(&[1; 8]), &mut data, &mut tag);
        });
    }
}
