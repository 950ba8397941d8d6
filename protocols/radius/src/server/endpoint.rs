//! The server engine: admits authenticated requests, once each, and sends its owner's answers.
//! Read RFC 2865 §3, RFC 3579 §2.6 and §3, RFC 5080 §2.2, RFC 5997 first.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::{Ctx, Datagram, Deadline, Engine, Input, Output};
use keytoll_net::{Addr, Socket};

use super::config::{Client, Config};
use super::conversation::{AwaitingAnswer, AwaitingRefusal, Conversations, Due, Full, GivenUp};
use super::duplicates::{Duplicates, Fingerprint, Key, Seen};
use super::event::{Command, ConversationId, Credential, Event, Request, Tried};
use super::request::{AccessRequest, ReplyTo, read_accounting};
use super::tries::Turn;
use crate::names::RADIUS;
use crate::number::{AttributeType, Code};
use crate::protect::mppe::Under;
use crate::protect::{Forged, MppeKeys};
use crate::wire::{Attribute, Attributes, Packet, PacketBuilder, PacketTooLong, Sealed, State};

/// A server and its unfinished conversations.
#[derive(Debug)]
pub struct Server {
    config: Arc<Config>,
    rng: Rng,
    conversations: Conversations,
    duplicates: Duplicates,
    out: VecDeque<Output<Event>>,
}

impl Server {
    /// A server that draws States and salts from `rng`.
    pub fn new(config: Config, rng: Rng) -> Self {
        Self {
            conversations: Conversations::new(&config),
            duplicates: Duplicates::new(config.responses_max, config.response_kept),
            out: VecDeque::new(),
            config: Arc::new(config),
            rng,
        }
    }

    /// Conversations without verdict.
    pub fn conversations(&self) -> usize {
        self.conversations.len()
    }

    /// The number of requests remembered to recognise retransmissions.
    pub fn remembered(&self) -> usize {
        self.duplicates.len()
    }

    fn emit(&mut self, event: Event) {
        self.out.push_back(Output::Event(event));
    }

    fn on_tick(&mut self, cx: &mut Ctx<'_>) {
        self.duplicates.purge(cx.now);
        self.release(cx);
        while let Some(due) = self.conversations.due(cx.now) {
            match due {
                Due::GivenUp(given_up) => self.expire(&given_up),
                Due::Late(conversation) => self.ignore_attempt(conversation, Full::User, cx),
                Due::Refusal(AwaitingRefusal { request, eap }) => {
                    self.respond_reject(&request, eap.as_deref(), cx);
                }
            }
        }
    }

    // RFC 5080 §2.2.2: retransmissions are recognised so that they get the response; if there will be none, a retransmitted request
    // is treated as a new one.
    fn expire(&mut self, given_up: &GivenUp) {
        if let Some(request) = &given_up.unanswered {
            self.duplicates.forget(request.key(), request.fingerprint);
        }
        self.emit(Event::Expired(given_up.id));
    }
}

/// The kind of a request.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Access,
    Accounting,
    /// Whether the server is alive; the answer has this code.
    Status(Code),
}

/// An authenticated request that was not seen before.
struct Admitted<'a> {
    packet: Packet<'a>,
    key: Key,
    fingerprint: Fingerprint,
}

/// Requests.
impl Server {
    fn on_packet(&mut self, from: Socket, to: Socket, bytes: &[u8], cx: &mut Ctx<'_>) {
        self.duplicates.purge(cx.now);
        if let Err(why) = self.on_request(from, to, bytes, cx) {
            cx.discard(RADIUS, why);
        }
    }

    fn on_request(
        &mut self,
        from: Socket,
        to: Socket,
        bytes: &[u8],
        cx: &mut Ctx<'_>,
    ) -> Result<(), &'static str> {
        // RFC 2865 §3: a request from a client without shared secret is silently discarded.
        let config = Arc::clone(&self.config);
        let client =
            config.clients.get(&from.ip).ok_or_else(|| self.refuse_client(from, "unknown client"))?;
        let packet = Packet::read(bytes).map_err(|_| "malformed")?;
        let kind = self.kind(packet.code, to.port).ok_or("unexpected code")?;
        verify(&packet, kind, &client.secret, cx).map_err(|why| self.refuse_client(from, why))?;
        let key = Key { from, to, identifier: packet.identifier };
        if let Kind::Status(response) = kind {
            return self.on_status((&packet, key), response, client, cx);
        }
        let fingerprint = Fingerprint::of(&packet);
        if self.answer_again(key, fingerprint, cx)? {
            return Ok(());
        }
        let request = Admitted { packet, key, fingerprint };
        match kind {
            Kind::Access => self.on_access(&request, client, cx),
            _ => self.on_accounting(&request, client, cx),
        }
    }

    /// Reports a refused client to the owner; returns the reason.
    fn refuse_client(&mut self, from: Socket, why: &'static str) -> &'static str {
        self.emit(Event::Stranger(from, why));
        why
    }

    /// The kind of a request with this code at this port.
    fn kind(&self, code: Code, port: u16) -> Option<Kind> {
        let is_authentication = port == self.config.authentication_port;
        let is_accounting = port == self.config.accounting_port;
        match code {
            Code::ACCESS_REQUEST if is_authentication => Some(Kind::Access),
            Code::ACCOUNTING_REQUEST if is_accounting => Some(Kind::Accounting),
            // RFC 5997 §4.2: the answer is the one that a port has for those who get what they ask for.
            Code::STATUS_SERVER if is_authentication => Some(Kind::Status(Code::ACCESS_ACCEPT)),
            Code::STATUS_SERVER if is_accounting => Some(Kind::Status(Code::ACCOUNTING_RESPONSE)),
            _ => None,
        }
    }

    /// Answers a Status-Server.
    // RFC 5997 §4.2: a retransmission gets a new answer, which grants no access and contains no keys.
    fn on_status(
        &mut self,
        (packet, key): (&Packet<'_>, Key),
        response: Code,
        client: &Client,
        cx: &mut Ctx<'_>,
    ) -> Result<(), &'static str> {
        let reply_to = ReplyTo::read(key.from, key.to, packet).map_err(|_| "malformed")?;
        let mut answer = PacketBuilder::authentic(response, key.identifier);
        answer.attributes(reply_to.proxy_states.iter());
        let sealed = answer.seal_response(&packet.authenticator, &client.secret, cx.crypto);
        let sealed = sealed.map_err(|_| "malformed")?;
        self.out.push_back(Output::Datagram(transmit(key, &sealed, false, cx)));
        Ok(())
    }

    /// Whether the request was answered before; answers it again.
    // RFC 5080 §2.2.2: a retransmitted request gets the original response, or nothing while there is none.
    fn answer_again(
        &mut self,
        key: Key,
        fingerprint: Fingerprint,
        cx: &mut Ctx<'_>,
    ) -> Result<bool, &'static str> {
        match self.duplicates.seen(key, fingerprint) {
            Seen::Never => Ok(false),
            Seen::Unanswered => Err("repeated while unanswered"),
            Seen::Answered(response) => {
                let datagram = transmit(key, response, true, cx);
                self.out.push_back(Output::Datagram(datagram));
                Ok(true)
            }
        }
    }

    fn on_access(
        &mut self,
        request: &Admitted<'_>,
        client: &Client,
        cx: &mut Ctx<'_>,
    ) -> Result<(), &'static str> {
        let Admitted { packet, key, fingerprint } = *request;
        let meaning = AccessRequest::read(&packet, client, cx.crypto).map_err(|_| "malformed")?;
        let reply_to = ReplyTo::read(key.from, key.to, &packet).map_err(|_| "malformed")?;
        let place = self.place(meaning.state.as_ref(), (&reply_to, &meaning.attributes), cx)?;
        self.duplicates.insert(key, fingerprint, cx.now);
        let awaiting = AwaitingAnswer { reply_to, fingerprint };
        match acceptable(place, meaning.credential) {
            Ok((begun, credential)) => self.ask(begun, awaiting, credential, meaning.attributes, cx),
            Err(unusable) => {
                if let Place::Begun(conversation) = place {
                    self.emit(Event::Expired(conversation));
                    self.conversations.resume(conversation, awaiting, cx.now);
                    self.on_command(&Command::Reject { conversation, eap: unusable.eap }, cx);
                    return Err(unusable.why);
                }
                return self.refuse(&awaiting, &unusable, cx);
            }
        }
        Ok(())
    }

    /// The conversation of a request, by its State. For a new one there is room then.
    fn place(
        &mut self,
        state: Option<&State>,
        (reply_to, attributes): (&ReplyTo, &Attributes),
        cx: &mut Ctx<'_>,
    ) -> Result<Place, &'static str> {
        let client = reply_to.from.ip;
        if let Some(state) = state {
            return Ok(self.conversations.named(state, client).map_or(Place::Nowhere, Place::Begun));
        }
        let made = self.conversations.make_room(client, station(attributes), cx.now);
        if let Some(given_up) = made.map_err(Full::why)? {
            self.give_way(&given_up, cx);
        }
        Ok(Place::New)
    }

    /// Asks the owner, in the existing conversation or a new one.
    fn ask(
        &mut self,
        begun: Option<ConversationId>,
        awaiting: AwaitingAnswer,
        credential: Credential,
        attributes: Attributes,
        cx: &mut Ctx<'_>,
    ) {
        let (client, user_name) = (awaiting.reply_to.from, awaiting.reply_to.user_name.clone());
        let conversation = match begun {
            Some(conversation) => self.conversations.resume(conversation, awaiting, cx.now),
            None => self.conversations.begin(awaiting, station(&attributes), cx.now),
        };
        let first = begun.is_none();
        self.emit(Event::Request(Request { conversation, first, client, user_name, credential, attributes }));
    }

    /// Counts a password attempt, before the owner of the conversation sends its verdict. Claimed names are not counted, because an attacker
    /// could lock out the user. Returns whether the owner may send its verdict now; otherwise [`Event::Turn`] says when, or
    /// [`Event::Refused`] that it never may.
    pub fn may_answer(&mut self, conversation: ConversationId, tried: Tried<'_>, cx: &mut Ctx<'_>) -> bool {
        let counted = self.conversations.try_password(conversation, &tried, cx.now);
        self.release(cx);
        match counted {
            Ok(turn) => turn == Turn::Now,
            Err(full) => {
                self.ignore_attempt(conversation, full, cx);
                false
            }
        }
    }

    /// Ends a conversation without an answer, right or wrong. Its request stays among the unanswered ones, so that it is not read again.
    fn ignore_attempt(&mut self, conversation: ConversationId, full: Full, cx: &mut Ctx<'_>) {
        self.conversations.forget(conversation);
        cx.discard(RADIUS, full.why());
        self.emit(Event::Refused(conversation, full.why()));
    }

    /// Reports the queued attempts that may be answered now.
    fn release(&mut self, cx: &Ctx<'_>) {
        while let Some(conversation) = self.conversations.next_turn(cx.now, &mut self.rng) {
            self.emit(Event::Turn(conversation));
        }
    }

    fn give_way(&mut self, given_up: &GivenUp, cx: &mut Ctx<'_>) {
        cx.discard(RADIUS, "conversation given up for a newer one");
        self.expire(given_up);
    }

    /// Answers with an Access-Reject of the server itself.
    fn refuse(
        &mut self,
        request: &AwaitingAnswer,
        unusable: &Unusable,
        cx: &mut Ctx<'_>,
    ) -> Result<(), &'static str> {
        self.respond_reject(request, unusable.eap.as_deref(), cx);
        Err(unusable.why)
    }

    // RFC 2866 §2: a response means that the report was recorded; here the event does that, which cannot get lost.
    fn on_accounting(
        &mut self,
        request: &Admitted<'_>,
        client: &Client,
        cx: &mut Ctx<'_>,
    ) -> Result<(), &'static str> {
        let Admitted { packet, key, fingerprint } = *request;
        let report = read_accounting(key.from, &packet).map_err(|_| "malformed")?;
        let reply_to = ReplyTo::read(key.from, key.to, &packet).map_err(|_| "malformed")?;
        let mut response = PacketBuilder::new(Code::ACCOUNTING_RESPONSE, key.identifier);
        response.attributes(reply_to.proxy_states.iter());
        let sealed = response.seal_response(&packet.authenticator, &client.secret, cx.crypto);
        let sealed = sealed.map_err(|_| "malformed")?;
        self.duplicates.insert(key, fingerprint, cx.now);
        self.send(key, fingerprint, sealed, cx);
        self.emit(Event::Accounting(report));
        Ok(())
    }
}

/// The device that a request is about, if it has a name.
fn station(attributes: &Attributes) -> Option<&[u8]> {
    attributes.get(AttributeType::CALLING_STATION_ID).filter(|station| !station.is_empty())
}

/// Why a request is refused without asking the owner.
struct Unusable {
    why: &'static str,
    eap: Option<Vec<u8>>,
}

/// The conversation of a request.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// It starts one.
    New,
    /// It continues this one.
    Begun(ConversationId),
    /// It belongs to one that is over, or never existed.
    Nowhere,
}

/// The conversation to continue, if there is one, and a credential that the server accepts.
fn acceptable(
    place: Place,
    credential: Option<Credential>,
) -> Result<(Option<ConversationId>, Credential), Unusable> {
    let begun = match place {
        Place::New => None,
        Place::Begun(conversation) => Some(conversation),
        // The client learns at once that its conversation is over, instead of retransmitting for half a minute.
        Place::Nowhere => return Err(Unusable { why: "unknown State", eap: None }),
    };
    match credential {
        None => Err(Unusable { why: "no credential of a known kind", eap: None }),
        Some(Credential::Eap(eap)) if eap.first() == Some(&EAP_REQUEST) => {
            Err(Unusable { why: "EAP request from a peer", eap: Some(nak(&eap)) })
        }
        Some(credential) => Ok((begun, credential)),
    }
}

/// RFC 3748 §4: the code of a request.
const EAP_REQUEST: u8 = 1;

/// RFC 3579 §2.2: the Error-Cause "Invalid EAP Packet (Ignored)".
const INVALID_EAP_PACKET: u32 = 202;

/// RFC 3748 §7.10: an MSK has at least 64 octets.
const MSK_BYTES_MIN: usize = 64;

const SHORT_MSK: &str = "MSK too short";
/// RFC 2865 §3: a packet has 4096 octets, and all Proxy-States of the request are in it.
const LONG_ANSWER: &str = "RADIUS answer too long";

// RFC 3579 §2.6.2: roles cannot be reversed; a Nak without a preferred method stops the peer's requests.
fn nak(eap: &[u8]) -> Vec<u8> {
    vec![2, eap.get(1).copied().unwrap_or(0), 0, 6, 3, 0]
}

fn verify(packet: &Packet<'_>, kind: Kind, secret: &Secret, cx: &mut Ctx<'_>) -> Result<(), &'static str> {
    let verified = match kind {
        // RFC 5997 §3: a Status-Server has a Message-Authenticator.
        Kind::Access | Kind::Status(_) => packet.verify_request(secret, cx.crypto),
        Kind::Accounting => packet.verify_accounting_request(secret, cx.crypto),
    };
    verified.map_err(Forged::why)
}

/// Responses.
impl Server {
    fn on_command(&mut self, command: &Command, cx: &mut Ctx<'_>) {
        let conversation = command.conversation();
        let Some((request, came)) = self.conversations.answer(conversation) else { return };
        let sent = match command {
            Command::Challenge { eap, .. } | Command::Ignored { eap, .. } => {
                let state = self.conversations.challenge(conversation, came, cx.now, &mut self.rng);
                let cause = matches!(command, Command::Ignored { .. }).then_some(INVALID_EAP_PACKET);
                self.respond_challenge(&request, eap, &state, cause, cx)
            }
            Command::Accept { msk: Some(msk), .. } if msk.len() < MSK_BYTES_MIN => {
                cx.discard(RADIUS, SHORT_MSK);
                return self.give_up(conversation, &request, SHORT_MSK, cx);
            }
            Command::Accept { eap, msk, attributes, .. } => {
                // With the claimed name any authenticated user could make a device familiar to another user.
                let user = attributes.get(AttributeType::USER_NAME);
                user.iter().for_each(|user| self.conversations.let_in(conversation, &came, user));
                self.release(cx);
                self.respond_accept(&request, eap.as_deref(), msk.as_ref(), attributes, cx)
            }
            Command::Reject { eap, .. } if self.config.reject_delay > Duration::ZERO => {
                let refusal = AwaitingRefusal { request, eap: eap.clone() };
                return self.conversations.refuse(conversation, came, refusal, cx.now);
            }
            Command::Reject { eap, .. } => {
                self.respond_reject(&request, eap.as_deref(), cx);
                Ok(())
            }
        };
        if sent.is_err() {
            self.give_up(conversation, &request, LONG_ANSWER, cx);
        }
    }

    fn give_up(
        &mut self,
        conversation: ConversationId,
        request: &AwaitingAnswer,
        why: &'static str,
        cx: &mut Ctx<'_>,
    ) {
        self.conversations.forget(conversation);
        self.respond_reject(request, None, cx);
        self.emit(Event::Refused(conversation, why));
    }

    fn respond_challenge(
        &mut self,
        request: &AwaitingAnswer,
        eap: &[u8],
        state: &State,
        cause: Option<u32>,
        cx: &mut Ctx<'_>,
    ) -> Result<(), PacketTooLong> {
        let mut packet = PacketBuilder::authentic(Code::ACCESS_CHALLENGE, request.reply_to.identifier);
        packet.eap_message(eap);
        packet.attribute(&state.attribute());
        if let Some(cause) = cause {
            packet.attribute(&Attribute::fixed(AttributeType::ERROR_CAUSE, &cause.to_be_bytes()));
        }
        self.respond(request, packet, cx)
    }

    fn respond_accept(
        &mut self,
        request: &AwaitingAnswer,
        eap: Option<&[u8]>,
        msk: Option<&Secret>,
        attributes: &Attributes,
        cx: &mut Ctx<'_>,
    ) -> Result<(), PacketTooLong> {
        let reply_to = &request.reply_to;
        let mut packet = PacketBuilder::authentic(Code::ACCESS_ACCEPT, reply_to.identifier);
        eap.into_iter().for_each(|eap| packet.eap_message(eap));
        let keys = msk.and_then(|msk| MppeKeys::from_msk(msk));
        if let Some((keys, client)) = keys.zip(self.config.clients.get(&reply_to.from.ip)) {
            let under = Under { request: &reply_to.authenticator, secret: &client.secret };
            keys.write(&mut packet, under, &mut self.rng, cx.crypto);
        }
        packet.attributes(echoed_name(reply_to, attributes));
        packet.attributes(attributes.iter());
        self.respond(request, packet, cx)
    }

    /// Refuses access; without the EAP packet if the Proxy-States leave it no room, for the client is to learn the result.
    fn respond_reject(&mut self, request: &AwaitingAnswer, eap: Option<&[u8]>, cx: &mut Ctx<'_>) {
        let sent = self.try_reject(request, eap, cx).or_else(|_| self.try_reject(request, None, cx));
        if sent.is_err() {
            // A request with these Proxy-States has a Message-Authenticator, too, so that this is as long at most.
            cx.discard(RADIUS, "no room for a response");
        }
    }

    fn try_reject(
        &mut self,
        request: &AwaitingAnswer,
        eap: Option<&[u8]>,
        cx: &mut Ctx<'_>,
    ) -> Result<(), PacketTooLong> {
        let mut packet = PacketBuilder::authentic(Code::ACCESS_REJECT, request.reply_to.identifier);
        eap.into_iter().for_each(|eap| packet.eap_message(eap));
        self.respond(request, packet, cx)
    }

    /// Seals and sends a response to a request, and keeps it for retransmissions.
    fn respond(
        &mut self,
        request: &AwaitingAnswer,
        mut packet: PacketBuilder,
        cx: &mut Ctx<'_>,
    ) -> Result<(), PacketTooLong> {
        let ReplyTo { from, authenticator, proxy_states, .. } = &request.reply_to;
        // RFC 2865 §5.33: all Proxy-States are returned, in their order.
        packet.attributes(proxy_states.iter());
        let client = self.config.clients.get(&from.ip).expect("requests are read from known clients only");
        let sealed = packet.seal_response(authenticator, &client.secret, cx.crypto)?;
        self.send(request.key(), request.fingerprint, sealed, cx);
        Ok(())
    }

    fn send(&mut self, key: Key, fingerprint: Fingerprint, response: Sealed, cx: &mut Ctx<'_>) {
        self.out.push_back(Output::Datagram(transmit(key, &response, false, cx)));
        self.duplicates.answer(key, fingerprint, response);
    }
}

// RFC 3579 §3: a User-Name in the request requires one in the Access-Accept; the owner may supply a better one.
fn echoed_name<'a>(reply_to: &'a ReplyTo, attributes: &Attributes) -> Option<Attribute<'a>> {
    let wanted = !reply_to.user_name.is_empty() && attributes.get(AttributeType::USER_NAME).is_none();
    wanted.then(|| {
        Attribute::new(AttributeType::USER_NAME, &reply_to.user_name).expect("it was read from an attribute")
    })
}

/// Records the fact, and makes the datagram, from the address where the request arrived.
fn transmit(key: Key, response: &Sealed, again: bool, cx: &mut Ctx<'_>) -> Datagram {
    cx.trace.record(response.fact(again));
    let Key { from: client, to: local, .. } = key;
    let (from, to) = (Addr::Udp(local), Addr::Udp(client));
    Datagram { protocol: RADIUS, from, to, bytes: response.bytes.clone() }
}

impl Engine for Server {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        cx.crypto.enter(crate::PHASE);
        match input {
            Input::Datagram { from: Addr::Udp(from), to: Addr::Udp(to), bytes } => {
                self.on_packet(from, to, bytes, cx);
            }
            Input::Datagram { .. } => cx.discard(RADIUS, "not in UDP"),
            Input::Command(command) => self.on_command(&command, cx),
            Input::Tick => self.on_tick(cx),
            // RADIUS uses datagrams only, and has no half-processed state.
            Input::Inner(_) | Input::Secured { .. } | Input::Lost { .. } | Input::Recover => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.conversations.deadline().map(|at| Deadline { at, why: "RADIUS conversation" })
    }
}
