//! Shared by the tests of this crate: hexadecimal, an environment, and conversations between a peer and a server.

use std::sync::Arc;

use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::{Crypto, Rng};
use keytoll_engine::trace::{Fact, Trace};
use keytoll_engine::{Ctx, Time};

use crate::packet::{Message, Packet};
use crate::peer::{Peer, PeerConfig, PeerOutput};
use crate::server::{Server, ServerConfig, ServerOutput};
use crate::{EAP, PeerOffer, ServerOffer};

/// Bytes from hexadecimal; blanks are ignored.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    assert!(digits.len().is_multiple_of(2), "{text}");
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// Keeps why things were discarded.
#[derive(Default)]
pub(crate) struct Discards(pub(crate) Vec<String>);

impl Trace for Discards {
    fn record(&mut self, fact: Fact) {
        if let Fact::Discarded { protocol: EAP, why } = fact {
            self.0.push(why.into_owned());
        }
    }
}

/// Crypto, randomness and a trace.
pub(crate) struct World {
    crypto: Box<dyn Crypto>,
    pub(crate) rng: Rng,
    pub(crate) discards: Discards,
}

impl World {
    pub(crate) fn real() -> Self {
        Self::with(Box::new(Real::default()))
    }

    pub(crate) fn null() -> Self {
        Self::with(Box::new(Null))
    }

    fn with(crypto: Box<dyn Crypto>) -> Self {
        Self { crypto, rng: Rng::named(1, "eap"), discards: Discards::default() }
    }

    /// Lends the environment for one call.
    pub(crate) fn lend<T>(&mut self, call: impl FnOnce(&mut Rng, &mut Ctx<'_>) -> T) -> T {
        let mut cx = Ctx { now: Time::default(), crypto: self.crypto.as_mut(), trace: &mut self.discards };
        call(&mut self.rng, &mut cx)
    }

    pub(crate) fn give_peer(&mut self, peer: &mut Peer, bytes: &[u8]) -> PeerOutput {
        self.lend(|rng, cx| peer.step(bytes, rng, cx))
    }

    pub(crate) fn give_server(&mut self, server: &mut Server, bytes: &[u8]) -> ServerOutput {
        self.lend(|rng, cx| server.step(bytes, rng, cx))
    }

    /// The reason of the last discard.
    pub(crate) fn last_discard(&self) -> &str {
        self.discards.0.last().map_or("", String::as_str)
    }
}

pub(crate) fn peer(methods: Vec<Arc<dyn PeerOffer>>, identity: &str) -> Peer {
    Peer::new(Arc::new(PeerConfig { methods, ..PeerConfig::default() }), identity.into())
}

pub(crate) fn server(methods: Vec<Arc<dyn ServerOffer>>) -> Server {
    Server::new(Arc::new(ServerConfig { methods, ..ServerConfig::default() }))
}

/// The results of a conversation at both sides, and all its packets.
pub(crate) struct Ended {
    pub(crate) peer: PeerOutput,
    pub(crate) server: ServerOutput,
    pub(crate) packets: Vec<Vec<u8>>,
}

/// Runs a conversation until both sides have ended.
pub(crate) fn converse(world: &mut World, peer: &mut Peer, server: &mut Server) -> Ended {
    let mut said = world.lend(|rng, cx| server.begin(None, rng, cx));
    let mut packets = Vec::new();
    loop {
        let packet = match &said {
            ServerOutput::Send(packet) => packet.clone(),
            ServerOutput::Success(accepted) => accepted.packet.clone(),
            ServerOutput::Failure { packet, .. } => packet.clone(),
            other => panic!("the server says {other:?}, {:?}", world.discards.0),
        };
        packets.push(packet.clone());
        match world.give_peer(peer, &packet) {
            PeerOutput::Send(response) => {
                packets.push(response.clone());
                said = world.give_server(server, &response);
            }
            peer => return Ended { peer, server: said, packets },
        }
    }
}

/// A conversation as a ladder, one line per packet; identifiers count from the first.
pub(crate) fn ladder(packets: &[Vec<u8>]) -> String {
    let first = packets[0][1];
    let line = |packet: &Vec<u8>| {
        let at =
            |message: Message<'_>| format!("{} {}", message.identifier.wrapping_sub(first), message.kind);
        match Packet::read(packet).unwrap() {
            Packet::Request(message) => format!("s -> p  {}\n", at(message)),
            Packet::Response(message) => format!("p -> s  {}\n", at(message)),
            Packet::Success(identifier) => format!("s -> p  {} Success\n", identifier.wrapping_sub(first)),
            Packet::Failure(identifier) => format!("s -> p  {} Failure\n", identifier.wrapping_sub(first)),
        }
    };
    packets.iter().map(line).collect()
}

/// Compares a ladder with the expected one, ignoring indentation.
pub(crate) fn check(packets: &[Vec<u8>], drawing: &str) {
    let expected: String = drawing.trim().lines().map(|line| format!("{}\n", line.trim())).collect();
    assert_eq!(ladder(packets), expected);
}
