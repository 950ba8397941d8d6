//! RC4, whose key streams RFC 6229 lists; for protocols that are measured and never offered.

use std::mem::MaybeUninit;

use aws_lc_sys as sys;

use super::wipe_struct;

/// XORs the beginning of a key's stream into the data.
///
/// # Panics
/// If the key is empty or longer than 256 bytes.
pub fn apply(key: &[u8], data: &mut [u8]) {
    assert!((1..=256).contains(&key.len()), "an RC4 key has 1 to 256 bytes");
    let (mut state, pointer) = (MaybeUninit::<sys::RC4_KEY>::zeroed(), data.as_mut_ptr());
    // SAFETY: the structure is integers only, so zeros were valid before the library filled it; the key is readable for
    // its length, the data readable and writable for its own, and in-place operation is allowed.
    unsafe {
        sys::RC4_set_key(state.as_mut_ptr(), key.len() as u32, key.as_ptr());
        sys::RC4(state.as_mut_ptr(), data.len(), pointer, pointer);
        wipe_struct(state.assume_init_mut());
    }
}
