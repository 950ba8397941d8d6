//! The arithmetic of links, and the frequencies of impairments.

use std::time::Duration;

use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Fate, Link, Node, Record};
use keytoll_sim::{Direction, LinkConfig, Loss, Reorder};

use crate::toy::{GW, News, Order, Pair, TOY, UE, addr, millis, ms, udp};

/// A datagram of 300 bytes is 328 on the wire: 20 IP, 8 UDP.
const PAYLOAD: usize = 300;

fn share(fates: &[Fate], wanted: Fate) -> f64 {
    fates.iter().filter(|&&fate| fate == wanted).count() as f64 / fates.len() as f64
}

/// The fates of `n` datagrams of `bytes` bytes, one a millisecond.
fn fates_of(n: u64, bytes: usize, direction: Direction) -> Vec<Fate> {
    let mut pair = Pair::through(direction);
    (0..n).for_each(|i| pair.send_at(ms(i), vec![0; bytes]));
    pair.run();
    pair.fates()
}

/// Allows five standard deviations from a share of `n`.
fn assert_share(found: f64, wanted: f64, n: u64) {
    let allowed = 5.0 * (wanted * (1.0 - wanted) / n as f64).sqrt();
    assert!((found - wanted).abs() < allowed, "{found} is not {wanted} ± {allowed}");
}

#[test]
fn a_delay_is_kept_to_the_nanosecond() {
    let mut pair =
        Pair::through(Direction { delay: Duration::from_nanos(1_234_567), ..Direction::default() });
    pair.send_at(ms(3), vec![0; PAYLOAD]);
    assert_eq!(pair.arrivals_ns(), [4_234_567]);
}

#[test]
fn serialisation_takes_time_and_the_second_waits_for_the_first() {
    let direction = Direction { delay: millis(10), rate_bits_per_s: Some(384_000), ..Direction::default() };
    let mut pair = Pair::through(direction);
    (0..2).for_each(|_| pair.send_at(Time::ZERO, vec![0; PAYLOAD]));
    pair.send_at(ms(100), vec![0; PAYLOAD]);
    // 328 bytes × 8 ÷ 384 000 bit/s = 6.8333… ms, rounded up to 6 833 334 ns.
    assert_eq!(pair.arrivals_ns(), [16_833_334, 23_666_668, 116_833_334]);
    let carried = |transit_ns| Fact::Carried {
        link: Link(Node::Ue, Node::Gw),
        protocol: TOY,
        packets: 1,
        bytes: 328,
        transit_ns,
        fate: Fate::Delivered,
    };
    let record = Record { at_ns: 0, node: Node::Ue, sample: 0, fact: carried(23_666_668) };
    assert!(pair.records.contains(&record), "{:#?}", pair.records);
}

#[test]
fn each_direction_is_its_own() {
    let a_to_b = Direction { delay: millis(7), ..Direction::default() };
    let b_to_a = Direction { delay: millis(11), ..Direction::default() };
    let mut pair = Pair::over(&LinkConfig { a_to_b, b_to_a, ..LinkConfig::default() }, 1);
    pair.world.with_host(pair.gw, |gateway| gateway.echo = true);
    pair.send_at(Time::ZERO, vec![1, 2, 3]);
    let got = || News::Got(vec![1, 2, 3]);
    assert_eq!(pair.run(), [(ms(7), pair.gw, got()), (ms(18), pair.ue, got())]);
}

#[test]
fn a_full_queue_drops_until_something_has_left() {
    let direction =
        Direction { rate_bits_per_s: Some(384_000), queue_bytes_max: 1000, ..Direction::default() };
    let mut pair = Pair::through(direction);
    // Three times 328 bytes fit into 1000, a fourth does not; at 7 ms the first has left.
    (0..4).for_each(|_| pair.send_at(Time::ZERO, vec![0; PAYLOAD]));
    pair.send_at(ms(7), vec![0; PAYLOAD]);
    assert_eq!(pair.arrivals_ns(), [6_833_334, 13_666_668, 20_500_002, 27_333_336]);
    let delivered = Fate::Delivered;
    assert_eq!(pair.fates(), [delivered, delivered, delivered, Fate::QueueFull, delivered]);
}

#[test]
fn an_idle_sender_accepts_a_datagram_longer_than_its_queue() {
    let direction =
        Direction { rate_bits_per_s: Some(384_000), queue_bytes_max: 100, ..Direction::default() };
    assert_eq!(fates_of(1, PAYLOAD, direction), [Fate::Delivered]);
}

#[test]
fn loss_is_per_packet_so_fragmented_datagrams_lose_more() {
    let direction = Direction { loss: Loss::Uniform(0.1), ..Direction::default() };
    let one = fates_of(20_000, PAYLOAD, direction.clone());
    assert_share(share(&one, Fate::Lost), 0.1, 20_000);
    // 3000 bytes are three fragments.
    let three = fates_of(20_000, 3000, direction);
    assert_share(share(&three, Fate::Lost), 1.0 - 0.9_f64.powi(3), 20_000);
}

#[test]
fn certain_loss_loses_everything() {
    let direction = Direction { loss: Loss::Uniform(1.0), ..Direction::default() };
    assert_eq!(fates_of(100, PAYLOAD, direction), [Fate::Lost; 100]);
}

#[test]
fn bursts_have_the_length_and_frequency_of_gilbert_and_elliott() {
    let loss = Loss::GilbertElliott { to_bad: 0.02, to_good: 0.25, loss_in_bad: 1.0, loss_in_good: 0.0 };
    let fates = fates_of(50_000, PAYLOAD, Direction { loss, ..Direction::default() });
    // The share of the bad state is p ÷ (p + r), the mean length of its visits 1 ÷ r.
    let lost = share(&fates, Fate::Lost);
    assert!((lost - 0.02 / 0.27).abs() < 0.01, "{lost}");
    let bursts = fates.windows(2).filter(|pair| pair[0] != Fate::Lost && pair[1] == Fate::Lost).count();
    let length = lost * fates.len() as f64 / bursts as f64;
    assert!((length - 4.0).abs() < 0.4, "{length}");
}

/// The numbers of `n` datagrams sent 100 µs apart, in the order they arrive.
fn order_of_arrival(n: u32, direction: Direction) -> Vec<u32> {
    let mut pair = Pair::through(direction);
    for i in 0..n {
        pair.send_at(Time::from_nanos(u64::from(i) * 100_000), i.to_be_bytes().to_vec());
    }
    let number = |news| match news {
        News::Got(bytes) => u32::from_be_bytes(bytes.try_into().unwrap()),
        News::Ticked => unreachable!("nobody asked for a tick"),
    };
    pair.run().into_iter().map(|(_, _, news)| number(news)).collect()
}

#[test]
fn jitter_alone_keeps_the_order() {
    let direction = Direction { delay: millis(10), jitter: millis(3), ..Direction::default() };
    assert_eq!(order_of_arrival(2000, direction), (0..2000).collect::<Vec<_>>());
}

#[test]
fn reordering_breaks_the_order_of_those_it_takes_out_and_loses_none() {
    let reorder = Some(Reorder { probability: 0.1, extra_delay: millis(1) });
    let order = order_of_arrival(2000, Direction { delay: millis(10), reorder, ..Direction::default() });
    let late = order.windows(2).filter(|pair| pair[0] > pair[1]).count();
    // Each of about 200 is overtaken by those of the next millisecond; reordered neighbours keep their order.
    assert!((120..260).contains(&late), "{late}");
    let mut sorted = order;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..2000).collect::<Vec<_>>());
}

#[test]
fn jitter_is_normal_around_the_delay_and_never_negative() {
    let transits = |mean, deviation| {
        let mut pair = Pair::through(Direction { delay: mean, jitter: deviation, ..Direction::default() });
        // A second apart, so that none waits for an earlier one.
        (0..5000).for_each(|i| pair.send_at(ms(i * 1000), vec![0]));
        let arrivals = pair.arrivals_ns().into_iter().enumerate();
        arrivals.map(|(i, at)| at as f64 / 1e6 - i as f64 * 1e3).collect::<Vec<f64>>()
    };
    let ample = transits(millis(90), millis(15));
    let mean = ample.iter().sum::<f64>() / 5000.0;
    let deviation = (ample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 5000.0).sqrt();
    assert!((mean - 90.0).abs() < 1.0 && (deviation - 15.0).abs() < 0.75, "{mean} {deviation}");
    let cut = transits(millis(1), millis(1));
    let zero = cut.iter().filter(|&&x| x == 0.0).count();
    // A normal variable is below its mean by a deviation or more in 15.9 % of all cases.
    assert_share(zero as f64 / 5000.0, 0.159, 5000);
}

#[test]
fn duplicates_are_recorded_apart_and_arrive_whole() {
    let mut pair = Pair::through(Direction { duplicate: 0.2, ..Direction::default() });
    (0..5000).for_each(|i| pair.send_at(ms(i), vec![(i % 251) as u8; 5]));
    let events = pair.run();
    let fates = pair.fates();
    let copies = fates.iter().filter(|&&fate| fate == Fate::Duplicate).count();
    assert_share(copies as f64 / 5000.0, 0.2, 5000);
    assert_eq!(events.len(), 5000 + copies);
    assert!(
        events
            .iter()
            .all(|(at, _, news)| *news == News::Got(vec![(at.as_nanos() / 1_000_000 % 251) as u8; 5]))
    );
}

#[test]
fn corruption_flips_one_bit_and_is_recorded() {
    let mut pair = Pair::through(Direction { corrupt: 0.3, unchecked: true, ..Direction::default() });
    (0..5000).for_each(|i| pair.send_at(ms(i), vec![0x5a; 40]));
    let events = pair.run();
    let fates = pair.fates();
    assert_share(share(&fates, Fate::Corrupted), 0.3, 5000);
    for ((_, _, news), fate) in events.iter().zip(fates) {
        let News::Got(bytes) = news else { unreachable!("nobody asked for a tick") };
        let flipped: u32 = bytes.iter().map(|byte| (byte ^ 0x5a).count_ones()).sum();
        assert_eq!(flipped, u32::from(fate == Fate::Corrupted));
    }
}

/// UDP at the receiving host detects the flipped bit: the datagram is counted and reaches no engine.
#[test]
fn the_receiver_drops_and_records_damaged_datagrams() {
    let mut pair = Pair::through(Direction { corrupt: 0.3, ..Direction::default() });
    (0..5000).for_each(|i| pair.send_at(ms(i), vec![0x5a; 40]));
    let events = pair.run();
    let damaged = pair.fates().iter().filter(|&&fate| fate == Fate::Corrupted).count();
    assert!(damaged > 1000 && events.len() == 5000 - damaged);
    assert!(events.iter().all(|(_, _, news)| *news == News::Got(vec![0x5a; 40])));
    let dropped = |fact: &Fact| matches!(fact, Fact::Discarded { why, .. } if why == "wrong checksum");
    let of = |node| pair.records.iter().filter(|it| it.node == node && dropped(&it.fact)).count();
    assert_eq!((of(Node::Gw), of(Node::Ue)), (damaged, 0), "the receiver says so");
}

#[test]
fn an_empty_payload_cannot_be_corrupted() {
    let direction = Direction { corrupt: 1.0, ..Direction::default() };
    assert_eq!(fates_of(10, 0, direction), [Fate::Delivered; 10]);
}

#[test]
fn fragments_are_counted_for_both_ip_versions() {
    let carried = |version: usize, bytes: usize| {
        let mut pair = Pair::through(Direction::default());
        let datagram = udp(addr(UE[version]), addr(GW[version]), vec![0; bytes]);
        pair.world.command(pair.ue, Order::Send(datagram));
        assert_eq!(pair.run().len(), 1);
        pair.records.iter().find_map(|record| match record.fact {
            Fact::Carried { packets, bytes, .. } => Some((packets, bytes)),
            _ => None,
        })
    };
    // 3008 with the UDP header: 1480 + 1480 + 48, each with 20 bytes of header.
    assert_eq!(carried(0, 3000), Some((3, 3068)));
    // 3008: 1448 + 1448 + 112, each with 40 bytes of header and 8 of fragment header.
    assert_eq!(carried(1, 3000), Some((3, 3152)));
}

#[test]
fn a_datagram_that_cannot_be_sent_is_discarded_with_a_reason() {
    let whys = |to: &str, bytes: usize| {
        let mut pair = Pair::through(Direction::default());
        let datagram = udp(addr(UE[0]), addr(to), vec![0; bytes]);
        pair.world.command(pair.ue, Order::Send(datagram));
        assert_eq!(pair.run(), []);
        pair.records.last().map(|record| (record.node, record.fact.clone()))
    };
    let discarded = |why: &'static str| Some((Node::Ue, Fact::Discarded { protocol: TOY, why: why.into() }));
    assert_eq!(whys("192.0.2.1", 1), discarded("no route to host"));
    // 65 535 bytes at most with 20 of IP header and 8 of UDP header.
    assert_eq!(whys(GW[0], 65_508), discarded("message too long"));
}
