//! Ten thousand conversations over a network that loses three datagrams in ten, duplicates some and reorders them, while both
//! owners send random commands. Read RFC 7296 §2.1–§2.4 and §2.25 first.
//!
//! In the end both sides hold the same SAs, or each has a named failure; then everything is closed, and no state and no timer
//! is left. A failing seed is printed with the command that replays it alone.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a test: it may fail and say why"
)]

use crate::support;

use std::time::Duration;

use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::{Crypto, Rng};
use keytoll_ike::Config;
use keytoll_ike::config::{Connection, Mode, Reauthenticate};
use support::lab::{Pki, both, esp, ike, only, pool, psk, seconds};
use support::{Bench, Weather, storm};

const SEEDS: u64 = 10_000;
const REAL_SEEDS: u64 = 300;
const LOSS: f64 = 0.3;
#[test]
fn null_crypto() {
    storm::for_each_seed("lossy::null_crypto", SEEDS, |seed, drawn| {
        let configs = configs(&mut Rng::named(seed, "configs"), psk());
        conversation(configs, seed, drawn, || Box::new(Null));
    });
}

#[test]
fn real_crypto() {
    let pki = Pki::new(KeyKind::EcdsaP256, 3);
    storm::for_each_seed("lossy::real_crypto", REAL_SEEDS, |seed, drawn| {
        let base = if seed % 2 == 0 { psk() } else { pki.configs() };
        let configs = configs(&mut Rng::named(seed, "configs"), base);
        conversation(configs, seed, drawn, || Box::new(Real::default()));
    });
}

/// Random variations of everything that affects the messages.
fn configs(rng: &mut Rng, base: (Config, Config)) -> (Config, Config) {
    let (mut i, mut r) = both(base, |connection| {
        // Without it, a side that missed the end of the other would never know.
        connection.liveness_after = Some(seconds(60));
    });
    let mut maybe = |probability| rng.chance(probability);
    if maybe(0.3) {
        r.half_open.cookies_from = 0;
    }
    if maybe(0.3) {
        only(&mut i).suites = ike("aes128gcm16-prfsha256-x25519 aes256-sha256-ecp256");
        only(&mut r).suites = ike("aes256-sha256-ecp256");
    }
    if maybe(0.3) {
        (i, r) = both((i, r), |connection| child(connection).suites = esp("aes128gcm16-x25519"));
    }
    if maybe(0.2) {
        (i, r) = both((i, r), |connection| child(connection).mode = Mode::Transport);
    }
    if maybe(0.2) {
        // Both, because the hashes of null crypto do not reveal a NAT to the peer.
        (i.force_encapsulation, r.force_encapsulation) = (true, true);
    }
    if maybe(0.3) {
        only(&mut i).request_address = true;
        only(&mut r).pool = Some(pool());
    }
    if maybe(0.3) {
        only(&mut r).auth_lifetime = Some(seconds(200));
        only(&mut i).reauthenticate = Reauthenticate::Ahead(seconds(50));
    }
    if maybe(0.3) {
        (i, r) = both((i, r), |connection| connection.rekey_after = Some(seconds(90)));
    }
    if maybe(0.3) {
        (i, r) = both((i, r), |connection| child(connection).rekey_after = Some(seconds(45)));
    }
    (i, r)
}

fn child(connection: &mut Connection) -> &mut keytoll_ike::config::ChildConfig {
    connection.child.as_mut().unwrap()
}

fn conversation((i, r): (Config, Config), seed: u64, drawn: bool, crypto: impl Fn() -> Box<dyn Crypto>) {
    let mut rng = Rng::named(seed, "script");
    let mut bench = Bench::with(i, r, crypto, seed);
    bench.ladder.silent = !drawn;
    (bench.ladder.clock, bench.ladder.loud) = (true, drawn);
    bench.keep_sent = false;
    bench.weather = Some(Weather {
        rng: Rng::named(seed, "weather"),
        loss: LOSS,
        duplication: 0.2,
        corruption: 0.0,
        latency_max: Duration::from_millis(1 + rng.below(3000)),
    });
    bench.initiate();
    storm::rage(&mut bench, &mut rng, |_, _| {});
    storm::calm(&mut bench, storm::CALM);
    assert_eq!(bench.disagreement_of_books(), None, "after the storm");
    storm::assert_named(&mut bench, &["timeout", "AUTHENTICATION_FAILED"]);
    storm::close(&mut bench);
}
