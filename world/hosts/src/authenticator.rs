//! The gateway's end of EAP: it carries packets between IKE_AUTH and RADIUS, and believes the AAA server's verdict.
//! RFC 7296 §2.16, RFC 3579 §2.

use std::collections::BTreeMap;
use std::net::IpAddr;

use keytoll_eap::packet::{self, MethodType, Packet};
use keytoll_engine::trace::{Fact, Protocol};
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Seed};
use keytoll_ike::v2::{Eap, SaId};
use keytoll_radius::client::{
    self, Accept, Account, Authenticate, Client, Command, ConversationId, Credential, Event,
};
use keytoll_radius::number::AttributeType;
use keytoll_radius::wire::{Attributes, State};

use crate::accounting::Ledger;

/// How the gateway reaches the AAA server.
#[derive(Debug, Clone)]
pub struct AaaAccess {
    /// The RADIUS client.
    pub radius: client::Config,
    /// Whether the gateway asks for the EAP identity; otherwise the identity of IKE is passed on, which saves a round trip
    /// (RFC 7296 §2.16).
    pub asks_identity: bool,
    /// Whether it reports sessions' beginnings and ends.
    pub accounts: bool,
}

/// What the gateway remembers of a device that proves itself.
#[derive(Debug)]
struct Session {
    /// Where the device is.
    peer: IpAddr,
    /// Who it says it is.
    user_name: Vec<u8>,
    state: Option<State>,
    /// Of the request that the device has last seen.
    identifier: u8,
    /// That was our own, for its identity.
    asked: bool,
}

/// The devices that are proving themselves.
#[derive(Debug)]
pub(crate) struct Authenticator {
    asks_identity: bool,
    /// In ascending order.
    ports: Vec<u16>,
    radius: Client,
    sessions: BTreeMap<SaId, Session>,
    ledger: Option<Ledger>,
}

/// What the authenticator wants done.
pub(crate) enum Wanted {
    /// IKE is to be told.
    Tell(SaId, Eap),
    /// A datagram is to be sent.
    Send(keytoll_engine::Datagram),
}

impl Authenticator {
    pub(crate) fn new(access: AaaAccess, seed: &Seed, name: &str) -> Self {
        let mut ports = access.radius.ports.clone();
        ports.sort_unstable();
        Self {
            asks_identity: access.asks_identity,
            ports,
            radius: Client::new(access.radius, seed.stream(&format!("{name}/radius"))),
            sessions: BTreeMap::new(),
            ledger: access.accounts.then(Ledger::default),
        }
    }

    /// Whether a datagram to this port is RADIUS's.
    pub(crate) fn owns(&self, port: u16) -> bool {
        self.ports.binary_search(&port).is_ok()
    }

    pub(crate) fn session_count(&self) -> usize {
        self.sessions.len()
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.radius.outstanding()
    }

    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.radius.deadline()
    }

    pub(crate) fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        self.radius.handle(input, cx);
    }

    /// A device at this address wants to prove itself.
    pub(crate) fn begin(
        &mut self,
        sa: SaId,
        identity: &[u8],
        peer: IpAddr,
        cx: &mut Ctx<'_>,
    ) -> Option<Wanted> {
        let asked = self.asks_identity;
        let session = Session { peer, user_name: identity.to_vec(), state: None, identifier: 0, asked };
        self.sessions.insert(sa, session);
        if asked {
            return Some(Wanted::Tell(sa, Eap::Packet(packet::request(0, MethodType::IDENTITY, &[]))));
        }
        // RFC 3579 §2.1: the NAS may answer the Identity request itself if it knows the answer.
        self.ask(sa, packet::response(0, MethodType::IDENTITY, identity), cx);
        None
    }

    // RFC 3579 §2.2: the NAS checks Code, Identifier and Length before it forwards a packet. What does not fit comes from the
    // device itself, for IKE protects it and repeats nothing, so it is the end instead of a silent discard.
    /// The device has answered.
    pub(crate) fn answered(&mut self, sa: SaId, eap: Vec<u8>, cx: &mut Ctx<'_>) -> Option<Wanted> {
        let session = self.sessions.get_mut(&sa)?;
        if let Err(why) = session.take(&eap) {
            cx.trace.record(Fact::Failed { why: why.into() });
            return self.refuse(ConversationId(sa.0), None);
        }
        self.ask(sa, eap, cx);
        None
    }

    fn ask(&mut self, sa: SaId, eap: Vec<u8>, cx: &mut Ctx<'_>) {
        let Some(session) = self.sessions.get_mut(&sa) else { return };
        let request = Authenticate {
            conversation: ConversationId(sa.0),
            peer: Some(session.peer),
            user_name: session.user_name.clone(),
            credential: Credential::Eap(eap),
            state: session.state.take(),
            attributes: Attributes::default(),
        };
        self.radius.handle(Input::Command(Command::Authenticate(request)), cx);
    }

    /// The IKE SA is there.
    pub(crate) fn established(&mut self, sa: SaId, cx: &mut Ctx<'_>) {
        let report = self.ledger.as_mut().and_then(|ledger| ledger.begun(sa, cx.now));
        self.report(report, cx);
    }

    /// The IKE SA is gone.
    pub(crate) fn closed(&mut self, sa: SaId, cx: &mut Ctx<'_>) {
        let report = self.ledger.as_mut().and_then(|ledger| ledger.ended(sa, cx.now));
        self.report(report, cx);
    }

    /// The IKE SA has another number.
    pub(crate) fn rekeyed(&mut self, old: SaId, new: SaId) {
        if let Some(ledger) = &mut self.ledger {
            ledger.rekeyed(old, new);
        }
    }

    fn report(&mut self, report: Option<Account>, cx: &mut Ctx<'_>) {
        if let Some(account) = report {
            self.radius.handle(Input::Command(Command::Account(account)), cx);
        }
    }

    /// The IKE SA is no longer waiting.
    pub(crate) fn forget(&mut self, sa: SaId, cx: &mut Ctx<'_>) {
        self.closed(sa, cx);
        if self.sessions.remove(&sa).is_some() {
            self.radius.handle(Input::Command(Command::Abandon(ConversationId(sa.0))), cx);
        }
    }

    /// What came of it all.
    pub(crate) fn poll(&mut self, cx: &mut Ctx<'_>) -> Option<Wanted> {
        loop {
            match self.radius.poll()? {
                Output::Packet(datagram) => return Some(Wanted::Send(datagram)),
                Output::Event(event) => {
                    if let Some(wanted) = self.on_event(event, cx) {
                        return Some(wanted);
                    }
                }
            }
        }
    }

    fn on_event(&mut self, event: Event, cx: &mut Ctx<'_>) -> Option<Wanted> {
        match event {
            Event::Challenge { conversation, eap, state } => self.challenge(conversation, eap, state, cx),
            Event::Accept(accept) => self.accept(accept),
            Event::Reject { conversation, eap } => self.refuse(conversation, eap),
            Event::Failed(conversation, reason) => {
                cx.trace.record(Fact::Failed { why: reason.name().into() });
                self.refuse(conversation, None)
            }
            Event::Accounted(_) => None,
            Event::Unaccounted(_, reason) => {
                let why = format!("accounting report lost: {}", reason.name()).into();
                cx.trace.record(Fact::Discarded { protocol: Protocol::Radius, why });
                None
            }
        }
    }

    // RFC 3579 §2.2: what a challenge carries is a request, and its identifier the one that the device has to answer.
    fn challenge(
        &mut self,
        conversation: ConversationId,
        eap: Vec<u8>,
        state: Option<State>,
        cx: &mut Ctx<'_>,
    ) -> Option<Wanted> {
        let Ok(Packet::Request(request)) = Packet::read(&eap) else {
            cx.trace.record(Fact::Failed { why: "RADIUS challenge without an EAP request".into() });
            return self.refuse(conversation, None);
        };
        let session = self.sessions.get_mut(&SaId(conversation.0))?;
        (session.state, session.identifier) = (state, request.identifier);
        Some(Wanted::Tell(SaId(conversation.0), Eap::Packet(eap)))
    }

    // RFC 7296 §2.16: the identity that EAP proved comes from the AAA server; RFC 2865 §5.1: as the User-Name of its
    // Access-Accept. What the device called itself is not a substitute.
    fn accept(&mut self, accept: Accept) -> Option<Wanted> {
        let sa = SaId(accept.conversation.0);
        let session = self.sessions.remove(&sa)?;
        if let Some(ledger) = &mut self.ledger {
            ledger.accepted(sa, session.user_name, &accept.attributes);
        }
        let packet = accept.eap.unwrap_or_else(|| packet::success(session.identifier));
        let msk = accept.keys.map(|keys| keys.msk());
        let named = accept.attributes.get(AttributeType::USER_NAME).filter(|name| !name.is_empty());
        let identity = named.map(<[u8]>::to_vec);
        Some(Wanted::Tell(sa, Eap::Success { packet, msk, identity }))
    }

    fn refuse(&mut self, conversation: ConversationId, eap: Option<Vec<u8>>) -> Option<Wanted> {
        let session = self.sessions.remove(&SaId(conversation.0))?;
        // RFC 3579 §2.6.3: the code decides; a packet in an Access-Reject that says otherwise would only confuse the device.
        let failure = eap.filter(|eap| matches!(Packet::read(eap), Ok(Packet::Failure(_))));
        let packet = failure.unwrap_or_else(|| packet::failure(session.identifier));
        Some(Wanted::Tell(SaId(conversation.0), Eap::Failure { packet }))
    }
}

impl Session {
    /// Takes the device's answer to the request it has seen.
    fn take(&mut self, eap: &[u8]) -> Result<(), &'static str> {
        let Ok(Packet::Response(response)) = Packet::read(eap) else {
            return Err("EAP packet that is no response");
        };
        if response.identifier != self.identifier {
            return Err("EAP unexpected identifier");
        }
        if std::mem::take(&mut self.asked) {
            if response.kind != MethodType::IDENTITY {
                return Err("EAP response of another type than Identity");
            }
            self.user_name = response.data.to_vec();
        }
        Ok(())
    }
}
