//! Key agreement: MODP through `DH_*`, curves through `EVP_PKEY_derive`.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use openssl_sys as sys;

use super::{int, owned, succeeded};
use crate::awslc::ec::Curve;

owned! {
    /// A number, wiped when dropped.
    pub(super) Bn(sys::BIGNUM), sys::BN_clear_free
}

owned! {
    /// A group, a private and a public value.
    Dh(sys::DH), sys::DH_free
}

owned! {
    /// A point.
    pub(super) Point(sys::EC_POINT), sys::EC_POINT_free
}

owned! {
    /// A key of a Weierstrass curve.
    pub(super) EcKey(sys::EC_KEY), sys::EC_KEY_free
}

owned! {
    /// A key of any kind.
    Pkey(sys::EVP_PKEY), sys::EVP_PKEY_free
}

owned! {
    /// An operation with a key.
    Operation(sys::EVP_PKEY_CTX), sys::EVP_PKEY_CTX_free
}

owned! {
    /// Parameters being put together.
    Builder(sys::OSSL_PARAM_BLD), sys::OSSL_PARAM_BLD_free
}

owned! {
    /// Parameters put together.
    Parameters(sys::OSSL_PARAM), sys::OSSL_PARAM_free
}

unsafe extern "C" {
    /// openssl/ec.h; openssl-sys declares only the one that copies.
    pub(super) fn EC_GROUP_get0_order(group: *const sys::EC_GROUP) -> *const sys::BIGNUM;
    /// openssl/dh.h; openssl-sys declares only the one that strips leading zeros.
    fn DH_compute_key_padded(key: *mut u8, peer: *const sys::BIGNUM, dh: *mut sys::DH) -> std::ffi::c_int;
}

/// SEC 1 §2.3.3: first byte of a point that is given with both coordinates.
pub(super) const UNCOMPRESSED: u8 = 4;

/// The longest encoded point: P-521.
pub(super) const POINT_LEN_MAX: usize = 1 + 2 * 66;

/// A Montgomery curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Montgomery {
    /// RFC 7748 §4.1.
    X25519,
    /// RFC 7748 §4.2.
    X448,
}

/// Writes 2^exponent mod prime.
///
/// # Panics
/// If `out` is not as long as the prime.
pub fn modp_public(prime: &[u8], exponent: &[u8], out: &mut [u8]) {
    let dh = modp(prime, exponent);
    let mut public = null();
    // SAFETY: the key is valid and has a private value, so that only the public one is computed; the public number
    // belongs to it and fits the prime's length.
    unsafe {
        assert!(succeeded(sys::DH_generate_key(dh.as_ptr())), "a public value fails only without memory");
        sys::DH_get0_key(dh.as_ptr(), &raw mut public, null_mut());
        assert_eq!(sys::BN_bn2binpad(public, out.as_mut_ptr(), int(out.len())), int(prime.len()), "padded");
    }
}

/// Writes peer^exponent mod prime; false unless 1 < peer < p − 1 (RFC 6989 §2.1).
///
/// # Panics
/// If `out` is shorter than the prime.
pub fn modp_agree(prime: &[u8], exponent: &[u8], peer: &[u8], out: &mut [u8]) -> bool {
    assert!(out.len() >= prime.len(), "room for the secret");
    if !is_in_group(prime, peer) {
        return false;
    }
    let (dh, peer) = (modp(prime, exponent), number(peer));
    // SAFETY: all valid; the padded secret is as long as the prime, for which there is room.
    let written = unsafe { DH_compute_key_padded(out.as_mut_ptr(), peer.as_ptr(), dh.as_ptr()) };
    succeeded((written == int(prime.len())).into())
}

/// Whether 1 < value < p − 1, both big-endian and equally long; public values need no constant time.
fn is_in_group(prime: &[u8], value: &[u8]) -> bool {
    let (last, head) = value.split_last().expect("a public value is not empty");
    let above_one = *last > 1 || head.iter().any(|&byte| byte != 0);
    let mut largest = prime.to_vec();
    // The prime is odd, so that taking one away borrows nothing.
    *largest.last_mut().expect("a prime is not empty") -= 1;
    value.len() == prime.len() && above_one && value < &largest[..]
}

fn modp(prime: &[u8], exponent: &[u8]) -> Dh {
    let (prime, generator, exponent) = (number(prime), number(&[2]), number(exponent));
    // SAFETY: the key is valid and takes over the numbers, which are given up here.
    unsafe {
        let dh = Dh::own(sys::DH_new()).expect("libcrypto allocates");
        let done = sys::DH_set0_pqg(dh.as_ptr(), prime.into_raw(), null_mut(), generator.into_raw())
            & sys::DH_set0_key(dh.as_ptr(), null_mut(), exponent.into_raw());
        assert!(succeeded(done), "prime, generator and exponent make a key");
        dh
    }
}

/// Writes x ‖ y of scalar · G; false if the scalar is not in [1, n − 1].
///
/// # Panics
/// If `out` is not two coordinates long.
pub fn ec_public(curve: Curve, scalar: &[u8], out: &mut [u8]) -> bool {
    assert_eq!(out.len(), 2 * curve.field_len(), "a point has two coordinates");
    let Some((_, point)) = ec_key(curve, scalar) else { return false };
    out.copy_from_slice(&point[1..=out.len()]);
    true
}

/// Writes the x coordinate of scalar · peer; false unless the peer's x ‖ y is a point on the curve. `public` is our own
/// x ‖ y, so that it need not be computed again.
///
/// # Panics
/// If scalar and public value are no key pair or `out` is not a coordinate long.
pub fn ec_agree(curve: Curve, scalar: &[u8], public: &[u8], peer: &[u8], out: &mut [u8]) -> bool {
    assert_eq!(out.len(), curve.field_len(), "the secret is one coordinate");
    let key = ec_with_public(curve, public).expect("our own public value is on the curve");
    // SAFETY: both are valid; the library copies the number and checks its range.
    let set = unsafe { sys::EC_KEY_set_private_key(key.as_ptr(), number(scalar).as_ptr()) };
    assert!(succeeded(set), "our own scalar was checked when it was made");
    let Some(peer) = ec_with_public(curve, peer) else { return false };
    derive(&in_pkey(&key), &in_pkey(&peer), out)
}

/// A key pair and its encoded public point.
fn ec_key(curve: Curve, scalar: &[u8]) -> Option<(EcKey, [u8; POINT_LEN_MAX])> {
    let (key, scalar) = (ec_empty(curve), number(scalar));
    let mut encoded = [0; POINT_LEN_MAX];
    // SAFETY: everything is valid and of this curve; the buffer has room for the longest point.
    unsafe {
        let group = sys::EC_KEY_get0_group(key.as_ptr());
        let order = EC_GROUP_get0_order(group);
        let in_range = sys::BN_num_bits(scalar.as_ptr()) > 0 && sys::BN_cmp(scalar.as_ptr(), order) < 0;
        if !in_range || !succeeded(sys::EC_KEY_set_private_key(key.as_ptr(), scalar.as_ptr())) {
            return None;
        }
        let point = Point::own(sys::EC_POINT_new(group)).expect("libcrypto allocates");
        sys::EC_POINT_mul(group, point.as_ptr(), scalar.as_ptr(), null(), null(), null_mut());
        sys::EC_KEY_set_public_key(key.as_ptr(), point.as_ptr());
        let form = sys::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        let (buffer, len) = (encoded.as_mut_ptr(), encoded.len());
        let written = sys::EC_POINT_point2oct(group, point.as_ptr(), form, buffer, len, null_mut());
        assert_eq!(written, 1 + 2 * curve.field_len(), "a public point is never at infinity");
    }
    Some((key, encoded))
}

fn ec_with_public(curve: Curve, coordinates: &[u8]) -> Option<EcKey> {
    if coordinates.len() != 2 * curve.field_len() {
        return None;
    }
    let key = ec_empty(curve);
    let encoded = [&[UNCOMPRESSED], coordinates].concat();
    // SAFETY: everything is valid and of this curve; the encoding is readable for its length.
    unsafe {
        let group = sys::EC_KEY_get0_group(key.as_ptr());
        let point = Point::own(sys::EC_POINT_new(group)).expect("libcrypto allocates");
        let decoded =
            sys::EC_POINT_oct2point(group, point.as_ptr(), encoded.as_ptr(), encoded.len(), null_mut());
        let set = succeeded(decoded) && succeeded(sys::EC_KEY_set_public_key(key.as_ptr(), point.as_ptr()));
        set.then_some(key)
    }
}

pub(super) fn ec_empty(curve: Curve) -> EcKey {
    let nid = match curve {
        Curve::P256 => sys::NID_X9_62_prime256v1,
        Curve::P384 => sys::NID_secp384r1,
        Curve::P521 => sys::NID_secp521r1,
    };
    // SAFETY: the number names a curve of the library.
    EcKey::own(unsafe { sys::EC_KEY_new_by_curve_name(nid) }).expect("libcrypto allocates")
}

fn in_pkey(key: &EcKey) -> Pkey {
    // SAFETY: both are valid; set1 takes a reference of its own.
    unsafe {
        let pkey = Pkey::own(sys::EVP_PKEY_new()).expect("libcrypto allocates");
        assert!(succeeded(sys::EVP_PKEY_set1_EC_KEY(pkey.as_ptr(), key.as_ptr())), "an EC key fits");
        pkey
    }
}

/// Writes the public value of a private one.
///
/// # Panics
/// If a length does not fit the curve.
pub fn montgomery_public(curve: Montgomery, private: &[u8], out: &mut [u8]) {
    let (key, mut len) = (montgomery_private(curve, private), out.len());
    // SAFETY: the key is valid, `out` is writable for the length given.
    let done = unsafe { sys::EVP_PKEY_get_raw_public_key(key.as_ptr(), out.as_mut_ptr(), &raw mut len) };
    assert!(succeeded(done) && len == out.len(), "a public value has one length");
}

/// Writes the shared secret; false if it is all zero (RFC 7748 §6.1, §6.2). `public` is our own value, so that it need
/// not be computed again.
///
/// # Panics
/// If the length of the private or public value does not fit the curve.
pub fn montgomery_agree(
    curve: Montgomery,
    private: &[u8],
    public: &[u8],
    peer: &[u8],
    out: &mut [u8],
) -> bool {
    let key = montgomery_pair(curve, private, public).expect("a key pair has the lengths of its curve");
    // SAFETY: the bytes are readable for their length; no engine.
    let peer = unsafe { sys::EVP_PKEY_new_raw_public_key(nid(curve), null_mut(), peer.as_ptr(), peer.len()) };
    Pkey::own(peer).is_some_and(|peer| derive(&key, &peer, out))
}

fn montgomery_pair(curve: Montgomery, private: &[u8], public: &[u8]) -> Option<Pkey> {
    let mut key = null_mut();
    // SAFETY: the names are zero-terminated, both halves readable for their lengths until the key was made from them;
    // null library context and properties mean the default ones.
    unsafe {
        let builder = Builder::own(sys::OSSL_PARAM_BLD_new())?;
        let push = |name: &CStr, half: &[u8]| {
            let (raw, half, len) = (builder.as_ptr(), half.as_ptr().cast(), half.len());
            succeeded(sys::OSSL_PARAM_BLD_push_octet_string(raw, name.as_ptr(), half, len))
        };
        let pushed = push(c"priv", private) && push(c"pub", public);
        let parameters =
            Parameters::own(sys::OSSL_PARAM_BLD_to_param(builder.as_ptr())).filter(|_| pushed)?;
        let name = name(curve).as_ptr();
        let operation = Operation::own(sys::EVP_PKEY_CTX_new_from_name(null_mut(), name, null()))?;
        let made = succeeded(sys::EVP_PKEY_fromdata_init(operation.as_ptr()))
            && succeeded(sys::EVP_PKEY_fromdata(
                operation.as_ptr(),
                &raw mut key,
                sys::EVP_PKEY_KEYPAIR,
                parameters.as_ptr(),
            ));
        Pkey::own(key).filter(|_| made)
    }
}

fn montgomery_private(curve: Montgomery, private: &[u8]) -> Pkey {
    // SAFETY: the bytes are readable for their length; no engine.
    Pkey::own(unsafe {
        sys::EVP_PKEY_new_raw_private_key(nid(curve), null_mut(), private.as_ptr(), private.len())
    })
    .expect("a private key has the length of its curve")
}

const fn name(curve: Montgomery) -> &'static CStr {
    match curve {
        Montgomery::X25519 => c"X25519",
        Montgomery::X448 => c"X448",
    }
}

const fn nid(curve: Montgomery) -> std::ffi::c_int {
    match curve {
        Montgomery::X25519 => sys::EVP_PKEY_X25519,
        Montgomery::X448 => sys::EVP_PKEY_X448,
    }
}

fn derive(key: &Pkey, peer: &Pkey, out: &mut [u8]) -> bool {
    let mut len = out.len();
    // SAFETY: both keys are valid, `out` is writable for the length given.
    unsafe {
        let operation =
            Operation::own(sys::EVP_PKEY_CTX_new(key.as_ptr(), null_mut())).expect("libcrypto allocates");
        succeeded(sys::EVP_PKEY_derive_init(operation.as_ptr()))
            && succeeded(sys::EVP_PKEY_derive_set_peer(operation.as_ptr(), peer.as_ptr()))
            && succeeded(sys::EVP_PKEY_derive(operation.as_ptr(), out.as_mut_ptr(), &raw mut len))
            && len == out.len()
    }
}

pub(super) fn number(bytes: &[u8]) -> Bn {
    // SAFETY: the bytes are readable; a null result pointer asks for a new number.
    Bn::own(unsafe { sys::BN_bin2bn(bytes.as_ptr(), int(bytes.len()), null_mut()) })
        .expect("libcrypto allocates")
}
