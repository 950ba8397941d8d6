//! What touches the machine below safe Rust: crypto libraries, heap and stack, clocks, sockets' fast paths, packet sockets, TUN
//! devices. The one crate with `unsafe`.
//!
//! Everything public is safe to call; each `unsafe` block says why it is sound. Nothing here knows a protocol.

pub mod awslc;
pub mod clock;
pub mod datagrams;
pub mod frames;
pub mod heap;
pub mod machine;
#[cfg(feature = "ossl")]
pub mod ossl;
pub mod stack;
pub mod tun;
