//! Any bytes as frames of a wireless LAN that somebody overhears: see `protocols/wlan/tests/frame/mod.rs`.
#![no_main]

#[path = "../../protocols/wlan/tests/frame/mod.rs"]
mod frame;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = frame::run(bytes);
});
