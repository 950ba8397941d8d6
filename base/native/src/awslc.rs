//! AWS-LC's libcrypto behind safe functions. Algorithms are neither composed nor chosen here.
//!
//! Raw `aws-lc-sys` is needed because the safe crate `aws-lc-rs` lacks MODP groups, CBC, CTR, 3DES, MD5, 1024-bit RSA
//! and short exponents. Each submodule wraps one family. A type owns what must be freed, secrets are wiped, and a failed
//! check is `None` or `false` after the library's error queue has been cleared.

mod owned;

pub mod aead;
pub mod aes;
pub mod bn;
pub mod des;
pub mod ec;
pub mod element;
pub mod hash;
pub mod key;
pub mod modp;
pub mod rc4;
pub mod rsa;
pub mod x25519;

use std::ffi::c_int;

/// The library's name and version, e.g. `AWS-LC 1.57.0`.
pub fn version() -> &'static str {
    const TEXT: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(aws_lc_sys::OPENSSL_VERSION_TEXT)
    {
        Ok(text) => text,
        Err(_) => panic!("the library's version is a string"),
    };
    let text = TEXT.to_str().unwrap_or("AWS-LC");
    text.rsplit_once("; ").map_or(text, |(_, name)| name.trim_end_matches(')'))
}

/// Allocates what the library keeps for the calling thread: the state of its random generator and its error queue. Otherwise the
/// first operation that needs them allocates them, and its role is charged.
pub fn prepare_thread() {
    let mut byte = 0_u8;
    // SAFETY: the pointer is valid for writing one byte; the other two work on the calling thread's own queue, with a file name
    // that lives as long as the program.
    unsafe {
        aws_lc_sys::RAND_bytes(&raw mut byte, 1);
        aws_lc_sys::ERR_put_error(aws_lc_sys::ERR_LIB_USER, 0, 0, c"".as_ptr(), 0);
        aws_lc_sys::ERR_clear_error();
    }
}

/// Computes and allocates what all threads share: numbers of the primes and of the curves. Otherwise the first operation that needs
/// them does, and its role is charged.
pub fn allocate_shared() {
    modp::Prime::ALL.into_iter().for_each(|prime| _ = prime.constant());
    ec::Curve::ALL.into_iter().for_each(|curve| _ = curve.field());
}

/// Compares two secrets in constant time; lengths are public.
pub fn const_time_eq(a: &[u8], b: &[u8]) -> bool {
    // SAFETY: both pointers are valid for `a.len()` bytes, which the first operand has checked to be equal.
    a.len() == b.len()
        && unsafe { aws_lc_sys::CRYPTO_memcmp(a.as_ptr().cast(), b.as_ptr().cast(), a.len()) } == 0
}

/// Overwrites bytes with zeros in a way the optimiser does not remove.
pub fn wipe(bytes: &mut [u8]) {
    // SAFETY: the pointer is valid for writing `bytes.len()` bytes.
    unsafe { aws_lc_sys::OPENSSL_cleanse(bytes.as_mut_ptr().cast(), bytes.len()) }
}

/// Overwrites a plain C structure with zeros.
fn wipe_struct<T: Copy>(value: &mut T) {
    // SAFETY: the pointer is valid for writing `size_of::<T>()` bytes; T is a plain C structure of integers, arrays
    // and pointers that its owner never reads again.
    unsafe { aws_lc_sys::OPENSSL_cleanse(std::ptr::from_mut(value).cast(), size_of::<T>()) }
}

/// Whether the library succeeded; clears its error queue otherwise.
fn succeeded(status: c_int) -> bool {
    if status != 1 {
        // SAFETY: no arguments; works on the calling thread's own queue.
        unsafe { aws_lc_sys::ERR_clear_error() };
    }
    status == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_sees_every_bit_and_the_length() {
        assert!(const_time_eq(b"", b"") && const_time_eq(b"abc", b"abc"));
        assert!(!const_time_eq(b"abc", b"abd") && !const_time_eq(b"abc", b"ab"));
    }

    #[test]
    fn the_library_has_a_name() {
        assert!(version().starts_with("AWS-LC ") && !version().ends_with(')'), "{}", version());
    }

    #[test]
    fn wiping_leaves_zeros() {
        let mut bytes = [7; 33];
        wipe(&mut bytes);
        assert_eq!(bytes, [0; 33]);
    }
}
