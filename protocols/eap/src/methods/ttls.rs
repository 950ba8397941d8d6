//! EAP-TTLSv0: the server authenticates with a certificate, the peer inside the tunnel with a password.
//! Read RFC 5281 §7 (tunnel), §10 (AVPs), §11 (inner authentication) and RFC 9427 §2 (TLS 1.3) first.
//!
//! ```text
//!   handshake as in EAP-TLS, then inside the tunnel
//!   PAP        p -> s  User-Name, User-Password
//!   MSCHAPv2   p -> s  User-Name, MS-CHAP-Challenge, MS-CHAP2-Response
//!              s -> p  MS-CHAP2-Success
//!              p -> s  (nothing)
//!   EAP        p -> s  EAP-Message: Identity
//!              s -> p  EAP-Message: a request of the method
//!              p -> s  EAP-Message: its response … until the server is satisfied
//!   s -> p  Success
//! ```
//!
//! RFC 5281 §7.6 allows a resumed tunnel to replace the inner authentication. Here it is run again each time, so resumption
//! saves only the handshake.

use std::sync::Arc;

use keytoll_crypto_api::Secret;

use super::{Lacks, MakePeer, Method, PeerParts, ServerParts, TlsParts, inside, md5, mschapv2};
use crate::method::{NAME_BYTES_MAX, PeerMethod, PeerOffer, Reason, ServerMethod, ServerOffer, Turn};
use crate::mschap::message::read_proof_text;
use crate::mschap::{CHALLENGE_LEN, Exchange, PasswordHash, RESPONSE_LEN};
use crate::packet::MethodType;
use crate::passwords::Passwords;
use crate::server::{Server, ServerConfig, ServerOutput};
use crate::tunnel::avp::{Avp, AvpCode, read_avps, write_avps};
use crate::tunnel::{
    Act, Framing, Inner, InnerPeer, InnerStep, PeerSide, ServerSide, Then, Tunnel, Tunnels, done, keys,
};

impl MethodType {
    /// RFC 5281.
    pub const TTLS: Self = Self(21);
}

/// EAP-TTLS with the password itself inside, as an AVP.
pub static WITH_PAP: Method =
    with("ttls-pap", None, |_, parts| peer(parts, TtlsInside::Pap(parts.password()?)));
/// EAP-TTLS with MS-CHAP-V2 inside, as AVPs.
pub static WITH_MSCHAPV2: Method =
    with("ttls-mschapv2", None, |_, parts| peer(parts, TtlsInside::MschapV2(parts.password()?)));
/// EAP-TTLS with EAP-MD5 inside.
pub static WITH_EAP_MD5: Method = with("ttls-md5", Some(&md5::METHOD), with_eap);
/// EAP-TTLS with EAP-MSCHAPv2 inside.
pub static WITH_EAP_MSCHAPV2: Method = with("ttls-eap-mschapv2", Some(&mschapv2::METHOD), with_eap);

/// EAP-TTLS with an inner authentication, and its EAP method if it is one.
const fn with(name: &'static str, inside: Option<&'static Method>, peer: MakePeer) -> Method {
    Method { name, kind: MethodType::TTLS, title: "TTLS", has_tls: true, card: None, inside, peer, server }
}

fn with_eap(method: &Method, parts: &PeerParts) -> Result<Arc<dyn PeerOffer>, Lacks> {
    let inside = method.inside.ok_or(Lacks("a method inside TTLS"))?.peer(parts)?;
    peer(parts, TtlsInside::Eap(inside))
}

fn peer(parts: &PeerParts, inside: TtlsInside) -> Result<Arc<dyn PeerOffer>, Lacks> {
    let TlsParts { tunnels, framing, .. } = parts.tls()?;
    Ok(Arc::new(TtlsPeer { tunnels, framing, user: parts.user.clone(), inside }))
}

/// The peer chooses the inner authentication; if it starts with EAP, a server proposes MSCHAPv2 unless configured otherwise.
fn server(parts: &ServerParts, methods: &[&'static Method]) -> Result<Arc<dyn ServerOffer>, Lacks> {
    let TlsParts { tunnels, framing, .. } = parts.tls()?;
    let methods = if methods.is_empty() { &[&mschapv2::METHOD][..] } else { methods };
    let (passwords, eap) = (parts.passwords()?, inside(methods, parts)?);
    Ok(Arc::new(TtlsServer { tunnels, framing, passwords, eap }))
}

/// RFC 5281 §9.1: the only version.
const VERSION: u8 = 0;
/// RFC 5281 §8: the key label in TLS 1.2.
const LABEL: &str = "ttls keying material";
/// RFC 5281 §11.1: the label of implicit challenges.
const CHALLENGE_LABEL: &str = "ttls challenge";

/// EAP-TTLS for a peer.
#[derive(Clone)]
pub struct TtlsPeer {
    /// TLS as client; it needs no certificate of its own.
    pub tunnels: Arc<dyn Tunnels>,
    /// How long its packets are.
    pub framing: Framing,
    /// The user's name inside the tunnel.
    pub user: Vec<u8>,
    /// The inner authentication.
    pub inside: TtlsInside,
}

/// The inner authentication of a peer.
#[derive(Clone)]
pub enum TtlsInside {
    /// Shows its password.
    Pap(Secret),
    /// Proves its password.
    MschapV2(Secret),
    /// Runs an EAP method.
    Eap(Arc<dyn PeerOffer>),
}

impl PeerOffer for TtlsPeer {
    fn method(&self) -> MethodType {
        MethodType::TTLS
    }

    fn proves_server(&self) -> bool {
        true
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        let inner = Peer { user: self.user.clone(), wait: PeerWait::Tunnel(self.inside.clone()) };
        Box::new(PeerSide::new(Some(VERSION), self.framing, Arc::clone(&self.tunnels), inner))
    }
}

/// EAP-TTLS for a server; the peer chooses the inner authentication.
#[derive(Clone)]
pub struct TtlsServer {
    /// TLS as server; it need not request a certificate.
    pub tunnels: Arc<dyn Tunnels>,
    /// How long its packets are.
    pub framing: Framing,
    /// The users.
    pub passwords: Arc<dyn Passwords>,
    /// EAP inside the tunnel.
    pub eap: Arc<ServerConfig>,
}

impl ServerOffer for TtlsServer {
    fn method(&self) -> MethodType {
        MethodType::TTLS
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        let inner = ServerInside {
            passwords: Arc::clone(&self.passwords),
            eap: Server::new(Arc::clone(&self.eap)),
            user: None,
            identity: None,
        };
        Box::new(ServerSide::new(Some(VERSION), self.framing, Arc::clone(&self.tunnels), inner))
    }
}

const MALFORMED: Reason = Reason("EAP-TTLS malformed AVP");
const UNEXPECTED: Reason = Reason("EAP-TTLS unexpected AVP");

/// The AVPs of a message, all of them known.
struct Attributes<'a>(Vec<Avp<'a>>);

impl<'a> Attributes<'a> {
    fn read(data: &'a [u8]) -> Result<Self, Reason> {
        const KNOWN: [AvpCode; 6] = [
            AvpCode::USER_NAME,
            AvpCode::USER_PASSWORD,
            AvpCode::EAP_MESSAGE,
            AvpCode::MS_CHAP_CHALLENGE,
            AvpCode::MS_CHAP2_RESPONSE,
            AvpCode::MS_CHAP2_SUCCESS,
        ];
        let avps = read_avps(data).map_err(|_| MALFORMED)?;
        // RFC 5281 §10.1: an unknown mandatory AVP ends the negotiation.
        if avps.iter().any(|avp| avp.mandatory && !KNOWN.contains(&avp.code)) {
            return Err(UNEXPECTED);
        }
        Ok(Self(avps))
    }

    fn get(&self, code: AvpCode) -> Option<&'a [u8]> {
        self.0.iter().find(|avp| avp.code == code).map(|avp| avp.data)
    }

    /// RFC 5281 §10.1: an EAP packet may be split over several AVPs.
    fn eap(&self) -> Option<Vec<u8>> {
        let mut parts = self.0.iter().filter(|avp| avp.code == AvpCode::EAP_MESSAGE).peekable();
        parts.peek()?;
        Some(parts.flat_map(|avp| avp.data).copied().collect())
    }
}

/// RFC 5281 §11.1: challenge and identifier that both sides derive from the tunnel, so that neither can choose them.
fn implicit_challenge(
    tunnel: &mut dyn Tunnel,
    turn: &mut Turn<'_, '_>,
) -> Result<([u8; CHALLENGE_LEN], u8), Reason> {
    let drawn = tunnel.export(CHALLENGE_LABEL, None, CHALLENGE_LEN + 1, turn.cx)?;
    let challenge = *drawn.first_chunk().expect("17 bytes were asked for");
    Ok((challenge, drawn[CHALLENGE_LEN]))
}

fn tunnel_keys(tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Then {
    done(keys(tunnel, MethodType::TTLS, LABEL, turn.cx))
}

fn failed(reason: Reason) -> Act {
    Act::only(Then::Failed(reason))
}

/// The peer inside the tunnel.
struct Peer {
    user: Vec<u8>,
    wait: PeerWait,
}

enum PeerWait {
    /// For the handshake.
    Tunnel(TtlsInside),
    /// For the server's proof.
    Proof(Box<MschapV2>),
    /// Waits for a request of the inner method.
    Eap(InnerPeer),
    /// For nothing.
    Over,
}

/// What the server's proof is verified with.
struct MschapV2 {
    hash: PasswordHash,
    ident: u8,
    challenge: [u8; CHALLENGE_LEN],
    peer_challenge: [u8; CHALLENGE_LEN],
    response: [u8; RESPONSE_LEN],
}

impl Peer {
    fn pap(&self, password: &Secret, tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        // RFC 5281 §11.2.5: padded with zeros to a multiple of 16, which hides its length.
        let mut padded = zeroize::Zeroizing::new(vec![0; password.len().next_multiple_of(16).max(16)]);
        padded[..password.len()].copy_from_slice(password);
        let send = write_avps(&[
            Avp::new(AvpCode::USER_NAME, &self.user),
            Avp::new(AvpCode::USER_PASSWORD, &padded),
        ]);
        Act::send(send, tunnel_keys(tunnel, turn))
    }

    fn mschapv2(
        &mut self,
        password: &Secret,
        tunnel: &mut dyn Tunnel,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Act, Reason> {
        let (challenge, ident) = implicit_challenge(tunnel, turn)?;
        let (peer_challenge, crypto) = (turn.rng.bytes(), &mut *turn.cx.crypto);
        let hash = PasswordHash::new(password, crypto);
        let exchange = Exchange {
            authenticator_challenge: &challenge,
            peer_challenge: &peer_challenge,
            user: &self.user,
        };
        let response = hash.nt_response(&exchange, crypto);
        // RFC 2548 §2.3.2: Ident(1) Flags(1) Peer-Challenge(16) Reserved(8) Response(24).
        let proof = [&[ident, 0][..], &peer_challenge, &[0; 8], &response].concat();
        let send = write_avps(&[
            Avp::new(AvpCode::USER_NAME, &self.user),
            Avp::new(AvpCode::MS_CHAP_CHALLENGE, &challenge),
            Avp::new(AvpCode::MS_CHAP2_RESPONSE, &proof),
        ]);
        let waiting = MschapV2 { hash, ident, challenge, peer_challenge, response };
        self.wait = PeerWait::Proof(Box::new(waiting));
        Ok(Act::send(send, Then::Wait))
    }

    fn eap(&mut self, offer: &dyn PeerOffer) -> Act {
        let inner = InnerPeer::new(offer, &self.user);
        let send = write_avps(&[Avp::new(AvpCode::EAP_MESSAGE, &inner.identity_response())]);
        self.wait = PeerWait::Eap(inner);
        Act::send(send, Then::Wait)
    }

    fn on_proof(
        &self,
        sent: &MschapV2,
        data: &[u8],
        tunnel: &mut dyn Tunnel,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Act, Reason> {
        let attributes = Attributes::read(data)?;
        let proof = attributes.get(AvpCode::MS_CHAP2_SUCCESS).ok_or(UNEXPECTED)?;
        // RFC 2548 §2.3.3: Ident(1) and the text of RFC 2759 §5.
        let [ident, text @ ..] = proof else { return Err(MALFORMED) };
        let proof = read_proof_text(text).filter(|_| *ident == sent.ident).ok_or(MALFORMED)?;
        let exchange = Exchange {
            authenticator_challenge: &sent.challenge,
            peer_challenge: &sent.peer_challenge,
            user: &self.user,
        };
        let expected = sent.hash.authenticator_response(&exchange, &sent.response, turn.cx.crypto);
        if Secret::from(&expected[..]) != Secret::from(&proof[..]) {
            return Err(Reason::SERVER_NOT_AUTHENTIC);
        }
        Ok(Act::only(tunnel_keys(tunnel, turn)))
    }

    fn on_eap(
        inner: &mut InnerPeer,
        data: &[u8],
        tunnel: &mut dyn Tunnel,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Act, Reason> {
        let packet = Attributes::read(data)?.eap().ok_or(UNEXPECTED)?;
        let wrap = |packet: &[u8]| write_avps(&[Avp::new(AvpCode::EAP_MESSAGE, packet)]);
        Ok(match inner.take(&packet, turn) {
            InnerStep::Send(packet, None) => Act::send(wrap(&packet), Then::Wait),
            InnerStep::Send(packet, Some(_)) => Act::send(wrap(&packet), tunnel_keys(tunnel, turn)),
            InnerStep::Failed(packet, reason) if packet.is_empty() => failed(reason),
            InnerStep::Failed(packet, reason) => Act::send(wrap(&packet), Then::Failed(reason)),
        })
    }
}

impl Inner for Peer {
    fn on_established(&mut self, tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        match std::mem::replace(&mut self.wait, PeerWait::Over) {
            PeerWait::Tunnel(TtlsInside::Pap(password)) => self.pap(&password, tunnel, turn),
            PeerWait::Tunnel(TtlsInside::MschapV2(password)) => {
                self.mschapv2(&password, tunnel, turn).unwrap_or_else(failed)
            }
            PeerWait::Tunnel(TtlsInside::Eap(offer)) => self.eap(&*offer),
            _ => failed(UNEXPECTED),
        }
    }

    fn on_data(&mut self, data: &[u8], tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        match std::mem::replace(&mut self.wait, PeerWait::Over) {
            PeerWait::Proof(sent) => self.on_proof(&sent, data, tunnel, turn),
            PeerWait::Eap(mut inner) => {
                let act = Self::on_eap(&mut inner, data, tunnel, turn);
                self.wait = PeerWait::Eap(inner);
                act
            }
            _ => Err(UNEXPECTED),
        }
        .unwrap_or_else(failed)
    }
}

/// The server inside the tunnel.
struct ServerInside {
    passwords: Arc<dyn Passwords>,
    eap: Server,
    /// The user of a password, claimed.
    user: Option<Vec<u8>>,
    identity: Option<Vec<u8>>,
}

impl ServerInside {
    fn pap(&self, user: &[u8], shown: &[u8]) -> Result<(), Reason> {
        let password = self.passwords.password(user).ok_or(Reason::UNKNOWN_USER)?;
        let end = shown.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        if Secret::from(&shown[..end]) == password { Ok(()) } else { Err(Reason::WRONG_PASSWORD) }
    }

    /// Verifies the peer's proof; returns the server's own.
    fn mschapv2(
        &self,
        user: &[u8],
        attributes: &Attributes<'_>,
        tunnel: &mut dyn Tunnel,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Vec<u8>, Reason> {
        let (challenge, ident) = implicit_challenge(tunnel, turn)?;
        let proof =
            attributes.get(AvpCode::MS_CHAP2_RESPONSE).and_then(|proof| <&[u8; 50]>::try_from(proof).ok());
        let proof = proof.ok_or(MALFORMED)?;
        // RFC 5281 §11.2.4: challenge and identifier must be those of the tunnel.
        if attributes.get(AvpCode::MS_CHAP_CHALLENGE) != Some(&challenge) || proof[0] != ident {
            return Err(Reason("EAP-TTLS challenge of another tunnel"));
        }
        let peer_challenge = proof[2..].first_chunk().expect("48 bytes are left");
        let password = self.passwords.password(user).ok_or(Reason::UNKNOWN_USER)?;
        let hash = PasswordHash::new(&password, turn.cx.crypto);
        let exchange = Exchange { authenticator_challenge: &challenge, peer_challenge, user };
        let response = &proof[50 - RESPONSE_LEN..];
        if !hash.accepts(&exchange, response, turn.cx.crypto) {
            return Err(Reason::WRONG_PASSWORD);
        }
        let own = hash.authenticator_response(&exchange, response, turn.cx.crypto);
        Ok(write_avps(&[Avp::new(AvpCode::MS_CHAP2_SUCCESS, &success(ident, &own))]))
    }

    fn on_eap(
        &mut self,
        packet: &[u8],
        tunnel: &mut dyn Tunnel,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Act, Reason> {
        match self.eap.step(packet, turn.rng, turn.cx) {
            ServerOutput::Send(packet) => {
                let send = write_avps(&[Avp::new(AvpCode::EAP_MESSAGE, &packet)]);
                Ok(Act::send(send, Then::Wait))
            }
            // RFC 5281 §11.2.1: the inner Success is not sent; the outer one replaces it.
            ServerOutput::Success(accepted) => {
                self.identity = Some(accepted.identity);
                Ok(Act::only(tunnel_keys(tunnel, turn)))
            }
            ServerOutput::Failure { reason, .. } => Err(reason),
            ServerOutput::Ask(_) | ServerOutput::Ignored => {
                Err(Reason("EAP response inside the tunnel that cannot be used"))
            }
        }
    }

    fn on_attributes(
        &mut self,
        attributes: &Attributes<'_>,
        tunnel: &mut dyn Tunnel,
        turn: &mut Turn<'_, '_>,
    ) -> Result<Act, Reason> {
        // After a successful authentication this tunnel allows no other: its attempts count for one user.
        if self.identity.is_some() {
            return Err(UNEXPECTED);
        }
        if let Some(packet) = attributes.eap() {
            return self.on_eap(&packet, tunnel, turn);
        }
        // After EAP has begun, the password of another user could hide its verdict.
        if !self.eap.identity().is_empty() {
            return Err(UNEXPECTED);
        }
        let user = attributes.get(AvpCode::USER_NAME).ok_or(UNEXPECTED)?;
        if user.len() > NAME_BYTES_MAX {
            return Err(Reason::LONG_NAME);
        }
        self.user = Some(user.to_vec());
        let send = match attributes.get(AvpCode::USER_PASSWORD) {
            Some(shown) => self.pap(user, shown).map(|()| vec![])?,
            None => self.mschapv2(user, attributes, tunnel, turn)?,
        };
        self.identity = Some(user.to_vec());
        Ok(Act::send(send, tunnel_keys(tunnel, turn)))
    }
}

/// RFC 2548 §2.3.3:  Ident(1) String(42), the string being "S=" and 40 hexadecimal digits
fn success(ident: u8, authenticator_response: &[u8]) -> Vec<u8> {
    let text = crate::mschap::message::proof_text(authenticator_response);
    [&[ident][..], &text[..42]].concat()
}

impl Inner for ServerInside {
    fn on_established(&mut self, _tunnel: &mut dyn Tunnel, _turn: &mut Turn<'_, '_>) -> Act {
        // The peer starts.
        Act::only(Then::Wait)
    }

    fn on_data(&mut self, data: &[u8], tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act {
        let attributes = Attributes::read(data);
        attributes.and_then(|attributes| self.on_attributes(&attributes, tunnel, turn)).unwrap_or_else(failed)
    }

    fn identity(&self) -> Option<&[u8]> {
        self.identity.as_deref()
    }

    fn tried(&self) -> Option<&[u8]> {
        self.user.as_deref().or_else(|| self.eap.tried().map(|tried| &*tried.user))
    }
}
