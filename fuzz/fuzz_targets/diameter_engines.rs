//! Any bytes as what becomes of messages between a Diameter client and server: see
//! `protocols/diameter/tests/exchange/mod.rs`.
#![no_main]

#[path = "../../protocols/diameter/tests/exchange/mod.rs"]
mod exchange;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    exchange::run(bytes);
});
