//! Streams that a toy channel secures: nothing passes before the proof, deadlines hold, proofs are judged again, and a panic
//! inside costs one stream.

#![allow(
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "the tests' other ends are plain sockets; a helper that fails fails its test"
)]

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keytoll_crypto::Null;
use keytoll_diameter::DIAMETER;
use keytoll_engine::channel::{Broken, Channel, Secure};
use keytoll_engine::trace::{Fact, NoTrace, Protocol};
use keytoll_engine::{Ctx, Datagram, Deadline, Engine, Input, Output};
use keytoll_live::{Driver, Seen, Sockets, Streaming, Tap};
use keytoll_net::{Addr, Socket};

const LIMIT: Duration = Duration::from_secs(5);

/// Whoever says this proves that it is "peer".
const PROOF: u8 = b'P';
/// This is no proof, and nothing else.
const NONSENSE: u8 = b'N';
/// At this the channel makes a mistake.
const MISTAKE: u8 = b'M';

/// Every byte with all bits turned, after a proof of one byte.
#[derive(Debug)]
struct Toy {
    output: Vec<u8>,
    proved: Option<Vec<String>>,
    counts: Arc<AtomicBool>,
}

/// Makes such channels; their proofs count as long as it says so.
#[derive(Debug)]
struct Toys(Arc<AtomicBool>);

impl Secure for Toys {
    fn channel(&self, _: &mut Ctx<'_>) -> Result<Box<dyn Channel>, Broken> {
        Ok(Box::new(Toy { output: vec![PROOF], proved: None, counts: Arc::clone(&self.0) }))
    }
}

impl Channel for Toy {
    fn unseal(&mut self, sealed: &[u8], clear: &mut Vec<u8>, _: &mut Ctx<'_>) -> Result<(), Broken> {
        for byte in sealed {
            match byte {
                &MISTAKE => panic!("a mistake of the toy"),
                &NONSENSE => {
                    self.output.extend(b"no");
                    return Err("nonsense".into());
                }
                &PROOF if self.proved.is_none() => self.proved = Some(vec!["peer".into()]),
                byte => clear.push(!byte),
            }
        }
        Ok(())
    }

    fn seal(&mut self, clear: &[u8], _: &mut Ctx<'_>) -> Result<(), Broken> {
        assert!(self.proved.is_some(), "nothing is said to whom nothing is proved of");
        self.output.extend(clear.iter().map(|byte| !byte));
        Ok(())
    }

    fn close(&mut self, _: &mut Ctx<'_>) {
        self.output.push(b'.');
    }

    fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    fn proved(&self) -> Option<&[String]> {
        self.proved.as_deref()
    }

    fn judge(&mut self, _: &mut Ctx<'_>) -> Result<(), Broken> {
        if self.counts.load(Ordering::Relaxed) { Ok(()) } else { Err("revoked".into()) }
    }
}

/// Repeats what it hears.
#[derive(Debug, Default)]
struct Echo(VecDeque<Output<Heard>>);

#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Message(Vec<u8>),
    Secured(Vec<String>),
    Lost,
}

fn datagram(from: Addr, to: Addr, bytes: Vec<u8>) -> Datagram {
    Datagram { protocol: DIAMETER, from, to, bytes }
}

impl Engine for Echo {
    type Command = (Addr, Addr, Vec<u8>);
    type Event = Heard;

    fn handle(&mut self, input: Input<'_, Self::Command>, _: &mut Ctx<'_>) {
        match input {
            Input::Datagram { from, to, bytes } => {
                self.0.push_back(Output::Datagram(datagram(to, from, bytes.to_vec())));
                self.0.push_back(Output::Event(Heard::Message(bytes.to_vec())));
            }
            Input::Command((from, to, bytes)) => {
                self.0.push_back(Output::Datagram(datagram(from, to, bytes)));
            }
            Input::Secured { names, .. } => {
                self.0.push_back(Output::Event(Heard::Secured(names.to_vec())));
            }
            Input::Lost { .. } => self.0.push_back(Output::Event(Heard::Lost)),
            Input::Tick | Input::Inner(_) | Input::Recover => unreachable!("it asks for none"),
        }
    }

    fn poll(&mut self) -> Option<Output<Heard>> {
        self.0.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        None
    }
}

type Node = Driver<Echo, Null>;

/// A node, where it listens, and whether proofs count.
fn node(listen: &[SocketAddr], change: impl FnOnce(&mut Streaming)) -> (Node, Vec<Socket>, Arc<AtomicBool>) {
    let counts = Arc::new(AtomicBool::new(true));
    // Messages of four bytes.
    let mut config = Streaming::new(DIAMETER, |_| Ok(4));
    config.secure = Some(Arc::new(Toys(Arc::clone(&counts))));
    change(&mut config);
    let sockets = Sockets::bind(&[]).unwrap().streaming(config, listen).unwrap();
    let locals = sockets.locals();
    (Driver::new(Echo::default(), Null, sockets).surviving_panics(), locals, counts)
}

fn server(change: impl FnOnce(&mut Streaming)) -> (Node, SocketAddr, Arc<AtomicBool>) {
    let (node, locals, counts) = node(&[(Ipv4Addr::LOCALHOST, 0).into()], change);
    (node, locals[0].into(), counts)
}

fn turned(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| !byte).collect()
}

fn next(node: &mut Node) -> Heard {
    node.next_event(LIMIT, &mut NoTrace).expect("an event in time")
}

/// What a node discards until it loses a peer.
fn discards(node: &mut Node) -> Vec<String> {
    let mut facts = Vec::new();
    while node.next_event(Duration::from_secs(20), &mut facts).expect("a loss") != Heard::Lost {}
    let why = |fact: Fact| if let Fact::Discarded { why, .. } = fact { Some(why.into_owned()) } else { None };
    facts.into_iter().filter_map(why).collect()
}

/// What a peer reads to the end, while the node goes on.
fn rest(node: &mut Node, mut peer: TcpStream) -> Vec<u8> {
    let reading = std::thread::spawn(move || {
        let mut said = Vec::new();
        peer.read_to_end(&mut said).map(|_| said)
    });
    while !reading.is_finished() {
        node.next_event(Duration::from_millis(5), &mut NoTrace);
    }
    reading.join().unwrap().unwrap()
}

#[test]
fn names_come_before_messages_and_what_was_said_early_after_the_proof() {
    let (mut callee, address, _) = server(|_| {});
    let (mut caller, ..) = node(&[], |_| {});
    let here = Addr::tcp(Ipv4Addr::LOCALHOST.into(), 1);
    caller.command((here, Addr::Tcp(address.into()), b"one.".to_vec()), &mut NoTrace);
    caller.command((here, Addr::Tcp(address.into()), b"two.".to_vec()), &mut NoTrace);
    let mut heard = [Vec::new(), Vec::new()];
    while heard.iter().any(|heard| heard.len() < 3) {
        for (node, heard) in [&mut caller, &mut callee].into_iter().zip(&mut heard) {
            heard.extend(node.next_event(Duration::from_millis(5), &mut NoTrace));
        }
    }
    let expected = [
        Heard::Secured(vec!["peer".into()]),
        Heard::Message(b"one.".to_vec()),
        Heard::Message(b"two.".to_vec()),
    ];
    // Whatever is heard is said again.
    assert_eq!(heard[0][..3], expected);
    assert_eq!(heard[1][..3], expected);
}

#[test]
fn proof_and_message_may_come_in_one_piece() {
    let (mut callee, address, _) = server(|_| {});
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&[&[PROOF][..], &turned(b"both")].concat()).unwrap();
    assert_eq!(next(&mut callee), Heard::Secured(vec!["peer".into()]));
    assert_eq!(next(&mut callee), Heard::Message(b"both".to_vec()));
    let mut said = [0; 5];
    peer.read_exact(&mut said).unwrap();
    assert_eq!(said[..], [&[PROOF][..], &turned(b"both")].concat());
}

#[test]
fn who_proves_nothing_is_hung_up_on_in_time() {
    let (mut callee, address, _) = server(|config| config.first_message_within = Duration::from_millis(50));
    let peer = TcpStream::connect(address).unwrap();
    let [why] = &discards(&mut callee)[..] else { panic!("one discard") };
    assert!(why.ends_with("the handshake is not over"), "{why}");
    drop(peer);
    // Who is called has to prove itself in time, too.
    let silent = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (mut caller, ..) = node(&[], |config| config.connect_within = Duration::from_millis(50));
    let to = Addr::Tcp(silent.local_addr().unwrap().into());
    caller.command((Addr::tcp(to.ip().unwrap(), 1), to, b"hey.".to_vec()), &mut NoTrace);
    let [why] = &discards(&mut caller)[..] else { panic!("one discard") };
    assert!(why.ends_with("the handshake is not over"), "{why}");
    // A proof does not make a message of it.
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&[PROOF]).unwrap();
    let [why] = &discards(&mut callee)[..] else { panic!("one discard") };
    assert!(why.ends_with("no whole message"), "{why}");
}

#[test]
fn who_cannot_be_believed_is_told_so() {
    let (mut callee, address, _) = server(|_| {});
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&[NONSENSE, PROOF]).unwrap();
    let name = peer.local_addr().unwrap();
    assert_eq!(rest(&mut callee, peer), [&[PROOF][..], b"no."].concat());
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&[NONSENSE]).unwrap();
    let why = format!("live: connection with {} refused: nonsense", peer.local_addr().unwrap());
    let told = discards(&mut callee);
    assert!(told.contains(&why), "{name}: {told:?}");
}

#[test]
fn a_mistake_inside_costs_one_stream() {
    let (mut callee, address, _) = server(|_| {});
    let mut other = TcpStream::connect(address).unwrap();
    other.write_all(&[PROOF]).unwrap();
    assert_eq!(next(&mut callee), Heard::Secured(vec!["peer".into()]));
    for _ in 0..3 {
        let mut peer = TcpStream::connect(address).unwrap();
        peer.write_all(&[PROOF, MISTAKE]).unwrap();
        let name = Addr::Tcp(peer.local_addr().unwrap().into());
        let [why] = &discards(&mut callee)[..] else { panic!("one discard") };
        assert_eq!(*why, format!("live: connection with {name} lost: a mistake of this program's"));
        let panics = callee.take_panics().expect("one panic");
        assert_eq!((panics.count, panics.from), (1, Some(name)));
        assert!(panics.place.contains("secured.rs"), "{panics:?}");
    }
    other.write_all(&turned(b"here")).unwrap();
    assert_eq!(next(&mut callee), Heard::Message(b"here".to_vec()));
}

#[test]
fn a_proof_that_counts_no_more_closes_its_stream() {
    let (mut callee, address, counts) = server(|config| config.judge_every = Duration::from_millis(200));
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&[PROOF]).unwrap();
    assert_eq!(next(&mut callee), Heard::Secured(vec!["peer".into()]));
    peer.write_all(&turned(b"here")).unwrap();
    assert_eq!(next(&mut callee), Heard::Message(b"here".to_vec()));
    counts.store(false, Ordering::Relaxed);
    let said = rest(&mut callee, peer);
    assert_eq!(said, [&[PROOF][..], &turned(b"here"), b"."].concat());
}

/// Whether it was sent, what it was taken for, and its bytes.
type Glance = (bool, Option<Protocol>, Vec<u8>);

/// What a tap saw.
#[derive(Debug, Clone, Default)]
struct Look(Arc<std::sync::Mutex<Vec<Glance>>>);

impl Tap for Look {
    fn sent(&mut self, seen: &Seen<'_>) {
        self.0.lock().unwrap().push((true, seen.protocol, seen.bytes.to_vec()));
    }

    fn received(&mut self, seen: &Seen<'_>) {
        self.0.lock().unwrap().push((false, seen.protocol, seen.bytes.to_vec()));
    }
}

#[test]
fn a_tap_sees_what_passes_the_socket() {
    let (callee, address, _) = server(|_| {});
    let look = Look::default();
    let mut callee = callee.with_tap(look.clone());
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&[&[PROOF][..], &turned(b"both")].concat()).unwrap();
    assert_eq!(next(&mut callee), Heard::Secured(vec!["peer".into()]));
    assert_eq!(next(&mut callee), Heard::Message(b"both".to_vec()));
    let seen = look.0.lock().unwrap();
    let of = |sent| {
        let bytes = seen.iter().filter(|(is_sent, ..)| *is_sent == sent).map(|(.., bytes)| &bytes[..]);
        bytes.collect::<Vec<_>>().concat()
    };
    assert_eq!([of(true), of(false)], [(); 2].map(|()| [&[PROOF][..], &turned(b"both")].concat()));
    assert!(seen.iter().all(|(_, protocol, _)| protocol.is_none()));
}
