//! The AAA server: a RADIUS server, an EAP server behind it, and a source of authentication vectors.
//! RFC 3579 §2, RFC 4186, RFC 4187, 3GPP TS 29.273 §8.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use keytoll_crypto_api::{Rng, Seed};
use keytoll_eap::{Accepted, Answer, Server, ServerConfig, ServerOutput, Tried, packet};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_radius::RADIUS;
use keytoll_radius::number::AttributeType;
use keytoll_radius::server::{self, Command as Verdict, ConversationId, Credential, Event as Asked, Request};
use keytoll_radius::wire::Attribute;

use crate::subscribers::{Answered, Subscribers, VectorSource};
use crate::{Event, Host, Order};

/// The configuration of an AAA server.
pub struct AaaConfig {
    /// Its RADIUS server.
    pub radius: server::Config,
    /// Its EAP methods.
    pub eap: Arc<ServerConfig>,
    /// Its address.
    pub address: IpAddr,
    /// Where it gets authentication vectors.
    pub subscribers: Subscribers,
}

impl fmt::Debug for AaaConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AaaConfig").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The AAA server.
pub struct Aaa {
    address: IpAddr,
    eap: Arc<ServerConfig>,
    radius: server::Server,
    vectors: VectorSource,
    conversations: BTreeMap<ConversationId, Conversation>,
    rng: Rng,
    /// The conversation being processed.
    current: Option<ConversationId>,
    /// Authenticated devices, until their answer is made.
    granted: BTreeMap<ConversationId, Granted>,
    /// Whether new conversations are refused.
    draining: bool,
    out: VecDeque<Output<Event>>,
}

/// An authenticated identity, and the client where its device is.
struct Granted {
    identity: Vec<u8>,
    client: Option<IpAddr>,
}

/// An EAP conversation behind RADIUS.
struct Conversation {
    client: IpAddr,
    server: Server,
    /// The outstanding request; empty before the first.
    request: Vec<u8>,
    /// Number of unusable responses to it.
    ignored: u8,
    /// The result of a password attempt that may not be answered yet.
    result: Option<ServerOutput>,
}

/// A conversation may contain so many unusable packets; the next one ends it.
const IGNORED_MAX: u8 = 3;

impl fmt::Debug for Aaa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aaa").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Aaa {
    /// An AAA server whose random streams are named `{name}/…`.
    pub fn new(config: AaaConfig, seed: &Seed, name: &str) -> Self {
        Self {
            radius: server::Server::new(config.radius, seed.stream(&format!("{name}/radius"))),
            rng: seed.stream(&format!("{name}/eap")),
            vectors: VectorSource::new(config.subscribers, &mut seed.stream(&format!("{name}/diameter"))),
            address: config.address,
            eap: config.eap,
            conversations: BTreeMap::new(),
            current: None,
            granted: BTreeMap::new(),
            draining: false,
            out: VecDeque::new(),
        }
    }

    /// How many EAP conversations it holds.
    pub fn conversation_count(&self) -> usize {
        self.conversations.len()
    }

    /// The number of unanswered questions to the HSS.
    pub fn question_count(&self) -> usize {
        self.vectors.waiting()
    }

    /// The number of requests it remembers, to recognise retransmissions.
    pub fn remembered_count(&self) -> usize {
        self.radius.remembered()
    }

    /// Processes what RADIUS and the vector source have ready until neither has any more.
    fn drain(&mut self, cx: &mut Ctx<'_>) {
        loop {
            while let Some(output) = self.radius.poll() {
                match output.event() {
                    Ok(asked) => self.on_radius(asked, cx),
                    Err(output) => self.out.push_back(output),
                }
            }
            let granted = std::mem::take(&mut self.granted).into_values();
            self.out.extend(granted.map(|granted| Output::Event(Event::Accepted(granted.identity))));
            match self.vectors.poll() {
                Some(Ok(Answered { id, answer })) => self.on_answer(ConversationId(id), answer, cx),
                Some(Err(output)) => self.out.push_back(output),
                None => break,
            }
        }
    }

    fn on_radius(&mut self, asked: Asked, cx: &mut Ctx<'_>) {
        match asked {
            Asked::Request(request) => self.on_request(request, cx),
            Asked::Expired(conversation) => {
                self.conversations.remove(&conversation);
            }
            Asked::Turn(conversation) => self.on_turn(conversation, cx),
            Asked::Refused(conversation, why) => self.refused(conversation, why, cx),
            Asked::Stranger(from, why) => {
                self.out.push_back(Output::Event(Event::ClientRefused { client: from.ip, why }));
            }
            Asked::Accounting(_) => {}
        }
    }

    /// The server has ended a conversation.
    fn refused(&mut self, conversation: ConversationId, why: &'static str, cx: &mut Ctx<'_>) {
        let held = self.conversations.remove(&conversation);
        let held = held.map(|held| Granted { identity: held.name(), client: Some(held.client) });
        cx.trace.record(Fact::Failed { why: why.into() });
        if let Some(Granted { identity, client }) = self.granted.remove(&conversation).or(held) {
            self.rejected(&identity, client, why);
        }
    }

    fn on_request(&mut self, request: Request, cx: &mut Ctx<'_>) {
        let conversation = request.conversation;
        self.current = Some(conversation);
        if self.draining && request.first {
            // The client will retransmit, perhaps to another server.
            return cx.discard(RADIUS, "draining");
        }
        let Credential::Eap(packet) = request.credential else {
            // Passwords are supported inside EAP methods only.
            self.rejected(&request.user_name, Some(request.client.ip), "no EAP");
            return self.verdict(Verdict::Reject { conversation, eap: None }, cx);
        };
        let config = &self.eap;
        let entry = self.conversations.entry(conversation);
        let client = request.client.ip;
        let held = entry.or_insert_with(|| Conversation::new(client, Server::new(Arc::clone(config))));
        let output = if packet.is_empty() {
            held.server.begin(None, &mut self.rng, cx)
        } else {
            held.server.step(&packet, &mut self.rng, cx)
        };
        let tried = held.server.tried();
        if tried.is_none_or(|tried| self.radius.may_answer(conversation, of(tried), cx)) {
            return self.settle(conversation, output, cx);
        }
        held.result = Some(output);
    }

    /// The queued password attempt of a conversation may be answered now.
    fn on_turn(&mut self, conversation: ConversationId, cx: &mut Ctx<'_>) {
        self.current = Some(conversation);
        let held = self.conversations.get_mut(&conversation);
        if let Some(result) = held.and_then(|held| held.result.take()) {
            self.settle(conversation, result, cx);
        }
    }

    /// Vectors have arrived; the conversation may have ended meanwhile.
    fn on_answer(&mut self, conversation: ConversationId, answer: Answer, cx: &mut Ctx<'_>) {
        self.current = Some(conversation);
        let Some(held) = self.conversations.get_mut(&conversation) else { return };
        let output = held.server.answer(answer, &mut self.rng, cx);
        self.settle(conversation, output, cx);
    }

    /// Processes an output until the client has its answer, or vectors must be fetched first.
    fn settle(&mut self, conversation: ConversationId, mut output: ServerOutput, cx: &mut Ctx<'_>) {
        while let ServerOutput::Ask(question) = output {
            let Some(answer) = self.vectors.ask(conversation.0, &question, cx) else { return };
            let Some(held) = self.conversations.get_mut(&conversation) else { return };
            output = held.server.answer(answer, &mut self.rng, cx);
        }
        let Some(held) = self.conversations.get_mut(&conversation) else { return };
        let verdict = match output {
            ServerOutput::Send(eap) => {
                held.request.clone_from(&eap);
                Verdict::Challenge { conversation, eap }
            }
            ServerOutput::Success(accepted) => self.grant(conversation, accepted, cx),
            ServerOutput::Failure { packet, reason } => {
                let (name, client) = (held.name(), held.client);
                cx.trace.record(Fact::Failed { why: reason.0.into() });
                self.rejected(&name, Some(client), reason.0);
                Verdict::Reject { conversation, eap: Some(packet) }
            }
            ServerOutput::Ignored if held.goes_on() => {
                Verdict::Ignored { conversation, eap: held.request.clone() }
            }
            ServerOutput::Ignored => {
                let (name, client) = (held.name(), held.client);
                let failure = packet::failure(held.server.identifier());
                cx.trace.record(Fact::Failed { why: USELESS.into() });
                self.rejected(&name, Some(client), USELESS);
                Verdict::Reject { conversation, eap: Some(failure) }
            }
            ServerOutput::Ask(_) => return,
        };
        self.verdict(verdict, cx);
    }

    // RFC 2865 §5.1: the Access-Accept may name the user, and the NAS's accounting must carry that name. It is the
    // authenticated one: the User-Name of the request is only claimed.
    fn grant(&mut self, conversation: ConversationId, accepted: Accepted, cx: &mut Ctx<'_>) -> Verdict {
        let Accepted { identity, packet, keys, .. } = accepted;
        let Ok(name) = Attribute::new(AttributeType::USER_NAME, &identity) else {
            cx.trace.record(Fact::Failed { why: LONG_NAME.into() });
            let client = self.conversations.get(&conversation).map(|held| held.client);
            self.rejected(&identity, client, LONG_NAME);
            return Verdict::Reject { conversation, eap: None };
        };
        let attributes = [name].into_iter().filter(|name| !name.value().is_empty()).collect();
        let held = self.conversations.get_mut(&conversation);
        let client = held.map(|held| {
            held.server.admit();
            held.client
        });
        self.granted.insert(conversation, Granted { identity, client });
        Verdict::Accept { conversation, eap: Some(packet), msk: keys.msk, attributes }
    }

    /// The state of a conversation that a panic interrupted is not trusted: it is dropped.
    fn recover(&mut self, cx: &mut Ctx<'_>) {
        self.granted.clear();
        if let Some(conversation) = self.current.take() {
            let client = self.conversations.get(&conversation).map(|held| held.client);
            self.rejected(&[], client, "internal error");
            self.verdict(Verdict::Reject { conversation, eap: None }, cx);
        }
    }

    fn rejected(&mut self, name: &[u8], client: Option<IpAddr>, why: &'static str) {
        self.out.push_back(Output::Event(Event::Rejected { name: name.to_vec(), client, why }));
    }

    fn verdict(&mut self, verdict: Verdict, cx: &mut Ctx<'_>) {
        if !matches!(verdict, Verdict::Challenge { .. } | Verdict::Ignored { .. }) {
            self.conversations.remove(&verdict.conversation());
        }
        self.radius.handle(Input::Command(verdict), cx);
    }
}

/// For the RADIUS server.
fn of(tried: &Tried) -> server::Tried<'_> {
    server::Tried { user: &tried.user, is_inside: tried.is_inside }
}

/// Why a conversation with too many unusable packets ended.
const USELESS: &str = "EAP packets that cannot be used";
/// An identity that no attribute has room for.
const LONG_NAME: &str = "RADIUS User-Name too long";

impl Conversation {
    const fn new(client: IpAddr, server: Server) -> Self {
        Self { client, server, request: Vec::new(), ignored: 0, result: None }
    }

    /// The name that the device claims: inside the tunnel, if it has tried a password there.
    fn name(&self) -> Vec<u8> {
        self.server.tried().map_or_else(|| self.server.identity(), |tried| &tried.user).to_vec()
    }

    // RFC 3579 §2.2: an unusable packet is no fatal error while a request is outstanding, because somebody else may have sent
    // it; the client is told so that it does not wait. Without a request there is nothing to repeat.
    /// Counts one more unusable packet; whether the conversation may continue.
    fn goes_on(&mut self) -> bool {
        self.ignored = self.ignored.saturating_add(1);
        !self.request.is_empty() && self.ignored <= IGNORED_MAX
    }
}

impl Host for Aaa {
    fn holds(&self) -> Vec<(&'static str, usize)> {
        vec![
            ("EAP conversations", self.conversations.len()),
            ("questions to the HSS", self.vectors.waiting()),
        ]
    }

    fn under_way_count(&self) -> usize {
        // An Access-Reject may still wait.
        self.conversations.len().max(self.radius.conversations())
    }

    /// Throws away the vectors in stock.
    fn forget(&mut self) {
        self.vectors.forget();
    }
}

impl Engine for Aaa {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        match input {
            Input::Datagram { from, to, bytes } if self.vectors.owns(to) => {
                self.vectors.handle(Input::Datagram { from, to, bytes }, cx);
            }
            Input::Datagram { from, to, bytes } => {
                self.radius.handle(Input::Datagram { from, to, bytes }, cx);
            }
            Input::Secured { peer, local, names } => {
                self.vectors.handle(Input::Secured { peer, local, names }, cx);
            }
            Input::Lost { peer, local } => self.vectors.handle(Input::Lost { peer, local }, cx),
            Input::Recover => self.recover(cx),
            Input::Tick => {
                self.vectors.handle(Input::Tick, cx);
                self.radius.handle(Input::Tick, cx);
            }
            Input::Command(Order::Drain) => self.draining = true,
            // All other orders mean nothing to an AAA server, and it forwards no user packets.
            Input::Command(_) | Input::Inner(_) => {}
        }
        self.drain(cx);
        self.current = None;
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.radius.deadline(), self.vectors.deadline())
    }
}
