//! Client and server: answers, refusals, losses, disconnects, and invalid messages.

use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_net::{Addr, Socket};
use proptest::prelude::*;

use crate::names::DIAMETER;
use crate::number::{AvpCode, application, command, result};
use crate::server::{VectorSource, kasme};
use crate::wire::Builder;
use crate::wire::message::{Header, Message, REQUEST, RETRANSMITTED};
use crate::{Client, Name, Refusal, Request, Server, Vector, Wanted, client, server};

/// Numbers its vectors, so that their order is visible.
#[derive(Default)]
struct Source {
    made: u8,
    resynchronised: Option<[u8; 30]>,
}

impl VectorSource for Source {
    fn vectors(&mut self, request: &Request, _: &mut dyn Crypto) -> Result<Vec<Vector>, Refusal> {
        match request.imsi.as_str() {
            "1" => return Err(Refusal::UserUnknown),
            "2" => return Err(Refusal::Unavailable),
            "3" => return Err(Refusal::UnableToComply),
            _ => self.resynchronised = request.resynchronisation,
        }
        Ok((0..request.count).map(|_| self.next(&request.wanted)).collect())
    }
}

fn secret(byte: u8, len: usize) -> Secret {
    Secret::new(vec![byte; len])
}

impl Source {
    fn next(&mut self, wanted: &Wanted) -> Vector {
        self.made += 1;
        let n = self.made;
        match wanted {
            Wanted::Sim => Vector::Gsm { rand: [n; 16], sres: secret(n, 4), kc: secret(n, 8) },
            _ => Vector::Umts {
                rand: [n; 16],
                autn: [n; 16],
                xres: secret(n, 8),
                ck: secret(n, 16),
                ik: secret(n, 16),
            },
        }
    }
}

struct Lab {
    client: Client,
    server: Server<Source>,
    crypto: Real,
    facts: Vec<Fact>,
    now: Time,
    events: Vec<client::Event>,
    /// Which datagrams are lost, counted from the first.
    lose: std::ops::Range<usize>,
    /// The server does not hear questions about this subscriber.
    unheard: Option<&'static str>,
    carried: Vec<Vec<u8>>,
    /// Streams that an end asked to close, each from its own address to the peer's.
    closed: Vec<(Socket, Socket)>,
}

fn addr(last: u8) -> Socket {
    Socket::new([10, 0, 0, last].into(), 3868)
}

fn name(host: &str) -> Name {
    Name { host: format!("{host}.example.org"), realm: "example.org".into() }
}

impl Lab {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut client::Config)) -> Self {
        let mut config = client::Config::new(addr(1), addr(2), name("aaa"), "example.org".into());
        change(&mut config);
        Self {
            client: Client::new(config, &mut Rng::named(1, "aaa/diameter")),
            server: Server::new(server::Config::new(addr(2), name("hss")), Source::default()),
            crypto: Real::default(),
            facts: Vec::new(),
            now: Time::ZERO,
            events: Vec::new(),
            lose: 0..0,
            unheard: None,
            carried: Vec::new(),
            closed: Vec::new(),
        }
    }

    fn command(&mut self, command: client::Command) {
        self.client(Input::Command(command));
        self.settle();
    }

    fn ask(&mut self, id: u64, imsi: &str, wanted: Wanted, count: u32) {
        let request = Request { imsi: imsi.into(), wanted, count, resynchronisation: None };
        self.command(client::Command::Ask { id, request });
    }

    fn client(&mut self, input: Input<'_, client::Command>) {
        let mut cx = Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut self.facts };
        self.client.handle(input, &mut cx);
    }

    fn server(&mut self, from: Socket, bytes: &[u8]) {
        let mut cx = Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut self.facts };
        self.server.handle(Input::Datagram { from: Addr::Tcp(from), to: Addr::Tcp(addr(2)), bytes }, &mut cx);
    }

    /// Delivers until there is nothing to send.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            while let Some(output) = self.client.poll() {
                moved = true;
                match output.event() {
                    Ok(event) => self.events.push(event),
                    Err(output) => self.outside(output),
                }
            }
            while let Some(output) = self.server.poll() {
                moved = true;
                if let Err(output) = output.event() {
                    self.outside(output);
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn outside(&mut self, output: Output<()>) {
        match output {
            Output::Datagram(datagram) => self.carry(&datagram),
            Output::Close { local, peer } => {
                self.closed.push((local.socket().unwrap(), peer.socket().unwrap()));
            }
            other => panic!("{other:?}"),
        }
    }

    /// The streams to close since the last call.
    fn closed(&mut self) -> Vec<(Socket, Socket)> {
        self.settle();
        std::mem::take(&mut self.closed)
    }

    fn carry(&mut self, datagram: &Datagram) {
        let number = self.carried.len();
        self.carried.push(datagram.bytes.clone());
        if self.lose.contains(&number) || self.is_unheard(&datagram.bytes) {
            return;
        }
        if datagram.to == Addr::Tcp(addr(2)) {
            self.server(datagram.from.socket().unwrap(), &datagram.bytes);
        } else {
            self.client(Input::Datagram { from: datagram.from, to: datagram.to, bytes: &datagram.bytes });
        }
    }

    fn is_unheard(&self, bytes: &[u8]) -> bool {
        let message = Message::read(bytes).unwrap();
        let subscriber = message.avps.get(AvpCode::USER_NAME);
        message.header.is_request() && subscriber.is_some() && subscriber == self.unheard.map(str::as_bytes)
    }

    /// Advances to the client's deadline.
    fn tick(&mut self) {
        self.now = self.client.deadline().unwrap().at;
        self.client(Input::Tick);
        self.settle();
    }

    /// Breaks the stream between the two.
    fn cut(&mut self) {
        let mut cx = Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut self.facts };
        self.client.handle(Input::Lost { peer: Addr::Tcp(addr(2)), local: Addr::Tcp(addr(1)) }, &mut cx);
        self.server.handle(Input::Lost { peer: Addr::Tcp(addr(1)), local: Addr::Tcp(addr(2)) }, &mut cx);
        self.settle();
    }

    fn commands(&self) -> Vec<u32> {
        self.carried.iter().map(|bytes| Message::read(bytes).unwrap().header.command).collect()
    }

    fn answer(&mut self) -> Result<Vec<Vector>, Refusal> {
        match self.events.remove(0) {
            client::Event::Answered { vectors, .. } => vectors,
            other => panic!("{other:?}"),
        }
    }

    fn discards(&self) -> Vec<&str> {
        let why = |fact: &'_ Fact| matches!(fact, Fact::Discarded { protocol: DIAMETER, .. });
        let found = self.facts.iter().filter(|fact| why(fact));
        found.map(|fact| if let Fact::Discarded { why, .. } = fact { &**why } else { "" }).collect()
    }
}

const PLMN: [u8; 3] = [0x00, 0xf1, 0x10];

fn every() -> [Wanted; 4] {
    [Wanted::Sim, Wanted::Aka, Wanted::AkaPrime(b"WLAN".to_vec()), Wanted::Eps(PLMN)]
}

#[test]
fn every_kind_of_vector_comes_in_order() {
    for wanted in every() {
        let mut lab = Lab::new();
        lab.ask(7, "001010000000001", wanted.clone(), 3);
        let vectors = lab.answer().unwrap();
        let rands = vectors.iter().map(|vector| match vector {
            Vector::Gsm { rand, .. } | Vector::Umts { rand, .. } | Vector::Eps { rand, .. } => rand[0],
        });
        assert_eq!(rands.collect::<Vec<_>>(), [1, 2, 3]);
        let mut source = Source::default();
        match &vectors[0] {
            Vector::Eps { kasme: key, .. } => {
                let expected = kasme(&[1; 16], &[1; 16], PLMN, &[1; 16], &mut Real::default());
                assert_eq!(*key, expected);
            }
            vector => assert_eq!(*vector, source.next(&wanted)),
        }
        assert_eq!(lab.carried.len(), 4, "CER, CEA, request, answer");
        lab.ask(8, "001010000000001", wanted, 1);
        assert!(lab.answer().is_ok());
        assert_eq!(lab.carried.len(), 6, "the connection stays");
    }
}

/// TS 29.273 §8.1.2.1.1; Wireshark 4.0.17 dissects every message of this conversation without a complaint.
#[test]
fn a_multimedia_auth_answer_has_user_name_and_number_of_vectors() {
    let mut lab = Lab::new();
    lab.ask(7, "001010000000001", Wanted::Sim, 3);
    let answer = Message::read(&lab.carried[3]).unwrap();
    assert_eq!(answer.avps.text(AvpCode::USER_NAME), Ok("001010000000001"));
    assert_eq!(answer.avps.u32(AvpCode::SIP_NUMBER_AUTH_ITEMS), Ok(Some(3)));
}

#[test]
fn resynchronisation_information_arrives() {
    for wanted in [Wanted::Aka, Wanted::AkaPrime(b"WLAN".to_vec()), Wanted::Eps(PLMN)] {
        let mut lab = Lab::new();
        let request = Request { imsi: "5".into(), wanted, count: 1, resynchronisation: Some([6; 30]) };
        lab.command(client::Command::Ask { id: 1, request });
        assert!(lab.answer().is_ok());
        assert_eq!(lab.server.source_mut().resynchronised, Some([6; 30]));
    }
}

#[test]
fn kasme_is_what_python_computes() {
    // Set 1 of TS 35.208 in the network 001/01, computed with Python's hmac.
    let ck = 0xb40b_a9a3_c58b_2a05_bbf0_d987_b21b_f8cb_u128.to_be_bytes();
    let ik = 0xf769_bcd7_5104_4604_1276_7271_1c6d_3441_u128.to_be_bytes();
    let autn = 0x55f3_28b4_3577_b9b9_4a9f_fac3_54df_afb3_u128.to_be_bytes();
    let key = kasme(&ck, &ik, PLMN, &autn, &mut Real::default());
    let expected = [
        0x4857_9af8_781c_742d_5120_e6ed_8cca_c131_u128.to_be_bytes(),
        0x93f3_8c53_ab7a_a693_96f4_9ca6_e1b0_562d_u128.to_be_bytes(),
    ];
    assert_eq!(key[..], expected.concat());
}

#[test]
fn refusals_keep_their_names() {
    let mut lab = Lab::new();
    for wanted in every() {
        let expected = [Refusal::UserUnknown, Refusal::Unavailable, Refusal::UnableToComply];
        for (imsi, refusal) in ["1", "2", "3"].iter().zip(expected) {
            lab.ask(1, imsi, wanted.clone(), 1);
            assert_eq!(lab.answer(), Err(refusal));
        }
    }
}

#[test]
fn a_lost_message_is_retransmitted_and_answered_once() {
    // CER, CEA, request, answer.
    for lost in 0..4 {
        let mut lab = Lab::new();
        lab.lose = lost..lost + 1;
        lab.ask(1, "5", Wanted::Aka, 1);
        assert!(lab.events.is_empty());
        lab.tick();
        assert!(lab.answer().is_ok(), "datagram {lost}");
        assert_eq!(lab.server.source_mut().made, 1, "no vector is made twice");
        let marked = lab.carried.iter().filter(|bytes| bytes[4] & RETRANSMITTED != 0).count();
        assert_eq!(marked, 1, "one repeated request, its T flag set");
    }
}

#[test]
fn a_database_that_is_down_fails_everything_after_three_attempts_and_leaves_nothing() {
    let mut lab = Lab::new();
    lab.lose = 0..usize::MAX;
    lab.ask(1, "5", Wanted::Aka, 1);
    lab.ask(2, "5", Wanted::Sim, 1);
    (0..3).for_each(|_| lab.tick());
    assert_eq!(lab.carried.len(), 3);
    assert_eq!(lab.now, Time::ZERO + Duration::from_secs(6));
    assert_eq!(lab.answer(), Err(Refusal::NoAnswer));
    assert_eq!(lab.answer(), Err(Refusal::NoAnswer));
    assert_eq!(lab.events, [client::Event::Down]);
    assert_eq!((lab.client.outstanding(), lab.client.deadline()), (0, None));
    lab.lose = 0..0;
    lab.events.clear();
    lab.ask(3, "5", Wanted::Aka, 1);
    assert!(lab.answer().is_ok(), "it connects anew");
}

#[test]
fn a_quiet_connection_is_watched() {
    let mut lab = Lab::new();
    lab.ask(1, "5", Wanted::Aka, 1);
    lab.tick();
    assert_eq!(lab.now, Time::ZERO + Duration::from_secs(30));
    let [.., dwr, dwa] = &lab.carried[..] else { panic!("no watchdog") };
    assert_eq!(Message::read(dwr).unwrap().header.command, command::DEVICE_WATCHDOG);
    assert!(!Message::read(dwa).unwrap().header.is_request());
    lab.events.clear();
    lab.lose = 0..usize::MAX;
    (0..4).for_each(|_| lab.tick());
    assert_eq!(lab.events, [client::Event::Down]);
}

/// Everybody else's questions are answered: those asked before, those asked meanwhile, and those asked later on the same stream.
#[test]
fn a_question_without_an_answer_fails_alone() {
    let mut lab = Lab::new();
    lab.ask(1, "5", Wanted::Aka, 1);
    assert!(lab.answer().is_ok());
    lab.unheard = Some("6");
    lab.ask(2, "6", Wanted::Aka, 1);
    lab.tick();
    // The first attempt of this one is lost: it still waits when the other one is over.
    lab.lose = lab.carried.len()..lab.carried.len() + 1;
    lab.now += Duration::from_secs(1);
    lab.ask(3, "5", Wanted::Aka, 1);
    (0..4).for_each(|_| lab.tick());
    let answered = |event: &client::Event| match event {
        client::Event::Answered { id, vectors } => (*id, vectors.clone().map(|vectors| vectors.len())),
        other => panic!("{other:?}"),
    };
    let answers: Vec<_> = lab.events.iter().map(answered).collect();
    assert_eq!(answers, [(3, Ok(1)), (2, Err(Refusal::NoAnswer))]);
    lab.events.clear();
    lab.ask(4, "5", Wanted::Aka, 1);
    assert!(lab.answer().is_ok());
    let connects =
        lab.commands().iter().filter(|command| **command == command::CAPABILITIES_EXCHANGE).count();
    assert_eq!((connects, lab.client.outstanding()), (2, 0), "CER and CEA, once");
}

/// A server of which nothing at all is heard is asked whether it is there, before its watchdog would be due.
#[test]
fn a_question_without_an_answer_asks_for_the_server() {
    for watchdog in [None, Some(Duration::from_secs(30))] {
        let mut lab = Lab::with(|config| config.watchdog = watchdog);
        lab.ask(1, "5", Wanted::Aka, 1);
        assert!(lab.answer().is_ok());
        lab.now += Duration::from_secs(1);
        lab.unheard = Some("6");
        lab.ask(2, "6", Wanted::Aka, 1);
        (0..3).for_each(|_| lab.tick());
        assert_eq!(lab.answer(), Err(Refusal::NoAnswer));
        assert_eq!(lab.now, Time::ZERO + Duration::from_secs(7));
        let asked = lab.commands().into_iter().filter(|command| *command == command::DEVICE_WATCHDOG);
        assert_eq!((asked.count(), lab.events.len()), (2, 0), "it is there");
        lab.lose = 0..usize::MAX;
        lab.ask(3, "5", Wanted::Aka, 1);
        (0..3).for_each(|_| lab.tick());
        assert_eq!(lab.answer(), Err(Refusal::NoAnswer));
        (0..3).for_each(|_| lab.tick());
        assert_eq!(lab.events, [client::Event::Down]);
        assert_eq!((lab.now, lab.client.deadline()), (Time::ZERO + Duration::from_secs(19), None));
    }
}

/// Questions do not put the watchdog off: answers do.
#[test]
fn a_server_that_leaves_every_question_unanswered_is_watched() {
    let mut lab = Lab::with(|config| config.answer_within = Duration::from_secs(40));
    lab.ask(1, "5", Wanted::Aka, 1);
    assert!(lab.answer().is_ok());
    lab.unheard = Some("6");
    lab.now += Duration::from_secs(1);
    lab.ask(2, "6", Wanted::Aka, 1);
    lab.tick();
    assert_eq!(lab.now, Time::ZERO + Duration::from_secs(30));
    assert_eq!(lab.commands().last(), Some(&command::DEVICE_WATCHDOG));
}

#[test]
fn a_request_survives_its_stream_and_gets_the_answer_it_missed() {
    let mut lab = Lab::new();
    lab.lose = 3..4;
    lab.ask(1, "5", Wanted::Aka, 1);
    lab.cut();
    assert_eq!(lab.events, [client::Event::Down]);
    lab.events.clear();
    lab.ask(2, "5", Wanted::Sim, 1);
    lab.tick();
    assert_eq!(lab.now, Time::ZERO + Duration::from_millis(100));
    assert!(lab.answer().is_ok() && lab.answer().is_ok());
    assert_eq!(lab.server.source_mut().made, 2, "the answer that was lost is repeated, not made again");
    let (first, again) = (Message::read(&lab.carried[2]).unwrap(), Message::read(&lab.carried[6]).unwrap());
    assert_eq!(first.header.end_to_end, again.header.end_to_end);
    assert_ne!(first.header.hop_by_hop, again.header.hop_by_hop);
    assert_eq!(again.header.flags & RETRANSMITTED, RETRANSMITTED);
    let exchange = [command::CAPABILITIES_EXCHANGE; 2];
    assert_eq!(lab.commands()[4..6], exchange, "capabilities come first on every connection");
}

#[test]
fn reconnects_become_rarer_and_questions_do_not_wait() {
    let mut lab = Lab::new();
    lab.command(client::Command::Connect);
    lab.ask(1, "5", Wanted::Aka, 1);
    lab.events.clear();
    lab.lose = 0..usize::MAX;
    lab.cut();
    lab.ask(2, "5", Wanted::Aka, 1);
    let mut attempts = Vec::new();
    while attempts.len() < 12 {
        let before = lab.carried.len();
        lab.tick();
        if lab.carried.len() > before {
            attempts.push(lab.now.since(Time::ZERO).as_millis());
            lab.cut();
        }
        if let [.., client::Event::Answered { vectors, .. }] = &lab.events[..] {
            assert_eq!(*vectors, Err(Refusal::NoAnswer));
            assert_eq!(lab.now, Time::ZERO + Duration::from_secs(6), "as long as for a silent server");
            lab.events.clear();
        }
    }
    let expected = [100, 300, 700, 1500, 3100, 6300, 12_700, 25_500, 51_100, 81_100, 111_100, 141_100];
    assert_eq!(attempts, expected);
    assert!(lab.events.is_empty(), "{:?}", lab.events);
    lab.lose = 0..0;
    lab.tick();
    lab.ask(3, "5", Wanted::Aka, 1);
    assert!(lab.answer().is_ok());
    assert_eq!(lab.client.outstanding(), 0);
}

#[test]
fn a_disconnect_whose_answer_is_lost_with_the_stream_is_complete() {
    let mut lab = Lab::new();
    lab.command(client::Command::Connect);
    lab.lose = 3..4;
    lab.command(client::Command::Disconnect);
    lab.cut();
    assert_eq!((lab.client.deadline(), lab.client.outstanding()), (None, 0));
    lab.cut();
    assert_eq!(lab.client.deadline(), None, "what is closed is not missed");
}

#[test]
fn a_question_from_before_the_disconnect_is_answered_on_the_next_stream() {
    let mut lab = Lab::new();
    lab.command(client::Command::Connect);
    lab.lose = 2..4;
    lab.ask(1, "5", Wanted::Aka, 1);
    lab.command(client::Command::Disconnect);
    lab.cut();
    assert!(lab.answer().is_ok());
    assert_eq!(lab.client.outstanding(), 0);
}

#[test]
fn disconnect_closes_and_the_next_request_reconnects() {
    let mut lab = Lab::new();
    lab.ask(1, "5", Wanted::Aka, 1);
    lab.command(client::Command::Disconnect);
    assert_eq!((lab.carried.len(), lab.client.deadline()), (6, None));
    lab.ask(2, "5", Wanted::Aka, 1);
    assert_eq!(lab.carried.len(), 10);
}

#[test]
fn too_many_requests_at_once_are_refused() {
    let mut lab = Lab::with(|config| config.outstanding_max = 2);
    lab.lose = 0..usize::MAX;
    lab.ask(1, "5", Wanted::Aka, 1);
    lab.ask(2, "5", Wanted::Aka, 1);
    assert_eq!(lab.answer(), Err(Refusal::TooMany));
}

#[test]
fn a_peer_that_is_not_admitted_is_refused() {
    let mut lab = Lab::new();
    let admitted = Some([addr(7).ip].into());
    let config = server::Config { admitted, ..server::Config::new(addr(2), name("hss")) };
    lab.server = Server::new(config, Source::default());
    lab.ask(1, "5", Wanted::Aka, 1);
    assert_eq!(lab.answer(), Err(Refusal::NoAnswer), "the client is told at once");
    let answer = Message::read(&lab.carried[1]).unwrap();
    assert_eq!(crate::result_of(&answer.avps), Some(result::UNKNOWN_PEER));
    assert_eq!(lab.discards(), ["Diameter peer not admitted"]);
    assert_eq!(lab.closed(), [(addr(2), addr(1))], "and hung up on");
    let request = Builder::new(header(REQUEST, command::MULTIMEDIA_AUTH, application::SWX)).finish();
    lab.server(addr(1), &request);
    assert_eq!(
        lab.server.poll(),
        Some(Output::Close { local: Addr::Tcp(addr(2)), peer: Addr::Tcp(addr(1)) }),
        "and no answer"
    );
}

/// A server that knows these peers by their capabilities; its answers are decoded.
fn server_of(peers: &[(Socket, &str)]) -> Lab {
    let mut lab = Lab::new();
    for (peer, host) in peers {
        let header = header(REQUEST, command::CAPABILITIES_EXCHANGE, application::BASE);
        lab.server(*peer, &Builder::new(header).with(AvpCode::ORIGIN_HOST, host.as_bytes()).finish());
        said(&mut lab);
    }
    lab
}

fn said(lab: &mut Lab) -> Vec<u8> {
    let mut said = Vec::new();
    while let Some(output) = lab.server.poll() {
        if let Output::Datagram(datagram) = output {
            said = datagram.bytes;
        }
    }
    said
}

/// A question for one vector.
fn question(session: &str, end_to_end: u32, imsi: &str) -> Vec<u8> {
    let request = Request { imsi: imsi.into(), wanted: Wanted::Aka, count: 1, resynchronisation: None };
    let (command, application) = request.carrier();
    let header = Header { flags: REQUEST, command, application, hop_by_hop: 1, end_to_end };
    let message = Builder::new(header).with(AvpCode::SESSION_ID, session.as_bytes());
    request.write(message.with(AvpCode::ORIGIN_HOST, b"aaa.example.org")).finish()
}

#[test]
fn an_answer_is_repeated_to_its_requester_only_and_not_for_long() {
    let (aaa, port_after, stranger) = (addr(1), addr(1).at_port(40_000), addr(9));
    let mut lab = server_of(&[
        (aaa, "aaa.example.org"),
        (port_after, "aaa.example.org"),
        (stranger, "aaa.example.org"),
        (addr(1).at_port(40_001), "other.example.org"),
    ]);
    let ask = |lab: &mut Lab, from: Socket, question: &[u8]| {
        lab.server(from, question);
        (said(lab), lab.server.source_mut().made)
    };
    let asked = question("session", 7, "5");
    let (first, _) = ask(&mut lab, aaa, &asked);
    assert_eq!(ask(&mut lab, aaa, &asked), (first.clone(), 1), "said again");
    assert_eq!(ask(&mut lab, port_after, &asked), (first.clone(), 1), "said again on the next stream");
    // The same two numbers, from another peer or in another request.
    let mut made = 1;
    for (from, question) in [
        (stranger, asked.clone()),
        (addr(1).at_port(40_001), asked.clone()),
        (aaa, question("another session", 7, "5")),
        (aaa, question("session", 7, "6")),
        (aaa, question("session", 8, "5")),
    ] {
        made += 1;
        let (answer, now_made) = ask(&mut lab, from, &question);
        assert_eq!(now_made, made, "a vector of its own for {from}");
        assert_ne!(answer, first);
    }
    let expiry = lab.server.deadline().expect("answers are kept for a while").at;
    assert_eq!(expiry, Time::ZERO + server::Config::new(aaa, name("hss")).answers_for);
    lab.now = expiry;
    lab.server.handle(Input::Tick, &mut Ctx { now: expiry, crypto: &mut lab.crypto, trace: &mut lab.facts });
    assert_eq!(lab.server.deadline(), None, "nothing is kept");
    assert_eq!(ask(&mut lab, aaa, &asked).1, made + 1, "it is forgotten");
}

#[test]
fn an_expired_answer_is_not_repeated_even_without_a_tick() {
    let mut lab = server_of(&[(addr(1), "aaa.example.org")]);
    let asked = question("session", 7, "5");
    lab.server(addr(1), &asked);
    lab.now = Time::ZERO + Duration::from_secs(60);
    lab.server(addr(1), &asked);
    assert_eq!(lab.server.source_mut().made, 2);
}

#[test]
fn no_address_takes_the_answers_of_another() {
    let mut lab = server_of(&[(addr(1), "aaa.example.org"), (addr(9), "greedy.example.org")]);
    let asked = question("session", 7, "5");
    lab.server(addr(1), &asked);
    let first = said(&mut lab);
    let greedy = 3 * server::Config::new(addr(2), name("hss")).answers_max as u32;
    (0..greedy).for_each(|number| lab.server(addr(9), &question("greedy", number, "1")));
    said(&mut lab);
    lab.server(addr(1), &asked);
    assert_eq!(said(&mut lab), first);
}

#[test]
fn the_connection_of_a_peer_that_sends_garbage_is_closed() {
    let unknown = Builder::new(header(REQUEST, command::DEVICE_WATCHDOG, application::BASE)).finish();
    let answer = Builder::new(header(0, command::MULTIMEDIA_AUTH, application::SWX)).finish();
    for bytes in [&b"nonsense"[..], &answer] {
        let mut lab = server_of(&[(addr(1), "aaa.example.org")]);
        assert_eq!(lab.closed(), []);
        lab.server(addr(1), bytes);
        assert_eq!(lab.closed(), [(addr(2), addr(1))]);
        lab.server(addr(1), &unknown);
        assert_eq!(lab.closed(), [(addr(2), addr(1))], "its capabilities are forgotten");
    }
    let mut lab = Lab::new();
    lab.server(addr(1), &unknown);
    assert_eq!(
        lab.server.poll(),
        Some(Output::Close { local: Addr::Tcp(addr(2)), peer: Addr::Tcp(addr(1)) }),
        "and no answer"
    );
}

#[test]
fn the_connection_of_the_oldest_of_too_many_peers_is_closed() {
    let mut lab = Lab::new();
    lab.server = Server::new(
        server::Config { peers_max: 2, ..server::Config::new(addr(2), name("hss")) },
        Source::default(),
    );
    for last in 3..6 {
        let header = header(REQUEST, command::CAPABILITIES_EXCHANGE, application::BASE);
        lab.server(addr(last), &Builder::new(header).with(AvpCode::ORIGIN_HOST, b"aaa").finish());
    }
    assert_eq!(lab.closed(), [(addr(2), addr(3))]);
}

fn header(flags: u8, command: u32, application: u32) -> Header {
    Header { flags, command, application, hop_by_hop: 1, end_to_end: 1 }
}

#[test]
fn unexpected_messages_are_discarded_with_a_reason() {
    let mut lab = Lab::new();
    let answer = Builder::new(header(0, command::MULTIMEDIA_AUTH, application::SWX)).finish();
    lab.server(addr(1), &answer);
    lab.server(addr(1), b"nonsense");
    let request = Builder::new(header(REQUEST, command::MULTIMEDIA_AUTH, application::SWX)).finish();
    lab.server(addr(1), &request);
    lab.client(Input::Datagram { from: Addr::Tcp(addr(9)), to: Addr::Tcp(addr(1)), bytes: &answer });
    lab.client(Input::Datagram { from: Addr::Tcp(addr(2)), to: Addr::Tcp(addr(1)), bytes: &answer });
    lab.client(Input::Datagram { from: Addr::Tcp(addr(2)), to: Addr::Tcp(addr(1)), bytes: &request });
    let expected = [
        "Diameter answer without a request",
        "Diameter malformed message",
        "Diameter request from an unknown peer",
        "Diameter message from a stranger",
        "Diameter answer without a request",
        "Diameter request at the client",
    ];
    assert_eq!(lab.discards(), expected);
}

#[test]
fn requests_the_server_cannot_serve_get_a_result_code() {
    let mut lab = Lab::new();
    lab.ask(1, "5", Wanted::Aka, 1);
    let cases = [
        (command::MULTIMEDIA_AUTH, application::S6A, result::APPLICATION_UNSUPPORTED),
        (999, application::SWX, result::COMMAND_UNSUPPORTED),
        (command::MULTIMEDIA_AUTH, application::SWX, result::INVALID_AVP_VALUE),
    ];
    for (number, (command, application, code)) in (1..).zip(cases) {
        let header = Header { end_to_end: number, ..header(REQUEST, command, application) };
        lab.server(addr(1), &Builder::new(header).finish());
        let Some(Output::Datagram(answer)) = lab.server.poll() else { panic!("no answer") };
        let answer = Message::read(&answer.bytes).unwrap();
        assert_eq!(crate::say::result_of(&answer.avps), Some(code));
    }
}

#[test]
fn no_key_is_in_a_debug_text() {
    let mut lab = Lab::new();
    lab.ask(1, "5", Wanted::Aka, 1);
    let text = format!("{:?} {:?} {:?} {:?}", lab.events, lab.client, lab.server, lab.facts);
    assert!(text.contains("ck: Secret(16 bytes)"), "{text}");
}

/// Both ends on a secured stream, on which the client has proved the first names and the server the others.
fn secured(of_client: &[&str], of_server: &[&str]) -> Lab {
    let mut lab = Lab::with(|config| config.secured = true);
    let config = server::Config { secured: true, ..server::Config::new(addr(2), name("hss")) };
    lab.server = Server::new(config, Source::default());
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut cx = Ctx { now: lab.now, crypto: &mut lab.crypto, trace: &mut lab.facts };
    lab.client.handle(
        Input::Secured { peer: Addr::Tcp(addr(2)), local: Addr::Tcp(addr(1)), names: &owned(of_server) },
        &mut cx,
    );
    lab.server.handle(
        Input::Secured { peer: Addr::Tcp(addr(1)), local: Addr::Tcp(addr(2)), names: &owned(of_client) },
        &mut cx,
    );
    lab.ask(1, "5", Wanted::Aka, 1);
    lab
}

#[test]
fn a_secured_peer_is_accepted_under_proved_names_only() {
    let (aaa, hss) = ("aaa.example.org", "hss.example.org");
    let mut lab = secured(&["other.example.org", "AAA.example.ORG"], &[hss]);
    assert!(lab.answer().is_ok());
    assert_eq!(lab.closed(), []);
    // RFC 6733 §5.3: DIAMETER_UNKNOWN_PEER, and no vectors.
    for of_client in [&["other.example.org"][..], &[], &["aaa.example.org.evil"]] {
        let mut lab = secured(of_client, &[hss]);
        assert!(
            !lab.events.iter().any(|event| matches!(event, client::Event::Answered { vectors: Ok(_), .. }))
        );
        assert_eq!(lab.closed(), [(addr(2), addr(1))]);
        let answer = Message::read(&lab.carried[1]).unwrap();
        assert_eq!(answer.avps.u32(AvpCode::RESULT_CODE), Ok(Some(result::UNKNOWN_PEER)));
    }
    let mut lab = secured(&[aaa], &["other.example.org"]);
    assert_eq!(lab.commands().len(), 2, "a CER and a CEA");
    assert_eq!(lab.closed(), [(addr(1), addr(2))]);
    assert!(lab.answer().is_err());
}

#[test]
fn proved_names_end_with_the_stream() {
    let mut lab = secured(&["aaa.example.org"], &["hss.example.org"]);
    assert!(lab.answer().is_ok());
    lab.cut();
    lab.tick();
    assert!(!lab.events.iter().any(|event| matches!(event, client::Event::Answered { .. })));
    assert!(lab.closed().contains(&(addr(2), addr(1))));
}

proptest! {
    #[test]
    fn changed_bytes_never_panic_either_side(at in 0..400_usize, to: u8, which in 0..4_usize) {
        for wanted in every() {
            let mut lab = Lab::new();
            lab.ask(1, "5", wanted, 2);
            let mut bytes = lab.carried[which].clone();
            let at = at % bytes.len();
            bytes[at] = to;
            lab.server(addr(1), &bytes);
            lab.client(Input::Datagram { from: Addr::Tcp(addr(2)), to: Addr::Tcp(addr(1)), bytes: &bytes });
            lab.settle();
        }
    }
}
