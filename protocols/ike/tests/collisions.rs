//! Collisions: both sides send requests at the same time. Read RFC 7296 §2.8.1, §2.8.2 and §2.25 first.
//!
//! Five collisions are drawn as ladders. All others, in every order of arrival and with any one datagram lost, are only checked:
//! in the end both sides hold the same SAs, and nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a test: it may fail and say why"
)]

use crate::support;

use std::time::Duration;

use keytoll_ike::{Command, SaId};
use support::lab::{psk, seconds};
use support::{Bench, Fault, Side, check};

fn quiet() -> Bench {
    let mut bench = Bench::null(psk(), 1).established();
    bench.ladder.clear();
    bench
}

/// A request of a side, concerning its only SA and child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    NewChild,
    RekeyChild,
    RekeyIke,
    DeleteChild,
    Delete,
    Probe,
}

impl Wish {
    const ALL: [Self; 6] =
        [Self::NewChild, Self::RekeyChild, Self::RekeyIke, Self::DeleteChild, Self::Delete, Self::Probe];

    const fn command(self, sa: SaId, child: u32) -> Command {
        match self {
            Self::NewChild => Command::CreateChild(sa),
            Self::RekeyChild => Command::RekeyChild(sa, child),
            Self::RekeyIke => Command::RekeyIke(sa),
            Self::DeleteChild => Command::DeleteChild(sa, child),
            Self::Delete => Command::Delete(sa),
            Self::Probe => Command::Probe(sa),
        }
    }
}

fn wish(bench: &mut Bench, side: Side, wish: Wish) {
    let (sa, child) = (bench.sa(side), bench.child(side));
    bench.command(side, wish.command(sa, child));
}

/// Both at once, drawn until everything has settled.
fn at_once(i: Wish, r: Wish) -> Bench {
    let mut bench = quiet();
    wish(&mut bench, Side::I, i);
    wish(&mut bench, Side::R, r);
    bench.run_for(seconds(1));
    bench
}

#[test]
fn both_rekey_the_same_child() {
    let bench = at_once(Wish::RekeyChild, Wish::RekeyChild);
    check(
        &bench,
        "
        i -> r  CREATE_CHILD_SA request  SK N SA Nonce TSi TSr
        r -> i  CREATE_CHILD_SA request  SK N SA Nonce TSi TSr
        r -> i  CREATE_CHILD_SA response  SK SA Nonce TSi TSr
        r  child rekeyed: aes128gcm16
        i -> r  CREATE_CHILD_SA response  SK SA Nonce TSi TSr
        i  child rekeyed: aes128gcm16
        i  child rekeyed: aes128gcm16
        i -> r  INFORMATIONAL request  SK D
        r  child rekeyed: aes128gcm16
        r -> i  INFORMATIONAL request  SK D
        r  child down
        r -> i  INFORMATIONAL response  SK D
        i  child down
        i -> r  INFORMATIONAL response  SK D
        i  child down
        r  child down
    ",
    );
    bench.assert_agreement();
}

#[test]
fn both_rekey_the_ike_sa() {
    let mut bench = at_once(Wish::RekeyIke, Wish::RekeyIke);
    check(
        &bench,
        "
        i -> r  CREATE_CHILD_SA request  SK SA Nonce KE
        r -> i  CREATE_CHILD_SA request  SK SA Nonce KE
        r -> i  CREATE_CHILD_SA response  SK SA Nonce KE
        i -> r  CREATE_CHILD_SA response  SK SA Nonce KE
        i  rekeyed
        i -> r  INFORMATIONAL request  SK D
        r -> i  INFORMATIONAL request  SK D
        r  rekeyed
        r -> i  INFORMATIONAL response  SK
        i -> r  INFORMATIONAL response  SK
    ",
    );
    bench.run_for(seconds(300));
    bench.assert_agreement();
}

#[test]
fn one_rekeys_the_child_the_other_closes_it() {
    let bench = at_once(Wish::RekeyChild, Wish::DeleteChild);
    check(
        &bench,
        "
        i -> r  CREATE_CHILD_SA request  SK N SA Nonce TSi TSr
        r -> i  INFORMATIONAL request  SK D
        r -> i  CREATE_CHILD_SA response  SK N
        i  child down
        i -> r  INFORMATIONAL response  SK D
        r  child down
    ",
    );
    assert_eq!(bench.disagreement(), None);
}

#[test]
fn one_wants_a_child_the_other_rekeys_the_ike_sa() {
    let mut bench = at_once(Wish::NewChild, Wish::RekeyIke);
    check(
        &bench,
        "
        i -> r  CREATE_CHILD_SA request  SK SA Nonce TSi TSr
        r -> i  CREATE_CHILD_SA request  SK SA Nonce KE
        r -> i  CREATE_CHILD_SA response  SK N
        i -> r  CREATE_CHILD_SA response  SK N
        i  child failed: TEMPORARY_FAILURE
    ",
    );
    assert_eq!(bench.refusals(Side::I), ["TEMPORARY_FAILURE"]);
    bench.run_for(seconds(300));
    bench.assert_agreement();
    wish(&mut bench, Side::I, Wish::NewChild);
    bench.settle();
    assert_eq!(bench.i.books.all_children().len(), 2, "later it is granted");
    assert_eq!(bench.disagreement(), None);
}

#[test]
fn both_close_the_ike_sa() {
    let mut bench = at_once(Wish::Delete, Wish::Delete);
    check(
        &bench,
        "
        i -> r  INFORMATIONAL request  SK D
        i  child down
        i  closed: deleted
        r -> i  INFORMATIONAL request  SK D
        r  child down
        r  closed: deleted
        r -> i  INFORMATIONAL response  SK
        i -> r  INFORMATIONAL response  SK
    ",
    );
    bench.assert_nothing_remains();
}

/// How long after the first request the second one comes: their messages meet in every possible way.
const OFFSETS_MS: [u64; 8] = [0, 4, 8, 12, 16, 20, 24, 32];

/// Faults: none, or one of the next datagrams is lost or delayed.
fn disturbances() -> Vec<Option<(usize, Fault)>> {
    let faults = [
        Fault::Lost,
        Fault::Late(Duration::from_millis(7)),
        Fault::Late(Duration::from_millis(55)),
        Fault::Late(Duration::from_secs(5)),
    ];
    let each = (1..=8).flat_map(|n| faults.map(|fault| Some((n, fault))));
    std::iter::once(None).chain(each).collect()
}

/// Every pair of requests, in every order of arrival, with any one datagram lost or delayed, and with different nonces to
/// decide the winner: 38 016 cases.
#[test]
fn every_collision_settles() {
    for first in Wish::ALL {
        for second in Wish::ALL {
            for offset in OFFSETS_MS {
                for disturbance in disturbances() {
                    for (side, seed) in [(Side::I, 1), (Side::I, 2), (Side::R, 1), (Side::R, 2)] {
                        let bench = Bench::null(psk(), seed).established();
                        meet(bench, (side, first), (offset, second), disturbance);
                    }
                }
            }
        }
    }
}

fn meet(
    mut bench: Bench,
    (side, first): (Side, Wish),
    (offset_ms, second): (u64, Wish),
    disturbance: Option<(usize, Fault)>,
) {
    if let Some((n, fault)) = disturbance {
        bench = bench.fault(4 + n, fault);
    }
    let child = bench.child(side.peer());
    bench.ladder.clear();
    wish(&mut bench, side, first);
    bench.run_for(Duration::from_millis(offset_ms));
    for sa in bench.seat(side.peer()).books.sas() {
        bench.command(side.peer(), second.command(sa, child));
    }
    bench.run_for(seconds(600));
    if let Some(wrong) = bench.disagreement() {
        let drawn = &bench.ladder;
        panic!("{side:?} {first:?}, {offset_ms} ms later {second:?}, {disturbance:?}: {wrong}\n{drawn}");
    }
}
