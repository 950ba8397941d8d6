//! PEAPv0: the server authenticates with a certificate, the peer inside the tunnel with another EAP method, and at the end both
//! send the result, protected by the tunnel. Read draft-kamath-pppext-peapv0 and \[MS-PEAP\] §3 first, RFC 9427 §2.4 and §4
//! for TLS 1.3.
//!
//! ```text
//!   handshake as in EAP-TLS, then inside the tunnel
//!     s -> p  Identity
//!     p -> s  Identity: the user's name
//!     s -> p  a request of the method
//!     p -> s  its response … until the server is satisfied
//!     s -> p  Extensions: Result, Cryptobinding
//!     p -> s  Extensions: Result, Cryptobinding
//!   s -> p  Success
//! ```
//!
//! Inner packets omit code, identifier and length; Extensions have them.
//!
//! A resumed tunnel replaces the inner authentication (\[MS-PEAP\] §1.3.3, fast reconnect), because TLS resumes only
//! successful conversations: the server continues with Result at once, in TLS 1.3 with the byte of RFC 9190 §2.5.

use std::sync::Arc;

use super::{Lacks, Method, PeerParts, ServerParts, TlsParts, gtc, inside, mschapv2};
use crate::method::{Keys, PeerMethod, PeerOffer, Reason, ServerMethod, ServerOffer, Turn};
use crate::packet::{HEADER_LEN, Message, MethodType, Packet, request, response};
use crate::server::{Server, ServerConfig, ServerOutput};
use crate::tunnel::binding::{BindingKeys, CryptoBinding, Subtype};
use crate::tunnel::extensions::{Extensions, Verdict, nak};
use crate::tunnel::{
    Act, Framing, Inner, InnerPeer, InnerStep, PeerSide, ServerSide, Then, Tunnel, Tunnels, keys,
};

impl MethodType {
    /// draft-josefsson-pppext-eap-tls-eap.
    pub const PEAP: Self = Self(25);
}

/// PEAP with EAP-MSCHAPv2 inside.
pub static WITH_MSCHAPV2: Method = with("peap-mschapv2", &mschapv2::METHOD);
/// PEAP with EAP-GTC inside: the password itself, for servers that store only its hash.
pub static WITH_GTC: Method = with("peap-gtc", &gtc::METHOD);

/// PEAP with an EAP method inside.
const fn with(name: &'static str, inside: &'static Method) -> Method {
    Method {
        name,
        kind: MethodType::PEAP,
        title: "PEAP",
        has_tls: true,
        card: None,
        inside: Some(inside),
        peer,
        server,
    }
}

fn peer(method: &Method, parts: &PeerParts) -> Result<Arc<dyn PeerOffer>, Lacks> {
    let TlsParts { tunnels, framing, binding } = parts.tls()?;
    let inside = method.inside.ok_or(Lacks("a method inside PEAP"))?.peer(parts)?;
    Ok(Arc::new(PeapPeer { tunnels, framing, user: parts.user.clone(), inside, binding }))
}

fn server(parts: &ServerParts, methods: &[&'static Method]) -> Result<Arc<dyn ServerOffer>, Lacks> {
    let TlsParts { tunnels, framing, binding } = parts.tls()?;
    Ok(Arc::new(PeapServer { tunnels, framing, inside: inside(methods, parts)?, binding }))
}

/// \[MS-PEAP\] §2.2.2: the deployed version; proposed and chosen.
const VERSION: u8 = 0;
/// \[MS-PEAP\] §3.1.5.7: the key label in TLS 1.2 is that of EAP-TLS.
const LABEL: &str = "client EAP encryption";
/// RFC 9427 §4: sent by a TLS 1.3 server in a resumed tunnel instead of a result.
const SUCCESS_INDICATION: [u8; 1] = [0];

/// PEAP for a peer.
#[derive(Clone)]
pub struct PeapPeer {
    /// TLS as client; it needs no certificate of its own.
    pub tunnels: Arc<dyn Tunnels>,
    /// How long its packets are.
    pub framing: Framing,
    /// The user's name inside the tunnel.
    pub user: Vec<u8>,
    /// The inner method.
    pub inside: Arc<dyn PeerOffer>,
    /// Whether Cryptobinding is used.
    pub binding: Binding,
}

impl PeerOffer for PeapPeer {
    fn method(&self) -> MethodType {
        MethodType::PEAP
    }

    fn proves_server(&self) -> bool {
        true
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        let inner = InnerPeer::new(&*self.inside, &self.user);
        let peer = Peer { binding: self.binding, wait: PeerWait::Inner { inner, progress: Progress::None } };
        Box::new(PeerSide::new(Some(VERSION), self.framing, Arc::clone(&self.tunnels), peer))
    }
}

/// PEAP for a server.
#[derive(Clone)]
pub struct PeapServer {
    /// TLS as server; it need not request a certificate.
    pub tunnels: Arc<dyn Tunnels>,
    /// How long its packets are.
    pub framing: Framing,
    /// EAP inside the tunnel.
    pub inside: Arc<ServerConfig>,
    /// Whether Cryptobinding is used.
    pub binding: Binding,
}

impl ServerOffer for PeapServer {
    fn method(&self) -> MethodType {
        MethodType::PEAP
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        let server = ServerInside {
            eap: Server::new(Arc::clone(&self.inside)),
            binding: self.binding,
            identity: None,
            wait: ServerWait::Tunnel,
        };
        Box::new(ServerSide::new(Some(VERSION), self.framing, Arc::clone(&self.tunnels), server))
    }
}

/// One side's policy for Cryptobinding (\[MS-PEAP\] §3.1.1: isCryptoSupported, isCryptoRequired).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Binding {
    /// It is neither sent nor checked, as in FreeRADIUS.
    Off,
    /// It is sent, and checked if the other side sends it, as in hostapd and wpa_supplicant.
    #[default]
    Optional,
    /// It is mandatory.
    Required,
}

const MALFORMED: Reason = Reason("EAP-PEAP malformed message");
const UNEXPECTED: Reason = Reason("EAP-PEAP unexpected message");
const NO_RESULT: Reason = Reason("EAP-PEAP extensions without result");
const NO_BINDING: Reason = Reason("EAP-PEAP no cryptobinding");
const WRONG_BINDING: Reason = Reason("EAP-PEAP wrong cryptobinding");
const TOO_EARLY: Reason = Reason("EAP-PEAP success before the inner method's");
const REFUSED: Reason = Reason("EAP-PEAP peer refused the result");

/// A message inside the tunnel.
enum Arrived<'a> {
    /// A message of a method: its type and data.
    Inner(MethodType, &'a [u8]),
    /// Extensions.
    Extensions(Extensions),
}

impl<'a> Arrived<'a> {
    /// Decodes it at the peer.
    fn request(data: &'a [u8]) -> Result<Self, Reason> {
        match Packet::read(data) {
            Ok(Packet::Request(message)) if message.kind == MethodType::EXTENSIONS => {
                Self::extensions(&message)
            }
            // FreeRADIUS sends a whole packet as Identity request: its code equals Identity's number.
            _ => Self::compressed(data),
        }
    }

    /// Decodes it at the server.
    fn response(data: &'a [u8]) -> Result<Self, Reason> {
        match Packet::read(data) {
            Ok(Packet::Response(message)) if message.kind == MethodType::EXTENSIONS => {
                Self::extensions(&message)
            }
            _ => Self::compressed(data),
        }
    }

    fn extensions(message: &Message<'_>) -> Result<Self, Reason> {
        Extensions::read(message.data).map(Self::Extensions).map_err(|_| MALFORMED)
    }

    // draft-kamath-pppext-peapv0 §1.1: code, identifier and length are omitted.
    fn compressed(data: &'a [u8]) -> Result<Self, Reason> {
        let (kind, data) = data.split_first().ok_or(MALFORMED)?;
        Ok(Self::Inner(MethodType(*kind), data))
    }
}

/// A whole packet without code, identifier and length.
fn compress(packet: &[u8]) -> Vec<u8> {
    packet[HEADER_LEN..].to_vec()
}

fn tunnel_keys(tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Result<Keys, Reason> {
    keys(tunnel, MethodType::PEAP, LABEL, turn.cx)
}

/// \[MS-PEAP\] §3.1.5.5.2.1: TK is the beginning of the tunnel's key material, and so of its MSK.
fn tunnel_key(keys: &Keys) -> &[u8] {
    keys.msk.as_deref().expect("a tunnel makes an MSK")
}

/// The exported keys with Cryptobinding: there is no EMSK then.
fn bound(keys: Keys, binding: &BindingKeys, turn: &mut Turn<'_, '_>) -> Keys {
    Keys { msk: Some(binding.msk(turn.cx.crypto)), emsk: None, ..keys }
}

fn failed(reason: Reason) -> Act {
    Act::only(Then::Failed(reason))
}

/// The peer inside the tunnel.
struct Peer {
    binding: Binding,
    wait: PeerWait,
}

enum PeerWait {
    /// Waits for a request of the inner method, or the result.
    Inner { inner: InnerPeer, progress: Progress },
    /// Waits for the result that may follow the byte of RFC 9190 §2.5.
    Confirmation,
    /// Waits for the server's Failure.
    Failure(Reason),
    /// For nothing.
    Over,
}

/// The state of the inner method.
enum Progress {
    /// It has received no request.
    None,
    /// It has received a request and is not satisfied.
    Begun,
    /// It is satisfied.
    Done(Keys),
}

impl Peer {
    fn on_inner(
        &mut self,
        mut inner: InnerPeer,
        (kind, data): (MethodType, &[u8]),
        turn: &mut Turn<'_, '_>,
    ) -> Act {
        let (packet, next) = match inner.take(&request(turn.identifier, kind, data), turn) {
            InnerStep::Send(packet, None) => (packet, PeerWait::Inner { inner, progress: Progress::Begun }),
            InnerStep::Send(packet, Some(keys)) => {
                (packet, PeerWait::Inner { inner, progress: Progress::Done(keys) })
            }
            InnerStep::Failed(packet, reason) if packet.is_empty() => return failed(reason),
            InnerStep::Failed(packet, reason) => (packet, PeerWait::Failure(reason)),
        };
        self.wait = next;
        Act::send(compress(&packet), Then::Wait)
    }

    fn on_extensions(
        &mut self,
        progress: &Progress,
        extensions: &Extensions,
        tunnel: &mut dyn Tunnel,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Act, Reason> {
        match extensions.result.ok_or(NO_RESULT)? {
            Verdict::Failure => Ok(answer(Verdict::Failure, Then::Failed(Reason::REFUSED), turn)),
            Verdict::Success => {
                let accepted = self.on_success(progress, extensions.binding.as_ref(), tunnel, turn);
                // [MS-PEAP] §3.2.5.4.5: a peer that does not accept reports so, and both have failed.
                Ok(accepted.unwrap_or_else(|reason| answer(Verdict::Failure, Then::Failed(reason), turn)))
            }
        }
    }

    fn on_success(
        &self,
        progress: &Progress,
        binding: Option<&CryptoBinding>,
        tunnel: &mut dyn Tunnel,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Act, Reason> {
        let keys = tunnel_keys(tunnel, turn)?;
        let inner = match progress {
            Progress::Done(inner) => Some(inner),
            Progress::None if tunnel.vouched().is_some() => None,
            // A success before the inner method has proved that the server knows the user is an attack.
            Progress::None | Progress::Begun => return Err(TOO_EARLY),
        };
        let (keys, own) = match (self.binding, binding) {
            (Binding::Off, _) | (Binding::Optional, None) => (keys, None),
            (Binding::Required, None) => return Err(NO_BINDING),
            (Binding::Optional | Binding::Required, Some(theirs)) => {
                let binding = binding_keys(&keys, inner, turn);
                if !theirs.proves(Subtype::Request, &binding, turn.cx.crypto) {
                    return Err(WRONG_BINDING);
                }
                let nonce = turn.rng.bytes();
                let own = CryptoBinding::new(Subtype::Response, &nonce, &binding, turn.cx.crypto);
                (bound(keys, &binding, turn), Some(own))
            }
        };
        Ok(extensions_response(&Extensions::verdict(Verdict::Success, own).write(), Then::Done(keys), turn))
    }

    // RFC 9427 §4: in a resumed TLS 1.3 tunnel the byte of RFC 9190 §2.5 is the result. FreeRADIUS also sends the result
    // of [MS-PEAP] §1.3.3, which changes nothing and is answered.
    fn on_indication(&mut self, tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Result<Act, Reason> {
        if self.binding == Binding::Required {
            return Err(NO_BINDING);
        }
        self.wait = PeerWait::Confirmation;
        tunnel_keys(tunnel, turn).map(|keys| Act::only(Then::Done(keys)))
    }
}

/// \[MS-PEAP\] §3.1.5.5.2.2, for both cases; without an inner method the tunnel is resumed.
fn binding_keys(tunnel: &Keys, inner: Option<&Keys>, turn: &mut Turn<'_, '_>) -> BindingKeys {
    match inner {
        Some(inner) => BindingKeys::new(tunnel_key(tunnel), inner.msk.as_deref(), turn.cx.crypto),
        None => BindingKeys::resumed(tunnel_key(tunnel)),
    }
}

fn answer(verdict: Verdict, then: Then, turn: &Turn<'_, '_>) -> Act {
    extensions_response(&Extensions::verdict(verdict, None).write(), then, turn)
}

fn extensions_response(data: &[u8], then: Then, turn: &Turn<'_, '_>) -> Act {
    Act::send(response(turn.identifier, MethodType::EXTENSIONS, data), then)
}

impl Inner for Peer {
    fn on_established(&mut self, _tunnel: &mut dyn Tunnel, _turn: &mut Turn<'_, '_>) -> Act {
        // The server starts.
        Act::only(Then::Wait)
    }

    fn on_data(&mut self, data: &[u8], tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        let arrived = match Arrived::request(data) {
            Ok(arrived) => arrived,
            Err(reason) => return failed(reason),
        };
        match (std::mem::replace(&mut self.wait, PeerWait::Over), arrived) {
            (wait, Arrived::Extensions(Extensions { unknown: Some(kind), .. })) => {
                // draft-josefsson-pppext-eap-tls-eap §4.3.4: the rest of such a message is ignored.
                self.wait = wait;
                extensions_response(&nak(kind), Then::Wait, turn)
            }
            (PeerWait::Inner { progress: Progress::None, .. }, _)
                if data == SUCCESS_INDICATION && tunnel.is_tls13() && tunnel.vouched().is_some() =>
            {
                self.on_indication(tunnel, turn).unwrap_or_else(failed)
            }
            (PeerWait::Inner { inner, .. }, Arrived::Inner(kind, data)) => {
                self.on_inner(inner, (kind, data), turn)
            }
            (PeerWait::Inner { progress, .. }, Arrived::Extensions(extensions)) => {
                self.on_extensions(&progress, &extensions, tunnel, turn).unwrap_or_else(failed)
            }
            (PeerWait::Confirmation, Arrived::Extensions(extensions)) => {
                self.on_extensions(&Progress::None, &extensions, tunnel, turn).unwrap_or_else(failed)
            }
            (PeerWait::Failure(reason), Arrived::Extensions(_)) => {
                answer(Verdict::Failure, Then::Failed(reason), turn)
            }
            (PeerWait::Failure(reason), Arrived::Inner(..)) => failed(reason),
            (PeerWait::Over, _) | (PeerWait::Confirmation, Arrived::Inner(..)) => failed(UNEXPECTED),
        }
    }
}

/// The server inside the tunnel.
struct ServerInside {
    eap: Server,
    binding: Binding,
    identity: Option<Vec<u8>>,
    wait: ServerWait,
}

enum ServerWait {
    /// Waits for the handshake, and in TLS 1.2 for the acknowledgement of the last flight.
    Tunnel,
    /// Waits for a response of the inner method.
    Inner,
    /// For the peer's result.
    Result {
        keys: Keys,
        /// The keys that verify its Cryptobinding; `None` if ours had none.
        binding: Option<BindingKeys>,
    },
    /// Waits for the peer's acknowledgement of the failure.
    Failure(Reason),
    /// For nothing.
    Over,
}

impl ServerInside {
    fn ask_identity(&mut self, turn: &mut Turn<'_, '_>) -> Act {
        self.wait = ServerWait::Inner;
        match self.eap.begin(None, turn.rng, turn.cx) {
            ServerOutput::Send(packet) => Act::send(compress(&packet), Then::Wait),
            _ => failed(UNEXPECTED),
        }
    }

    fn resume(&mut self, tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Result<Act, Reason> {
        if !tunnel.is_tls13() {
            return self.conclude(None, tunnel, turn);
        }
        // RFC 9427 §4: running the inner method in spite of resumption; only then can anything be bound.
        if self.binding == Binding::Required {
            return Ok(self.ask_identity(turn));
        }
        self.wait = ServerWait::Over;
        let keys = tunnel_keys(tunnel, turn)?;
        Ok(Act::send(SUCCESS_INDICATION.to_vec(), Then::Done(keys)))
    }

    fn on_inner(
        &mut self,
        (kind, data): (MethodType, &[u8]),
        tunnel: &mut dyn Tunnel,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Act, Reason> {
        let packet = response(self.eap.identifier(), kind, data);
        match self.eap.step(&packet, turn.rng, turn.cx) {
            ServerOutput::Send(packet) => {
                self.wait = ServerWait::Inner;
                Ok(Act::send(compress(&packet), Then::Wait))
            }
            ServerOutput::Success(accepted) => {
                self.identity = Some(accepted.identity);
                self.conclude(Some(&accepted.keys), tunnel, turn)
            }
            ServerOutput::Failure { reason, .. } => Ok(self.refuse(reason, turn)),
            ServerOutput::Ask(_) | ServerOutput::Ignored => {
                let reason = Reason("EAP response inside the tunnel that cannot be used");
                Ok(self.refuse(reason, turn))
            }
        }
    }

    /// Sends the successful result.
    fn conclude(
        &mut self,
        inner: Option<&Keys>,
        tunnel: &mut dyn Tunnel,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Act, Reason> {
        let keys = tunnel_keys(tunnel, turn)?;
        let binding = (self.binding != Binding::Off).then(|| binding_keys(&keys, inner, turn));
        let own = binding.as_ref().map(|binding| {
            let nonce = turn.rng.bytes();
            CryptoBinding::new(Subtype::Request, &nonce, binding, turn.cx.crypto)
        });
        self.wait = ServerWait::Result { keys, binding };
        Ok(extensions_request(&Extensions::verdict(Verdict::Success, own), turn))
    }

    // draft-kamath-pppext-peapv0 §2: a failure, too, is sent protected and acknowledged.
    fn refuse(&mut self, reason: Reason, turn: &Turn<'_, '_>) -> Act {
        self.wait = ServerWait::Failure(reason);
        extensions_request(&Extensions::verdict(Verdict::Failure, None), turn)
    }

    fn on_result(
        &self,
        extensions: &Extensions,
        keys: Keys,
        ours: Option<&BindingKeys>,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Act, Reason> {
        match extensions.result.filter(|_| extensions.unknown.is_none()).ok_or(NO_RESULT)? {
            Verdict::Failure => return Err(REFUSED),
            Verdict::Success => {}
        }
        let keys = match (ours, &extensions.binding) {
            (Some(ours), Some(theirs)) if theirs.proves(Subtype::Response, ours, turn.cx.crypto) => {
                bound(keys, ours, turn)
            }
            (Some(_), Some(_)) => return Err(WRONG_BINDING),
            (Some(_), None) if self.binding == Binding::Required => return Err(NO_BINDING),
            (Some(_), None) | (None, _) => keys,
        };
        Ok(Act::only(Then::Done(keys)))
    }
}

fn extensions_request(extensions: &Extensions, turn: &Turn<'_, '_>) -> Act {
    let packet = request(turn.identifier, MethodType::EXTENSIONS, &extensions.write());
    Act::send(packet, Then::Wait)
}

impl Inner for ServerInside {
    fn on_established(&mut self, tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        if tunnel.vouched().is_some() {
            return self.resume(tunnel, turn).unwrap_or_else(failed);
        }
        // In TLS 1.2 the server's Finished is the last message of a full handshake, and is sent alone.
        if tunnel.is_tls13() || tunnel.is_resumed() {
            return self.ask_identity(turn);
        }
        Act::only(Then::Wait)
    }

    fn on_acknowledgement(&mut self, _tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        match self.wait {
            ServerWait::Tunnel => self.ask_identity(turn),
            _ => failed(UNEXPECTED),
        }
    }

    fn on_data(&mut self, data: &[u8], tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        let wait = std::mem::replace(&mut self.wait, ServerWait::Over);
        if let ServerWait::Failure(reason) = wait {
            return failed(reason);
        }
        let arrived = match Arrived::response(data) {
            Ok(arrived) => arrived,
            Err(reason) => return failed(reason),
        };
        match (wait, arrived) {
            (ServerWait::Inner, Arrived::Inner(kind, data)) => self.on_inner((kind, data), tunnel, turn),
            (ServerWait::Result { keys, binding }, Arrived::Extensions(extensions)) => {
                self.on_result(&extensions, keys, binding.as_ref(), turn)
            }
            _ => Err(UNEXPECTED),
        }
        .unwrap_or_else(failed)
    }

    fn identity(&self) -> Option<&[u8]> {
        self.identity.as_deref()
    }

    fn tried(&self) -> Option<&[u8]> {
        self.eap.tried().map(|tried| &*tried.user)
    }
}
