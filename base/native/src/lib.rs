//! (to be written)

pub mod awslc;
pub mod clock;
pub mod heap;
#[cfg(feature = "ossl")]
pub mod ossl;
