//! Any attributes from a RADIUS peer who knows the secret, to client and server: see `protocols/radius/tests/codec/mod.rs`.
#![no_main]
#![allow(dead_code, reason = "the other target calls the rest")]

#[path = "../../protocols/radius/tests/codec/mod.rs"]
mod codec;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    codec::check_engines(bytes);
});
