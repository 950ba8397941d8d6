//! NAT detection, RFC 3947 §3.2: each side sends hashes of the addresses it sees; a mismatch reveals a NAT.

use std::net::IpAddr;

use keytoll_crypto_api::algorithm::Hash;
use keytoll_crypto_api::{Digest, about};
use keytoll_engine::Ctx;
use keytoll_net::Socket;

use super::inbound::Inbound;
use crate::nat::Nat;
use crate::route::Route;

/// HASH(CKY-I | CKY-R | IP | Port), with the negotiated hash.
fn hash(algorithm: Hash, cookies: (u64, u64), addr: Socket, cx: &mut Ctx<'_>) -> Digest {
    let (initiator, responder) = (cookies.0.to_be_bytes(), cookies.1.to_be_bytes());
    let port = addr.port.to_be_bytes();
    about(cx.crypto, "NAT-D", |crypto| match addr.ip {
        IpAddr::V4(ip) => crypto.hash(algorithm, &[&initiator, &responder, &ip.octets(), &port]),
        IpAddr::V6(ip) => crypto.hash(algorithm, &[&initiator, &responder, &ip.octets(), &port]),
    })
}

/// Our NAT-D payloads, RFC 3947 §3.2: the other side's address first. `forced`: an impossible address of ours makes the peer
/// assume a NAT.
pub(super) fn ours(
    algorithm: Hash,
    cookies: (u64, u64),
    route: Route,
    forced: bool,
    cx: &mut Ctx<'_>,
) -> [Digest; 2] {
    let source = if forced { route.local.at_port(0) } else { route.local };
    [hash(algorithm, cookies, route.remote, cx), hash(algorithm, cookies, source, cx)]
}

/// Compares the addresses that the peer reports with those that we see; without NAT-D payloads there is no NAT.
pub(super) fn detect(
    algorithm: Hash,
    cookies: (u64, u64),
    route: Route,
    inbound: &Inbound<'_>,
    cx: &mut Ctx<'_>,
) -> Nat {
    let mut said = inbound.nat_detections();
    let Some(about_us) = said.next() else { return Nat::default() };
    let seen_here = hash(algorithm, cookies, route.local, cx);
    let seen_there = hash(algorithm, cookies, route.remote, cx);
    // RFC 3947 §3.2: a peer with several addresses sends one hash for each.
    let there = !said.any(|hash| *hash == *seen_there);
    let here = *about_us != *seen_here;
    Nat { here, there, forgets: here, detects: true }
}
