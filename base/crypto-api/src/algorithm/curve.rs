//! Curves whose elements protocols compute with themselves, and what they compute.

use std::fmt;

use super::Standing;

algorithms! {
    /// Curves whose elements protocols compute with themselves ([`crate::OnCurve`]); named as the groups they make.
    Curve {
        /// NIST P-256.
        P256 = "ecp256",
        /// NIST P-384.
        P384 = "ecp384",
        /// NIST P-521.
        P521 = "ecp521",
    }
}

impl Curve {
    /// Bits of the prime of the field, and of the order.
    pub const fn bits(self) -> usize {
        match self {
            Self::P256 => 256,
            Self::P384 => 384,
            Self::P521 => 521,
        }
    }

    /// Length of a coordinate and of a scalar in bytes.
    pub const fn field_len(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// Length of an element in bytes.
    pub const fn element_len(self) -> usize {
        2 * self.field_len()
    }

    /// How far it can be trusted.
    pub const fn standing(self) -> Standing {
        Standing::Good
    }
}

algorithms! {
    /// The operations of [`crate::OnCurve`].
    CurveOperation {
        /// An element times a scalar.
        Multiply = "ec-multiply",
        /// The sum of two elements.
        Add = "ec-add",
        /// The inverse of an element.
        Invert = "ec-invert",
        /// Whether coordinates are those of an element.
        Check = "ec-check",
        /// Whether an element has an x coordinate.
        Test = "ec-test",
        /// The element with an x coordinate.
        Solve = "ec-solve",
        /// The element to which a number is mapped.
        Map = "ec-map",
        /// The sum of two scalars.
        AddScalars = "ec-add-scalars",
        /// A number as a scalar.
        Scalar = "ec-scalar",
    }
}
