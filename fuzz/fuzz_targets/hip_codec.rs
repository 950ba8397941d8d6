//! Any bytes as a HIP packet: see `protocols/hip/tests/codec/mod.rs`.
#![no_main]

#[path = "../../protocols/hip/tests/codec/mod.rs"]
mod codec;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    codec::check(bytes);
});
