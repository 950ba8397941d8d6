//! Memory: of a run of a million authentications, and of SAs that only exist.

use std::cell::RefCell;

use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::Crypto;
use keytoll_engine::trace::Node;
use keytoll_esp::{Inbound, Outbound};
use keytoll_ike::ChildSa;
use keytoll_lab::{Discard, Memory};
use keytoll_native::heap;

use crate::cases;
use crate::figures::repetitions;
use crate::idle;
use crate::pair::{Pair, Seat};
use crate::throughput::{plan, run};

/// Resident memory after a tenth of a long run and at its end.
pub(crate) fn of_a_long_run() {
    let samples = repetitions(1_000_000, 100);
    let seen = RefCell::new((0, Vec::new()));
    run(&plan("ikev2-psk", "null", samples), &mut Discard, &|| {
        let (count, resident) = &mut *seen.borrow_mut();
        *count += 1;
        if *count == samples / 10 || *count == samples {
            resident.push(resident_kib());
        }
    });
    let resident = seen.into_inner().1;
    println!("resident memory of {samples} null authentications");
    println!("  {:>9} KiB after a tenth\n  {:>9} KiB at the end\n", resident[0], resident[1]);
}

/// VmRSS of proc(5).
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has proc(5)");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it tells VmRSS");
    line.trim().trim_end_matches(" kB").parse().expect("in kB")
}

/// What the heap holds for each of many IKE SAs with a child, between one endpoint and another.
pub(crate) fn of_idle_sas() {
    let count = repetitions(10_000, 20);
    println!("heap per idle SA with one child, {count} between two endpoints, bytes");
    println!("  {:24}{:>12}{:>12}{:>22}", "", "endpoint", "ESP pair", "blocks in setting up");
    set_up("null", count, || Null);
    set_up("real", count, Real::default);
    for (node, bytes) in of_idle_hosts() {
        println!("  {:24}{bytes:>12}  endpoint, ESP pair and its place in the host's tables", node.name());
    }
}

/// The same as `keytoll run` reports it: what an SA adds to a whole host.
fn of_idle_hosts() -> [(Node, u64); 2] {
    let mut memory = Memory::default();
    run(&plan("ikev2-psk", "null", 101), &mut memory, &|| {});
    [Node::Ue, Node::Gw].map(|node| (node, idle::sa_bytes(&memory, node)))
}

fn set_up<C: Crypto>(crypto: &str, count: u32, provider: impl Fn() -> C) {
    let mut pair = Pair::new(cases::PSK.configs(), provider);
    // What the crypto library and the endpoint need once.
    pair.authenticate();
    pair.close();
    let live = [&pair.initiator, &pair.responder].map(|seat| heap::live(seat.heap_role));
    let before = books(&pair);
    (0..count).for_each(|_| pair.authenticate());
    let blocks = books(&pair);
    pair.idle();
    let sides = [("initiator", &mut pair.initiator), ("responder", &mut pair.responder)];
    for (index, (side, seat)) in sides.into_iter().enumerate() {
        let esp = install(seat);
        let with_esp = heap::live(seat.heap_role);
        drop(esp);
        let endpoint = heap::live(seat.heap_role);
        let each = |sum: i64| sum as f64 / f64::from(count);
        println!(
            "  {:24}{:>12.0}{:>12.0}{:>22.1}",
            format!("{side}, {crypto} crypto"),
            each(endpoint - live[index]),
            each(with_esp - endpoint),
            (blocks[index] - before[index]) as f64 / f64::from(count),
        );
    }
}

/// Blocks allocated so far, by side.
fn books<C>(pair: &Pair<C>) -> [u64; 2] {
    [pair.initiator.heap_role, pair.responder.heap_role].map(heap::allocations)
}

/// Makes of the keys an endpoint gave out what a host keeps of them, and nothing else.
fn install<C>(seat: &mut Seat<C>) -> Vec<(Inbound, Outbound)> {
    let _booked = heap::enter(seat.heap_role);
    seat.established = Vec::new();
    let children = std::mem::take(&mut seat.children);
    // Not collected in place, which would keep the larger buffer of the keys and count it.
    let mut pairs = Vec::with_capacity(children.len());
    pairs.extend(children.into_iter().map(esp));
    pairs
}

fn esp(child: ChildSa) -> (Inbound, Outbound) {
    let (inbound_spi, outbound_spi) = (child.pair.inbound_spi, child.pair.outbound_spi);
    let (inbound, outbound) = child.pair.into_keys();
    (Inbound::new(inbound_spi, inbound), Outbound::new(outbound_spi, outbound))
}
