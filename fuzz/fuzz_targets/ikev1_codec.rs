//! Any bytes as an ISAKMP message, or as the inside of an encrypted one: see `protocols/ike/tests/codec_v1/mod.rs`.
#![no_main]

#[path = "../../protocols/ike/tests/codec_v1/mod.rs"]
mod codec;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    codec::check(bytes);
});
