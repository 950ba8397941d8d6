//! Rekeying of an IKE SA, on command and by time, and reauthentication (RFC 4478).

use std::time::Duration;

use keytoll_ike::config::Reauthenticate;
use keytoll_ike::{Command, Config, Event};

use crate::support::lab::{self, both, ike, only, psk, seconds};
use crate::support::{Bench, Side, check, mutants};

fn quiet(configs: (Config, Config)) -> Bench {
    let mut bench = Bench::new(configs).established();
    bench.ladder.clear();
    bench
}

#[test]
fn either_side_rekeys_the_ike_sa() {
    for side in Side::BOTH {
        let mut bench = quiet(psk());
        let (old, child) = (bench.sa(side), bench.i.books.only_child().clone());
        bench.command(side, Command::RekeyIke(old));
        bench.settle();
        assert_ne!(bench.sa(side), old);
        assert_eq!(*bench.i.books.only_child(), child, "children move over as they are");
        if side == Side::I {
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
        }
        bench.run_for(seconds(300));
        bench.assert_agreement();

        bench.ladder.clear();
        for side in Side::BOTH {
            let sa = bench.sa(side);
            bench.command(side, Command::Probe(sa));
            bench.settle();
            bench.command(side, Command::RekeyIke(sa));
            bench.settle();
        }
        bench.run_for(seconds(300));
        bench.assert_agreement();
    }
}

#[test]
fn the_group_of_the_new_keys_is_corrected() {
    let (mut i, mut r) = psk();
    only(&mut i).suites = ike("aes128gcm16-prfsha256-x25519 aes128gcm16-prfsha256-ecp256");
    // They prefer groups in different orders: the requester tries the group of the existing SA.
    only(&mut r).suites = ike("aes128gcm16-prfsha256-ecp256 aes128gcm16-prfsha256-x25519");
    let mut bench = quiet((i, r));
    let sa = bench.sa(Side::R);
    bench.command(Side::R, Command::RekeyIke(sa));
    bench.settle();
    check(
        &bench,
        "
        r -> i  CREATE_CHILD_SA request  SK SA Nonce KE
        i -> r  CREATE_CHILD_SA response  SK N
        r -> i  CREATE_CHILD_SA request  SK SA Nonce KE
        i -> r  CREATE_CHILD_SA response  SK SA Nonce KE
        i  rekeyed
        r  rekeyed
        r -> i  INFORMATIONAL request  SK D
        i -> r  INFORMATIONAL response  SK
    ",
    );
    bench.run_for(seconds(300));
    bench.assert_agreement();
}

#[test]
fn an_ike_sa_is_rekeyed_by_time() {
    let (mut i, r) = psk();
    only(&mut i).rekey_after = Some(seconds(600));
    let mut bench = quiet((i, r));
    bench.run_for(seconds(2000));
    let rekeyed = bench.r.events.iter().filter(|event| matches!(event, Event::Rekeyed { .. })).count();
    assert_eq!(rekeyed, 3);
    bench.assert_agreement();
}

/// RFC 4478: the responder announces how long the authentication is valid.
#[test]
fn at_the_end_of_its_lifetime_an_sa_is_closed() {
    let (i, mut r) = psk();
    only(&mut r).auth_lifetime = Some(seconds(100));
    let mut bench = Bench::new((i, r)).established();
    bench.run_for(seconds(99));
    bench.assert_agreement();
    bench.ladder.clear();
    bench.run_for(seconds(2));
    check(
        &bench,
        "
        i -> r  INFORMATIONAL request  SK D
        i  child down
        i  closed: lifetime
        r -> i  INFORMATIONAL response  SK
        r  child down
        r  closed: deleted
    ",
    );
    assert_eq!((bench.closures(Side::I), bench.closures(Side::R)), (vec!["lifetime"], vec!["deleted"]));
    bench.assert_nothing_remains();
}

/// An initiator that ignores the lifetime has its SA closed.
#[test]
fn a_responder_enforces_its_lifetime() {
    let (i, mut r) = psk();
    only(&mut r).auth_lifetime = Some(seconds(100));
    let mut bench = Bench::new((i, r)).established();
    bench.cut.insert(Side::I, true);
    bench.run_for(seconds(131));
    assert_eq!(bench.closures(Side::R), ["lifetime"]);
    bench.assert_nothing_remains();
}

/// RFC 4478 §3: a lifetime of zero is ignored; obeying it would mean to close and reopen for ever.
#[test]
fn a_lifetime_of_zero_is_ignored() {
    let (i, mut r) = psk();
    only(&mut r).auth_lifetime = Some(Duration::ZERO);
    let mut bench = Bench::new((i, r)).established();
    let told = bench.i.events.iter().find_map(|event| match event {
        Event::Established(new) => Some(new.auth_lifetime),
        _ => None,
    });
    assert_eq!(told, Some(None));
    bench.run_for(seconds(20));
    bench.assert_agreement();
    assert!(bench.closures(Side::I).is_empty() && bench.closures(Side::R).is_empty());
}

fn ahead() -> (Config, Config) {
    let (mut i, mut r) = psk();
    only(&mut i).reauthenticate = Reauthenticate::Ahead(seconds(20));
    only(&mut r).auth_lifetime = Some(seconds(100));
    (i, r)
}

#[test]
fn reauthentication_ahead_of_time() {
    let mut bench = Bench::new(ahead()).established();
    bench.ladder.clear();
    let old = bench.sa(Side::I);
    bench.run_for(seconds(81));
    check(
        &bench,
        "
        i  reauthentication due
    ",
    );
    bench.initiate();
    bench.settle();
    bench.command(Side::I, Command::Delete(old));
    bench.settle();
    bench.run_for(seconds(60));
    assert_eq!(bench.closures(Side::I), ["deleted"]);
    assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (1, 1));
}

#[test]
fn an_initiator_that_does_not_reauthenticate_is_closed_at_the_end() {
    let mut bench = Bench::new(ahead()).established();
    bench.run_for(seconds(102));
    let due = bench.i.events.iter().filter(|event| matches!(event, Event::ReauthenticationDue(_))).count();
    assert_eq!(due, 1, "{}", bench.ladder);
    assert_eq!(bench.closures(Side::I), ["lifetime"]);
    bench.assert_nothing_remains();
}

/// Rekeying is not reauthentication: the lifetime continues, and the original initiator remains responsible.
#[test]
fn rekeying_does_not_prolong_a_lifetime() {
    for side in Side::BOTH {
        let mut bench = Bench::new(ahead()).established();
        bench.run_for(seconds(50));
        let sa = bench.sa(side);
        bench.command(side, Command::RekeyIke(sa));
        bench.run_for(seconds(29));
        let due = |bench: &Bench| {
            let due = |event: &&Event| matches!(event, Event::ReauthenticationDue(_));
            (bench.i.events.iter().filter(due).count(), bench.r.events.iter().filter(due).count())
        };
        assert_eq!(due(&bench), (0, 0));
        bench.run_for(seconds(2));
        assert_eq!(due(&bench), (1, 0), "after {side:?} rekeyed");
        bench.run_for(seconds(20));
        assert_eq!(bench.closures(Side::I), ["lifetime"]);
        bench.assert_nothing_remains();
    }
}

#[test]
fn a_leased_address_survives_rekeying_and_comes_back_once() {
    let (mut i, mut r) = psk();
    only(&mut i).request_address = true;
    only(&mut r).pool = Some(keytoll_ike::config::Pool { size: 1, ..lab::pool() });
    let mut bench = quiet((i, r));
    for side in Side::BOTH {
        let sa = bench.sa(side);
        bench.command(side, Command::RekeyIke(sa));
        bench.run_for(seconds(200));
    }
    bench.initiate();
    bench.settle();
    assert_eq!(bench.refusals(Side::I), ["INTERNAL_ADDRESS_FAILURE"], "the only address is in use");
    for sa in bench.i.books.sas() {
        bench.command(Side::I, Command::Delete(sa));
    }
    bench.settle();
    bench.initiate();
    bench.settle();
    bench.i.books.only_child();
}

#[test]
fn both_with_the_same_configuration_rekey_for_hours() {
    let configs = both(psk(), |connection| {
        connection.rekey_after = Some(seconds(1000));
        connection.child.as_mut().unwrap().rekey_after = Some(seconds(300));
        connection.liveness_after = Some(seconds(100));
    });
    let mut bench = Bench::new(configs).established();
    bench.ladder.silent = true;
    bench.run_for(seconds(36_000));
    bench.i.books.only_child();
    bench.r.books.only_child();
    crate::support::books::assert_crosswise(bench.i.books.only_child(), bench.r.books.only_child());
}

/// RFC 7296 §3.10.1: a peer that refuses rekeying under an IKE SA, as minimal ones do (§4), needs a new IKE SA. The original
/// initiator sets it up; the other side continues with the existing one.
#[test]
fn a_peer_without_additional_sas_is_reauthenticated() {
    let ladders = [
        "
        i -> r  CREATE_CHILD_SA request  SK N SA Nonce TSi TSr
        r -> i  CREATE_CHILD_SA response  SK N
        i  reauthentication due
    ",
        "
        r -> i  CREATE_CHILD_SA request  SK N SA Nonce TSi TSr
        i -> r  CREATE_CHILD_SA response  SK N
        r  discards: the peer does not rekey the child
    ",
    ];
    for (side, ladder) in Side::BOTH.into_iter().zip(ladders) {
        let (mut i, mut r) = psk();
        (i.children_max, r.children_max) = (0, 0);
        let mut bench = quiet((i, r));
        let (sa, child) = (bench.sa(side), bench.seat(side).books.only_child().pair.inbound_spi);
        bench.command(side, Command::RekeyChild(sa, child));
        bench.settle();
        check(&bench, ladder);
        bench.assert_agreement();
    }
}

/// The same for the IKE SA itself; the answer is made by hand, because we never refuse rekeying an IKE SA.
#[test]
fn an_ike_sa_that_cannot_be_rekeyed_is_set_up_anew() {
    const NOTIFY: u8 = 41;
    // RFC 7296 §3.10: no protocol, no SPI, the type.
    const NO_ADDITIONAL_SAS: [u8; 4] = [0, 0, 0, 35];
    let mut bench = Bench::null(psk(), 1).established();
    bench.ladder.clear();
    let sa = bench.sa(Side::I);
    bench.command(Side::I, Command::RekeyIke(sa));
    let (side, request) = bench.intercept().unwrap();
    bench.deliver(side, &request);
    let (side, mut answer) = bench.intercept().unwrap();
    answer.bytes = mutants::of_one_payload(&answer.bytes, NOTIFY, &NO_ADDITIONAL_SAS);
    bench.deliver(side, &answer);
    bench.settle();
    let due = |event: &Event| matches!(event, Event::ReauthenticationDue(due) if *due == sa);
    assert_eq!(bench.i.events.iter().filter(|event| due(event)).count(), 1, "{}", bench.ladder);
    assert_eq!(bench.sa(Side::I), sa, "it lives on meanwhile");
}
