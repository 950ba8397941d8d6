//! Main and aggressive mode, with shared keys, certificates and raw keys.

use keytoll_ike::config::Phase1;

use super::configs::{certificates, psk, raw_keys};
use crate::support::{Bench, check};

#[test]
fn main_mode_with_a_shared_key() {
    let bench = Bench::new(psk(Phase1::Main)).established();
    check(
        &bench,
        "
        i -> r  IDENTITY_PROTECTION request  SA VID VID
        r -> i  IDENTITY_PROTECTION response  SA VID VID
        i -> r  IDENTITY_PROTECTION request  KE NONCE NAT-D NAT-D
        r -> i  IDENTITY_PROTECTION response  KE NONCE NAT-D NAT-D
        i -> r  IDENTITY_PROTECTION request  ID HASH N
        r -> i  IDENTITY_PROTECTION response  ID HASH
        r  established with device.example.org
        i  established with gw.example.org
        i -> r  QUICK_MODE request  HASH SA NONCE ID ID
        r -> i  QUICK_MODE response  HASH SA NONCE ID ID
        i -> r  QUICK_MODE request  HASH
        i  child up: aes128-sha256
        r  child up: aes128-sha256
    ",
    );
    bench.assert_agreement();
}

#[test]
fn aggressive_mode_with_a_shared_key() {
    let bench = Bench::new(psk(Phase1::Aggressive)).established();
    check(
        &bench,
        "
        i -> r  AGGRESSIVE request  SA KE NONCE ID VID VID
        r -> i  AGGRESSIVE response  SA KE NONCE ID HASH VID VID NAT-D NAT-D
        i -> r  AGGRESSIVE request  HASH NAT-D NAT-D N
        i -> r  QUICK_MODE request  HASH SA NONCE ID ID
        r  established with device.example.org
        r -> i  QUICK_MODE response  HASH SA NONCE ID ID
        i  established with gw.example.org
        i -> r  QUICK_MODE request  HASH
        i  child up: aes128-sha256
        r  child up: aes128-sha256
    ",
    );
    bench.assert_agreement();
}

#[test]
fn main_mode_with_certificates() {
    let bench = Bench::new(certificates(Phase1::Main)).established();
    check(
        &bench,
        "
        i -> r  IDENTITY_PROTECTION request  SA VID VID
        r -> i  IDENTITY_PROTECTION response  SA VID VID
        i -> r  IDENTITY_PROTECTION request  KE NONCE CR NAT-D NAT-D
        r -> i  IDENTITY_PROTECTION response  KE NONCE CR NAT-D NAT-D
        i -> r  IDENTITY_PROTECTION request  ID CERT SIG N
        r -> i  IDENTITY_PROTECTION response  ID CERT SIG
        r  established with device.example.org
        i  established with gw.example.org
        i -> r  QUICK_MODE request  HASH SA NONCE ID ID
        r -> i  QUICK_MODE response  HASH SA NONCE ID ID
        i -> r  QUICK_MODE request  HASH
        i  child up: aes128-sha256
        r  child up: aes128-sha256
    ",
    );
    bench.assert_agreement();
}

#[test]
fn aggressive_mode_with_certificates() {
    let bench = Bench::new(certificates(Phase1::Aggressive)).established();
    check(
        &bench,
        "
        i -> r  AGGRESSIVE request  SA KE NONCE ID CR VID VID
        r -> i  AGGRESSIVE response  SA KE NONCE ID CERT SIG CR VID VID NAT-D NAT-D
        i -> r  AGGRESSIVE request  CERT SIG NAT-D NAT-D N
        i -> r  QUICK_MODE request  HASH SA NONCE ID ID
        r  established with device.example.org
        r -> i  QUICK_MODE response  HASH SA NONCE ID ID
        i  established with gw.example.org
        i -> r  QUICK_MODE request  HASH
        i  child up: aes128-sha256
        r  child up: aes128-sha256
    ",
    );
    bench.assert_agreement();
}

#[test]
fn main_mode_with_raw_keys() {
    let bench = Bench::new(raw_keys(Phase1::Main)).established();
    check(
        &bench,
        "
        i -> r  IDENTITY_PROTECTION request  SA VID VID
        r -> i  IDENTITY_PROTECTION response  SA VID VID
        i -> r  IDENTITY_PROTECTION request  KE NONCE NAT-D NAT-D
        r -> i  IDENTITY_PROTECTION response  KE NONCE NAT-D NAT-D
        i -> r  IDENTITY_PROTECTION request  ID SIG N
        r -> i  IDENTITY_PROTECTION response  ID SIG
        r  established with device.example.org
        i  established with gw.example.org
        i -> r  QUICK_MODE request  HASH SA NONCE ID ID
        r -> i  QUICK_MODE response  HASH SA NONCE ID ID
        i -> r  QUICK_MODE request  HASH
        i  child up: aes128-sha256
        r  child up: aes128-sha256
    ",
    );
    bench.assert_agreement();
}
