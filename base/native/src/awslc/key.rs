//! Signature keys: made, imported, exported, used. RFC 8017 (RSA), FIPS 186-5 (ECDSA), RFC 8032 (Ed25519), with
//! RFC 5208 / RFC 5958 (PKCS #8) and RFC 5280 §4.1.2.7 (SubjectPublicKeyInfo) as containers.

use aws_lc_sys as sys;

use super::bn::Bn;
use super::ec::{self, Curve};
use super::hash::Name;
use super::owned::owned;
use super::{rsa, succeeded, wipe};

/// What kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// RSA with a modulus of so many bits.
    Rsa(usize),
    /// ECDSA on a curve.
    Ecdsa(Curve),
    /// Ed25519.
    Ed25519,
}

/// How an RSA signature is padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// EMSA-PKCS1-v1_5, RFC 8017 §9.2.
    Pkcs1,
    /// EMSA-PSS with a salt as long as the hash, RFC 8017 §9.1.
    Pss,
}

owned! {
    /// A key of any kind.
    Pkey(sys::EVP_PKEY), sys::EVP_PKEY_free
}

/// A private key, parsed once.
pub struct PrivateKey {
    key: Pkey,
    kind: Kind,
}

/// A public key, parsed once.
pub struct PublicKey {
    key: Pkey,
    kind: Kind,
}

// SAFETY: after construction the key is only used, which the library documents as thread-safe (RSA locks its blinding
// factors itself).
unsafe impl Send for PrivateKey {}
// SAFETY: as above.
unsafe impl Sync for PrivateKey {}
// SAFETY: as above.
unsafe impl Send for PublicKey {}
// SAFETY: as above.
unsafe impl Sync for PublicKey {}

/// RSA_PSS_SALTLEN_DIGEST: a salt as long as the hash.
const SALT_AS_DIGEST: i32 = -1;

/// Seed and public value of an Ed25519 key, as the library keeps them.
const ED25519_PRIVATE_LEN: usize = 64;

impl PrivateKey {
    /// Makes a key from the bytes that `fill` supplies; the same bytes give the same key on every machine.
    pub fn generate(kind: Kind, fill: &mut dyn FnMut(&mut [u8])) -> Self {
        let key = match kind {
            Kind::Rsa(bits) => of_rsa(&rsa::generate(bits, fill)),
            Kind::Ecdsa(curve) => of_ec(&generate_ec(curve, fill)),
            Kind::Ed25519 => generate_ed25519(fill),
        };
        Self { key, kind }.ready()
    }

    /// Parses a PKCS #8 PrivateKeyInfo in DER; none if it is malformed or of no known kind.
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        let key = parse(der, sys::EVP_parse_private_key)?;
        let kind = kind_of(&key)?;
        Some(Self { key, kind }.ready())
    }

    /// The key with the numbers that the library computes and keeps for the first RSA signature. Otherwise the node that happens to be the first
    /// to sign with a shared key is charged for them.
    fn ready(self) -> Self {
        self.sign_rsa_bare(&[]);
        self
    }

    /// The PKCS #8 PrivateKeyInfo in DER. The caller wipes it.
    pub fn to_pkcs8(&self) -> Vec<u8> {
        marshal(&self.key, sys::EVP_marshal_private_key)
    }

    /// The public half as SubjectPublicKeyInfo in DER.
    pub fn spki(&self) -> Vec<u8> {
        marshal(&self.key, sys::EVP_marshal_public_key)
    }

    /// What kind of key it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Signs a digest with RSA; none if this is no RSA key, or one too short for the digest.
    pub fn sign_rsa(&self, padding: Padding, hash: Name, digest: &[u8]) -> Option<Vec<u8>> {
        let Kind::Rsa(bits) = self.kind else { return None };
        let mut signature = vec![0; bits.div_ceil(8)];
        let signed = match padding {
            Padding::Pkcs1 => self.sign_pkcs1(hash, digest, &mut signature),
            Padding::Pss => self.sign_pss(hash, digest, &mut signature),
        };
        signed.then_some(signature)
    }

    /// Signs the message as it is, in PKCS #1 v1.5 padding of block type 1 without DigestInfo; `None` if this is no RSA key, or
    /// one too short.
    pub fn sign_rsa_bare(&self, message: &[u8]) -> Option<Vec<u8>> {
        let Kind::Rsa(bits) = self.kind else { return None };
        let mut signature = vec![0; bits.div_ceil(8)];
        let mut written = 0;
        // SAFETY: the key is RSA, so get0 is not null; both buffers have the lengths that are given.
        let signed = unsafe {
            sys::RSA_sign_raw(
                sys::EVP_PKEY_get0_RSA(self.key.as_ptr()),
                &raw mut written,
                signature.as_mut_ptr(),
                signature.len(),
                message.as_ptr(),
                message.len(),
                sys::RSA_PKCS1_PADDING,
            )
        };
        succeeded(signed).then_some(signature)
    }

    fn sign_pkcs1(&self, hash: Name, digest: &[u8], signature: &mut [u8]) -> bool {
        let mut written = 0;
        // SAFETY: the key is RSA, so get0 is not null; the signature buffer has the length of the modulus.
        succeeded(unsafe {
            sys::RSA_sign(
                hash.nid(),
                digest.as_ptr(),
                digest.len(),
                signature.as_mut_ptr(),
                &raw mut written,
                sys::EVP_PKEY_get0_RSA(self.key.as_ptr()),
            )
        })
    }

    fn sign_pss(&self, hash: Name, digest: &[u8], signature: &mut [u8]) -> bool {
        let mut written = 0;
        // SAFETY: the key is RSA, so get0 is not null; the signature buffer is writable for its length.
        succeeded(unsafe {
            sys::RSA_sign_pss_mgf1(
                sys::EVP_PKEY_get0_RSA(self.key.as_ptr()),
                &raw mut written,
                signature.as_mut_ptr(),
                signature.len(),
                digest.as_ptr(),
                digest.len(),
                hash.md(),
                hash.md(),
                SALT_AS_DIGEST,
            )
        })
    }

    /// Signs a digest with ECDSA, as ASN.1 Ecdsa-Sig-Value; none if this is no ECDSA key.
    pub fn sign_ecdsa_der(&self, digest: &[u8]) -> Option<Vec<u8>> {
        let Kind::Ecdsa(_) = self.kind else { return None };
        // SAFETY: the key is EC, so get0 is not null.
        let key = unsafe { sys::EVP_PKEY_get0_EC_KEY(self.key.as_ptr()) };
        // SAFETY: a valid key.
        let mut signature = vec![0; unsafe { sys::ECDSA_size(key) }];
        let mut written = 0;
        // SAFETY: ECDSA_size is what the library may write.
        let signed = unsafe {
            sys::ECDSA_sign(0, digest.as_ptr(), digest.len(), signature.as_mut_ptr(), &raw mut written, key)
        };
        signature.truncate(written as usize);
        succeeded(signed).then_some(signature)
    }

    /// Signs a digest with ECDSA, as r ‖ s; none if this is no ECDSA key.
    pub fn sign_ecdsa_raw(&self, digest: &[u8]) -> Option<Vec<u8>> {
        let Kind::Ecdsa(curve) = self.kind else { return None };
        // SAFETY: the key is EC, so get0 is not null; the digest is readable.
        let signature = Signature::own(unsafe {
            sys::ECDSA_do_sign(digest.as_ptr(), digest.len(), sys::EVP_PKEY_get0_EC_KEY(self.key.as_ptr()))
        })?;
        let mut raw = vec![0; 2 * curve.field_len()];
        let (r, s) = raw.split_at_mut(curve.field_len());
        // SAFETY: the signature is valid and owns both numbers, which are only read.
        let written = unsafe {
            sys::BN_bn2bin_padded(r.as_mut_ptr(), r.len(), sys::ECDSA_SIG_get0_r(signature.as_ptr()))
                & sys::BN_bn2bin_padded(s.as_mut_ptr(), s.len(), sys::ECDSA_SIG_get0_s(signature.as_ptr()))
        };
        succeeded(written).then_some(raw)
    }

    /// Signs a message with Ed25519; none if this is no Ed25519 key.
    pub fn sign_ed25519(&self, message: &[u8]) -> Option<Vec<u8>> {
        let Kind::Ed25519 = self.kind else { return None };
        let mut private = self.ed25519_private();
        let mut signature = vec![0; 64];
        // SAFETY: the message is readable, the arrays have the 64 bytes the function writes and reads.
        let signed = unsafe {
            sys::ED25519_sign(signature.as_mut_ptr(), message.as_ptr(), message.len(), private.as_ptr())
        };
        wipe(&mut private);
        succeeded(signed).then_some(signature)
    }

    /// Decrypts with RSAES-PKCS1-v1_5 (RFC 8017 §7.2.2); `None` if this is no RSA key, or the padding is wrong. The library
    /// works in constant time up to that result, which the caller must not reveal to a peer.
    pub fn decrypt_rsa(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        let Kind::Rsa(bits) = self.kind else { return None };
        let (mut message, mut written) = (vec![0; bits.div_ceil(8)], 0);
        // SAFETY: the key is RSA, so get0 is not null; the buffer has the length of the modulus, the ciphertext is
        // readable for its length.
        let decrypted = succeeded(unsafe {
            sys::RSA_decrypt(
                sys::EVP_PKEY_get0_RSA(self.key.as_ptr()),
                &raw mut written,
                message.as_mut_ptr(),
                message.len(),
                ciphertext.as_ptr(),
                ciphertext.len(),
                sys::RSA_PKCS1_PADDING,
            )
        });
        if !decrypted {
            wipe(&mut message);
            return None;
        }
        wipe(&mut message[written..]);
        message.truncate(written);
        Some(message)
    }

    fn ed25519_private(&self) -> [u8; ED25519_PRIVATE_LEN] {
        let mut private = [0; ED25519_PRIVATE_LEN];
        let (seed, public) = private.split_at_mut(32);
        let (mut seed_len, mut public_len) = (32, 32);
        // SAFETY: the key is Ed25519, both halves have the 32 bytes the lengths say.
        let read = unsafe {
            sys::EVP_PKEY_get_raw_private_key(self.key.as_ptr(), seed.as_mut_ptr(), &raw mut seed_len)
                & sys::EVP_PKEY_get_raw_public_key(
                    self.key.as_ptr(),
                    public.as_mut_ptr(),
                    &raw mut public_len,
                )
        };
        assert!(succeeded(read), "an Ed25519 key has a seed and a public value of 32 bytes");
        private
    }
}

owned! {
    /// The two numbers of an ECDSA signature.
    Signature(sys::ECDSA_SIG), sys::ECDSA_SIG_free
}

impl PublicKey {
    /// Parses a SubjectPublicKeyInfo in DER; none if it is malformed or of no known kind.
    pub fn from_spki(der: &[u8]) -> Option<Self> {
        let key = parse(der, sys::EVP_parse_public_key)?;
        let kind = kind_of(&key)?;
        Some(Self { key, kind })
    }

    /// What kind of key it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Encrypts with RSAES-PKCS1-v1_5 (RFC 8017 §7.2.1); none if this is no RSA key, or one too short for the message.
    pub fn encrypt_rsa(&self, message: &[u8]) -> Option<Vec<u8>> {
        let Kind::Rsa(bits) = self.kind else { return None };
        let (mut ciphertext, mut written) = (vec![0; bits.div_ceil(8)], 0);
        // SAFETY: the key is RSA, so get0 is not null; the buffer has the length of the modulus, the message is readable
        // for its length.
        let encrypted = succeeded(unsafe {
            sys::RSA_encrypt(
                sys::EVP_PKEY_get0_RSA(self.key.as_ptr()),
                &raw mut written,
                ciphertext.as_mut_ptr(),
                ciphertext.len(),
                message.as_ptr(),
                message.len(),
                sys::RSA_PKCS1_PADDING,
            )
        });
        encrypted.then_some(ciphertext)
    }

    /// Checks an RSA signature of a digest.
    pub fn verify_rsa(&self, padding: Padding, hash: Name, digest: &[u8], signature: &[u8]) -> bool {
        let Kind::Rsa(_) = self.kind else { return false };
        match padding {
            Padding::Pkcs1 => self.verify_pkcs1(hash, digest, signature),
            Padding::Pss => self.verify_pss(hash, digest, signature),
        }
    }

    /// Checks an RSA signature of the message as it is, see [`PrivateKey::sign_rsa_bare`].
    pub fn verify_rsa_bare(&self, message: &[u8], signature: &[u8]) -> bool {
        let Kind::Rsa(bits) = self.kind else { return false };
        let (mut opened, mut len) = (vec![0; bits.div_ceil(8)], 0);
        // SAFETY: the key is RSA, so get0 is not null; the buffer is as long as the modulus, the signature readable.
        let valid = unsafe {
            sys::RSA_verify_raw(
                sys::EVP_PKEY_get0_RSA(self.key.as_ptr()),
                &raw mut len,
                opened.as_mut_ptr(),
                opened.len(),
                signature.as_ptr(),
                signature.len(),
                sys::RSA_PKCS1_PADDING,
            )
        };
        // All of it is public, so the comparison need not take constant time.
        succeeded(valid) && opened.get(..len) == Some(message)
    }

    fn verify_pkcs1(&self, hash: Name, digest: &[u8], signature: &[u8]) -> bool {
        // SAFETY: the key is RSA, so get0 is not null; digest and signature are readable for their lengths.
        succeeded(unsafe {
            sys::RSA_verify(
                hash.nid(),
                digest.as_ptr(),
                digest.len(),
                signature.as_ptr(),
                signature.len(),
                sys::EVP_PKEY_get0_RSA(self.key.as_ptr()),
            )
        })
    }

    fn verify_pss(&self, hash: Name, digest: &[u8], signature: &[u8]) -> bool {
        // SAFETY: the key is RSA, so get0 is not null; digest and signature are readable for their lengths.
        succeeded(unsafe {
            sys::RSA_verify_pss_mgf1(
                sys::EVP_PKEY_get0_RSA(self.key.as_ptr()),
                digest.as_ptr(),
                digest.len(),
                hash.md(),
                hash.md(),
                SALT_AS_DIGEST,
                signature.as_ptr(),
                signature.len(),
            )
        })
    }

    /// Checks an ECDSA signature of a digest, given as ASN.1 Ecdsa-Sig-Value.
    pub fn verify_ecdsa_der(&self, digest: &[u8], signature: &[u8]) -> bool {
        let Kind::Ecdsa(_) = self.kind else { return false };
        // SAFETY: the key is EC, so get0 is not null; digest and signature are readable for their lengths.
        succeeded(unsafe {
            sys::ECDSA_verify(
                0,
                digest.as_ptr(),
                digest.len(),
                signature.as_ptr(),
                signature.len(),
                sys::EVP_PKEY_get0_EC_KEY(self.key.as_ptr()),
            )
        })
    }

    /// Checks an ECDSA signature of a digest, given as r ‖ s.
    pub fn verify_ecdsa_raw(&self, digest: &[u8], signature: &[u8]) -> bool {
        let Kind::Ecdsa(curve) = self.kind else { return false };
        if signature.len() != 2 * curve.field_len() {
            return false;
        }
        let signature = from_raw(signature);
        // SAFETY: the key is EC, so get0 is not null; the signature is valid, the digest readable.
        succeeded(unsafe {
            sys::ECDSA_do_verify(
                digest.as_ptr(),
                digest.len(),
                signature.as_ptr(),
                sys::EVP_PKEY_get0_EC_KEY(self.key.as_ptr()),
            )
        })
    }

    /// Checks an Ed25519 signature of a message.
    pub fn verify_ed25519(&self, message: &[u8], signature: &[u8]) -> bool {
        let (Kind::Ed25519, Ok(signature)) = (self.kind, <&[u8; 64]>::try_from(signature)) else {
            return false;
        };
        let (mut public, mut len) = ([0; 32], 32);
        // SAFETY: the key is Ed25519 and `public` has 32 bytes; message and signature are readable.
        succeeded(unsafe {
            sys::EVP_PKEY_get_raw_public_key(self.key.as_ptr(), public.as_mut_ptr(), &raw mut len)
                & sys::ED25519_verify(message.as_ptr(), message.len(), signature.as_ptr(), public.as_ptr())
        })
    }
}

fn from_raw(signature: &[u8]) -> Signature {
    let (r, s) = signature.split_at(signature.len() / 2);
    let (r, s) = (Bn::from_be(r), Bn::from_be(s));
    // SAFETY: no arguments.
    let signature = Signature::own(unsafe { sys::ECDSA_SIG_new() }).expect("libcrypto allocates");
    // SAFETY: all valid; on success, which is certain for non-null numbers, the signature owns the numbers, so they
    // are given up here.
    unsafe { sys::ECDSA_SIG_set0(signature.as_ptr(), r.into_raw(), s.into_raw()) };
    signature
}

fn of_rsa(key: &rsa::Key) -> Pkey {
    let pkey = empty();
    // SAFETY: both are valid; set1 takes a reference of its own.
    assert!(succeeded(unsafe { sys::EVP_PKEY_set1_RSA(pkey.as_ptr(), key.as_ptr()) }), "an RSA key fits");
    pkey
}

fn of_ec(key: &ec::Key) -> Pkey {
    let pkey = empty();
    // SAFETY: both are valid; set1 takes a reference of its own.
    assert!(succeeded(unsafe { sys::EVP_PKEY_set1_EC_KEY(pkey.as_ptr(), key.as_ptr()) }), "an EC key fits");
    pkey
}

fn empty() -> Pkey {
    // SAFETY: no arguments.
    Pkey::own(unsafe { sys::EVP_PKEY_new() }).expect("libcrypto allocates")
}

/// FIPS 186-5 A.2.2: a scalar in [1, n − 1] by rejection.
fn generate_ec(curve: Curve, fill: &mut dyn FnMut(&mut [u8])) -> ec::Key {
    let mut buffer = [0; 66];
    let scalar = &mut buffer[..curve.field_len()];
    let key = loop {
        fill(scalar);
        scalar[0] &= curve.first_byte_mask();
        if let Some(key) = curve.key_pair(scalar) {
            break key;
        }
    };
    wipe(&mut buffer);
    key
}

fn generate_ed25519(fill: &mut dyn FnMut(&mut [u8])) -> Pkey {
    let mut seed = [0; 32];
    fill(&mut seed);
    // SAFETY: the seed has the 32 bytes the length says; no engine.
    let key = unsafe {
        sys::EVP_PKEY_new_raw_private_key(sys::EVP_PKEY_ED25519, std::ptr::null_mut(), seed.as_ptr(), 32)
    };
    wipe(&mut seed);
    Pkey::own(key).expect("every seed makes an Ed25519 key")
}

fn kind_of(key: &Pkey) -> Option<Kind> {
    // SAFETY: a valid key, only read.
    match unsafe { sys::EVP_PKEY_id(key.as_ptr()) } {
        sys::EVP_PKEY_RSA => rsa_bits(key).map(Kind::Rsa),
        sys::EVP_PKEY_EC => curve_of(key).map(Kind::Ecdsa),
        sys::EVP_PKEY_ED25519 => Some(Kind::Ed25519),
        _ => None,
    }
}

fn rsa_bits(key: &Pkey) -> Option<usize> {
    // SAFETY: a valid key, only read.
    usize::try_from(unsafe { sys::EVP_PKEY_bits(key.as_ptr()) }).ok()
}

fn curve_of(key: &Pkey) -> Option<Curve> {
    // SAFETY: the key is EC, so get0 is not null and has a group.
    let nid = unsafe {
        sys::EC_GROUP_get_curve_name(sys::EC_KEY_get0_group(sys::EVP_PKEY_get0_EC_KEY(key.as_ptr())))
    };
    Curve::named(nid)
}

/// Parses DER without trailing bytes.
fn parse(der: &[u8], parser: unsafe extern "C" fn(*mut sys::CBS) -> *mut sys::EVP_PKEY) -> Option<Pkey> {
    let mut input = sys::CBS { data: der.as_ptr(), len: der.len() };
    // SAFETY: the input describes readable bytes, which outlive the call.
    let key = Pkey::own(unsafe { parser(&raw mut input) })?;
    (input.len == 0).then_some(key)
}

type Marshal = unsafe extern "C" fn(*mut sys::CBB, *const sys::EVP_PKEY) -> i32;

fn marshal(key: &Pkey, marshal: Marshal) -> Vec<u8> {
    let mut output = std::mem::MaybeUninit::<sys::CBB>::zeroed();
    let (mut data, mut len) = (std::ptr::null_mut(), 0);
    // SAFETY: CBB_init makes the zeroed builder valid; CBB_finish hands over an allocation of `len` bytes, which is
    // copied, wiped and freed exactly once.
    unsafe {
        let done = sys::CBB_init(output.as_mut_ptr(), 512)
            & marshal(output.as_mut_ptr(), key.as_ptr())
            & sys::CBB_finish(output.as_mut_ptr(), &raw mut data, &raw mut len);
        assert!(succeeded(done), "a key that exists can be written");
        let library_copy = std::slice::from_raw_parts_mut(data, len);
        let bytes = library_copy.to_vec();
        wipe(library_copy);
        sys::OPENSSL_free(data.cast());
        bytes
    }
}
