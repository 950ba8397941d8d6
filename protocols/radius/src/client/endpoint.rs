//! The client engine: sends requests, retransmits them, and accepts only authenticated responses.
//! Read RFC 2865 §3, RFC 3579 §2.6 and §3, RFC 5080 §2.2 first, and RFC 6613 §2.6 for streams.

use std::collections::VecDeque;

use keytoll_crypto_api::Rng;
use keytoll_engine::{Ctx, Datagram, Deadline, Engine, Input, Output, Time};
use keytoll_net::{Addr, Socket};

use super::config::Config;
use super::connections::{Connections, End, Streams};
use super::event::{Accept, Account, Authenticate, Command, ConversationId, Credential, Event, Reason};
use super::exchange::{Awaited, Due, Exchange, Exchanges, Fresh, Peer};
use super::identifiers::{Identifiers, Service, Slot};
use crate::names::RADIUS;
use crate::number::{AttributeType, Code};
use crate::protect::mppe::{self, Under};
use crate::protect::{Forged, MppeKeys, authenticator, chap, password};
use crate::wire::{Attribute, Authenticator, DecodeError, Packet, PacketBuilder, State, eap_message};

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    config: Config,
    rng: Rng,
    authentication: Identifiers,
    accounting: Identifiers,
    exchanges: Exchanges,
    /// None with datagrams.
    connections: Option<Connections>,
    /// Whether answers may lack a Message-Authenticator.
    takes_bare_answers: bool,
    out: VecDeque<Output<Event>>,
}

impl Client {
    /// A client that draws authenticators and jitter from `rng`.
    pub fn new(config: Config, rng: Rng) -> Self {
        let identifiers = |service| Identifiers::new(service, config.ports.clone());
        Self {
            authentication: identifiers(Service::Authentication),
            accounting: identifiers(Service::Accounting),
            exchanges: Exchanges::default(),
            connections: None,
            takes_bare_answers: false,
            out: VecDeque::new(),
            config,
            rng,
        }
    }

    // RFC 3579 §3.2: only answers with an EAP-Message must have a Message-Authenticator; servers older than Blast-RADIUS
    // (CVE-2024-3596) leave it out of others.
    /// Accepts answers without EAP that have no Message-Authenticator: for tests of servers, whose answers grant nothing here.
    #[must_use]
    pub const fn taking_bare_answers(mut self) -> Self {
        self.takes_bare_answers = true;
        self
    }

    /// Sends over streams, a connection for each of the configured ports: nothing is retransmitted, and whatever is not
    /// answered when a connection is lost fails.
    #[must_use]
    pub fn over_streams(mut self, streams: Streams) -> Self {
        self.config.retransmission = streams.timers();
        self.connections = Some(Connections::new(streams));
        self
    }

    /// The number of requests that are neither answered nor given up.
    pub fn outstanding(&self) -> usize {
        self.exchanges.len()
    }

    /// When a connection for authentication may be attempted or used again; `None` without connections, while all are closing, and if
    /// the server was not there so often that the wait for it grows no more.
    pub fn usable_at(&self) -> Option<Time> {
        let connections = self.connections.as_ref()?;
        let ends = || self.authentication.ports().iter().map(|port| (Service::Authentication, *port));
        let at = connections.usable_at(ends()).filter(|at| *at < Time::MAX);
        at.filter(|_| !connections.are_given_up(ends()))
    }

    fn on_command(&mut self, command: Command, cx: &mut Ctx<'_>) {
        match command {
            Command::Authenticate(authenticate) => {
                let conversation = authenticate.conversation;
                self.exchanges.abandon(conversation, &self.config.retransmission);
                let sent = self.authenticate(&authenticate, cx);
                self.settle(sent, |reason| Event::Failed(conversation, reason));
            }
            Command::Account(account) => {
                let sent = self.account(&account, cx);
                self.settle(sent, |reason| Event::Unaccounted(account.conversation, reason));
            }
            Command::Abandon(conversation) => {
                self.exchanges.abandon(conversation, &self.config.retransmission);
            }
        }
    }

    fn settle(&mut self, sent: Result<(), Reason>, unsent: impl FnOnce(Reason) -> Event) {
        if let Err(reason) = sent {
            self.emit(unsent(reason));
        }
    }

    fn emit(&mut self, event: Event) {
        self.out.push_back(Output::Event(event));
    }
}

/// Requests.
impl Client {
    fn authenticate(&mut self, authenticate: &Authenticate, cx: &mut Ctx<'_>) -> Result<(), Reason> {
        let peer = Peer::from(authenticate.peer);
        if self.exchanges.count_for(peer) >= self.config.per_peer_max() {
            return Err(Reason::PeerBusy);
        }
        let slot = self.allocate(Service::Authentication, authenticate.conversation, cx)?;
        // RFC 2865 §3: the Request Authenticator is unpredictable and never repeats.
        let request_authenticator = self.rng.bytes();
        let written = self.write_access_request(authenticate, slot, &request_authenticator, cx);
        let secret = &self.config.server.secret;
        let sealed = written.and_then(|packet| {
            packet.seal_request(&request_authenticator, secret, cx.crypto).map_err(|_| Reason::TooLong)
        });
        let request = sealed.inspect_err(|_| self.authentication.release(slot))?;
        let awaited = Awaited::Access(authenticate.conversation);
        let (peer, authenticator) = (Some(peer), request_authenticator);
        self.send(Fresh { slot, peer, awaited, authenticator, request }, cx);
        Ok(())
    }

    // RFC 6613 §2.6.6: over streams all requests of a conversation take one connection, as long as it is there.
    fn allocate(&mut self, service: Service, of: ConversationId, cx: &Ctx<'_>) -> Result<Slot, Reason> {
        let identifiers = match service {
            Service::Authentication => &mut self.authentication,
            Service::Accounting => &mut self.accounting,
        };
        let Some(connections) = &self.connections else { return identifiers.allocate().ok_or(Reason::Busy) };
        let is_usable = |port| connections.is_usable((service, port), cx.now);
        let slot = identifiers.allocate_near(of.0, is_usable);
        let is_any = || identifiers.ports().iter().any(|port| is_usable(*port));
        slot.ok_or_else(|| if is_any() { Reason::Busy } else { Reason::Unconnected })
    }

    fn write_access_request(
        &self,
        authenticate: &Authenticate,
        slot: Slot,
        request_authenticator: &Authenticator,
        cx: &mut Ctx<'_>,
    ) -> Result<PacketBuilder, Reason> {
        let mut packet = PacketBuilder::authentic(Code::ACCESS_REQUEST, slot.identifier);
        self.write_who(&mut packet, &authenticate.user_name)?;
        packet.attributes(authenticate.attributes.iter());
        match &authenticate.credential {
            Credential::Eap(eap) => packet.eap_message(eap),
            Credential::Password(word) => {
                let hidden =
                    password::hide(word, request_authenticator, &self.config.server.secret, cx.crypto);
                let hidden = hidden.ok_or(Reason::TooLong)?;
                packet.attribute(&short(AttributeType::USER_PASSWORD, &hidden)?);
            }
            // RFC 2865 §5.40: a challenge of 16 bytes may be the Request Authenticator itself.
            Credential::Chap(word) => {
                let answer = chap::Answer::new(slot.identifier, word, request_authenticator, cx.crypto);
                packet.attribute(&short(AttributeType::CHAP_PASSWORD, &answer.value())?);
            }
        }
        // RFC 2865 §5.24: the State of the challenge is returned unmodified.
        packet.attributes(authenticate.state.as_ref().map(State::attribute));
        Ok(packet)
    }

    fn account(&mut self, account: &Account, cx: &mut Ctx<'_>) -> Result<(), Reason> {
        let slot = self.allocate(Service::Accounting, account.conversation, cx)?;
        let written = self.write_accounting_request(account, slot);
        let secret = &self.config.server.secret;
        let sealed =
            written.and_then(|packet| packet.seal_accounting(secret, cx.crypto).map_err(|_| Reason::TooLong));
        let request = sealed.inspect_err(|_| self.accounting.release(slot))?;
        let authenticator = authenticator::of(&request.bytes);
        let awaited = Awaited::Accounting(account.conversation);
        self.send(Fresh { slot, peer: None, awaited, authenticator, request }, cx);
        Ok(())
    }

    fn write_accounting_request(&self, account: &Account, slot: Slot) -> Result<PacketBuilder, Reason> {
        let mut packet = PacketBuilder::new(Code::ACCOUNTING_REQUEST, slot.identifier);
        let status = account.status.number().to_be_bytes();
        packet.attribute(&Attribute::fixed(AttributeType::ACCT_STATUS_TYPE, &status));
        packet.attribute(&short(AttributeType::ACCT_SESSION_ID, account.session_id.as_bytes())?);
        self.write_who(&mut packet, &account.user_name)?;
        packet.attributes(account.attributes.iter());
        Ok(packet)
    }

    // RFC 3579 §3: a NAS identifies itself in every request. RFC 2865 §5: empty attributes are not sent.
    fn write_who(&self, packet: &mut PacketBuilder, user_name: &[u8]) -> Result<(), Reason> {
        if !user_name.is_empty() {
            packet.attribute(&short(AttributeType::USER_NAME, user_name)?);
        }
        packet.attribute(&short(AttributeType::NAS_IDENTIFIER, self.config.nas_identifier.as_bytes())?);
        Ok(())
    }

    fn send(&mut self, fresh: Fresh, cx: &mut Ctx<'_>) {
        cx.trace.record(fresh.request.fact(false));
        let datagram = self.datagram(fresh.slot, fresh.request.bytes.clone());
        self.out.push_back(Output::Datagram(datagram));
        self.exchanges.insert(fresh, &self.config.retransmission, cx.now, &mut self.rng);
    }

    fn datagram(&self, slot: Slot, bytes: Vec<u8>) -> Datagram {
        let (from, to) = self.ends((slot.service, slot.port));
        Datagram { protocol: RADIUS, from, to, bytes }
    }

    /// Our address and that of the server.
    fn ends(&self, (service, port): End) -> (Addr, Addr) {
        let server = match service {
            Service::Authentication => self.config.server.authentication,
            Service::Accounting => self.config.server.accounting,
        };
        let local = Socket::new(self.config.local, port);
        match self.connections {
            Some(_) => (Addr::Tcp(local), Addr::Tcp(server)),
            None => (Addr::Udp(local), Addr::Udp(server)),
        }
    }

    fn on_tick(&mut self, cx: &mut Ctx<'_>) {
        let timers = self.config.retransmission;
        while let Some((slot, due)) = self.exchanges.next_due(&timers, cx.now) {
            match due {
                Due::Again => self.send_again(slot, cx),
                Due::GiveUp => self.time_out(slot),
            }
        }
    }

    // RFC 3539 §3.4: a connection on which nothing has come for so long is no connection any more.
    fn time_out(&mut self, slot: Slot) {
        let end = (slot.service, slot.port);
        let since = self.exchanges.get(slot).map(|exchange| exchange.first_sent_at);
        self.give_up(slot, Reason::Timeout);
        if let (Some(connections), Some(since)) = (&self.connections, since)
            && !connections.has_answered_since(end, since)
        {
            self.hang_up(end);
        }
    }

    fn send_again(&mut self, slot: Slot, cx: &mut Ctx<'_>) {
        let request = self.exchanges.again(slot, &self.config.retransmission, cx.now, &mut self.rng);
        cx.trace.record(request.fact(true));
        let bytes = request.bytes.clone();
        self.out.push_back(Output::Datagram(self.datagram(slot, bytes)));
    }

    fn give_up(&mut self, slot: Slot, why: Reason) {
        match self.close(slot).awaited {
            Awaited::Access(conversation) => self.emit(Event::Failed(conversation, why)),
            Awaited::Accounting(conversation) => self.emit(Event::Unaccounted(conversation, why)),
            Awaited::Abandoned => {}
        }
    }

    /// Ends an exchange and frees its identifier.
    fn close(&mut self, slot: Slot) -> Exchange {
        match slot.service {
            Service::Authentication => self.authentication.release(slot),
            Service::Accounting => self.accounting.release(slot),
        }
        self.exchanges.remove(slot).expect("only exchanges that are there are closed")
    }
}

/// Responses.
impl Client {
    fn on_packet(&mut self, from: Socket, to: Socket, bytes: &[u8], cx: &mut Ctx<'_>) {
        let Err(unusable) = self.on_response(from, to, bytes, cx) else { return };
        cx.discard(RADIUS, unusable.why());
        if let (Unusable::Stream(_), Some(service)) = (unusable, self.service(from)) {
            self.hang_up((service, to.port));
        }
    }

    fn on_response(
        &mut self,
        from: Socket,
        to: Socket,
        bytes: &[u8],
        cx: &mut Ctx<'_>,
    ) -> Result<(), Unusable> {
        let service = self.service(from).ok_or(Unusable::Packet("unknown server"))?;
        let packet = Packet::read(bytes).map_err(|_| Unusable::Stream("malformed"))?;
        let slot = Slot { service, port: to.port, identifier: packet.identifier };
        let exchange = self.exchanges.get(slot).ok_or(Unusable::Packet("unknown identifier"))?;
        self.verify(&packet, service, &exchange.authenticator, cx)?;
        if let Some(connections) = &mut self.connections {
            connections.answered((service, slot.port), cx.now);
        }
        let Exchange { awaited, authenticator, .. } = self.close(slot);
        match awaited {
            Awaited::Access(conversation) => self.on_answer(conversation, &packet, &authenticator, cx),
            Awaited::Accounting(conversation) => self.emit(Event::Accounted(conversation)),
            Awaited::Abandoned => {}
        }
        Ok(())
    }

    fn service(&self, from: Socket) -> Option<Service> {
        let server = &self.config.server;
        let authentication = (from == server.authentication).then_some(Service::Authentication);
        authentication.or_else(|| (from == server.accounting).then_some(Service::Accounting))
    }

    fn verify(
        &self,
        packet: &Packet<'_>,
        service: Service,
        request: &Authenticator,
        cx: &mut Ctx<'_>,
    ) -> Result<(), Unusable> {
        let secret = &self.config.server.secret;
        let verified = match (service, packet.code) {
            (Service::Authentication, Code::ACCESS_ACCEPT | Code::ACCESS_REJECT | Code::ACCESS_CHALLENGE) => {
                match packet.verify_response(request, secret, cx.crypto) {
                    Err(Forged::Missing) if self.takes_bare_answers && !has_eap(packet) => Ok(()),
                    verified => verified,
                }
            }
            (Service::Accounting, Code::ACCOUNTING_RESPONSE) => {
                packet.verify_accounting_response(request, secret, cx.crypto)
            }
            _ => return Err(Unusable::Packet("unexpected code")),
        };
        verified.map_err(|forged| Unusable::Stream(forged.why()))
    }

    // RFC 3579 §2.6.3: the code alone decides; the EAP packet inside is for the peer, and is never invented here.
    fn on_answer(
        &mut self,
        conversation: ConversationId,
        packet: &Packet<'_>,
        request: &Authenticator,
        cx: &mut Ctx<'_>,
    ) {
        let event = match packet.code {
            Code::ACCESS_CHALLENGE => challenge(conversation, packet),
            Code::ACCESS_ACCEPT => {
                let under = Under { request, secret: &self.config.server.secret };
                accept(conversation, packet, under, cx)
            }
            _ => eap_message::join(&packet.attributes).map(|eap| Event::Reject { conversation, eap }),
        };
        self.emit(event.unwrap_or(Event::Failed(conversation, Reason::Malformed)));
    }
}

/// Connections.
impl Client {
    /// The stream between these addresses is gone.
    fn on_lost(&mut self, peer: Addr, local: Addr, cx: &Ctx<'_>) {
        let (Addr::Tcp(peer), Addr::Tcp(local)) = (peer, local) else { return };
        let Some(service) = self.service(peer) else { return };
        if let Some(connections) = &mut self.connections {
            connections.lost((service, local.port), cx.now);
            self.fail_all((service, local.port));
        }
    }

    /// Closes a connection, if there are any.
    fn hang_up(&mut self, end: End) {
        if let Some(connections) = &mut self.connections {
            connections.closing(end);
            self.fail_all(end);
            let (local, peer) = self.ends(end);
            self.out.push_back(Output::Close { local, peer });
        }
    }

    // RFC 6613 §2.6.5: identifiers belong to a connection, and are free when it is gone.
    fn fail_all(&mut self, (service, port): End) {
        for slot in self.exchanges.on(service, port) {
            self.give_up(slot, Reason::Lost);
        }
    }

    /// The socket of an address, if requests and responses go there.
    const fn socket(&self, address: Addr) -> Option<Socket> {
        match (address, &self.connections) {
            (Addr::Udp(socket), None) | (Addr::Tcp(socket), Some(_)) => Some(socket),
            _ => None,
        }
    }
}

// RFC 6613 §2.6.4: in a stream the next packet is found only if those before it are sound, so that what is forged or malformed
// ends it; a packet that nobody has asked for, or with a code of no use, may be passed over.
/// Something that cannot be used, and how far that goes: the rest of a stream cannot be, either, or can.
#[derive(Debug, Clone, Copy)]
enum Unusable {
    Packet(&'static str),
    Stream(&'static str),
}

impl Unusable {
    const fn why(self) -> &'static str {
        match self {
            Self::Packet(why) | Self::Stream(why) => why,
        }
    }
}

fn has_eap(packet: &Packet<'_>) -> bool {
    packet.attributes.iter().any(|attribute| attribute.kind() == AttributeType::EAP_MESSAGE)
}

fn challenge(conversation: ConversationId, packet: &Packet<'_>) -> Result<Event, DecodeError> {
    let state = State::read(&packet.attributes)?;
    // A challenge without EAP contains nothing that the peer could answer.
    let Some(eap) = eap_message::join(&packet.attributes)? else {
        return Ok(Event::Failed(conversation, Reason::Malformed));
    };
    Ok(Event::Challenge { conversation, eap, state })
}

fn accept(
    conversation: ConversationId,
    packet: &Packet<'_>,
    under: Under<'_>,
    cx: &mut Ctx<'_>,
) -> Result<Event, DecodeError> {
    let eap = eap_message::join(&packet.attributes)?;
    let keys = MppeKeys::read(&packet.attributes, under, cx.crypto)?;
    // RFC 2865 §5.44: at most one; with two the session's user would be ambiguous.
    packet.attributes.at_most_one(AttributeType::USER_NAME)?;
    let attributes = packet.attributes.iter().filter(is_for_the_owner).collect();
    Ok(Event::Accept(Accept { conversation, eap, keys, attributes }))
}

fn is_for_the_owner(attribute: &Attribute<'_>) -> bool {
    let ours = [AttributeType::STATE, AttributeType::EAP_MESSAGE, AttributeType::MESSAGE_AUTHENTICATOR];
    !ours.contains(&attribute.kind()) && !mppe::is_microsofts(attribute)
}

fn short(kind: AttributeType, value: &[u8]) -> Result<Attribute<'_>, Reason> {
    Attribute::new(kind, value).map_err(|_| Reason::TooLong)
}

impl Engine for Client {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        cx.crypto.enter(crate::PHASE);
        match input {
            Input::Datagram { from, to, bytes } => match (self.socket(from), self.socket(to)) {
                (Some(from), Some(to)) => self.on_packet(from, to, bytes, cx),
                _ if self.connections.is_some() => cx.discard(RADIUS, "not in TCP"),
                _ => cx.discard(RADIUS, "not in UDP"),
            },
            Input::Lost { peer, local } => self.on_lost(peer, local, cx),
            Input::Command(command) => self.on_command(command, cx),
            Input::Tick => self.on_tick(cx),
            // RFC 6614 §2.3: the names of peers are checked by what secures the stream. There is no half-processed state.
            Input::Inner(_) | Input::Secured { .. } | Input::Recover => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.exchanges.deadline().map(|at| Deadline { at, why: "RADIUS retransmission" })
    }
}
