//! Any bytes as a RADIUS packet: see `protocols/radius/tests/codec/mod.rs`.
#![no_main]
#![allow(dead_code, reason = "the other target calls the rest")]

#[path = "../../protocols/radius/tests/codec/mod.rs"]
mod codec;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    codec::check(bytes);
});
