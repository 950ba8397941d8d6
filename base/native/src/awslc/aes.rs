//! The AES block cipher with CBC and CTR (FIPS 197, SP 800-38A) and as key wrap (RFC 3394), key schedule on the stack.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use aws_lc_sys as sys;

use super::{succeeded, wipe_struct};

/// Length of a block.
pub const BLOCK: usize = 16;
/// Key wrap works on halves of blocks, and its output has one more than its input (RFC 3394 §2.2.1).
pub const HALF: usize = BLOCK / 2;

/// A key ready to encrypt; wiped when dropped.
pub struct EncryptKey(sys::AES_KEY);

/// A key ready to decrypt; wiped when dropped.
pub struct DecryptKey(sys::AES_KEY);

impl EncryptKey {
    /// Expands a key of 16, 24 or 32 bytes.
    ///
    /// # Panics
    /// If the key has another length.
    pub fn new(key: &[u8]) -> Self {
        Self(expand(key, sys::AES_set_encrypt_key))
    }

    /// Encrypts one block in place.
    pub fn block(&self, block: &mut [u8; BLOCK]) {
        let pointer = block.as_mut_ptr();
        // SAFETY: input and output are the same 16 bytes, which the library allows; the schedule is complete.
        unsafe { sys::AES_encrypt(pointer, pointer, &raw const self.0) };
    }

    /// CBC-encrypts whole blocks in place; `iv` becomes the last ciphertext block.
    ///
    /// # Panics
    /// If `data` is not a multiple of the block length.
    pub fn cbc(&self, iv: &mut [u8; BLOCK], data: &mut [u8]) {
        cbc(&self.0, iv, data, sys::AES_ENCRYPT);
    }

    /// CBC-encrypts whole blocks from `input`, keeping only the last ciphertext block, in `iv`. `scratch` is overwritten.
    ///
    /// # Panics
    /// If `input` is longer than `scratch` or not a multiple of the block length.
    pub fn cbc_mac(&self, iv: &mut [u8; BLOCK], input: &[u8], scratch: &mut [u8]) {
        assert!(input.len() <= scratch.len() && input.len().is_multiple_of(BLOCK), "whole blocks that fit");
        // SAFETY: `input.len()` bytes are readable there and writable in the scratch buffer, which does not overlap.
        unsafe {
            sys::AES_cbc_encrypt(
                input.as_ptr(),
                scratch.as_mut_ptr(),
                input.len(),
                &raw const self.0,
                iv.as_mut_ptr(),
                sys::AES_ENCRYPT,
            );
        }
    }

    /// Wraps whole halves of blocks, of which there are two at least.
    ///
    /// # Panics
    /// If `data` has another length, or `wrapped` has not one half of a block more.
    pub fn wrap(&self, data: &[u8], wrapped: &mut [u8]) {
        assert_eq!(wrapped.len(), data.len() + HALF, "room for what is wrapped");
        // SAFETY: the data is readable for its length, and the output writable for eight bytes more, as just checked; a null
        // IV stands for the default one of RFC 3394 §2.2.3.1.
        let len = unsafe {
            let (out, input) = (wrapped.as_mut_ptr(), data.as_ptr());
            sys::AES_wrap_key(&raw const self.0, std::ptr::null(), out, input, data.len())
        };
        assert!(usize::try_from(len) == Ok(wrapped.len()), "wrapping fails only for lengths that do not fit");
    }

    /// Applies the CTR key stream in place, starting from `counter`, which counts big-endian.
    pub fn ctr(&self, counter: &mut [u8; BLOCK], data: &mut [u8]) {
        let (mut stream, mut used) = ([0; BLOCK], 0);
        let pointer = data.as_mut_ptr();
        // SAFETY: in-place operation over `data.len()` valid bytes is allowed; `stream` and `used` start at zero as the
        // library demands for a fresh counter.
        unsafe {
            sys::AES_ctr128_encrypt(
                pointer,
                pointer,
                data.len(),
                &raw const self.0,
                counter.as_mut_ptr(),
                stream.as_mut_ptr(),
                &raw mut used,
            );
        }
    }
}

impl DecryptKey {
    /// Expands a key of 16, 24 or 32 bytes.
    ///
    /// # Panics
    /// If the key has another length.
    pub fn new(key: &[u8]) -> Self {
        Self(expand(key, sys::AES_set_decrypt_key))
    }

    /// Unwraps; false if the integrity check is wrong, or the length none that wrapping gives.
    ///
    /// # Panics
    /// If `data` has not one half of a block less than `wrapped`.
    pub fn unwrap(&self, wrapped: &[u8], data: &mut [u8]) -> bool {
        assert_eq!(wrapped.len(), data.len() + HALF, "room for what was wrapped");
        // SAFETY: the input is readable for its length, and the output writable for eight bytes less, as just checked; a null
        // IV stands for the default one.
        let len = unsafe {
            let (out, input) = (data.as_mut_ptr(), wrapped.as_ptr());
            sys::AES_unwrap_key(&raw const self.0, std::ptr::null(), out, input, wrapped.len())
        };
        succeeded(c_int::from(usize::try_from(len) == Ok(data.len())))
    }

    /// CBC-decrypts whole blocks in place.
    ///
    /// # Panics
    /// If `data` is not a multiple of the block length.
    pub fn cbc(&self, iv: &mut [u8; BLOCK], data: &mut [u8]) {
        cbc(&self.0, iv, data, sys::AES_DECRYPT);
    }
}

impl Drop for EncryptKey {
    fn drop(&mut self) {
        wipe_struct(&mut self.0);
    }
}

impl Drop for DecryptKey {
    fn drop(&mut self) {
        wipe_struct(&mut self.0);
    }
}

type Expand = unsafe extern "C" fn(*const u8, u32, *mut sys::AES_KEY) -> c_int;

fn expand(key: &[u8], expand: Expand) -> sys::AES_KEY {
    let bits = match key.len() {
        16 => 128,
        24 => 192,
        32 => 256,
        other => panic!("an AES key has 16, 24 or 32 bytes, not {other}"),
    };
    let mut schedule = MaybeUninit::<sys::AES_KEY>::zeroed();
    // SAFETY: the key has `bits` bits as just matched; the structure is integers only, so zeros were valid before the
    // library filled it.
    unsafe {
        expand(key.as_ptr(), bits, schedule.as_mut_ptr());
        schedule.assume_init()
    }
}

fn cbc(key: &sys::AES_KEY, iv: &mut [u8; BLOCK], data: &mut [u8], direction: c_int) {
    assert!(data.len().is_multiple_of(BLOCK), "CBC works on whole blocks");
    let pointer = data.as_mut_ptr();
    // SAFETY: in-place operation over `data.len()` valid bytes, a multiple of the block length, is allowed.
    unsafe { sys::AES_cbc_encrypt(pointer, pointer, data.len(), key, iv.as_mut_ptr(), direction) };
}
