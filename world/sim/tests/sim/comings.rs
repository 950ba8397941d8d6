//! Nodes that come and go, share links and providers, and how long queues were.

use std::time::Duration;

use keytoll_engine::Time;
use keytoll_engine::trace::{NoTrace, Node};
use keytoll_net::Host;
use keytoll_sim::{Direction, LinkConfig, NodeConfig, NodeIndex};

use crate::no_crypto::NoCrypto;
use crate::toy::{Fixed, GW, News, Order, Pair, Toy, UE, addr, millis, ms, udp};

/// A second between the two nodes.
fn slow() -> LinkConfig {
    LinkConfig::symmetric(Direction { delay: Duration::from_secs(1), ..Direction::default() })
}

fn hosts(ips: [&str; 2]) -> [Host; 2] {
    ips.map(|ip| Host::Ip(ip.parse().unwrap()))
}

/// Adds a device at this address.
fn arrive(pair: &mut Pair, ip: &str) -> NodeIndex {
    let device = pair.world.add_node(NodeConfig::new(Node::Ue), Toy::default(), NoCrypto);
    pair.world.add_address(device, Host::Ip(ip.parse().unwrap()));
    device
}

#[test]
fn what_is_on_its_way_to_a_node_that_has_gone_reaches_nobody() {
    let mut pair = Pair::over(&slow(), 1);
    let order = Order::Send(udp(addr(GW[0]), addr(UE[0]), vec![7]));
    pair.world.command_at(ms(0), pair.gw, order);
    pair.world.command_at(ms(1500), pair.ue, Order::WakeAt(None));
    assert_eq!(pair.world.run_until(ms(500), &mut NoTrace), None);
    pair.world.remove_node(pair.ue, &[pair.gw], &hosts(UE));
    // The place is not free while a datagram and a command name it; then it is.
    let second = arrive(&mut pair, "10.0.0.3");
    assert_ne!(second, pair.ue);
    assert_eq!(pair.run(), []);
    let third = arrive(&mut pair, UE[0]);
    assert_eq!(third, pair.ue);
    pair.world.add_link(third, pair.gw, &slow());
    pair.send_at(ms(5000), vec![8]);
    assert_eq!(pair.run(), [(ms(6000), pair.gw, News::Got(vec![8]))]);
}

#[test]
fn a_node_that_has_gone_has_no_ticks_and_no_events() {
    let mut pair = Pair::over(&slow(), 1);
    pair.world.command(pair.ue, Order::WakeAt(Some(ms(10))));
    assert_eq!(pair.world.run_until(ms(5), &mut NoTrace), None);
    let host = pair.world.remove_node(pair.ue, &[pair.gw], &hosts(UE));
    assert!(!host.echo);
    assert_eq!((pair.run(), pair.world.next_at()), (vec![], None));
}

#[test]
fn an_address_that_another_node_has_by_now_stays_with_it() {
    let mut pair = Pair::over(&slow(), 1);
    let other = arrive(&mut pair, UE[0]);
    pair.world.add_link(other, pair.gw, &slow());
    pair.world.remove_node(pair.ue, &[pair.gw], &hosts(UE));
    pair.world.command(pair.gw, Order::Send(udp(addr(GW[0]), addr(UE[0]), vec![1])));
    assert_eq!(pair.run(), [(ms(1000), other, News::Got(vec![1]))]);
}

#[test]
fn two_devices_on_one_link_wait_for_each_other() {
    // A thousand bytes with headers take a second.
    let rate = Direction { rate_bits_per_s: Some(8000), ..Direction::default() };
    let arrivals = |is_shared: bool| {
        let mut pair = Pair::through(rate.clone());
        let other = arrive(&mut pair, "10.0.0.3");
        if is_shared {
            pair.world.share_link(other, pair.gw, [pair.ue, pair.gw]);
        } else {
            pair.world.add_link(
                other,
                pair.gw,
                &LinkConfig { a_to_b: rate.clone(), ..LinkConfig::default() },
            );
        }
        for (node, ip) in [(pair.ue, UE[0]), (other, "10.0.0.3")] {
            pair.world.command(node, Order::Send(udp(addr(ip), addr(GW[0]), vec![0; 972])));
        }
        pair.arrivals_ns()
    };
    assert_eq!(arrivals(false), [1_000_000_000; 2]);
    assert_eq!(arrivals(true), [1_000_000_000, 2_000_000_000]);
}

#[test]
fn a_shared_link_is_there_until_the_last_has_gone() {
    let mut pair = Pair::over(&slow(), 1);
    let other = arrive(&mut pair, "10.0.0.3");
    pair.world.share_link(other, pair.gw, [pair.ue, pair.gw]);
    pair.world.remove_node(pair.ue, &[pair.gw], &hosts(UE));
    pair.world.command(other, Order::Send(udp(addr("10.0.0.3"), addr(GW[0]), vec![1])));
    assert_eq!(pair.run(), [(ms(1000), pair.gw, News::Got(vec![1]))]);
}

/// Two gateways have one address, and each of two devices has a link to one of them.
fn behind_one_address(pair: &mut Pair) -> [NodeIndex; 2] {
    let gateway = pair.world.add_node(NodeConfig::new(Node::Gw), Toy::default(), NoCrypto);
    hosts(GW).into_iter().for_each(|host| pair.world.share_address(gateway, host));
    let other = arrive(pair, "10.0.0.3");
    pair.world.add_link(other, gateway, &slow());
    [gateway, other]
}

#[test]
fn of_those_that_have_an_address_each_reaches_the_one_it_has_a_link_to() {
    let mut pair = Pair::over(&slow(), 1);
    let [second, other] = behind_one_address(&mut pair);
    for (node, ip, byte) in [(pair.ue, UE[0], 1), (other, "10.0.0.3", 2)] {
        pair.world.command(node, Order::Send(udp(addr(ip), addr(GW[0]), vec![byte])));
    }
    let mut got = pair.run();
    got.sort_by_key(|(_, node, _)| *node);
    assert_eq!(got, [(ms(1000), pair.gw, News::Got(vec![1])), (ms(1000), second, News::Got(vec![2]))]);
}

#[test]
fn who_is_left_has_the_address_of_one_that_has_gone() {
    let mut pair = Pair::over(&slow(), 1);
    let [second, other] = behind_one_address(&mut pair);
    pair.world.remove_node(pair.gw, &[pair.ue], &hosts(GW));
    pair.world.add_link(pair.ue, second, &slow());
    for (node, ip) in [(pair.ue, UE[0]), (other, "10.0.0.3")] {
        pair.world.command(node, Order::Send(udp(addr(ip), addr(GW[0]), vec![3])));
    }
    assert_eq!(pair.run(), [(ms(1000), second, News::Got(vec![3])), (ms(1000), second, News::Got(vec![3]))]);
    pair.world.remove_node(second, &[pair.ue, other], &hosts(GW));
    pair.world.command(other, Order::Send(udp(addr("10.0.0.3"), addr(GW[0]), vec![4])));
    assert_eq!(pair.run(), []);
}

#[test]
fn a_link_is_shared_by_devices_of_several_gateways() {
    let mut pair = Pair::through(Direction { rate_bits_per_s: Some(8000), ..Direction::default() });
    let gateway = pair.world.add_node(NodeConfig::new(Node::Gw), Toy::default(), NoCrypto);
    hosts(GW).into_iter().for_each(|host| pair.world.share_address(gateway, host));
    let other = arrive(&mut pair, "10.0.0.3");
    pair.world.share_link(other, gateway, [pair.ue, pair.gw]);
    for (node, ip) in [(pair.ue, UE[0]), (other, "10.0.0.3")] {
        pair.world.command(node, Order::Send(udp(addr(ip), addr(GW[0]), vec![0; 972])));
    }
    let got: Vec<_> = pair.run().into_iter().map(|(at, node, _)| (at, node)).collect();
    assert_eq!(got, [(ms(1000), pair.gw), (ms(2000), gateway)]);
}

#[test]
fn a_queue_is_as_long_as_it_was_over_time() {
    let gateway = NodeConfig { name: Node::Gw, cores: 1, queue_datagrams_max: 100 };
    let mut pair = Pair::metered(&LinkConfig::default(), 1, Fixed(vec![Duration::ZERO, millis(10)]), gateway);
    (0..4).for_each(|_| pair.send_at(Time::ZERO, vec![0]));
    while pair.world.run_until(ms(60), &mut NoTrace).is_some() {}
    // Three wait for 10 ms, two for 10 ms, one for 10 ms: 60 of 60 ms.
    let used = pair.world.take_queue_use(pair.gw);
    assert_eq!((used.mean, used.max), (1.0, 3));
    while pair.world.run_until(ms(100), &mut NoTrace).is_some() {}
    assert_eq!(pair.world.take_queue_use(pair.gw).max, 0);
}
