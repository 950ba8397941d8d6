//! Diffie–Hellman on P-256, P-384 and P-521 (RFC 5903): scalars in, coordinates out.

use aws_lc_sys as sys;

use super::bn::{Bn, Scratch};
use super::owned::owned;
use super::succeeded;

/// A NIST curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// secp256r1.
    P256,
    /// secp384r1.
    P384,
    /// secp521r1.
    P521,
}

owned! {
    /// A point.
    pub(super) Point(sys::EC_POINT), sys::EC_POINT_clear_free
}

owned! {
    /// A private key, a public key, or both.
    pub(crate) Key(sys::EC_KEY), sys::EC_KEY_free
}

/// SEC 1 §2.3.3: first byte of a point that is given with both coordinates.
const UNCOMPRESSED: u8 = 4;

/// The longest encoded point: P-521.
pub(super) const POINT_LEN_MAX: usize = 1 + 2 * 66;

impl Curve {
    /// Every curve.
    pub const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    /// Length of a coordinate and of a scalar.
    pub const fn field_len(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// Bits of the first byte of a scalar that are used.
    pub const fn first_byte_mask(self) -> u8 {
        match self {
            Self::P256 | Self::P384 => 0xff,
            Self::P521 => 0x01,
        }
    }

    /// Writes the coordinates x ‖ y of scalar · G; false if the scalar is not in [1, n − 1].
    ///
    /// # Panics
    /// If `out` is not two coordinates long.
    pub fn public(self, scalar: &[u8], out: &mut [u8]) -> bool {
        assert_eq!(out.len(), 2 * self.field_len(), "a point has two coordinates");
        let Some(key) = self.key(scalar) else { return false };
        let point = self.base_times(&key);
        let mut encoded = [0; POINT_LEN_MAX];
        self.encode(&point, &mut encoded[..=out.len()]);
        out.copy_from_slice(&encoded[1..=out.len()]);
        true
    }

    /// Writes the x coordinate of scalar · peer (RFC 5903 §7); false unless the peer's x ‖ y is a point on the curve.
    ///
    /// # Panics
    /// If the scalar is not in [1, n − 1] or `out` is not a coordinate long.
    pub fn agree(self, scalar: &[u8], peer: &[u8], out: &mut [u8]) -> bool {
        assert_eq!(out.len(), self.field_len(), "the secret is one coordinate");
        let key = self.key(scalar).expect("our own scalar was checked when it was made");
        let Some(point) = self.point(peer) else { return false };
        // SAFETY: `out` is writable for its length; point and key belong to this curve; there is no KDF.
        let written = unsafe {
            sys::ECDH_compute_key(out.as_mut_ptr().cast(), out.len(), point.as_ptr(), key.as_ptr(), None)
        };
        succeeded((written == i32::try_from(out.len()).expect("at most 66")).into())
    }

    /// A private key without its public half.
    pub(crate) fn key(self, scalar: &[u8]) -> Option<Key> {
        // SAFETY: the number names a curve of the library.
        let key =
            Key::own(unsafe { sys::EC_KEY_new_by_curve_name(self.nid()) }).expect("libcrypto allocates");
        let number = Bn::from_be(scalar);
        // SAFETY: both are valid; the library copies the number and checks its range.
        succeeded(unsafe { sys::EC_KEY_set_private_key(key.as_ptr(), number.as_ptr()) }).then_some(key)
    }

    /// A private key with its public half.
    pub(crate) fn key_pair(self, scalar: &[u8]) -> Option<Key> {
        let key = self.key(scalar)?;
        let point = self.base_times(&key);
        // SAFETY: both are valid and of this curve; the library copies the point.
        succeeded(unsafe { sys::EC_KEY_set_public_key(key.as_ptr(), point.as_ptr()) }).then_some(key)
    }

    /// The curve of a key that the library parsed; none if it is another one.
    pub(crate) fn named(nid: i32) -> Option<Self> {
        [Self::P256, Self::P384, Self::P521].into_iter().find(|curve| curve.nid() == nid)
    }

    fn base_times(self, key: &Key) -> Point {
        let (point, scratch) = (self.new_point(), Scratch::new());
        // SAFETY: all are valid and of this curve; null point and scalar mean that only the base is multiplied.
        let done = unsafe {
            sys::EC_POINT_mul(
                self.group(),
                point.as_ptr(),
                sys::EC_KEY_get0_private_key(key.as_ptr()),
                std::ptr::null(),
                std::ptr::null(),
                scratch.as_ptr(),
            )
        };
        assert!(succeeded(done), "multiplying the base point fails only without memory");
        point
    }

    pub(super) fn encode(self, point: &Point, out: &mut [u8]) {
        let form = sys::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        // SAFETY: the point is of this curve, `out` is writable for its length, no scratch space is needed.
        let written = unsafe {
            sys::EC_POINT_point2oct(
                self.group(),
                point.as_ptr(),
                form,
                out.as_mut_ptr(),
                out.len(),
                std::ptr::null_mut(),
            )
        };
        assert_eq!(written, out.len(), "a public point is never at infinity");
    }

    /// Decodes x ‖ y; none unless it is on the curve.
    pub(super) fn point(self, coordinates: &[u8]) -> Option<Point> {
        if coordinates.len() != 2 * self.field_len() {
            return None;
        }
        let mut encoded = [UNCOMPRESSED; POINT_LEN_MAX];
        encoded[1..=coordinates.len()].copy_from_slice(coordinates);
        let point = self.new_point();
        // SAFETY: the point is of this curve; the encoding is readable for the length given.
        let decoded = unsafe {
            sys::EC_POINT_oct2point(
                self.group(),
                point.as_ptr(),
                encoded.as_ptr(),
                1 + coordinates.len(),
                std::ptr::null_mut(),
            )
        };
        succeeded(decoded).then_some(point)
    }

    pub(super) fn new_point(self) -> Point {
        // SAFETY: the group is one of the library's constants.
        Point::own(unsafe { sys::EC_POINT_new(self.group()) }).expect("libcrypto allocates")
    }

    pub(super) fn group(self) -> *const sys::EC_GROUP {
        // SAFETY: these functions take nothing and return the address of a constant.
        unsafe {
            match self {
                Self::P256 => sys::EC_group_p256(),
                Self::P384 => sys::EC_group_p384(),
                Self::P521 => sys::EC_group_p521(),
            }
        }
    }

    const fn nid(self) -> i32 {
        match self {
            Self::P256 => sys::NID_X9_62_prime256v1,
            Self::P384 => sys::NID_secp384r1,
            Self::P521 => sys::NID_secp521r1,
        }
    }
}
