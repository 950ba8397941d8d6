//! CREATE_CHILD_SA for children: additional ones, and rekeying.

use keytoll_ike::{Command, Config};

use crate::support::books::assert_crosswise;
use crate::support::lab::{self, both, esp, only_child, psk};
use crate::support::{Bench, Side, check};

fn with_children(suites: &'static str) -> (Config, Config) {
    both(psk(), move |connection| connection.child.as_mut().unwrap().suites = esp(suites))
}

fn quiet(configs: (Config, Config)) -> Bench {
    let mut bench = Bench::new(configs).established();
    bench.ladder.clear();
    bench
}

#[test]
fn one_more_child_from_either_side() {
    for side in Side::BOTH {
        let mut bench = quiet(psk());
        let sa = bench.sa(side);
        bench.command(side, Command::CreateChild(sa));
        bench.settle();
        let (i, r) = (bench.i.books.all_children(), bench.r.books.all_children());
        assert_eq!((i.len(), r.len()), (2, 2), "{}", bench.ladder);
        for ((_, i), (_, r)) in i.iter().zip(&r) {
            assert_crosswise(i, r);
        }
        assert!(i[0].1.pair.inbound != i[1].1.pair.inbound, "each child has keys of its own");
    }
}

#[test]
fn a_child_is_rekeyed() {
    let mut bench = quiet(psk());
    let old = bench.i.books.only_child().clone();
    let (sa, child) = (bench.sa(Side::I), bench.child(Side::I));
    bench.command(Side::I, Command::RekeyChild(sa, child));
    bench.settle();
    check(
        &bench,
        "
        i -> r  CREATE_CHILD_SA request  SK N SA Nonce TSi TSr
        r -> i  CREATE_CHILD_SA response  SK SA Nonce TSi TSr
        r  child rekeyed: aes128gcm16
        i  child rekeyed: aes128gcm16
        i -> r  INFORMATIONAL request  SK D
        r  child down
        r -> i  INFORMATIONAL response  SK D
        i  child down
    ",
    );
    bench.assert_agreement();
    assert!(bench.i.books.only_child().pair.inbound != old.pair.inbound, "the keys are new");
}

#[test]
fn the_responder_may_rekey_too_and_with_perfect_forward_secrecy() {
    let mut bench = quiet(with_children("aes128gcm16-x25519"));
    let (sa, child) = (bench.sa(Side::R), bench.child(Side::R));
    bench.command(Side::R, Command::RekeyChild(sa, child));
    bench.settle();
    check(
        &bench,
        "
        r -> i  CREATE_CHILD_SA request  SK N SA Nonce KE TSi TSr
        i -> r  CREATE_CHILD_SA response  SK SA Nonce KE TSi TSr
        i  child rekeyed: aes128gcm16-x25519
        r  child rekeyed: aes128gcm16-x25519
        r -> i  INFORMATIONAL request  SK D
        i  child down
        i -> r  INFORMATIONAL response  SK D
        r  child down
    ",
    );
    bench.assert_agreement();
}

#[test]
fn a_group_is_corrected() {
    let (mut i, mut r) = psk();
    only_child(&mut i).suites = esp("aes128gcm16-x25519 aes128gcm16-ecp256");
    only_child(&mut r).suites = esp("aes128gcm16-ecp256");
    let mut bench = quiet((i, r));
    let (sa, child) = (bench.sa(Side::I), bench.child(Side::I));
    bench.command(Side::I, Command::RekeyChild(sa, child));
    bench.settle();
    check(
        &bench,
        "
        i -> r  CREATE_CHILD_SA request  SK N SA Nonce KE TSi TSr
        r -> i  CREATE_CHILD_SA response  SK N
        i -> r  CREATE_CHILD_SA request  SK N SA Nonce KE TSi TSr
        r -> i  CREATE_CHILD_SA response  SK SA Nonce KE TSi TSr
        r  child rekeyed: aes128gcm16-ecp256
        i  child rekeyed: aes128gcm16-ecp256
        i -> r  INFORMATIONAL request  SK D
        r  child down
        r -> i  INFORMATIONAL response  SK D
        i  child down
    ",
    );
    bench.assert_agreement();
}

#[test]
fn a_refused_rekey_leaves_the_old_child() {
    let (mut i, mut r) = psk();
    only_child(&mut i).suites = esp("aes128gcm16-x25519");
    only_child(&mut r).suites = esp("aes128gcm16-ecp256");
    let mut bench = quiet((i, r));
    let (sa, child) = (bench.sa(Side::I), bench.child(Side::I));
    bench.command(Side::I, Command::RekeyChild(sa, child));
    bench.settle();
    check(
        &bench,
        "
        i -> r  CREATE_CHILD_SA request  SK N SA Nonce KE TSi TSr
        r  proposal refused
        r -> i  CREATE_CHILD_SA response  SK N
        i  discards: the peer does not rekey the child
    ",
    );
    bench.run_for(lab::seconds(600));
    assert_eq!(bench.sent.len(), 6, "and it is not asked again");
    bench.assert_agreement();
}

#[test]
fn children_are_rekeyed_by_time() {
    let (mut i, r) = psk();
    only_child(&mut i).rekey_after = Some(lab::seconds(60));
    let mut bench = quiet((i, r));
    bench.run_for(lab::seconds(190));
    let rekeyed = |bench: &mut Bench, side| {
        let events = &bench.seat(side).events;
        events.iter().filter(|event| matches!(event, keytoll_ike::Event::ChildRekeyed { .. })).count()
    };
    assert_eq!((rekeyed(&mut bench, Side::I), rekeyed(&mut bench, Side::R)), (3, 3));
    bench.assert_agreement();
}

#[test]
fn either_side_closes_a_child() {
    for side in Side::BOTH {
        let mut bench = quiet(psk());
        let (sa, child) = (bench.sa(side), bench.child(side));
        bench.command(side, Command::DeleteChild(sa, child));
        bench.settle();
        assert_eq!((bench.i.books.all_children().len(), bench.r.books.all_children().len()), (0, 0));
        assert_eq!((bench.i.endpoint.sa_count(), bench.r.endpoint.sa_count()), (1, 1), "the IKE SA stays");
        if side == Side::I {
            check(
                &bench,
                "
                i -> r  INFORMATIONAL request  SK D
                r  child down
                r -> i  INFORMATIONAL response  SK D
                i  child down
            ",
            );
        }
    }
}

#[test]
fn a_child_under_a_childless_ike_sa() {
    let (mut i, mut r) = psk();
    // The responder announces support of childless initiation because of its first connection.
    let childless = keytoll_ike::config::Connection { child: None, ..r.connections[0].clone() };
    r.connections.insert(0, childless);
    r.connections[0].remote_id = Some(lab::id("somebody.example.org"));
    i.connections[0].child = None;
    let mut bench = Bench::new((i, r)).established();
    bench.ladder.clear();
    let sa = bench.sa(Side::R);
    bench.command(Side::R, Command::CreateChild(sa));
    bench.settle();
    check(
        &bench,
        "
        r -> i  CREATE_CHILD_SA request  SK SA Nonce TSi TSr
        i -> r  CREATE_CHILD_SA response  SK N
        r  child failed: NO_ADDITIONAL_SAS
    ",
    );
    assert_eq!(bench.refusals(Side::R), ["NO_ADDITIONAL_SAS"]);
}

#[test]
fn commands_about_unknown_sas_do_nothing() {
    let mut bench = quiet(psk());
    let sa = bench.sa(Side::I);
    bench.command(Side::I, Command::RekeyChild(sa, 1));
    bench.command(Side::I, Command::DeleteChild(sa, 1));
    bench.command(Side::I, Command::Delete(keytoll_ike::SaId(1)));
    bench.settle();
    check(&bench, "");
    bench.assert_agreement();
}

/// Commanded all at once, executed one after the other: there is one window.
#[test]
fn commands_wait_for_each_other() {
    let mut bench = quiet(psk());
    let (sa, child) = (bench.sa(Side::I), bench.child(Side::I));
    bench.command(Side::I, Command::CreateChild(sa));
    bench.command(Side::I, Command::RekeyChild(sa, child));
    bench.command(Side::I, Command::RekeyIke(sa));
    bench.command(Side::I, Command::Probe(sa));
    bench.command(Side::I, Command::Delete(sa));
    bench.settle();
    check(
        &bench,
        "
        i -> r  CREATE_CHILD_SA request  SK SA Nonce TSi TSr
        r -> i  CREATE_CHILD_SA response  SK SA Nonce TSi TSr
        r  child up: aes128gcm16
        i  child up: aes128gcm16
        i -> r  CREATE_CHILD_SA request  SK N SA Nonce TSi TSr
        r -> i  CREATE_CHILD_SA response  SK SA Nonce TSi TSr
        r  child rekeyed: aes128gcm16
        i  child rekeyed: aes128gcm16
        i -> r  INFORMATIONAL request  SK D
        r  child down
        r -> i  INFORMATIONAL response  SK D
        i  child down
        i -> r  CREATE_CHILD_SA request  SK SA Nonce KE
        r -> i  CREATE_CHILD_SA response  SK SA Nonce KE
        r  rekeyed
        i  rekeyed
        i -> r  INFORMATIONAL request  SK D
        i -> r  INFORMATIONAL request  SK
        r -> i  INFORMATIONAL response  SK
        r -> i  INFORMATIONAL response  SK
        i -> r  INFORMATIONAL request  SK D
        i  child down
        i  child down
        i  closed: deleted
        r -> i  INFORMATIONAL response  SK
        r  child down
        r  child down
        r  closed: deleted
    ",
    );
    bench.assert_nothing_remains();
}
