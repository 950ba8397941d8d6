//! An EAP peer and an EAP server behind 802.1X of ours, whatever carries it: what each makes of a packet, in the words of
//! [`keytoll_wlan::dot1x`].

use std::collections::BTreeMap;
use std::sync::Arc;

use keytoll_crypto_api::Rng;
use keytoll_crypto_api::Seed;
use keytoll_eap::methods::{self, PeerParts, Proposal, ServerParts, TlsParts};
use keytoll_eap::{Limits, Peer, PeerConfig, PeerOutput, Server, ServerConfig, ServerOutput};
use keytoll_engine::Ctx;
use keytoll_wlan::MacAddr;
use keytoll_wlan::dot1x::Eap;

const HAS_PARTS: &str = "whoever names a method has its parts";

/// A random stream of ours.
pub(crate) fn random(name: &str) -> Rng {
    Seed::system().expect("the system has randomness").stream(name)
}

/// A peer with one method of the catalogue.
pub(crate) fn peer_config(
    method: &str,
    user: &str,
    password: &str,
    tls: Option<TlsParts>,
) -> Arc<PeerConfig> {
    let parts = PeerParts { user: user.into(), password: Some(password.as_bytes().into()), card: None, tls };
    let method = methods::named(method).expect("a method of the catalogue");
    let offer = method.peer(&parts).expect(HAS_PARTS);
    Arc::new(PeerConfig { methods: vec![offer], limits: Limits::default() })
}

/// A server with one method of the catalogue and one user.
pub(crate) fn server_config(
    method: &str,
    user: &str,
    password: &str,
    tls: Option<TlsParts>,
) -> Arc<ServerConfig> {
    let users = BTreeMap::from([(user.into(), password.as_bytes().into())]);
    let parts = ServerParts { name: b"gw".to_vec(), passwords: Some(Arc::new(users)), cards: None, tls };
    let method = methods::named(method).expect("a method of the catalogue");
    let offers = Proposal::all(&[method]);
    let methods = offers.iter().map(|offer| offer.server(&parts).expect(HAS_PARTS)).collect();
    Arc::new(ServerConfig { methods, limits: Limits::default() })
}

/// The peer of one supplicant.
pub(crate) struct PeerSide {
    config: Arc<PeerConfig>,
    user: String,
    peer: Peer,
    rng: Rng,
}

impl PeerSide {
    pub(crate) fn new(config: Arc<PeerConfig>, user: &str) -> Self {
        let peer = Peer::new(Arc::clone(&config), user.into());
        Self { config, user: user.to_owned(), peer, rng: random("peer/eap") }
    }

    /// Forgets a conversation.
    pub(crate) fn begin(&mut self) {
        self.peer = Peer::new(Arc::clone(&self.config), self.user.as_str().into());
    }

    /// What the peer makes of a packet, and why it gives up if it does; nothing if it ignores it.
    pub(crate) fn answer(&mut self, packet: &[u8], cx: &mut Ctx<'_>) -> Option<(Eap, Option<&'static str>)> {
        Some(match self.peer.step(packet, &mut self.rng, cx) {
            PeerOutput::Send(packet) => (Eap::Packet(packet), None),
            PeerOutput::Ignored => return None,
            PeerOutput::Success(keys) => (Eap::Success { packet: Vec::new(), msk: keys.msk }, None),
            PeerOutput::Failed(reason) => (Eap::Failure { packet: Vec::new() }, Some(reason.0)),
        })
    }
}

/// The servers of one authenticator, one for each station.
pub(crate) struct ServerSide {
    config: Arc<ServerConfig>,
    servers: BTreeMap<MacAddr, Server>,
    rng: Rng,
}

impl ServerSide {
    pub(crate) fn new(config: Arc<ServerConfig>) -> Self {
        Self { config, servers: BTreeMap::new(), rng: random("server/eap") }
    }

    /// Begins with a station.
    pub(crate) fn begin(&mut self, station: MacAddr, cx: &mut Ctx<'_>) -> Option<Eap> {
        let mut server = Server::new(Arc::clone(&self.config));
        let begun = server.begin(None, &mut self.rng, cx);
        self.servers.insert(station, server);
        said(begun)
    }

    /// What a station's server makes of a packet; nothing if it ignores it.
    pub(crate) fn answer(&mut self, station: MacAddr, packet: &[u8], cx: &mut Ctx<'_>) -> Option<Eap> {
        let server = self.servers.get_mut(&station)?;
        let output = server.step(packet, &mut self.rng, cx);
        server.admit();
        said(output)
    }

    /// A station is gone.
    pub(crate) fn forget(&mut self, station: MacAddr) {
        self.servers.remove(&station);
    }
}

fn said(output: ServerOutput) -> Option<Eap> {
    Some(match output {
        ServerOutput::Send(packet) => Eap::Packet(packet),
        // The lab's methods ask nobody else.
        ServerOutput::Ask(_) | ServerOutput::Ignored => return None,
        ServerOutput::Success(accepted) => Eap::Success { packet: accepted.packet, msk: accepted.keys.msk },
        ServerOutput::Failure { packet, .. } => Eap::Failure { packet },
    })
}
