//! Any bytes as what becomes of packets on their way to an EAP server: see `world/hosts/tests/conversation/mod.rs`.
#![no_main]

#[path = "../../world/hosts/tests/conversation/mod.rs"]
mod conversation;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    conversation::run(bytes, conversation::Target::Server);
});
