//! A client, a server and the link between them, with losses, duplicates and a record of what happened.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use keytoll_crypto::{Null, Real};
use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_engine::trace::{Fact, Message};
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_net::{Addr, Host, Socket};
use keytoll_radius::client::{self, Client};
use keytoll_radius::server::{self, Server};
use keytoll_radius::wire::{Attributes, State};

pub(crate) const SECRET: &[u8] = b"correct horse battery staple";

/// One-way delay.
pub(crate) const LATENCY: Duration = Duration::from_millis(10);

pub(crate) fn gateway() -> IpAddr {
    "192.0.2.1".parse().unwrap()
}

pub(crate) fn aaa() -> IpAddr {
    "192.0.2.2".parse().unwrap()
}

pub(crate) fn client_config() -> client::Config {
    client::Config {
        local: gateway(),
        ports: (40_000..=40_003).collect(),
        server: client::Server::new(aaa(), Secret::from(SECRET)),
        nas_identifier: "gw.example.org".to_owned(),
        retransmission: client::Retransmission::default(),
    }
}

pub(crate) fn server_config() -> server::Config {
    let known = server::Client { secret: Secret::from(SECRET) };
    server::Config::new(BTreeMap::from([(gateway(), known)]))
}

/// A first Access-Request with an EAP identity, each of a peer of its own.
pub(crate) fn identity(conversation: u64) -> client::Authenticate {
    client::Authenticate {
        conversation: client::ConversationId(conversation),
        peer: Host::Ip(Ipv6Addr::from_bits(u128::from(conversation) << 64).into()),
        user_name: b"nemo".to_vec(),
        credential: client::Credential::Eap(b"\x02\x00\x00\x09\x01nemo".to_vec()),
        state: None,
        attributes: Attributes::new(),
    }
}

/// The peer's response to a challenge.
pub(crate) fn answer(conversation: u64, state: Option<State>) -> client::Authenticate {
    let credential = client::Credential::Eap(vec![2, 1, 0, 6, 4, 7]);
    client::Authenticate { credential, state, ..identity(conversation) }
}

pub(crate) fn start(conversation: u64) -> client::Account {
    client::Account {
        conversation: client::ConversationId(conversation),
        status: keytoll_radius::number::AcctStatus::Start,
        session_id: format!("{conversation:08x}"),
        user_name: b"nemo".to_vec(),
        attributes: Attributes::new(),
    }
}

pub(crate) const CHALLENGE: [u8; 6] = [1, 1, 0, 6, 4, 7];
pub(crate) const SUCCESS: [u8; 4] = [3, 1, 0, 4];
pub(crate) const FAILURE: [u8; 4] = [4, 1, 0, 4];
pub(crate) const MSK: [u8; 64] = [0x5a; 64];

/// The reaction of the server's owner to a request.
pub(crate) type Owner = fn(&server::Request) -> Option<server::Command>;

/// Challenges an identity and accepts the response.
pub(crate) fn challenge_then_accept(request: &server::Request) -> Option<server::Command> {
    let conversation = request.conversation;
    Some(if request.first {
        server::Command::Challenge { conversation, eap: CHALLENGE.to_vec() }
    } else {
        let (eap, msk) = (Some(SUCCESS.to_vec()), Some(Secret::from(&MSK[..])));
        server::Command::Accept { conversation, eap, msk, attributes: Attributes::new() }
    })
}

/// A fault of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Lost,
    Twice,
}

pub(crate) struct Bench {
    pub(crate) client: Client,
    pub(crate) server: Server,
    pub(crate) owner: Owner,
    pub(crate) now: Time,
    pub(crate) crypto: Box<dyn Crypto>,
    /// Faults by the number of the datagram, counted from 0.
    pub(crate) faults: BTreeMap<usize, Fault>,
    pub(crate) told: Vec<client::Event>,
    pub(crate) asked: Vec<server::Event>,
    /// Refused clients, as the server reports them.
    pub(crate) strangers: Vec<(Socket, &'static str)>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) lines: Vec<String>,
    pub(crate) datagrams: Vec<Datagram>,
    /// Streams that the client has closed: its end of each.
    pub(crate) closed: Vec<Addr>,
    /// How many password attempts might be answered.
    pub(crate) judged: usize,
    /// The answers to queued password attempts.
    queued: BTreeMap<server::ConversationId, server::Command>,
    is_of_streams: bool,
    wire: VecDeque<(Time, Datagram)>,
}

impl Bench {
    pub(crate) fn new(client: client::Config, server: server::Config) -> Self {
        Self {
            client: Client::new(client, Rng::named(1, "gw/radius")),
            server: Server::new(server, Rng::named(1, "aaa/radius")),
            owner: challenge_then_accept,
            now: Time::ZERO,
            crypto: Box::new(Real::default()),
            faults: BTreeMap::new(),
            told: Vec::new(),
            asked: Vec::new(),
            strangers: Vec::new(),
            facts: Vec::new(),
            lines: Vec::new(),
            datagrams: Vec::new(),
            closed: Vec::new(),
            judged: 0,
            queued: BTreeMap::new(),
            is_of_streams: false,
            wire: VecDeque::new(),
        }
    }

    pub(crate) fn usual() -> Self {
        Self::new(client_config(), server_config())
    }

    /// The client speaks over streams; the server, which does not, gets datagrams of what they carry.
    pub(crate) fn over_streams() -> Self {
        let bench = Self::usual();
        let client = bench.client.over_streams(client::Streams::default());
        Self { client, is_of_streams: true, ..bench }
    }

    pub(crate) fn null(mut self) -> Self {
        self.crypto = Box::new(Null);
        self
    }

    /// Executes a command of the client's owner.
    pub(crate) fn want(&mut self, command: client::Command) {
        self.client_input(Input::Command(command));
    }

    pub(crate) fn authenticate(&mut self, authenticate: client::Authenticate) {
        self.want(client::Command::Authenticate(authenticate));
    }

    /// Delivers a datagram now.
    pub(crate) fn deliver(&mut self, datagram: &Datagram) {
        let Datagram { from, to, bytes, .. } = datagram;
        let (from, to) = (*from, *to);
        if to.ip().unwrap() == aaa() {
            let [from, to] = [from, to].map(of_udp);
            self.server_input(Input::Datagram { from, to, bytes });
        } else if to.ip().unwrap() == gateway() {
            let [from, to] = [from, to].map(if self.is_of_streams { of_tcp } else { of_udp });
            self.client_input(Input::Datagram { from, to, bytes });
        }
    }

    pub(crate) fn client_input(&mut self, input: Input<'_, client::Command>) {
        let facts = step(&mut self.client, input, self.now, &mut *self.crypto);
        self.note("c", &facts);
        while let Some(output) = self.client.poll() {
            match output {
                Output::Datagram(datagram) => self.send(datagram),
                Output::Event(event) => self.told.push(event),
                Output::Close { local, .. } if self.is_of_streams => self.closed.push(local),
                Output::Inner(_) | Output::Close { .. } => unreachable!("RADIUS speaks datagrams"),
            }
        }
    }

    pub(crate) fn server_input(&mut self, input: Input<'_, server::Command>) {
        let facts = step(&mut self.server, input, self.now, &mut *self.crypto);
        self.note("s", &facts);
        while let Some(output) = self.server.poll() {
            match output {
                Output::Datagram(datagram) => self.send(datagram),
                Output::Event(event) => self.on_server_event(event),
                Output::Inner(_) | Output::Close { .. } => unreachable!("RADIUS speaks datagrams"),
            }
        }
    }

    fn on_server_event(&mut self, event: server::Event) {
        if let server::Event::Stranger(from, why) = event {
            return self.strangers.push((from, why));
        }
        let command = match &event {
            server::Event::Request(request) => self.command(request),
            server::Event::Turn(conversation) => {
                self.judged += 1;
                self.queued.remove(conversation)
            }
            _ => None,
        };
        self.asked.push(event);
        if let Some(command) = command {
            self.server_input(Input::Command(command));
        }
    }

    /// The command of the owner. Each response to a challenge is a password attempt for the user of the request.
    fn command(&mut self, request: &server::Request) -> Option<server::Command> {
        let command = (self.owner)(request);
        let (conversation, user) = (request.conversation, &*request.user_name);
        let tried = server::Tried { user, is_inside: false };
        let mut facts = Vec::new();
        let mut cx = Ctx { now: self.now, crypto: &mut *self.crypto, trace: &mut facts };
        let may_answer = request.first || self.server.may_answer(conversation, tried, &mut cx);
        self.note("s", &facts);
        self.judged += usize::from(may_answer && !request.first);
        if may_answer {
            return command;
        }
        self.queued.extend(command.map(|command| (conversation, command)));
        None
    }

    fn note(&mut self, side: &str, facts: &[Fact]) {
        for fact in facts {
            match fact {
                Fact::Sent(message) => self.lines.push(line(side, message, self.now)),
                Fact::Discarded { why, .. } => self.lines.push(format!("{side}: discarded, {why}")),
                _ => {}
            }
        }
        self.facts.extend_from_slice(facts);
    }

    fn send(&mut self, datagram: Datagram) {
        let fault = self.faults.get(&self.datagrams.len());
        self.datagrams.push(datagram.clone());
        let copies = match fault {
            Some(Fault::Lost) => 0,
            Some(Fault::Twice) => 2,
            None => 1,
        };
        self.wire.extend(std::iter::repeat_n((self.now + LATENCY, datagram), copies));
    }

    /// Runs until nothing is in flight and no deadline is before `end`.
    pub(crate) fn run_until(&mut self, end: Time) {
        loop {
            let arrival = self.wire.front().map(|(at, _)| *at);
            let ticks = [self.client.deadline(), self.server.deadline()];
            let next = ticks.into_iter().flatten().map(|deadline| deadline.at).chain(arrival).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, datagram) = self.wire.pop_front().unwrap();
                self.deliver(&datagram);
            } else {
                self.client_input(Input::Tick);
                self.server_input(Input::Tick);
            }
        }
    }

    /// Runs for an hour, which exceeds all timeouts.
    pub(crate) fn run(&mut self) {
        self.run_until(self.now + Duration::from_secs(3600));
    }

    /// Runs until then, and waits if nothing happens.
    pub(crate) fn wait_until(&mut self, end: Time) {
        self.run_until(end);
        self.now = self.now.max(end);
    }

    /// Runs for one round trip.
    pub(crate) fn round_trip(&mut self) {
        self.run_until(self.now + LATENCY * 2);
    }

    /// Takes what was recorded since the last time.
    pub(crate) fn ladder(&mut self) -> String {
        self.lines.drain(..).map(|line| line + "\n").collect()
    }

    /// The State of the last challenge.
    pub(crate) fn state(&self) -> Option<State> {
        match self.told.last() {
            Some(client::Event::Challenge { state, .. }) => state.clone(),
            other => panic!("no challenge but {other:?}"),
        }
    }

    pub(crate) fn discards(&self) -> Vec<&str> {
        let mut found = Vec::new();
        for fact in &self.facts {
            if let Fact::Discarded { why, .. } = fact {
                found.push(why.as_ref());
            }
        }
        found
    }
}

fn of_udp(address: Addr) -> Addr {
    Addr::udp(address.ip().unwrap(), address.port().unwrap())
}

fn of_tcp(address: Addr) -> Addr {
    Addr::tcp(address.ip().unwrap(), address.port().unwrap())
}

/// Handles one input; returns the resulting facts.
pub(crate) fn step<E: Engine>(
    engine: &mut E,
    input: Input<'_, E::Command>,
    now: Time,
    crypto: &mut dyn Crypto,
) -> Vec<Fact> {
    let mut facts = Vec::new();
    engine.handle(input, &mut Ctx { now, crypto, trace: &mut facts });
    facts
}

fn line(side: &str, message: &Message, now: Time) -> String {
    let other = if side == "c" { "s" } else { "c" };
    let kinds = message.parts.as_slice().iter().map(|name| short(name.as_str()));
    let kinds = kinds.collect::<Vec<_>>().join(" ");
    let again = if message.retransmission { "  again" } else { "" };
    let at = now.as_nanos() / 1_000_000;
    let Message { name, id, .. } = message;
    format!("{at:>5} ms  {side} -> {other}  {name} {id}  {kinds}{again}").trim_end().to_owned()
}

fn short(name: &'static str) -> &'static str {
    match name {
        "Message-Authenticator" => "MA",
        "EAP-Message" => "EAP",
        "Vendor-Specific" => "VSA",
        other => other,
    }
}

/// Compares ladders, ignoring indentation and empty lines.
pub(crate) fn check(found: &str, expected: &str) {
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(lines(found), lines(expected), "found\n{found}");
}

/// The server's address for authentication.
pub(crate) fn authentication() -> Socket {
    Socket::new(aaa(), 1812)
}
