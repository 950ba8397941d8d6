//! The index of each operation in the flat table, and its name.

use std::borrow::Cow;

use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, CurveOperation, Encryption, Group, Hash, Integrity, KeyKind, KeyWrap, Prf,
    SignatureScheme, StreamCipher,
};

use crate::keys::kind_of_spki;

/// The index of one operation with one algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(usize);

// Each operation's algorithms follow those of the operation before it.
const PRF: usize = Hash::ALL.len();
const MAC: usize = PRF + Prf::ALL.len();
const VERIFY_MAC: usize = MAC + Integrity::ALL.len();
const ENCRYPT: usize = VERIFY_MAC + Integrity::ALL.len();
const DECRYPT: usize = ENCRYPT + Encryption::ALL.len();
const GENERATE: usize = DECRYPT + Encryption::ALL.len();
const AGREE: usize = GENERATE + Group::ALL.len();
const SIGN: usize = AGREE + Group::ALL.len();
const VERIFY: usize = SIGN + SIGNATURES;

const BLOCK: usize = VERIFY + SIGNATURES;
const COMPRESS: usize = BLOCK + BlockCipher::ALL.len();
const STREAM: usize = COMPRESS + 1;
const RSA_ENCRYPT: usize = STREAM + StreamCipher::ALL.len();
const RSA_DECRYPT: usize = RSA_ENCRYPT + KEYS;
const WRAP: usize = RSA_DECRYPT + KEYS;
const UNWRAP: usize = WRAP + KeyWrap::ALL.len();
const ON_CURVE: usize = UNWRAP + KeyWrap::ALL.len();

/// One more for keys of unknown kind.
const KEYS: usize = KeyKind::ALL.len() + 1;

/// RSA and ECDSA sign in two ways over each hash, RSA in one without, Ed25519 in one. Every pair of kind and way has an
/// index, so that looking it up needs no search. One more for keys of unknown kind.
const SIGNATURES: usize = KeyKind::ALL.len() * WAYS + 1;
const WAYS: usize = BARE + 1;
const BARE: usize = 2 * Hash::ALL.len();

impl Slot {
    /// How many there are.
    pub(super) const COUNT: usize = ON_CURVE + CurveOperation::ALL.len() * Curve::ALL.len();

    /// The index in the table.
    pub(super) const fn index(self) -> usize {
        self.0
    }

    pub(super) const fn hash(algorithm: Hash) -> Self {
        Self(algorithm as usize)
    }

    pub(super) const fn prf(algorithm: Prf) -> Self {
        Self(PRF + algorithm as usize)
    }

    pub(super) const fn mac(algorithm: Integrity) -> Self {
        Self(MAC + algorithm as usize)
    }

    pub(super) const fn verify_mac(algorithm: Integrity) -> Self {
        Self(VERIFY_MAC + algorithm as usize)
    }

    pub(super) const fn encrypt(algorithm: Encryption) -> Self {
        Self(ENCRYPT + algorithm as usize)
    }

    pub(super) const fn decrypt(algorithm: Encryption) -> Self {
        Self(DECRYPT + algorithm as usize)
    }

    pub(super) const fn generate(group: Group) -> Self {
        Self(GENERATE + group as usize)
    }

    pub(super) const fn agree(group: Group) -> Self {
        Self(AGREE + group as usize)
    }

    pub(super) const fn sign(kind: KeyKind, scheme: SignatureScheme) -> Self {
        Self(SIGN + signature(Some(kind), scheme))
    }

    pub(super) fn verify(spki: &[u8], scheme: SignatureScheme) -> Self {
        Self(VERIFY + signature(kind_of_spki(spki), scheme))
    }

    pub(super) const fn block(cipher: BlockCipher) -> Self {
        Self(BLOCK + cipher as usize)
    }

    /// Single compression steps are taken of SHA-1 only.
    pub(super) const fn compress() -> Self {
        Self(COMPRESS)
    }

    pub(super) const fn stream(cipher: StreamCipher) -> Self {
        Self(STREAM + cipher as usize)
    }

    pub(super) fn rsa_encrypt(spki: &[u8]) -> Self {
        Self(RSA_ENCRYPT + kind_of_spki(spki).map_or(KEYS - 1, |kind| kind as usize))
    }

    pub(super) const fn rsa_decrypt(kind: KeyKind) -> Self {
        Self(RSA_DECRYPT + kind as usize)
    }

    pub(super) const fn wrap(cipher: KeyWrap) -> Self {
        Self(WRAP + cipher as usize)
    }

    pub(super) const fn unwrap(cipher: KeyWrap) -> Self {
        Self(UNWRAP + cipher as usize)
    }

    pub(super) const fn on_curve(curve: Curve, operation: CurveOperation) -> Self {
        Self(ON_CURVE + operation as usize * Curve::ALL.len() + curve as usize)
    }

    /// Operation and algorithm of every index, in order.
    pub(super) fn all() -> impl Iterator<Item = (&'static str, Algorithm)> {
        simple("hash", Hash::ALL, |a| a.name())
            .chain(simple("prf", Prf::ALL, |a| a.name()))
            .chain(simple("mac", Integrity::ALL, |a| a.name()))
            .chain(simple("verify-mac", Integrity::ALL, |a| a.name()))
            .chain(simple("encrypt", Encryption::ALL, |a| a.name()))
            .chain(simple("decrypt", Encryption::ALL, |a| a.name()))
            .chain(simple("generate", Group::ALL, |a| a.name()))
            .chain(simple("agree", Group::ALL, |a| a.name()))
            .chain(signatures("sign"))
            .chain(signatures("verify"))
            .chain(simple("block", BlockCipher::ALL, |a| a.name()))
            .chain(std::iter::once(("compress", Algorithm::Named(Hash::Sha1.name()))))
            .chain(simple("stream", StreamCipher::ALL, |a| a.name()))
            .chain(keys("rsa-encrypt"))
            .chain(keys("rsa-decrypt"))
            .chain(simple("wrap", KeyWrap::ALL, |a| a.name()))
            .chain(simple("unwrap", KeyWrap::ALL, |a| a.name()))
            .chain(CurveOperation::ALL.iter().flat_map(|it| simple(it.name(), Curve::ALL, |a| a.name())))
    }
}

/// What a place is for: there are many, few are used, and only the names of these are put together.
#[derive(Debug, Clone, Copy)]
pub(super) enum Algorithm {
    /// An algorithm with a name of its own.
    Named(&'static str),
    /// A signature of a kind of key, in one of the ways.
    Signature(KeyKind, usize),
}

impl Algorithm {
    /// Its name.
    pub(super) fn name(self) -> Cow<'static, str> {
        match self {
            Self::Named(name) => Cow::Borrowed(name),
            Self::Signature(kind, way) => signature_name(kind, way),
        }
    }
}

const fn signature(kind: Option<KeyKind>, scheme: SignatureScheme) -> usize {
    let Some(kind) = kind else { return SIGNATURES - 1 };
    let way = match scheme {
        SignatureScheme::RsaPkcs1(hash) | SignatureScheme::EcdsaDer(hash) => hash as usize,
        SignatureScheme::RsaPss(hash) | SignatureScheme::EcdsaRaw(hash) => Hash::ALL.len() + hash as usize,
        SignatureScheme::RsaPkcs1Bare => BARE,
        SignatureScheme::Ed25519 => 0,
    };
    kind as usize * WAYS + way
}

fn simple<A: Copy>(
    operation: &'static str,
    algorithms: &'static [A],
    name: fn(&A) -> &'static str,
) -> impl Iterator<Item = (&'static str, Algorithm)> {
    algorithms.iter().map(move |algorithm| (operation, Algorithm::Named(name(algorithm))))
}

fn signatures(operation: &'static str) -> impl Iterator<Item = (&'static str, Algorithm)> {
    KeyKind::ALL
        .iter()
        .flat_map(|&kind| (0..WAYS).map(move |way| Algorithm::Signature(kind, way)))
        .chain(std::iter::once(Algorithm::Named("unknown")))
        .map(move |algorithm| (operation, algorithm))
}

fn keys(operation: &'static str) -> impl Iterator<Item = (&'static str, Algorithm)> {
    let kinds = KeyKind::ALL.iter().map(|kind| kind.name());
    kinds.chain(["unknown"]).map(move |name| (operation, Algorithm::Named(name)))
}

/// E.g. `rsa2048-pkcs1-sha256`, `ecdsa-p256-sha256`, `ecdsa-p256-raw-sha256`, `ed25519`.
fn signature_name(kind: KeyKind, way: usize) -> Cow<'static, str> {
    let (second, hash) = (way >= Hash::ALL.len(), Hash::ALL[way % Hash::ALL.len()]);
    match (kind, second) {
        (KeyKind::Ed25519, _) => Cow::Borrowed(kind.name()),
        _ if way == BARE => format!("{kind}-pkcs1-bare").into(),
        (_, false) if kind.rsa_bits().is_some() => format!("{kind}-pkcs1-{hash}").into(),
        (_, true) if kind.rsa_bits().is_some() => format!("{kind}-pss-{hash}").into(),
        (_, false) => format!("{kind}-{hash}").into(),
        (_, true) => format!("{kind}-raw-{hash}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<(&'static str, Cow<'static, str>)> {
        Slot::all().map(|(operation, algorithm)| (operation, algorithm.name())).collect()
    }

    #[test]
    fn every_place_has_one_name_and_every_name_its_place() {
        let names = names();
        assert_eq!(names.len(), Slot::COUNT);
        let at = |slot: Slot| (names[slot.index()].0, names[slot.index()].1.as_ref());
        assert_eq!(at(Slot::hash(Hash::Sha512)), ("hash", "sha512"));
        assert_eq!(at(Slot::prf(Prf::HmacMd5)), ("prf", "prfmd5"));
        assert_eq!(at(Slot::mac(Integrity::AesCmac96)), ("mac", "aescmac"));
        assert_eq!(at(Slot::verify_mac(Integrity::HmacMd5_96)), ("verify-mac", "md5"));
        assert_eq!(at(Slot::encrypt(Encryption::Null)), ("encrypt", "null"));
        assert_eq!(at(Slot::decrypt(Encryption::ChaCha20Poly1305)), ("decrypt", "chacha20poly1305"));
        assert_eq!(at(Slot::generate(Group::X448)), ("generate", "x448"));
        assert_eq!(at(Slot::agree(Group::Modp1024)), ("agree", "modp1024"));
        assert_eq!(at(Slot::block(BlockCipher::Des)), ("block", "des"));
        assert_eq!(at(Slot::compress()), ("compress", "sha1"));
        assert_eq!(at(Slot::stream(StreamCipher::Rc4)), ("stream", "rc4"));
        assert_eq!(at(Slot::rsa_encrypt(&[0; 162])), ("rsa-encrypt", "rsa1024"));
        assert_eq!(at(Slot::rsa_encrypt(&[])), ("rsa-encrypt", "unknown"));
        assert_eq!(at(Slot::rsa_decrypt(KeyKind::Rsa4096)), ("rsa-decrypt", "rsa4096"));
        assert_eq!(at(Slot::wrap(KeyWrap::Aes256)), ("wrap", "aes256"));
        assert_eq!(at(Slot::unwrap(KeyWrap::Aes128)), ("unwrap", "aes128"));
        assert_eq!(at(Slot::on_curve(Curve::P384, CurveOperation::Multiply)), ("ec-multiply", "ecp384"));
        assert_eq!(at(Slot::on_curve(Curve::P521, CurveOperation::Scalar)), ("ec-scalar", "ecp521"));
    }

    #[test]
    fn signatures_are_told_apart_by_key_scheme_and_hash() {
        let names: Vec<_> =
            names().iter().map(|(operation, algorithm)| format!("{operation} {algorithm}")).collect();
        let sign = |kind, scheme| names[Slot::sign(kind, scheme).index()].as_str();
        assert_eq!(sign(KeyKind::Rsa1024, SignatureScheme::RsaPkcs1(Hash::Md5)), "sign rsa1024-pkcs1-md5");
        assert_eq!(sign(KeyKind::Rsa1024, SignatureScheme::RsaPkcs1Bare), "sign rsa1024-pkcs1-bare");
        assert_eq!(sign(KeyKind::Rsa4096, SignatureScheme::RsaPss(Hash::Sha512)), "sign rsa4096-pss-sha512");
        assert_eq!(
            sign(KeyKind::EcdsaP384, SignatureScheme::EcdsaDer(Hash::Sha384)),
            "sign ecdsa-p384-sha384"
        );
        assert_eq!(
            sign(KeyKind::EcdsaP521, SignatureScheme::EcdsaRaw(Hash::Sha512)),
            "sign ecdsa-p521-raw-sha512"
        );
        assert_eq!(sign(KeyKind::Ed25519, SignatureScheme::Ed25519), "sign ed25519");
        let verify =
            |spki: &[u8]| names[Slot::verify(spki, SignatureScheme::RsaPkcs1(Hash::Sha1)).index()].as_str();
        assert_eq!(verify(&[0; 294]), "verify rsa2048-pkcs1-sha1");
        assert_eq!(verify(&[0; 7]), "verify unknown");
    }
}
