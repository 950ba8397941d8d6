//! Any bytes as packets for IPsec: see `protocols/esp/tests/hostile/mod.rs`.
#![no_main]
#![allow(dead_code, reason = "the other target calls the rest")]

#[path = "../../protocols/esp/tests/hostile/mod.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    hostile::esp(bytes);
});
