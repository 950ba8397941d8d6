//! Every exchange two peers can have when the network does what it should, and every way it can be refused.
//! Read RFC 7296 §1.2–§1.4, §2.6–§2.9, §2.15, §2.19, §2.21 and §2.23, RFC 4478, RFC 6023, RFC 7383 and RFC 7427 first.

mod support;

use support::lab::psk;
use support::{Bench, check};

#[test]
fn a_shared_key_takes_four_messages() {
    let bench = Bench::new(psk()).established();
    check(
        &bench,
        "
        i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
        r -> i  IKE_SA_INIT response  SA KE Nonce N N N N
        i -> r  IKE_AUTH request  SK IDi IDr AUTH SA TSi TSr
        r -> i  IKE_AUTH response  SK IDr AUTH SA TSi TSr
        r  established with device.example.org
        r  child up: aes128gcm16
        i  established with gw.example.org
        i  child up: aes128gcm16
        ",
    );
    bench.assert_agreement();
}
