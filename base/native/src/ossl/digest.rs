//! Hashes and HMAC through `EVP_MD_CTX` and `HMAC_CTX`, and CMAC through `CMAC_CTX`.

use std::ffi::CStr;

use openssl_sys as sys;

use super::{Fetched, int, owned, succeeded};
use crate::awslc::hash::Name;

owned! {
    /// A hash being computed.
    HashContext(sys::EVP_MD_CTX), sys::EVP_MD_CTX_free
}

owned! {
    /// An HMAC being computed.
    HmacContext(sys::HMAC_CTX), sys::HMAC_CTX_free
}

owned! {
    /// A CMAC being computed.
    CmacContext(sys::CMAC_CTX), sys::CMAC_CTX_free
}

/// Writes the digest of the parts.
///
/// # Panics
/// If `digest` is shorter than the algorithm's output.
pub fn hash(name: Name, parts: &[&[u8]], digest: &mut [u8]) {
    assert!(digest.len() >= len(name), "room for the digest");
    // SAFETY: the context is valid, the parts are readable, the output has room for the digest as just checked.
    unsafe {
        let context = HashContext::own(sys::EVP_MD_CTX_new()).expect("libcrypto allocates");
        sys::EVP_DigestInit_ex(context.as_ptr(), md(name), std::ptr::null_mut());
        for part in parts {
            sys::EVP_DigestUpdate(context.as_ptr(), part.as_ptr().cast(), part.len());
        }
        let done = sys::EVP_DigestFinal(context.as_ptr(), digest.as_mut_ptr(), std::ptr::null_mut());
        assert!(succeeded(done), "hashing fails only without memory");
    }
}

unsafe extern "C" {
    /// openssl/sha.h; openssl-sys does not declare it.
    fn SHA1_Transform(context: *mut sys::SHA_CTX, block: *const u8);
}

/// One step of SHA-1 on a state of the caller's.
pub fn sha1_compress(state: &mut [u32; 5], block: &[u8; 64]) {
    let mut context = std::mem::MaybeUninit::<sys::SHA_CTX>::zeroed();
    // SAFETY: the structure is integers only, so zeros are valid; the step reads 64 bytes and uses the five state words.
    let context = unsafe {
        let raw = context.as_mut_ptr();
        ((*raw).h0, (*raw).h1, (*raw).h2, (*raw).h3, (*raw).h4) =
            (state[0], state[1], state[2], state[3], state[4]);
        SHA1_Transform(raw, block.as_ptr());
        context.assume_init()
    };
    *state = [context.h0, context.h1, context.h2, context.h3, context.h4];
}

/// Writes the HMAC of the parts.
///
/// # Panics
/// If `output` is shorter than the algorithm's output.
pub fn hmac(name: Name, key: &[u8], parts: &[&[u8]], output: &mut [u8]) {
    assert!(output.len() >= len(name), "room for the output");
    // SAFETY: the context is valid, key and parts are readable, the output has room as just checked.
    unsafe {
        let context = HmacContext::own(sys::HMAC_CTX_new()).expect("libcrypto allocates");
        // A null key would mean "the key as before"; the pointer of an empty slice is not null.
        sys::HMAC_Init_ex(
            context.as_ptr(),
            key.as_ptr().cast(),
            int(key.len()),
            md(name),
            std::ptr::null_mut(),
        );
        for part in parts {
            sys::HMAC_Update(context.as_ptr(), part.as_ptr(), part.len());
        }
        let done = sys::HMAC_Final(context.as_ptr(), output.as_mut_ptr(), std::ptr::null_mut());
        assert!(succeeded(done), "HMAC fails only without memory");
    }
}

/// Writes the AES-CMAC of the parts under a 16-byte key.
pub fn aes_cmac(key: &[u8; 16], parts: &[&[u8]], output: &mut [u8; 16]) {
    let mut written = 0;
    // SAFETY: the context is valid, key and parts are readable, the output has the 16 bytes a tag takes.
    unsafe {
        let context = CmacContext::own(sys::CMAC_CTX_new()).expect("libcrypto allocates");
        let cipher = sys::EVP_aes_128_cbc();
        sys::CMAC_Init(context.as_ptr(), key.as_ptr().cast(), key.len(), cipher, std::ptr::null_mut());
        for part in parts {
            sys::CMAC_Update(context.as_ptr(), part.as_ptr().cast(), part.len());
        }
        let done = sys::CMAC_Final(context.as_ptr(), output.as_mut_ptr(), &raw mut written);
        assert!(succeeded(done) && written == output.len(), "CMAC fails only without memory");
    }
}

/// The algorithm, fetched once.
pub(super) fn md(name: Name) -> *mut sys::EVP_MD {
    static MDS: [Fetched<sys::EVP_MD>; 5] = [const { Fetched::new() }; 5];
    MDS[name as usize].get(|| fetch(text(name)))
}

fn fetch(name: &CStr) -> *mut sys::EVP_MD {
    // SAFETY: the name is zero-terminated; null library context and properties mean the default ones.
    unsafe { sys::EVP_MD_fetch(std::ptr::null_mut(), name.as_ptr(), std::ptr::null()) }
}

const fn text(name: Name) -> &'static CStr {
    match name {
        Name::Md5 => c"MD5",
        Name::Sha1 => c"SHA1",
        Name::Sha256 => c"SHA256",
        Name::Sha384 => c"SHA384",
        Name::Sha512 => c"SHA512",
    }
}

const fn len(name: Name) -> usize {
    match name {
        Name::Md5 => 16,
        Name::Sha1 => 20,
        Name::Sha256 => 32,
        Name::Sha384 => 48,
        Name::Sha512 => 64,
    }
}
