//! The same seed gives the same bytes, and the draws of one impairment do not affect those of others.

use keytoll_engine::Time;
use keytoll_engine::trace::file::Writer;
use keytoll_engine::trace::{Fate, Node, Record};
use keytoll_sim::{Direction, Limits, LinkConfig, Loss, NodeConfig, Reorder};
use proptest::prelude::*;

use crate::no_crypto::NoCrypto;
use crate::toy::{GW, Order, Pair, Toy, addr, millis, ms, udp};

fn everything() -> Direction {
    Direction {
        delay: millis(20),
        jitter: millis(5),
        rate_bits_per_s: Some(2_000_000),
        queue_bytes_max: 10_000,
        loss: Loss::GilbertElliott { to_bad: 0.05, to_good: 0.3, loss_in_bad: 0.9, loss_in_good: 0.01 },
        reorder: Some(Reorder { probability: 0.1, extra_delay: millis(3) }),
        duplicate: 0.1,
        corrupt: 0.1,
        unchecked: false,
    }
}

/// Sends datagrams of growing size to an echo host; returns the records.
fn exchange(direction: Direction, seed: u64) -> Pair {
    let mut pair = Pair::over(&LinkConfig::symmetric(direction), seed);
    pair.world.with_host(pair.gw, |gateway| gateway.echo = true);
    for i in 0..300_usize {
        pair.send_at(Time::from_nanos(i as u64 * 700_000), vec![i as u8; i * 11]);
    }
    pair.run();
    pair
}

fn file(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_seed_gives_the_same_bytes_again_and_another_one_others(seed: u64) {
        let once = file(&exchange(everything(), seed).records);
        prop_assert!(once == file(&exchange(everything(), seed).records));
        prop_assert!(once != file(&exchange(everything(), seed.wrapping_add(1)).records));
    }

    #[test]
    fn records_come_in_order_of_time(seed: u64) {
        let records = exchange(everything(), seed).records;
        prop_assert!(records.is_sorted_by_key(|record| record.at_ns));
    }
}

/// The records of ten devices that send now and then over links of their own, if so many nodes and links are awake at most; and how
/// often the devices rested.
fn crowd(nodes_awake_max: usize, links_awake_max: usize) -> (Vec<u8>, usize) {
    let link = LinkConfig::symmetric(everything());
    let mut pair = Pair::over(&link, 3);
    pair.world.set_limits(Limits { nodes_awake_max, links_awake_max, ..Limits::default() });
    pair.world.with_host(pair.gw, |gateway| gateway.echo = true);
    let at = |n: u64| format!("10.0.1.{n}");
    let devices: Vec<_> = (0..10)
        .map(|n| {
            let device = pair.world.add_node(NodeConfig::new(Node::Ue), Toy::default(), NoCrypto);
            pair.world.add_address(device, at(n).parse::<std::net::IpAddr>().unwrap());
            pair.world.add_link(device, pair.gw, &link);
            device
        })
        .collect();
    for turn in 0..400_u64 {
        let n = turn * turn % 10;
        let order = Order::Send(udp(addr(&at(n)), addr(GW[0]), vec![0; 900]));
        pair.world.command_at(ms(turn * 17), devices[n as usize], order);
    }
    pair.run();
    let rested = devices.iter().map(|device| pair.world.host(*device).rested).sum();
    (file(&pair.records), rested)
}

#[test]
fn nodes_and_links_that_have_rested_go_on_as_if_they_had_not() {
    let (awake, rested) = crowd(100, 100);
    assert_eq!(rested, 0);
    for (nodes, links) in [(0, 1), (1, 1), (2, 2), (3, 3), (0, 100)] {
        let (file, rested) = crowd(nodes, links);
        assert!(rested > 100, "{rested}");
        assert!(file == awake, "{nodes} nodes and {links} links awake at most");
    }
}

#[test]
fn duplication_and_corruption_do_not_change_what_is_lost() {
    let lost = |direction| {
        let mut pair = Pair::over(&LinkConfig { a_to_b: direction, ..LinkConfig::default() }, 5);
        (0..500).for_each(|i| pair.send_at(Time::from_nanos(i), vec![0; 100]));
        pair.run();
        let originals = pair.fates().into_iter().filter(|&fate| fate != Fate::Duplicate);
        originals.map(|fate| fate == Fate::Lost).collect::<Vec<_>>()
    };
    let loss = Loss::Uniform(0.2);
    let alone = lost(Direction { loss, ..Direction::default() });
    assert!(alone.contains(&true));
    assert_eq!(alone, lost(Direction { loss, duplicate: 0.3, corrupt: 0.3, ..Direction::default() }));
}
