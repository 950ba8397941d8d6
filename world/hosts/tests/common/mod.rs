//! EAP conversations over real TLS: certificates, and a lock-step link.

#![allow(dead_code, reason = "each test file uses its part of these helpers")]
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

use std::sync::Arc;

use keytoll_crypto::{Null, Provider, Real, keys};
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_crypto_api::credentials::{Credential, Trust};
use keytoll_crypto_api::{Rng, Seed};
use keytoll_eap::tunnel::Tunnels;
use keytoll_eap::{
    Keys, Peer, PeerConfig, PeerOffer, PeerOutput, Reason, Server, ServerConfig, ServerOffer, ServerOutput,
};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Time};
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_pki::{Anchors, Authority, Request, Validity};
use keytoll_tls::{Config, Version};

/// A day in 2026, when all certificates here are valid.
const NOW_UNIX_SECONDS: u64 = 1_790_000_000;

/// Certificates of both sides and the anchor they share.
pub(crate) struct Pki {
    pub(crate) peer: Credential,
    pub(crate) server: Credential,
    pub(crate) anchor: Vec<u8>,
}

impl Pki {
    pub(crate) fn new(kind: KeyKind, chain_length: usize) -> Self {
        let validity = Validity {
            from_unix_seconds: NOW_UNIX_SECONDS - 1000,
            until_unix_seconds: NOW_UNIX_SECONDS + 1000,
        };
        let (mut crypto, make) = (Real::default(), &mut keys::generate);
        let mut authority = Authority::new(kind, validity, &Seed::from(1), make, &mut crypto);
        let mut issue = |name| {
            let request = Request { name, alternatives: &[], kind, chain_length };
            authority.issue(&request, make, &mut crypto)
        };
        Self { peer: issue("peer"), server: issue("server"), anchor: authority.anchor() }
    }

    fn trust(&self) -> Arc<dyn Trust> {
        let anchors = Anchors::new([&self.anchor[..]], NOW_UNIX_SECONDS, &mut Real::default());
        Arc::new(anchors.unwrap())
    }

    /// The same certificates with keys that only the null provider can use.
    pub(crate) fn without_keys(mut self) -> Self {
        for side in [&mut self.peer, &mut self.server] {
            side.key = keys::null(side.key.kind, &side.key.spki.clone());
        }
        self
    }

    pub(crate) fn config(&self, credential: Option<&Credential>, trusts: bool, version: Version) -> Config {
        Config {
            credential: credential.cloned(),
            trust: trusts.then(|| self.trust()),
            oldest: version,
            newest: version,
            ..Config::new()
        }
    }

    /// TLS of both sides with resumption.
    pub(crate) fn resuming(&self, mutual: bool, version: Version) -> (Arc<dyn Tunnels>, Arc<dyn Tunnels>) {
        let peer = self.config(mutual.then_some(&self.peer), true, version);
        let server = self.config(Some(&self.server), mutual, version);
        let client = tls_client(&Config { resumption: true, ..peer }).unwrap();
        (client, tls_server(&Config { resumption: true, ..server }).unwrap())
    }

    /// TLS of both sides with certificates on both.
    pub(crate) fn mutual(&self, version: Version) -> (Arc<dyn Tunnels>, Arc<dyn Tunnels>) {
        let peer = self.config(Some(&self.peer), true, version);
        let server = self.config(Some(&self.server), true, version);
        (tls_client(&peer).unwrap(), tls_server(&server).unwrap())
    }

    /// TLS of both sides with a certificate on the server only.
    pub(crate) fn server_only(&self, version: Version) -> (Arc<dyn Tunnels>, Arc<dyn Tunnels>) {
        let peer = self.config(None, true, version);
        let server = self.config(Some(&self.server), false, version);
        (tls_client(&peer).unwrap(), tls_server(&server).unwrap())
    }
}

/// Environment of one side.
pub(crate) struct World {
    crypto: Provider,
    rng: Rng,
}

impl World {
    pub(crate) fn real(name: &str) -> Self {
        Self { crypto: Provider::Real(Real::default()), rng: Rng::named(1, name) }
    }

    pub(crate) fn null(name: &str) -> Self {
        Self { crypto: Provider::Null(Null), rng: Rng::named(1, name) }
    }

    fn lend<T>(&mut self, call: impl FnOnce(&mut Rng, &mut Ctx<'_>) -> T) -> T {
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut self.crypto, trace: &mut NoTrace };
        call(&mut self.rng, &mut cx)
    }
}

/// How a conversation went.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The length of each packet, the server's first.
    pub(crate) lengths: Vec<usize>,
    pub(crate) peer: Result<Keys, Reason>,
    pub(crate) server: Result<Keys, Reason>,
    /// The identity that the server authenticated.
    pub(crate) identity: Vec<u8>,
}

/// A whole conversation with one method on each side.
pub(crate) fn converse(
    peer_offer: Arc<dyn PeerOffer>,
    server_offer: Arc<dyn ServerOffer>,
    worlds: [World; 2],
) -> Outcome {
    let [mut ours, mut theirs] = worlds;
    let mut peer = Peer::new(
        Arc::new(PeerConfig { methods: vec![peer_offer], ..PeerConfig::default() }),
        b"alice".to_vec(),
    );
    let mut server =
        Server::new(Arc::new(ServerConfig { methods: vec![server_offer], ..ServerConfig::default() }));
    let mut lengths = vec![];
    let mut output = theirs.lend(|rng, cx| server.begin(None, rng, cx));
    loop {
        let (packet, verdict) = match output {
            ServerOutput::Send(packet) => (packet, None),
            ServerOutput::Success(accepted) => {
                server.admit();
                (accepted.packet, Some((Ok(accepted.keys), accepted.identity)))
            }
            ServerOutput::Failure { packet, reason } => (packet, Some((Err(reason), vec![]))),
            other => panic!("{other:?} after {lengths:?}"),
        };
        lengths.push(packet.len());
        let step = ours.lend(|rng, cx| peer.step(&packet, rng, cx));
        match (step, verdict) {
            (PeerOutput::Send(answer), None) => {
                lengths.push(answer.len());
                output = theirs.lend(|rng, cx| server.step(&answer, rng, cx));
            }
            (PeerOutput::Success(keys), Some((server, identity))) => {
                return Outcome { lengths, peer: Ok(keys), server, identity };
            }
            (PeerOutput::Failed(reason), Some((server, identity))) => {
                return Outcome { lengths, peer: Err(reason), server, identity };
            }
            other => panic!("{other:?} after {lengths:?}"),
        }
    }
}

/// A conversation in which one byte of one packet is changed; returns the keys of each side that ended with success. Ends
/// at the first ignored packet: there are no retransmissions here.
pub(crate) fn converse_with_a_change(
    peer_offer: Arc<dyn PeerOffer>,
    server_offer: Arc<dyn ServerOffer>,
    packet: usize,
    at: usize,
) -> [Option<Keys>; 2] {
    let [mut ours, mut theirs] = [World::real("peer"), World::real("server")];
    let mut peer = Peer::new(
        Arc::new(PeerConfig { methods: vec![peer_offer], ..PeerConfig::default() }),
        b"alice".to_vec(),
    );
    let mut server =
        Server::new(Arc::new(ServerConfig { methods: vec![server_offer], ..ServerConfig::default() }));
    let mut sent = 0;
    let mut change = |mut bytes: Vec<u8>| {
        if sent == packet {
            let at = at % bytes.len();
            bytes[at] ^= 0x41;
        }
        sent += 1;
        bytes
    };
    let mut output = theirs.lend(|rng, cx| server.begin(None, rng, cx));
    loop {
        let (request, server_keys) = match output {
            ServerOutput::Send(packet) => (packet, None),
            ServerOutput::Success(accepted) => {
                server.admit();
                (accepted.packet, Some(accepted.keys))
            }
            ServerOutput::Failure { packet, .. } => (packet, None),
            ServerOutput::Ask(_) | ServerOutput::Ignored => return [None, None],
        };
        let request = change(request);
        match ours.lend(|rng, cx| peer.step(&request, rng, cx)) {
            PeerOutput::Send(answer) => {
                let answer = change(answer);
                output = theirs.lend(|rng, cx| server.step(&answer, rng, cx));
            }
            PeerOutput::Success(keys) => return [Some(keys), server_keys],
            PeerOutput::Failed(_) | PeerOutput::Ignored => return [None, server_keys],
        }
    }
}
