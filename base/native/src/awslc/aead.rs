//! AES-GCM and ChaCha20-Poly1305 (SP 800-38D, RFC 8439) through `EVP_AEAD`, whose contexts live on the stack.

use std::mem::MaybeUninit;

use aws_lc_sys as sys;

use super::succeeded;

/// Length of the nonce of all AEADs here, in bytes.
pub const NONCE: usize = 12;

/// Which AEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aead {
    /// AES-GCM; the key's length says which AES.
    AesGcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

/// A key ready to seal and open; wiped when dropped.
// The library aligns its state within the context to 16 bytes when it fills it, so a move must keep the alignment.
#[repr(C, align(16))]
pub struct Key {
    context: sys::EVP_AEAD_CTX,
    tag_len: usize,
}

impl Key {
    /// Prepares a key (16, 24 or 32 bytes for AES-GCM, 32 for ChaCha20-Poly1305) with tags of up to 16 bytes.
    ///
    /// # Panics
    /// If the AEAD does not support the length of the key or tag.
    pub fn new(aead: Aead, key: &[u8], tag_len: usize) -> Self {
        let algorithm = algorithm(aead, key.len());
        let mut context = MaybeUninit::<sys::EVP_AEAD_CTX>::zeroed();
        // SAFETY: the context is zeroed as EVP_AEAD_CTX_zero would leave it, the key is readable for its length, the
        // algorithm is one of the library's constants; a context that failed to initialise is not used.
        let ready = unsafe {
            sys::EVP_AEAD_CTX_init(
                context.as_mut_ptr(),
                algorithm,
                key.as_ptr(),
                key.len(),
                tag_len,
                std::ptr::null_mut(),
            )
        };
        assert!(succeeded(ready), "an AEAD key and tag have the lengths of their algorithm");
        // SAFETY: just initialised.
        Self { context: unsafe { context.assume_init() }, tag_len }
    }

    /// Encrypts in place and writes the tag.
    ///
    /// # Panics
    /// If `tag` has another length than the key was prepared for.
    pub fn seal(&self, nonce: &[u8; NONCE], aad: &[u8], data: &mut [u8], tag: &mut [u8]) {
        assert_eq!(tag.len(), self.tag_len, "a tag is as long as its key was prepared for");
        let (pointer, mut written) = (data.as_mut_ptr(), 0);
        // SAFETY: in-place operation over `data.len()` valid bytes is allowed; the tag buffer is writable for its
        // length; there is no extra input.
        let sealed = unsafe {
            sys::EVP_AEAD_CTX_seal_scatter(
                &raw const self.context,
                pointer,
                tag.as_mut_ptr(),
                &raw mut written,
                tag.len(),
                nonce.as_ptr(),
                nonce.len(),
                pointer,
                data.len(),
                std::ptr::null(),
                0,
                aad.as_ptr(),
                aad.len(),
            )
        };
        assert!(
            succeeded(sealed) && written == self.tag_len,
            "sealing fails only for messages of 64 GiB and more"
        );
    }

    /// Decrypts in place if the tag is valid.
    pub fn open(&self, nonce: &[u8; NONCE], aad: &[u8], data: &mut [u8], tag: &[u8]) -> bool {
        let pointer = data.as_mut_ptr();
        // SAFETY: in-place operation over `data.len()` valid bytes is allowed; tag and aad are readable for their
        // lengths; a tag of the wrong length is refused by the library.
        let opened = unsafe {
            sys::EVP_AEAD_CTX_open_gather(
                &raw const self.context,
                pointer,
                nonce.as_ptr(),
                nonce.len(),
                pointer,
                data.len(),
                tag.as_ptr(),
                tag.len(),
                aad.as_ptr(),
                aad.len(),
            )
        };
        succeeded(opened)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: initialised by EVP_AEAD_CTX_init and not cleaned up before.
        unsafe { sys::EVP_AEAD_CTX_cleanup(&raw mut self.context) };
        super::wipe_struct(&mut self.context.state);
    }
}

// SAFETY: sealing and opening take the context by const pointer and the library documents that as thread-safe; the
// only pointer inside refers to a constant.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

fn algorithm(aead: Aead, key_len: usize) -> *const sys::EVP_AEAD {
    // SAFETY: these functions take nothing and return the address of a constant.
    unsafe {
        match (aead, key_len) {
            (Aead::AesGcm, 16) => sys::EVP_aead_aes_128_gcm(),
            (Aead::AesGcm, 24) => sys::EVP_aead_aes_192_gcm(),
            (Aead::AesGcm, _) => sys::EVP_aead_aes_256_gcm(),
            (Aead::ChaCha20Poly1305, _) => sys::EVP_aead_chacha20_poly1305(),
        }
    }
}
