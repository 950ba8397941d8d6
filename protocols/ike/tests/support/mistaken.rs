//! Cryptography whose nth call panics, as a bug anywhere else in the handling of a message would.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

use keytoll_crypto::Null;
use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, Encryption, Group, Hash, Integrity, KeyWrap, Prf, SignatureScheme, StreamCipher,
};
use keytoll_crypto_api::{
    Crypto, Digest, KeyPair, OnCurve, Phase, PrivateKey, Rejected, Rng, Secret, SigningKey,
};
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output};

use super::bench::Bench;
use super::bench::Side;

thread_local! {
    /// Calls left until the one that panics.
    static FUSE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Null cryptography, mistaken once.
pub(crate) struct Mistaken;

fn burn() {
    match FUSE.get() {
        Some(0) => {
            FUSE.set(None);
            panic!("the mistake");
        }
        left => FUSE.set(left.map(|left| left - 1)),
    }
}

macro_rules! mistaken {
    ($(fn $name:ident($($given:ident: $kind:ty),*) $(-> $gives:ty)?;)*) => {
        $(fn $name(&mut self, $($given: $kind),*) $(-> $gives)? {
            burn();
            Null.$name($($given),*)
        })*
    };
}

impl Crypto for Mistaken {
    mistaken! {
        fn enter(phase: Phase);
        fn hash(algorithm: Hash, parts: &[&[u8]]) -> Digest;
        fn sha1_compress(state: &mut [u32; 5], block: &[u8; 64]);
        fn block(cipher: BlockCipher, key: &[u8], block: &mut [u8]);
        fn stream(cipher: StreamCipher, key: &[u8], data: &mut [u8]);
        fn wrap_key(cipher: KeyWrap, key: &[u8], data: &[u8]) -> Vec<u8>;
        fn unwrap_key(cipher: KeyWrap, key: &[u8], wrapped: &[u8]) -> Result<Secret, Rejected>;
        fn prf(algorithm: Prf, key: &[u8], parts: &[&[u8]]) -> Digest;
        fn mac(algorithm: Integrity, key: &[u8], parts: &[&[u8]]) -> Digest;
        fn verify_mac(algorithm: Integrity, key: &[u8], parts: &[&[u8]], tag: &[u8]) -> Result<(), Rejected>;
        fn encrypt(algorithm: Encryption, key: &[u8], iv: &[u8], aad: &[u8], data: &mut [u8], tag: &mut [u8]);
        fn decrypt(algorithm: Encryption, key: &[u8], iv: &[u8], aad: &[u8], data: &mut [u8], tag: &[u8])
            -> Result<(), Rejected>;
        fn generate(group: Group, rng: &mut Rng) -> KeyPair;
        fn agree(private: &PrivateKey, peer: &[u8]) -> Result<Secret, Rejected>;
        fn on_curve(curve: Curve, operation: OnCurve<'_>) -> Result<Secret, Rejected>;
        fn sign(key: &SigningKey, scheme: SignatureScheme, parts: &[&[u8]]) -> Vec<u8>;
        fn verify(spki: &[u8], scheme: SignatureScheme, parts: &[&[u8]], signature: &[u8]) -> Result<(), Rejected>;
        fn rsa_encrypt(spki: &[u8], message: &[u8]) -> Result<Vec<u8>, Rejected>;
        fn rsa_decrypt(key: &SigningKey, ciphertext: &[u8]) -> Result<Secret, Rejected>;
    }
}

/// Delivers a datagram to a side, whose `nth` call of cryptography from here panics; false if there are not so many.
pub(crate) fn deliver_mistaken(bench: &mut Bench, side: Side, datagram: &Datagram, nth: u32) -> bool {
    FUSE.set(Some(nth));
    let Datagram { from, to, bytes, .. } = datagram;
    let input = Input::Datagram { from: *from, to: *to, bytes };
    let handled = panic::catch_unwind(AssertUnwindSafe(|| bench.feed(side, input)));
    FUSE.set(None);
    if handled.is_err() {
        recover(bench, side);
    }
    handled.is_err()
}

/// What a driver does after a panic.
fn recover(bench: &mut Bench, side: Side) {
    let now = bench.now;
    let seat = bench.seat(side);
    let mut facts = Vec::new();
    let mut cx = Ctx { now, crypto: &mut *seat.crypto, trace: &mut facts };
    seat.endpoint.handle(Input::Recover, &mut cx);
    // Outputs so far are lost, as datagrams may be anyway.
    while let Some(output) = seat.endpoint.poll() {
        if let Output::Event(event) = output {
            seat.books.note(&event);
            seat.events.push(event);
        }
    }
}
