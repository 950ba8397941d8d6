//! A toy engine on loopback TCP: messages however the stream cuts them, calls, hang-ups, nonsense and limits.

#![allow(
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "the tests' other ends are plain sockets; a helper that fails fails its test"
)]

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use keytoll_crypto::Null;
use keytoll_diameter::DIAMETER;
use keytoll_engine::trace::{Fact, NoTrace};
use keytoll_engine::{Ctx, Datagram, Deadline, Engine, Input, Output};
use keytoll_live::{Driver, Sockets, Streaming};
use keytoll_net::Addr;
use keytoll_net::wire::{DecodeError, Problem, Reader};

const LIMIT: Duration = Duration::from_secs(5);
const LENGTH_MAX: usize = 100_000;
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Messages are four bytes of length and the rest.
fn length(start: [u8; 4]) -> Result<usize, DecodeError> {
    let length = u32::from_be_bytes(start) as usize;
    let refuse = || Reader::new(&start).error("length", Problem::Length(length as u64));
    if (4..=LENGTH_MAX).contains(&length) { Ok(length) } else { Err(refuse()) }
}

fn message(fill: &[u8]) -> Vec<u8> {
    let length = u32::try_from(fill.len() + 4).unwrap();
    [&length.to_be_bytes()[..], fill].concat()
}

#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Message(Vec<u8>, Addr),
    Lost(Addr),
}

/// Repeats every message that asks for it ("?…") without the question mark, and hangs up on who says "…!".
#[derive(Debug, Default)]
struct Toy {
    out: VecDeque<Output<Heard>>,
}

impl Toy {
    fn send(&mut self, from: Addr, to: Addr, bytes: Vec<u8>) {
        let protocol = DIAMETER;
        self.out.push_back(Output::Datagram(Datagram { protocol, from, to, bytes }));
    }
}

impl Engine for Toy {
    /// From, to, what.
    type Command = (Addr, Addr, Vec<u8>);
    type Event = Heard;

    fn handle(&mut self, input: Input<'_, Self::Command>, _: &mut Ctx<'_>) {
        match input {
            Input::Datagram { from, to, bytes } => {
                if bytes.get(4) == Some(&b'?') {
                    self.send(to, from, message(&bytes[5..]));
                }
                if bytes[4..].ends_with(b"!") {
                    self.out.push_back(Output::Close { local: to, peer: from });
                }
                self.out.push_back(Output::Event(Heard::Message(bytes[4..].to_vec(), from)));
            }
            Input::Command((from, to, fill)) => self.send(from, to, message(&fill)),
            Input::Lost { peer, .. } => self.out.push_back(Output::Event(Heard::Lost(peer))),
            Input::Tick | Input::Inner(_) | Input::Secured { .. } | Input::Recover => {
                unreachable!("it asks for none")
            }
        }
    }

    fn poll(&mut self) -> Option<Output<Heard>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        None
    }
}

type Node = Driver<Toy, Null>;

/// A node that listens, with other limits than usual.
fn server_with(change: impl FnOnce(&mut Streaming)) -> (Node, SocketAddr) {
    server_at(HERE, change)
}

fn server_at(ip: IpAddr, change: impl FnOnce(&mut Streaming)) -> (Node, SocketAddr) {
    let mut config = Streaming::new(DIAMETER, length);
    change(&mut config);
    let sockets = Sockets::bind(&[]).unwrap().streaming(config, &[(ip, 0).into()]).unwrap();
    let address = sockets.locals()[0].into();
    (Driver::new(Toy::default(), Null, sockets), address)
}

fn server() -> (Node, SocketAddr) {
    server_with(|_| {})
}

fn client() -> Node {
    let config = Streaming::new(DIAMETER, length);
    Driver::new(Toy::default(), Null, Sockets::bind(&[]).unwrap().streaming(config, &[]).unwrap())
}

/// The name under which a client's engine knows itself: no port that it really has.
const CLIENT: Addr = Addr::tcp(HERE, 3868);

fn next(node: &mut Node) -> Heard {
    node.next_event(LIMIT, &mut NoTrace).expect("an event in time")
}

fn text(node: &mut Node) -> String {
    match next(node) {
        Heard::Message(fill, _) => String::from_utf8(fill).unwrap(),
        Heard::Lost(peer) => panic!("lost {peer}"),
    }
}

/// What a node discards until it loses a peer.
fn discards(node: &mut Node) -> Vec<String> {
    let mut facts = Vec::new();
    while !matches!(node.next_event(LIMIT, &mut facts).expect("a loss"), Heard::Lost(_)) {}
    let why = |fact: Fact| if let Fact::Discarded { why, .. } = fact { Some(why.into_owned()) } else { None };
    facts.into_iter().filter_map(why).collect()
}

fn talk(ip: IpAddr) {
    let (mut b, b_address) = server_at(ip, |_| {});
    let (mut a, here) = (client(), Addr::tcp(ip, 3868));
    a.command((here, Addr::Tcp(b_address.into()), b"?one".to_vec()), &mut NoTrace);
    a.command((here, Addr::Tcp(b_address.into()), b"?two".to_vec()), &mut NoTrace);
    // The call is answered and the words are sent while the caller drives.
    assert_eq!(a.next_event(Duration::from_millis(20), &mut NoTrace), None);
    assert_eq!([text(&mut b), text(&mut b)], ["?one", "?two"]);
    assert_eq!([text(&mut a), text(&mut a)], ["one", "two"]);
    drop(b);
    assert_eq!(next(&mut a), Heard::Lost(Addr::Tcp(b_address.into())));
    // Nobody is there any more: told again, and no harm done.
    a.command((here, Addr::Tcp(b_address.into()), b"?three".to_vec()), &mut NoTrace);
    assert_eq!(next(&mut a), Heard::Lost(Addr::Tcp(b_address.into())));
}

#[test]
fn one_connection_carries_both_ways_until_it_is_lost() {
    talk(HERE);
    talk(Ipv6Addr::LOCALHOST.into());
}

#[test]
fn messages_are_the_same_however_they_are_cut() {
    let (mut node, address) = server();
    let mut peer = TcpStream::connect(address).unwrap();
    let (long, short) = (vec![b'x'; 50_000], message(b"?short"));
    peer.write_all(&[&short[..], &short, &message(&long), &short[..7]].concat()).unwrap();
    assert_eq!([text(&mut node), text(&mut node)], ["?short", "?short"]);
    assert_eq!(text(&mut node).len(), long.len());
    assert_eq!(node.next_event(Duration::from_millis(20), &mut NoTrace), None, "half a message is none");
    for byte in &short[7..] {
        peer.write_all(&[*byte]).unwrap();
        let _ = node.next_event(Duration::ZERO, &mut NoTrace).map(|heard| node_heard(&heard));
    }
    let answers = [message(b"short"), message(b"short"), message(b"short")].concat();
    let mut read = vec![0; answers.len()];
    let reading = std::thread::spawn(move || peer.read_exact(&mut read).map(|()| read));
    while !reading.is_finished() {
        node.next_event(Duration::from_millis(5), &mut NoTrace);
    }
    assert_eq!(reading.join().unwrap().unwrap(), answers);
}

fn node_heard(heard: &Heard) {
    assert!(matches!(heard, Heard::Message(fill, _) if fill == b"?short"), "{heard:?}");
}

#[test]
fn nonsense_and_half_messages_end_a_connection_and_are_traced() {
    let (mut node, address) = server();
    let cases: [(&[u8], &str); 3] = [
        (b"GET / HTTP/1.1\r\n", "length at offset 0: length 1195725856 does not fit"),
        (&[0, 0, 0, 3], "length at offset 0: length 3 does not fit"),
        (&message(b"cut off")[..6], "closed amid a message"),
    ];
    for (bytes, why) in cases {
        let mut peer = TcpStream::connect(address).unwrap();
        peer.write_all(bytes).unwrap();
        let name = peer.local_addr().unwrap();
        drop(peer);
        assert_eq!(discards(&mut node), [format!("live: connection with {name} lost: {why}")]);
    }
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&message(b"still there")).unwrap();
    assert_eq!(text(&mut node), "still there");
}

#[test]
fn a_good_end_is_no_discard() {
    let (mut node, address) = server();
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&message(b"bye")).unwrap();
    drop(peer);
    assert_eq!(text(&mut node), "bye");
    assert_eq!(discards(&mut node), [""; 0]);
}

#[test]
fn whoever_says_nothing_whole_is_hung_up_on() {
    let (mut node, address) = server_with(|config| {
        config.first_message_within = Duration::from_millis(50);
        config.quiet_max = Duration::from_millis(200);
    });
    let silent = TcpStream::connect(address).unwrap();
    let begin = node.now();
    let [why] = &discards(&mut node)[..] else { panic!("one discard") };
    assert!(why.ends_with("no whole message"), "{why}");
    assert!(node.now().since(begin) >= Duration::from_millis(50));
    let mut spoken = TcpStream::connect(address).unwrap();
    spoken.write_all(&message(b"hello")).unwrap();
    assert_eq!(text(&mut node), "hello");
    let begin = node.now();
    assert_eq!(discards(&mut node).len(), 1);
    assert!(
        node.now().since(begin) >= Duration::from_millis(190),
        "a peer that has spoken may be quiet for longer"
    );
    drop(silent);
}

#[test]
fn a_call_beyond_the_limit_is_refused_and_the_others_stay() {
    let (mut node, address) = server_with(|config| config.connections_max = 2);
    let mut peers: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut facts = Vec::new();
    while facts.is_empty() {
        assert_eq!(node.next_event(Duration::from_millis(5), &mut facts), None);
    }
    let refused =
        |fact: &Fact| matches!(fact, Fact::Discarded { why, .. } if why.ends_with("2 are the most"));
    assert!(facts.iter().all(refused) && facts.len() == 1, "{facts:?}");
    assert_eq!(peers[2].read(&mut [0]).unwrap(), 0, "hung up");
    peers[0].write_all(&message(b"first")).unwrap();
    assert_eq!(text(&mut node), "first");
    peers[1].write_all(&message(b"second")).unwrap();
    assert_eq!(text(&mut node), "second");
}

#[test]
fn whom_the_engine_wants_no_more_gets_its_answer_and_is_hung_up_on() {
    let (mut node, address) = server_with(|config| config.connections_max = 1);
    let mut peer = TcpStream::connect(address).unwrap();
    let name = Addr::Tcp(peer.local_addr().unwrap().into());
    // What follows is not heard, and does not take the answer back.
    peer.write_all(&[message(b"?go away!"), message(b"?again")].concat()).unwrap();
    assert_eq!(text(&mut node), "?go away!");
    let reading = std::thread::spawn(move || {
        let mut said = Vec::new();
        peer.read_to_end(&mut said).map(|_| said)
    });
    assert_eq!(next(&mut node), Heard::Lost(name));
    assert_eq!(reading.join().unwrap().unwrap(), message(b"go away!"));
    // Its place is free again.
    let mut other = TcpStream::connect(address).unwrap();
    other.write_all(&message(b"hello")).unwrap();
    assert_eq!(text(&mut node), "hello");
}

#[test]
fn who_does_not_hang_up_when_asked_to_loses_its_place_all_the_same() {
    let (mut node, address) = server();
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&message(b"go away!")).unwrap();
    assert_eq!(text(&mut node), "go away!");
    let begin = node.now();
    let [why] = &discards(&mut node)[..] else { panic!("one discard") };
    assert!(why.ends_with("the peer does not hang up"), "{why}");
    assert!(node.now().since(begin) < Duration::from_secs(3), "{:?}", node.now().since(begin));
}

/// Lets a node look until it has refused so many; what it says of each.
fn refusals(node: &mut Node, count: usize) -> Vec<String> {
    let mut facts = Vec::new();
    while facts.len() < count {
        assert_eq!(node.next_event(Duration::from_millis(5), &mut facts), None);
    }
    facts
        .into_iter()
        .map(|fact| if let Fact::Discarded { why, .. } = fact { why.into_owned() } else { String::new() })
        .collect()
}

#[test]
fn no_address_takes_the_places_of_another() {
    let (mut node, address) = server_with(|config| config.per_address_max = 3);
    let greedy: Vec<_> = (0..5).map(|_| TcpStream::connect(address).unwrap()).collect();
    let refused = refusals(&mut node, 2);
    assert!(refused.iter().all(|why| why.ends_with("3 are the most of one address")), "{refused:?}");
    let mut other = from([127, 0, 0, 2], address);
    other.write_all(&message(b"hello")).unwrap();
    assert_eq!(text(&mut node), "hello");
    drop(greedy);
}

#[test]
fn strangers_have_a_few_places_among_themselves() {
    let (mut node, address) = server_with(|config| {
        config.connections_max = 4;
        config.per_address_max = 2;
        config.expected = Some([Ipv4Addr::new(127, 0, 0, 7).into()].into());
        config.strangers_max = 2;
    });
    let strangers: Vec<_> = (1..=4).map(|last| from([127, 0, 0, last], address)).collect();
    let refused = refusals(&mut node, 2);
    assert!(refused.iter().all(|why| why.ends_with("those who are not expected")), "{refused:?}");
    let mut expected = from([127, 0, 0, 7], address);
    expected.write_all(&message(b"hello")).unwrap();
    assert_eq!(text(&mut node), "hello");
    drop(strangers);
}

/// A connection from another address of loopback.
fn from(ip: [u8; 4], to: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((ip, 0)).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    socket.into()
}

#[test]
fn a_peer_that_does_not_read_is_hung_up_on() {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let to = Addr::Tcp(listener.local_addr().unwrap().into());
    let mut node = client();
    node.command((CLIENT, to, b"hello".to_vec()), &mut NoTrace);
    node.next_event(Duration::from_millis(10), &mut NoTrace);
    let (_deaf, _) = listener.accept().unwrap();
    let mut facts = Vec::new();
    for _ in 0..1000 {
        node.command((CLIENT, to, vec![0; 50_000]), &mut facts);
        if !facts.is_empty() {
            break;
        }
    }
    let [Fact::Discarded { why, .. }] = &facts[..] else { panic!("{facts:?}") };
    assert!(why.ends_with("the peer does not read"), "{why}");
    assert_eq!(next(&mut node), Heard::Lost(to));
}

#[test]
fn nobody_is_called_anew_before_the_engine_knows_of_the_loss() {
    let (mut b, address) = server();
    let config = Streaming { unsent_bytes_max: 100, ..Streaming::new(DIAMETER, length) };
    let sockets = Sockets::bind(&[]).unwrap().streaming(config, &[]).unwrap();
    let (mut a, to) = (Driver::new(Toy::default(), Null, sockets), Addr::Tcp(address.into()));
    let mut facts = Vec::new();
    a.command((CLIENT, to, vec![b'x'; 200]), &mut facts);
    a.command((CLIENT, to, b"two".to_vec()), &mut facts);
    assert_eq!(facts.len(), 2, "neither is sent: {facts:?}");
    assert_eq!(next(&mut a), Heard::Lost(to));
    a.command((CLIENT, to, b"three".to_vec()), &mut NoTrace);
    assert_eq!(a.next_event(Duration::from_millis(20), &mut NoTrace), None, "the new one is there");
    let heard = std::iter::repeat_with(|| next(&mut b)).find_map(|heard| match heard {
        Heard::Message(fill, _) => Some(fill),
        Heard::Lost(_) => None,
    });
    assert_eq!(heard.as_deref(), Some(&b"three"[..]));
}

#[test]
fn an_answer_to_a_lost_connection_goes_nowhere() {
    let (mut node, address) = server();
    let mut facts = Vec::new();
    node.command((Addr::Tcp(address.into()), CLIENT, b"late".to_vec()), &mut facts);
    let [Fact::Discarded { why, .. }] = &facts[..] else { panic!("{facts:?}") };
    assert!(why.ends_with("its connection is gone"), "{why}");
}

#[test]
fn a_taken_port_is_named_and_free_again_at_once() {
    let (mut node, address) = server();
    let open = || {
        let config = Streaming::new(DIAMETER, length);
        Sockets::bind(&[]).unwrap().streaming(config, &[address])
    };
    let error = open().expect_err("taken").to_string();
    assert!(error.starts_with(&format!("listen on TCP {address}: the port is in use")), "{error}");
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&message(b"hello")).unwrap();
    assert_eq!(text(&mut node), "hello");
    drop(node);
    open().expect("connections of before do not keep the port");
}
