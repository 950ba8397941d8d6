//! The diet exchange with AKA.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::algorithm::Group;

use super::hostile::sum;
use super::world::{A, B, Subscription, World, agreeing, diet_pair};
use crate::config::{Aka, Config, Initiator};
use crate::event::{AssociationId, Command, Event, Reason};
use crate::identity::DietVariant;
use crate::number::NotifyType;

fn pair(variant: DietVariant) -> [Config; 2] {
    let [device, gateway] = diet_pair(variant);
    [
        Config { aka: Aka::Subscriber(b"001010123456789".to_vec()), ..device },
        Config { aka: Aka::Required, ..gateway },
    ]
}

fn run(subscription: Subscription, variant: DietVariant) -> World {
    let mut world = World::new(pair(variant), 1);
    world.subscription = subscription;
    world.initiate(A, B);
    world.run(Duration::from_secs(10));
    world
}

#[test]
fn a_subscription_is_proved_in_six_packets() {
    for variant in [DietVariant::Draft24, DietVariant::Prototype] {
        let world = run(Subscription::Good, variant);
        assert_eq!(world.ladder(), "a I1, b R1, a I2, b R2, a UPDATE, b UPDATE");
        world.assert_agreement(A, B);
    }
}

/// Hosts that share an endpoint have a Host Identity and a subscription each, whatever the configuration says of one.
#[test]
fn many_hosts_share_an_endpoint() {
    let [a, b] = pair(DietVariant::Draft24);
    let mut world = World::new([a, b], 1);
    let names = ["1", "2", "3"];
    for name in names {
        let own = Arc::new(agreeing(Group::X25519, DietVariant::Draft24, name));
        world.initiate_as(Initiator { own, subscriber: Some(name.as_bytes().into()) }, A, B);
    }
    world.run(Duration::from_secs(10));
    assert_eq!((world.children(A).len(), world.children(B).len()), (3, 3));
    let hits: BTreeSet<_> = world.children(A).iter().map(|child| child.local).collect();
    assert!(hits.len() == 3 && !hits.contains(&world.hosts[A].hit));
    let asked = world.hosts[B].events.iter().filter_map(|event| match event {
        Event::VectorWanted { subscriber, .. } => Some(&subscriber[..]),
        _ => None,
    });
    assert!(asked.eq(names.map(str::as_bytes)));
}

/// The subscribers that the gateway knows, with their associations.
fn proved(world: &World) -> Vec<(AssociationId, &[u8])> {
    let events = world.hosts[B].events.iter();
    events
        .filter_map(|event| match event {
            Event::SubscriberProved(id, subscriber) => Some((*id, &subscriber[..])),
            _ => None,
        })
        .collect()
}

/// Whatever comes first under the keys of the association: a packet of ESP, of which the owner tells, UPDATE or CLOSE.
#[test]
fn a_subscriber_is_who_has_shown_the_key() {
    type Say = fn(&mut World);
    let heard: Say = |world| world.command(B, Command::Heard(world.association(B)));
    let rekey: Say = |world| world.command(A, Command::Rekey(world.association(A)));
    let close: Say = |world| world.command(A, Command::Close(world.association(A)));
    for say in [heard, rekey, close] {
        let mut world = run(Subscription::Good, DietVariant::Draft24);
        assert_eq!(proved(&world), [], "RES alone may be anybody's");
        let id = world.association(B);
        for _ in 0..2 {
            say(&mut world);
            world.run_a_while();
        }
        assert_eq!(proved(&world), [(id, &b"001010123456789"[..])], "once");
    }
}

/// A device without the card of the subscriber that it names passes the challenge on to somebody who has it, and RES back.
#[test]
fn a_relayed_res_proves_no_subscriber() {
    let mut world = run(Subscription::WrongKey, DietVariant::Draft24);
    assert_eq!(world.children(B).len(), 1, "the gateway has seen a right RES");
    let update = world.sent[4].clone();
    let mut other = update.clone();
    let last = other.bytes.len() - 1;
    other.bytes[last] ^= 1;
    sum(&mut other);
    for packet in [&update, &other] {
        world.inject(packet);
    }
    world.run(Duration::from_secs(60 * 60));
    assert_eq!(proved(&world), []);
    assert_eq!(world.children(A).len(), 0);
    world.assert_nothing_is_kept();
}

#[test]
fn a_card_that_is_out_of_step_costs_two_packets_more() {
    let world = run(Subscription::OutOfStep, DietVariant::Draft24);
    assert_eq!(world.ladder(), "a I1, b R1, a I2, b R2, a UPDATE, b UPDATE, a UPDATE, b UPDATE");
    world.assert_agreement(A, B);
    let wanted = world.hosts[B].events.iter().filter(|event| matches!(event, Event::VectorWanted { .. }));
    assert_eq!(wanted.count(), 2);
}

#[test]
fn after_a_second_challenge_updates_go_on() {
    for subscription in [Subscription::Good, Subscription::OutOfStep] {
        for host in [A, B] {
            let mut world = run(subscription, DietVariant::Draft24);
            world.sent.clear();
            let id = world.association(host);
            world.command(host, Command::Rekey(id));
            world.run_a_while();
            assert_eq!(world.sent.len(), 3, "{subscription:?} {:?}", world.discards(1 - host));
            world.assert_agreement(A, B);
        }
    }
}

#[test]
fn whatever_goes_wrong_has_a_name_and_leaves_nothing() {
    use Subscription as S;
    let refused = Reason::Refused(NotifyType::AUTHENTICATION_FAILED);
    for (subscription, at_device, at_gateway) in [
        (S::Distrusted, Reason::AkaFailed, Reason::AkaFailed),
        (S::WrongRes, refused, Reason::AkaFailed),
        (S::ForeverOutOfStep, refused, Reason::AkaFailed),
        (S::Unknown, refused, Reason::NoVector),
    ] {
        let world = run(subscription, DietVariant::Draft24);
        assert_eq!(world.failures(A), [at_device], "{subscription:?}");
        assert_eq!(world.failures(B), [at_gateway], "{subscription:?}");
        world.assert_nothing_is_kept();
    }
}

#[test]
fn an_hss_that_does_not_answer_is_waited_for_as_long_as_strangers_are() {
    let mut world = run(Subscription::Down, DietVariant::Draft24);
    assert_eq!(world.hosts[B].engine.unproved_count(), 1);
    world.run(Duration::from_secs(60));
    assert_eq!(world.failures(B), [Reason::NoVector]);
    assert_eq!(world.failures(A), [Reason::Timeout]);
    world.assert_nothing_is_kept();
}

/// The last packet is under keys that only somebody with KASME has.
#[test]
fn a_gateway_with_another_key_is_not_believed() {
    let mut world = run(Subscription::WrongKey, DietVariant::Draft24);
    assert!(world.discards(A).contains(&"HIP_MAC_FAILED"));
    world.run(Duration::from_secs(60));
    assert_eq!(world.failures(A), [Reason::Timeout]);
    assert_eq!(world.children(A).len(), 0);
}

#[test]
fn neither_side_goes_without_what_it_wants() {
    let [device, gateway] = pair(DietVariant::Draft24);
    let [plain, _] = diet_pair(DietVariant::Draft24);
    let mut world = World::new([plain, gateway], 1);
    world.initiate(A, B);
    world.run(Duration::from_secs(60));
    assert_eq!(world.failures(A), [Reason::Refused(NotifyType::AUTHENTICATION_FAILED)]);
    world.assert_nothing_is_kept();
    let [_, plain] = diet_pair(DietVariant::Draft24);
    let mut world = World::new([device, plain], 1);
    world.initiate(A, B);
    world.run(Duration::from_secs(60));
    assert!(matches!(world.failures(A)[..], [Reason::Refused(_)]));
    world.assert_nothing_is_kept();
}

#[test]
fn strangers_have_so_many_places_and_no_more() {
    let [device, mut gateway] = pair(DietVariant::Draft24);
    gateway.limits.unproved_per_address_max = 0;
    let mut world = World::new([device, gateway], 1);
    world.subscription = Subscription::Down;
    world.initiate(A, B);
    world.run(Duration::from_secs(60));
    assert!(world.discards(B).contains(&"RESPONDER_BUSY_PLEASE_RETRY"));
    world.assert_nothing_is_kept();
}

/// Each I2 costs the HSS a vector: whoever solves puzzles gets no more of them than so many in a second.
#[test]
fn questions_to_the_hss_are_counted_by_address() {
    let [device, mut gateway] = pair(DietVariant::Draft24);
    gateway.limits.questions_per_second_max = Some(0);
    let mut world = World::new([device, gateway], 1);
    world.initiate(A, B);
    world.run(Duration::from_secs(60));
    assert!(world.discards(B).contains(&"RESPONDER_BUSY_PLEASE_RETRY"));
    assert!(!world.hosts[B].events.iter().any(|event| matches!(event, Event::VectorWanted { .. })));
    world.assert_nothing_is_kept();
}

/// A device begins; nobody begins with it.
#[test]
fn a_host_that_answers_nobody_does_not() {
    let [mut device, gateway] = diet_pair(DietVariant::Draft24);
    device.responds = false;
    let mut world = World::new([device, gateway], 1);
    world.initiate(B, A);
    world.run(Duration::from_secs(80));
    assert_eq!(world.failures(B), [Reason::Timeout]);
    assert!(world.discards(A).contains(&"a host that answers nobody"));
    world.assert_nothing_is_kept();
    world.initiate(A, B);
    world.run_a_while();
    world.assert_agreement(A, B);
}
