//! Any bytes as what an access point lives through with SAE: see `protocols/wlan/tests/sae/mod.rs`.
#![no_main]

#[path = "../../protocols/wlan/tests/sae/mod.rs"]
mod sae;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = sae::run(bytes);
});
