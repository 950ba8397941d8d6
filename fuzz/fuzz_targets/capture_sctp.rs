//! Any bytes as SCTP packets, put together to messages of Diameter: see `world/decode/tests/whole/mod.rs`.
#![no_main]

#[path = "../../world/decode/tests/whole/mod.rs"]
mod whole;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    whole::check_sctp(bytes);
});
