//! All primitives of the `Crypto` trait, by family, operation and algorithm, in the order of the lists.

use std::iter::once;

use keytoll_crypto::{Exponents, keys};
use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, CurveOperation, Encryption, Group, Hash, Integrity, KeyKind, KeyWrap, Prf,
    SignatureScheme, Standing, StreamCipher,
};

use crate::Library;

/// An operation of the `Crypto` trait with one algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A fresh key pair.
    Generate(Group),
    /// The shared secret.
    Agree(Group),
    /// Both: what one side computes in a key exchange.
    Exchange(Group),
    /// A computation in the group of a curve.
    OnCurve(CurveOperation, Curve),
    /// A signature made.
    Sign(KeyKind, SignatureScheme),
    /// A signature verified, including parsing of the public key.
    Verify(KeyKind, SignatureScheme),
    /// RSAES-PKCS1-v1_5 with the public key, including its parsing.
    RsaEncrypt(KeyKind),
    /// RSAES-PKCS1-v1_5 with the private key.
    RsaDecrypt(KeyKind),
    /// A message encrypted, including key expansion, as in IKE.
    Encrypt(Encryption),
    /// A message decrypted, including key expansion.
    Decrypt(Encryption),
    /// An integrity check value computed, including key setup.
    Mac(Integrity),
    /// An integrity check value verified, including key setup.
    VerifyMac(Integrity),
    /// A packet encrypted with an expanded key, as in ESP.
    EncryptTraffic(Encryption),
    /// A packet decrypted with an expanded key.
    DecryptTraffic(Encryption),
    /// An integrity check value computed with a prepared key.
    MacTraffic(Integrity),
    /// An integrity check value verified with a prepared key.
    VerifyTraffic(Integrity),
    /// A pseudo-random function.
    Prf(Prf),
    /// A digest.
    Hash(Hash),
    /// One application of the compression function of SHA-1.
    Compress,
    /// One block encrypted under a new key.
    Block(BlockCipher),
    /// A message encrypted under a new key of a stream cipher.
    Stream(StreamCipher),
    /// Keys wrapped, including expansion of the key that wraps.
    Wrap(KeyWrap),
    /// Keys unwrapped.
    Unwrap(KeyWrap),
}

/// A family of primitives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Key agreement.
    Groups,
    /// Computations with the elements of a curve, of which other exchanges are built.
    Curves,
    /// Signatures.
    Signatures,
    /// RSA encryption.
    RsaEncryption,
    /// Ciphers, with and without integrity.
    Ciphers,
    /// Integrity checks.
    Integrity,
    /// Ciphers and integrity with the keys of a child SA.
    Traffic,
    /// Pseudo-random functions.
    Prfs,
    /// Hashes.
    Hashes,
    /// Block ciphers by the block, stream ciphers, and key wrap.
    Kernels,
}

impl Family {
    /// Every family, in the order of the table.
    pub const ALL: [Self; 10] = [
        Self::Groups,
        Self::Curves,
        Self::Signatures,
        Self::RsaEncryption,
        Self::Ciphers,
        Self::Integrity,
        Self::Traffic,
        Self::Prfs,
        Self::Hashes,
        Self::Kernels,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Groups => "groups",
            Self::Curves => "curves",
            Self::Signatures => "signatures",
            Self::RsaEncryption => "rsa-encryption",
            Self::Ciphers => "ciphers",
            Self::Integrity => "integrity",
            Self::Traffic => "traffic",
            Self::Prfs => "prfs",
            Self::Hashes => "hashes",
            Self::Kernels => "kernels",
        }
    }
}

impl Operation {
    /// Its family.
    pub const fn family(self) -> Family {
        match self {
            Self::Generate(_) | Self::Agree(_) | Self::Exchange(_) => Family::Groups,
            Self::OnCurve(..) => Family::Curves,
            Self::Sign(..) | Self::Verify(..) => Family::Signatures,
            Self::RsaEncrypt(_) | Self::RsaDecrypt(_) => Family::RsaEncryption,
            Self::Encrypt(_) | Self::Decrypt(_) => Family::Ciphers,
            Self::Mac(_) | Self::VerifyMac(_) => Family::Integrity,
            Self::EncryptTraffic(_)
            | Self::DecryptTraffic(_)
            | Self::MacTraffic(_)
            | Self::VerifyTraffic(_) => Family::Traffic,
            Self::Prf(_) => Family::Prfs,
            Self::Hash(_) | Self::Compress => Family::Hashes,
            Self::Block(_) | Self::Stream(_) | Self::Wrap(_) | Self::Unwrap(_) => Family::Kernels,
        }
    }

    /// The meter's name of the operation; `exchange` is two of the meter's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Generate(_) => "generate",
            Self::Agree(_) => "agree",
            Self::Exchange(_) => "exchange",
            Self::OnCurve(operation, _) => operation.name(),
            Self::Sign(..) => "sign",
            Self::Verify(..) => "verify",
            Self::RsaEncrypt(_) => "rsa-encrypt",
            Self::RsaDecrypt(_) => "rsa-decrypt",
            Self::Encrypt(_) => "encrypt",
            Self::Decrypt(_) => "decrypt",
            Self::Mac(_) => "mac",
            Self::VerifyMac(_) => "verify-mac",
            Self::EncryptTraffic(_) => "encrypt-traffic",
            Self::DecryptTraffic(_) => "decrypt-traffic",
            Self::MacTraffic(_) => "mac-traffic",
            Self::VerifyTraffic(_) => "verify-mac-traffic",
            Self::Prf(_) => "prf",
            Self::Hash(_) => "hash",
            Self::Compress => "compress",
            Self::Block(_) => "block",
            Self::Stream(_) => "stream",
            Self::Wrap(_) => "wrap",
            Self::Unwrap(_) => "unwrap",
        }
    }

    /// The meter's name of the algorithm.
    pub fn algorithm(self) -> String {
        match self {
            Self::Generate(group) | Self::Agree(group) | Self::Exchange(group) => group.name().to_owned(),
            Self::OnCurve(_, curve) => curve.name().to_owned(),
            Self::Sign(kind, scheme) | Self::Verify(kind, scheme) => signature(kind, scheme),
            Self::RsaEncrypt(kind) | Self::RsaDecrypt(kind) => kind.name().to_owned(),
            Self::Encrypt(encryption)
            | Self::Decrypt(encryption)
            | Self::EncryptTraffic(encryption)
            | Self::DecryptTraffic(encryption) => encryption.name().to_owned(),
            Self::Mac(integrity)
            | Self::VerifyMac(integrity)
            | Self::MacTraffic(integrity)
            | Self::VerifyTraffic(integrity) => integrity.name().to_owned(),
            Self::Prf(prf) => prf.name().to_owned(),
            Self::Hash(hash) => hash.name().to_owned(),
            Self::Compress => Hash::Sha1.name().to_owned(),
            Self::Block(cipher) => cipher.name().to_owned(),
            Self::Stream(cipher) => cipher.name().to_owned(),
            Self::Wrap(cipher) | Self::Unwrap(cipher) => cipher.name().to_owned(),
        }
    }

    /// The standing of the algorithm.
    pub fn standing(self) -> Standing {
        match self {
            Self::Generate(group) | Self::Agree(group) | Self::Exchange(group) => group.standing(),
            Self::OnCurve(_, curve) => curve.standing(),
            Self::Sign(kind, scheme) | Self::Verify(kind, scheme) => kind.standing().max(of_scheme(scheme)),
            // RFC 8017 §7.2: RSAES-PKCS1-v1_5 exists for existing applications only.
            Self::RsaEncrypt(kind) | Self::RsaDecrypt(kind) => kind.standing().max(Standing::Weak),
            Self::Encrypt(encryption)
            | Self::Decrypt(encryption)
            | Self::EncryptTraffic(encryption)
            | Self::DecryptTraffic(encryption) => encryption.standing(),
            Self::Mac(integrity)
            | Self::VerifyMac(integrity)
            | Self::MacTraffic(integrity)
            | Self::VerifyTraffic(integrity) => integrity.standing(),
            Self::Prf(prf) => prf.standing(),
            Self::Hash(hash) => of_hash(hash),
            Self::Compress => of_hash(Hash::Sha1),
            Self::Block(cipher) => cipher.standing(),
            Self::Stream(cipher) => cipher.standing(),
            Self::Wrap(_) | Self::Unwrap(_) => Standing::Good,
        }
    }

    /// The group, if it has one.
    pub const fn group(self) -> Option<Group> {
        match self {
            Self::Generate(group) | Self::Agree(group) | Self::Exchange(group) => Some(group),
            _ => None,
        }
    }

    /// Whether its cost depends on the length of the message. That of a signature hardly does.
    pub const fn is_bulk(self) -> bool {
        matches!(
            self,
            Self::Encrypt(_)
                | Self::Decrypt(_)
                | Self::Mac(_)
                | Self::VerifyMac(_)
                | Self::EncryptTraffic(_)
                | Self::DecryptTraffic(_)
                | Self::MacTraffic(_)
                | Self::VerifyTraffic(_)
                | Self::Prf(_)
                | Self::Hash(_)
                | Self::Stream(_)
                | Self::Wrap(_)
                | Self::Unwrap(_)
        )
    }
}

/// In the meter's syntax: `rsa2048-pkcs1-sha256`, `ecdsa-p256-sha256`, `ecdsa-p256-raw-sha256`, `ed25519`.
fn signature(kind: KeyKind, scheme: SignatureScheme) -> String {
    match scheme {
        SignatureScheme::RsaPkcs1(hash) => format!("{kind}-pkcs1-{hash}"),
        SignatureScheme::RsaPkcs1Bare => format!("{kind}-pkcs1-bare"),
        SignatureScheme::RsaPss(hash) => format!("{kind}-pss-{hash}"),
        SignatureScheme::EcdsaDer(hash) => format!("{kind}-{hash}"),
        SignatureScheme::EcdsaRaw(hash) => format!("{kind}-raw-{hash}"),
        SignatureScheme::Ed25519 => kind.name().to_owned(),
    }
}

const fn of_scheme(scheme: SignatureScheme) -> Standing {
    match scheme {
        SignatureScheme::RsaPkcs1(hash)
        | SignatureScheme::RsaPss(hash)
        | SignatureScheme::EcdsaDer(hash)
        | SignatureScheme::EcdsaRaw(hash) => of_hash(hash),
        SignatureScheme::RsaPkcs1Bare | SignatureScheme::Ed25519 => Standing::Good,
    }
}

// RFC 6151, RFC 6150 (MD5, MD4) and RFC 9155 §1: collisions are practical; so they are for SHA-1.
const fn of_hash(hash: Hash) -> Standing {
    match hash {
        Hash::Md4 | Hash::Md5 | Hash::Sha1 => Standing::Broken,
        _ => Standing::Good,
    }
}

/// An operation with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Primitive {
    /// The operation.
    pub operation: Operation,
    /// The length of private exponents, for MODP groups.
    pub exponents: Option<Exponents>,
    /// Length of the message in bytes; for block ciphers rounded up to whole blocks.
    pub bytes: usize,
    /// Whether several lengths are measured.
    pub sized: bool,
}

/// Which variants of the primitives to list.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Message lengths of the bulk operations.
    pub sizes: Vec<usize>,
    /// Lengths of private MODP exponents.
    pub exponents: Vec<Exponents>,
    /// Whether to list every padding and hash of signatures that the meter distinguishes, instead of each key's usual ones; and two
    /// message lengths, so that the cost of the hash can be separated.
    pub every_scheme: bool,
}

impl Default for Ask {
    /// A short message, the largest packet that every IPv4 host accepts, and a full packet; both lengths of exponents.
    fn default() -> Self {
        Self {
            sizes: vec![64, 576, 1400],
            exponents: vec![Exponents::Short, Exponents::Full],
            every_scheme: false,
        }
    }
}

/// Message length of operations that are not bulk.
const MESSAGE: usize = 64;
/// A message whose hashing takes a noticeable part of a signature.
const LONG_MESSAGE: usize = 8192;

/// The name of an exponent length in scenarios and on the command line.
pub const fn name_of(exponents: Exponents) -> &'static str {
    match exponents {
        Exponents::Short => "short",
        Exponents::Full => "full",
    }
}

/// Everything that the library has.
pub fn all(ask: &Ask, library: Library) -> Vec<Primitive> {
    let operations = agreements().chain(on_curves()).chain(signatures(ask.every_scheme)).chain(symmetric());
    operations
        .filter(|&operation| library.has(operation))
        .flat_map(|operation| variants(operation, ask))
        .collect()
}

/// Paper 002's Table 1: a key pair, and one side's whole key exchange, of every group.
pub fn exchanges(ask: &Ask, library: Library) -> Vec<Primitive> {
    let operations =
        Group::ALL.iter().flat_map(|&group| [Operation::Generate(group), Operation::Exchange(group)]);
    let operations = operations.filter(|&operation| library.has(operation));
    operations.flat_map(|operation| variants(operation, ask)).collect()
}

/// Paper 001's Table 4-1.
pub fn rsa_rc4_sha1(bytes: usize) -> Vec<Primitive> {
    let operations = [
        Operation::RsaEncrypt(KeyKind::Rsa1024),
        Operation::RsaDecrypt(KeyKind::Rsa1024),
        Operation::Stream(StreamCipher::Rc4),
        Operation::Hash(Hash::Sha1),
    ];
    operations
        .map(|operation| Primitive { operation, exponents: None, bytes, sized: operation.is_bulk() })
        .to_vec()
}

fn agreements() -> impl Iterator<Item = Operation> {
    Group::ALL.iter().flat_map(|&group| [Operation::Generate(group), Operation::Agree(group)])
}

fn on_curves() -> impl Iterator<Item = Operation> {
    let of = |&operation| Curve::ALL.iter().map(move |&curve| Operation::OnCurve(operation, curve));
    CurveOperation::ALL.iter().flat_map(of)
}

fn signatures(every_scheme: bool) -> impl Iterator<Item = Operation> {
    let schemes = move |kind| if every_scheme { schemes(kind) } else { vec![keys::usual_scheme(kind)] };
    let both = |kind, scheme| [Operation::Sign(kind, scheme), Operation::Verify(kind, scheme)];
    let signatures = KeyKind::ALL
        .iter()
        .flat_map(move |&kind| schemes(kind).into_iter().flat_map(move |it| both(kind, it)));
    let rsa = KeyKind::ALL.iter().copied().filter(|kind| kind.rsa_bits().is_some());
    signatures.chain(rsa.flat_map(|kind| [Operation::RsaEncrypt(kind), Operation::RsaDecrypt(kind)]))
}

fn symmetric() -> impl Iterator<Item = Operation> {
    let ciphers = Encryption::ALL.iter();
    let sealed =
        ciphers.clone().flat_map(|&it| [Operation::EncryptTraffic(it), Operation::DecryptTraffic(it)]);
    let ciphers = ciphers.flat_map(|&it| [Operation::Encrypt(it), Operation::Decrypt(it)]);
    let macs = Integrity::ALL.iter();
    let signed = macs.clone().flat_map(|&it| [Operation::MacTraffic(it), Operation::VerifyTraffic(it)]);
    let macs = macs.flat_map(|&it| [Operation::Mac(it), Operation::VerifyMac(it)]);
    let prfs = Prf::ALL.iter().map(|&it| Operation::Prf(it));
    let hashes = Hash::ALL.iter().map(|&it| Operation::Hash(it));
    let blocks = BlockCipher::ALL.iter().map(|&it| Operation::Block(it));
    let streams = StreamCipher::ALL.iter().map(|&it| Operation::Stream(it));
    let wraps = KeyWrap::ALL.iter().flat_map(|&it| [Operation::Wrap(it), Operation::Unwrap(it)]);
    let messages = ciphers.chain(macs).chain(sealed).chain(signed);
    let kernels = blocks.chain(streams).chain(wraps);
    messages.chain(prfs).chain(hashes).chain(once(Operation::Compress)).chain(kernels)
}

/// Every scheme that a kind of key signs with.
fn schemes(kind: KeyKind) -> Vec<SignatureScheme> {
    let over = |scheme: fn(Hash) -> SignatureScheme| {
        Hash::ALL.iter().copied().filter(|&hash| hash != Hash::Md4).map(scheme)
    };
    match kind {
        KeyKind::Ed25519 => vec![SignatureScheme::Ed25519],
        KeyKind::EcdsaP256 | KeyKind::EcdsaP384 | KeyKind::EcdsaP521 => {
            over(SignatureScheme::EcdsaDer).chain(over(SignatureScheme::EcdsaRaw)).collect()
        }
        // RFC 8017 §9.1.1: SHA-512 and a salt as long do not fit into 1024 bits.
        KeyKind::Rsa1024 => once(SignatureScheme::RsaPkcs1Bare)
            .chain(over(SignatureScheme::RsaPkcs1))
            .chain(over(SignatureScheme::RsaPss).filter(|&it| it != SignatureScheme::RsaPss(Hash::Sha512)))
            .collect(),
        _ => once(SignatureScheme::RsaPkcs1Bare)
            .chain(over(SignatureScheme::RsaPkcs1))
            .chain(over(SignatureScheme::RsaPss))
            .collect(),
    }
}

fn variants(operation: Operation, ask: &Ask) -> Vec<Primitive> {
    let of = |exponents, bytes| Primitive { operation, exponents, bytes, sized: operation.is_bulk() };
    let sized = |bytes| Primitive { operation, exponents: None, bytes, sized: true };
    match operation {
        _ if operation.group().is_some_and(Group::is_modp) => {
            ask.exponents.iter().map(|&exponents| of(Some(exponents), 0)).collect()
        }
        Operation::Encrypt(it)
        | Operation::Decrypt(it)
        | Operation::EncryptTraffic(it)
        | Operation::DecryptTraffic(it) => {
            ask.sizes.iter().map(|size| of(None, size.next_multiple_of(it.block_len()))).collect()
        }
        Operation::Wrap(_) | Operation::Unwrap(_) => {
            let whole = |size: usize| size.next_multiple_of(KeyWrap::UNIT).max(2 * KeyWrap::UNIT);
            ask.sizes.iter().map(|&size| of(None, whole(size))).collect()
        }
        _ if operation.is_bulk() => ask.sizes.iter().map(|&size| of(None, size)).collect(),
        // RFC 2409 §5.1: what is signed without DigestInfo is a digest.
        Operation::Sign(_, SignatureScheme::RsaPkcs1Bare)
        | Operation::Verify(_, SignatureScheme::RsaPkcs1Bare) => vec![of(None, Hash::Sha1.len())],
        Operation::Sign(..) | Operation::Verify(..) if ask.every_scheme => {
            vec![sized(MESSAGE), sized(LONG_MESSAGE)]
        }
        _ => vec![of(None, MESSAGE)],
    }
}

/// Whether a word matches it: its family, operation or algorithm, or the first part of its algorithm's name. All parts between
/// slashes must match: `sign/rsa2048`.
pub fn is_named(primitive: &Primitive, word: &str) -> bool {
    let (operation, algorithm) = (primitive.operation, primitive.operation.algorithm());
    let begins = |part: &str| {
        algorithm.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    word.split('/').all(|part| part == operation.family().name() || part == operation.name() || begins(part))
}

/// Every word that matches something: families, operations, algorithms.
pub fn names() -> Vec<String> {
    let all = all(
        &Ask { sizes: vec![0], exponents: vec![Exponents::Short], every_scheme: false },
        Library::default(),
    );
    let families = Family::ALL.iter().map(|family| family.name().to_owned());
    let operations = all.iter().map(|primitive| primitive.operation.name().to_owned());
    let algorithms = all.iter().map(|primitive| primitive.operation.algorithm());
    let kinds = KeyKind::ALL.iter().map(|kind| kind.name().to_owned());
    let mut names: Vec<String> = Vec::new();
    for name in families.chain(operations).chain(kinds).chain(algorithms) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Prices;

    use super::*;

    fn named(word: &str) -> Vec<String> {
        let ask = Ask { sizes: vec![64], exponents: vec![Exponents::Short], every_scheme: false };
        let all = all(&ask, Library::default());
        let found = all.iter().filter(|primitive| is_named(primitive, word));
        found.map(|it| format!("{} {}", it.operation.name(), it.operation.algorithm())).collect()
    }

    #[test]
    fn words_name_families_operations_and_algorithms() {
        assert_eq!(named("modp2048"), ["generate modp2048", "agree modp2048"]);
        assert_eq!(named("sign/rsa2048"), ["sign rsa2048-pkcs1-sha256"]);
        assert_eq!(named("rsa1024").len(), 4);
        assert_eq!(named("sign").len(), KeyKind::ALL.len());
        assert_eq!(named("hashes").len(), Hash::ALL.len() + 1);
        assert_eq!(named("modp"), [""; 0]);
        assert!(names().iter().all(|name| !named(name).is_empty() || name == "x448"), "{:?}", names());
    }

    #[test]
    fn weak_ones_are_marked() {
        let standing = |operation: Operation| operation.standing().mark();
        assert_eq!(standing(Operation::Stream(StreamCipher::Rc4)), "broken");
        assert_eq!(standing(Operation::Hash(Hash::Sha1)), "broken");
        assert_eq!(standing(Operation::Generate(Group::Modp1024)), "weak");
        assert_eq!(standing(Operation::RsaDecrypt(KeyKind::Rsa2048)), "weak");
        assert_eq!(standing(Operation::Generate(Group::X25519)), "");
    }

    /// The cost table is looked up by the meter's names.
    #[test]
    fn the_meter_and_the_catalogue_have_the_same_names() {
        let ask = Ask { every_scheme: true, ..Ask::default() };
        for primitive in all(&ask, Library::default()) {
            let (operation, algorithm) = (primitive.operation.name(), primitive.operation.algorithm());
            let priced = Prices::new([(operation, &*algorithm, 1.0, 0.0)]);
            assert!(priced.is_ok(), "{operation} {algorithm}");
        }
    }

    #[test]
    fn ciphers_get_whole_blocks() {
        let sizes =
            |operation| variants(operation, &Ask::default()).iter().map(|it| it.bytes).collect::<Vec<_>>();
        assert_eq!(sizes(Operation::Encrypt(Encryption::Aes128Cbc)), [64, 576, 1408]);
        assert_eq!(sizes(Operation::Encrypt(Encryption::TripleDesCbc)), [64, 576, 1400]);
    }
}
