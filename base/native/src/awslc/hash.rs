//! Hash functions (FIPS 180-4, RFC 1320, RFC 1321), computed on the stack.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use aws_lc_sys as sys;

use super::wipe_struct;

/// A hash function of the library; the implementors are the markers below.
pub trait Md: sealed::Raw {
    /// Length of the digest in bytes.
    const LEN: usize;
    /// Length of a block in bytes, as HMAC needs it.
    const BLOCK: usize;
}

mod sealed {
    use super::{c_int, c_void};

    /// The library's three functions and their state.
    pub trait Raw {
        /// The running state.
        type Context: Copy;
        /// `X_Init`.
        const INIT: unsafe extern "C" fn(*mut Self::Context) -> c_int;
        /// `X_Update`.
        const UPDATE: unsafe extern "C" fn(*mut Self::Context, *const c_void, usize) -> c_int;
        /// `X_Final`.
        const FINAL: unsafe extern "C" fn(*mut u8, *mut Self::Context) -> c_int;
    }
}

macro_rules! hash {
    ($(#[$doc:meta])* $name:ident, $context:ty, $len:literal, $block:literal, $init:ident, $update:ident, $final:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Md for $name {
            const LEN: usize = $len;
            const BLOCK: usize = $block;
        }

        impl sealed::Raw for $name {
            type Context = $context;
            const INIT: unsafe extern "C" fn(*mut Self::Context) -> c_int = sys::$init;
            const UPDATE: unsafe extern "C" fn(*mut Self::Context, *const c_void, usize) -> c_int = sys::$update;
            const FINAL: unsafe extern "C" fn(*mut u8, *mut Self::Context) -> c_int = sys::$final;
        }
    };
}

hash!(/// MD4.
    Md4, sys::MD4_CTX, 16, 64, MD4_Init, MD4_Update, MD4_Final);
hash!(/// MD5.
    Md5, sys::MD5_CTX, 16, 64, MD5_Init, MD5_Update, MD5_Final);
hash!(/// SHA-1.
    Sha1, sys::SHA_CTX, 20, 64, SHA1_Init, SHA1_Update, SHA1_Final);
hash!(/// SHA-256.
    Sha256, sys::SHA256_CTX, 32, 64, SHA256_Init, SHA256_Update, SHA256_Final);
hash!(/// SHA-384.
    Sha384, sys::SHA512_CTX, 48, 128, SHA384_Init, SHA384_Update, SHA384_Final);
hash!(/// SHA-512.
    Sha512, sys::SHA512_CTX, 64, 128, SHA512_Init, SHA512_Update, SHA512_Final);

/// A hash function as a value, where a signature names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// MD5.
    Md5,
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl Name {
    pub(crate) const fn nid(self) -> c_int {
        match self {
            Self::Md5 => sys::NID_md5,
            Self::Sha1 => sys::NID_sha1,
            Self::Sha256 => sys::NID_sha256,
            Self::Sha384 => sys::NID_sha384,
            Self::Sha512 => sys::NID_sha512,
        }
    }

    pub(crate) fn md(self) -> *const sys::EVP_MD {
        // SAFETY: these functions take nothing and return the address of a constant.
        unsafe {
            match self {
                Self::Md5 => sys::EVP_md5(),
                Self::Sha1 => sys::EVP_sha1(),
                Self::Sha256 => sys::EVP_sha256(),
                Self::Sha384 => sys::EVP_sha384(),
                Self::Sha512 => sys::EVP_sha512(),
            }
        }
    }
}

/// A hash being computed; wiped when dropped.
pub struct Running<H: Md>(H::Context);

impl<H: Md> Default for Running<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Md> Clone for Running<H> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<H: Md> Running<H> {
    /// An empty message.
    pub fn new() -> Self {
        let mut context = MaybeUninit::<H::Context>::zeroed();
        // SAFETY: INIT writes a valid initial state; the structure is integers only, so zeros were valid before it.
        unsafe {
            (H::INIT)(context.as_mut_ptr());
            Self(context.assume_init())
        }
    }

    /// Adds bytes to the message.
    pub fn update(&mut self, bytes: &[u8]) {
        // SAFETY: the state was made by INIT, the bytes are readable.
        unsafe { (H::UPDATE)(&raw mut self.0, bytes.as_ptr().cast(), bytes.len()) };
    }

    /// Writes the digest.
    ///
    /// # Panics
    /// If `digest` is not [`Md::LEN`] bytes long.
    pub fn finish(mut self, digest: &mut [u8]) {
        assert_eq!(digest.len(), H::LEN, "a digest is as long as its algorithm says");
        // SAFETY: the state was made by INIT, and FINAL writes H::LEN bytes, which were just checked to be there.
        unsafe { (H::FINAL)(digest.as_mut_ptr(), &raw mut self.0) };
    }
}

impl<H: Md> Drop for Running<H> {
    fn drop(&mut self) {
        wipe_struct(&mut self.0);
    }
}

/// One step of SHA-1 on a state of the caller's.
pub fn sha1_compress(state: &mut [u32; 5], block: &[u8; 64]) {
    let mut context = sys::SHA_CTX { h: *state, Nl: 0, Nh: 0, data: [0; 64], num: 0 };
    // SAFETY: the context is complete, and the step reads the 64 bytes of the block.
    unsafe { sys::SHA1_Transform(&raw mut context, block.as_ptr()) };
    *state = context.h;
    wipe_struct(&mut context);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_can_be_forked() {
        let mut first = Running::<Sha256>::new();
        first.update(b"ab");
        let mut second = first.clone();
        first.update(b"c");
        second.update(b"c");
        let (mut a, mut b) = ([0; 32], [0; 32]);
        first.finish(&mut a);
        second.finish(&mut b);
        assert_eq!(a, b);
        // FIPS 180-4 example: SHA-256("abc").
        assert_eq!(a[..4], [0xba, 0x78, 0x16, 0xbf]);
    }
}
