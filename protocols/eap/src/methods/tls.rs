//! EAP-TLS: mutual authentication with certificates. Read RFC 5216 §2 and RFC 9190 §2 first.
//!
//! ```text
//!   TLS 1.2                                TLS 1.3
//!   s -> p  Start                          s -> p  Start
//!   p -> s  ClientHello                    p -> s  ClientHello
//!   s -> p  ServerHello … ServerHelloDone  s -> p  ServerHello … Finished
//!   p -> s  Certificate … Finished         p -> s  Certificate … Finished
//!   s -> p  ChangeCipherSpec, Finished     s -> p  0x00
//!   p -> s  (nothing)                      p -> s  (nothing)
//!   s -> p  Success                        s -> p  Success
//! ```

use std::sync::Arc;

use super::{Method, TlsParts};
use crate::method::{PeerMethod, PeerOffer, Reason, ServerMethod, ServerOffer, Turn};
use crate::packet::MethodType;
use crate::tunnel::{Act, Framing, Inner, PeerSide, ServerSide, Then, Tunnel, Tunnels, done, keys};

impl MethodType {
    /// RFC 5216, RFC 9190.
    pub const TLS: Self = Self(13);
}

/// EAP-TLS with certificates of both sides.
pub static METHOD: Method = Method {
    name: "tls",
    kind: MethodType::TLS,
    title: "TLS",
    has_tls: true,
    card: None,
    inside: None,
    peer: |_, parts| {
        let TlsParts { tunnels, framing, .. } = parts.tls()?;
        Ok(Arc::new(TlsPeer { tunnels, framing }))
    },
    server: |parts, _| {
        let TlsParts { tunnels, framing, .. } = parts.tls()?;
        Ok(Arc::new(TlsServer { tunnels, framing }))
    },
};

/// RFC 5216 §2.3: the key label in TLS 1.2.
const LABEL: &str = "client EAP encryption";

/// RFC 9190 §2.5: the byte of application data by which a TLS 1.3 server promises that no more handshake messages follow.
const SUCCESS_INDICATION: [u8; 1] = [0];

/// EAP-TLS for a peer.
#[derive(Clone)]
pub struct TlsPeer {
    /// TLS as client, with a certificate of its own.
    pub tunnels: Arc<dyn Tunnels>,
    /// How long its packets are.
    pub framing: Framing,
}

impl PeerOffer for TlsPeer {
    fn method(&self) -> MethodType {
        MethodType::TLS
    }

    fn proves_server(&self) -> bool {
        true
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        Box::new(PeerSide::new(None, self.framing, Arc::clone(&self.tunnels), Peer))
    }
}

/// EAP-TLS for a server.
#[derive(Clone)]
pub struct TlsServer {
    /// TLS as server, which requires a certificate.
    pub tunnels: Arc<dyn Tunnels>,
    /// How long its packets are.
    pub framing: Framing,
}

impl ServerOffer for TlsServer {
    fn method(&self) -> MethodType {
        MethodType::TLS
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(ServerSide::new(None, self.framing, Arc::clone(&self.tunnels), Server::default()))
    }
}

/// The peer inside the tunnel.
struct Peer;

impl Inner for Peer {
    fn on_established(&mut self, tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        // RFC 9190 §2.5: in TLS 1.3 the server's promise must come first.
        if tunnel.is_tls13() {
            return Act::only(Then::Wait);
        }
        Act::only(done(keys(tunnel, MethodType::TLS, LABEL, turn.cx)))
    }

    fn on_data(&mut self, data: &[u8], tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        Act::only(if tunnel.is_tls13() && data == SUCCESS_INDICATION {
            done(keys(tunnel, MethodType::TLS, LABEL, turn.cx))
        } else {
            Then::Failed(UNEXPECTED_DATA)
        })
    }

    // RFC 9190 §2.5: without the server's promise there is no success in TLS 1.3.
    fn lacks(&self, tunnel: &dyn Tunnel) -> Reason {
        if tunnel.is_tls13() { NO_INDICATION } else { Reason::EARLY_SUCCESS }
    }
}

/// The server inside the tunnel.
#[derive(Default)]
struct Server {
    /// The identity in the peer's certificate.
    identity: Option<Vec<u8>>,
}

impl Inner for Server {
    // RFC 5216 §5.2: the peer's identity is that of its certificate, whatever it claimed outside. §2.1.2: in a resumed session,
    // that of the earlier session's certificate.
    fn on_established(&mut self, tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        self.identity = tunnel.vouched().or_else(|| tunnel.certified()).map(<[u8]>::to_vec);
        if self.identity.is_none() {
            return Act::only(Then::Failed(NAMELESS));
        }
        let send = if tunnel.is_tls13() { SUCCESS_INDICATION.to_vec() } else { vec![] };
        Act::send(send, done(keys(tunnel, MethodType::TLS, LABEL, turn.cx)))
    }

    fn on_data(&mut self, _data: &[u8], _tunnel: &mut dyn Tunnel, _turn: &mut Turn<'_, '_>) -> Act {
        Act::only(Then::Failed(UNEXPECTED_DATA))
    }

    fn identity(&self) -> Option<&[u8]> {
        self.identity.as_deref()
    }
}

const NAMELESS: Reason = Reason("EAP-TLS peer without a certified name");

const UNEXPECTED_DATA: Reason = Reason("EAP-TLS unexpected application data");

/// The server ended with Success without promising that no more handshake messages follow.
const NO_INDICATION: Reason = Reason("EAP-TLS success indication missing");
