//! What SAE costs an access point: a commit of a stranger with and without tokens, and a whole authentication beside its
//! primitives alone. `cargo bench -p keytoll-wlan --bench sae`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::algorithm::{Curve, Prf};
use keytoll_crypto_api::{Crypto, OnCurve, Rng};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Time};
use keytoll_wlan::MacAddr;
use keytoll_wlan::sae::{Config, Limits, Message, Method, Output, Password, Sae, Transaction};

const STATION: MacAddr = [2, 0, 0, 0, 0, 1];
const ACCESS_POINT: MacAddr = [2, 0, 0, 0, 0, 2];
const METHODS: [Method; 2] = [Method::HuntingAndPecking, Method::HashToElement];

fn main() {
    divan::main();
}

fn sae(address: MacAddr, threshold: usize, crypto: &mut dyn Crypto) -> Sae {
    let groups = vec![Curve::P256];
    let passwords = vec![Password::of_network(b"keytoll", b"a password", None, &groups, crypto)];
    let limits = Limits { anti_clogging_threshold: threshold, ..Limits::default() };
    let answers = address == ACCESS_POINT;
    let config = Config { address, answers, passwords, methods: METHODS.to_vec(), groups, limits };
    Sae::new(config, Rng::named(1, if answers { "access point" } else { "station" }))
}

fn sent(outputs: Vec<Output>) -> Message {
    match outputs.into_iter().next() {
        Some(Output::Send(message)) => message,
        other => panic!("a frame is sent, not {other:?}"),
    }
}

/// The first commit of a station.
fn commit(method: Method) -> Message {
    let crypto = &mut Real::default();
    let mut station = sae(STATION, 0, crypto);
    let mut cx = Ctx { now: Time::ZERO, crypto, trace: &mut NoTrace };
    sent(station.begin(ACCESS_POINT, method, &mut cx).expect("the station begins"))
}

/// Commits of ever new addresses, which all are answered.
#[divan::bench(args = METHODS)]
fn commit_without_tokens(bencher: Bencher<'_, '_>, method: Method) {
    flood(bencher, method, usize::MAX, &mut Real::default());
}

/// Commits of ever new addresses, which all are asked for a token.
#[divan::bench(args = METHODS)]
fn commit_with_tokens(bencher: Bencher<'_, '_>, method: Method) {
    flood(bencher, method, 0, &mut Real::default());
}

/// The same without cryptography: what is left is the state machine.
#[divan::bench(args = METHODS)]
fn commit_without_tokens_null(bencher: Bencher<'_, '_>, method: Method) {
    flood(bencher, method, usize::MAX, &mut Null);
}

fn flood(bencher: Bencher<'_, '_>, method: Method, threshold: usize, crypto: &mut dyn Crypto) {
    let commit = commit(method);
    let mut access_point = sae(ACCESS_POINT, threshold, crypto);
    let mut number = 0_u32;
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        number = number.wrapping_add(1);
        let [a, b, c, d] = number.to_be_bytes();
        let from = [6, 0, a, b, c, d];
        let mut cx = Ctx { now: Time::ZERO, crypto, trace: &mut NoTrace };
        let answer = access_point.on_commit(from, commit.status, black_box(&commit.body), &mut cx);
        access_point.forget(from);
        assert!(answer.is_ok(), "every commit has an answer");
    });
}

/// Both sides of an authentication.
#[divan::bench(args = METHODS)]
fn authentication(bencher: Bencher<'_, '_>, method: Method) {
    authenticate(bencher, method, &mut Real::default());
}

/// The same without cryptography.
#[divan::bench(args = METHODS)]
fn authentication_null(bencher: Bencher<'_, '_>, method: Method) {
    authenticate(bencher, method, &mut Null);
}

fn authenticate(bencher: Bencher<'_, '_>, method: Method, crypto: &mut dyn Crypto) {
    let (mut station, mut access_point) =
        (sae(STATION, usize::MAX, crypto), sae(ACCESS_POINT, usize::MAX, crypto));
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        let mut cx = Ctx { now: Time::ZERO, crypto, trace: &mut NoTrace };
        let mut message = sent(station.begin(ACCESS_POINT, method, &mut cx).expect("the station begins"));
        for to_access_point in [true, false, true, false] {
            let (sae, from) =
                if to_access_point { (&mut access_point, STATION) } else { (&mut station, ACCESS_POINT) };
            let outputs = match message.transaction {
                Transaction::Commit => sae.on_commit(from, message.status, &message.body, &mut cx),
                Transaction::Confirm => sae.on_confirm(from, message.status, &message.body, &mut cx),
            };
            let outputs = outputs.expect("the frame is taken");
            match outputs.into_iter().next() {
                Some(Output::Send(next)) => message = next,
                Some(Output::Accepted { pmk, .. }) => _ = black_box(pmk),
                other => panic!("{other:?}"),
            }
        }
        station.forget(ACCESS_POINT);
        access_point.forget(STATION);
    });
}

/// The operations of both sides of an authentication, and nothing else.
#[divan::bench(args = METHODS)]
fn primitives(bencher: Bencher<'_, '_>, method: Method) {
    let (crypto, curve) = (&mut Real::default(), Curve::P256);
    let element = crypto.on_curve(curve, OnCurve::Map(&[1; 48])).expect("every number is mapped");
    let other = crypto.on_curve(curve, OnCurve::Map(&[2; 48])).expect("every number is mapped");
    let (scalar, blinding) = ([0x35; 32], [0x7a; 33]);
    let x = &element[..32];
    bencher.counter(ItemsCount::new(1_usize)).bench_local(|| {
        for _side in 0..2 {
            let mut on = |operation| crypto.on_curve(curve, black_box(operation));
            match method {
                Method::HuntingAndPecking => {
                    (0..40).for_each(|_| _ = black_box(on(OnCurve::Test { x, blinding: &blinding })));
                    _ = black_box(on(OnCurve::Solve { x, is_odd: true }));
                }
                Method::HashToElement => {
                    _ = black_box(on(OnCurve::Scalar(&scalar)));
                    _ = black_box(on(OnCurve::Multiply { element: &element, scalar: &scalar }));
                }
            }
            for operation in [
                OnCurve::AddScalars(&scalar, &scalar),
                OnCurve::Multiply { element: &element, scalar: &scalar },
                OnCurve::Invert(&element),
                OnCurve::AddScalars(&scalar, &scalar),
                OnCurve::Check(&element),
                OnCurve::AddScalars(&scalar, &scalar),
                OnCurve::Multiply { element: &element, scalar: &scalar },
                OnCurve::Add(&element, &other),
                OnCurve::Multiply { element: &element, scalar: &scalar },
            ] {
                _ = black_box(on(operation));
            }
            let short = if method == Method::HuntingAndPecking { 80 } else { 1 };
            for _ in 0..short + 3 {
                _ = black_box(crypto.prf(Prf::HmacSha256, &scalar, &[black_box(&element)]));
            }
            for _ in 0..2 {
                _ = black_box(crypto.prf(
                    Prf::HmacSha256,
                    &scalar,
                    &[&element, &element, black_box(&element)],
                ));
            }
        }
    });
}
