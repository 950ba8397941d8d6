//! Any bytes as what a responder of IKEv1 lives through: see `protocols/ike/tests/support/responder_v1.rs`.
#![no_main]

#[path = "../../protocols/ike/tests/support/responder_v1.rs"]
mod responder;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    responder::run(bytes);
});
