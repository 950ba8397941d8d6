//! Any bytes as what a device says in EAP, through IKE_AUTH, gateway and RADIUS to the AAA server: see
//! `world/hosts/tests/chain/mod.rs`.
#![no_main]

#[path = "../../world/hosts/tests/chain/mod.rs"]
mod chain;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    chain::run(bytes);
});
