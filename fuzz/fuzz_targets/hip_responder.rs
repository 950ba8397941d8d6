//! Any bytes as what a HIP responder lives through: see `protocols/hip/tests/responder/mod.rs`.
#![no_main]

#[expect(dead_code, reason = "the target hip_diet_responder runs the others")]
#[path = "../../protocols/hip/tests/responder/mod.rs"]
mod responder;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = responder::run(bytes);
});
