//! A device and a gateway between their HITs, with SAs as HIP negotiates them.

use std::net::IpAddr;

use keytoll_crypto::Real;
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Secret, Seed};
use keytoll_engine::Datagram;
use keytoll_engine::sa::{SaKeys, SaPair};
use keytoll_engine::trace::NoTrace;
use keytoll_net::ip::protocol::ESP;

use super::*;
use crate::ipsec::bound;
use crate::{SessionId, ip};

const HITS: [&str; 2] = ["2001:21::1:2", "2001:21::3:4"];
const OUTER: [[u8; 4]; 2] = [[192, 0, 2, 1], [192, 0, 2, 2]];
/// HIP's number in the header of IP.
const HIP: u8 = 139;

fn hit(end: usize) -> std::net::Ipv6Addr {
    HITS[end].parse().expect("an address")
}

/// A pair of one end, with keys that say nothing.
fn pair(end: usize, at: fn(IpAddr) -> Addr) -> keytoll_esp::PairConfig {
    let keys = || SaKeys { encryption: Secret::new(vec![7; 20]), integrity: Secret::default() };
    let spi = |end: usize| 0x100 + u32::try_from(end).expect("there are two");
    let suite = Suite::esp("aes128gcm16-esn").expect("a suite");
    let (inbound_spi, outbound_spi) = (spi(end), spi(1 - end));
    let sas = SaPair { inbound_spi, outbound_spi, suite, inbound: keys(), outbound: keys() };
    bound(sas, (hit(end), hit(1 - end)), (at(OUTER[end].into()), at(OUTER[1 - end].into())))
}

fn on_ip(ip: IpAddr) -> Addr {
    Addr::Ip { ip, protocol: HIP }
}

fn in_udp(ip: IpAddr) -> Addr {
    Addr::udp(ip, 10_500)
}

/// Both ends, without SAs.
fn ends() -> (UserPlane<Requester>, UserPlane<Responder>) {
    let rng = |name| Seed::from(1).stream(name);
    let requester = Requester::new(hit(0).into(), hit(1).into());
    let responder = Responder::new(vec![hit(1).into()]);
    (UserPlane::new(requester, rng("ue/esp")), UserPlane::new(responder, rng("gw/esp")))
}

fn with<T>(work: impl FnOnce(&mut Ctx<'_>) -> T) -> T {
    work(&mut Ctx { now: Time::ZERO, crypto: &mut Real::default(), trace: &mut NoTrace })
}

fn datagrams(out: &mut Out) -> Vec<Datagram> {
    let datagram = |output| if let Output::Datagram(datagram) = output { Some(datagram) } else { None };
    out.drain(..).filter_map(datagram).collect()
}

#[test]
fn echoes_wait_for_the_sas_and_are_answered_between_the_hits() {
    for (at, way) in [
        (on_ip as fn(_) -> _, Addr::Ip { ip: OUTER[1].into(), protocol: ESP }),
        (in_udp, in_udp(OUTER[1].into())),
    ] {
        let (mut device, mut gateway) = ends();
        let mut out = Out::new();
        assert!(!with(|cx| device.echo(8, &mut out, cx)) && out.is_empty(), "there is no SA");
        device.sas.install(SessionId(1), pair(0, at));
        gateway.sas.install(SessionId(1), pair(1, at));
        with(|cx| device.release(&mut out, cx));
        let [request] = &datagrams(&mut out)[..] else { panic!("one request") };
        // RFC 7402 §B.1.2: sequence number, IV, echo, trailer and check value, but no IPv6 header.
        assert_eq!((request.to, request.bytes.len()), (way, 8 + 8 + (16 + 4) + 16));
        with(|cx| gateway.arrived(request.from, request.to, &request.bytes, &mut out, cx));
        let [reply] = &datagrams(&mut out)[..] else { panic!("one reply") };
        with(|cx| device.arrived(reply.from, reply.to, &reply.bytes, &mut out, cx));
        assert_eq!(out, [Output::Event(Event::EchoReply)]);
    }
}

#[test]
fn an_interface_gets_packets_between_the_hits() {
    let (mut device, mut gateway) = ends();
    device.sas.install(SessionId(1), pair(0, on_ip));
    gateway.sas.install(SessionId(1), pair(1, on_ip));
    gateway.attach_interface();
    let (source, destination) = (hit(0).into(), hit(1).into());
    let payload = [0, 7, 0, 7, 0, 12, 0, 0, 1, 2, 3, 4];
    let packet =
        ip::Packet { source, destination, protocol: 17, payload: &payload }.write().expect("a packet");
    let mut out = Out::new();
    with(|cx| device.forward(&packet, &mut out, cx));
    let [sent] = &datagrams(&mut out)[..] else { panic!("one datagram") };
    with(|cx| gateway.arrived(sent.from, sent.to, &sent.bytes, &mut out, cx));
    assert_eq!(out, [Output::Inner(packet)]);
}

/// What nobody asked for is dropped; requests that wait have a limit, and are forgotten on demand.
#[test]
fn nothing_is_kept_without_end() {
    let (mut device, _) = ends();
    let mut out = Out::new();
    (0..40).for_each(|_| assert!(!with(|cx| device.echo(8, &mut out, cx))));
    device.sas.install(SessionId(1), pair(0, on_ip));
    with(|cx| device.release(&mut out, cx));
    assert_eq!(datagrams(&mut out).len(), 16);
    device.aim("2001:21::5:6".parse().expect("an address"));
    assert!(!with(|cx| device.echo(8, &mut out, cx)));
    device.forget_waiting();
    with(|cx| device.release(&mut out, cx));
    assert_eq!((out.len(), device.ends()[0]), (0, IpAddr::from(hit(0))));
    assert_eq!(device.deadline(), None);
}
