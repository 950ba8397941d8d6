//! Big numbers, as far as the neighbouring modules need them.

use aws_lc_sys as sys;

use super::owned::owned;

owned! {
    /// A non-negative integer, wiped when dropped.
    pub(crate) Bn(sys::BIGNUM), sys::BN_clear_free
}

owned! {
    /// Scratch space for calculations.
    pub(crate) Scratch(sys::BN_CTX), sys::BN_CTX_free
}

impl Bn {
    /// Zero.
    pub(crate) fn zero() -> Self {
        // SAFETY: no arguments.
        Self::own(unsafe { sys::BN_new() }).expect("libcrypto allocates")
    }

    /// From big-endian bytes.
    pub(crate) fn from_be(bytes: &[u8]) -> Self {
        // SAFETY: the bytes are readable; a null result pointer asks for a new number.
        Self::own(unsafe { sys::BN_bin2bn(bytes.as_ptr(), bytes.len(), std::ptr::null_mut()) })
            .expect("libcrypto allocates")
    }

    /// From a small number.
    pub(crate) fn from_word(word: u64) -> Self {
        Self::from_be(&word.to_be_bytes())
    }

    /// Writes it big-endian, filling `out`; false if it does not fit.
    pub(crate) fn write_be(&self, out: &mut [u8]) -> bool {
        // SAFETY: the number is valid, `out` is writable for its length.
        super::succeeded(unsafe { sys::BN_bn2bin_padded(out.as_mut_ptr(), out.len(), self.as_ptr()) })
    }
}

impl Scratch {
    /// New scratch space.
    pub(crate) fn new() -> Self {
        // SAFETY: no arguments.
        Self::own(unsafe { sys::BN_CTX_new() }).expect("libcrypto allocates")
    }
}
