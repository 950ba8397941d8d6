//! Traffic of users through the SAs of a row, and past them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use keytoll_analysis::metrics::{Traffic, measure};
use keytoll_lab::{Credentials, Memory, Row, Stop};
use keytoll_scenario::parse;
use keytoll_trace::{Cost, Fact, Link, Node};

/// What a row over a wire of 10 Mbit/s and 10 ms each way leaves behind.
fn run(crypto: &str, options: &str) -> Memory {
    run_with("ikev2-psk", crypto, options)
}

/// The same for a method.
fn run_with(method: &str, crypto: &str, options: &str) -> Memory {
    let text = format!(
        "samples = 1\ncrypto = '{crypto}'\nmethods = '{method}'\n\
         networks = [{{ name = 'wire', delay = '10 ms', up = '10 Mbit/s', down = '10 Mbit/s', queue = '1 MB' }}]\n\
         [options]\ntraffic_duration = '2 s'\n{options}"
    );
    let plan = parse("traffic.toml", &text).unwrap();
    let (mut memory, stop) = (Memory::default(), Stop::new(false));
    let credentials = Credentials::prepare(&plan);
    Row::new(&plan, &plan.rows[0], &credentials, 3e9).run(&mut memory, &|| {}, &stop);
    memory
}

/// Its traffic as analysis sees it.
fn traffic(crypto: &str, options: &str) -> Traffic {
    let memory = run(crypto, options);
    measure(memory.records, memory.costs).kept[0].traffic.clone().unwrap()
}

fn close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 0.03
}

#[test]
fn pings_come_back() {
    for mode in ["mode = 'transport'", "mode = 'tunnel'\nvirtual_address = true", "ipsec = 'none'"] {
        let traffic = traffic("null", &format!("traffic = 'icmp'\ntraffic_interval = '100 ms'\n{mode}"));
        assert_eq!((traffic.sent(), traffic.lost(), traffic.packets()), (20, 0, 40), "{mode}");
        let (round_trip_ns, count) = traffic.nodes[&Node::Ue].told.round_trips.values().next().unwrap();
        assert!(round_trip_ns > 20_000_000 && round_trip_ns < 20_400_000 && count == 20, "{round_trip_ns}");
    }
}

#[test]
fn constant_traffic_arrives_at_its_rate_up_to_what_the_link_carries() {
    let offered =
        |rate| traffic("null", &format!("traffic = 'constant'\ntraffic_rate = '{rate}'\nipsec = 'none'"));
    let half = offered("5 Mbit/s");
    assert_eq!(half.lost(), 0);
    // Of every 1500 bytes 48 are headers.
    assert!(close(half.goodput_bits_per_s(Node::Gw).unwrap(), 5e6 * 1452.0 / 1500.0));
    let twice = offered("20 Mbit/s");
    assert!(twice.lost() > 0 && twice.links[&Link(Node::Ue, Node::Gw)].refused_bytes > 0);
    assert!(close(twice.goodput_bits_per_s(Node::Gw).unwrap(), 1e7 * 1452.0 / 1500.0));
}

#[test]
fn bulk_data_fills_the_link_and_pays_for_every_byte_of_esp() {
    let bulk = |more: &str| traffic("null", &format!("traffic = 'bulk'\n{more}"));
    let plain = bulk("ipsec = 'none'");
    assert_eq!((plain.lost(), plain.repeated(), plain.overhead_bytes()), (0, 0, Some(0.0)));
    // Slow start takes about 100 ms of the two seconds.
    let share = plain.goodput_bits_per_s(Node::Gw).unwrap() / (1e7 * 1440.0 / 1500.0);
    assert!(share > 0.93 && share <= 1.0, "{share}");
    // Tunnel over IPv6: of 1500 bytes 40 are the outer header, 8 SPI and sequence, 8 IV, 2 trailer, 16 ICV: 1426 remain.
    let tunnel = bulk("mode = 'tunnel'\nesp_suite = 'aes128gcm16'");
    let per_packet =
        tunnel.nodes[&Node::Gw].told.payload_bytes / tunnel.nodes[&Node::Gw].told.data_packets_got;
    assert_eq!(per_packet, 1426 - 40 - 20);
    let overhead = tunnel.overhead_bytes().unwrap();
    assert!((74.0..=76.0).contains(&overhead), "{overhead}");
    let fragments = tunnel.links[&Link(Node::Ue, Node::Gw)].packets;
    assert_eq!(fragments, tunnel.packets(), "nothing is fragmented");
}

#[test]
fn every_suite_and_mode_fills_its_packets_and_none_is_fragmented() {
    for suite in ["aes128gcm16", "aes256-sha256", "3des-md5", "chacha20poly1305", "null-sha1"] {
        for more in
            ["mode = 'tunnel'\nipv6 = false", "mode = 'tunnel'\nvirtual_address = true", "ipv6 = false"]
        {
            let traffic = traffic("null", &format!("traffic = 'bulk'\nesp_suite = '{suite}'\n{more}"));
            let link = traffic.links[&Link(Node::Ue, Node::Gw)];
            assert_eq!((link.packets, traffic.lost()), (traffic.packets(), 0), "{suite} {more}");
            let mtu_used = traffic.nodes[&Node::Ue].told.out_bytes
                / traffic.nodes[&Node::Ue].told.out_packets
                + traffic.overhead_bytes().unwrap() as u64;
            assert!(mtu_used > 1400, "{suite} {more}: {mtu_used} of 1500 bytes");
        }
    }
}

#[test]
fn down_and_both_ways() {
    let down = traffic("null", "traffic = 'bulk'\ntraffic_direction = 'down'");
    assert!(down.goodput_bits_per_s(Node::Gw).is_none() && down.goodput_bits_per_s(Node::Ue).unwrap() > 8e6);
    let both = traffic("null", "traffic = 'constant'\ntraffic_direction = 'both'");
    let [up, down] = [Node::Gw, Node::Ue].map(|node| both.goodput_bits_per_s(node).unwrap());
    assert!(close(up, down) && both.lost() == 0);
}

/// Both sides rekey at the same moments, so rekeyings cross: the worst that RFC 7296 §2.8.1 knows.
#[test]
fn rekeying_loses_nothing() {
    for direction in ["up", "both"] {
        let options = format!(
            "traffic = 'constant'\ntraffic_rate = '2 Mbit/s'\ntraffic_direction = '{direction}'\n\
             mode = 'tunnel'\nrekey_child = '300 ms'"
        );
        let memory = run("null", &options);
        let discarded =
            memory.records.iter().find(|record| matches!(record.fact, Fact::TrafficDiscarded { .. }));
        assert_eq!(discarded, None, "{direction}");
        let traffic = measure(memory.records, memory.costs).kept[0].traffic.clone().unwrap();
        assert!(traffic.rekeys >= 5 && traffic.lost() == 0, "{direction}: {} lost", traffic.lost());
    }
}

/// What SAs may carry makes successors in time, whether the peer asks at the same packet or not; of none is anything lost.
#[test]
fn sas_that_have_carried_enough_are_replaced_and_nothing_is_lost() {
    let limits = [
        "rekey_bytes = '200 kB'\nlife_bytes = '400 kB'",
        "rekey_packets = 150\nlife_packets = 300\nreplay_window = 32",
        "rekey_packets = 150\nlife_packets = 300\nreplay_window = 4096\nmode = 'tunnel'",
    ];
    for method in ["ikev2-psk", "ikev1-main-psk", "ikev1-aggressive-psk"] {
        for options in limits {
            let row = format!("{method}\n{options}");
            let memory =
                run_with(method, "null", &format!("traffic = 'bulk'\ntraffic_window = '64 kB'\n{options}"));
            // IKEv1: of offers that cross, one is left unanswered.
            let discarded = memory.records.iter().find(|record| match &record.fact {
                Fact::TrafficDiscarded { why, .. } => !why.contains("being replaced"),
                _ => false,
            });
            assert_eq!(discarded, None, "{row}");
            let traffic = measure(memory.records, memory.costs).kept[0].traffic.clone().unwrap();
            // IKEv1 stays with the old one a round trip longer: who asks cannot know that the peer has the new one.
            let least = if method == "ikev2-psk" { 8 } else { 7 };
            assert!(traffic.rekeys >= least, "{row}: {} successors", traffic.rekeys);
            assert_eq!((traffic.lost(), traffic.repeated()), (0, 0), "{row}");
            let carried = traffic.nodes[&Node::Gw].told.payload_bytes;
            assert!(carried > 1_900_000, "{row}: {carried} bytes, as without rekeying");
        }
    }
}

/// A hard limit without a soft one: the pair ends, and what comes afterwards asks for another.
#[test]
fn an_sa_that_ends_without_a_successor_lets_nothing_through() {
    let memory = run("null", "traffic = 'constant'\ntraffic_rate = '1 Mbit/s'\nlife_packets = 50");
    let over = memory.records.iter().any(
        |record| matches!(&record.fact, Fact::TrafficDiscarded { why, .. } if why.contains("lifetime over")),
    );
    assert!(over, "the packets after the fiftieth are discarded by name");
}

#[test]
fn a_slow_processor_limits_what_a_fast_link_carries_and_costs_are_told() {
    let text = "samples = 1\nmethods = 'ikev2-psk'\ncpus = { gw = { name = 'slow', frequency = '30 MHz' } }\n\
         networks = [{ name = 'fast', delay = '1 ms', up = '10 Gbit/s', down = '10 Gbit/s' }]\n\
         [options]\ntraffic = 'bulk'\ntraffic_duration = '200 ms'\n";
    let plan = parse("slow.toml", text).unwrap();
    let (mut memory, stop) = (Memory::default(), Stop::new(false));
    Row::new(&plan, &plan.rows[0], &Credentials::prepare(&plan), 3e9).run(&mut memory, &|| {}, &stop);
    assert_eq!(memory.costs.iter().filter(|cost| matches!(cost, Cost::Traffic(_))).count(), 2);
    let traffic = measure(memory.records, memory.costs).kept[0].traffic.clone().unwrap();
    let [ue, gw] = [Node::Ue, Node::Gw].map(|node| &traffic.nodes[&node]);
    assert!(gw.busy_ns as f64 > 0.8 * gw.told.duration_ns as f64, "the gateway is busy: {}", gw.busy_ns);
    assert!(ue.busy_ns < gw.busy_ns / 10, "the device is not: {}", ue.busy_ns);
    assert!(traffic.goodput_bits_per_s(Node::Gw).unwrap() < 1e9);
    let cost = gw.cost.as_ref().unwrap();
    assert!(cost.crypto_ns > 0 && cost.crypto_ns < cost.cpu_ns);
}

#[test]
fn the_same_seed_leaves_the_same_facts_and_none_of_a_single_packet() {
    let options = "traffic = 'bulk'\nmode = 'tunnel'";
    let memory = run("null", options);
    assert_eq!(memory.records, run("null", options).records);
    assert!(memory.records.len() < 100, "{} records", memory.records.len());
    assert!(memory.records.iter().any(|record| matches!(record.fact, Fact::TrafficCarried { .. })));
}

/// The device and the gateway send 2 Mbit/s each; after a second the device goes elsewhere.
const MOVING: &str =
    "traffic = 'constant'\ntraffic_rate = '2 Mbit/s'\ntraffic_direction = 'both'\nmove_after = '1 s'";

/// A packet takes 10 ms each way: the gateway believes the new address after three, and its first packet there is the fourth.
/// Until it knows, what it sends is lost; of what the device sends, nothing is.
#[test]
fn a_device_that_moves_takes_its_traffic_along() {
    for method in ["hip-bex", "hip-dex", "hip-dex-aka"] {
        for more in ["", "ipv6 = false", "rekey_child = '600 ms'"] {
            let row = format!("{method} {more}");
            let memory = run_with(method, "null", &format!("{MOVING}\n{more}"));
            let sample = measure(memory.records, memory.costs).kept.remove(0);
            let (traffic, moved) = (sample.traffic.unwrap(), sample.moved.unwrap());
            let (Some(verified_ns), Some(reached_ns)) = (moved.verified_ns, moved.reached_ns) else {
                panic!("{row}: {moved:?}")
            };
            let (verified_ms, first_ms) = (verified_ns / 1_000_000, (reached_ns - verified_ns) / 1_000_000);
            assert!((30..80).contains(&verified_ms), "{row}: {verified_ms} ms");
            assert!((10..20).contains(&first_ms), "{row}: {first_ms} ms");
            assert!(moved.signalling.messages >= 3, "{row}: {:?}", moved.signalling);
            // 2 Mbit/s are a packet in 6 ms.
            assert!((4..20).contains(&moved.missed_packets), "{row}: {}", moved.missed_packets);
            assert_eq!(traffic.lost(), moved.missed_packets, "{row}");
            let gap_ms = traffic.longest_gap_ns() / 1_000_000;
            assert!((30..100).contains(&gap_ms), "{row}: a gap of {gap_ms} ms");
            assert!([Node::Ue, Node::Gw].iter().all(|node| moved.costs.contains_key(node)), "{row}");
        }
    }
}

#[test]
fn a_move_takes_three_messages_whether_there_is_traffic_or_not() {
    let text = "samples = 3\ncrypto = 'null'\nmethods = ['hip-bex', 'hip-dex', 'hip-dex-aka']\n\
                networks = 'wifi-11g'\n[options]\nmove_after = '1 s'";
    let plan = parse("traffic.toml", text).unwrap();
    let credentials = Credentials::prepare(&plan);
    for row in &plan.rows {
        let mut memory = Memory::default();
        Row::new(&plan, row, &credentials, 3e9).run(&mut memory, &|| {}, &Stop::new(false));
        for sample in measure(memory.records, memory.costs).kept {
            let moved = sample.moved.unwrap();
            let name = row.method.name();
            assert_eq!((moved.signalling.messages, moved.signalling.packets), (3, 3), "{name}");
            assert_eq!((moved.reached_ns, moved.missed_packets), (None, 0), "{name}: nobody sends anything");
        }
    }
}

/// Whatever is lost, repeated or overtaken: traffic goes on at the new address, or the association ends with a reason.
#[test]
fn over_a_bad_network_traffic_goes_on_after_a_move_or_the_association_ends() {
    let (mut reached, mut closed) = (0, 0);
    for seed in 0..40 {
        let loss = (seed % 8) * 6;
        let text = format!(
            "samples = 2\nseed = {seed}\ncrypto = 'null'\nmethods = ['hip-bex', 'hip-dex-aka']\ninterval = '200 s'\n\
             networks = [{{ name = 'bad', delay = '10 ms', jitter = '5 ms', loss = '{loss} %', duplicate = '10 %', reorder = '20 %' }}]\n\
             [options]\nmove_after = '1 s'\nunused_after = '80 s'\ntraffic = 'icmp'\ntraffic_duration = '80 s'"
        );
        let plan = parse("traffic.toml", &text).unwrap();
        let credentials = Credentials::prepare(&plan);
        for row in &plan.rows {
            let mut memory = Memory::default();
            Row::new(&plan, row, &credentials, 3e9).run(&mut memory, &|| {}, &Stop::new(false));
            for sample in 0..2 {
                let of = |record: &&keytoll_trace::Record| record.sample == sample;
                let facts: Vec<_> = memory.records.iter().filter(of).map(|record| &record.fact).collect();
                let Some(moved) = facts.iter().position(|fact| **fact == Fact::Moved) else { continue };
                let is_reached = facts[moved..].iter().any(|fact| matches!(fact, Fact::Reached { .. }));
                let is_closed = facts[moved..].iter().any(|fact| matches!(fact, Fact::Closed { .. }));
                assert!(is_reached || is_closed, "{} seed {seed}, sample {sample}", row.method.name());
                (reached, closed) = (reached + u32::from(is_reached), closed + u32::from(!is_reached));
            }
        }
    }
    assert!(reached > 100 && closed > 0, "{reached} reached, {closed} closed");
}
