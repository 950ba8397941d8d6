//! Any bytes as what a station and an access point live through from message 1 on: see `protocols/wlan/tests/handshake/mod.rs`.
#![no_main]

#[path = "../../protocols/wlan/tests/handshake/mod.rs"]
mod handshake;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = handshake::run(bytes);
});
