//! Any bytes as a Diameter message: see `protocols/diameter/tests/exchange/mod.rs`.
#![no_main]

#[path = "../../protocols/diameter/tests/exchange/mod.rs"]
mod exchange;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    exchange::check(bytes);
});
