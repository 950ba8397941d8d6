//! Any bytes as what is overheard of IKEv1 by somebody with a key: see `protocols/ike/tests/overheard_v1/mod.rs`.
#![no_main]

#[path = "../../protocols/ike/tests/overheard_v1/mod.rs"]
mod overheard;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    overheard::run(bytes);
});
