//! Teardown of SAs: deleted by either side, or because the peer is dead.

use keytoll_ike::Command;

use crate::support::lab::{only, psk, seconds};
use crate::support::{Bench, Side, check};

#[test]
fn either_side_closes_the_ike_sa() {
    for side in Side::BOTH {
        let mut bench = Bench::new(psk()).established();
        bench.ladder.clear();
        let sa = bench.sa(side);
        bench.command(side, Command::Delete(sa));
        bench.settle();
        if side == Side::R {
            check(
                &bench,
                "
                r -> i  INFORMATIONAL request  SK D
                r  child down
                r  closed: deleted
                i -> r  INFORMATIONAL response  SK
                i  child down
                i  closed: deleted
            ",
            );
        }
        assert_eq!((bench.closures(Side::I), bench.closures(Side::R)), (vec!["deleted"], vec!["deleted"]));
        bench.assert_nothing_remains();
    }
}

#[test]
fn the_response_to_a_delete_is_retransmitted_as_long_as_needed() {
    let mut bench = Bench::new(psk()).established();
    bench.ladder.clear();
    let sa = bench.sa(Side::I);
    bench.command(Side::I, Command::Delete(sa));
    bench.next_fault(crate::support::Fault::Lost);
    bench.run_for(seconds(10));
    check(
        &bench,
        "
        i -> r  INFORMATIONAL request  SK D
        i  child down
        i  closed: deleted
        r x> i  INFORMATIONAL response  SK  lost
        r  child down
        r  closed: deleted
        i -> r  INFORMATIONAL request  SK D  again
        r -> i  INFORMATIONAL response  SK  again
    ",
    );
    bench.assert_nothing_remains();
}

#[test]
fn a_probe_is_answered() {
    let mut bench = Bench::new(psk()).established();
    bench.ladder.clear();
    let sa = bench.sa(Side::R);
    bench.command(Side::R, Command::Probe(sa));
    bench.settle();
    check(
        &bench,
        "
        r -> i  INFORMATIONAL request  SK
        i -> r  INFORMATIONAL response  SK
    ",
    );
}

#[test]
fn silence_is_probed_and_traffic_of_the_peer_postpones_it() {
    let (mut i, r) = psk();
    only(&mut i).liveness_after = Some(seconds(30));
    let mut bench = Bench::new((i, r)).established();
    bench.ladder.clear();
    bench.run_for(seconds(20));
    let sa = bench.sa(Side::R);
    bench.command(Side::R, Command::Probe(sa));
    bench.run_for(seconds(29));
    assert_eq!(bench.ladder.to_string().lines().count(), 2, "the peer's own probe proves that it lives");
    bench.run_for(seconds(2));
    check(
        &bench,
        "
        r -> i  INFORMATIONAL request  SK
        i -> r  INFORMATIONAL response  SK
        i -> r  INFORMATIONAL request  SK
        r -> i  INFORMATIONAL response  SK
    ",
    );
}

#[test]
fn a_dead_peer_is_noticed() {
    let (mut i, mut r) = psk();
    only(&mut i).liveness_after = Some(seconds(30));
    only(&mut r).liveness_after = Some(seconds(30));
    let mut bench = Bench::new((i, r)).established();
    bench.cut.insert(Side::R, true);
    bench.ladder.clear();
    bench.run_for(seconds(30 + 166));
    assert_eq!(bench.closures(Side::I), ["timeout"]);
    bench.assert_nothing_remains();
    assert_eq!(bench.closures(Side::R), ["timeout"]);
}

/// A peer that never answers a DELETE does not occupy us for ever.
#[test]
fn a_deletion_nobody_answers() {
    let mut bench = Bench::new(psk()).established();
    bench.cut.insert(Side::R, true);
    bench.ladder.clear();
    let sa = bench.sa(Side::I);
    bench.command(Side::I, Command::Delete(sa));
    bench.assert_nothing_remains();
    assert_eq!((bench.closures(Side::I), bench.closures(Side::R)), (vec!["deleted"], vec!["deleted"]));
}
