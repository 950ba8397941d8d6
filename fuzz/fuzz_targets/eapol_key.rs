//! Any bytes as EAPOL PDUs, key descriptors and key data: see `protocols/wlan/tests/eapol/mod.rs`.
#![no_main]

#[path = "../../protocols/wlan/tests/eapol/mod.rs"]
mod eapol;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = eapol::run(bytes);
});
