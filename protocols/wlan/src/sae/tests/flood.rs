//! Many commits from invented addresses.

use super::*;

fn address(number: u32) -> MacAddr {
    let [a, b, c, d] = number.to_be_bytes();
    [0x06, 0, a, b, c, d]
}

/// A commit as strangers send it: valid, and the same for all.
fn commit() -> Message {
    let mut world = World::new(real());
    world.begin(0, H2E);
    world.next()
}

#[test]
fn above_the_threshold_a_token_is_asked_for_and_nothing_is_kept() {
    let (mut world, commit) = (World::new(real()), commit());
    let threshold = Limits::default().anti_clogging_threshold;
    let (mut answered, mut asked) = (0, 0);
    for number in 0..1000 {
        let outputs = world.on(1, |sae, cx| sae.on_commit(address(number), commit.status, &commit.body, cx));
        match &outputs.unwrap()[..] {
            [Output::Send(message)] if message.status == StatusCode::ANTI_CLOGGING_TOKEN_REQUIRED => {
                asked += 1;
            }
            [Output::Send(_)] => answered += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((answered, asked), (threshold, 1000 - threshold));
    assert_eq!(world.sides[1].sae.open_count(), threshold);
    // Whoever is there gets in by returning its token.
    world.begin(0, H2E);
    world.settle();
    assert!(world.agreed(), "{}", world.ladder);
    assert_eq!(
        world.ladder,
        "s -> a Commit, a -> s status 76, s -> a Commit, a -> s Commit, s -> a Confirm 1, a -> s Confirm 1, "
    );
    // The instances of strangers end by themselves.
    while world.wait() {}
    assert_eq!(world.sides[1].sae.open_count(), 0);
}

/// What an access point computes for a thousand commits of strangers, each from an address of its own, by the counts of the meter.
fn computed_for_a_flood(threshold: usize) -> Vec<(&'static str, String, u64)> {
    let (commit, mut meter) = (commit(), Metered::count_only(real()));
    let mut config = config(ACCESS_POINT, true, &mut Real::default());
    config.limits.anti_clogging_threshold = threshold;
    let mut sae = Sae::new(config, Rng::named(1, "ap"));
    for number in 0..1000 {
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut meter, trace: &mut NoTrace };
        let _ = sae.on_commit(address(number), commit.status, &commit.body, &mut cx);
    }
    let rows = meter.snapshot();
    rows.iter().map(|row| (row.operation, row.algorithm.to_string(), row.count)).collect()
}

/// Without tokens a stranger has the access point compute with the curve until its table is full; with tokens it has it compute an
/// HMAC for each commit.
#[test]
fn what_a_flood_of_commits_costs_is_counted() {
    let for_each_answered = [
        ("prf", "prfsha256", 4),
        ("ec-multiply", "ecp256", 4),
        ("ec-add", "ecp256", 1),
        ("ec-invert", "ecp256", 1),
        ("ec-check", "ecp256", 1),
        ("ec-add-scalars", "ecp256", 3),
        ("ec-scalar", "ecp256", 1),
    ];
    let answered = |count: u64| for_each_answered.map(|(name, of, each)| (name, of.to_owned(), each * count));
    let Limits { anti_clogging_threshold, open_max, .. } = Limits::default();
    assert_eq!(computed_for_a_flood(usize::MAX), answered(open_max as u64));
    let mut expected = answered(anti_clogging_threshold as u64);
    expected[0].2 += 1000 - anti_clogging_threshold as u64;
    assert_eq!(computed_for_a_flood(anti_clogging_threshold), expected);
    assert_eq!(computed_for_a_flood(0), [("prf", "prfsha256".to_owned(), 1000)]);
}

#[test]
fn tokens_work_with_hunting_and_pecking_too() {
    let mut world = World::with(real(), |_, access_point| access_point.limits.anti_clogging_threshold = 0);
    world.begin(0, HNP);
    world.settle();
    assert!(world.agreed(), "{}", world.ladder);
}

#[test]
fn a_token_is_good_for_one_address_and_the_table_has_a_limit() {
    let (mut world, commit) = (World::new(real()), commit());
    world.sides[1].sae = {
        let mut config = config(ACCESS_POINT, true, &mut Real::default());
        config.limits.anti_clogging_threshold = 0;
        Sae::new(config, Rng::named(1, "ap"))
    };
    let read = Commit::read(H2E, &commit.body).unwrap();
    let token = |world: &mut World, number| {
        let outputs = world.on(1, |sae, cx| sae.on_commit(address(number), commit.status, &commit.body, cx));
        let Ok([Output::Send(request)]) = outputs.as_deref() else { panic!("{outputs:?}") };
        wire::TokenRequest::read(H2E, &request.body).unwrap().token.to_vec()
    };
    let other = token(&mut world, 0);
    let mut taken = 0;
    for number in 1..200 {
        let mut send = |token: &[u8]| {
            let body = Commit { token: Some(token), ..read }.to_bytes(H2E);
            world.on(1, |sae, cx| sae.on_commit(address(number), commit.status, &body, cx))
        };
        let open_max = Limits::default().open_max;
        if taken < open_max {
            assert_eq!(send(&other).unwrap_err().why, Why::Token);
            let own = token(&mut world, number);
            let body = Commit { token: Some(&own), ..read }.to_bytes(H2E);
            let answer = world.on(1, |sae, cx| sae.on_commit(address(number), commit.status, &body, cx));
            assert!(answer.is_ok());
            taken += 1;
        } else {
            assert_eq!(send(&other).unwrap_err().why, Why::Full);
        }
        assert_eq!(world.sides[1].sae.open_count(), taken);
    }
}

#[test]
fn of_many_accepted_only_so_many_are_remembered() {
    let mut world = World::with(null(), |_, access_point| access_point.limits.accepted_max = 8);
    for number in 0..50 {
        let mut station = config(address(number), false, &mut Null);
        station.limits.accepted_for = Duration::ZERO;
        world.sides[0] = Side {
            sae: Sae::new(station, Rng::named(u64::from(number), "station")),
            address: address(number),
            reported: Reported::default(),
        };
        world.begin(0, H2E);
        world.settle();
        assert!(world.agreed());
        assert!(world.sides[1].sae.accepted_count() <= 8);
    }
}
