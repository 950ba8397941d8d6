//! The Diameter client in an AAA server or gateway. Read RFC 6733 §5.3 to §5.6 first, and RFC 3539 §3.4 for the watchdog.
//!
//! ```text
//!   Closed --first request--> Connecting (CER) --CEA--> Open --Disconnect--> Closing (DPR) --DPA--> Closed
//!      ^-------------- CER, DWR or DPR without an answer after the last attempt, any state ----------'
//!
//!   Connecting, Open --stream lost--> Lost --after 100 ms, 200 ms, … Tc--> Connecting
//! ```
//!
//! A question without an answer fails alone: whether the server is there at all, a watchdog tells.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_net::{Addr, Socket};

use crate::names::DIAMETER;
use crate::number::{AvpCode, application, command, result};
use crate::vectors::{Refusal, Request, Vector, read_vectors};
use crate::wire::Builder;
use crate::wire::message::{Header, Message, PROXIABLE, REQUEST};
use crate::{Name, say};

/// The configuration of a client.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its local address.
    pub local: Socket,
    /// The HSS.
    pub server: Socket,
    /// Its names.
    pub name: Name,
    /// Destination-Realm.
    pub realm: String,
    /// Whether the stream is secured: then the server is accepted only under a name that it has proved ([`Input::Secured`]).
    pub secured: bool,
    /// How long to wait for an answer before the request is retransmitted. RFC 6733 leaves that to TCP and failover; here, where
    /// each message is a datagram, the client must do it.
    pub answer_within: Duration,
    /// How often a request is sent at most.
    pub attempts_max: u32,
    /// Tw of RFC 3539 §3.4.1, at least 6 s there: silence of the server before a watchdog is sent; `None`: only after a question
    /// without an answer.
    pub watchdog: Option<Duration>,
    /// Most requests at a time.
    pub outstanding_max: usize,
    /// Wait before reconnecting after a lost stream; each failure doubles it.
    pub reconnect_after: Duration,
    /// Tc of RFC 6733 §2.1: the longest time between two attempts to connect.
    pub reconnect_every: Duration,
}

impl Config {
    /// Answers within 2 s, three attempts, a watchdog after 30 s (RFC 3539 §3.4.1), 4096 requests at a time; a lost stream is
    /// reconnected after 100 ms and then with increasing waits up to 30 s (RFC 6733 §2.1).
    pub const fn new(local: Socket, server: Socket, name: Name, realm: String) -> Self {
        Self {
            local,
            server,
            name,
            realm,
            secured: false,
            answer_within: Duration::from_secs(2),
            attempts_max: 3,
            watchdog: Some(Duration::from_secs(30)),
            outstanding_max: 4096,
            reconnect_after: Duration::from_millis(100),
            reconnect_every: Duration::from_secs(30),
        }
    }
}

/// A command of the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Connect now, rather than with the first request.
    Connect,
    /// Get vectors; connects first if necessary.
    Ask {
        /// The owner's id of the question, repeated in the answer.
        id: u64,
        /// The request.
        request: Request,
    },
    /// Disconnect with DPR.
    Disconnect,
}

/// An event for the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The answer.
    Answered {
        /// The owner's name for the request.
        id: u64,
        /// Vectors in the order in which they are to be used, or why there are none.
        vectors: Result<Vec<Vector>, Refusal>,
    },
    /// The server did not answer, disconnected, or its stream was lost; the next request reconnects if nothing else does.
    Down,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Connecting,
    Open,
    Closing,
    Lost,
}

/// An outstanding request.
#[derive(Debug)]
struct Pending {
    what: What,
    bytes: Vec<u8>,
    attempts: u32,
    /// When it was sent first on this stream.
    sent_at: Time,
    again_at: Time,
    end_to_end: u32,
}

impl Pending {
    /// Whether its last attempt has got no answer.
    fn is_over(&self, attempts_max: u32, now: Time) -> bool {
        self.again_at <= now && self.attempts >= attempts_max
    }

    const fn is_question(&self) -> bool {
        matches!(self.what, What::Vectors { .. })
    }
}

#[derive(Debug)]
enum What {
    Capabilities,
    Watchdog,
    Disconnect,
    Vectors { id: u64, request: Request },
}

/// The time from a lost stream until there is a connection again.
#[derive(Debug)]
struct Outage {
    failures: u32,
    connect_at: Time,
    /// When waiting questions are answered with a failure.
    give_up_at: Option<Time>,
}

/// The engine.
#[derive(Debug)]
pub struct Client {
    config: Config,
    state: State,
    /// By hop-by-hop identifier.
    pending: BTreeMap<u32, Pending>,
    waiting: VecDeque<(u64, Request)>,
    /// Requests sent on a lost stream, to be sent again on the next.
    held: Vec<Pending>,
    outage: Option<Outage>,
    next_hop: u32,
    next_end: u32,
    heard: Time,
    /// The names that the server has proved.
    proved: Vec<String>,
    out: VecDeque<Output<Event>>,
}

impl Client {
    /// A client that has not connected yet; identifiers start at random (RFC 6733 §3).
    pub fn new(config: Config, rng: &mut Rng) -> Self {
        let [hop, end] = [0; 2].map(|_: u8| u32::from_be_bytes(rng.bytes()));
        Self {
            config,
            state: State::Closed,
            pending: BTreeMap::new(),
            waiting: VecDeque::new(),
            held: Vec::new(),
            outage: None,
            next_hop: hop,
            next_end: end,
            heard: Time::ZERO,
            proved: Vec::new(),
            out: VecDeque::new(),
        }
    }

    /// Requests not answered yet.
    pub fn outstanding(&self) -> usize {
        self.pending.len() + self.held.len() + self.waiting.len()
    }

    fn ask(&mut self, id: u64, request: Request, cx: &mut Ctx<'_>) {
        if self.outstanding() >= self.config.outstanding_max {
            return self.answered(id, Err(Refusal::TooMany));
        }
        match self.state {
            State::Open => self.send_request(id, request, cx),
            State::Connecting | State::Closing => self.waiting.push_back((id, request)),
            State::Closed => {
                self.waiting.push_back((id, request));
                self.connect(cx);
            }
            State::Lost => {
                self.waiting.push_back((id, request));
                self.mind_patience(cx.now);
            }
        }
    }

    fn connect_if_closed(&mut self, cx: &mut Ctx<'_>) {
        if self.state == State::Closed {
            self.connect(cx);
        }
    }

    fn connect(&mut self, cx: &mut Ctx<'_>) {
        self.state = State::Connecting;
        let local = self.config.local;
        let fill = |message| say::capabilities(message, local);
        self.send_base(command::CAPABILITIES_EXCHANGE, What::Capabilities, fill, cx);
    }

    /// A request of the base protocol.
    fn send_base(
        &mut self,
        command: u32,
        what: What,
        fill: impl FnOnce(Builder) -> Builder,
        cx: &mut Ctx<'_>,
    ) {
        let header = self.header(REQUEST, command, application::BASE);
        let bytes = fill(say::begin(header, &self.config.name)).finish();
        self.send(header, what, bytes, cx);
    }

    fn send_request(&mut self, id: u64, request: Request, cx: &mut Ctx<'_>) {
        let (command, application) = request.carrier();
        let header = self.header(REQUEST | PROXIABLE, command, application);
        let Config { name, realm, .. } = &self.config;
        // RFC 6733 §8.8: the session is named after its initiator.
        // Always ten digits, so that all requests have the same length.
        let session = format!("{};{:010};{id:010}", name.host, header.end_to_end);
        let message = Builder::new(header).with(AvpCode::SESSION_ID, session.as_bytes());
        let message = say::with_application(message, application)
            .with_u32(AvpCode::AUTH_SESSION_STATE, 1)
            .with(AvpCode::ORIGIN_HOST, name.host.as_bytes())
            .with(AvpCode::ORIGIN_REALM, name.realm.as_bytes())
            .with(AvpCode::DESTINATION_REALM, realm.as_bytes());
        let bytes = request.write(message).finish();
        self.send(header, What::Vectors { id, request }, bytes, cx);
    }

    fn header(&mut self, flags: u8, command: u32, application: u32) -> Header {
        let (hop_by_hop, end_to_end) = (self.next_hop, self.next_end);
        self.next_hop = self.next_hop.wrapping_add(1);
        self.next_end = self.next_end.wrapping_add(1);
        Header { flags, command, application, hop_by_hop, end_to_end }
    }

    fn send(&mut self, header: Header, what: What, bytes: Vec<u8>, cx: &mut Ctx<'_>) {
        let again_at = cx.now + self.config.answer_within;
        let Header { hop_by_hop, end_to_end, .. } = header;
        self.put(bytes.clone(), false, cx);
        let sent_at = cx.now;
        self.pending.insert(hop_by_hop, Pending { what, bytes, attempts: 1, sent_at, again_at, end_to_end });
    }

    fn put(&mut self, bytes: Vec<u8>, again: bool, cx: &mut Ctx<'_>) {
        let datagram = say::send(self.config.local, self.config.server, bytes, again, cx);
        self.out.push_back(Output::Datagram(datagram));
    }

    fn on_packet(&mut self, from: Socket, bytes: &[u8], cx: &mut Ctx<'_>) {
        if from != self.config.server {
            return cx.discard(DIAMETER, "Diameter message from a stranger");
        }
        let Ok(message) = Message::read(bytes) else {
            return cx.discard(DIAMETER, "Diameter malformed message");
        };
        self.heard = cx.now;
        if message.header.is_request() { self.on_request(&message, cx) } else { self.on_answer(&message, cx) }
    }

    /// Handles a watchdog or disconnect request of the server.
    fn on_request(&mut self, message: &Message<'_>, cx: &mut Ctx<'_>) {
        let command = message.header.command;
        if !matches!(command, command::DEVICE_WATCHDOG | command::DISCONNECT_PEER) {
            return cx.discard(DIAMETER, "Diameter request at the client");
        }
        let answer = say::begin(message.header.answer(), &self.config.name);
        self.put(answer.with_u32(AvpCode::RESULT_CODE, result::SUCCESS).finish(), false, cx);
        if command == command::DISCONNECT_PEER {
            self.down();
        }
    }

    fn on_answer(&mut self, message: &Message<'_>, cx: &mut Ctx<'_>) {
        let header = message.header;
        let known = self.pending.get(&header.hop_by_hop);
        if known.is_none_or(|known| known.end_to_end != header.end_to_end) {
            return cx.discard(DIAMETER, "Diameter answer without a request");
        }
        let Some(pending) = self.pending.remove(&header.hop_by_hop) else { return };
        let code = say::result_of(&message.avps);
        match pending.what {
            What::Capabilities if !self.is_believed(message) => self.refuse(cx),
            What::Capabilities if code == Some(result::SUCCESS) => self.opened(cx),
            What::Capabilities => self.down(),
            What::Watchdog => {}
            What::Disconnect => self.closed(cx),
            What::Vectors { id, request } => self.answered(id, vectors(&request, code, message)),
        }
    }

    fn is_believed(&self, answer: &Message<'_>) -> bool {
        let host = answer.avps.get(AvpCode::ORIGIN_HOST).unwrap_or_default();
        !self.config.secured || say::is_one_of(host, &self.proved)
    }

    fn refuse(&mut self, cx: &mut Ctx<'_>) {
        cx.discard(DIAMETER, "Diameter peer with a name that it has not proved");
        self.out.push_back(Output::Close {
            local: Addr::Tcp(self.config.local),
            peer: Addr::Tcp(self.config.server),
        });
        self.down();
    }

    fn opened(&mut self, cx: &mut Ctx<'_>) {
        self.state = State::Open;
        self.outage = None;
        for pending in std::mem::take(&mut self.held) {
            self.send_on_the_new_stream(pending, cx);
        }
        for (id, request) in std::mem::take(&mut self.waiting) {
            self.send_request(id, request, cx);
        }
    }

    fn closed(&mut self, cx: &mut Ctx<'_>) {
        self.state = State::Closed;
        if !self.waiting.is_empty() || !self.held.is_empty() {
            self.connect(cx);
        }
    }

    // RFC 6733 §5.5.4: unanswered requests are sent again, with the T flag and the same End-to-End Identifier; §3: the
    // Hop-by-Hop Identifier belongs to the connection.
    fn send_on_the_new_stream(&mut self, mut pending: Pending, cx: &mut Ctx<'_>) {
        let hop_by_hop = self.next_hop;
        self.next_hop = self.next_hop.wrapping_add(1);
        say::mark_again(&mut pending.bytes);
        say::set_hop_by_hop(&mut pending.bytes, hop_by_hop);
        pending.attempts = 1;
        (pending.sent_at, pending.again_at) = (cx.now, cx.now + self.config.answer_within);
        self.put(pending.bytes.clone(), true, cx);
        self.pending.insert(hop_by_hop, pending);
    }

    /// The stream is gone.
    fn on_disconnected(&mut self, cx: &mut Ctx<'_>) {
        let pending = std::mem::take(&mut self.pending);
        self.held.extend(pending.into_values().filter(Pending::is_question));
        match self.state {
            // The connection was closing, but there may be new requests.
            State::Closed | State::Closing => self.closed(cx),
            State::Connecting | State::Open | State::Lost => self.lost(cx),
        }
    }

    // RFC 6733 §2.1: connection attempts are made periodically, every Tc; sooner at first, in case the server only restarts.
    fn lost(&mut self, cx: &mut Ctx<'_>) {
        self.state = State::Lost;
        let failures = self.outage.as_ref().map_or(0, |outage| outage.failures + 1);
        let Config { reconnect_after, reconnect_every, .. } = self.config;
        let wait = reconnect_after.saturating_mul(1 << failures.min(20)).min(reconnect_every);
        let give_up_at = self.outage.as_ref().and_then(|outage| outage.give_up_at);
        self.outage = Some(Outage { failures, connect_at: cx.now + wait, give_up_at });
        self.mind_patience(cx.now);
        if failures == 0 {
            self.out.push_back(Output::Event(Event::Down));
        }
    }

    /// During an outage questions wait no longer than for a server that does not answer.
    fn mind_patience(&mut self, now: Time) {
        let nobody = self.held.is_empty() && self.waiting.is_empty();
        let patience = self.config.answer_within * self.config.attempts_max;
        if let Some(outage) = self.outage.as_mut().filter(|_| !nobody) {
            outage.give_up_at.get_or_insert(now + patience);
        }
    }

    fn disconnect(&mut self, cx: &mut Ctx<'_>) {
        if self.state != State::Open {
            return;
        }
        self.state = State::Closing;
        // RFC 6733 §5.4.3: 2 is DO_NOT_WANT_TO_TALK_TO_YOU.
        let cause = |message: Builder| message.with_u32(AvpCode::DISCONNECT_CAUSE, 2);
        self.send_base(command::DISCONNECT_PEER, What::Disconnect, cause, cx);
    }

    /// The server is gone: everything that waits for it fails.
    fn down(&mut self) {
        self.state = State::Closed;
        self.outage = None;
        let pending = std::mem::take(&mut self.pending);
        self.held.extend(pending.into_values());
        self.fail_who_waits();
        self.out.push_back(Output::Event(Event::Down));
    }

    fn fail_who_waits(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.fail(held);
        for (id, _) in std::mem::take(&mut self.waiting) {
            self.answered(id, Err(Refusal::NoAnswer));
        }
    }

    /// Those of them that are questions get no answer.
    fn fail(&mut self, pending: Vec<Pending>) {
        for Pending { what, .. } in pending {
            if let What::Vectors { id, .. } = what {
                self.answered(id, Err(Refusal::NoAnswer));
            }
        }
    }

    fn answered(&mut self, id: u64, vectors: Result<Vec<Vector>, Refusal>) {
        self.out.push_back(Output::Event(Event::Answered { id, vectors }));
    }

    fn on_tick(&mut self, cx: &mut Ctx<'_>) {
        let attempts_max = self.config.attempts_max;
        let is_over = |pending: &Pending| pending.is_over(attempts_max, cx.now);
        // RFC 6733 §5.5.3: a peer that answers no watchdog is gone.
        if self.pending.values().any(|pending| is_over(pending) && !pending.is_question()) {
            return self.down();
        }
        let is_doubtful = self.fail_unanswered(cx.now);
        self.send_again(cx);
        if is_doubtful || self.watchdog_at().is_some_and(|at| at <= cx.now) {
            self.watch(cx);
        }
        if self.connect_at().is_some_and(|at| at <= cx.now) {
            self.connect(cx);
        }
        if self.give_up_at().is_some_and(|at| at <= cx.now) {
            self.outage.iter_mut().for_each(|outage| outage.give_up_at = None);
            self.fail_who_waits();
        }
    }

    /// Questions that were asked often enough fail, each alone: one that the server cannot answer says nothing of others. Whether
    /// nothing at all was heard since one of them was asked.
    fn fail_unanswered(&mut self, now: Time) -> bool {
        let attempts_max = self.config.attempts_max;
        let known = self.pending.iter();
        let over = known.filter(|(_, pending)| pending.is_over(attempts_max, now)).map(|(id, _)| *id);
        let over: Vec<u32> = over.collect();
        let over: Vec<Pending> = over.iter().filter_map(|id| self.pending.remove(id)).collect();
        let is_doubtful = over.iter().any(|pending| self.heard <= pending.sent_at);
        self.fail(over);
        is_doubtful
    }

    fn send_again(&mut self, cx: &mut Ctx<'_>) {
        let mut again = Vec::new();
        for pending in self.pending.values_mut().filter(|pending| pending.again_at <= cx.now) {
            pending.attempts += 1;
            pending.again_at = cx.now + self.config.answer_within;
            say::mark_again(&mut pending.bytes);
            again.push(pending.bytes.clone());
        }
        again.into_iter().for_each(|bytes| self.put(bytes, true, cx));
    }

    /// Asks whether the server is there, unless it is asked already.
    fn watch(&mut self, cx: &mut Ctx<'_>) {
        if self.state == State::Open && !self.is_watching() {
            self.send_base(command::DEVICE_WATCHDOG, What::Watchdog, |message| message, cx);
        }
    }

    fn is_watching(&self) -> bool {
        self.pending.values().any(|pending| matches!(pending.what, What::Watchdog))
    }

    fn connect_at(&self) -> Option<Time> {
        self.outage.as_ref().filter(|_| self.state == State::Lost).map(|outage| outage.connect_at)
    }

    fn give_up_at(&self) -> Option<Time> {
        self.outage.as_ref().and_then(|outage| outage.give_up_at)
    }

    // RFC 3539 §3.4.1: whatever is heard puts the watchdog off, whatever waits for an answer.
    /// When the watchdog is due; `None` while one is under way.
    fn watchdog_at(&self) -> Option<Time> {
        let is_due = self.state == State::Open && !self.is_watching();
        self.config.watchdog.filter(|_| is_due).map(|tw| self.heard + tw)
    }
}

fn vectors(request: &Request, code: Option<u32>, message: &Message<'_>) -> Result<Vec<Vector>, Refusal> {
    match code.map(Refusal::of) {
        None => Err(Refusal::Malformed),
        Some(Some(refusal)) => Err(refusal),
        Some(None) => read_vectors(&request.wanted, &message.avps).map_err(|_| Refusal::Malformed),
    }
}

impl Engine for Client {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        match input {
            Input::Datagram { from: Addr::Tcp(from), bytes, .. } => self.on_packet(from, bytes, cx),
            Input::Command(Command::Connect) => self.connect_if_closed(cx),
            Input::Command(Command::Ask { id, request }) => self.ask(id, request, cx),
            Input::Command(Command::Disconnect) => self.disconnect(cx),
            Input::Datagram { .. } => cx.discard(DIAMETER, "not over TCP"),
            Input::Secured { peer, names, .. } if peer == Addr::Tcp(self.config.server) => {
                self.proved = names.to_vec();
            }
            Input::Lost { peer, .. } if peer == Addr::Tcp(self.config.server) => {
                self.proved.clear();
                self.on_disconnected(cx);
            }
            Input::Tick => self.on_tick(cx),
            Input::Secured { .. } | Input::Lost { .. } | Input::Inner(_) | Input::Recover => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        let again = self.pending.values().map(|pending| pending.again_at).min();
        let deadlines = [
            (again, "diameter retransmit"),
            (self.watchdog_at(), "diameter watchdog"),
            (self.connect_at(), "diameter reconnect"),
            (self.give_up_at(), "diameter outage"),
        ];
        deadlines.into_iter().filter_map(|(at, why)| Some(Deadline { at: at?, why })).min()
    }
}
