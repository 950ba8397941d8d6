//! Nodes that are busy, their queues, their ticks, and the stepping of the world.

use std::time::Duration;

use keytoll_engine::Time;
use keytoll_engine::trace::{Fact, Fate, NoTrace, Node, Record};
use keytoll_sim::{Direction, Free, Limits, LinkConfig, Loss, Meter, NodeConfig, World};

use crate::no_crypto::NoCrypto;
use crate::toy::{Fixed, GW, News, Order, Pair, TOY, Toy, UE, Warm, addr, millis, ms, udp};

/// A gateway that takes 10 ms for any input.
fn slow_gateway(cores: u32, queue_datagrams_max: usize) -> Pair<Fixed> {
    let gateway = NodeConfig { name: Node::Gw, cores, queue_datagrams_max };
    Pair::metered(&LinkConfig::default(), 1, Fixed(vec![Duration::ZERO, millis(10)]), gateway)
}

fn facts<M: Meter<NoCrypto>>(pair: &Pair<M>, node: Node) -> Vec<(u64, Fact)> {
    let of_node = pair.records.iter().filter(|record| record.node == node);
    of_node.map(|record| (record.at_ns / 1_000_000, record.fact.clone())).collect()
}

#[test]
fn inputs_wait_for_a_core() {
    let finished = |cores| {
        let mut pair = slow_gateway(cores, 100);
        (0..4).for_each(|i| pair.send_at(ms(i), vec![0]));
        pair.arrivals_ns().into_iter().map(|at| at / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(finished(1), [10, 20, 30, 40]);
    assert_eq!(finished(2), [10, 11, 20, 21]);
    assert_eq!(finished(4), [10, 11, 12, 13]);
    // A node without cores would never do anything: it has one.
    assert_eq!(finished(0), finished(1));
}

#[test]
fn a_meter_learns_which_inputs_have_waited_and_how_long_the_node_was_idle_before_the_others() {
    let mut pair = Pair::metered(&LinkConfig::default(), 1, Warm::default(), NodeConfig::new(Node::Gw));
    [0, 1, 2, 12, 30, 1039, 2060].into_iter().for_each(|at| pair.send_at(ms(at), vec![0]));
    let ends: Vec<_> = pair.arrivals_ns().into_iter().map(|at| at / 1_000_000).collect();
    let told = "the one at 12 ms arrives just when the core is free, the last one a second after it was";
    assert_eq!(ends, [10, 11, 12, 22, 40, 1049, 2080], "{told}");
}

#[test]
fn a_meter_learns_how_busy_the_cores_have_been_lately() {
    let seen = |cores| {
        let gateway = NodeConfig { cores, ..NodeConfig::new(Node::Gw) };
        let mut pair = Pair::metered(&LinkConfig::default(), 1, Warm::default(), gateway);
        [0, 1, 40, 240].into_iter().for_each(|at| pair.send_at(ms(at), vec![0]));
        pair.run();
        let seen = pair.world.meter_mut().utilisations.clone();
        seen.into_iter().map(|share| (share * 1000.0).round()).collect::<Vec<_>>()
    };
    assert_eq!(seen(1), [0.0, 90.0, 70.0, 0.0], "a tenth of a second counts");
    assert_eq!(seen(2), [0.0, 49.0, 61.0, 0.0], "the second core is free for the second input");
}

#[test]
fn a_node_that_sleeps_wakes_up_before_it_computes() {
    let meter = Warm { waking: millis(3), ..Warm::default() };
    let mut pair = Pair::metered(&LinkConfig::default(), 1, meter, NodeConfig::new(Node::Gw));
    [0, 1, 14, 20].into_iter().for_each(|at| pair.send_at(ms(at), vec![0]));
    let ends: Vec<_> = pair.arrivals_ns().into_iter().map(|at| at / 1_000_000).collect();
    assert_eq!(ends, [13, 14, 27, 28], "inputs that have waited do not wait for it again");
    let computed = |(_, fact): (u64, Fact)| match fact {
        Fact::Computed { busy_ns } => Some(busy_ns / 1_000_000),
        _ => None,
    };
    let busy: Vec<_> = facts(&pair, Node::Gw).into_iter().filter_map(computed).collect();
    assert_eq!(busy, [10, 1, 10, 1], "to wake up is no work");
}

#[test]
fn what_a_node_does_after_its_outputs_keeps_the_next_input_waiting_and_nobody_else() {
    let meter = Warm { after: millis(4), ..Warm::default() };
    let mut pair = Pair::metered(&LinkConfig::default(), 1, meter, NodeConfig::new(Node::Gw));
    [0, 7, 15, 30].into_iter().for_each(|at| pair.send_at(ms(at), vec![0]));
    let ends: Vec<_> = pair.arrivals_ns().into_iter().map(|at| at / 1_000_000).collect();
    assert_eq!(ends, [6, 10, 21, 36], "the second takes a millisecond, all of it after its output");
}

#[test]
fn results_of_a_computation_come_out_at_its_end() {
    let mut pair = slow_gateway(1, 100);
    pair.world.with_host(pair.gw, |gateway| gateway.echo = true);
    pair.send_at(ms(5), vec![0]);
    let got = || News::Got(vec![0]);
    assert_eq!(pair.run(), [(ms(15), pair.gw, got()), (ms(15), pair.ue, got())]);
    let [computed, usable, carried] = facts(&pair, Node::Gw).try_into().unwrap();
    assert_eq!(computed, (15, Fact::Computed { busy_ns: 10_000_000 }));
    assert_eq!(usable, (15, Fact::Usable));
    assert!(matches!(carried, (15, Fact::Carried { .. })));
    // Computation at the device takes no time: nothing is recorded.
    assert!(facts(&pair, Node::Ue).iter().all(|(_, fact)| !matches!(fact, Fact::Computed { .. })));
}

#[test]
fn triggered_is_noted_with_the_moment_the_trigger_came() {
    let mut pair = slow_gateway(1, 100);
    let order = || Order::Send(udp(addr(GW[0]), addr(UE[0]), vec![0]));
    (0..2).for_each(|_| pair.world.command_at(ms(3), pair.gw, order()));
    pair.run();
    let gateway = facts(&pair, Node::Gw);
    let triggered = gateway.iter().filter(|(_, fact)| *fact == Fact::Triggered).map(|(at, _)| *at);
    assert_eq!(triggered.collect::<Vec<_>>(), [3, 3]);
    let sent = gateway.iter().filter(|(_, fact)| matches!(fact, Fact::Carried { .. })).map(|(at, _)| *at);
    assert_eq!(sent.collect::<Vec<_>>(), [13, 23]);
}

#[test]
fn a_full_node_discards_datagrams_but_no_commands() {
    let mut pair = slow_gateway(1, 2);
    (0..5).for_each(|_| pair.send_at(Time::ZERO, vec![0]));
    (0..5).for_each(|_| pair.world.command_at(ms(1), pair.gw, Order::WakeAt(None)));
    assert_eq!(pair.arrivals_ns().len(), 3);
    let gateway = facts(&pair, Node::Gw);
    let full = Fact::Discarded { protocol: TOY, why: "node queue full".into() };
    assert_eq!(gateway.iter().filter(|(at, fact)| *at == 0 && *fact == full).count(), 2);
    assert_eq!(gateway.iter().filter(|(_, fact)| matches!(fact, Fact::Computed { .. })).count(), 8);
}

#[test]
fn a_node_that_was_full_takes_datagrams_again() {
    let mut pair = slow_gateway(1, 1);
    // Every 10 ms one ends, one starts and one joins the queue.
    (0..20).for_each(|i| pair.send_at(ms(10 * i) + millis(1), vec![0]));
    pair.send_at(ms(2), vec![0]);
    assert_eq!(pair.arrivals_ns().len(), 21);
}

/// Orders the gateway at the given milliseconds to have the given deadlines; returns when it was ticked.
fn ticks(orders: &[(u64, Option<u64>)]) -> Vec<u64> {
    let mut pair = Pair::through(Direction::default());
    for &(at, deadline) in orders {
        pair.world.command_at(ms(at), pair.gw, Order::WakeAt(deadline.map(ms)));
    }
    pair.arrivals_ns().into_iter().map(|at| at / 1_000_000).collect()
}

#[test]
fn ticks_come_at_the_deadline_that_holds_then() {
    assert_eq!(ticks(&[(0, Some(10))]), [10]);
    assert_eq!(ticks(&[(0, Some(10)), (1, Some(20))]), [20], "put off: the stale tick does nothing");
    assert_eq!(ticks(&[(0, Some(20)), (1, Some(10))]), [10], "brought forward");
    assert_eq!(ticks(&[(0, Some(20)), (1, Some(10)), (12, Some(20))]), [10, 20]);
    assert_eq!(ticks(&[(0, Some(10)), (1, None)]), [0_u64; 0], "called off");
    assert_eq!(ticks(&[(5, Some(1))]), [5], "a deadline that is past is due now");
}

#[test]
fn a_tick_waits_for_a_core_like_anything_else_and_only_once() {
    let mut pair = slow_gateway(1, 100);
    pair.world.command_at(ms(0), pair.gw, Order::WakeAt(Some(ms(12))));
    [10, 11, 13].into_iter().for_each(|at| pair.send_at(ms(at), vec![0]));
    let gw = pair.gw;
    let got = |at| (ms(at), gw, News::Got(vec![0]));
    // The tick of 12 ms comes behind the datagrams of 10 and 11 ms.
    assert_eq!(pair.run(), [got(20), got(30), (ms(40), gw, News::Ticked), got(50)]);
}

#[test]
fn a_tick_that_waits_is_not_asked_for_again() {
    let mut pair = slow_gateway(1, 100);
    pair.world.command_at(ms(0), pair.gw, Order::WakeAt(Some(ms(5))));
    assert_eq!(pair.world.run_until(ms(6), &mut NoTrace), None);
    pair.world.with_host(pair.gw, |_| ());
    assert_eq!(pair.world.next_at(), Some(ms(10)));
}

#[test]
fn a_tick_called_off_while_it_waits_does_not_come() {
    let mut pair = slow_gateway(1, 100);
    pair.world.command_at(ms(0), pair.gw, Order::WakeAt(Some(ms(12))));
    pair.world.command_at(ms(9), pair.gw, Order::WakeAt(Some(ms(15))));
    pair.world.command_at(ms(11), pair.gw, Order::WakeAt(None));
    assert_eq!(pair.run(), []);
}

#[test]
fn a_host_that_never_clears_its_deadline_does_not_stop_the_clock() {
    let mut pair = Pair::through(Direction::default());
    pair.world.with_host(pair.gw, |gateway| gateway.clings = true);
    pair.world.command(pair.gw, Order::WakeAt(Some(ms(1))));
    let ticks = std::iter::from_fn(|| pair.world.run_until(ms(2), &mut NoTrace)).count();
    // One tick a microsecond.
    assert_eq!((ticks, pair.world.now()), (1001, ms(2)));
}

#[test]
fn the_clock_advances_to_the_given_time() {
    let mut pair = Pair::through(Direction { delay: millis(10), ..Direction::default() });
    pair.send_at(Time::ZERO, vec![0]);
    assert_eq!(pair.world.run_until(ms(9), &mut NoTrace), None);
    assert_eq!((pair.world.now(), pair.world.next_at()), (ms(9), Some(ms(10))));
    assert!(pair.world.run_until(ms(10), &mut NoTrace).is_some(), "the end is included");
    assert_eq!(pair.world.next_at(), None);
    assert_eq!(pair.world.run_until(Time::MAX, &mut NoTrace), None);
    assert_eq!(pair.world.now(), ms(10), "there is nothing to wait for");
    // A command for the past is executed now.
    pair.send_at(ms(1), vec![0]);
    assert_eq!(pair.run(), [(ms(20), pair.gw, News::Got(vec![0]))]);
}

#[test]
fn no_more_datagrams_are_in_flight_than_the_limit() {
    let mut pair = Pair::through(Direction { delay: millis(10), ..Direction::default() });
    pair.world.set_limits(Limits { datagrams_in_flight_max: 3, ..Limits::default() });
    (0..5).for_each(|_| pair.send_at(Time::ZERO, vec![0]));
    pair.send_at(ms(10), vec![0]);
    assert_eq!(pair.arrivals_ns().len(), 3, "the sixth is sent before the first three have arrived");
    assert_eq!(pair.fates().iter().filter(|&&fate| fate == Fate::QueueFull).count(), 3);
}

#[test]
fn records_belong_to_the_sample_in_which_their_computation_began() {
    let mut pair = slow_gateway(1, 100);
    pair.world.set_sample(7);
    pair.send_at(Time::ZERO, vec![0]);
    assert_eq!(pair.world.run_until(ms(5), &mut pair.records), None);
    pair.world.set_sample(8);
    pair.send_at(ms(20), vec![0]);
    pair.run();
    let samples: Vec<u32> = pair
        .records
        .iter()
        .filter(|record| record.fact == Fact::Usable)
        .map(|record| record.sample)
        .collect();
    assert_eq!(samples, [7, 8]);
}

#[test]
fn devices_of_one_name_have_links_that_draw_apart() {
    let mut world = World::new(1, Free);
    let gw = world.add_node(NodeConfig::new(Node::Gw), Toy::default(), NoCrypto);
    world.add_address(gw, addr(GW[0]).ip().unwrap());
    let lossy = Direction { loss: Loss::Uniform(0.5), ..Direction::default() };
    for number in 1..=2 {
        let ue = world.add_node(NodeConfig::new(Node::Ue), Toy::default(), NoCrypto);
        world.add_link(gw, ue, &LinkConfig::symmetric(lossy.clone()));
        for i in 0..64 {
            let datagram = udp(addr(UE[0]), addr(GW[0]), vec![number]);
            world.command_at(ms(i), ue, Order::Send(datagram));
        }
    }
    let mut arrived = [0_u64; 2];
    while let Some((at, _, News::Got(bytes))) = world.run_until(Time::MAX, &mut Vec::<Record>::new()) {
        arrived[usize::from(bytes[0]) - 1] |= 1 << (at.as_nanos() / 1_000_000);
    }
    assert_ne!(arrived[0], arrived[1]);
    assert!(arrived.iter().all(|bits| (12..52).contains(&bits.count_ones())), "{arrived:x?}");
}
