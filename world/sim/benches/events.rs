//! Events per second of the bare simulator: two hosts that send each other the same datagram over a link without
//! impairments, with impairments, and with records kept.

use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use keytoll_engine::Time;
use keytoll_engine::trace::NoTrace;
use keytoll_sim::{Direction, Loss, NodeIndex, Recorder, World};

mod echo;
#[path = "../tests/no_crypto/mod.rs"]
mod no_crypto;
use echo::{DATAGRAMS, Echo, world};
use no_crypto::NoCrypto;

fn main() {
    divan::main();
}

fn run(mut world: World<Echo, NoCrypto>, recorder: &mut dyn Recorder) -> Option<(Time, NodeIndex, ())> {
    world.run_until(Time::MAX, recorder)
}

fn bench(bencher: Bencher<'_, '_>, direction: &Direction, in_flight: u32) {
    bencher
        .counter(ItemsCount::new(DATAGRAMS))
        .with_inputs(|| world(direction.clone(), in_flight))
        .bench_values(|world| run(world, &mut NoTrace));
}

#[divan::bench]
fn plain(bencher: Bencher<'_, '_>) {
    bench(bencher, &Direction { delay: Duration::from_micros(5), ..Direction::default() }, 1);
}

/// As many datagrams in flight as with a thousand devices at once: the event queue is deep.
#[divan::bench]
fn thousand_in_flight(bencher: Bencher<'_, '_>) {
    let delay = Duration::from_millis(20);
    bench(bencher, &Direction { delay, jitter: delay / 10, ..Direction::default() }, 1000);
}

#[divan::bench]
fn rate_jitter_loss(bencher: Bencher<'_, '_>) {
    bench(
        bencher,
        &Direction {
            delay: Duration::from_millis(90),
            jitter: Duration::from_millis(15),
            rate_bits_per_s: Some(384_000),
            loss: Loss::Uniform(1e-9),
            ..Direction::default()
        },
        1,
    );
}

#[divan::bench]
fn plain_recorded(bencher: Bencher<'_, '_>) {
    bencher
        .counter(ItemsCount::new(DATAGRAMS))
        .with_inputs(|| (world(Direction::default(), 1), Vec::with_capacity(DATAGRAMS as usize)))
        .bench_values(|(world, mut records)| run(world, &mut records));
}
