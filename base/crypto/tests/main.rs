//! All integration tests of this crate in one program, so that it is linked once. `allocations` counts the whole process and stays alone.

mod curves;
mod differential;
mod modp;
mod ossl;
mod providers;
mod published;
mod searches;
mod wycheproof;
