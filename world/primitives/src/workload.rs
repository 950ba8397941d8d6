//! The repeated work: everything that a primitive needs is prepared beforehand.

use std::collections::BTreeMap;
use std::hint::black_box;

use keytoll_crypto::{Provider, keys};
use keytoll_crypto_api::algorithm::{
    BlockCipher, Curve, CurveOperation, Encryption, Group, Integrity, KeyKind, KeyWrap, SignatureScheme,
    StreamCipher,
};
use keytoll_crypto_api::{Crypto, OnCurve, Rng, Secret, SigningKey, TrafficKey};

use crate::Library;
use crate::catalogue::{Operation, Primitive};

// RFC 6229 §2: the shortest test keys have 40 bits; WEP and paper 001 use 64.
const RC4_KEY_LEN: usize = 8;

/// One primitive, ready to be repeated.
pub(crate) struct Workload<'a> {
    /// Runs it once.
    pub(crate) run: Box<dyn FnMut() + 'a>,
    /// Undoes its effect, where necessary; it is part of `run`, and its time is subtracted.
    pub(crate) undo: Option<Box<dyn FnMut() + 'a>>,
}

/// Creates workloads; signature keys are generated once.
pub(crate) struct Workloads {
    library: Library,
    keys: BTreeMap<KeyKind, SigningKey>,
}

impl Workloads {
    pub(crate) fn new(library: Library) -> Self {
        Self { library, keys: BTreeMap::new() }
    }

    /// The workload of a primitive.
    pub(crate) fn of(&mut self, primitive: &Primitive) -> Workload<'static> {
        let provider = self.library.provider(primitive.exponents.unwrap_or_default());
        let message = vec![7; primitive.bytes];
        let run: Box<dyn FnMut()> = match primitive.operation {
            Operation::Generate(group) => generate(provider, group),
            Operation::Agree(group) => agree(provider, group),
            Operation::Exchange(group) => exchange(provider, group),
            Operation::OnCurve(operation, curve) => on_curve(provider, operation, curve),
            Operation::Sign(kind, scheme) => sign(provider, self.key(kind), scheme, message),
            Operation::Verify(kind, scheme) => verify(provider, &self.key(kind), scheme, message),
            Operation::RsaEncrypt(kind) => rsa_encrypt(provider, &self.key(kind), message),
            Operation::RsaDecrypt(kind) => rsa_decrypt(provider, self.key(kind), &message),
            Operation::Encrypt(algorithm) => encrypt(provider, algorithm, message),
            Operation::Decrypt(algorithm) => return decrypt(provider, algorithm, message),
            Operation::Mac(algorithm) => {
                let (mut provider, key) = (provider, vec![3; algorithm.key_len()]);
                Box::new(move || _ = black_box(provider.mac(algorithm, &key, &[black_box(&message)])))
            }
            Operation::VerifyMac(algorithm) => {
                let (mut provider, key) = (provider, vec![3; algorithm.key_len()]);
                let tag = provider.mac(algorithm, &key, &[&message]);
                Box::new(move || {
                    _ = black_box(provider.verify_mac(algorithm, &key, &[black_box(&message)], &tag));
                })
            }
            Operation::EncryptTraffic(algorithm) => encrypt_traffic(provider, algorithm, message),
            Operation::DecryptTraffic(algorithm) => return decrypt_traffic(provider, algorithm, message),
            Operation::MacTraffic(algorithm) => mac_traffic(provider, algorithm, message),
            Operation::VerifyTraffic(algorithm) => verify_traffic(provider, algorithm, message),
            Operation::Prf(algorithm) => {
                let (mut provider, key) = (provider, vec![3; algorithm.output_len()]);
                Box::new(move || _ = black_box(provider.prf(algorithm, &key, &[black_box(&message)])))
            }
            Operation::Hash(algorithm) => {
                let mut provider = provider;
                Box::new(move || _ = black_box(provider.hash(algorithm, &[black_box(&message)])))
            }
            Operation::Compress => compress(provider),
            Operation::Block(cipher) => block(provider, cipher),
            Operation::Stream(cipher) => stream(provider, cipher, message),
            Operation::Wrap(cipher) => wrap(provider, cipher, message),
            Operation::Unwrap(cipher) => unwrap(provider, cipher, &message),
        };
        Workload { run, undo: None }
    }

    /// A key of the measured library.
    fn key(&mut self, kind: KeyKind) -> SigningKey {
        let library = self.library;
        let make = || adopted(library, keys::generate(kind, &mut Rng::named(1, kind.name())));
        self.keys.entry(kind).or_insert_with(make).clone()
    }
}

/// The key converted for the measured library.
fn adopted(library: Library, key: SigningKey) -> SigningKey {
    match library {
        Library::AwsLc => key,
        #[cfg(feature = "ossl")]
        Library::OpenSsl => keytoll_crypto::Ossl::adopt(&key).expect("both libraries know every kind of key"),
    }
}

fn generate(mut provider: Provider, group: Group) -> Box<dyn FnMut()> {
    let mut rng = Rng::named(1, "generate");
    Box::new(move || _ = black_box(provider.generate(group, &mut rng)))
}

fn agree(mut provider: Provider, group: Group) -> Box<dyn FnMut()> {
    let mut rng = Rng::named(1, "agree");
    let (ours, theirs) = (provider.generate(group, &mut rng), provider.generate(group, &mut rng));
    Box::new(move || _ = black_box(provider.agree(&ours.private, black_box(&theirs.public))))
}

fn exchange(mut provider: Provider, group: Group) -> Box<dyn FnMut()> {
    let mut rng = Rng::named(1, "exchange");
    let theirs = provider.generate(group, &mut rng);
    Box::new(move || {
        let ours = provider.generate(group, &mut rng);
        _ = black_box(provider.agree(&ours.private, black_box(&theirs.public)));
    })
}

/// What is used as element, coordinate and scalar is one key pair, whose coordinates have their element.
fn on_curve(mut provider: Provider, operation: CurveOperation, curve: Curve) -> Box<dyn FnMut()> {
    let group = match curve {
        Curve::P256 => Group::Ecp256,
        Curve::P384 => Group::Ecp384,
        Curve::P521 => Group::Ecp521,
    };
    let mut rng = Rng::named(1, "curve");
    let (element, other) =
        (provider.generate(group, &mut rng).public, provider.generate(group, &mut rng).public);
    let (mut scalar, mut octets) = (vec![0; curve.field_len()], vec![0; curve.field_len() * 3 / 2]);
    rng.fill(&mut scalar[curve.field_len() / 8..]);
    rng.fill(&mut octets);
    let blinding = octets[..=curve.field_len()].to_vec();
    Box::new(move || {
        let x = &element[..curve.field_len()];
        let given = match operation {
            CurveOperation::Multiply => OnCurve::Multiply { element: &element, scalar: &scalar },
            CurveOperation::Add => OnCurve::Add(&element, &other),
            CurveOperation::Invert => OnCurve::Invert(&element),
            CurveOperation::Check => OnCurve::Check(&element),
            CurveOperation::Test => OnCurve::Test { x, blinding: &blinding },
            CurveOperation::Solve => OnCurve::Solve { x, is_odd: true },
            CurveOperation::Map => OnCurve::Map(&octets),
            CurveOperation::AddScalars => OnCurve::AddScalars(&scalar, &scalar),
            CurveOperation::Scalar => OnCurve::Scalar(&octets),
        };
        let computed = provider.on_curve(curve, black_box(given));
        assert!(black_box(computed).is_ok(), "the operands fit");
    })
}

fn sign(
    mut provider: Provider,
    key: SigningKey,
    scheme: SignatureScheme,
    message: Vec<u8>,
) -> Box<dyn FnMut()> {
    Box::new(move || _ = black_box(provider.sign(&key, scheme, &[black_box(&message)])))
}

fn verify(
    mut provider: Provider,
    key: &SigningKey,
    scheme: SignatureScheme,
    message: Vec<u8>,
) -> Box<dyn FnMut()> {
    let (signature, spki) = (provider.sign(key, scheme, &[&message]), key.spki.clone());
    Box::new(move || {
        let good = provider.verify(&spki, scheme, &[black_box(&message)], &signature);
        assert!(black_box(good).is_ok(), "what was signed here verifies");
    })
}

fn rsa_encrypt(mut provider: Provider, key: &SigningKey, message: Vec<u8>) -> Box<dyn FnMut()> {
    let spki = key.spki.clone();
    Box::new(move || _ = black_box(provider.rsa_encrypt(&spki, black_box(&message))))
}

fn rsa_decrypt(mut provider: Provider, key: SigningKey, message: &[u8]) -> Box<dyn FnMut()> {
    let ciphertext =
        provider.rsa_encrypt(&key.spki, message).expect("the message is short enough for the key");
    Box::new(move || _ = black_box(provider.rsa_decrypt(&key, black_box(&ciphertext))))
}

fn encrypt(mut provider: Provider, algorithm: Encryption, mut data: Vec<u8>) -> Box<dyn FnMut()> {
    let (key, iv) = (vec![3; algorithm.key_len()], vec![5; algorithm.iv_len()]);
    let mut tag = vec![0; algorithm.tag_len()];
    Box::new(move || provider.encrypt(algorithm, &key, &iv, &[], black_box(&mut data), &mut tag))
}

/// Without a tag the plaintext can be decrypted again; otherwise the ciphertext must be restored.
fn decrypt(mut provider: Provider, algorithm: Encryption, message: Vec<u8>) -> Workload<'static> {
    let (key, iv) = (vec![3; algorithm.key_len()], vec![5; algorithm.iv_len()]);
    let (mut ciphertext, mut tag) = (message, vec![0; algorithm.tag_len()]);
    provider.encrypt(algorithm, &key, &iv, &[], &mut ciphertext, &mut tag);
    let mut data = ciphertext.clone();
    if !algorithm.is_aead() {
        let run =
            move || _ = black_box(provider.decrypt(algorithm, &key, &iv, &[], black_box(&mut data), &tag));
        return Workload { run: Box::new(run), undo: None };
    }
    let (whole, mut copy) = (ciphertext.clone(), ciphertext.clone());
    let run = move || {
        black_box(&mut data).copy_from_slice(&ciphertext);
        let opened = provider.decrypt(algorithm, &key, &iv, &[], black_box(&mut data), &tag);
        assert!(black_box(opened).is_ok(), "what was sealed here opens");
    };
    let undo = move || black_box(&mut copy).copy_from_slice(&whole);
    Workload { run: Box::new(run), undo: Some(Box::new(undo)) }
}

/// The key of a child SA.
fn traffic_key(encryption: Encryption, integrity: Option<Integrity>) -> TrafficKey {
    let secret = |len| Secret::new(vec![3; len]);
    TrafficKey::new(
        encryption,
        integrity,
        secret(encryption.key_len()),
        secret(integrity.map_or(0, Integrity::key_len)),
    )
}

/// Packets until a provider keeps the expanded key.
const EXPANDING: usize = 3;

fn encrypt_traffic(mut provider: Provider, algorithm: Encryption, mut data: Vec<u8>) -> Box<dyn FnMut()> {
    let (mut key, iv) = (traffic_key(algorithm, None), vec![5; algorithm.iv_len()]);
    let mut tag = vec![0; algorithm.tag_len()];
    let mut run =
        move || provider.encrypt_traffic(&mut key, &iv, &[], black_box(&mut data), black_box(&mut tag));
    (0..EXPANDING).for_each(|_| run());
    Box::new(run)
}

fn decrypt_traffic(mut provider: Provider, algorithm: Encryption, message: Vec<u8>) -> Workload<'static> {
    let (mut key, iv) = (traffic_key(algorithm, None), vec![5; algorithm.iv_len()]);
    let (mut ciphertext, mut tag) = (message, vec![0; algorithm.tag_len()]);
    provider.encrypt_traffic(&mut key.clone(), &iv, &[], &mut ciphertext, &mut tag);
    let (mut data, whole, mut copy) = (ciphertext.clone(), ciphertext.clone(), ciphertext.clone());
    let mut run = move || {
        black_box(&mut data).copy_from_slice(&ciphertext);
        let opened = provider.decrypt_traffic(&mut key, &iv, &[], black_box(&mut data), &tag);
        assert!(black_box(opened).is_ok(), "what was sealed here opens");
    };
    (0..EXPANDING).for_each(|_| run());
    let undo = move || black_box(&mut copy).copy_from_slice(&whole);
    Workload { run: Box::new(run), undo: Some(Box::new(undo)) }
}

fn mac_traffic(mut provider: Provider, algorithm: Integrity, message: Vec<u8>) -> Box<dyn FnMut()> {
    let mut key = traffic_key(Encryption::Null, Some(algorithm));
    (0..EXPANDING).for_each(|_| provider.encrypt_traffic(&mut key, &[], &[], &mut [], &mut []));
    let mut tag = vec![0; algorithm.tag_len()];
    Box::new(move || provider.mac_traffic(&mut key, &[black_box(&message)], black_box(&mut tag)))
}

fn verify_traffic(mut provider: Provider, algorithm: Integrity, message: Vec<u8>) -> Box<dyn FnMut()> {
    let mut key = traffic_key(Encryption::Null, Some(algorithm));
    let mut tag = vec![0; algorithm.tag_len()];
    provider.mac_traffic(&mut key.clone(), &[&message], &mut tag);
    for _ in 0..EXPANDING {
        let opened = provider.decrypt_traffic(&mut key, &[], &[], &mut [], &[]);
        opened.expect("nothing was encrypted");
    }
    Box::new(move || _ = black_box(provider.verify_traffic(&mut key, &[black_box(&message)], &tag)))
}

fn compress(mut provider: Provider) -> Box<dyn FnMut()> {
    let (mut state, block) = ([1; 5], [7; 64]);
    Box::new(move || provider.sha1_compress(black_box(&mut state), &block))
}

fn block(mut provider: Provider, cipher: BlockCipher) -> Box<dyn FnMut()> {
    let (key, mut block) = (vec![3; cipher.key_len()], vec![7; cipher.block_len()]);
    Box::new(move || provider.block(cipher, &key, black_box(&mut block)))
}

fn stream(mut provider: Provider, cipher: StreamCipher, mut data: Vec<u8>) -> Box<dyn FnMut()> {
    let key = [3; RC4_KEY_LEN];
    Box::new(move || provider.stream(cipher, &key, black_box(&mut data)))
}

fn wrap(mut provider: Provider, cipher: KeyWrap, data: Vec<u8>) -> Box<dyn FnMut()> {
    let key = vec![3; cipher.key_len()];
    Box::new(move || _ = black_box(provider.wrap_key(cipher, &key, black_box(&data))))
}

fn unwrap(mut provider: Provider, cipher: KeyWrap, data: &[u8]) -> Box<dyn FnMut()> {
    let key = vec![3; cipher.key_len()];
    let wrapped = provider.wrap_key(cipher, &key, data);
    Box::new(move || _ = black_box(provider.unwrap_key(cipher, &key, black_box(&wrapped))))
}
