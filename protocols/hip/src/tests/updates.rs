//! What changes while an association is up, and how it ends.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use keytoll_net::Addr;

use super::world::{A, B, World, base_pair, diet_pair};
use crate::config::Config;
use crate::event::{Command, Event, Reason};
use crate::identity::DietVariant;

fn up(configs: [Config; 2]) -> World {
    let mut world = World::new(configs, 1);
    world.initiate(A, B);
    world.run_a_while();
    world.sent.clear();
    world
}

fn with_new_keys() -> [Config; 2] {
    base_pair().map(|config| Config { rekey_with_new_keys: true, ..config })
}

#[test]
fn keys_are_replaced_in_three_packets() {
    for configs in [base_pair(), with_new_keys(), diet_pair(DietVariant::Draft24)] {
        let mut world = up(configs);
        let before = world.child(A).clone();
        let id = world.association(A);
        for _ in 0..3 {
            world.sent.clear();
            world.command(A, Command::Rekey(id));
            world.run_a_while();
            assert_eq!(world.ladder(), "a UPDATE, b UPDATE, a UPDATE");
            world.assert_agreement(A, B);
        }
        assert_ne!(world.child(A).pair.inbound, before.pair.inbound);
        world.run(Duration::from_secs(60));
        assert_eq!((world.children(A).len(), world.children(B).len()), (1, 1), "old ones are gone");
        assert_eq!((world.hosts[A].engine.spi_count(), world.hosts[B].engine.spi_count()), (1, 1));
    }
}

/// And what carries nothing but them is not kept for it.
#[test]
fn keys_are_replaced_by_the_clock() {
    let [a, b] = base_pair();
    let timed = Config { rekey_after: Some(Duration::from_secs(10)), ..a };
    let [timed, b] = [timed, b].map(|it| Config { unused_after: Some(Duration::from_secs(35)), ..it });
    let mut world = up([timed, b]);
    let before = world.child(B).pair.inbound_spi;
    world.run(Duration::from_secs(25));
    assert_eq!(world.sent.len(), 2 * 3, "{}", world.ladder());
    world.assert_agreement(A, B);
    assert_ne!(world.child(B).pair.inbound_spi, before);
    world.run(Duration::from_secs(120));
    world.assert_nothing_is_kept();
}

/// CKDF has 255 blocks of 16 octets; what is left of them when they do not suffice any more is no new pair of SAs.
#[test]
fn an_association_whose_keys_are_used_up_is_closed() {
    let mut world = up(diet_pair(DietVariant::Draft24));
    let id = world.association(A);
    for _ in 0..255 {
        world.command(A, Command::Rekey(id));
        world.run_a_while();
    }
    world.run(Duration::from_secs(120));
    let ends = |host: usize| {
        world.hosts[host]
            .events
            .iter()
            .filter_map(|event| match event {
                Event::Closed(_, reason) => Some(*reason),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    assert!(
        ends(A).contains(&Reason::KeysUsedUp) || ends(B).contains(&Reason::KeysUsedUp),
        "{:?} {:?}",
        ends(A),
        ends(B)
    );
    assert_eq!((world.children(A).len(), world.children(B).len()), (0, 0));
    world.assert_nothing_is_kept();
}

#[test]
fn one_side_alone_may_want_new_keys() {
    let [a, b] = base_pair();
    let mut world = up([Config { rekey_with_new_keys: true, ..a }, b]);
    for host in [A, B] {
        let id = world.association(host);
        world.command(host, Command::Rekey(id));
        world.run_a_while();
        world.assert_agreement(A, B);
    }
}

#[test]
fn two_rekeyings_that_cross_are_one() {
    for configs in [base_pair(), with_new_keys()] {
        let mut world = up(configs);
        for host in [A, B] {
            let id = world.association(host);
            world.command(host, Command::Rekey(id));
        }
        world.run_a_while();
        world.assert_agreement(A, B);
        let rekeyed = |host: usize| {
            world.hosts[host]
                .events
                .iter()
                .filter(|event| matches!(event, Event::ChildRekeyed { .. }))
                .count()
        };
        assert_eq!((rekeyed(A), rekeyed(B)), (1, 1));
    }
}

#[test]
fn a_peer_that_rekeys_without_end_has_so_many_sas_and_no_more() {
    let mut world = up(base_pair());
    let id = world.association(A);
    for _ in 0..20 {
        world.command(A, Command::Rekey(id));
        world.run(Duration::from_millis(100));
    }
    world.assert_agreement(A, B);
    assert_eq!((world.hosts[B].engine.spi_count(), world.children(B).len()), (9, 9));
}

#[test]
fn an_address_of_many_hosts_is_refused() {
    let mut world = up(base_pair());
    let (ours, theirs) = (world.association(A), world.association(B));
    let many = Addr::Ip { ip: IpAddr::V4(Ipv4Addr::new(224, 0, 0, 1)), protocol: 139 };
    world.command(A, Command::Readdress(ours, many));
    world.run_a_while();
    assert_eq!(world.discards(B), ["locator that is not one host's"]);
    assert!(!world.hosts[B].events.contains(&Event::PeerMoved(theirs, many)));
}

fn elsewhere() -> Addr {
    Addr::Ip { ip: IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7)), protocol: 139 }
}

#[test]
fn a_host_that_moved_is_believed_when_it_answers_from_there() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24)] {
        let mut world = up(configs);
        world.moved.insert(elsewhere(), A);
        let (ours, theirs) = (world.association(A), world.association(B));
        world.command(A, Command::Readdress(ours, elsewhere()));
        world.run_a_while();
        assert_eq!(world.ladder(), "a UPDATE, b UPDATE, a UPDATE");
        assert!(world.hosts[A].events.contains(&Event::Readdressed(ours, elsewhere())));
        assert!(world.hosts[B].events.contains(&Event::PeerMoved(theirs, elsewhere())));
        world.sent.clear();
        world.command(B, Command::Rekey(theirs));
        world.run_a_while();
        assert_eq!(world.sent[0].to, elsewhere());
        world.assert_agreement(A, B);
    }
}

#[test]
fn an_address_that_does_not_answer_is_not_believed() {
    let mut world = up(base_pair());
    let (ours, theirs) = (world.association(A), world.association(B));
    world.command(A, Command::Readdress(ours, elsewhere()));
    world.run(Duration::from_secs(120));
    assert!(!world.hosts[B].events.contains(&Event::PeerMoved(theirs, elsewhere())));
    assert!(world.hosts[A].events.contains(&Event::Closed(ours, Reason::Timeout)));
    world.assert_nothing_is_kept();
}

#[test]
fn moving_and_rekeying_at_once_come_both_to_their_end() {
    let mut world = up(base_pair());
    world.moved.insert(elsewhere(), A);
    let (ours, theirs) = (world.association(A), world.association(B));
    world.command(B, Command::Rekey(theirs));
    world.command(A, Command::Readdress(ours, elsewhere()));
    world.command(A, Command::Rekey(ours));
    world.run(Duration::from_secs(5));
    assert!(world.hosts[B].events.contains(&Event::PeerMoved(theirs, elsewhere())));
    world.assert_agreement(A, B);
}

#[test]
fn a_close_is_acknowledged_and_nothing_is_kept() {
    for configs in [base_pair(), diet_pair(DietVariant::Draft24), diet_pair(DietVariant::Prototype)] {
        let mut world = up(configs);
        let (ours, theirs) = (world.association(A), world.association(B));
        world.command(A, Command::Close(ours));
        world.run_a_while();
        assert_eq!(world.ladder(), "a CLOSE, b CLOSE_ACK");
        assert!(world.hosts[A].events.contains(&Event::Closed(ours, Reason::Closed)));
        assert!(world.hosts[B].events.contains(&Event::Closed(theirs, Reason::Closed)));
        assert_eq!((world.children(A).len(), world.children(B).len()), (0, 0));
        assert_eq!((closes(&world, A), closes(&world, B)), (vec![None], vec![]));
        world.run(Duration::from_secs(60));
        world.assert_nothing_is_kept();
    }
}

/// What became of the CLOSEs of a host.
fn closes(world: &World, host: usize) -> Vec<Option<Reason>> {
    let events = world.hosts[host].events.iter();
    events
        .filter_map(|event| match event {
            Event::CloseEnded(_, why) => Some(*why),
            _ => None,
        })
        .collect()
}

#[test]
fn two_closes_that_cross_are_both_answered() {
    let mut world = up(base_pair());
    for host in [A, B] {
        let id = world.association(host);
        world.command(host, Command::Close(id));
    }
    world.run(Duration::from_secs(60));
    world.assert_nothing_is_kept();
    assert_eq!((closes(&world, A), closes(&world, B)), (vec![None], vec![None]));
}

#[test]
fn a_close_that_nobody_answers_ends_for_a_reason() {
    for is_replaced in [false, true] {
        let mut world = up(base_pair());
        let id = world.association(A);
        world.fate = Box::new(|_, _| vec![]);
        world.command(A, Command::Close(id));
        if is_replaced {
            world.initiate(A, B);
        }
        world.run(Duration::from_secs(60));
        let why = if is_replaced { Reason::Replaced } else { Reason::Timeout };
        assert_eq!((closes(&world, A), closes(&world, B)), (vec![Some(why)], vec![]));
    }
}

#[test]
fn after_a_close_a_new_association_begins_at_once() {
    let mut world = up(base_pair());
    let id = world.association(A);
    world.command(A, Command::Close(id));
    world.run_a_while();
    world.initiate(B, A);
    world.run_a_while();
    world.assert_agreement(A, B);
}

#[test]
fn a_peer_that_is_gone_is_given_up() {
    let mut world = up(base_pair());
    world.fate = Box::new(|_, _| vec![]);
    let id = world.association(A);
    world.command(A, Command::Rekey(id));
    world.run(Duration::from_secs(120));
    assert!(world.hosts[A].events.contains(&Event::Closed(id, Reason::Timeout)));
    assert_eq!(world.hosts[A].engine.association_count(), 0);
    assert_eq!(world.hosts[A].engine.spi_count(), 0);
}

#[test]
fn an_association_that_nobody_uses_is_closed() {
    let unused_after = Some(Duration::from_secs(60));
    let mut world = up(base_pair().map(|config| Config { unused_after, ..config }));
    world.run(Duration::from_secs(50));
    let id = world.association(A);
    for host in [A, B] {
        let id = world.association(host);
        world.command(host, Command::Heard(id));
    }
    world.run(Duration::from_secs(50));
    assert_eq!(world.ladder(), "");
    world.run(Duration::from_secs(60));
    assert!(world.hosts[A].events.contains(&Event::Closed(id, Reason::Unused)));
    world.run(Duration::from_secs(60));
    world.assert_nothing_is_kept();
}
