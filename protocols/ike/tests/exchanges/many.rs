//! Many devices in one endpoint: SAs with terms of their own, and attempts that are given up.

use std::sync::Arc;

use keytoll_engine::Engine;
use keytoll_ike::Command;
use keytoll_ike::config::{Believe, Connection, Prove, Responds};

use crate::support::lab::{self, DEVICE, GATEWAY, connection, id, seconds, secret};
use crate::support::{Bench, Side, check};

/// Two devices with keys of their own, and a gateway that knows both.
fn bench() -> Bench {
    let (mut i, mut r) = lab::psk();
    i.responds = Responds::ToPeers;
    lab::only(&mut r).remote_id = None;
    let own = [("one", "key of one"), ("two", "key of two")];
    lab::only(&mut r).remote =
        Believe::Psk { any: None, by_identity: own.map(|(name, key)| (id(name), secret(key))).into() };
    Bench::new((i, r))
}

fn device(name: &str, key: &str) -> Arc<Connection> {
    let local = Prove::Psk(secret(key));
    Arc::new(Connection { local_id: id(name), local, ..connection(DEVICE, GATEWAY) })
}

#[test]
fn one_endpoint_is_several_devices_each_with_its_own_key() {
    let mut bench = bench();
    for (name, key) in [("one", "key of one"), ("two", "key of two")] {
        bench.initiate_as(device(name, key));
    }
    bench.settle();
    assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (2, 2), "{}", bench.ladder);
    let ladder = bench.ladder.to_string();
    assert!(ladder.contains("established with one") && ladder.contains("established with two"), "{ladder}");
    bench.initiate_as(device("one", "key of two"));
    bench.settle();
    assert_eq!(bench.failures(Side::I), ["AUTHENTICATION_FAILED"], "{}", bench.ladder);
}

/// RFC 7296 §2.8: what an SA was set up with is not needed to replace its keys.
#[test]
fn keys_are_replaced_after_the_terms_are_forgotten() {
    let mut bench = bench();
    bench.initiate_as(device("two", "key of two"));
    bench.settle();
    bench.ladder.clear();
    let sa = bench.sa(Side::I);
    bench.command(Side::I, Command::RekeyIke(sa));
    bench.settle();
    check(
        &bench,
        "
        i -> r  CREATE_CHILD_SA request  SK SA Nonce KE
        r -> i  CREATE_CHILD_SA response  SK SA Nonce KE
        r  rekeyed
        i  rekeyed
        i -> r  INFORMATIONAL request  SK D
        r -> i  INFORMATIONAL response  SK
    ",
    );
    assert!(bench.disagreement_of_books().is_none());
}

#[test]
fn an_attempt_that_is_given_up_is_over_and_says_nothing() {
    let mut bench = bench();
    let sa = bench.initiate_as(device("one", "key of one"));
    bench.i.endpoint.abandon(sa);
    assert_eq!(bench.i.endpoint.sa_count(), 0);
    assert!(bench.i.endpoint.deadline().is_none());
    bench.settle();
    assert_eq!((bench.failures(Side::I).len(), bench.i.books.sa_count()), (0, 0), "{}", bench.ladder);
}

#[test]
fn what_is_established_is_not_given_up_but_closed() {
    let mut bench = bench();
    bench.initiate_as(device("one", "key of one"));
    bench.settle();
    let sa = bench.sa(Side::I);
    bench.i.endpoint.abandon(sa);
    assert_eq!(bench.i.endpoint.sa_count(), 1);
    bench.run_for(seconds(1));
    assert_eq!(bench.closures(Side::R), [""; 0]);
}
