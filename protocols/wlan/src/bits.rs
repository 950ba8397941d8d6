//! Fields of single bits.

/// Implements what all fields of single bits have.
macro_rules! bits {
    ($field:ty) => {
        impl $field {
            /// The same with these bits set.
            #[must_use]
            pub const fn with(self, bits: Self) -> Self {
                Self(self.0 | bits.0)
            }

            /// Whether all of these bits are set.
            pub const fn has(self, bits: Self) -> bool {
                self.0 & bits.0 == bits.0
            }
        }
    };
}

pub(crate) use bits;
