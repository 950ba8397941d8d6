//! What a capturing recorder receives.

use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Fate, Record};
use keytoll_sim::{Direction, LinkConfig, Loss, Passing, Recorder};

use crate::toy::{GW, Order, Pair, UE, addr, ms, udp};

/// Keeps the captured datagrams of samples below `until`, and the last record before each.
#[derive(Default)]
struct Watcher {
    until: u32,
    last: Option<Fact>,
    seen: Vec<(u64, Vec<u8>, Fate)>,
}

impl Recorder for Watcher {
    fn record(&mut self, record: Record) {
        self.last = Some(record.fact);
    }

    fn captures(&self, sample: u32) -> bool {
        sample < self.until
    }

    fn pass(&mut self, passing: &Passing<'_>) {
        let Some(Fact::Carried { fate, transit_ns, link, .. }) = self.last else { panic!("{:?}", self.last) };
        assert_eq!(
            (fate, u128::from(transit_ns), link),
            (passing.fate, passing.transit.as_nanos(), passing.link)
        );
        self.seen.push((passing.at.as_nanos(), passing.datagram.bytes.clone(), passing.fate));
    }
}

fn watch(direction: Direction, until: u32) -> Vec<(u64, Vec<u8>, Fate)> {
    let mut pair = Pair::over(&LinkConfig::symmetric(direction), 1);
    let mut watcher = Watcher { until, ..Watcher::default() };
    for sample in 0..2 {
        pair.world.set_sample(sample);
        let order = Order::Send(udp(addr(UE[0]), addr(GW[0]), vec![7; 100]));
        pair.world.command_at(ms(10 * u64::from(sample + 1)), pair.ue, order);
        while pair.world.run_until(Time::MAX, &mut watcher).is_some() {}
    }
    watcher.seen
}

#[test]
fn every_datagram_passes_with_its_bytes_as_sent() {
    let clean = vec![7; 100];
    let at = |fate| vec![(10_000_000, clean.clone(), fate), (20_000_000, clean.clone(), fate)];
    assert_eq!(watch(Direction::default(), 9), at(Fate::Delivered));
    assert_eq!(watch(Direction { loss: Loss::Uniform(1.0), ..Direction::default() }, 9), at(Fate::Lost));
    // At the sender's side of the link the bit has not flipped yet.
    assert_eq!(watch(Direction { corrupt: 1.0, ..Direction::default() }, 9), at(Fate::Corrupted));
}

#[test]
fn a_copy_passes_too() {
    let fates = watch(Direction { duplicate: 1.0, ..Direction::default() }, 1).into_iter().map(|seen| seen.2);
    assert_eq!(fates.collect::<Vec<_>>(), [Fate::Delivered, Fate::Duplicate]);
}

#[test]
fn samples_that_are_not_captured_are_not_passed() {
    assert_eq!(watch(Direction::default(), 1).len(), 1);
    assert_eq!(watch(Direction::default(), 0).len(), 0);
}
