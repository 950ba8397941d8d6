//! What both sides of IKE_SA_INIT share: the payloads, NAT detection, the move to port 4500.

use std::num::NonZeroU16;

use keytoll_crypto_api::Digest;
use keytoll_crypto_api::algorithm::Group;
use keytoll_engine::Ctx;

use super::endpoint::{Env, Route};
use super::inbound::Inbound;
use super::nat::{self, Nat};
use super::sa::Core;
use super::schemes::PeerHashes;
use crate::number::NotifyType;
use crate::wire::{CertificateRequest, KeyExchange, MessageBuilder, Nonce, Notify, Payload, Proposal};

/// The payloads of an IKE_SA_INIT message, RFC 7296 §1.2.
pub(super) struct FirstPayloads<'a> {
    pub(super) cookie: Option<&'a [u8]>,
    pub(super) proposals: Vec<Proposal>,
    pub(super) group: Group,
    pub(super) public: &'a [u8],
    pub(super) nonce: &'a [u8],
    pub(super) route: Route,
    pub(super) spis: (u64, u64),
    /// The trust anchors whose certificates the responder requests.
    pub(super) authorities: &'a [[u8; 20]],
    /// RFC 7427 §4: announce the hashes that we can verify.
    pub(super) signature_hashes: bool,
    /// RFC 6023 §3: the responder announces that it supports childless initiation.
    pub(super) childless: bool,
}

/// Data of NAT_DETECTION_SOURCE_IP and NAT_DETECTION_DESTINATION_IP.
pub(super) struct NatHashes {
    source: Digest,
    destination: Digest,
}

impl FirstPayloads<'_> {
    pub(super) fn nat_hashes(&self, env: &mut Env<'_, '_>) -> NatHashes {
        let (initiator, responder) = self.spis;
        // An impossible address of ours makes the peer assume a NAT.
        let forced = env.shared.config.force_encapsulation;
        let source = if forced { self.route.local.at_port(0) } else { self.route.local };
        NatHashes {
            source: nat::hash(initiator, responder, source, env.cx),
            destination: nat::hash(initiator, responder, self.route.remote, env.cx),
        }
    }

    pub(super) fn write(&self, m: &mut MessageBuilder, hashes: &NatHashes, fragmentation: bool) {
        let notify =
            |m: &mut MessageBuilder, kind, data: &[u8]| m.push(&Payload::Notify(Notify::new(kind, data)));
        // RFC 7296 §2.6: the cookie comes first.
        if let Some(cookie) = self.cookie {
            notify(m, NotifyType::COOKIE, cookie);
        }
        m.security_association(&self.proposals);
        m.push(&Payload::KeyExchange(KeyExchange::new(self.group, self.public)));
        m.push(&Payload::Nonce(Nonce { data: self.nonce }));
        notify(m, NotifyType::NAT_DETECTION_SOURCE_IP, &hashes.source);
        notify(m, NotifyType::NAT_DETECTION_DESTINATION_IP, &hashes.destination);
        // RFC 7296 §1.2: the responder requests certificates already here; without a request an initiator may omit its own.
        if !self.authorities.is_empty() {
            m.push(&Payload::CertificateRequest(CertificateRequest::x509(self.authorities)));
        }
        if fragmentation {
            notify(m, NotifyType::IKEV2_FRAGMENTATION_SUPPORTED, &[]);
        }
        if self.signature_hashes {
            let ours = PeerHashes::OURS.map(|id| id.0.to_be_bytes());
            notify(m, NotifyType::SIGNATURE_HASH_ALGORITHMS, ours.as_flattened());
        }
        if self.childless {
            notify(m, NotifyType::CHILDLESS_IKEV2_SUPPORTED, &[]);
        }
    }
}

/// RFC 7296 §2.23: compares the addresses that the peer reports with those that we see.
pub(super) fn detect_nat(inbound: &Inbound<'_>, route: Route, spis: (u64, u64), cx: &mut Ctx<'_>) -> Nat {
    let mut mismatch = |kind, addr| {
        let mut said = inbound.notifies().filter(|notify| notify.kind == kind).peekable();
        said.peek().is_some() && {
            let seen = nat::hash(spis.0, spis.1, addr, cx);
            said.all(|notify| *notify.data != *seen)
        }
    };
    Nat {
        there: mismatch(NotifyType::NAT_DETECTION_SOURCE_IP, route.remote),
        here: mismatch(NotifyType::NAT_DETECTION_DESTINATION_IP, route.local),
        forgets: false,
        detects: inbound.says(NotifyType::NAT_DETECTION_SOURCE_IP),
    }
}

/// Applies what both sides support: fragmentation, and with a NAT between them UDP 4500 from now on.
pub(super) fn settle(core: &mut Core, nat: Nat, fragmentation: bool, env: &Env<'_, '_>) {
    let config = &env.shared.config;
    let bytes_max = config.fragmentation.filter(|_| fragmentation).map(|allowed| allowed.packet_bytes_max);
    // No packet is longer than 64 KiB, and a length of zero is never intended.
    core.packet_bytes_max =
        bytes_max.map(|bytes| u16::try_from(bytes).unwrap_or(u16::MAX)).and_then(NonZeroU16::new);
    // A host that pretends to be behind a NAT must act accordingly, or only the peer would encapsulate.
    core.nat = Nat { here: nat.here || config.force_encapsulation, forgets: nat.here, ..nat };
    // RFC 7296 §2.23: a peer without NAT detection need not listen at port 4500.
    if core.initiator && core.nat.found() && nat.detects && !core.route.marked {
        core.route = Route {
            local: core.route.local.at_port(config.nat_port),
            remote: core.route.remote.at_port(config.responder_ports().1),
            marked: true,
        };
    }
}
