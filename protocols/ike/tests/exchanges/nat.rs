//! Network address translation: detected, followed, and pretended.

use keytoll_net::{Addr, Socket};

use crate::support::bench::Rewriter;
use crate::support::lab::{self, only, psk};
use crate::support::{Bench, Side};

const OUTSIDE: &str = "198.51.100.7";

fn behind_nat() -> Bench {
    let (mut i, mut r) = psk();
    only(&mut i).request_address = true;
    only(&mut r).pool = Some(lab::pool());
    let mut bench = Bench::new((i, r));
    bench.nat = Some(Rewriter { outside: OUTSIDE.parse().unwrap(), port_offset: 10_000 });
    bench
}

/// Source and destination port of every datagram, and whether a non-ESP marker precedes it.
fn ports(bench: &Bench) -> Vec<(u16, u16, bool)> {
    let marked = |bytes: &[u8]| bytes.starts_with(&[0; 4]);
    bench
        .sent
        .iter()
        .map(|(_, sent)| (sent.from.port().unwrap(), sent.to.port().unwrap(), marked(&sent.bytes)))
        .collect()
}

#[test]
fn a_nat_is_found_and_everything_moves_to_port_4500() {
    let bench = behind_nat().established();
    assert_eq!(
        ports(&bench),
        [(500, 500, false), (500, 10_500, false), (4500, 4500, true), (4500, 14_500, true)]
    );
    assert_eq!(bench.r.endpoint.sa_count(), 1);
    let (i, r) = (bench.i.books.only_child(), bench.r.books.only_child());
    let (device, gateway) = (Socket::new(Side::I.ip(), 4500), Socket::new(Side::R.ip(), 4500));
    assert_eq!(i.encapsulation, Some((device, gateway)));
    assert_eq!(r.encapsulation, Some((gateway, Socket::new(OUTSIDE.parse().unwrap(), 14_500))));
    assert_eq!((i.peer_may_move, r.peer_may_move), (false, true), "only who is outside follows");
}

#[test]
fn without_a_nat_everything_stays_at_port_500() {
    let bench = Bench::new(psk()).established();
    assert_eq!(ports(&bench), [(500, 500, false); 4]);
    assert_eq!(bench.i.books.only_child().encapsulation, None);
}

#[test]
fn either_side_can_pretend_and_both_encapsulate() {
    for side in Side::BOTH {
        let (mut i, mut r) = psk();
        i.force_encapsulation = side == Side::I;
        r.force_encapsulation = side == Side::R;
        let bench = Bench::new((i, r)).established();
        assert_eq!(ports(&bench)[2..], [(4500, 4500, true); 2], "{side:?} pretends");
        bench.assert_agreement();
        assert!(bench.i.books.only_child().encapsulation.is_some(), "{side:?} pretends");
    }
}

#[test]
fn configured_ports() {
    let (mut i, mut r) = psk();
    for config in [&mut i, &mut r] {
        (config.port, config.nat_port, config.force_encapsulation) = (5000, 5001, true);
    }
    let bench = Bench::new((i, r)).established();
    assert_eq!(
        ports(&bench),
        [(5000, 5000, false), (5000, 5000, false), (5001, 5001, true), (5001, 5001, true)]
    );
    bench.assert_agreement();
}

#[test]
fn a_device_may_use_ports_of_its_own() {
    let (mut i, r) = psk();
    (i.port, i.nat_port, i.responder_ports, i.force_encapsulation) = (5000, 5001, Some((500, 4500)), true);
    let bench = Bench::new((i, r)).established();
    assert_eq!(
        ports(&bench),
        [(5000, 500, false), (500, 5000, false), (5001, 4500, true), (4500, 5001, true)]
    );
    bench.assert_agreement();
}

/// The NAT's mapping changes: the next message of the device tells the gateway.
#[test]
fn a_gateway_follows_a_device_whose_nat_mapping_changed() {
    let mut bench = behind_nat().established();
    bench.nat = Some(Rewriter { outside: OUTSIDE.parse().unwrap(), port_offset: 20_000 });
    let sa = bench.sa(Side::I);
    bench.command(Side::I, keytoll_ike::Command::Probe(sa));
    bench.settle();
    let sa = bench.sa(Side::R);
    bench.command(Side::R, keytoll_ike::Command::Probe(sa));
    bench.settle();
    let to: Vec<u16> = bench.sent.iter().skip(4).map(|(_, sent)| sent.to.port().unwrap()).collect();
    assert_eq!(to, [4500, 24_500, 24_500, 4500]);
}

/// The response was lost and meanwhile the mapping has changed: it goes to the source of the retransmitted request.
#[test]
fn a_retransmitted_response_goes_to_the_source_of_the_retransmitted_request() {
    let mut bench = behind_nat().established();
    let sa = bench.sa(Side::I);
    bench.command(Side::I, keytoll_ike::Command::Probe(sa));
    bench.next_fault(crate::support::Fault::Lost);
    bench.settle();
    bench.nat = Some(Rewriter { outside: OUTSIDE.parse().unwrap(), port_offset: 20_000 });
    bench.run_for(lab::seconds(10));
    let (_, last) = bench.sent.last().unwrap();
    assert_eq!((last.to.ip().unwrap().to_string(), last.to.port().unwrap()), (OUTSIDE.to_owned(), 24_500));
    assert_eq!(
        bench.sent.len(),
        8,
        "request, lost response, request again, response again\n{}",
        bench.ladder
    );
}

/// RFC 7296 §2.11: a peer may ask from another port, also if there is no NAT, and has the answer there. The SA stays where it is.
#[test]
fn an_answer_goes_to_where_its_request_came_from() {
    let mut bench = Bench::new(psk()).established();
    let sa = bench.sa(Side::I);
    bench.command(Side::I, keytoll_ike::Command::Probe(sa));
    let (_, mut request) = bench.intercept().expect("the probe is on its way");
    request.from = Addr::udp(Side::I.ip(), 51_000);
    bench.deliver(Side::R, &request);
    let ends = |bench: &Bench| {
        let (side, last) = bench.sent.last().unwrap();
        (*side, last.from.port().unwrap(), last.to.port().unwrap())
    };
    assert_eq!(ends(&bench), (Side::R, 500, 51_000));
    bench.deliver(Side::R, &request);
    assert_eq!(ends(&bench), (Side::R, 500, 51_000), "the same answer again");
    let sa = bench.sa(Side::R);
    bench.command(Side::R, keytoll_ike::Command::Probe(sa));
    assert_eq!(ends(&bench), (Side::R, 500, 500), "requests go where the SA is");
}

/// RFC 7296 §2.23: nothing says that a peer without NAT detection listens at port 4500, so that IKE stays at port 500.
#[test]
fn a_device_that_pretends_stays_at_port_500_with_a_gateway_without_nat_detection() {
    for (renamed, expected) in [(false, (4500, 4500, true)), (true, (500, 500, false))] {
        let (mut i, r) = psk();
        i.force_encapsulation = true;
        let mut bench = Bench::new((i, r));
        bench.initiate();
        let (_, request) = bench.intercept().expect("IKE_SA_INIT is on its way");
        bench.deliver(Side::R, &request);
        let (_, mut response) = bench.intercept().expect("so is the response");
        if renamed {
            rename_nat_detection(&mut response.bytes);
        }
        bench.deliver(Side::I, &response);
        assert_eq!(*ports(&bench).last().unwrap(), expected, "IKE_AUTH");
    }
}

/// Replaces the numbers of both notifications of NAT detection by unassigned ones.
fn rename_nat_detection(message: &mut [u8]) {
    let is_found = |at: &usize| matches!(message[*at..at + 4], [0, 0, 0x40, 4 | 5]);
    let found: Vec<usize> = (0..message.len() - 4).filter(is_found).collect();
    assert_eq!(found.len(), 2);
    found.into_iter().for_each(|at| message[at + 2] = 0x9c);
}

/// RFC 3948 §4: only a real NAT has a mapping that expires.
#[test]
fn only_the_end_behind_a_nat_needs_keepalives() {
    let mut bench = behind_nat().established();
    let (i, r) = (bench.sa(Side::I), bench.sa(Side::R));
    let path = (Socket::new(Side::I.ip(), 4500), Socket::new(Side::R.ip(), 4500));
    assert_eq!(bench.i.endpoint.path_to_keep(i), Some(path));
    assert_eq!(bench.r.endpoint.path_to_keep(r), None);
    let (mut i, r) = psk();
    i.force_encapsulation = true;
    let mut bench = Bench::new((i, r)).established();
    let sa = bench.sa(Side::I);
    assert_eq!(bench.i.endpoint.path_to_keep(sa), None, "nobody has to be reminded of a NAT made up");
}
