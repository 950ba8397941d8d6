//! Elements of P-256, P-384 and P-521 by themselves, and modular arithmetic, with the calls that hostapd makes.

use std::ptr::{null, null_mut};

use openssl_sys as sys;

use super::agreement::{
    Bn, EC_GROUP_get0_order, EcKey, POINT_LEN_MAX, Point, UNCOMPRESSED, ec_empty, number,
};
use super::{owned, succeeded};
use crate::awslc::ec::Curve;

owned! {
    /// Scratch space for calculations.
    Scratch(sys::BN_CTX), sys::BN_CTX_free
}

unsafe extern "C" {
    /// openssl/bn.h; openssl-sys does not declare it.
    fn BN_mod_exp_mont_consttime(
        result: *mut sys::BIGNUM,
        base: *const sys::BIGNUM,
        exponent: *const sys::BIGNUM,
        modulus: *const sys::BIGNUM,
        scratch: *mut sys::BN_CTX,
        montgomery: *mut sys::BN_MONT_CTX,
    ) -> std::ffi::c_int;
}

/// A curve, in the object that holds its group.
struct Group(EcKey);

/// Writes element · scalar; false unless x ‖ y is on the curve and the scalar in [1, n − 1].
///
/// # Panics
/// If `out` is not two coordinates long.
pub fn multiply(curve: Curve, element: &[u8], scalar: &[u8], out: &mut [u8]) -> bool {
    let (group, scalar) = (Group::of(curve), number(scalar));
    let Some(element) = group.point(curve, element) else { return false };
    let (product, scratch) = (group.new_point(), scratch());
    // SAFETY: everything is valid and of this curve; the base is not multiplied.
    let done = unsafe {
        let order = EC_GROUP_get0_order(group.as_ptr());
        let in_range = sys::BN_num_bits(scalar.as_ptr()) > 0 && sys::BN_cmp(scalar.as_ptr(), order) < 0;
        let (into, point, scalar) = (product.as_ptr(), element.as_ptr(), scalar.as_ptr());
        in_range
            && succeeded(sys::EC_POINT_mul(group.as_ptr(), into, null(), point, scalar, scratch.as_ptr()))
    };
    done && group.write(&product, out)
}

/// Writes the sum of two elements; false unless both are on the curve and the sum is not the identity.
///
/// # Panics
/// If `out` is not two coordinates long.
pub fn add(curve: Curve, a: &[u8], b: &[u8], out: &mut [u8]) -> bool {
    let group = Group::of(curve);
    let (Some(a), Some(b)) = (group.point(curve, a), group.point(curve, b)) else { return false };
    let (sum, scratch) = (group.new_point(), scratch());
    // SAFETY: everything is valid and of this curve.
    let done =
        unsafe { sys::EC_POINT_add(group.as_ptr(), sum.as_ptr(), a.as_ptr(), b.as_ptr(), scratch.as_ptr()) };
    succeeded(done) && group.write(&sum, out)
}

/// Whether x ‖ y is on the curve.
pub fn is_on_curve(curve: Curve, element: &[u8]) -> bool {
    Group::of(curve).point(curve, element).is_some()
}

/// Writes (a + b) modulo a number.
///
/// # Panics
/// If `out` is shorter than the modulus.
pub fn modular_sum(a: &[u8], b: &[u8], modulus: &[u8], out: &mut [u8]) {
    // SAFETY: `modular` gives valid numbers and scratch space.
    modular(a, b, modulus, out, |r, a, b, m, scratch| unsafe { sys::BN_mod_add(r, a, b, m, scratch) });
}

/// Writes (a − b) modulo a number.
///
/// # Panics
/// If `out` is shorter than the modulus.
pub fn modular_difference(a: &[u8], b: &[u8], modulus: &[u8], out: &mut [u8]) {
    // SAFETY: `modular` gives valid numbers and scratch space.
    modular(a, b, modulus, out, |r, a, b, m, scratch| unsafe { sys::BN_mod_sub(r, a, b, m, scratch) });
}

/// Writes a · b modulo a number.
///
/// # Panics
/// If `out` is shorter than the modulus.
pub fn modular_product(a: &[u8], b: &[u8], modulus: &[u8], out: &mut [u8]) {
    // SAFETY: `modular` gives valid numbers and scratch space.
    modular(a, b, modulus, out, |r, a, b, m, scratch| unsafe { sys::BN_mod_mul(r, a, b, m, scratch) });
}

/// Writes base^exponent modulo an odd number, in time that does not depend on the exponent.
///
/// # Panics
/// If `out` is shorter than the modulus.
pub fn modular_power(base: &[u8], exponent: &[u8], modulus: &[u8], out: &mut [u8]) {
    modular(base, exponent, modulus, out, |r, base, exponent, m, scratch| {
        // SAFETY: `modular` gives valid numbers and scratch space; the Montgomery form is computed anew.
        unsafe { BN_mod_exp_mont_consttime(r, base, exponent, m, scratch, null_mut()) }
    });
}

/// Writes a number of any length modulo another one.
///
/// # Panics
/// If `out` is shorter than the modulus.
pub fn remainder(value: &[u8], modulus: &[u8], out: &mut [u8]) {
    let (result, value, modulus, scratch) = (number(&[]), number(value), number(modulus), scratch());
    // SAFETY: valid numbers and scratch space.
    let done = unsafe { sys::BN_nnmod(result.as_ptr(), value.as_ptr(), modulus.as_ptr(), scratch.as_ptr()) };
    assert!(succeeded(done), "a remainder fails only without memory");
    write(&result, out);
}

/// Result, two operands, modulus and scratch space.
type Step = fn(
    *mut sys::BIGNUM,
    *const sys::BIGNUM,
    *const sys::BIGNUM,
    *const sys::BIGNUM,
    *mut sys::BN_CTX,
) -> std::ffi::c_int;

fn modular(a: &[u8], b: &[u8], modulus: &[u8], out: &mut [u8], step: Step) {
    let (result, scratch) = (number(&[]), scratch());
    let [a, b, modulus] = [a, b, modulus].map(number);
    let done = step(result.as_ptr(), a.as_ptr(), b.as_ptr(), modulus.as_ptr(), scratch.as_ptr());
    assert!(succeeded(done), "modular arithmetic fails only without memory");
    write(&result, out);
}

fn write(number: &Bn, out: &mut [u8]) {
    let len = super::int(out.len());
    // SAFETY: a valid number; `out` is writable for its length.
    let written = unsafe { sys::BN_bn2binpad(number.as_ptr(), out.as_mut_ptr(), len) };
    assert_eq!(written, len, "a residue is no longer than its modulus");
}

fn scratch() -> Scratch {
    // SAFETY: no arguments.
    Scratch::own(unsafe { sys::BN_CTX_new() }).expect("libcrypto allocates")
}

impl Group {
    fn of(curve: Curve) -> Self {
        Self(ec_empty(curve))
    }

    fn as_ptr(&self) -> *const sys::EC_GROUP {
        // SAFETY: the key is valid, has a group and outlives the pointer's use.
        unsafe { sys::EC_KEY_get0_group(self.0.as_ptr()) }
    }

    fn new_point(&self) -> Point {
        // SAFETY: the group is valid.
        Point::own(unsafe { sys::EC_POINT_new(self.as_ptr()) }).expect("libcrypto allocates")
    }

    /// Decodes x ‖ y; none unless it is on the curve.
    fn point(&self, curve: Curve, coordinates: &[u8]) -> Option<Point> {
        if coordinates.len() != 2 * curve.field_len() {
            return None;
        }
        let (point, encoded) = (self.new_point(), [&[UNCOMPRESSED], coordinates].concat());
        let (bytes, len) = (encoded.as_ptr(), encoded.len());
        // SAFETY: the point is of this group; the encoding is readable for its length.
        let decoded =
            unsafe { sys::EC_POINT_oct2point(self.as_ptr(), point.as_ptr(), bytes, len, null_mut()) };
        succeeded(decoded).then_some(point)
    }

    /// False for the identity, which has no coordinates.
    fn write(&self, point: &Point, out: &mut [u8]) -> bool {
        let mut encoded = [0; POINT_LEN_MAX];
        let form = sys::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        let (buffer, len) = (encoded.as_mut_ptr(), encoded.len());
        // SAFETY: the point is of this group; the buffer has room for the longest point.
        let written =
            unsafe { sys::EC_POINT_point2oct(self.as_ptr(), point.as_ptr(), form, buffer, len, null_mut()) };
        if written == 1 {
            return false;
        }
        assert_eq!(written, 1 + out.len(), "a point has two coordinates");
        out.copy_from_slice(&encoded[1..written]);
        true
    }
}
