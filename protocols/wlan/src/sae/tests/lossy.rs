//! Frames are lost, doubled and overtaken: whoever accepts has the peer's key, and in the end both accept.

use super::*;

/// So often the station begins anew before the test gives up.
const ATTEMPTS: usize = 60;

/// Runs with the impairments that the seed draws; the error names it.
fn run(seed: u64, crypto: Provider) -> Result<(), String> {
    let mut rng = Rng::named(seed, "impairments");
    let (loss, doubling, overtaking) = (rng.unit() * 0.4, rng.unit() * 0.3, rng.unit() * 0.5);
    let method = if rng.chance(0.5) { H2E } else { HNP };
    let both = rng.chance(0.3);
    let mut world = World::with(crypto, |_, access_point| {
        access_point.limits.anti_clogging_threshold = rng.below(2) as usize;
    });
    let mut attempts = 0;
    while !world.agreed() {
        if world.sides[0].sae.open_count() == 0 {
            attempts += 1;
            world.begin(0, method);
            if both {
                world.begin(1, method);
            }
        }
        while let Some((to, message)) = world.air.pop_front() {
            if rng.chance(overtaking) {
                world.air.push_back((to, message));
                if world.air.len() == 1 {
                    break;
                }
                continue;
            }
            if rng.chance(doubling) {
                world.air.push_back((to, message.clone()));
            }
            if !rng.chance(loss) {
                world.deliver(to, &message);
            }
        }
        world.wait();
        if attempts > ATTEMPTS {
            return Err(format!("seed {seed}: no agreement: {}", world.ladder));
        }
    }
    finish(&mut world, seed)
}

/// Nothing that is still in flight or due changes what was agreed; nothing stays open.
fn finish(world: &mut World, seed: u64) -> Result<(), String> {
    for _ in 0..2000 {
        world.settle();
        if !world.wait() {
            break;
        }
    }
    let [station, access_point] = world.sides.each_ref().map(|side| &side.reported.accepted);
    let common = station.iter().any(|key| access_point.contains(key));
    let open =
        world.sides.iter().map(|side| side.sae.open_count() + side.sae.accepted_count()).sum::<usize>();
    if common && open == 0 { Ok(()) } else { Err(format!("seed {seed}: {open} open: {}", world.ladder)) }
}

#[test]
fn both_sides_agree_over_bad_networks_without_cryptography() {
    for seed in 0..5000 {
        run(seed, null()).unwrap();
    }
}

#[test]
fn both_sides_agree_over_bad_networks_with_cryptography() {
    for seed in 0..60 {
        run(seed, real()).unwrap();
    }
}
