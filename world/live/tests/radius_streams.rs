//! A RADIUS client over plain TCP, whose packets come in pieces, together, and with lengths that none has. RFC 6613 §2.6.4.

#![allow(
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "the other end is a plain socket; a helper that fails fails its test"
)]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Engine, Input, Output, Time};
use keytoll_live::{Driver, Sockets, Streaming};
use keytoll_net::{Addr, Host, Socket};
use keytoll_radius::RADIUS;
use keytoll_radius::client::{
    self, Authenticate, Client, Command, ConversationId, Credential, Event, Reason,
};
use keytoll_radius::server::{self, Server};
use keytoll_radius::wire::{Attributes, packet};

const LIMIT: Duration = Duration::from_secs(5);
const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Between two pieces, so that they arrive apart.
const PAUSE: Duration = Duration::from_millis(30);

fn secret() -> Secret {
    Secret::from(&b"radsec"[..])
}

/// A client with one connection to this server.
fn client(server: Socket) -> Driver<Client, Real> {
    let config = client::Config {
        local: LOCAL,
        ports: vec![1],
        server: client::Server { authentication: server, ..client::Server::new(LOCAL, secret()) },
        nas_identifier: "nas".into(),
        retransmission: client::Retransmission::default(),
    };
    let sockets = Sockets::bind(&[]).unwrap().streaming(Streaming::new(RADIUS, packet::length), &[]).unwrap();
    let client = Client::new(config, Rng::named(1, "nas")).over_streams(client::Streams::default());
    Driver::new(client, Real::default(), sockets)
}

fn ask(driver: &mut Driver<Client, Real>, number: u64, facts: &mut Vec<Fact>) {
    let request = Authenticate {
        conversation: ConversationId(number),
        peer: Host::Mac([2, 0, 0, 0, 0, number as u8]),
        user_name: b"nemo".to_vec(),
        credential: Credential::Password(Secret::from(&b"mellon"[..])),
        state: None,
        attributes: Attributes::new(),
    };
    driver.command(Command::Authenticate(request), facts);
}

/// The server's answers to so many requests that come in a stream.
fn answers(stream: &mut TcpStream, count: usize) -> Vec<Vec<u8>> {
    let clients = BTreeMap::from([(LOCAL, server::Client { secret: secret() })]);
    let mut server = Server::new(server::Config::new(clients), Rng::named(1, "aaa"));
    let mut answer = |_| {
        let mut start = [0; 4];
        stream.read_exact(&mut start).unwrap();
        let mut rest = vec![0; packet::length(start).unwrap() - 4];
        stream.read_exact(&mut rest).unwrap();
        accept(&mut server, &[&start[..], &rest].concat())
    };
    (0..count).map(&mut answer).collect()
}

/// The server, which knows datagrams only, lets everybody in.
fn accept(server: &mut Server, request: &[u8]) -> Vec<u8> {
    let (mut crypto, mut facts) = (Real::default(), Vec::new());
    let mut cx = Ctx { now: Time::ZERO, crypto: &mut crypto, trace: &mut facts };
    let (from, to) = (Addr::udp(LOCAL, 1), Addr::udp(LOCAL, 1812));
    server.handle(Input::Datagram { from, to, bytes: request }, &mut cx);
    while let Some(output) = server.poll() {
        match output {
            Output::Event(server::Event::Request(request)) => {
                let conversation = request.conversation;
                let attributes = Attributes::new();
                let accept = server::Command::Accept { conversation, eap: None, msk: None, attributes };
                server.handle(Input::Command(accept), &mut cx);
            }
            Output::Datagram(answer) => return answer.bytes,
            other => panic!("{other:?}"),
        }
    }
    panic!("no answer, but {facts:?}");
}

/// A server that answers requests, two of each connection, in its own way.
fn serve(connections: usize, say: fn(TcpStream, Vec<Vec<u8>>)) -> (Socket, JoinHandle<()>) {
    let listener = TcpListener::bind((LOCAL, 0)).unwrap();
    let address = listener.local_addr().unwrap().into();
    let serve = move || {
        for _ in 0..connections {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            let answers = answers(&mut stream, 2);
            say(stream, answers);
        }
    };
    (address, thread::spawn(serve))
}

fn next_two(driver: &mut Driver<Client, Real>, first: u64, facts: &mut Vec<Fact>) -> [Event; 2] {
    ask(driver, first, facts);
    ask(driver, first + 1, facts);
    [(); 2].map(|()| driver.next_event(LIMIT, facts).expect("an event in time"))
}

fn is_accepted(event: &Event, number: u64) -> bool {
    matches!(event, Event::Accept(accept) if accept.conversation == ConversationId(number))
}

/// Whether each of two requests has its answer, however the bytes of both come.
fn accepts(say: fn(TcpStream, Vec<Vec<u8>>)) {
    let (server, thread) = serve(1, say);
    let (mut driver, mut facts) = (client(server), Vec::new());
    let events = next_two(&mut driver, 1, &mut facts);
    assert!(is_accepted(&events[0], 1) && is_accepted(&events[1], 2), "{events:?} {facts:?}");
    thread.join().unwrap();
}

#[test]
fn answers_that_come_together_are_told_apart() {
    accepts(|mut stream, answers| stream.write_all(&answers.concat()).unwrap());
}

#[test]
fn answers_that_come_in_pieces_are_put_together() {
    accepts(|mut stream, answers| {
        let all = answers.concat();
        // Amid a Length, amid attributes, and with the end of one and the beginning of the next.
        let cuts = [0, 3, 25, answers[0].len() + 2, all.len()];
        for piece in cuts.windows(2) {
            stream.write_all(&all[piece[0]..piece[1]]).unwrap();
            #[expect(clippy::disallowed_methods, reason = "pieces are to arrive apart")]
            thread::sleep(PAUSE);
        }
    });
}

/// Both requests of a first connection fail by name, and those of the next one are answered.
fn ends_and_is_replaced(say: fn(TcpStream, Vec<Vec<u8>>), why: &str) {
    let (server, thread) = serve(2, say);
    let (mut driver, mut facts) = (client(server), Vec::new());
    let lost = |number| Event::Failed(ConversationId(number), Reason::Lost);
    assert_eq!(next_two(&mut driver, 1, &mut facts), [lost(1), lost(2)]);
    let is_told = |fact: &Fact| matches!(fact, Fact::Discarded { why: told, .. } if told.contains(why));
    assert!(facts.iter().any(is_told), "{facts:?}");
    assert_eq!(next_two(&mut driver, 3, &mut facts), [lost(3), lost(4)], "of another connection");
    thread.join().unwrap();
}

#[test]
fn a_length_of_nothing_ends_the_connection() {
    ends_and_is_replaced(
        |mut stream, _| stream.write_all(&[2, 0, 0, 0]).unwrap(),
        "length at offset 2: length 0 does not fit",
    );
}

#[test]
fn a_length_beyond_4096_ends_the_connection() {
    ends_and_is_replaced(
        |mut stream, answers| stream.write_all(&[&[2, 0, 0x10, 0x01], &answers[0][4..]].concat()).unwrap(),
        "length at offset 2: length 4097 does not fit",
    );
}
