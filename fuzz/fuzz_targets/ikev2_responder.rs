//! Any bytes as what a responder lives through: see `protocols/ike/tests/support/responder.rs`.
#![no_main]

#[path = "../../protocols/ike/tests/support/responder.rs"]
mod responder;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    responder::run(bytes);
});
