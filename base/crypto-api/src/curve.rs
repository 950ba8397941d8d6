//! The group of a curve as password-authenticated key exchanges use it: its elements by themselves, not as keys.
//!
//! Elements are the coordinates x ‖ y (FIPS 186-5, SP 800-186 §3.2.1); the identity has no coordinates and is none here.
//! Coordinates and scalars are big-endian and [`field_len`](crate::algorithm::Curve::field_len) bytes long.

use crate::algorithm::CurveOperation;

/// An operation with its operands.
#[derive(Clone, Copy)]
pub enum OnCurve<'a> {
    /// The element taken `scalar` times, in time that does not depend on the scalar. Rejected: an element that is not on the
    /// curve, a scalar outside [1, r − 1].
    Multiply {
        /// The element.
        element: &'a [u8],
        /// The scalar.
        scalar: &'a [u8],
    },
    /// The sum of two elements. Rejected: an element that is not on the curve, a sum that is the identity.
    Add(&'a [u8], &'a [u8]),
    /// The inverse of an element. Rejected: an element that is not on the curve.
    Invert(&'a [u8]),
    /// Nothing; rejected if the coordinates are none of an element.
    Check(&'a [u8]),
    /// Nothing; rejected if no element has this x coordinate. The quadratic residue test is blinded.
    Test {
        /// The coordinate.
        x: &'a [u8],
        /// [`field_len`](crate::algorithm::Curve::field_len) random bytes and one more.
        blinding: &'a [u8],
    },
    /// The element with this x coordinate and a y coordinate that is odd or even. Rejected: no element has this x coordinate.
    Solve {
        /// The coordinate.
        x: &'a [u8],
        /// Whether the y coordinate is odd.
        is_odd: bool,
    },
    /// The element to which the simplified SWU method (RFC 9380 §6.6.2, with its constants of §8) maps a number of any length
    /// modulo the prime of the field.
    Map(&'a [u8]),
    /// The sum of two scalars modulo r. Rejected: a scalar outside [1, r − 1].
    AddScalars(&'a [u8], &'a [u8]),
    /// A number of any length modulo r − 1, plus 1. Takes time that depends on the number.
    Scalar(&'a [u8]),
}

impl OnCurve<'_> {
    /// Which operation it is.
    pub const fn operation(&self) -> CurveOperation {
        match self {
            Self::Multiply { .. } => CurveOperation::Multiply,
            Self::Add(..) => CurveOperation::Add,
            Self::Invert(_) => CurveOperation::Invert,
            Self::Check(_) => CurveOperation::Check,
            Self::Test { .. } => CurveOperation::Test,
            Self::Solve { .. } => CurveOperation::Solve,
            Self::Map(_) => CurveOperation::Map,
            Self::AddScalars(..) => CurveOperation::AddScalars,
            Self::Scalar(_) => CurveOperation::Scalar,
        }
    }
}
