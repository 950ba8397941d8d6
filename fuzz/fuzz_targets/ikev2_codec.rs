//! Any bytes as an IKEv2 message, or as the inside of an encrypted one: see `protocols/ike/tests/codec/mod.rs`.
#![no_main]

#[path = "../../protocols/ike/tests/codec/mod.rs"]
mod codec;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    codec::check(bytes);
});
