//! Signatures through `EVP_DigestSign` and `EVP_DigestVerify`, with keys from PKCS #8 and SubjectPublicKeyInfo.

use std::ffi::c_int;
use std::ptr::{null, null_mut};

use openssl_sys as sys;

use super::digest::md;
use super::{int, owned, succeeded};
use crate::awslc::hash::Name;
use crate::awslc::key::Padding;

owned! {
    /// A key of any kind.
    Pkey(sys::EVP_PKEY), sys::EVP_PKEY_free
}

owned! {
    /// A signature being made or checked.
    Context(sys::EVP_MD_CTX), sys::EVP_MD_CTX_free
}

owned! {
    /// The two numbers of an ECDSA signature.
    Numbers(sys::ECDSA_SIG), sys::ECDSA_SIG_free
}

owned! {
    /// An encryption or decryption, or a signature without a hash.
    Operation(sys::EVP_PKEY_CTX), sys::EVP_PKEY_CTX_free
}

owned! {
    /// A number.
    Bn(sys::BIGNUM), sys::BN_free
}

/// RSA_PSS_SALTLEN_DIGEST: a salt as long as the hash.
const SALT_AS_DIGEST: c_int = -1;

/// How to sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// RSA with a padding over a hash.
    Rsa(Padding, Name),
    /// RSA with PKCS #1 v1.5 padding around the message itself.
    RsaBare,
    /// ECDSA over a hash, in DER.
    EcdsaDer(Name),
    /// ECDSA over a hash, as two numbers of so many bytes each.
    EcdsaRaw(Name, usize),
    /// Ed25519.
    Ed25519,
}

/// A private key, parsed once.
pub struct PrivateKey(Pkey);

/// A public key, parsed once.
pub struct PublicKey(Pkey);

// SAFETY: the library documents keys that are only used as thread-safe.
unsafe impl Send for PrivateKey {}
// SAFETY: as above.
unsafe impl Sync for PrivateKey {}
// SAFETY: as above.
unsafe impl Send for PublicKey {}
// SAFETY: as above.
unsafe impl Sync for PublicKey {}

impl PrivateKey {
    /// Parses PKCS #8 in DER.
    pub fn from_pkcs8(der: &[u8]) -> Option<Self> {
        let mut cursor = der.as_ptr();
        // SAFETY: the bytes are readable for the length given.
        let key = unsafe { sys::d2i_AutoPrivateKey(null_mut(), &raw mut cursor, der.len().try_into().ok()?) };
        Pkey::own(key).map(Self)
    }

    /// Signs; none if the scheme does not fit the key.
    pub fn sign(&self, scheme: Scheme, message: &[u8]) -> Option<Vec<u8>> {
        if scheme == Scheme::RsaBare {
            return apply(&self.0, sys::EVP_PKEY_sign_init, sys::EVP_PKEY_sign, message);
        }
        let context = self.start(scheme)?;
        // SAFETY: a valid key.
        let mut signature = vec![0; usize::try_from(unsafe { sys::EVP_PKEY_size(self.0.as_ptr()) }).ok()?];
        let mut len = signature.len();
        // SAFETY: the context is initialised, the buffer has the size the library says it may need.
        let signed = unsafe {
            let raw = context.as_ptr();
            sys::EVP_DigestSign(raw, signature.as_mut_ptr(), &raw mut len, message.as_ptr(), message.len())
        };
        signature.truncate(len);
        if !succeeded(signed) {
            return None;
        }
        match scheme {
            Scheme::EcdsaRaw(_, width) => to_raw(&signature, width),
            _ => Some(signature),
        }
    }

    /// Decrypts with RSAES-PKCS1-v1_5; `None` if this is no RSA key or the padding is wrong. OpenSSL 3.2 and distributions with
    /// its patch return a random message instead.
    pub fn decrypt_rsa(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        apply(&self.0, sys::EVP_PKEY_decrypt_init, sys::EVP_PKEY_decrypt, ciphertext)
    }

    fn start(&self, scheme: Scheme) -> Option<Context> {
        let mut operation = null_mut();
        // SAFETY: context and key are valid; the operation belongs to the context.
        unsafe {
            let context = Context::own(sys::EVP_MD_CTX_new()).expect("libcrypto allocates");
            let (raw, key) = (context.as_ptr(), self.0.as_ptr());
            let ready = sys::EVP_DigestSignInit(raw, &raw mut operation, scheme.md(), null_mut(), key);
            (succeeded(ready) && scheme.set_padding(operation)).then_some(context)
        }
    }
}

impl PublicKey {
    /// Parses a SubjectPublicKeyInfo in DER.
    pub fn from_spki(der: &[u8]) -> Option<Self> {
        let mut cursor = der.as_ptr();
        // SAFETY: the bytes are readable for the length given.
        let key = unsafe { sys::d2i_PUBKEY(null_mut(), &raw mut cursor, der.len().try_into().ok()?) };
        let whole = cursor == der.as_ptr_range().end;
        Pkey::own(key).filter(|_| whole).map(Self)
    }

    /// Encrypts with RSAES-PKCS1-v1_5; none if this is no RSA key, or one too short for the message.
    pub fn encrypt_rsa(&self, message: &[u8]) -> Option<Vec<u8>> {
        apply(&self.0, sys::EVP_PKEY_encrypt_init, sys::EVP_PKEY_encrypt, message)
    }

    /// Checks a signature.
    pub fn verify(&self, scheme: Scheme, message: &[u8], signature: &[u8]) -> bool {
        if scheme == Scheme::RsaBare {
            return self.verify_bare(message, signature);
        }
        let Some(context) = self.start(scheme) else { return false };
        let converted;
        let signature = match scheme {
            Scheme::EcdsaRaw(_, width) => {
                let Some(der) = to_der(signature, width) else { return false };
                converted = der;
                &converted[..]
            }
            _ => signature,
        };
        // SAFETY: the context is initialised, signature and message are readable for their lengths.
        succeeded(unsafe {
            let (data, len) = (message.as_ptr(), message.len());
            sys::EVP_DigestVerify(context.as_ptr(), signature.as_ptr(), signature.len(), data, len)
        })
    }

    fn verify_bare(&self, message: &[u8], signature: &[u8]) -> bool {
        let Some(operation) = padded(&self.0, sys::EVP_PKEY_verify_init) else { return false };
        // SAFETY: the operation is initialised, signature and message are readable for their lengths.
        succeeded(unsafe {
            let (raw, data) = (operation.as_ptr(), message.as_ptr());
            sys::EVP_PKEY_verify(raw, signature.as_ptr(), signature.len(), data, message.len())
        })
    }

    fn start(&self, scheme: Scheme) -> Option<Context> {
        let mut operation = null_mut();
        // SAFETY: context and key are valid; the operation belongs to the context.
        unsafe {
            let context = Context::own(sys::EVP_MD_CTX_new()).expect("libcrypto allocates");
            let (raw, key) = (context.as_ptr(), self.0.as_ptr());
            let ready = sys::EVP_DigestVerifyInit(raw, &raw mut operation, scheme.md(), null_mut(), key);
            (succeeded(ready) && scheme.set_padding(operation)).then_some(context)
        }
    }
}

/// `EVP_PKEY_encrypt`, `EVP_PKEY_decrypt` or `EVP_PKEY_sign`.
type Apply = unsafe extern "C" fn(*mut sys::EVP_PKEY_CTX, *mut u8, *mut usize, *const u8, usize) -> c_int;

/// Encrypts, decrypts or signs without a hash in PKCS #1 v1.5 padding; `None` if the key is unsuitable or the library refuses.
fn apply(
    key: &Pkey,
    begin: unsafe extern "C" fn(*mut sys::EVP_PKEY_CTX) -> c_int,
    run: Apply,
    input: &[u8],
) -> Option<Vec<u8>> {
    let operation = padded(key, begin)?;
    // SAFETY: key and operation are valid; the buffer has the size the library says it may need, the input is readable
    // for its length.
    unsafe {
        let mut output = vec![0; usize::try_from(sys::EVP_PKEY_size(key.as_ptr())).ok()?];
        let (raw, mut len) = (operation.as_ptr(), output.len());
        if !succeeded(run(raw, output.as_mut_ptr(), &raw mut len, input.as_ptr(), input.len())) {
            crate::awslc::wipe(&mut output);
            return None;
        }
        crate::awslc::wipe(&mut output[len..]);
        output.truncate(len);
        Some(output)
    }
}

/// Begins an operation in PKCS #1 v1.5 padding; none if the key is not RSA.
fn padded(key: &Pkey, begin: unsafe extern "C" fn(*mut sys::EVP_PKEY_CTX) -> c_int) -> Option<Operation> {
    // SAFETY: the key is valid; the operation is initialised before its padding is set.
    unsafe {
        let operation = Operation::own(sys::EVP_PKEY_CTX_new(key.as_ptr(), null_mut()))?;
        let raw = operation.as_ptr();
        let ready = succeeded(begin(raw))
            && succeeded(sys::EVP_PKEY_CTX_set_rsa_padding(raw, sys::RSA_PKCS1_PADDING));
        ready.then_some(operation)
    }
}

impl Scheme {
    fn md(self) -> *const sys::EVP_MD {
        match self {
            Self::Rsa(_, hash) | Self::EcdsaDer(hash) | Self::EcdsaRaw(hash, _) => md(hash),
            Self::RsaBare | Self::Ed25519 => null(),
        }
    }

    /// Sets the padding of an RSA operation; false if the key is not RSA.
    ///
    /// # Safety
    /// The operation must be valid and initialised to sign or verify.
    unsafe fn set_padding(self, operation: *mut sys::EVP_PKEY_CTX) -> bool {
        let Self::Rsa(padding, _) = self else { return true };
        // SAFETY: as the caller promises.
        unsafe {
            match padding {
                Padding::Pkcs1 => {
                    succeeded(sys::EVP_PKEY_CTX_set_rsa_padding(operation, sys::RSA_PKCS1_PADDING))
                }
                Padding::Pss => {
                    succeeded(sys::EVP_PKEY_CTX_set_rsa_padding(operation, sys::RSA_PKCS1_PSS_PADDING))
                        && succeeded(sys::EVP_PKEY_CTX_set_rsa_pss_saltlen(operation, SALT_AS_DIGEST))
                }
            }
        }
    }
}

/// r ‖ s from an Ecdsa-Sig-Value.
fn to_raw(der: &[u8], width: usize) -> Option<Vec<u8>> {
    let (mut cursor, mut raw) = (der.as_ptr(), vec![0; 2 * width]);
    let (mut r, mut s) = (null(), null());
    // SAFETY: the bytes are readable for their length; the numbers belong to the signature; each half has `width`
    // bytes.
    unsafe {
        let len = der.len().try_into().ok()?;
        let numbers = Numbers::own(sys::d2i_ECDSA_SIG(null_mut(), &raw mut cursor, len))?;
        sys::ECDSA_SIG_get0(numbers.as_ptr(), &raw mut r, &raw mut s);
        let first = sys::BN_bn2binpad(r, raw.as_mut_ptr(), int(width));
        let second = sys::BN_bn2binpad(s, raw[width..].as_mut_ptr(), int(width));
        (first == int(width) && second == int(width)).then_some(raw)
    }
}

/// An Ecdsa-Sig-Value from r ‖ s.
fn to_der(raw: &[u8], width: usize) -> Option<Vec<u8>> {
    if raw.len() != 2 * width {
        return None;
    }
    let (r, s) = raw.split_at(width);
    let number = |bytes: &[u8]| {
        // SAFETY: the bytes are readable; a null result pointer asks for a new number.
        Bn::own(unsafe { sys::BN_bin2bn(bytes.as_ptr(), int(bytes.len()), null_mut()) })
    };
    let (r, s) = (number(r)?, number(s)?);
    // SAFETY: the signature takes over both numbers, which are given up here; the first call only measures, the second
    // writes as much as was measured.
    unsafe {
        let numbers = Numbers::own(sys::ECDSA_SIG_new()).expect("libcrypto allocates");
        sys::ECDSA_SIG_set0(numbers.as_ptr(), r.into_raw(), s.into_raw());
        let mut der = vec![0; usize::try_from(sys::i2d_ECDSA_SIG(numbers.as_ptr(), null_mut())).ok()?];
        let mut cursor = der.as_mut_ptr();
        sys::i2d_ECDSA_SIG(numbers.as_ptr(), &raw mut cursor);
        Some(der)
    }
}
