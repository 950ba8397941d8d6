//! What main and aggressive mode share, on both sides. Read RFC 2409 §5 first.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::algorithm::Hash;
use keytoll_crypto_api::suite::Suite;
use keytoll_crypto_api::{Digest, Secret};
use keytoll_net::wire::{Reader, Writer};

use super::endpoint::Env;
use super::inbound::Inbound;
use super::keys::{self, Keys, ProofInput, Seeds};
use super::number::{AuthenticationMethod, INFORMATIONAL, hash_number};
use super::protect::{self, Iv};
use super::sa::Core;
use super::transmission::{Fingerprint, Packet, Sent};
use super::wire::message::{finish, push, read_plain};
use super::wire::{CertificateRequest, Identification, Notify, Payload};
use super::{auth, nat};
use crate::config::{Believe, Connection, V1, Version};
use crate::event::Reason;
use crate::number::{ExchangeType, NotifyType};
use crate::role::Role;
use crate::route::Route;
use crate::wire::{Flags, Header, Identity, MessageBuilder};

/// Longer identities are not stored before they are authenticated.
pub(super) const IDENTITY_BYTES_MAX: usize = 4096;

/// A received message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) header: &'a Header,
    pub(super) route: Route,
    pub(super) message: &'a [u8],
    pub(super) fingerprint: Fingerprint,
}

impl<'a> Step<'a> {
    /// The payloads of an unencrypted message.
    pub(super) fn read(&self) -> Result<Inbound<'a>, Reason> {
        let mut r = Reader::new(self.message);
        let payloads = r.skip(Header::LEN, "header").and_then(|()| read_plain(self.header, &mut r));
        Inbound::new(payloads)
    }
}

/// RFC 3706 §5.1: the vendor ID of DPD, version 1.0.
const DPD: [u8; 16] =
    [0xaf, 0xca, 0xd7, 0x13, 0x68, 0xa1, 0xf1, 0xc9, 0x6b, 0x86, 0x96, 0xfc, 0x77, 0x57, 0x01, 0x00];
/// RFC 3947 §3.1: the MD5 hash of "RFC 3947".
const NAT_TRAVERSAL: [u8; 16] =
    [0x4a, 0x13, 0x1c, 0x81, 0x07, 0x03, 0x58, 0x45, 0x5c, 0x57, 0x28, 0xf2, 0x0e, 0x95, 0x45, 0x2f];

/// Extensions of RFC 2409 that the peer supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extensions {
    pub(super) dpd: bool,
    pub(super) nat_traversal: bool,
}

impl Extensions {
    pub(super) fn read(inbound: &Inbound<'_>) -> Self {
        let says = |id: [u8; 16]| inbound.vendor_ids().any(|said| said == id);
        Self { dpd: says(DPD), nat_traversal: says(NAT_TRAVERSAL) }
    }

    /// VID payloads: all that we can do.
    pub(super) fn push(m: &mut MessageBuilder) {
        push(m, &Payload::VendorId(&DPD));
        push(m, &Payload::VendorId(&NAT_TRAVERSAL));
    }
}

/// A connection's parameters of IKEv1.
pub(super) fn wishes(connection: &Connection) -> V1 {
    match connection.version {
        Version::V1(wishes) => wishes,
        Version::V2 => unreachable!("connections of IKEv2 never get an SA here"),
    }
}

/// What both sides have negotiated before there are keys.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) suite: Suite,
    pub(super) method: AuthenticationMethod,
    pub(super) lifetime: Duration,
    /// Our lifetime is shorter than the offered one, which the initiator must be told (RFC 2407 §4.6.3.1).
    pub(super) tells_lifetime: bool,
    /// SAi_b.
    pub(super) sa_body: Vec<u8>,
    pub(super) peer: Extensions,
}

impl Terms {
    pub(super) fn hash(&self) -> Hash {
        let prf = self.suite.prf.expect("suites of ISAKMP SAs have a PRF");
        hash_number(prf).expect("only suites with numbers are chosen").0
    }
}

/// Public values and nonces, the initiator's first.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) publics: [Vec<u8>; 2],
    pub(super) nonces: [Vec<u8>; 2],
}

/// The input of SKEYID; fixed once known, whatever the source of later messages.
#[derive(Debug)]
pub(super) enum Root {
    /// The key both share.
    SharedKey(Secret),
    /// The nonces.
    Signatures,
}

impl Root {
    /// The input for a method; `None` if the method needs a shared key and there is none.
    pub(super) fn of(method: AuthenticationMethod, shared_key: Option<&Secret>) -> Option<Self> {
        match method {
            AuthenticationMethod::PRE_SHARED_KEY => shared_key.cloned().map(Self::SharedKey),
            _ => Some(Self::Signatures),
        }
    }

    /// The shared key, if SKEYID is derived from it.
    pub(super) const fn shared_key(&self) -> Option<&Secret> {
        match self {
            Self::SharedKey(key) => Some(key),
            Self::Signatures => None,
        }
    }
}

/// Phase 1 with keys.
#[derive(Debug)]
pub(super) struct Keyed {
    pub(super) terms: Terms,
    pub(super) root: Root,
    pub(super) keys: Keys,
    pub(super) iv: Iv,
    skeyid: Digest,
    publics: [Vec<u8>; 2],
}

impl Keyed {
    /// RFC 2409 §5: derives SKEYID and everything from it.
    pub(super) fn derive(
        terms: Terms,
        values: Values,
        shared: &[u8],
        root: Root,
        cookies: (u64, u64),
        env: &mut Env<'_, '_>,
    ) -> Self {
        let [nonce_i, nonce_r] = &values.nonces;
        let seeds = Seeds { cookie_i: cookies.0, cookie_r: cookies.1, nonce_i, nonce_r };
        let prf = terms.suite.prf.expect("suites of ISAKMP SAs have a PRF");
        let crypto = &mut *env.cx.crypto;
        let skeyid = match &root {
            Root::SharedKey(key) => keys::skeyid_of_shared_key(crypto, prf, key, seeds),
            Root::Signatures => keys::skeyid_of_signatures(crypto, prf, shared, seeds),
        };
        let keys = Keys::derive(crypto, &terms.suite, &skeyid, shared, seeds);
        let [public_i, public_r] = &values.publics;
        let iv = Iv::first(crypto, &keys, public_i, public_r);
        keys.reveal(cookies, env.cx.trace);
        Self { terms, root, keys, iv, skeyid, publics: values.publics }
    }

    /// HASH_I or HASH_R.
    pub(super) fn hash(&self, of: Role, id_body: &[u8], core: &Core, env: &mut Env<'_, '_>) -> Digest {
        let [public_i, public_r] = &self.publics;
        let input =
            ProofInput { public_i, public_r, cookies: core.cookies(), sa_body: &self.terms.sa_body, id_body };
        keys::proof(env.cx.crypto, self.keys.prf(), &self.skeyid, of, &input)
    }

    /// Our proof under our identity.
    pub(super) fn prove(&self, connection: &Connection, core: &Core, env: &mut Env<'_, '_>) -> auth::Proof {
        let hash = self.hash(core.role, &id_body(&connection.local_id), core, env);
        auth::Proof::make(connection, hash, env.cx)
    }

    /// Verifies the peer's proof under the identity it claims.
    pub(super) fn verify(
        &self,
        connection: &Connection,
        (id, id_body): (&Identification<'_>, &[u8]),
        inbound: &Inbound<'_>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Result<(), Reason> {
        let expected = self.hash(core.role.peer(), id_body, core, env);
        auth::verify(connection, &expected, id, inbound, env.cx)
    }

    /// Whether the peer has the shared key and its message is intact, whatever identity it claims.
    pub(super) fn is_proved(&self, inbound: &Inbound<'_>, core: &Core, env: &mut Env<'_, '_>) -> bool {
        let (Some(hash), Ok((_, id_body))) = (inbound.hashes().next(), inbound.need_id()) else {
            return false;
        };
        let is_shared = self.root.shared_key().is_some();
        is_shared && self.hash(core.role.peer(), id_body, core, env).matches(hash)
    }

    /// Whether a peer of this identity would have used this key: one with a key of its own uses no other.
    pub(super) fn is_key_of(&self, identity: &Identity, connection: &Connection, ip: IpAddr) -> bool {
        auth::shared_key(connection, Some(identity), ip).as_ref() == self.root.shared_key()
    }

    /// Tells the peer why the SA fails, under the existing keys (RFC 2409 §5.7).
    pub(super) fn notify_peer(&self, core: &Core, last: Iv, kind: NotifyType, env: &mut Env<'_, '_>) {
        let cookies = core.cookie_bytes();
        let notify = Payload::Notify(Notify::isakmp(kind, &cookies, &[]));
        let packet = protect::informational(core, &self.keys, last, |m| push(m, &notify), env);
        env.transmit(core.route, &packet, false);
    }

    /// Encrypts a message of phase 1.
    pub(super) fn seal(
        &mut self,
        exchange: ExchangeType,
        m: MessageBuilder,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> Packet {
        let (response, payloads) = (!core.role.is_initiator(), m.payloads());
        let bytes = protect::seal(m, &self.keys, &mut self.iv, env.cx.crypto);
        Packet { exchange, response, id: 0, payloads, bytes }
    }
}

/// IDii_b or IDir_b.
pub(super) fn id_body(identity: &Identity) -> Vec<u8> {
    let mut w = Writer::with_capacity(64);
    Identification::of(identity).write(&mut w);
    w.finish()
}

/// Starts a message of phase 1.
pub(super) fn begin(core: &Core, exchange: ExchangeType, encrypted: bool) -> MessageBuilder {
    MessageBuilder::plain(&header(core, exchange, encrypted, 0))
}

/// The header of a message under these cookies.
pub(super) const fn header(core: &Core, exchange: ExchangeType, encrypted: bool, id: u32) -> Header {
    let flags = if encrypted { Flags::ENCRYPTION } else { Flags::NONE };
    Header { version: Header::VERSION_1, ..Header::new(core.cookies(), exchange, flags, id) }
}

/// An unencrypted message of phase 1.
pub(super) fn plain(core: &Core, exchange: ExchangeType, m: MessageBuilder) -> Packet {
    let (response, payloads) = (!core.role.is_initiator(), m.payloads());
    Packet { exchange, response, id: 0, payloads, bytes: finish(m) }
}

/// Adds NAT-D payloads, if the peer supports them.
pub(super) fn push_nat_detection(m: &mut MessageBuilder, terms: &Terms, core: &Core, env: &mut Env<'_, '_>) {
    if terms.peer.nat_traversal {
        let forced = env.shared.config.force_encapsulation;
        let hashes = nat::ours(terms.hash(), core.cookies(), core.route, forced, env.cx);
        hashes.iter().for_each(|hash| push(m, &Payload::NatDetection(hash)));
    }
}

/// Adds a CR payload: with certificates we request the peer's.
pub(super) fn push_request(m: &mut MessageBuilder, connection: &Connection) {
    if matches!(connection.remote, Believe::Certificate(_)) {
        push(m, &Payload::CertificateRequest(CertificateRequest::ANY));
    }
}

/// RFC 3947 §3.2, §4: evaluates NAT detection; an initiator that detects a NAT continues on port 4500.
pub(super) fn settle_nat(
    terms: &Terms,
    route: Route,
    inbound: &Inbound<'_>,
    core: &mut Core,
    env: &mut Env<'_, '_>,
) {
    if !terms.peer.nat_traversal {
        return;
    }
    let config = &env.shared.config;
    let (forced, ports) = (config.force_encapsulation, (config.nat_port, config.responder_ports().1));
    core.nat = nat::detect(terms.hash(), core.cookies(), route, inbound, env.cx);
    // A host that pretends to be behind a NAT must act accordingly, or only the peer would encapsulate.
    core.nat.here |= forced;
    if core.role.is_initiator() && core.nat.found() && !core.route.marked {
        core.route = Route {
            local: core.route.local.at_port(ports.0),
            remote: core.route.remote.at_port(ports.1),
            marked: true,
        };
    }
}

impl Core {
    /// Sends a message of phase 1, and retransmits it until the next one arrives.
    pub(super) fn send(&mut self, packet: Packet, answers: Option<Fingerprint>, env: &mut Env<'_, '_>) {
        env.transmit(self.route, &packet, false);
        self.reflection.answered(packet.bytes.len());
        self.last = Some(Sent::awaiting(packet, answers, env.now(), &env.shared.config.retransmission));
        self.refusal = None;
    }

    /// Sends a message of phase 1, and retransmits it if the message that it answers is retransmitted.
    pub(super) fn answer(&mut self, packet: Packet, answers: Fingerprint, env: &mut Env<'_, '_>) {
        env.transmit(self.route, &packet, false);
        self.reflection.answered(packet.bytes.len());
        self.last = Some(Sent::on_demand(packet, answers));
        self.refusal = None;
    }
}

// RFC 2407 §4.6.3: in phase 1 the SPI of a notification is the two cookies. No hash covers notifications, so the last block of
// a genuine message may have been altered, which is the IV of the next one.
/// Whether all notifications of a message concern this SA.
pub(super) fn speaks_of(core: &Core, inbound: &Inbound<'_>) -> bool {
    let cookies = core.cookie_bytes();
    inbound.notifies().all(|notify| notify.spi.len() != cookies.len() || notify.spi == cookies)
}

/// Tells the peer the reason, in the clear: it has no keys yet, or other ones.
pub(super) fn tell_in_clear(core: &Core, kind: NotifyType, env: &mut Env<'_, '_>) {
    let id = env.shared.fresh_message_id();
    let mut m = MessageBuilder::plain(&header(core, INFORMATIONAL, false, id));
    push(&mut m, &Payload::Notify(Notify::isakmp(kind, &core.cookie_bytes(), &[])));
    let payloads = m.payloads();
    let packet = Packet { exchange: INFORMATIONAL, response: false, id, payloads, bytes: finish(m) };
    env.transmit(core.route, &packet, false);
}

/// The notification for a failure of ours.
pub(super) const fn notify_of(reason: Reason) -> NotifyType {
    match reason {
        Reason::WrongIdentity => NotifyType::INVALID_ID_INFORMATION,
        Reason::Certificate(_) => NotifyType::INVALID_CERTIFICATE,
        Reason::NoProposalChosen => NotifyType::NO_PROPOSAL_CHOSEN,
        Reason::Syntax(_) => NotifyType::PAYLOAD_MALFORMED,
        _ => NotifyType::AUTHENTICATION_FAILED,
    }
}
