//! Under an ISAKMP SA: perfect forward secrecy, rekeying, lifetimes, teardown, dead peers, NATs.

use std::time::Duration;

use keytoll_engine::Time;
use keytoll_ike::config::{Config, Mode, Phase1, Reauthenticate, V1, Version};
use keytoll_ike::event::{Command, Event, SaId};

use keytoll_ike::wire::TrafficSelector;
use keytoll_ike::wire::traffic_selector::Ports;

use super::configs::psk;
use crate::support::bench::{Fault, Rewriter};
use crate::support::lab::{both, brisk, esp, net, only, only_child, seconds};
use crate::support::{Bench, Side, check};

/// Longer than a replaced child is kept where the peer is not heard on the new one: 165 s, all retransmissions.
const REPLACED: Duration = seconds(180);

/// The same lifetimes on both sides.
fn lifetimes(configs: (Config, Config), isakmp: Duration, child: Duration) -> (Config, Config) {
    both(configs, |connection| {
        let Version::V1(wishes) = connection.version else { unreachable!("it was just set") };
        connection.version = Version::V1(V1 { lifetime: isakmp, child_lifetime: child, ..wishes });
    })
}

#[test]
fn perfect_forward_secrecy_costs_a_public_value_each() {
    let configs = both(psk(Phase1::Main), |connection| {
        connection.child.as_mut().unwrap().suites = esp("aes256-sha1-modp1024");
    });
    let mut bench = Bench::new(configs);
    bench.ladder.silent = true;
    let bench = bench.established();
    bench.assert_agreement();
    let drawn = bench.sent.iter().filter(|(_, datagram)| datagram.bytes[18] == 32).count();
    assert_eq!(drawn, 3);
    let child = bench.i.books.only_child();
    assert_eq!(child.pair.suite.to_string(), "aes256-sha1-modp1024");
}

#[test]
fn one_side_alone_requires_perfect_forward_secrecy() {
    let (mut i, r) = psk(Phase1::Main);
    only_child(&mut i).suites = esp("aes128-sha256-modp2048");
    let mut bench = Bench::new((i, r)).established();
    assert_eq!(bench.refusals(Side::I), ["NO_PROPOSAL_CHOSEN"]);
    assert_eq!(bench.refusals(Side::R), ["NO_PROPOSAL_CHOSEN"]);
    assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (1, 1), "the ISAKMP SA stays");
}

#[test]
fn traffic_outside_the_policy_is_refused() {
    let (mut i, mut r) = psk(Phase1::Main);
    only_child(&mut i).remote = vec![net("10.0.0.0/8")];
    only_child(&mut r).local = vec![net("10.1.0.0/16")];
    let mut bench = Bench::new((i, r)).established();
    assert_eq!(bench.refusals(Side::R), ["TS_UNACCEPTABLE"]);
    assert_eq!(bench.refusals(Side::I), ["INVALID_ID_INFORMATION"]);
}

#[test]
fn networks_are_identified_by_subnets() {
    let (mut i, mut r) = psk(Phase1::Main);
    only_child(&mut i).local = vec![net("10.1.0.0/16")];
    only_child(&mut i).remote = vec![net("10.2.0.0/16")];
    only_child(&mut r).local = vec![net("10.0.0.0/8")];
    only_child(&mut r).remote = vec![net("10.1.0.0/16")];
    let bench = Bench::new((i, r)).established();
    bench.assert_agreement();
    assert_eq!(bench.r.books.only_child().local, [net("10.2.0.0/16")], "what was asked for, not the policy");
}

#[test]
fn a_child_is_replaced_and_the_old_one_goes_later() {
    for side in Side::BOTH {
        let mut bench = Bench::new(psk(Phase1::Main)).established();
        let (sa, old) = (bench.sa(side), bench.child(side));
        bench.ladder.clear();
        bench.command(side, Command::RekeyChild(sa, old));
        bench.run_for(seconds(1));
        let (a, b) = (side.name(), side.peer().name());
        check(
            &bench,
            &format!(
                "
                {a} -> {b}  QUICK_MODE request  HASH SA NONCE ID ID
                {b} -> {a}  QUICK_MODE response  HASH SA NONCE ID ID
                {a} -> {b}  QUICK_MODE request  HASH
                {a}  child rekeyed: aes128-sha256
                {b}  child rekeyed: aes128-sha256
                "
            ),
        );
        assert_eq!(bench.i.books.all_children().len(), 2, "the old one still receives");
        bench.run_for(seconds(10));
        bench.assert_agreement();
        assert_ne!(bench.child(side), old);
    }
}

#[test]
fn a_new_phase_1_takes_the_children_over() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        for side in Side::BOTH {
            let mut bench = Bench::new(psk(phase1)).established();
            let (sa, child) = (bench.sa(side), bench.child(side));
            bench.command(side, Command::RekeyIke(sa));
            bench.run_for(seconds(1));
            assert_eq!(bench.sa(side), sa, "the peer has time to move the children itself");
            bench.run_for(seconds(2));
            assert_ne!(bench.sa(side), sa, "{}", bench.ladder);
            assert_eq!(bench.child(side), child, "it moved over");
            bench.assert_agreement();
            let sa = bench.sa(side.peer());
            bench.command(side.peer(), Command::Delete(sa));
            bench.settle();
            bench.assert_nothing_remains();
        }
    }
}

#[test]
fn an_initiator_that_lost_its_state_is_admitted_again() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let mut bench = Bench::new(psk(phase1)).established();
        let forgetful = Bench::new(psk(phase1));
        bench.i = forgetful.i;
        bench.i.endpoint = keytoll_ike::Endpoint::new(psk(phase1).0, &keytoll_crypto_api::Seed::from(2), "i");
        bench.initiate();
        bench.settle();
        assert_eq!(bench.closures(Side::R), ["replaced"], "{}", bench.ladder);
        bench.assert_agreement();
    }
}

#[test]
fn a_second_sa_with_the_same_peer_is_additional() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    bench.initiate();
    bench.settle();
    assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (2, 2), "{}", bench.ladder);
    assert_eq!(bench.disagreement(), None);
}

#[test]
fn children_are_replaced_before_they_end_and_again() {
    let configs = lifetimes(psk(Phase1::Main), seconds(86_400), seconds(100));
    let mut bench = Bench::new(configs).established();
    let first = bench.child(Side::I);
    bench.run_for(seconds(91));
    assert_eq!(bench.i.books.all_children().len(), 2, "replaced after 90 s");
    bench.run_for(seconds(9));
    bench.assert_agreement();
    assert_ne!(bench.child(Side::I), first);
    bench.run_for(seconds(1000));
    assert!(bench.i.books.all_children().len() <= 2 && bench.disagreement().is_none());
}

#[test]
fn the_shorter_lifetime_applies_whichever_side_has_it() {
    for shorter in Side::BOTH {
        for phase1 in [Phase1::Main, Phase1::Aggressive] {
            let (mut i, mut r) = lifetimes(psk(phase1), seconds(10_000), seconds(10_000));
            let config = if shorter == Side::I { &mut i } else { &mut r };
            only(config).version =
                Version::V1(V1 { lifetime: seconds(1000), child_lifetime: seconds(500), ..V1::new(phase1) });
            let mut bench = Bench::new((i, r)).established();
            let sa = bench.sa(Side::I);
            // The initiator replaces the child at nine tenths, the ISAKMP SA 100 s before its end.
            bench.run_for(seconds(440));
            assert_eq!(bench.i.books.all_children().len(), 1);
            bench.run_for(seconds(12));
            assert_eq!(bench.i.books.all_children().len(), 2, "{shorter:?} {phase1:?}\n{}", bench.ladder);
            bench.run_for(seconds(440));
            assert_eq!(bench.sa(Side::I), sa);
            bench.run_for(seconds(12));
            assert_ne!(bench.sa(Side::I), sa, "{shorter:?} {phase1:?}\n{}", bench.ladder);
            assert_eq!(bench.disagreement(), None);
        }
    }
}

#[test]
fn an_sa_without_reauthentication_ends_with_its_lifetime() {
    let configs = both(lifetimes(psk(Phase1::Main), seconds(600), seconds(600)), |connection| {
        connection.reauthenticate = Reauthenticate::OnDemand;
    });
    let mut bench = Bench::new(configs).established();
    bench.run_for(seconds(599));
    assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (1, 1));
    bench.run_for(seconds(2));
    assert_eq!(bench.closures(Side::I), ["lifetime"]);
    bench.assert_nothing_remains();
}

/// The lifetime of an ISAKMP SA on a lossy link ends while quick mode waits: the failure of the child must be reported.
#[test]
fn unfinished_exchanges_fail_with_the_sa_that_ends() {
    let brief = |configs| {
        both(lifetimes(configs, seconds(8), seconds(600)), |connection| {
            connection.reauthenticate = Reauthenticate::OnDemand;
        })
    };
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let mut bench = Bench::new(brief(psk(phase1)));
        bench.ladder.silent = true;
        // The first quick mode passes, the second is never answered.
        let mut bench = bench.established();
        bench.cut.insert(Side::R, true);
        let sa = bench.sa(Side::I);
        bench.command(Side::I, Command::CreateChild(sa));
        bench.run_for(seconds(9));
        assert_eq!(bench.refusals(Side::I), ["lifetime"], "{phase1:?}: the child that never came");
        assert_eq!(bench.closures(Side::I), ["lifetime"], "{phase1:?}");
        assert_eq!(bench.i.books.sa_count(), 0, "{phase1:?}");
    }
}

/// The peer closes the SA while our quick mode waits for its answer.
#[test]
fn unfinished_exchanges_fail_with_the_sa_that_the_peer_closes() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    let (ours, theirs) = (bench.sa(Side::I), bench.sa(Side::R));
    bench.next_fault(Fault::Lost);
    bench.command(Side::I, Command::CreateChild(ours));
    bench.command(Side::R, Command::Delete(theirs));
    bench.settle();
    assert_eq!((bench.refusals(Side::I), bench.closures(Side::I)), (vec!["deleted"], vec!["deleted"]));
}

/// Unanswered requests of a replaced SA are repeated by its successor.
#[test]
fn unfinished_exchanges_are_carried_over() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let mut bench = Bench::new(psk(phase1)).established();
        let (old, spi) = (bench.sa(Side::I), bench.child(Side::I));
        bench.command(Side::I, Command::RekeyIke(old));
        bench.settle();
        // Both know the new SA; it takes over in two seconds.
        bench.next_fault(Fault::Lost);
        bench.command(Side::I, Command::RekeyChild(old, spi));
        bench.run_for(seconds(60));
        assert_ne!(bench.sa(Side::I), old, "{phase1:?}");
        assert_ne!(
            bench.child(Side::I),
            spi,
            "{phase1:?}: the child was replaced under the new SA\n{}",
            bench.ladder
        );
        bench.assert_agreement();
    }
}

#[test]
fn an_sa_whose_peer_is_gone_is_not_replaced_and_ends() {
    let configs = lifetimes(psk(Phase1::Main), seconds(600), seconds(600));
    let mut bench = Bench::new(configs).established();
    bench.cut.insert(Side::I, true);
    bench.cut.insert(Side::R, true);
    bench.assert_nothing_remains();
}

#[test]
fn a_delete_closes_the_children_too() {
    for side in Side::BOTH {
        let mut bench = Bench::new(psk(Phase1::Main)).established();
        let sa = bench.sa(side);
        bench.ladder.clear();
        bench.command(side, Command::Delete(sa));
        bench.settle();
        let (a, b) = (side.name(), side.peer().name());
        check(
            &bench,
            &format!(
                "
                {a} -> {b}  INFORMATIONAL_V1 request  HASH D
                {a} -> {b}  INFORMATIONAL_V1 request  HASH D
                {a}  child down
                {a}  closed: deleted
                {b}  child down
                {b}  closed: deleted
                "
            ),
        );
        bench.assert_nothing_remains();
    }
}

#[test]
fn one_child_is_deleted_by_itself() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    let (sa, child) = (bench.sa(Side::R), bench.child(Side::R));
    bench.command(Side::R, Command::DeleteChild(sa, child));
    bench.settle();
    assert_eq!((bench.i.books.sa_count(), bench.i.books.all_children().len()), (1, 0));
    bench.command(Side::R, Command::CreateChild(sa));
    bench.settle();
    bench.assert_agreement();
}

#[test]
fn a_silent_peer_is_probed_and_answers() {
    let configs = both(psk(Phase1::Main), |connection| connection.liveness_after = Some(seconds(30)));
    let mut bench = Bench::new(configs).established();
    bench.ladder.clear();
    let sa = bench.sa(Side::I);
    bench.command(Side::I, Command::Probe(sa));
    bench.settle();
    check(
        &bench,
        "
        i -> r  INFORMATIONAL_V1 request  HASH N
        r -> i  INFORMATIONAL_V1 request  HASH N
        ",
    );
    bench.run_for(seconds(3600));
    assert_eq!(bench.disagreement(), None, "nobody is given up");
}

#[test]
fn a_dead_peer_is_given_up() {
    let (mut i, r) = both(psk(Phase1::Main), |connection| connection.liveness_after = Some(seconds(30)));
    i.retransmission = brisk();
    let mut bench = Bench::new((i, r)).established();
    bench.cut.insert(Side::R, true);
    bench.run_for(seconds(60));
    assert_eq!(bench.closures(Side::I), ["timeout"]);
}

/// RFC 3947: port 4500 from message 5 on, and ESP in UDP.
#[test]
fn behind_a_nat_both_continue_on_port_4500() {
    for (phase1, mode) in [
        (Phase1::Main, Mode::Tunnel),
        (Phase1::Aggressive, Mode::Tunnel),
        (Phase1::Main, Mode::Transport),
        (Phase1::Aggressive, Mode::Transport),
    ] {
        let outside = "198.51.100.1".parse().unwrap();
        let (mut i, mut r) = both(psk(phase1), |connection| {
            connection.child.as_mut().unwrap().mode = mode;
        });
        if mode == Mode::Tunnel {
            only_child(&mut i).local = vec![net("10.9.0.0/24")];
            only_child(&mut r).remote = vec![net("10.9.0.0/24")];
        }
        let mut bench = Bench::new((i, r));
        bench.nat = Some(Rewriter { outside, port_offset: 1000 });
        let bench = bench.established();
        let (i, r) = (bench.i.books.only_child(), bench.r.books.only_child());
        assert!(i.pair.inbound == r.pair.outbound && i.pair.outbound == r.pair.inbound, "{}", bench.ladder);
        let (_, theirs) = r.encapsulation.expect("r sees the NAT");
        assert_eq!((theirs.ip, theirs.port), (outside, 5500));
        assert!(i.encapsulation.is_some() && r.peer_may_move);
        assert_eq!(r.mode, mode);
    }
}

/// RFC 3947 §4: behind the NAT the peer is reached only at the mapped port.
#[test]
fn a_peer_behind_a_nat_is_reached_at_its_port_when_the_sa_is_replaced() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        for side in Side::BOTH {
            let (mut i, mut r) = psk(phase1);
            only_child(&mut i).local = vec![net("10.9.0.0/24")];
            only_child(&mut r).remote = vec![net("10.9.0.0/24")];
            let mut bench = Bench::new((i, r));
            let outside = "198.51.100.1".parse().unwrap();
            bench.nat = Some(Rewriter { outside, port_offset: 1000 });
            let mut bench = bench.established();
            let old = bench.sa(side);
            let before = bench.sent.len();
            bench.command(side, Command::RekeyIke(old));
            bench.run_for(seconds(60));
            let to = |side: Side| if side == Side::R { 5500 } else { 4500 };
            for (from, datagram) in &bench.sent[before..] {
                assert_eq!(
                    (datagram.from.port().unwrap(), datagram.to.port().unwrap()),
                    (4500, to(*from)),
                    "{phase1:?} {side:?}"
                );
                assert_eq!(datagram.bytes[..4], [0; 4], "RFC 3948 §2.2: the non-ESP marker");
            }
            assert_ne!(bench.sa(side), old, "{phase1:?} {side:?}: replaced\n{}", bench.ladder);
            bench.assert_agreement();
        }
    }
}

#[test]
fn udp_encapsulation_can_be_forced() {
    let (mut i, r) = psk(Phase1::Main);
    i.force_encapsulation = true;
    let bench = Bench::new((i, r)).established();
    bench.assert_agreement();
    assert!(bench.i.books.only_child().encapsulation.is_some());
}

#[test]
fn transport_mode_without_nat() {
    let configs = both(psk(Phase1::Aggressive), |connection| {
        connection.child.as_mut().unwrap().mode = Mode::Transport;
    });
    let bench = Bench::new(configs).established();
    bench.assert_agreement();
    assert_eq!(bench.i.books.only_child().mode, Mode::Transport);
}

#[test]
fn an_sa_without_a_child_is_one_too() {
    let configs = both(psk(Phase1::Main), |connection| connection.child = None);
    let bench = Bench::new(configs).established();
    assert_eq!(bench.disagreement(), None);
    assert!(bench.i.events.iter().any(|event| matches!(event, Event::Established(_))));
}

/// A lifetime shorter than the margin does not lead to endless reauthentication.
#[test]
fn a_margin_longer_than_the_lifetime_is_not_obeyed() {
    let configs = both(lifetimes(psk(Phase1::Main), seconds(100), seconds(10_000)), |connection| {
        connection.reauthenticate = Reauthenticate::Ahead(seconds(3600));
    });
    let mut bench = Bench::new(configs).established();
    let first = bench.sa(Side::I);
    bench.run_for(seconds(40));
    assert_eq!(bench.sa(Side::I), first, "{}", bench.ladder);
    bench.run_for(seconds(20));
    assert_ne!(bench.sa(Side::I), first);
    bench.run_for(seconds(440));
    let begun = bench.sent.iter().filter(|(_, datagram)| datagram.bytes[8..16] == [0; 8]).count();
    assert!((8..=11).contains(&begun), "once in fifty seconds: {begun}");
}

/// Whatever the configuration, a child is rekeyed before it ends, and once.
#[test]
fn children_are_replaced_before_they_end_whatever_is_configured() {
    let configs = both(lifetimes(psk(Phase1::Main), seconds(86_400), seconds(100)), |connection| {
        connection.child.as_mut().unwrap().rekey_after = Some(seconds(3600));
    });
    let mut bench = Bench::new(configs).established();
    bench.run_for(seconds(1000));
    let lost = bench.i.events.iter().filter(|event| matches!(event, Event::ChildUp(..))).count();
    assert_eq!(lost, 1, "every other one was replaced");
    assert!(bench.disagreement().is_none());
}

#[test]
fn both_rekey_a_child_at_once_and_one_is_left() {
    for (first, second) in [(Side::I, Side::R), (Side::R, Side::I)] {
        let mut bench = Bench::new(psk(Phase1::Main)).established();
        let commands = [first, second].map(|side| {
            let (sa, child) = (bench.sa(side), bench.child(side));
            (side, Command::RekeyChild(sa, child))
        });
        commands.into_iter().for_each(|(side, command)| bench.command(side, command));
        bench.run_for(seconds(20));
        bench.assert_agreement();
        assert_eq!(bench.i.books.all_children().len(), 1, "{}", bench.ladder);
    }
}

/// Soft limits of bytes or packets trigger on both SAs of a pair: one successor, whichever message is lost.
#[test]
fn a_child_is_rekeyed_once_however_often_that_is_requested() {
    for side in Side::BOTH {
        for lost in 0..=4 {
            let mut bench = Bench::new(psk(Phase1::Main)).established();
            let (sa, child) = (bench.sa(side), bench.child(side));
            bench.ladder.clear();
            if lost > 0 {
                bench.fault_ahead(lost, Fault::Lost);
            }
            for _ in 0..3 {
                bench.command(side, Command::RekeyChild(sa, child));
                bench.run_for(Duration::from_millis(5));
            }
            bench.run_for(REPLACED);
            bench.assert_agreement();
            let up = |event: &&Event| matches!(event, Event::ChildRekeyed { .. });
            assert_eq!(bench.i.events.iter().filter(up).count(), 1, "{lost} lost\n{}", bench.ladder);
        }
    }
}

/// RFC 2409 §5.5: the sender of the third message does not learn that it arrived. Until then both sides use the old child.
#[test]
fn the_old_child_stays_while_the_third_message_is_lost() {
    for side in Side::BOTH {
        for lost in 1..=3 {
            let mut bench = Bench::new(psk(Phase1::Main)).established();
            let (sa, old) = (bench.sa(side), bench.child(side));
            // The third message, and its retransmission each time the second is retransmitted.
            (0..lost).for_each(|time| bench.fault_ahead(3 + 2 * time, Fault::Lost));
            bench.command(side, Command::RekeyChild(sa, old));
            for second in 0..60 {
                bench.run_for(seconds(1));
                assert!(bench.shares_a_child(), "{lost} lost, after {second} s\n{}", bench.ladder);
            }
            bench.assert_agreement();
            assert_ne!(bench.child(side), old);
        }
    }
}

#[test]
fn the_old_child_goes_soon_after_the_peer_has_used_the_new_one() {
    for is_heard in [false, true] {
        let mut bench = Bench::new(psk(Phase1::Main)).established();
        let (sa, old) = (bench.sa(Side::I), bench.child(Side::I));
        bench.command(Side::I, Command::RekeyChild(sa, old));
        bench.run_for(seconds(1));
        let (sa, new) = bench.i.books.all_children()[1];
        let new = new.pair.inbound_spi;
        assert!(!bench.i.books.all_children()[1].1.peer_ready, "what leaves goes through the old one");
        if is_heard {
            bench.command(Side::I, Command::ChildHeard(sa, new));
        }
        bench.run_for(seconds(6));
        let left: Vec<u32> =
            bench.i.books.all_children().iter().map(|(_, child)| child.pair.inbound_spi).collect();
        assert_eq!(left, if is_heard { vec![new] } else { vec![old, new] });
        bench.run_for(seconds(30));
        bench.assert_agreement();
    }
}

/// Both reach a limit at the same packet, and a message is lost or delayed: both keep the same child.
#[test]
fn both_rekey_a_child_at_once_over_a_bad_network_and_one_is_left() {
    for fault in [Fault::Lost, Fault::Late(seconds(2)), Fault::Late(seconds(6)), Fault::Twice] {
        for first in Side::BOTH {
            for pause_ms in [0, 5, 10, 15, 25, 35] {
                for nth in 1..=7 {
                    let mut bench = Bench::new(psk(Phase1::Main)).established();
                    bench.ladder.silent = true;
                    bench.fault_ahead(nth, fault);
                    for side in [first, first.peer()] {
                        let (sa, child) =
                            (bench.sa(side), bench.seat(side).books.all_children()[0].1.pair.inbound_spi);
                        bench.command(side, Command::RekeyChild(sa, child));
                        bench.run_for(Duration::from_millis(pause_ms));
                    }
                    bench.run_for(REPLACED);
                    let told = (fault, first, pause_ms, nth);
                    assert_eq!(bench.disagreement(), None, "{told:?}\n{}", bench.ladder);
                    assert_eq!(bench.i.books.all_children().len(), 1, "{told:?}\n{}", bench.ladder);
                }
            }
        }
    }
}

#[test]
fn the_old_sa_ends_while_the_new_one_is_being_set_up() {
    let mut bench = Bench::new(psk(Phase1::Main)).established();
    let old = bench.sa(Side::I);
    bench.command(Side::I, Command::RekeyIke(old));
    bench.command(Side::I, Command::Delete(old));
    bench.run_for(seconds(20));
    bench.assert_agreement();
    assert_ne!(bench.sa(Side::I), old, "the new one stands alone, with a child of its own");
}

/// RFC 2407 §4.5.4 does not limit the lifetime that a peer may announce.
#[test]
fn a_huge_lifetime_is_handled() {
    let long = Duration::from_secs(u64::MAX);
    Bench::new(lifetimes(psk(Phase1::Main), long, long)).established().assert_agreement();
}

/// A lost refusal is retransmitted when the offer is, and the offer does not cost the SA.
#[test]
fn a_refusal_may_be_lost() {
    let (mut i, r) = psk(Phase1::Main);
    only_child(&mut i).suites = esp("aes128-sha256-modp2048");
    for lost in [0, 1, 3] {
        // Six messages of phase 1, and the offer, before the first refusal.
        let bench = Bench::new((i.clone(), r.clone()));
        let mut bench = (0..lost).fold(bench, |bench, n| bench.lose(8 + 2 * n));
        bench.initiate();
        bench.run_for(seconds(100));
        assert_eq!(bench.refusals(Side::I), ["NO_PROPOSAL_CHOSEN"], "{lost} lost\n{}", bench.ladder);
        assert_eq!(bench.refusals(Side::R), ["NO_PROPOSAL_CHOSEN"], "it refuses once, whatever it says");
        assert_eq!(bench.sent.len(), 8 + 2 * lost, "{}", bench.ladder);
        assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (1, 1));
    }
}

#[test]
fn only_the_latest_refusals_are_kept_for_a_while() {
    let (mut i, r) = psk(Phase1::Main);
    only_child(&mut i).suites = esp("aes128-sha256-modp2048");
    let mut bench = Bench::new((i, r)).established();
    let sa = bench.sa(Side::I);
    for _ in 0..10 {
        bench.command(Side::I, Command::CreateChild(sa));
        bench.settle();
    }
    let offers: Vec<_> = bench.sent.iter().filter(|(_, sent)| sent.bytes[18] == 32).cloned().collect();
    assert_eq!(offers.len(), 11);
    let answered = |bench: &mut Bench| {
        let before = bench.sent.len();
        offers.iter().for_each(|(_, offer)| bench.deliver(Side::R, offer));
        bench.sent.len() - before
    };
    assert_eq!(answered(&mut bench), 8);
    bench.run_for(seconds(200));
    assert_eq!(answered(&mut bench), 0);
}

/// RFC 2407 §4.6.3: the SPI in a notification identifies the refused offer.
#[test]
fn a_refusal_concerns_one_offer() {
    let (mut i, r) = psk(Phase1::Main);
    only_child(&mut i).suites = esp("aes128-sha256-modp2048");
    let mut bench = Bench::new((i, r)).established();
    let (sa, before) = (bench.sa(Side::I), bench.sent.len());
    bench.next_fault(Fault::Lost);
    (0..2).for_each(|_| bench.command(Side::I, Command::CreateChild(sa)));
    bench.run_for(seconds(30));
    let sent = bench.sent[before..].iter().map(|(_, datagram)| &datagram.bytes);
    let offers: Vec<_> = sent.filter(|bytes| bytes[18] == 32).collect();
    assert_eq!(offers.len(), 3, "two, and one again\n{}", bench.ladder);
    assert_eq!(offers[0], offers[2], "that which was lost");
    assert_eq!(bench.refusals(Side::I).len(), 3);
}

/// Short waits, so that an exchange is given up after sixteen seconds.
fn hasty(configs: (Config, Config)) -> (Config, Config) {
    let (mut i, mut r) = configs;
    (i.retransmission, r.retransmission) = (brisk(), brisk());
    (i, r)
}

fn cut(bench: &mut Bench, is_cut: bool) {
    Side::BOTH.into_iter().for_each(|side| _ = bench.cut.insert(side, is_cut));
}

#[test]
fn an_unanswered_offer_is_no_proof_of_death() {
    for returns in [true, false] {
        let mut bench = Bench::new(hasty(psk(Phase1::Main))).established();
        let sa = bench.sa(Side::I);
        cut(&mut bench, true);
        bench.command(Side::I, Command::CreateChild(sa));
        bench.run_for(seconds(20));
        assert_eq!(bench.refusals(Side::I), ["timeout"]);
        assert_eq!(bench.i.books.sa_count(), 1, "{}", bench.ladder);
        cut(&mut bench, !returns);
        bench.run_for(seconds(20));
        let closed: &[&str] = if returns { &[] } else { &["timeout"] };
        assert_eq!(bench.closures(Side::I), closed, "it was asked\n{}", bench.ladder);
    }
}

#[test]
fn a_failed_rekeying_of_a_child_is_retried() {
    let mut bench =
        Bench::new(hasty(lifetimes(psk(Phase1::Main), seconds(86_400), seconds(1000)))).established();
    let old = bench.child(Side::I);
    bench.run_for(seconds(899));
    cut(&mut bench, true);
    bench.run_for(seconds(20));
    cut(&mut bench, false);
    // The responder of the first tries at 950, the initiator half-way from 916 to 1000.
    bench.run_for(seconds(80));
    assert_ne!(bench.child(Side::I), old);
    assert_eq!((bench.refusals(Side::I).len(), bench.refusals(Side::R).len()), (0, 0), "{}", bench.ladder);
    let new = bench.i.events.iter().filter(|event| matches!(event, Event::ChildUp(..))).count();
    assert_eq!(new, 1, "no traffic was without an SA");
    bench.assert_agreement();
}

#[test]
fn a_failed_replacement_of_an_isakmp_sa_is_retried() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let mut bench =
            Bench::new(hasty(lifetimes(psk(phase1), seconds(1000), seconds(86_400)))).established();
        let (old, child) = (bench.sa(Side::I), bench.child(Side::I));
        bench.run_for(seconds(899));
        cut(&mut bench, true);
        bench.run_for(seconds(20));
        assert_eq!(bench.failures(Side::I), ["timeout"]);
        cut(&mut bench, false);
        bench.run_for(seconds(30));
        assert_eq!(bench.sa(Side::I), old);
        bench.run_for(seconds(20));
        assert_ne!(bench.sa(Side::I), old, "{}", bench.ladder);
        assert_eq!(bench.child(Side::I), child, "it moved over");
        bench.assert_agreement();
    }
}

/// RFC 2407 §4.6.2: an identity is one network with one port or all. Other traffic is refused before anything is sent.
#[test]
fn traffic_without_an_identity_is_not_offered() {
    let host = TrafficSelector::host(Side::R.ip());
    for remote in [vec![host.only(17, Ports::Range(1000, 2000))], vec![host, net("10.0.0.0/8")]] {
        let (mut i, r) = psk(Phase1::Main);
        only_child(&mut i).remote = remote.clone();
        let mut bench = Bench::new((i, r));
        bench.initiate();
        assert_eq!(bench.failures(Side::I), ["TS_UNACCEPTABLE"]);
        assert_eq!(bench.sent.len(), 0);
        let (i, mut r) = psk(Phase1::Main);
        only_child(&mut r).remote = [remote, vec![TrafficSelector::host(Side::I.ip())]].concat();
        let mut bench = Bench::new((i, r)).established();
        bench.assert_agreement();
        let (sa, child) = (bench.sa(Side::R), bench.child(Side::R));
        bench.command(Side::R, Command::CreateChild(sa));
        assert_eq!(
            bench.refusals(Side::R),
            ["TS_UNACCEPTABLE"],
            "a responder may have more, but cannot offer it"
        );
        bench.command(Side::R, Command::RekeyChild(sa, child));
        bench.run_for(seconds(20));
        assert_ne!(bench.child(Side::R), child, "what was agreed on can be replaced");
    }
}

/// Traffic that cannot be offered was negotiated before: it moves over, and need not be offered.
#[test]
fn an_isakmp_sa_is_replaced_whatever_its_side_cannot_offer() {
    let (i, mut r) = psk(Phase1::Main);
    only_child(&mut r).remote = vec![net("10.0.0.0/8"), TrafficSelector::host(Side::I.ip())];
    let mut bench = Bench::new((i, r)).established();
    let (old, child) = (bench.sa(Side::R), bench.child(Side::R));
    bench.command(Side::R, Command::RekeyIke(old));
    bench.run_for(seconds(20));
    assert_ne!(bench.sa(Side::R), old, "{}", bench.ladder);
    assert_eq!((bench.failures(Side::R).len(), bench.child(Side::R)), (0, child));
    bench.assert_agreement();
}

/// The peer's first message under the new SA closes it: the old one has kept its timer.
#[test]
fn a_new_isakmp_sa_that_is_closed_at_once_is_retried() {
    let configs = lifetimes(psk(Phase1::Aggressive), seconds(1000), seconds(86_400));
    let mut bench = Bench::new(configs).established();
    let (old, child) = (bench.sa(Side::I), bench.child(Side::I));
    bench.run_for(seconds(899));
    while bench.r.endpoint.sa_count() == 1 {
        assert!(bench.step(Time::ZERO + seconds(910)), "it is replaced\n{}", bench.ladder);
    }
    let answer = bench.sent.last().unwrap().1.bytes.clone();
    let new = u64::from_be_bytes(answer[8..16].try_into().unwrap());
    for _ in 0..2 {
        let (to, datagram) = bench.intercept().unwrap();
        bench.deliver(to, &datagram);
    }
    bench.intercept().expect("R-U-THERE is lost");
    bench.command(Side::R, Command::Delete(SaId(new)));
    bench.run_for(seconds(10));
    assert_eq!((bench.sa(Side::I), bench.sa(Side::R)), (old, bench.r.books.only_sa()), "{}", bench.ladder);
    bench.run_for(seconds(50));
    assert_ne!(bench.sa(Side::I), old, "{}", bench.ladder);
    assert_eq!(bench.child(Side::I), child, "it moved over");
    bench.assert_agreement();
}

/// An SA without children may exist for any reason: it inherits no children when another one is replaced.
#[test]
fn an_idle_sa_is_no_collision() {
    for (seed, idle_from, replaced_by) in (0..8)
        .flat_map(|seed| Side::BOTH.map(|idle_from| (seed, idle_from)))
        .flat_map(|(seed, idle_from)| Side::BOTH.map(|replaced_by| (seed, idle_from, replaced_by)))
    {
        let mut bench = Bench::null(psk(Phase1::Main), seed).established();
        let (old, child) = (bench.sa(replaced_by), bench.child(Side::I));
        bench.initiate_from(idle_from, 0);
        bench.settle();
        let (idle, spare) = other_child(&mut bench, child);
        bench.command(Side::I, Command::DeleteChild(idle, spare));
        bench.run_for(seconds(20));
        bench.command(replaced_by, Command::RekeyIke(old));
        bench.run_for(seconds(20));
        let seat = &bench.i;
        assert!(seat.books.sas().contains(&idle), "{seed} {idle_from:?} {replaced_by:?}\n{}", bench.ladder);
        assert_eq!((seat.books.sa_count(), seat.books.all_children().len()), (2, 1), "{}", bench.ladder);
        assert_eq!(bench.disagreement(), None, "{seed} {idle_from:?} {replaced_by:?}\n{}", bench.ladder);
        let heir = seat.books.all_children()[0].0;
        bench.command(Side::I, Command::DeleteChild(heir, child));
        bench.settle();
        assert_eq!(bench.r.books.all_children().len(), 0, "it was under the same SA\n{}", bench.ladder);
    }
}

/// The other one of two children.
fn other_child(bench: &mut Bench, not: u32) -> (SaId, u32) {
    let mut children = bench.i.books.all_children().into_iter();
    children.find(|(_, it)| it.pair.inbound_spi != not).map(|(sa, it)| (sa, it.pair.inbound_spi)).unwrap()
}

/// A second SA is started while the first is replaced: however the two interpret it, they agree, and always have a child.
#[test]
fn an_sa_started_during_a_replacement_costs_no_child() {
    for seed in 0..8 {
        for pause_ms in (0..60).step_by(5) {
            for first in Side::BOTH {
                let mut bench = Bench::null(psk(Phase1::Main), seed).established();
                let old = bench.sa(first);
                bench.command(first, Command::RekeyIke(old));
                bench.run_for(Duration::from_millis(pause_ms));
                bench.initiate_from(first.peer(), 0);
                for _ in 0..20 {
                    bench.run_for(seconds(1));
                    assert_eq!(
                        bench.disagreement_of_books(),
                        None,
                        "{pause_ms} ms {first:?}\n{}",
                        bench.ladder
                    );
                    assert_ne!(
                        bench.i.books.all_children().len(),
                        0,
                        "{pause_ms} ms {first:?}\n{}",
                        bench.ladder
                    );
                }
                assert_eq!(bench.disagreement(), None, "{pause_ms} ms {first:?}\n{}", bench.ladder);
            }
        }
    }
}

/// A second SA with the same peer is not the replacement of the first.
#[test]
fn a_second_sa_does_not_replace_one_that_was_closed() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        let mut bench = Bench::new(psk(phase1)).established();
        let (ours, theirs) = (bench.sa(Side::I), bench.sa(Side::R));
        bench.initiate();
        bench.run_for(seconds(20));
        bench.command(Side::I, Command::RekeyIke(ours));
        bench.command(Side::R, Command::Delete(theirs));
        bench.run_for(seconds(20));
        assert_eq!(bench.i.books.sa_count(), 2, "{phase1:?}\n{}", bench.ladder);
        assert_eq!(bench.i.books.all_children().len(), 2, "{}", bench.ladder);
        assert_eq!(bench.disagreement(), None);
    }
}

/// Whichever side starts first, both keep the same one of the two, with the child.
#[test]
fn both_replace_the_isakmp_sa_at_once_and_one_is_left() {
    for phase1 in [Phase1::Main, Phase1::Aggressive] {
        for pause_ms in [0, 5, 10, 15, 25, 35, 45, 60] {
            for first in Side::BOTH {
                let mut bench = Bench::new(psk(phase1)).established();
                let child = bench.child(Side::I);
                let (mine, theirs) = (bench.sa(first), bench.sa(first.peer()));
                bench.command(first, Command::RekeyIke(mine));
                bench.run_for(Duration::from_millis(pause_ms));
                if bench.seat(first.peer()).books.sas() == [theirs] {
                    bench.command(first.peer(), Command::RekeyIke(theirs));
                }
                bench.run_for(seconds(20));
                bench.assert_agreement();
                assert_eq!(bench.child(Side::I), child, "{phase1:?} {pause_ms} ms\n{}", bench.ladder);
            }
        }
    }
}

/// The last message of aggressive mode has no answer, and the DELETE of the old SA may overtake it: the old one is closed when
/// the peer has sent something under the new one.
#[test]
fn the_old_sa_stays_until_the_peer_knows_the_new_one() {
    let mut bench = Bench::new(psk(Phase1::Aggressive)).established();
    let (sa, child) = (bench.sa(Side::I), bench.child(Side::R));
    bench.command(Side::I, Command::RekeyIke(sa));
    for _ in 0..2 {
        let (to, datagram) = bench.intercept().unwrap();
        bench.deliver(to, &datagram);
    }
    bench.intercept().expect("the last message is lost");
    bench.settle();
    assert_eq!(bench.sa(Side::I), sa, "{}", bench.ladder);
    bench.run_for(seconds(30));
    assert_ne!(bench.sa(Side::I), sa, "{}", bench.ladder);
    assert_eq!(bench.child(Side::R), child);
    bench.assert_agreement();
}

/// An initiator of aggressive mode does not report success before the responder confirms it.
#[test]
fn an_initiator_that_never_hears_from_the_responder_is_not_established() {
    for childless in [false, true] {
        let configs = || {
            both(hasty(psk(Phase1::Aggressive)), |connection| {
                if childless {
                    connection.child = None;
                }
            })
        };
        let mut bench = Bench::new(configs());
        bench.initiate();
        for _ in 0..2 {
            let (to, datagram) = bench.intercept().unwrap();
            bench.deliver(to, &datagram);
        }
        cut(&mut bench, true);
        while bench.intercept().is_some() {}
        bench.run_for(seconds(100));
        assert_eq!(bench.failures(Side::I), ["timeout"], "{}", bench.ladder);
        assert!(!bench.i.events.iter().any(|event| matches!(event, Event::Established(_))));
        let mut bench = Bench::new(configs());
        bench.initiate();
        bench.run_for(seconds(1));
        assert_eq!((bench.i.books.sa_count(), bench.r.books.sa_count()), (1, 1), "{}", bench.ladder);
    }
}

/// RFC 2407 §4.5: SA Life Type 2. The smaller limit applies to both, and is announced to the other side.
#[test]
fn a_limit_of_bytes_is_offered_announced_and_obeyed() {
    for (i_wants, r_wants, agreed) in [
        (None, None, None),
        (Some(5_000_000), None, Some(5_000_000)),
        (None, Some(3_000_999), Some(3_000_000)),
        (Some(5_000_000), Some(3_000_000), Some(3_000_000)),
        (Some(3_000_000), Some(5_000_000), Some(3_000_000)),
        (Some(1), Some(u64::MAX), Some(1000)),
    ] {
        let (mut i, mut r) = psk(Phase1::Main);
        for (config, wanted) in [(&mut i, i_wants), (&mut r, r_wants)] {
            let Version::V1(wishes) = &mut only(config).version else { unreachable!("it speaks IKEv1") };
            wishes.child_bytes_max = wanted;
        }
        let mut bench = Bench::new((i, r)).established();
        bench.assert_agreement();
        let both = |bench: &Bench| [&bench.i, &bench.r].map(|seat| seat.books.only_child().bytes_max);
        assert_eq!(both(&bench), [agreed; 2], "{i_wants:?} {r_wants:?}");
        let (sa, child) = (bench.sa(Side::R), bench.child(Side::R));
        bench.command(Side::R, Command::RekeyChild(sa, child));
        bench.run_for(seconds(20));
        assert_eq!(both(&bench), [agreed; 2], "whoever asks: {i_wants:?} {r_wants:?}");
    }
}

/// RFC 2408 §3.1: a side that has not set the commit bit waits for CONNECTED, though not for long: the bit is not protected.
#[test]
fn the_commit_bit_makes_the_other_side_wait() {
    // Message 2 has the bit, or message 3: its receiver waits.
    for (message, waits) in [(2, Side::I), (3, Side::R)] {
        for is_told in [true, false] {
            let mut bench = Bench::null(psk(Phase1::Main), 1);
            bench.initiate();
            for _ in 0..6 + message - 1 {
                let (to, datagram) = bench.intercept().unwrap();
                bench.deliver(to, &datagram);
            }
            let (to, mut committing) = bench.intercept().unwrap();
            assert_eq!((to, committing.bytes[18]), (waits, 32));
            committing.bytes[19] |= 2;
            bench.deliver(to, &committing);
            bench.settle();
            let children = |bench: &mut Bench, side| bench.seat(side).books.all_children().len();
            assert_eq!([children(&mut bench, waits), children(&mut bench, waits.peer())], [0, 1]);
            if is_told {
                // HASH of null cryptography, CONNECTED for ESP without SPI, under the same message id.
                let mut told = committing.clone();
                told.bytes.truncate(28);
                (told.bytes[16], told.bytes[18], told.bytes[19]) = (8, 5, 1);
                told.bytes.extend([11, 0, 0, 36].into_iter().chain([0; 32]));
                told.bytes.extend([0, 0, 0, 12, 0, 0, 0, 1, 3, 0, 0x40, 0]);
                told.bytes.resize(28 + 48, 0);
                told.bytes[24..28].copy_from_slice(&76_u32.to_be_bytes());
                bench.deliver(waits, &told);
            } else {
                bench.run_for(seconds(3));
                assert_eq!(children(&mut bench, waits), 0, "{}", bench.ladder);
                bench.run_for(seconds(2));
            }
            bench.assert_agreement();
            bench.run_for(seconds(300));
            bench.assert_agreement();
        }
    }
}
