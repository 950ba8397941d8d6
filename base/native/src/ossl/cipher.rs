//! Ciphers through `EVP_CIPHER_CTX`: CBC, CTR, GCM, CCM, ChaCha20-Poly1305, triple DES.

use std::ffi::{CStr, c_int};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use openssl_sys as sys;

use super::{Fetched, int, owned, succeeded};

/// A cipher of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cipher {
    /// AES-128-CBC.
    Aes128Cbc,
    /// AES-192-CBC.
    Aes192Cbc,
    /// AES-256-CBC.
    Aes256Cbc,
    /// AES-128-CTR.
    Aes128Ctr,
    /// AES-192-CTR.
    Aes192Ctr,
    /// AES-256-CTR.
    Aes256Ctr,
    /// Triple DES, EDE, CBC.
    TripleDesCbc,
    /// AES-128-GCM.
    Aes128Gcm,
    /// AES-192-GCM.
    Aes192Gcm,
    /// AES-256-GCM.
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
    /// AES-128-CCM.
    Aes128Ccm,
    /// AES-192-CCM.
    Aes192Ccm,
    /// AES-256-CCM.
    Aes256Ccm,
}

/// How many there are.
const CIPHERS: usize = Cipher::Aes256Ccm as usize + 1;

// openssl/evp.h: controls of AEAD ciphers, of which openssl-sys declares one under its older name.
const SET_IV_LEN: c_int = 0x9;
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;

unsafe extern "C" {
    /// openssl/evp.h; openssl-sys does not declare it.
    fn EVP_CipherFinal_ex(context: *mut sys::EVP_CIPHER_CTX, out: *mut u8, len: *mut c_int) -> c_int;
    /// openssl/rc4.h; by name OpenSSL 3.0 has RC4 in its legacy provider only.
    fn RC4_set_key(key: *mut Rc4Key, len: c_int, data: *const u8);
    /// openssl/rc4.h.
    fn RC4(key: *mut Rc4Key, len: usize, input: *const u8, output: *mut u8);
}

/// `RC4_KEY` of openssl/rc4.h.
#[repr(C)]
struct Rc4Key {
    x: u32,
    y: u32,
    data: [u32; 256],
}

/// XORs the beginning of a key's RC4 stream into the data.
///
/// # Panics
/// If the key is empty or longer than 256 bytes.
pub fn rc4(key: &[u8], data: &mut [u8]) {
    assert!((1..=256).contains(&key.len()), "an RC4 key has 1 to 256 bytes");
    let (mut state, pointer) = (Rc4Key { x: 0, y: 0, data: [0; 256] }, data.as_mut_ptr());
    // SAFETY: the key is readable for its length, the data readable and writable for its own, and in-place operation is
    // allowed; the state is the structure that the library fills.
    unsafe {
        RC4_set_key(&raw mut state, int(key.len()), key.as_ptr());
        RC4(&raw mut state, data.len(), pointer, pointer);
    }
    let words = std::ptr::from_mut(&mut state).cast::<u8>();
    // SAFETY: the pointer is valid for writing the structure's bytes, all of which may be zero.
    crate::awslc::wipe(unsafe { std::slice::from_raw_parts_mut(words, size_of::<Rc4Key>()) });
}

/// Wraps keys as RFC 3394 §2.2.1 says.
///
/// # Panics
/// If a length does not fit.
pub fn wrap_key(key: &[u8], data: &[u8], wrapped: &mut [u8]) {
    assert_eq!(wrapped.len(), data.len() + 8, "room for what is wrapped");
    let len = with_schedule(key, sys::AES_set_encrypt_key, |schedule| {
        let (out, input, len) = (wrapped.as_mut_ptr(), data.as_ptr(), data.len() as u32);
        // SAFETY: the schedule is complete, the data readable for its length, the output writable for eight bytes more, and a
        // null IV stands for the default one.
        unsafe { sys::AES_wrap_key(schedule, null(), out, input, len) }
    });
    assert!(usize::try_from(len) == Ok(wrapped.len()), "wrapping fails only for lengths that do not fit");
}

/// Unwraps; false if the integrity check is wrong, or the length none that wrapping gives.
///
/// # Panics
/// If `data` has not eight bytes less than `wrapped`, or if the key has no length of AES.
pub fn unwrap_key(key: &[u8], wrapped: &[u8], data: &mut [u8]) -> bool {
    assert_eq!(wrapped.len(), data.len() + 8, "room for what was wrapped");
    let len = with_schedule(key, sys::AES_set_decrypt_key, |schedule| {
        let (out, input, len) = (data.as_mut_ptr(), wrapped.as_ptr(), wrapped.len() as u32);
        // SAFETY: as above, with eight bytes less.
        unsafe { sys::AES_unwrap_key(schedule, null(), out, input, len) }
    });
    usize::try_from(len) == Ok(data.len())
}

/// Runs `compute` with an expanded AES key, which is wiped afterwards.
fn with_schedule(
    key: &[u8],
    expand: unsafe extern "C" fn(*const u8, c_int, *mut sys::AES_KEY) -> c_int,
    compute: impl FnOnce(*mut sys::AES_KEY) -> c_int,
) -> c_int {
    let mut schedule = MaybeUninit::<sys::AES_KEY>::zeroed();
    // SAFETY: the key is readable for the bits given; the library refuses other lengths than AES's.
    let expanded = unsafe { expand(key.as_ptr(), int(key.len() * 8), schedule.as_mut_ptr()) };
    assert_eq!(expanded, 0, "an AES key has 16, 24 or 32 bytes");
    let result = compute(schedule.as_mut_ptr());
    // SAFETY: the pointer is valid for writing the structure's bytes, all of which may be zero.
    crate::awslc::wipe(unsafe {
        std::slice::from_raw_parts_mut(schedule.as_mut_ptr().cast(), size_of::<sys::AES_KEY>())
    });
    result
}

owned! {
    /// A message being encrypted or decrypted.
    Context(sys::EVP_CIPHER_CTX), sys::EVP_CIPHER_CTX_free
}

/// Encryption or decryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Decrypt = 0,
    Encrypt = 1,
}

impl Cipher {
    /// Encrypts in place and writes the tag, empty unless AEAD.
    ///
    /// # Panics
    /// If a length does not fit the cipher.
    pub fn encrypt(self, key: &[u8], iv: &[u8], aad: &[u8], data: &mut [u8], tag: &mut [u8]) {
        let context = self.start(key, iv, Direction::Encrypt, tag.len(), null_mut());
        let mut done = self.run(&context, aad, data);
        if !tag.is_empty() {
            // SAFETY: the tag buffer is writable for the length given.
            done &= unsafe {
                sys::EVP_CIPHER_CTX_ctrl(context.as_ptr(), GET_TAG, int(tag.len()), tag.as_mut_ptr().cast())
            };
        }
        assert!(succeeded(done), "encryption fails only for lengths that do not fit");
    }

    /// Decrypts in place; false if the tag is wrong or the data are no whole blocks.
    ///
    /// # Panics
    /// If key or IV do not fit the cipher.
    pub fn decrypt(self, key: &[u8], iv: &[u8], aad: &[u8], data: &mut [u8], tag: &[u8]) -> bool {
        let context = self.start(key, iv, Direction::Decrypt, tag.len(), tag.as_ptr().cast_mut());
        succeeded(self.run(&context, aad, data))
    }

    /// A context with cipher, lengths, key, IV and, for decryption, the expected tag.
    fn start(self, key: &[u8], iv: &[u8], direction: Direction, tag_len: usize, tag: *mut u8) -> Context {
        let direction = direction as c_int;
        // SAFETY: the context is valid; key and IV are readable for the lengths the cipher has, which the caller
        // keeps and `set_lengths` makes known; the tag is readable for its length or null.
        unsafe {
            let context = Context::own(sys::EVP_CIPHER_CTX_new()).expect("libcrypto allocates");
            let raw = context.as_ptr();
            let mut done = sys::EVP_CipherInit_ex(raw, self.fetched(), null_mut(), null(), null(), direction);
            if tag_len > 0 {
                done &= sys::EVP_CIPHER_CTX_ctrl(raw, SET_IV_LEN, int(iv.len()), null_mut());
                if self.is_ccm() || !tag.is_null() {
                    done &= sys::EVP_CIPHER_CTX_ctrl(raw, SET_TAG, int(tag_len), tag.cast());
                }
            }
            done &= sys::EVP_CipherInit_ex(raw, null(), null_mut(), key.as_ptr(), iv.as_ptr(), direction);
            sys::EVP_CIPHER_CTX_set_padding(raw, 0);
            assert!(succeeded(done), "key, IV and tag have the lengths of their cipher");
            context
        }
    }

    /// Processes associated data, data and end; CCM needs the length beforehand and has no end of its own.
    fn run(self, context: &Context, aad: &[u8], data: &mut [u8]) -> c_int {
        let (raw, pointer, len) = (context.as_ptr(), data.as_mut_ptr(), int(data.len()));
        let (mut written, mut end) = (0, [0; 16]);
        // SAFETY: the context is valid, `aad` readable, `data` readable and writable in place for its length; the end
        // of a cipher without padding writes at most a block.
        unsafe {
            let mut done = 1;
            if self.is_ccm() {
                done &= sys::EVP_CipherUpdate(raw, null_mut(), &raw mut written, null(), len);
            }
            if !aad.is_empty() {
                done &=
                    sys::EVP_CipherUpdate(raw, null_mut(), &raw mut written, aad.as_ptr(), int(aad.len()));
            }
            if len > 0 || self.is_ccm() {
                done &= sys::EVP_CipherUpdate(raw, pointer, &raw mut written, pointer, len);
            }
            if !self.is_ccm() {
                done &= EVP_CipherFinal_ex(raw, end.as_mut_ptr(), &raw mut written);
            }
            done
        }
    }

    const fn is_ccm(self) -> bool {
        matches!(self, Self::Aes128Ccm | Self::Aes192Ccm | Self::Aes256Ccm)
    }

    fn fetched(self) -> *mut sys::EVP_CIPHER {
        static FETCHED: [Fetched<sys::EVP_CIPHER>; CIPHERS] = [const { Fetched::new() }; CIPHERS];
        // SAFETY: the name is zero-terminated; null library context and properties mean the default ones.
        FETCHED[self as usize]
            .get(|| unsafe { sys::EVP_CIPHER_fetch(null_mut(), self.name().as_ptr(), null()) })
    }

    const fn name(self) -> &'static CStr {
        match self {
            Self::Aes128Cbc => c"AES-128-CBC",
            Self::Aes192Cbc => c"AES-192-CBC",
            Self::Aes256Cbc => c"AES-256-CBC",
            Self::Aes128Ctr => c"AES-128-CTR",
            Self::Aes192Ctr => c"AES-192-CTR",
            Self::Aes256Ctr => c"AES-256-CTR",
            Self::TripleDesCbc => c"DES-EDE3-CBC",
            Self::Aes128Gcm => c"AES-128-GCM",
            Self::Aes192Gcm => c"AES-192-GCM",
            Self::Aes256Gcm => c"AES-256-GCM",
            Self::ChaCha20Poly1305 => c"ChaCha20-Poly1305",
            Self::Aes128Ccm => c"AES-128-CCM",
            Self::Aes192Ccm => c"AES-192-CCM",
            Self::Aes256Ccm => c"AES-256-CCM",
        }
    }
}
