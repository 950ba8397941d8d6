//! Both sides with each other; what is refused; thousands of epochs with clocks that differ.

use std::collections::BTreeMap;

use keytoll_crypto::{Metered, Null, Provider, Real};
use keytoll_crypto_api::Rng;
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Crypto, Ctx, Time};
use proptest::prelude::*;

use super::*;
use crate::cipher::{Refused, key_id, wep};
use crate::shared_key::{Failure, message, refusal};

const STATION: MacAddr = [2, 0, 0, 0, 0, 1];
const ACCESS_POINT: MacAddr = [2, 0, 0, 0, 0, 2];

fn parameters(key: &[u8]) -> Parameters {
    Parameters {
        key: WepKey::new(key).unwrap(),
        station: STATION,
        access_point: ACCESS_POINT,
        hash: KeyHash::Sha1,
    }
}

fn cell(group: &[u8]) -> Cell {
    let (period_s, group) = (NonZeroU16::new(60).unwrap(), WepKey::new(group).unwrap());
    Cell { epoch: 4711, period_s, left_ms: 5_500, group }
}

fn rng(name: &str) -> Rng {
    Rng::named(1, name)
}

/// The clock and tracer of one side.
fn with<T>(crypto: &mut dyn Crypto, run: impl FnOnce(&mut Ctx<'_>) -> T) -> T {
    run(&mut Ctx { now: Time::ZERO, crypto, trace: &mut NoTrace })
}

/// Frames 1 to 3 between sides with these keys.
fn three_frames(
    station_key: &[u8],
    [station, access_point]: [&mut dyn Crypto; 2],
) -> Result<(station::AwaitingProof, access_point::AwaitingResponse, [Vec<u8>; 3]), Failure> {
    let (awaiting, request) = station::begin(parameters(station_key));
    let (responding, challenge) = with(access_point, |cx| {
        access_point::on_request(parameters(b"12345"), cell(b"group"), &request, &mut rng("ap"), cx)
    })?;
    let proving = with(station, |cx| awaiting.on_challenge(&challenge, &mut rng("station"), cx))?;
    let response = proving.response().to_vec();
    Ok((proving, responding, [request, challenge, response]))
}

fn counted(crypto: &Metered<Provider>) -> Vec<(&'static str, &'static str, String, u64)> {
    let rows = crypto.snapshot();
    rows.iter().map(|row| (row.phase.name(), row.operation, row.algorithm.to_string(), row.count)).collect()
}

fn providers() -> [Provider; 2] {
    [Provider::Real(Real::default()), Provider::Null(Null)]
}

/// Paper 001, table 4-2: WEP twice and SHA-1 once on each side.
#[test]
fn both_sides_are_authenticated_with_the_operations_of_the_paper() {
    for provider in 0..2 {
        let [mut station, mut access_point] =
            [0, 1].map(|_| Metered::count_only(providers().into_iter().nth(provider).unwrap()));
        let (proving, responding, frames) =
            three_frames(b"12345", [&mut station, &mut access_point]).unwrap();
        let (at_access_point, answered) =
            with(&mut access_point, |cx| responding.on_response(&frames[2], cx)).unwrap();
        let at_station = proving.on_proof(answered.result()).unwrap();
        assert_eq!(at_station.cell, at_access_point.cell);
        let lengths: Vec<_> = frames.iter().map(|frame| 24 + frame.len()).collect();
        assert_eq!((&lengths[..], 24 + answered.result().len()), (&[30, 168, 183][..], 45));
        let expected = [("rrkm", "hash", "sha1".to_owned(), 1), ("rrkm", "stream", "rc4".to_owned(), 2)];
        assert_eq!((counted(&station), counted(&access_point)), (expected.to_vec(), expected.to_vec()));
    }
}

#[test]
fn the_challenge_never_crosses_in_the_clear() {
    let [mut station, mut access_point] = [Real::default(), Real::default()];
    let (.., [_, challenge, response]) = three_frames(b"12345", [&mut station, &mut access_point]).unwrap();
    assert!([&challenge, &response].iter().all(|frame| !frame.windows(5).any(|five| five == b"RRKM1")));
    assert_ne!(challenge[8..11], response[..3], "the IVs of frames 2 and 3");
}

#[test]
fn a_station_with_another_key_cannot_read_the_challenge() {
    let failure = three_frames(b"54321", [&mut Real::default(), &mut Real::default()]).unwrap_err();
    assert_eq!((failure, failure.status().0), (Failure::Encryption(Refused::Icv), 15));
    let failure = three_frames(b"12345-of-13-b", [&mut Real::default(), &mut Real::default()]).unwrap_err();
    assert_eq!(failure, Failure::Encryption(Refused::Icv));
}

/// Opens frame 3, changes it, and seals it again.
fn changed(response: &[u8], change: impl FnOnce(&mut Vec<u8>), iv: Option<Iv>) -> Vec<u8> {
    let (key, crypto) = (parameters(b"12345").key, &mut Real::default());
    let mut body = response.to_vec();
    let old = wep::open(&key, &mut body, crypto).unwrap();
    change(&mut body);
    wep::seal(&key, iv.unwrap_or(old), 0, &mut body, crypto);
    body
}

#[test]
fn responses_that_prove_nothing_are_refused() {
    let check = |expected: Failure, change: &dyn Fn(&mut Vec<u8>), iv_of_challenge: bool| {
        let (mut station, mut access_point) = (Real::default(), Real::default());
        let (_, responding, [_, challenge, response]) =
            three_frames(b"12345", [&mut station, &mut access_point]).unwrap();
        let iv = iv_of_challenge.then(|| Iv(challenge[8..11].try_into().unwrap()));
        let wrong = changed(&response, change, iv);
        let failure = with(&mut access_point, |cx| responding.on_response(&wrong, cx)).unwrap_err();
        assert_eq!(failure, expected);
        assert!(with(&mut access_point, |cx| responding.on_response(&response, cx)).is_ok(), "it waits on");
    };
    check(Failure::Challenge, &|body| body[50] ^= 1, false);
    check(Failure::Signature, &|body| *body.last_mut().unwrap() ^= 1, false);
    check(Failure::Signature, &|body| body.truncate(6 + 130), false);
    check(Failure::RepeatedIv, &|_| (), true);
    check(Failure::Sequence, &|body| body[2] = 1, false);
    check(Failure::Algorithm, &|body| body[0] = 2, false);
}

/// What another IV than that of SIG comes with was not made for it.
#[test]
fn the_signature_is_bound_to_the_iv() {
    let (mut station, mut access_point) = (Real::default(), Real::default());
    let (_, responding, [.., response]) = three_frames(b"12345", [&mut station, &mut access_point]).unwrap();
    let wrong = changed(&response, |_| (), Some(Iv([9, 9, 9])));
    let failure = with(&mut access_point, |cx| responding.on_response(&wrong, cx)).unwrap_err();
    assert_eq!(failure, Failure::Signature);
}

#[test]
fn an_access_point_that_does_not_know_the_key_is_refused() {
    let (mut station, mut access_point) = (Real::default(), Real::default());
    let (proving, responding, [request, challenge, response]) =
        three_frames(b"12345", [&mut station, &mut access_point]).unwrap();
    let (_, answered) = with(&mut access_point, |cx| responding.on_response(&response, cx)).unwrap();
    let mut wrong = answered.result().to_vec();
    *wrong.last_mut().unwrap() ^= 1;
    let failure = proving.on_proof(&wrong).unwrap_err();
    assert_eq!(failure, Failure::Signature);
    let reflected = [&answered.result()[..11], &[0; 10]].concat();
    let failure = proving.on_proof(&reflected).unwrap_err();
    assert_eq!(failure, Failure::Signature);
    let failure = proving.on_proof(&refusal(ALGORITHM, 4, Failure::Timeout)).unwrap_err();
    assert_eq!((failure, failure.status().0), (Failure::Refused(Failure::Timeout.status()), 16));
    // Repeated frames get the same answers; others get none.
    assert_eq!(proving.on_repeated(&challenge), Some(&response[..]));
    assert_eq!(proving.on_repeated(&request), None);
    assert_eq!(answered.on_repeated(&response), Some(answered.result()));
    assert_eq!(answered.on_repeated(&response[1..]), None);
    assert!(proving.on_proof(answered.result()).is_ok());
}

#[test]
fn a_challenge_of_another_kind_is_refused() {
    let (awaiting, request) = station::begin(parameters(b"12345"));
    let ask = |body: &[u8]| {
        with(&mut Real::default(), |cx| awaiting.on_challenge(body, &mut rng("x"), cx).unwrap_err())
    };
    assert_eq!(ask(&request), Failure::Sequence);
    assert_eq!(ask(&message::write(ALGORITHM, 2, &[])), Failure::Challenge);
    for (octets, expected) in [
        (vec![7; 128], Failure::Challenge),
        (vec![7; 127], Failure::Encryption(Refused::TooShort)),
        ([&b"RRKM1"[..], &[1, 0, 0, 0, 60, 0, 2], &[0; 116]].concat(), Failure::Challenge),
    ] {
        let mut sealed = octets;
        wep::seal(&parameters(b"12345").key, Iv([1, 2, 3]), 0, &mut sealed, &mut Real::default());
        let element = crate::frame::Element { id: crate::frame::ElementId::CHALLENGE_TEXT, body: &sealed };
        assert_eq!(ask(&message::write(ALGORITHM, 2, &[element])), expected);
    }
}

fn rings(hash: KeyHash, epoch: u32) -> [KeyRing; 2] {
    let parameters = Parameters { hash, ..parameters(b"12345-of-13-b") };
    [1, 2].map(|n| KeyRing::pairwise(&parameters, epoch, Iv([n, 0, 0])))
}

fn sealed(ring: &mut KeyRing, crypto: &mut dyn Crypto) -> Vec<u8> {
    let mut body = b"frame".to_vec();
    ring.seal(&mut body, crypto);
    body
}

const SHA1_KEYS: [&str; 2] = ["caf52a0f125671dd554d874b09", "adc985c8e8bbe49519817bd0cf"];
const MD5_KEYS: [&str; 2] = ["7cb4fcf8f806c434831d2ef930", "165e641b1948e3b5907c2f41a1"];
const SIMPLE_KEYS: [&str; 2] = ["2e1928b582a5e34153c49eb70f", "7048d208c5feffe670811fd861"];
const GROUP_KEY: &str = "dfd421670d";

/// Computed independently of this crate, in Python.
#[test]
fn keys_as_a_second_reader_computed_them() {
    for (hash, expected) in
        [(KeyHash::Sha1, SHA1_KEYS), (KeyHash::Md5, MD5_KEYS), (KeyHash::Simple, SIMPLE_KEYS)]
    {
        let [mut ring, _] = rings(hash, 4711);
        for key in expected {
            ring.advance_to(ring.epoch() + 1, &mut Real::default()).unwrap();
            assert_eq!(ring.key()[..], crate::keys::tests::hex(key), "{hash:?}");
        }
        assert_eq!(KeyHash::named(hash.name()), Some(hash));
    }
    let mut group = KeyRing::group(KeyHash::Sha1, &cell(b"group"), Iv([1, 0, 0]));
    group.advance_to(4712, &mut Real::default()).unwrap();
    assert_eq!(group.key()[..], crate::keys::tests::hex(GROUP_KEY));
}

#[test]
fn frames_of_the_epochs_beside_are_opened_and_no_others() {
    let crypto = &mut Real::default();
    let [mut sender, mut receiver] = rings(KeyHash::Sha1, 7);
    receiver.advance_to(10, crypto).unwrap();
    for (epoch, expected) in [
        (7, Err(Refused::Icv)),
        (8, Err(Refused::KeyId)),
        (9, Ok(Window::Previous)),
        (10, Ok(Window::Current)),
        (11, Ok(Window::Next)),
        (13, Err(Refused::KeyId)),
    ] {
        sender.advance_to(epoch, crypto).unwrap();
        let mut body = sealed(&mut sender, crypto);
        assert_eq!(key_id(&body), Some((epoch % 4) as u8));
        assert_eq!(receiver.open(&mut body.clone(), crypto), expected, "epoch {epoch}");
        assert!(receiver.epoch() == 10 || epoch == 13, "it stays where it is");
        assert_eq!(receiver.open_and_follow(&mut body, crypto), expected, "epoch {epoch}");
        if expected.is_ok() {
            assert_eq!(body, b"frame");
        }
    }
    assert_eq!(receiver.epoch(), 11, "a frame of the next epoch advances the receiver");
    assert_eq!(receiver.open(&mut vec![0, 0, 0], crypto), Err(Refused::TooShort));
}

#[test]
fn forged_frames_of_the_next_epoch_cost_one_hash_and_advance_nothing() {
    let mut metered = Metered::count_only(Provider::Real(Real::default()));
    let [_, mut receiver] = rings(KeyHash::Sha1, 7);
    for _ in 0..100 {
        assert_eq!(receiver.open(&mut vec![0; 20], &mut metered), Err(Refused::Icv));
    }
    receiver.advance_to(8, &mut metered).unwrap();
    let hashes = counted(&metered).into_iter().find(|row| row.1 == "hash");
    assert_eq!(hashes, Some(("rekeying", "hash", "sha1".to_owned(), 1)));
}

#[test]
fn a_station_returns_after_a_week_and_not_later() {
    let crypto = &mut Real::default();
    let [mut station, mut access_point] = rings(KeyHash::Simple, 0);
    (1..=10_081).for_each(|epoch| access_point.advance_to(epoch, crypto).unwrap());
    assert_eq!(station.advance_to(10_081, crypto), Err(MissedTooMany { epochs: 10_081 }));
    assert_eq!(station.epoch(), 0);
    station.advance_to(1, crypto).unwrap();
    station.advance_to(10_081, crypto).unwrap();
    assert_eq!(access_point.open(&mut sealed(&mut station, crypto), crypto), Ok(Window::Current));
    station.advance_to(5, crypto).unwrap();
    assert_eq!(station.epoch(), 10_081, "back it never goes");
}

/// A station whose clock stands still follows the frames it hears.
#[test]
fn without_a_clock_the_frames_of_the_other_side_advance_it() {
    let crypto = &mut Real::default();
    let [mut access_point, mut station] = rings(KeyHash::Md5, 0);
    for epoch in 1..2000 {
        access_point.advance_to(epoch, crypto).unwrap();
        assert_eq!(station.open_and_follow(&mut sealed(&mut access_point, crypto), crypto), Ok(Window::Next));
        assert_eq!(access_point.open(&mut sealed(&mut station, crypto), crypto), Ok(Window::Current));
    }
}

/// A day of 1440 periods: as many hashes on each side, and none for the traffic.
#[test]
fn one_hash_for_each_period_and_side() {
    let mut metered = [0, 1].map(|_| Metered::count_only(Provider::Null(Null)));
    let mut rings = rings(KeyHash::Sha1, 0);
    for epoch in 1..=1440 {
        for side in 0..2 {
            rings[side].advance_to(epoch, &mut metered[side]).unwrap();
            let mut body = sealed(&mut rings[side], &mut metered[side]);
            rings[1 - side].open(&mut body, &mut metered[1 - side]).unwrap();
        }
    }
    for metered in metered {
        let expected =
            [("rekeying", "hash", "sha1".to_owned(), 1440), ("traffic", "stream", "rc4".to_owned(), 2880)];
        assert_eq!(counted(&metered), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// 3000 epochs with traffic in both directions. The clocks differ by an offset, drift apart and jitter, and frames take their
    /// time, all together less than a period: no frame is lost.
    #[test]
    fn no_frame_is_lost_at_a_boundary(
        offset_us in -300_000_i64..300_000, drift_ppm in -100_i64..100, jitter_us in 0_u64..100_000,
        delay_us in 0_u64..300_000, seed: u64,
    ) {
        let (mut rng, crypto) = (Rng::named(seed, "air"), &mut Real::default());
        let mut rings = rings(KeyHash::Simple, 1);
        // A beacon corrects the station's clock every hundred periods.
        let reads = |side: usize, now: u64, jitter: u64| {
            let drifted = offset_us + drift_ppm * (now % 100_000_000) as i64 / 1_000_000;
            let off = if side == 0 { 0 } else { drifted };
            ((now.saturating_add_signed(off) + jitter) / 1_000_000) as u32
        };
        let mut on_the_air: BTreeMap<(u64, u64), (usize, Vec<u8>)> = BTreeMap::new();
        let (mut now, mut number) = (2_000_000, 0);
        while now < 3_000_000_000 {
            let arrives = on_the_air.first_key_value().map_or(u64::MAX, |(at, _)| at.0);
            let sends = now + rng.below(400_000);
            now = sends.min(arrives);
            for (side, ring) in rings.iter_mut().enumerate() {
                ring.advance_to(reads(side, now, rng.below(jitter_us)), crypto).unwrap();
            }
            if now == arrives {
                let (_, (side, mut body)) = on_the_air.pop_first().unwrap();
                prop_assert!(rings[side].open(&mut body, crypto).is_ok(), "at {now} µs");
                prop_assert_eq!(&body[..], b"frame");
            } else {
                let side = (number % 2) as usize;
                number += 1;
                let body = sealed(&mut rings[side], crypto);
                on_the_air.insert((now + rng.below(delay_us), number), (1 - side, body));
            }
        }
        prop_assert!(number > 5_000);
        let apart = rings[0].epoch().abs_diff(rings[1].epoch());
        prop_assert!(apart <= 1, "{apart} epochs apart");
    }

    #[test]
    fn no_octets_from_the_air_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let crypto = &mut Real::default();
        let (awaiting, _) = station::begin(parameters(b"12345"));
        let failed = with(crypto, |cx| awaiting.on_challenge(&body, &mut rng("x"), cx).is_err());
        prop_assert!(failed);
        let (proving, responding, _) = three_frames(b"12345", [&mut Real::default(), &mut Real::default()]).unwrap();
        prop_assert!(proving.on_proof(&body).is_err());
        prop_assert!(with(crypto, |cx| responding.on_response(&body, cx).is_err()));
        let [mut ring, _] = rings(KeyHash::Sha1, 3);
        prop_assert!(ring.open(&mut body.clone(), crypto).is_err());
    }
}
