//! Authentications as one would draw them.

use super::*;

fn check(world: &World, expected: &str) {
    assert_eq!(world.ladder.trim_end_matches(", "), expected);
}

const USUAL: &str = "s -> a Commit, a -> s Commit, s -> a Confirm 1, a -> s Confirm 1";

#[test]
fn four_frames_make_a_key() {
    for crypto in [real, null] {
        for method in [HNP, H2E] {
            let mut world = World::new(crypto());
            world.begin(0, method);
            world.settle();
            check(&world, USUAL);
            assert!(world.agreed());
            assert_eq!(world.sides[0].reported.accepted[0].0.len(), 32);
            assert_eq!(world.sides.each_ref().map(|side| side.sae.open_count()), [0, 0]);
        }
    }
}

#[test]
fn two_that_begin_at_once_agree() {
    for method in [HNP, H2E] {
        let mut world = World::new(real());
        world.begin(0, method);
        world.begin(1, method);
        world.settle();
        check(&world, "s -> a Commit, a -> s Commit, a -> s Confirm 1, s -> a Confirm 1");
        assert!(world.agreed());
    }
}

#[test]
fn of_two_groups_that_of_the_greater_address_is_used() {
    let mut world = World::with(real(), |station, access_point| {
        station.answers = true;
        access_point.groups = vec![Curve::P384, Curve::P256];
    });
    world.begin(0, H2E);
    world.begin(1, H2E);
    world.settle();
    assert!(world.agreed(), "{}", world.ladder);
    assert!(world.sides.iter().all(|side| side.sae.accepted_count() == 1));
}

#[test]
fn a_group_that_is_refused_is_reported_with_the_next() {
    for (method, rejected) in [(H2E, &[19, 0][..]), (HNP, &[])] {
        let mut world = World::with(real(), |_, access_point| access_point.groups = vec![Curve::P384]);
        world.begin(0, method);
        let first = world.next();
        world.deliver(1, &first);
        let refusal = world.next();
        assert_eq!(
            (refusal.status, &refusal.body[..]),
            (StatusCode::UNSUPPORTED_FINITE_CYCLIC_GROUP, &[19, 0][..])
        );
        world.deliver(0, &refusal);
        let second = world.next();
        assert_eq!(Commit::read(method, &second.body).unwrap().rejected_groups, rejected);
        world.deliver(1, &second);
        world.settle();
        assert!(world.agreed());
        // The late refusal of the first group is not one of the second.
        world.deliver(0, &refusal);
        assert_eq!(world.sides[0].reported.discarded, [Why::Unexpected]);
    }
}

#[test]
fn no_group_in_common_is_a_failure_of_its_own() {
    let mut world = World::with(real(), |station, access_point| {
        station.groups = vec![Curve::P256];
        access_point.groups = vec![Curve::P384];
    });
    world.begin(0, H2E);
    world.settle();
    assert_eq!(world.sides[0].reported.failed, [Failure::NoGroup]);
    assert_eq!(world.sides[1].reported.discarded, [Why::Group(19)]);
    assert_eq!(world.sides[1].sae.open_count(), 0);
}

#[test]
fn passwords_are_chosen_by_their_identifier() {
    let of = |password: &[u8], identifier: &[u8], crypto: &mut dyn Crypto| {
        Password::of_network(b"keytoll", password, Some(identifier), &[Curve::P256], crypto)
    };
    for (station_has, accepted) in [(b"guest", true), (b"other", false)] {
        let crypto = &mut Real::default();
        let mut world = World::with(real(), |station, access_point| {
            station.passwords = vec![of(b"for guests", station_has, crypto)];
            access_point.passwords.push(of(b"for guests", b"guest", crypto));
        });
        world.begin(0, H2E);
        world.settle();
        assert_eq!(world.agreed(), accepted);
        if !accepted {
            check(&world, "s -> a Commit, a -> s status 123");
            while world.wait() {
                world.settle();
            }
            assert_eq!(
                world.sides[0].reported.failed,
                [Failure::Refused(StatusCode::UNKNOWN_PASSWORD_IDENTIFIER)]
            );
        }
    }
}

#[test]
fn a_wrong_password_ends_with_that_suspicion_on_both_sides() {
    for method in [HNP, H2E] {
        let mut world = World::with(real(), |station, _| {
            let wrong =
                Password::of_network(b"keytoll", b"wrong", None, &[Curve::P256], &mut Real::default());
            station.passwords = vec![wrong];
        });
        world.begin(0, method);
        while !world.air.is_empty() || world.wait() {
            world.settle();
        }
        let [station, access_point] = &world.sides;
        assert_eq!(access_point.reported.failed, [Failure::WrongConfirm]);
        assert_eq!(station.reported.failed, [Failure::NoAnswer]);
        assert_eq!(station.sae.open_count() + access_point.sae.open_count(), 0);
    }
}

#[test]
fn what_is_lost_is_sent_again() {
    let mut world = World::new(real());
    world.begin(0, H2E);
    world.next();
    world.wait();
    // The commit again; its answer is lost.
    world.settle_but(1);
    world.wait();
    let again = world.next();
    world.deliver(1, &again);
    world.settle_but(1);
    assert_eq!(world.now, Time::ZERO + Duration::from_millis(120));
    world.settle();
    assert!(!world.agreed(), "the access point's confirm was lost");
    world.wait();
    world.settle();
    assert!(world.agreed());
    check(
        &world,
        "s -> a Commit, s -> a Commit, a -> s Commit, s -> a Confirm 1, s -> a Confirm 2, a -> s Confirm 65535",
    );
}

/// As hostapd does on a slow machine, for which our commit comes twice: what it says once more is no reason to begin anew.
#[test]
fn a_slow_access_point_that_answers_twice_is_answered_once() {
    let mut world = World::new(real());
    world.begin(0, H2E);
    let first = world.next();
    world.wait();
    let second = world.next();
    world.deliver(1, &first);
    world.deliver(1, &second);
    world.settle();
    assert!(world.agreed());
    assert_eq!(world.sides[0].reported.discarded, [Why::Repeated]);
    check(
        &world,
        "s -> a Commit, s -> a Commit, a -> s Commit, a -> s Commit, s -> a Confirm 1, a -> s Confirm 1",
    );
}

impl World {
    /// Delivers what is in flight, of which the last frames sent by the access point are lost.
    fn settle_but(&mut self, lost: usize) {
        while let Some((to, message)) = self.air.pop_front() {
            self.deliver(to, &message);
            if to == 1 {
                for _ in 0..lost {
                    self.air.pop_back();
                }
                return;
            }
        }
    }
}

#[test]
fn silence_is_a_failure_after_five_repetitions() {
    let mut world = World::new(null());
    world.begin(0, H2E);
    let mut sent = 0;
    while world.wait() {
        sent += world.air.len();
        world.air.clear();
    }
    assert_eq!(world.sides[0].reported.failed, [Failure::NoAnswer]);
    assert_eq!((sent, world.now), (6, Time::ZERO + Duration::from_millis(2520)));
}

#[test]
fn an_accepted_station_may_begin_again_and_gets_another_key() {
    let mut world = World::new(real());
    for round in 1..=2 {
        world.begin(0, H2E);
        world.settle();
        assert!(world.agreed());
        assert_eq!(world.sides[1].sae.accepted_count(), 1);
        assert_eq!(world.sides[1].reported.accepted.len(), round);
    }
    let keys = &world.sides[1].reported.accepted;
    assert_ne!(keys[0], keys[1]);
    while world.wait() {}
    assert_eq!(world.sides.each_ref().map(|side| side.sae.accepted_count()), [0, 0]);
}
