//! All integration tests of this crate in one program, so that it is linked once.

mod common;
mod handshake;
mod libssl;
mod null;
