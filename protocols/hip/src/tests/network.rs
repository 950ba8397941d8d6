//! A network that loses, repeats and reorders: the hosts agree, or whoever does not knows why, and nothing is kept.
//!
//! `KEYTOLL_HIP_SEEDS` says how many seeds each pair of hosts gets, with cryptography and without; by default there are few.

use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::Datagram;

use super::world::{A, B, DELAY, Subscription, World, base_pair, diet_pair, pretended_pair};
use crate::config::{Aka, Config};
use crate::event::{Command, Event};
use crate::identity::DietVariant;

/// A fifth is lost, a fifth comes twice, and all of it out of order.
fn bad(_: &Datagram, rng: &mut Rng) -> Vec<Duration> {
    let copies = match rng.below(10) {
        0 | 1 => 0,
        2 | 3 => 2,
        _ => 1,
    };
    (0..copies).map(|_| DELAY + Duration::from_millis(rng.below(1500))).collect()
}

fn with_end(configs: [Config; 2]) -> [Config; 2] {
    configs.map(|config| Config { unused_after: Some(Duration::from_secs(300)), ..config })
}

fn with_aka([device, gateway]: [Config; 2]) -> [Config; 2] {
    [Config { aka: Aka::Subscriber(b"ue".to_vec()), ..device }, Config { aka: Aka::Required, ..gateway }]
}

/// Whether the initiator came up.
fn survives(mut world: World, seed: u64) -> bool {
    world.fate = Box::new(bad);
    world.initiate(A, B);
    if seed.is_multiple_of(5) {
        world.initiate(B, A);
    }
    world.run(Duration::from_secs(40));
    let is_up = |world: &World, host: usize| {
        world.hosts[host].events.iter().any(|event| matches!(event, Event::Established(_)))
    };
    let came_up = is_up(&world, A);
    assert!(came_up || !world.failures(A).is_empty(), "seed {seed}: neither up nor failed");
    let both = !world.children(A).is_empty() && !world.children(B).is_empty();
    if both {
        world.assert_agreement(A, B);
        change(&mut world, seed);
    }
    world.run(Duration::from_secs(1200));
    for host in [A, B] {
        assert_eq!(world.children(host).len(), 0, "seed {seed}");
    }
    world.assert_nothing_is_kept();
    came_up
}

fn change(world: &mut World, seed: u64) {
    for host in [A, B] {
        let id = world.association(host);
        if host == A || seed.is_multiple_of(3) {
            world.command(host, Command::Rekey(id));
        }
    }
    world.run(Duration::from_secs(40));
    if !world.children(A).is_empty() && !world.children(B).is_empty() {
        world.assert_agreement(A, B);
    }
}

/// So many seeds, unless somebody wants another number.
fn seeds(usual: u64) -> u64 {
    std::env::var("KEYTOLL_HIP_SEEDS").map_or(usual, |text| text.parse().expect("a number of seeds"))
}

fn check(configs: &[Config; 2], usual: u64) {
    let (seeds, mut came_up) = (seeds(usual), 0);
    for seed in 0..seeds {
        came_up += u64::from(survives(World::new(with_end(configs.clone()), seed), seed));
    }
    assert!(came_up * 10 > seeds * 8, "{came_up} of {seeds}");
}

#[test]
fn base_exchanges_over_a_bad_network() {
    check(&base_pair(), 60);
    check(&base_pair().map(|config| Config { rekey_with_new_keys: true, ..config }), 40);
}

#[test]
fn diet_exchanges_over_a_bad_network() {
    check(&diet_pair(DietVariant::Draft24), 100);
    check(&diet_pair(DietVariant::Prototype), 40);
}

#[test]
fn diet_exchanges_with_aka_over_a_bad_network() {
    check(&with_aka(diet_pair(DietVariant::Draft24)), 100);
}

#[test]
fn many_seeds_without_cryptography() {
    let pairs =
        [pretended_pair(), diet_pair(DietVariant::Draft24), with_aka(diet_pair(DietVariant::Draft24))];
    for (which, configs) in pairs.into_iter().enumerate() {
        for seed in 0..seeds(700) {
            let mut world = World::new(with_end(configs.clone()), seed).pretending();
            if which == 2 && seed % 4 == 0 {
                world.subscription = Subscription::OutOfStep;
            }
            world.fate = Box::new(bad);
            world.initiate(A, B);
            world.run(Duration::from_secs(40));
            if let Some(id) = (!world.children(A).is_empty()).then(|| world.association(A)) {
                world.command(A, Command::Rekey(id));
            }
            world.run(Duration::from_secs(1240));
            world.assert_nothing_is_kept();
        }
    }
}
