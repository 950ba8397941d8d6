//! The Diameter server in the HSS. Read RFC 6733 §5.3 to §5.5 and §6.2 first, then TS 29.273 §8.1.2.1 and TS 29.272 §5.2.3.
//!
//! A request is answered at once; a retransmission gets the same answer, so that no sequence number is used twice (RFC 6733 §3,
//! End-to-End Identifier). Answers contain keys: only an identical request of the same peer from the same address within a
//! minute counts as a retransmission.
//!
//! ```text
//!   stream --CER of an admitted peer, under a proved name if the stream is secured--> known --requests--> answers
//!      '--anything else--> answered if possible, then closed
//! ```

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::algorithm::Prf;
use keytoll_crypto_api::{Crypto, Secret};
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_net::{Addr, Socket};

use crate::answers::{Answers, Asked};

use crate::names::DIAMETER;
use crate::number::{AvpCode, VENDOR_3GPP, application, command, result};
use crate::vectors::{Refusal, Request, Vector, Wanted, write_vectors};
use crate::wire::message::{Header, Message};
use crate::{Name, say};

/// The authentication centre, which holds the keys.
pub trait VectorSource: Send {
    /// Vectors for a request. For [`Wanted::Eps`] quintuplets with the separation bit suffice: KASME is derived here.
    ///
    /// # Errors
    /// Why there are no vectors.
    fn vectors(&mut self, request: &Request, crypto: &mut dyn Crypto) -> Result<Vec<Vector>, Refusal>;
}

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its listening address.
    pub local: Socket,
    /// Its names.
    pub name: Name,
    /// The admitted addresses; `None`: any.
    pub admitted: Option<BTreeSet<IpAddr>>,
    /// Whether streams are secured: then a peer is answered only under a name that it has proved ([`Input::Secured`]).
    pub secured: bool,
    /// Maximum number of known peers; the oldest is dropped first.
    pub peers_max: usize,
    /// Maximum number of answers kept for retransmitted requests; a quarter of them for one address.
    pub answers_max: usize,
    /// How long an answer is kept for a retransmitted request.
    // RFC 6733 §3: an End-to-End Identifier stays unique for at least 4 minutes; nobody retransmits for so long.
    pub answers_for: Duration,
}

impl Config {
    /// The default limits: 256 peers, 1024 answers, each for a minute.
    pub const fn new(local: Socket, name: Name) -> Self {
        let answers_for = Duration::from_secs(60);
        Self { local, name, admitted: None, secured: false, peers_max: 256, answers_max: 1024, answers_for }
    }
}

/// An event for the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A request was answered: its subscriber and result.
    Answered {
        /// The IMSI's digits.
        imsi: String,
        /// How many vectors, or why none.
        outcome: Result<usize, Refusal>,
    },
}

/// A peer whose capabilities are known.
#[derive(Debug)]
struct Peer {
    address: Socket,
    /// Its Origin-Host.
    host: Vec<u8>,
}

/// RFC 1035 §2.3.4: host names are no longer; the rest is not stored.
const HOST_BYTES_MAX: usize = 255;

/// The engine.
pub struct Server<S> {
    config: Config,
    source: S,
    peers: VecDeque<Peer>,
    /// The proved names, by the other end of each secured stream.
    proved: BTreeMap<Socket, Vec<String>>,
    answers: Answers,
    out: VecDeque<Output<Event>>,
}

impl<S> std::fmt::Debug for Server<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("name", &self.config.name).finish_non_exhaustive()
    }
}

impl<S: VectorSource> Server<S> {
    /// A server in front of an authentication centre.
    pub const fn new(config: Config, source: S) -> Self {
        let answers = Answers::new(config.answers_max, config.answers_for);
        Self {
            config,
            source,
            peers: VecDeque::new(),
            proved: BTreeMap::new(),
            answers,
            out: VecDeque::new(),
        }
    }

    /// The authentication centre.
    pub const fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    fn on_packet(&mut self, from: Socket, bytes: &[u8], cx: &mut Ctx<'_>) {
        let Ok(message) = Message::read(bytes) else {
            return self.refuse(from, "Diameter malformed message", cx);
        };
        if !message.header.is_request() {
            return self.refuse(from, "Diameter answer without a request", cx);
        }
        if self.config.admitted.as_ref().is_some_and(|admitted| !admitted.contains(&from.ip)) {
            return self.refuse_peer(from, message.header, cx);
        }
        match message.header.command {
            command::CAPABILITIES_EXCHANGE => self.on_capabilities(from, &message, cx),
            // RFC 6733 §5.6: nothing before the capabilities exchange.
            _ if !self.knows(from) => self.refuse(from, "Diameter request from an unknown peer", cx),
            command::DEVICE_WATCHDOG => self.succeed(from, message.header, cx),
            command::DISCONNECT_PEER => {
                self.forget(from);
                self.succeed(from, message.header, cx);
            }
            _ => self.on_request(from, &message, cx),
        }
    }

    fn knows(&self, address: Socket) -> bool {
        self.peers.iter().any(|peer| peer.address == address)
    }

    fn forget(&mut self, address: Socket) {
        self.peers.retain(|peer| peer.address != address);
    }

    fn close(&mut self, peer: Socket) {
        self.out.push_back(Output::Close { local: Addr::Tcp(self.config.local), peer: Addr::Tcp(peer) });
    }

    /// Closes the connection of a peer whose message cannot be answered.
    fn refuse(&mut self, from: Socket, why: &'static str, cx: &mut Ctx<'_>) {
        cx.discard(DIAMETER, why);
        self.forget(from);
        self.close(from);
    }

    // RFC 6733 §5.3: a CER from an unknown peer is answered with DIAMETER_UNKNOWN_PEER, and the connection is closed.
    fn refuse_peer(&mut self, from: Socket, header: Header, cx: &mut Ctx<'_>) {
        if header.command == command::CAPABILITIES_EXCHANGE {
            let answer = self.protocol_error(header, result::UNKNOWN_PEER);
            self.send(from, answer, false, cx);
        }
        self.refuse(from, "Diameter peer not admitted", cx);
    }

    fn on_capabilities(&mut self, from: Socket, message: &Message<'_>, cx: &mut Ctx<'_>) {
        self.forget(from);
        let host = message.avps.get(AvpCode::ORIGIN_HOST).unwrap_or_default();
        if self.config.secured && !self.proved.get(&from).is_some_and(|names| say::is_one_of(host, names)) {
            return self.refuse_peer(from, message.header, cx);
        }
        self.peers.push_back(Peer { address: from, host: host[..host.len().min(HOST_BYTES_MAX)].to_vec() });
        if self.peers.len() > self.config.peers_max.max(1) {
            let oldest = self.peers.pop_front();
            oldest.into_iter().for_each(|peer| self.close(peer.address));
        }
        let answer = say::begin(message.header.answer(), &self.config.name);
        let answer = answer.with_u32(AvpCode::RESULT_CODE, result::SUCCESS);
        let answer = say::capabilities(answer, self.config.local).finish();
        self.send(from, answer, false, cx);
    }

    fn succeed(&mut self, to: Socket, header: Header, cx: &mut Ctx<'_>) {
        let answer = say::begin(header.answer(), &self.config.name);
        self.send(to, answer.with_u32(AvpCode::RESULT_CODE, result::SUCCESS).finish(), false, cx);
    }

    fn on_request(&mut self, from: Socket, message: &Message<'_>, cx: &mut Ctx<'_>) {
        let header = message.header;
        let answer = match (header.command, header.application) {
            (command::MULTIMEDIA_AUTH, application::SWX)
            | (command::AUTHENTICATION_INFORMATION, application::S6A) => {
                return self.on_question(from, message, cx);
            }
            (command::MULTIMEDIA_AUTH | command::AUTHENTICATION_INFORMATION, _) => {
                self.protocol_error(header, result::APPLICATION_UNSUPPORTED)
            }
            _ => self.protocol_error(header, result::COMMAND_UNSUPPORTED),
        };
        self.send(from, answer, false, cx);
    }

    /// Answers a request for vectors; a retransmission gets the same answer.
    fn on_question(&mut self, from: Socket, message: &Message<'_>, cx: &mut Ctx<'_>) {
        let peer = self.peers.iter().find(|peer| peer.address == from);
        let host = peer.map(|peer| peer.host.clone()).unwrap_or_default();
        let asked = Asked::new(from.ip, host, message);
        if let Some(mut answer) = self.answers.get(&asked, cx.now) {
            say::set_hop_by_hop(&mut answer, message.header.hop_by_hop);
            return self.send(from, answer, true, cx);
        }
        let answer = self.answer(message, cx);
        self.answers.put(asked, Secret::new(answer.clone()), cx.now);
        self.send(from, answer, false, cx);
    }

    fn protocol_error(&self, header: Header, code: u32) -> Vec<u8> {
        let answer = say::begin(header.answer().error(), &self.config.name);
        answer.with_u32(AvpCode::RESULT_CODE, code).finish()
    }

    fn answer(&mut self, message: &Message<'_>, cx: &mut Ctx<'_>) -> Vec<u8> {
        let Ok(request) = Request::read(message.header.command, &message.avps) else {
            let answer = self.begin_answer(message);
            return answer.with_u32(AvpCode::RESULT_CODE, result::INVALID_AVP_VALUE).finish();
        };
        cx.crypto.enter(crate::PHASE);
        let made = self.source.vectors(&request, cx.crypto);
        let outcome = made.as_ref().map(Vec::len).map_err(|refusal| *refusal);
        self.out.push_back(Output::Event(Event::Answered { imsi: request.imsi.clone(), outcome }));
        let answer = self.begin_answer(message);
        match made {
            Ok(vectors) => {
                let vectors: Vec<_> = vectors.into_iter().map(|v| served(v, &request.wanted, cx)).collect();
                let answer = answer.with_u32(AvpCode::RESULT_CODE, result::SUCCESS);
                write_vectors(&request, &vectors, answer).finish()
            }
            // TS 29.272 §7.4.3: 3GPP's results are experimental, with 3GPP as the vendor.
            Err(refusal @ (Refusal::UserUnknown | Refusal::Unavailable)) => answer
                .with_group(AvpCode::EXPERIMENTAL_RESULT, |group| {
                    let group = group.with_u32(AvpCode::VENDOR_ID, VENDOR_3GPP);
                    group.with_u32(AvpCode::EXPERIMENTAL_RESULT_CODE, refusal.code())
                })
                .finish(),
            Err(refusal) => answer.with_u32(AvpCode::RESULT_CODE, refusal.code()).finish(),
        }
    }

    fn begin_answer(&self, message: &Message<'_>) -> crate::wire::Builder {
        let session = message.avps.get(AvpCode::SESSION_ID).unwrap_or_default();
        let answer = crate::wire::Builder::new(message.header.answer()).with(AvpCode::SESSION_ID, session);
        let answer = say::with_application(answer, message.header.application);
        answer
            // RFC 6733 §8.11: no state is kept for the session.
            .with_u32(AvpCode::AUTH_SESSION_STATE, 1)
            .with(AvpCode::ORIGIN_HOST, self.config.name.host.as_bytes())
            .with(AvpCode::ORIGIN_REALM, self.config.name.realm.as_bytes())
    }

    fn send(&mut self, to: Socket, bytes: Vec<u8>, again: bool, cx: &mut Ctx<'_>) {
        let datagram = say::send(self.config.local, to, bytes, again, cx);
        self.out.push_back(Output::Datagram(datagram));
    }
}

/// A vector in the form that leaves the HSS: for S6a with KASME instead of CK and IK.
fn served(vector: Vector, wanted: &Wanted, cx: &mut Ctx<'_>) -> Vector {
    match (vector, wanted) {
        (Vector::Umts { rand, autn, xres, ck, ik }, Wanted::Eps(plmn)) => {
            let kasme = kasme(&ck, &ik, *plmn, &autn, cx.crypto);
            Vector::Eps { rand, autn, xres, kasme }
        }
        (vector, _) => vector,
    }
}

/// TS 33.401 §A.2: HMAC-SHA-256 over FC = 0x10, the serving network and SQN ⊕ AK, each with its length.
pub fn kasme(ck: &[u8], ik: &[u8], plmn: [u8; 3], autn: &[u8; 16], crypto: &mut dyn Crypto) -> Secret {
    let key = Secret::new([ck, ik].concat());
    let parts = [&[0x10][..], &plmn, &[0, 3], &autn[..6], &[0, 6]];
    Secret::from(&crypto.prf(Prf::HmacSha256, &key, &parts)[..])
}

impl<S: VectorSource> Engine for Server<S> {
    type Command = ();
    type Event = Event;

    fn handle(&mut self, input: Input<'_, ()>, cx: &mut Ctx<'_>) {
        self.answers.expire(cx.now);
        match input {
            Input::Datagram { from: Addr::Tcp(from), bytes, .. } => self.on_packet(from, bytes, cx),
            Input::Secured { peer: Addr::Tcp(peer), names, .. } => {
                self.proved.insert(peer, names.to_vec());
            }
            Input::Lost { peer: Addr::Tcp(peer), .. } => {
                self.forget(peer);
                self.proved.remove(&peer);
            }
            Input::Datagram { .. } | Input::Secured { .. } | Input::Lost { .. } => {
                cx.discard(DIAMETER, "not over TCP");
            }
            // Expired answers were dropped above; there are no commands and no half-processed state.
            Input::Tick | Input::Command(()) | Input::Inner(_) | Input::Recover => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.answers.expiry().map(|at| Deadline { at, why: "Diameter answer expires" })
    }
}
