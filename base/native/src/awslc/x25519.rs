//! X25519 (RFC 7748).

use aws_lc_sys as sys;

/// The public value of a private one.
pub fn public(private: &[u8; 32]) -> [u8; 32] {
    let mut public = [0; 32];
    // SAFETY: both arrays have the 32 bytes the function reads and writes.
    unsafe { sys::X25519_public_from_private(public.as_mut_ptr(), private.as_ptr()) };
    public
}

/// Writes the shared secret; false if it is all zero (RFC 7748 §6.1).
pub fn agree(private: &[u8; 32], peer: &[u8; 32], secret: &mut [u8; 32]) -> bool {
    // SAFETY: all arrays have the 32 bytes the function reads and writes.
    super::succeeded(unsafe { sys::X25519(secret.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) })
}
