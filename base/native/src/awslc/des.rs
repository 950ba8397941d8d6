//! Triple DES in CBC mode (SP 800-67), for suites that are measured and never offered, and single DES (FIPS 46-3),
//! block by block, for MS-CHAP-V2.

use std::mem::MaybeUninit;

use aws_lc_sys as sys;

use super::wipe_struct;

/// Length of a block.
pub const BLOCK: usize = 8;

/// Three keys, ready to use; wiped when dropped.
pub struct TripleKey([sys::DES_key_schedule; 3]);

impl TripleKey {
    /// Expands three keys of 8 bytes; parity bits are ignored.
    pub fn new(key: &[u8; 24]) -> Self {
        let (keys, _) = key.as_chunks::<BLOCK>();
        Self([schedule(keys[0]), schedule(keys[1]), schedule(keys[2])])
    }

    /// EDE-CBC-encrypts whole blocks in place.
    ///
    /// # Panics
    /// If `data` is not a multiple of the block length.
    pub fn cbc_encrypt(&self, iv: &[u8; BLOCK], data: &mut [u8]) {
        self.cbc(*iv, data, sys::DES_ENCRYPT);
    }

    /// EDE-CBC-decrypts whole blocks in place.
    ///
    /// # Panics
    /// If `data` is not a multiple of the block length.
    pub fn cbc_decrypt(&self, iv: &[u8; BLOCK], data: &mut [u8]) {
        self.cbc(*iv, data, sys::DES_DECRYPT);
    }

    fn cbc(&self, iv: [u8; BLOCK], data: &mut [u8], direction: i32) {
        assert!(data.len().is_multiple_of(BLOCK), "CBC works on whole blocks");
        let mut iv = sys::DES_cblock { bytes: iv };
        let (pointer, [first, second, third]) = (data.as_mut_ptr(), &self.0);
        // SAFETY: in-place operation over `data.len()` valid bytes, a multiple of the block length, is allowed.
        unsafe {
            sys::DES_ede3_cbc_encrypt(
                pointer,
                pointer,
                data.len(),
                first,
                second,
                third,
                &raw mut iv,
                direction,
            );
        }
    }
}

/// One key, ready to use; wiped when dropped.
pub struct SingleKey(sys::DES_key_schedule);

impl SingleKey {
    /// Expands a key; parity bits are ignored.
    pub fn new(key: &[u8; BLOCK]) -> Self {
        Self(schedule(*key))
    }

    /// Encrypts one block in place.
    pub fn block(&self, block: &mut [u8; BLOCK]) {
        let mut copy = sys::DES_cblock { bytes: *block };
        let pointer = &raw mut copy;
        // SAFETY: input and output are the same 8 bytes, which the library reads whole before it writes.
        unsafe { sys::DES_ecb_encrypt(pointer, pointer, &raw const self.0, sys::DES_ENCRYPT) };
        *block = copy.bytes;
    }
}

impl Drop for SingleKey {
    fn drop(&mut self) {
        wipe_struct(&mut self.0);
    }
}

impl Drop for TripleKey {
    fn drop(&mut self) {
        wipe_struct(&mut self.0);
    }
}

fn schedule(key: [u8; BLOCK]) -> sys::DES_key_schedule {
    let key = sys::DES_cblock { bytes: key };
    let mut schedule = MaybeUninit::<sys::DES_key_schedule>::zeroed();
    // SAFETY: the key has 8 bytes; the structure is integers only, so zeros were valid before the library filled it.
    unsafe {
        sys::DES_set_key_unchecked(&raw const key, schedule.as_mut_ptr());
        schedule.assume_init()
    }
}
