//! Long conversations over a bad network: messages are lost, duplicated, reordered, damaged, both owners rekey and close SAs,
//! and sometimes one of them loses its state.
//!
//! A DELETE is not confirmed (RFC 2408 §5.15), so one side may keep an SA that the other one has closed, until it probes the
//! peer, or until the lifetime ends. Then both hold the same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::{Crypto, Rng};
use keytoll_ike::config::{Config, Phase1, Reauthenticate, V1, Version};

use super::configs::{certificates, psk, raw_keys};
use crate::support::lab::{both, brisk, esp, ike, seconds};
use crate::support::{Bench, Side, Weather, storm};

const SEEDS: u64 = 4000;
const REAL_SEEDS: u64 = 100;
const LOSS: f64 = 0.25;
const RENEWAL_SEEDS: u64 = 8000;
/// All retransmissions, and as long as a replaced SA receives, which is as long again.
const SOON: Duration = seconds(350);
const LIFETIME: Duration = seconds(900);
const CHILD_LIFETIME: Duration = seconds(500);
/// Both lifetimes, the responder's grace, and the last retransmissions.
const CALM: Duration = seconds(2000);
/// Longer than a replaced child is kept: as long as the peer may ask for the last message of quick mode.
const REPLACED: Duration = seconds(180);

/// A message is sent once, retransmitted by its timer, and again on demand.
const SENDINGS_MAX: usize = 1 + 5 + 16;

/// Why an authentication may fail: timeouts, or damage, which phase 1 cannot distinguish from an attack.
const FAILURES: [&str; 10] = [
    "timeout",
    "AUTHENTICATION_FAILED",
    "NO_PROPOSAL_CHOSEN",
    "PAYLOAD_MALFORMED",
    "INVALID_SYNTAX",
    "INVALID_ID_INFORMATION",
    "INVALID_CERTIFICATE",
    "certificate",
    "unexpected identity",
    // The peer has lost its state meanwhile.
    "replaced",
];

#[test]
fn both_have_the_same_after_the_storm() {
    storm::for_each_seed("v1::storm::both_have_the_same_after_the_storm", SEEDS, |seed, drawn| {
        let phase1 = if seed % 2 == 0 { Phase1::Main } else { Phase1::Aggressive };
        conversation(psk(phase1), seed, drawn, 0.0, || Box::new(Null));
    });
}

#[test]
fn both_have_the_same_after_damage() {
    storm::for_each_seed("v1::storm::both_have_the_same_after_damage", REAL_SEEDS, |seed, drawn| {
        let phase1 = if seed % 2 == 0 { Phase1::Main } else { Phase1::Aggressive };
        let base = match seed % 8 {
            0 | 1 => certificates(phase1),
            2 | 3 => raw_keys(phase1),
            _ => psk(phase1),
        };
        let base = both(base, |connection| connection.suites = ike("aes128-sha256-ecp256"));
        conversation(base, seed, drawn, 0.02, || Box::new(Real::default()));
    });
}

/// Both rekey again and again, often at once, and do nothing else: whatever is lost or delayed, soon afterwards both have the
/// same one child, long before any lifetime could have repaired it.
#[test]
fn one_child_is_left_of_those_that_both_rekey_in_the_storm() {
    let given_up = AtomicU64::new(0);
    let test = "v1::storm::one_child_is_left_of_those_that_both_rekey_in_the_storm";
    storm::for_each_seed(test, RENEWAL_SEEDS, |seed, drawn| {
        let mut rng = Rng::named(seed, "script");
        let mut bench = Bench::null(psk(Phase1::Main), seed);
        (bench.ladder.silent, bench.ladder.clock, bench.ladder.loud) = (!drawn, true, drawn);
        let mut bench = bench.established();
        let rng_of_weather = Rng::named(seed, "weather");
        let latency_max = Duration::from_millis(1 + rng.below(3000));
        bench.weather =
            Some(Weather { rng: rng_of_weather, loss: LOSS, duplication: 0.2, corruption: 0.0, latency_max });
        storm::renew(&mut bench, &mut rng);
        storm::clear(&mut bench);
        bench.run_for(SOON);
        // An exchange of which all retransmissions were lost leaves the two with what each of them knows.
        if Side::BOTH
            .iter()
            .any(|side| !bench.refusals(*side).is_empty() || !bench.closures(*side).is_empty())
        {
            given_up.fetch_add(1, Ordering::Relaxed);
            return;
        }
        assert_eq!(bench.disagreement(), None, "{}", bench.ladder);
        assert_eq!(bench.i.books.all_children().len(), 1, "one child is left");
    });
    let given_up = given_up.into_inner();
    assert!(given_up * 50 < RENEWAL_SEEDS, "exchanges that nobody finished in {given_up} of {RENEWAL_SEEDS}");
}

/// Random variations of everything that affects the messages.
fn configs(rng: &mut Rng, base: (Config, Config)) -> (Config, Config) {
    let mut maybe = |probability| rng.chance(probability);
    let (pfs, transport, rekeys) = (maybe(0.3), maybe(0.2), maybe(0.5));
    let (mut i, mut r) = both(base, |connection| {
        let Version::V1(wishes) = connection.version else { unreachable!("they speak IKEv1") };
        connection.version = Version::V1(V1 { lifetime: LIFETIME, child_lifetime: CHILD_LIFETIME, ..wishes });
        // Without it, a side that missed the end of the other would notice only by the lifetime.
        connection.liveness_after = Some(seconds(60));
        connection.rekey_after = rekeys.then_some(seconds(150));
        let child = connection.child.as_mut().unwrap();
        child.rekey_after = rekeys.then_some(seconds(80));
        if pfs {
            child.suites = esp("aes128-sha256-ecp256");
        }
        if transport {
            child.mode = keytoll_ike::config::Mode::Transport;
        }
    });
    if maybe(0.3) {
        i.connections[0].reauthenticate = Reauthenticate::OnDemand;
    }
    if maybe(0.5) {
        i.retransmission = brisk();
    }
    if maybe(0.5) {
        r.retransmission = brisk();
    }
    (i, r)
}

fn conversation(
    base: (Config, Config),
    seed: u64,
    drawn: bool,
    corruption: f64,
    crypto: impl Fn() -> Box<dyn Crypto>,
) {
    let mut rng = Rng::named(seed, "script");
    let (i, r) = configs(&mut Rng::named(seed, "configs"), base);
    let mut bench = Bench::with(i.clone(), r.clone(), crypto, seed);
    bench.ladder.silent = !drawn;
    (bench.ladder.clock, bench.ladder.loud) = (true, drawn);
    bench.weather = Some(Weather {
        rng: Rng::named(seed, "weather"),
        loss: LOSS,
        duplication: 0.2,
        corruption,
        latency_max: Duration::from_millis(1 + rng.below(3000)),
    });
    bench.initiate();
    let mut restarts = 0;
    storm::rage(&mut bench, &mut rng, |bench, rng| {
        if rng.chance(0.05) {
            restarts += 1;
            let side = if rng.chance(0.5) { Side::I } else { Side::R };
            let config = if side == Side::I { i.clone() } else { r.clone() };
            bench.restart(side, config, seed + (restarts << 32));
        }
    });
    storm::calm(&mut bench, CALM);
    // A side that does not hear the other one on a new child keeps the old one for all retransmissions.
    let agree = |bench: &mut Bench| bench.disagreement_of_books().is_none();
    let in_the_end = (0..REPLACED.as_secs()).any(|_| {
        agree(&mut bench) || {
            bench.run_for(seconds(1));
            false
        }
    });
    assert!(in_the_end, "after the storm: {:?}", bench.disagreement_of_books());
    storm::assert_named(&mut bench, &FAILURES);
    assert_repetitions_end(&bench);
    storm::close(&mut bench);
}

fn assert_repetitions_end(bench: &Bench) {
    let mut sendings: BTreeMap<&[u8], usize> = BTreeMap::new();
    bench.sent.iter().for_each(|(_, datagram)| *sendings.entry(&datagram.bytes).or_default() += 1);
    let most = sendings.values().max().copied().unwrap_or(0);
    assert!(most <= SENDINGS_MAX, "a message was sent {most} times");
}
