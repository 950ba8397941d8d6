//! The AES block cipher with CBC and CTR (FIPS 197, SP 800-38A), key schedule on the stack.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use aws_lc_sys as sys;

use super::wipe_struct;

/// Length of a block.
pub const BLOCK: usize = 16;

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
