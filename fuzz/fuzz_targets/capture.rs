//! Any bytes as a capture file, read to the ladders and the facts: see `world/decode/tests/whole/mod.rs`.
#![no_main]

#[path = "../../world/decode/tests/whole/mod.rs"]
mod whole;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    whole::check(bytes);
});
