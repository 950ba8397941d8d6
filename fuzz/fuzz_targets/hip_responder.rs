//! Any bytes as what a HIP responder lives through: see `protocols/hip/tests/responder/mod.rs`.
#![no_main]

#[path = "../../protocols/hip/tests/responder/mod.rs"]
mod responder;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    responder::run(bytes);
});
