//! What strangers send: reflections, invalid elements, replays, forged statuses, noise.

use proptest::prelude::*;

use super::*;

/// A station's commit on its way to an access point.
fn committed(method: Method) -> (World, Message) {
    let mut world = World::new(real());
    world.begin(0, method);
    let commit = world.next();
    (world, commit)
}

fn discarded(world: &World, side: usize) -> Why {
    *world.sides[side].reported.discarded.last().unwrap()
}

#[test]
fn a_reflected_commit_is_discarded() {
    let (mut world, commit) = committed(H2E);
    world.deliver(0, &commit);
    assert_eq!(discarded(&world, 0), Why::Reflected);
    world.deliver(1, &commit);
    world.settle();
    assert!(world.agreed(), "nothing was lost by it");
}

#[test]
fn invalid_scalars_and_elements_are_discarded_before_anything_is_kept() {
    let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let order = testing::hex(order);
    let one = [&[0; 31][..], &[1]].concat();
    let scalars: [&[u8]; 4] = [&[0; 32], &one, &order, &[0xff; 32]];
    let check = |change: &dyn Fn(&mut Vec<u8>)| {
        for method in [HNP, H2E] {
            let (mut world, mut commit) = committed(method);
            let good = commit.clone();
            change(&mut commit.body);
            world.deliver(1, &commit);
            assert_eq!((discarded(&world, 1), world.sides[1].sae.open_count()), (Why::Invalid, 0));
            // The station too discards an invalid answer, and takes the valid one.
            world.deliver(1, &good);
            let answer = world.next();
            let mut wrong = answer.clone();
            change(&mut wrong.body);
            world.deliver(0, &wrong);
            assert_eq!(discarded(&world, 0), Why::Invalid);
            world.deliver(0, &answer);
            world.settle();
            assert!(world.agreed());
        }
    };
    for scalar in scalars {
        check(&|body| body[2..34].copy_from_slice(scalar));
    }
    check(&|body| body[97] ^= 1);
    check(&|body| body[34..98].fill(0));
    check(&|body| body[34..66].fill(0xff));
}

#[test]
fn wrong_confirms_are_discarded_and_the_right_one_is_taken() {
    let (mut world, commit) = committed(H2E);
    world.deliver(1, &commit);
    let answer = world.next();
    world.deliver(0, &answer);
    let confirm = world.next();
    for at in [0, 1, 2, 33] {
        let mut wrong = confirm.clone();
        wrong.body[at] ^= 1;
        world.deliver(1, &wrong);
        assert_eq!(discarded(&world, 1), Why::Confirm);
    }
    let cut = Message { body: confirm.body[..20].to_vec(), ..confirm.clone() };
    world.deliver(1, &cut);
    assert!(matches!(discarded(&world, 1), Why::Malformed(_)));
    // The peer's own confirm is none of ours.
    world.deliver(0, &confirm);
    assert_eq!(discarded(&world, 0), Why::Confirm);
    world.deliver(1, &confirm);
    world.settle();
    assert!(world.agreed());
}

#[test]
fn replays_are_discarded() {
    let (mut world, commit) = committed(H2E);
    world.deliver(1, &commit);
    let answer = world.next();
    world.deliver(0, &answer);
    let confirm = world.next();
    world.deliver(1, &confirm);
    let last = world.next();
    world.deliver(0, &last);
    assert!(world.agreed());
    world.deliver(1, &confirm);
    assert_eq!(discarded(&world, 1), Why::Replayed, "a confirm that is not newer");
    world.deliver(1, &commit);
    assert_eq!(discarded(&world, 1), Why::Replayed, "the commit of the accepted instance");
    world.deliver(0, &answer);
    assert_eq!(discarded(&world, 0), Why::Unexpected);
    world.deliver(0, &last);
    assert_eq!(discarded(&world, 0), Why::Replayed);
    assert!(world.air.is_empty());
}

#[test]
fn another_commit_does_not_disturb_the_open_one() {
    let (mut world, commit) = committed(H2E);
    world.deliver(1, &commit);
    let answer = world.next();
    let (_, other) = committed(HNP);
    let other = Message { status: StatusCode::SAE_HASH_TO_ELEMENT, ..other };
    world.deliver(1, &other);
    assert_eq!(discarded(&world, 1), Why::Busy);
    world.deliver(0, &answer);
    world.settle();
    assert!(world.agreed());
}

#[test]
fn a_group_that_we_have_is_not_reported_as_refused() {
    let mut world = World::new(real());
    world.begin(0, H2E);
    let commit = world.next();
    let read = Commit::read(H2E, &commit.body).unwrap();
    let body = Commit { rejected_groups: &[20, 0], ..read }.to_bytes(H2E);
    world.deliver(1, &Message { body, ..commit });
    assert_eq!((discarded(&world, 1), world.sides[1].sae.open_count()), (Why::Downgraded, 0));
    assert_eq!(world.next().status, StatusCode::REFUSED);
}

#[test]
fn methods_that_are_not_configured_are_refused() {
    let mut world = World::with(real(), |_, access_point| access_point.methods = vec![H2E]);
    world.begin(0, HNP);
    world.settle();
    assert_eq!(discarded(&world, 1), Why::Method);
    assert_eq!(discarded(&world, 0), Why::Status(StatusCode::REFUSED));
    let pk = Message { status: StatusCode::SAE_PK, ..commit_of(&mut world) };
    world.deliver(1, &pk);
    assert_eq!(discarded(&world, 1), Why::Status(StatusCode::SAE_PK));
}

fn commit_of(world: &mut World) -> Message {
    world.begin(0, H2E);
    world.next()
}

#[test]
fn forged_statuses_end_nothing() {
    let (mut world, commit) = committed(H2E);
    let forge = |transaction, status, body: &[u8]| Message {
        peer: STATION,
        transaction,
        status: StatusCode(status),
        body: body.to_vec(),
    };
    for status in [1, 15, 123, 65535] {
        world.deliver(0, &forge(Transaction::Commit, status, &[]));
        world.deliver(0, &forge(Transaction::Confirm, status, &[]));
    }
    for (status, body) in [(76, &[20, 0, 255, 2, 93, 1][..]), (77, &[21, 0]), (76, &[19, 0]), (77, &[])] {
        world.deliver(0, &forge(Transaction::Commit, status, body));
    }
    world.deliver(1, &commit);
    world.settle();
    assert!(world.agreed());
}

/// A station gives up on tokens after as many as it may send commits again.
#[test]
fn tokens_without_end_are_not_returned_without_end() {
    let (mut world, _) = committed(H2E);
    let body = wire::TokenRequest { group: 19, token: &[1; 32] }.to_bytes(H2E);
    let request = Message { peer: STATION, transaction: Transaction::Commit, status: StatusCode(76), body };
    for _ in 0..20 {
        world.deliver(0, &request);
    }
    assert_eq!((world.air.len(), discarded(&world, 0)), (5, Why::Sync));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Noise, and valid frames with one octet changed, change neither what is agreed nor what is kept.
    #[test]
    fn noise_is_discarded(
        noise in prop::collection::vec((0_usize..2, any::<bool>(), prop::sample::select(&[0_u16, 1, 76, 77, 126, 127][..]), prop::collection::vec(any::<u8>(), 0..150)), 0..12),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 4),
    ) {
        let mut world = World::new(real());
        world.begin(0, H2E);
        let mut noise = noise.into_iter();
        let mut flips = flips.into_iter();
        while let Some((to, message)) = world.air.pop_front() {
            if let Some((index, mask)) = flips.next() {
                let mut wrong = message.clone();
                let at = index.index(wrong.body.len());
                wrong.body[at] ^= mask;
                let sent = world.air.len();
                world.deliver(to, &wrong);
                world.air.truncate(sent);
                if world.sides[to].reported.discarded.is_empty() && !world.sides[to].reported.accepted.is_empty() {
                    prop_assert!(false, "a changed frame was accepted");
                }
            }
            for (side, is_commit, status, body) in noise.by_ref().take(3) {
                let transaction = if is_commit { Transaction::Commit } else { Transaction::Confirm };
                let peer = world.sides[side].address;
                let sent = world.air.len();
                world.deliver(side, &Message { peer, transaction, status: StatusCode(status), body: [body, vec![0; 2]].concat() });
                world.air.truncate(sent);
            }
            world.deliver(to, &message);
        }
        for side in &world.sides {
            prop_assert!(side.sae.open_count() <= 1 && side.sae.accepted_count() <= 1);
        }
        let [station, access_point] = world.sides.each_ref().map(|side| side.reported.accepted.first());
        if let (Some(station), Some(access_point)) = (station, access_point) {
            prop_assert_eq!(station, access_point);
        }
    }
}
