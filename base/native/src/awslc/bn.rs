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

owned! {
    /// The Montgomery form of an odd number.
    Montgomery(sys::BN_MONT_CTX), sys::BN_MONT_CTX_free
}

/// An odd modulus with its Montgomery form.
pub(crate) struct OddModulus {
    value: Bn,
    montgomery: Montgomery,
}

// SAFETY: after construction both fields are only read, through const pointers.
unsafe impl Send for OddModulus {}
// SAFETY: as above.
unsafe impl Sync for OddModulus {}

impl OddModulus {
    /// The modulus with this value, which is odd.
    pub(crate) fn new(value: Bn) -> Self {
        let scratch = Scratch::new();
        // SAFETY: a valid number and scratch space.
        let montgomery = unsafe { sys::BN_MONT_CTX_new_for_modulus(value.as_ptr(), scratch.as_ptr()) };
        Self { value, montgomery: Montgomery::own(montgomery).expect("the modulus is odd") }
    }

    /// The modulus itself.
    pub(crate) const fn value(&self) -> &Bn {
        &self.value
    }

    /// base^exponent, in time that does not depend on the exponent; base is below the modulus.
    pub(crate) fn power(&self, base: &Bn, exponent: &Bn) -> Bn {
        let (result, scratch) = (Bn::zero(), Scratch::new());
        // SAFETY: valid numbers and scratch space; the Montgomery form is that of the modulus, which is above the base.
        let done = unsafe {
            sys::BN_mod_exp_mont_consttime(
                result.as_ptr(),
                base.as_ptr(),
                exponent.as_ptr(),
                self.value.as_ptr(),
                scratch.as_ptr(),
                self.montgomery.as_ptr(),
            )
        };
        assert!(super::succeeded(done), "exponentiation fails only without memory");
        result
    }

    /// a · b, both below the modulus.
    pub(crate) fn product(&self, a: &Bn, b: &Bn) -> Bn {
        let (result, scratch, form) = (Bn::zero(), Scratch::new(), self.montgomery.as_ptr());
        // SAFETY: valid numbers below the modulus and scratch space. a · R · b / R = a · b.
        let done = unsafe {
            sys::BN_to_montgomery(result.as_ptr(), a.as_ptr(), form, scratch.as_ptr())
                & sys::BN_mod_mul_montgomery(
                    result.as_ptr(),
                    result.as_ptr(),
                    b.as_ptr(),
                    form,
                    scratch.as_ptr(),
                )
        };
        assert!(super::succeeded(done), "multiplication fails only without memory");
        result
    }
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

    /// A copy of one of the library's constants.
    ///
    /// # Safety
    /// The pointer is to a valid number.
    pub(crate) unsafe fn copy(constant: *const sys::BIGNUM) -> Self {
        // SAFETY: the caller's promise.
        Self::own(unsafe { sys::BN_dup(constant) }).expect("libcrypto allocates")
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
