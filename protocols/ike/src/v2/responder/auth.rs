//! IKE_AUTH of the responder. Read RFC 7296 §1.2, §2.15 (AUTH), §2.19 (addresses), §2.21.2 (errors) and RFC 4478
//! (lifetimes) first.

use std::net::IpAddr;
use std::sync::Arc;

use keytoll_crypto_api::PrivateKey;
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::Time;

use super::super::auth::{self, Proof};
use super::super::child::{Addresses, Answer, Refusal};
use super::super::config::{Believe, ChildConfig, Connection, Prove};
use super::super::endpoint::Env;
use super::super::established::{Child, Established, Peer, Who};
use super::super::event::{Event, Reason};
use super::super::inbound::Inbound;
use super::super::initiator::{Settled, push_certificates};
use super::super::keys::{IkeKeys, Nonces, Role};
use super::super::outbound::Plain;
use super::super::pool::Lease;
use super::super::proposal::without_groups;
use super::super::protect::Protection;
use super::super::sa::{Core, Index, State};
use super::super::schemes::PeerHashes;
use super::eap::{Applicant, Relay};
use crate::half_open::origin;
use crate::number::{AttributeType, AuthMethod, ConfigurationType, ExchangeType, NotifyType};
use crate::peers;
use crate::phase;
use crate::unproved::{Likely, Unproved};
use crate::wire::{ConfigurationAttribute, Identity, MessageBuilder, Notify, Payload};

/// Waits for the IKE_AUTH request.
#[derive(Debug)]
pub(in crate::v2) struct AwaitingAuth {
    pub(in crate::v2) expires: Time,
    settled: Settled,
    suite: Suite,
    agreement: Agreement,
}

/// The key agreement, computed when the first protected message arrives.
#[derive(Debug)]
enum Agreement {
    Pending { private: PrivateKey, peer_public: Vec<u8> },
    Done(Box<Protection>),
    Impossible,
}

/// The result of answering IKE_SA_INIT.
pub(in crate::v2) struct Begun {
    pub(in crate::v2) request: Vec<u8>,
    pub(in crate::v2) suite: Suite,
    pub(in crate::v2) private: PrivateKey,
    pub(in crate::v2) peer_public: Vec<u8>,
    pub(in crate::v2) nonce: [u8; 32],
    pub(in crate::v2) peer_nonce: Vec<u8>,
    pub(in crate::v2) hashes: PeerHashes,
}

/// The initiator, believed.
struct Believed {
    index: usize,
    connection: Arc<Connection>,
    identity: Identity,
}

/// Why authentication failed, and the most likely cause.
type Doubt = (Reason, Option<Likely>);

const fn undoubted(reason: Reason) -> Doubt {
    (reason, None)
}

/// The identity that an initiator claims.
fn claimed(inbound: &Inbound<'_>) -> Option<Identity> {
    inbound.need_id_initiator().ok().map(|id| id.to_identity())
}

/// The connections that an initiator may get, by what it sent before it was authenticated.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    /// IDr: the requested responder.
    asked: Option<Identity>,
    suite: Suite,
    /// RFC 5998 §3: our own AUTH is not required.
    eap_only: bool,
}

impl Wish {
    fn fits(&self, connection: &Connection) -> bool {
        self.asked.as_ref().is_none_or(|asked| *asked == connection.local_id)
            && connection.suites.contains(&self.suite)
    }

    /// Whether we may authenticate as this connection requires.
    fn judges(&self, connection: &Connection) -> bool {
        self.eap_only || !matches!(connection.local, Prove::Eap)
    }
}

impl AwaitingAuth {
    pub(in crate::v2) fn new(begun: Begun, core: &Core, env: &Env<'_, '_>) -> Self {
        let settled = Settled {
            first_message: core.responses.last_packet().to_vec(),
            other_first_message: begun.request,
            nonce: begun.nonce.to_vec(),
            other_nonce: begun.peer_nonce,
            hashes: begun.hashes,
        };
        Self {
            expires: env.now() + env.shared.config.half_open.lifetime,
            settled,
            suite: begun.suite,
            agreement: Agreement::Pending { private: begun.private, peer_public: begun.peer_public },
        }
    }

    /// Whether these are the bytes of the IKE_SA_INIT that started it.
    pub(in crate::v2) fn is_request(&self, message: &[u8]) -> bool {
        self.settled.other_first_message == message
    }

    /// The keys; computed at the first call.
    pub(in crate::v2) fn protection(&mut self, core: &Core, env: &mut Env<'_, '_>) -> Option<&Protection> {
        if let Agreement::Pending { private, peer_public } = &self.agreement {
            env.cx.crypto.enter(phase::SA_INIT);
            self.agreement = match env.cx.crypto.agree(private, peer_public) {
                Ok(secret) => {
                    let nonces: Nonces<'_> = self.settled.nonces(Role::Responder);
                    let keys = IkeKeys::first(env.cx.crypto, &self.suite, &secret, nonces, core.spis());
                    keys.reveal(core.spis(), env.cx.trace);
                    Agreement::Done(Box::new(Protection::new(keys, Role::Responder)))
                }
                Err(_) => Agreement::Impossible,
            };
        }
        match &self.agreement {
            Agreement::Done(protection) => Some(protection),
            Agreement::Pending { .. } | Agreement::Impossible => None,
        }
    }

    fn agreed(&self) -> &Protection {
        match &self.agreement {
            Agreement::Done(protection) => protection,
            Agreement::Pending { .. } | Agreement::Impossible => {
                unreachable!("a message was decrypted with it")
            }
        }
    }

    fn into_agreed(self) -> (Protection, Settled) {
        match self.agreement {
            Agreement::Done(protection) => (*protection, self.settled),
            Agreement::Pending { .. } | Agreement::Impossible => {
                unreachable!("a message was decrypted with it")
            }
        }
    }

    pub(in crate::v2) fn on_request(
        self,
        inbound: &Inbound<'_>,
        plain: &Plain<'_>,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::AUTH);
        let believed = match self.believe(inbound, env) {
            Ok(believed) => believed,
            Err((reason, likely)) => {
                let peer = core.unproved().claiming(claimed(inbound)).because(likely);
                return self.refuse(reason, peer, core, env);
            }
        };
        core.connection = Index::of(believed.index);
        let Believed { connection, identity, .. } = believed;
        if matches!(connection.remote, Believe::Eap) {
            // RFC 5998 §3: only at the initiator's request the responder's own AUTH is omitted.
            let wish = self.wish(inbound);
            if !wish.judges(&connection) {
                let peer = core.unproved().claiming(identity);
                return self.refuse(Reason::AuthenticationFailed, peer, core, env);
            }
            let (protection, settled) = self.into_agreed();
            let first = plain.keep();
            let applicant = Applicant { protection, settled, connection, identity, wish, first };
            return Relay::begin(applicant, core, env);
        }
        match self.settled.prove(&connection, self.agreed(), env) {
            Ok(proof) => {
                let (protection, settled) = self.into_agreed();
                let (claimed, identity) = (identity.clone(), Some(identity));
                let proven =
                    Proven { protection, settled, connection, identity, claimed, proof, named: false };
                proven.establish(inbound, core, env)
            }
            Err(reason) => {
                let peer = core.unproved().claiming(identity);
                self.refuse(reason, peer, core, env)
            }
        }
    }

    /// Finds the connection that the initiator asks for and verifies its proof.
    fn believe(&self, inbound: &Inbound<'_>, env: &mut Env<'_, '_>) -> Result<Believed, Doubt> {
        let id = inbound.need_id_initiator().map_err(undoubted)?;
        let identity = id.to_identity();
        let wish = self.wish(inbound);
        // RFC 7296 §2.16: without AUTH the initiator requests EAP, and needs a connection that accepts it.
        let Some(auth) = inbound.auth() else { return hint(&identity, &wish, env).map_err(undoubted) };
        let fits = |connection: &Connection| {
            !matches!(connection.remote, Believe::Eap)
                && connection.expects(&identity)
                && wish.fits(connection)
        };
        // Of several matching ones, one with this kind of proof.
        let by_key = auth.method == AuthMethod::SHARED_KEY_MIC;
        let takes = |connection: &Connection| {
            by_key == matches!(connection.remote, Believe::Psk { .. }) && wish.judges(connection)
        };
        let fitting = || env.shared.connections().filter(|(_, connection)| fits(connection));
        let found = fitting().find(|(_, connection)| takes(connection)).or_else(|| fitting().next());
        let found = found.map(|(index, connection)| (index, Arc::clone(connection)));
        let (index, connection) = found.ok_or_else(|| undoubted(Reason::WrongIdentity))?;
        let verdict = self.settled.verify(&connection, self.agreed(), id, inbound, env);
        verdict.map_err(|reason| (reason, auth::likely(reason, &connection.remote, &id, inbound)))?;
        Ok(Believed { index, connection, identity })
    }

    fn wish(&self, inbound: &Inbound<'_>) -> Wish {
        Wish {
            asked: inbound.id_responder().map(|id| id.to_identity()),
            suite: self.suite,
            eap_only: inbound.notify(NotifyType::EAP_ONLY_AUTHENTICATION).is_some(),
        }
    }

    /// The end, with an error.
    fn refuse(self, reason: Reason, peer: Unproved, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        refuse_in(ExchangeType::IKE_AUTH, self.into_agreed().0, (reason, peer), core, env)
    }

    /// The same for a malformed request of any kind.
    pub(in crate::v2) fn refuse_in(
        self,
        exchange: ExchangeType,
        reason: Reason,
        core: &mut Core,
        env: &mut Env<'_, '_>,
    ) -> State {
        let peer = core.unproved();
        refuse_in(exchange, self.into_agreed().0, (reason, peer), core, env)
    }
}

// RFC 7296 §2.16: IDi only hints at a connection before EAP has authenticated the initiator.
/// The provisional connection for EAP: one that expects the claimed identity, else one that may match once the identity is
/// authenticated.
fn hint(claimed: &Identity, wish: &Wish, env: &Env<'_, '_>) -> Result<Believed, Reason> {
    let fitting = || {
        let takes_eap = |connection: &Connection| matches!(connection.remote, Believe::Eap);
        env.shared.connections().filter(move |(_, connection)| takes_eap(connection) && wish.fits(connection))
    };
    let found = fitting()
        .find(|(_, connection)| connection.expects(claimed) && wish.judges(connection))
        .or_else(|| fitting().find(|(_, connection)| wish.judges(connection)))
        .or_else(|| fitting().next());
    let (index, connection) = found.ok_or(Reason::WrongIdentity)?;
    Ok(Believed { index, connection: Arc::clone(connection), identity: claimed.clone() })
}

/// The first connection for the identity that EAP authenticated, under which our AUTH to the initiator would be the same as
/// under `heard`.
pub(super) fn proved_by_eap(
    name: Option<&[u8]>,
    heard: &Connection,
    wish: &Wish,
    env: &Env<'_, '_>,
) -> Option<(usize, Arc<Connection>)> {
    let same_proof = |connection: &Connection| {
        std::ptr::eq(connection, heard)
            || connection.local_id == heard.local_id && connection.local.is_same_proof(&heard.local)
    };
    let takes = |connection: &Connection| {
        matches!(connection.remote, Believe::Eap)
            && wish.fits(connection)
            && same_proof(connection)
            && connection.expects_name(name)
    };
    let found = env.shared.connections().find(|(_, connection)| takes(connection));
    found.map(|(index, connection)| (index, Arc::clone(connection)))
}

/// RFC 7296 §2.21.2: the error is the whole response, and the end.
pub(in crate::v2) fn refuse_in(
    exchange: ExchangeType,
    mut protection: Protection,
    (reason, peer): (Reason, Unproved),
    core: &mut Core,
    env: &mut Env<'_, '_>,
) -> State {
    core.fails(reason, peer, env);
    let critical;
    let notify = match reason {
        Reason::UnsupportedCritical(kind) => {
            critical = [kind];
            Notify::new(NotifyType::UNSUPPORTED_CRITICAL_PAYLOAD, &critical)
        }
        Reason::Syntax(_) => Notify::new(NotifyType::INVALID_SYNTAX, &[]),
        _ => Notify::new(NotifyType::AUTHENTICATION_FAILED, &[]),
    };
    core.respond(exchange, |m| m.push(&Payload::Notify(notify)), &mut protection, env);
    core.linger_refused(env)
}

/// An authenticated initiator, and our proof for it.
pub(super) struct Proven {
    pub(super) protection: Protection,
    pub(super) settled: Settled,
    pub(super) connection: Arc<Connection>,
    /// Its authenticated identity, if its proof includes one.
    pub(super) identity: Option<Identity>,
    /// Its claimed identity.
    pub(super) claimed: Identity,
    pub(super) proof: Proof,
    /// Whether we have sent our identity before.
    pub(super) named: bool,
}

impl Proven {
    /// Answers with our proof and what the initiator requested in its first IKE_AUTH request.
    pub(super) fn establish(self, wish: &Inbound<'_>, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let Self { mut protection, settled, connection, identity, claimed, proof, named } = self;
        let leased = lease(&connection, core, wish, env);
        let lease = leased.unwrap_or_default();
        let address = lease.and_then(|lease| env.shared.pools.address(lease));
        let child = connection.child.as_ref().filter(|_| wish.sa().is_some());
        let addresses = Addresses::outer(core, env).with_theirs(address);
        let from = core.route.remote;
        let answer = child.map(|config| {
            let suites = without_groups(&config.suites);
            let chosen = leased.and_then(|_| Answer::choose(wish, &suites, config, (addresses, from), env));
            (config, chosen)
        });
        let reply = Reply { connection: &connection, proof: &proof, named, address, answer: answer.as_ref() };
        core.respond(ExchangeType::IKE_AUTH, |m| reply.write(m, wish), &mut protection, env);
        let belief = env.shared.setup.beliefs.get(core.connection_index());
        let counted = env.shared.peers.shared(match &identity {
            Some(identity) => peers::Peer::of(peers::Proved { belief, key_of: None, identity }),
            None => peers::Peer::at(belief, origin(core.route.remote.ip)),
        });
        // RFC 7296 §2.4: an initiator announces that it has no other IKE SA, perhaps because it lost them. Behind a NAT this does
        // not concern unnamed peers at the same address.
        let is_alone = identity.is_some() && wish.says(NotifyType::INITIAL_CONTACT);
        let max = counted.share(env.shared.config.ike_sas_max);
        let removal = env.shared.peers.arrives(&counted, core.local_spi, max, is_alone);
        env.shared.removals.extend(removal);
        let who = Who { proved: identity, claimed, auth_lifetime: connection.auth_lifetime };
        let peer = Peer { counted: Some(counted), initiated: false, lifetime_s: None, address, lease };
        let mut sa = Established::new(protection, who, peer, core, env);
        match answer {
            Some((config, Ok(answer))) => {
                let nonces = settled.nonces(Role::Responder);
                let child = answer.agreed.keyed(sa.protection.keys(), nonces, None, core, env);
                sa.add_child(Child::up(&child, config, env.now()), child, core, env);
            }
            Some((_, Err(refusal))) => env.emit(Event::ChildFailed(core.id(), refusal.reason())),
            None => {}
        }
        State::Established(Box::new(sa))
    }
}

/// RFC 7296 §2.19: an inner address, if one is requested and there is a pool.
fn lease(
    connection: &Connection,
    core: &Core,
    inbound: &Inbound<'_>,
    env: &mut Env<'_, '_>,
) -> Result<Option<Lease>, Refusal> {
    let asked = inbound.configuration().is_some_and(|cp| cp.kind == ConfigurationType::CFG_REQUEST);
    if !asked || connection.pool.is_none() {
        return Ok(None);
    }
    // RFC 7296 §3.15.4: without an address there is no child either, but the IKE SA is set up.
    let lease = env.shared.pools.lease(core.connection_index());
    lease.map(Some).ok_or(Refusal::Notify(NotifyType::INTERNAL_ADDRESS_FAILURE))
}

/// [IDr, [CERT, …]], AUTH, [CP(CFG_REPLY)], SAr2, TSi, TSr, [N(AUTH_LIFETIME)].
struct Reply<'a> {
    connection: &'a Connection,
    proof: &'a Proof,
    named: bool,
    address: Option<IpAddr>,
    answer: Option<&'a (&'a ChildConfig, Result<Answer, Refusal>)>,
}

impl Reply<'_> {
    fn write(&self, m: &mut MessageBuilder, inbound: &Inbound<'_>) {
        if !self.named {
            m.push(&Payload::IdResponder(self.connection.local_id.as_payload()));
            push_certificates(m, self.connection);
        }
        m.push(&Payload::Authentication(self.proof.payload()));
        self.push_address(m);
        match self.answer {
            Some((_, Ok(answer))) => {
                answer.push_sa(m);
                answer.push_selectors(m);
            }
            Some((_, Err(refusal))) => refusal.push(m),
            None if inbound.sa().is_some() => {
                m.push(&Payload::Notify(Notify::new(NotifyType::NO_PROPOSAL_CHOSEN, &[])));
            }
            None => {}
        }
        if let Some(lifetime) = self.connection.auth_lifetime {
            let seconds = u32::try_from(lifetime.as_secs()).unwrap_or(u32::MAX).to_be_bytes();
            m.push(&Payload::Notify(Notify::new(NotifyType::AUTH_LIFETIME, &seconds)));
        }
    }

    fn push_address(&self, m: &mut MessageBuilder) {
        match self.address {
            Some(IpAddr::V4(ip)) => {
                let value = ip.octets();
                let attribute = ConfigurationAttribute::new(AttributeType::INTERNAL_IP4_ADDRESS, &value);
                m.configuration(ConfigurationType::CFG_REPLY, &[attribute]);
            }
            Some(IpAddr::V6(ip)) => {
                // RFC 7296 §3.15.1: address and prefix length.
                let mut value = [0; 17];
                value[..16].copy_from_slice(&ip.octets());
                value[16] = 128;
                let attribute = ConfigurationAttribute::new(AttributeType::INTERNAL_IP6_ADDRESS, &value);
                m.configuration(ConfigurationType::CFG_REPLY, &[attribute]);
            }
            None => {}
        }
    }
}
