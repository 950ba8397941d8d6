//! A toy engine on loopback sockets: datagrams, ticks and commands reach it, and what it says is sent.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "the tests' other ends are plain sockets and clocks; a helper that fails fails its test"
)]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use keytoll_crypto::Null;
use keytoll_engine::trace::{Fact, NoTrace, Protocol};
use keytoll_engine::{Ctx, Datagram, Deadline, Engine, Input, Output, Time};
use keytoll_live::{BindError, Clock, Driver, Seen, Sockets, Tap};
use keytoll_net::Addr;

const LIMIT: Duration = Duration::from_secs(5);

/// Answers every datagram with one that is a byte longer; commanded, it sends one; ticked, it says so.
#[derive(Debug, Default)]
struct Echo {
    local: Option<Addr>,
    wake: Option<Time>,
    /// When a tick is due that ends in a panic.
    ill_at: Option<Time>,
    out: Vec<Output<String>>,
}

#[derive(Debug)]
enum Ask {
    Send { to: Addr },
    SendMany { to: Addr, count: u8 },
    WakeAfter(Duration),
}

impl Echo {
    fn send(&mut self, from: Addr, to: Addr, bytes: Vec<u8>) {
        self.out.push(Output::Datagram(Datagram { protocol: Protocol::ICMP, from, to, bytes }));
    }

    fn say(&mut self, what: String) {
        self.out.push(Output::Event(what));
    }
}

/// What a datagram says that no engine should be told.
const MISTAKE: &[u8] = b"mistake";

impl Engine for Echo {
    type Command = Ask;
    type Event = String;

    fn handle(&mut self, input: Input<'_, Ask>, cx: &mut Ctx<'_>) {
        match input {
            Input::Datagram { from, to, bytes } => {
                assert_ne!(bytes, MISTAKE, "the secret of the peer");
                self.say(format!("{} bytes", bytes.len()));
                if bytes.len() < 4 {
                    self.send(to, from, [bytes, &[0]].concat());
                }
            }
            Input::Command(Ask::Send { to }) => {
                let local = self.local.expect("set by the test");
                let from = match to {
                    Addr::Ip { protocol, .. } => Addr::Ip { ip: local.ip().unwrap(), protocol },
                    _ => local,
                };
                self.send(from, to, vec![1]);
            }
            Input::Command(Ask::SendMany { to, count }) => {
                let local = self.local.expect("set by the test");
                (0..count).for_each(|n| self.send(local, to, vec![n; 4]));
            }
            Input::Command(Ask::WakeAfter(wait)) => self.wake = Some(cx.now + wait),
            Input::Tick => {
                assert_eq!(self.ill_at, None, "a mistake");
                assert!(self.wake.take().is_some_and(|at| at <= cx.now), "an early tick");
                self.say("tick".into());
            }
            Input::Recover => self.say("recovered".into()),
            Input::Inner(_) | Input::Secured { .. } | Input::Lost { .. } => unreachable!("it has neither"),
        }
    }

    fn poll(&mut self) -> Option<Output<String>> {
        (!self.out.is_empty()).then(|| self.out.remove(0))
    }

    fn deadline(&self) -> Option<Deadline> {
        self.wake.or(self.ill_at).map(|at| Deadline { at, why: "test" })
    }
}

fn socket(address: Addr) -> SocketAddr {
    address.socket().unwrap().into()
}

fn driver() -> (Driver<Echo, Null>, Addr) {
    driver_at(Ipv4Addr::LOCALHOST.into())
}

fn driver_at(ip: IpAddr) -> (Driver<Echo, Null>, Addr) {
    let sockets = Sockets::bind(&[SocketAddr::new(ip, 0)]).expect("loopback is there");
    let local = sockets.locals()[0];
    (Driver::new(Echo { local: Some(Addr::Udp(local)), ..Echo::default() }, Null, sockets), Addr::Udp(local))
}

#[test]
fn two_drivers_talk_until_one_falls_silent() {
    let (mut a, _) = driver();
    let (mut b, b_address) = driver();
    a.command(Ask::Send { to: b_address }, &mut NoTrace);
    assert_eq!(b.next_event(LIMIT, &mut NoTrace).unwrap(), "1 bytes");
    assert_eq!(a.next_event(LIMIT, &mut NoTrace).unwrap(), "2 bytes");
    assert_eq!(b.next_event(LIMIT, &mut NoTrace).unwrap(), "3 bytes");
    assert_eq!(a.next_event(LIMIT, &mut NoTrace).unwrap(), "4 bytes");
    assert_eq!(b.next_event(Duration::from_millis(20), &mut NoTrace), None);
}

#[test]
fn ticks_come_when_asked_for_and_not_before() {
    let (mut a, _) = driver();
    let wait = Duration::from_millis(30);
    let begin = a.now();
    a.command(Ask::WakeAfter(wait), &mut NoTrace);
    assert_eq!(a.next_event(LIMIT, &mut NoTrace).unwrap(), "tick");
    assert!(a.now().since(begin) >= wait);
    assert_eq!(a.next_event(Duration::ZERO, &mut NoTrace), None, "one deadline, one tick");
}

/// A panic over one datagram costs that datagram; what it said is nobody's to read.
#[test]
fn an_engine_that_panics_lives_on() {
    let (driver, address) = driver();
    let mut driver = driver.surviving_panics();
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    let from = Addr::Udp(other.local_addr().unwrap().into());
    for _ in 0..2 {
        other.send_to(MISTAKE, socket(address)).unwrap();
    }
    other.send_to(&[0; 9], socket(address)).unwrap();
    let said: Vec<_> = (0..3).map(|_| driver.next_event(LIMIT, &mut NoTrace).unwrap()).collect();
    assert_eq!(said, ["recovered", "recovered", "9 bytes"]);
    let panics = driver.take_panics().unwrap();
    assert_eq!((panics.count, panics.from), (2, Some(from)));
    let (file, line) = panics.place.rsplit_once(':').unwrap();
    assert!(file.ends_with("tests/driver.rs") && line.parse::<u32>().is_ok(), "{panics:?}");
    assert_eq!(driver.take_panics(), None);
}

/// A tick that panics is not tried again at once, for ever.
#[test]
fn a_tick_that_panics_leaves_time_for_datagrams() {
    let (driver, address) = driver();
    let mut driver = driver.surviving_panics();
    // It is due before it is asked for, which the engine takes ill, and stays due.
    driver.engine_mut().ill_at = Some(Time::ZERO);
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert_eq!(driver.next_event(LIMIT, &mut NoTrace).unwrap(), "recovered");
    other.send_to(&[0; 9], socket(address)).unwrap();
    assert_eq!(driver.next_event(Duration::from_millis(500), &mut NoTrace).unwrap(), "9 bytes");
    assert_eq!(driver.take_panics().unwrap().count, 1);
    assert_eq!(driver.next_event(LIMIT, &mut NoTrace).unwrap(), "recovered", "and once more a second later");
}

#[test]
fn what_cannot_be_sent_is_traced() {
    let (mut a, local) = driver();
    let mut facts = Vec::new();
    let directly = Addr::Ip { ip: local.ip().unwrap(), protocol: 1 };
    a.command(Ask::Send { to: directly }, &mut facts);
    a.command(Ask::Send { to: Addr::udp(local.ip().unwrap(), 0) }, &mut facts);
    let why = |fact: &Fact| matches!(fact, Fact::Discarded { why, .. } if why.starts_with("live: "));
    assert!(facts.len() == 2 && facts.iter().all(why), "{facts:?}");
}

#[test]
fn a_taken_address_is_named_with_what_to_do() {
    // An address of its own: the other tests, which take any free port, would take the one that is given up here.
    let (a, local) = driver_at(Ipv4Addr::new(127, 44, 0, 1).into());
    let error = Sockets::bind(&[socket(local)]).expect_err("taken").to_string();
    assert!(
        error.starts_with(&format!("listen on UDP {local}: the port is in use; stop who holds it")),
        "{error}"
    );
    drop(a);
    Sockets::bind(&[socket(local)]).expect("free again once the driver is gone");
    let nowhere = "192.0.2.1:500".parse().unwrap();
    let error = Sockets::bind(&[nowhere]).expect_err("RFC 5737 addresses are nobody's").to_string();
    assert!(error.contains("no interface of this machine has 192.0.2.1"), "{error}");
}

#[test]
fn every_reason_says_what_to_do() {
    let said = |kind: io::ErrorKind| {
        BindError { local: Addr::udp(Ipv4Addr::LOCALHOST.into(), 500), source: kind.into() }.to_string()
    };
    let on_ip = Addr::Ip { ip: Ipv4Addr::LOCALHOST.into(), protocol: 139 };
    let error = BindError { local: on_ip, source: io::ErrorKind::PermissionDenied.into() }.to_string();
    let expected = "listen on IP protocol 139 at 127.0.0.1: no permission for a raw socket; run as root or grant CAP_NET_RAW";
    assert_eq!(error, expected);
    assert!(said(io::ErrorKind::AddrInUse).contains("strongSwan's charon"));
    assert!(
        said(io::ErrorKind::PermissionDenied).contains("grant CAP_NET_BIND_SERVICE, or choose another port")
    );
}

#[test]
fn ipv6_is_as_good_and_no_wildcard_takes_the_other_family() {
    let (mut a, _) = driver_at(Ipv6Addr::LOCALHOST.into());
    let (mut b, b_address) = driver_at(Ipv6Addr::LOCALHOST.into());
    a.command(Ask::Send { to: b_address }, &mut NoTrace);
    assert_eq!(b.next_event(LIMIT, &mut NoTrace).unwrap(), "1 bytes");
    assert_eq!(a.next_event(LIMIT, &mut NoTrace).unwrap(), "2 bytes");
    let both = Sockets::bind(&[(Ipv6Addr::UNSPECIFIED, b_address.port().unwrap()).into()]);
    assert!(both.is_err(), "[::] and [::1] share a port");
    let (_c, c_address) = driver();
    Sockets::bind(&[(Ipv6Addr::UNSPECIFIED, c_address.port().unwrap()).into()]).expect("IPv4 is not in [::]");
}

#[test]
fn a_waker_ends_a_wait_at_once_and_is_not_forgotten() {
    let (mut a, _) = driver();
    let waker = a.waker();
    let begin = a.now();
    let ringing = thread::spawn({
        let waker = waker.clone();
        move || {
            thread::sleep(Duration::from_millis(20));
            waker.wake();
            waker.wake();
        }
    });
    assert_eq!(a.next_event(LIMIT, &mut NoTrace), None);
    assert!(a.now().since(begin) < LIMIT / 2, "woken, not timed out");
    ringing.join().unwrap();
    // Rung while nobody waits: the next wait ends at once, the one after that does not.
    while a.next_event(Duration::ZERO, &mut NoTrace).is_some() {}
    waker.wake();
    let begin = a.now();
    assert_eq!(a.next_event(LIMIT, &mut NoTrace), None);
    assert!(a.now().since(begin) < LIMIT / 2);
    let begin = a.now();
    assert_eq!(a.next_event(Duration::from_millis(30), &mut NoTrace), None);
    assert!(a.now().since(begin) >= Duration::from_millis(30));
}

/// Sends as fast as it can until told to stop.
fn flood(to: Addr) -> impl FnOnce() {
    let stop = Arc::new(Mutex::new(false));
    let stopped = Arc::clone(&stop);
    let flooding = thread::spawn(move || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        while !*stopped.lock().unwrap() {
            // Four bytes are not answered.
            let _ = socket.send_to(&[0; 4], self::socket(to));
        }
    });
    move || {
        *stop.lock().unwrap() = true;
        flooding.join().unwrap();
    }
}

#[test]
fn a_flood_holds_up_neither_timers_nor_limits_nor_wakers() {
    let (mut a, local) = driver();
    let stop = flood(local);
    a.command(Ask::WakeAfter(Duration::from_millis(30)), &mut NoTrace);
    let begin = a.now();
    while a.next_event(LIMIT, &mut NoTrace).unwrap() != "tick" {}
    assert!(a.now().since(begin) < LIMIT / 2, "the tick came through the flood");
    // A limit of zero hands out one event at most, however many wait.
    let began = Instant::now();
    (0..100).for_each(|_| drop(a.next_event(Duration::ZERO, &mut NoTrace)));
    assert!(began.elapsed() < LIMIT);
    a.waker().wake();
    while a.next_event(LIMIT, &mut NoTrace).is_some() {}
    stop();
}

#[test]
fn many_datagrams_of_one_input_arrive_in_order() {
    let (mut a, _) = driver();
    let (b, b_address) = driver();
    let seen = Notes::default();
    let mut b = b.with_tap(seen.clone());
    a.command(Ask::SendMany { to: b_address, count: 100 }, &mut NoTrace);
    (0..100).for_each(|_| assert_eq!(b.next_event(LIMIT, &mut NoTrace).unwrap(), "4 bytes"));
    let first_bytes: Vec<_> = seen.0.lock().unwrap().iter().map(|note| note.1[0]).collect();
    assert_eq!(first_bytes, (0..100).collect::<Vec<_>>());
}

#[test]
fn a_port_that_nobody_has_kills_nothing() {
    let (mut a, _) = driver();
    let (mut b, b_address) = driver();
    let (gone, gone_address) = driver();
    drop(gone);
    // An ICMP error comes back for each.
    (0..3).for_each(|_| a.command(Ask::Send { to: gone_address }, &mut NoTrace));
    assert_eq!(a.next_event(Duration::from_millis(20), &mut NoTrace), None);
    a.command(Ask::Send { to: b_address }, &mut NoTrace);
    assert_eq!(b.next_event(LIMIT, &mut NoTrace).unwrap(), "1 bytes");
    assert_eq!(a.next_event(LIMIT, &mut NoTrace).unwrap(), "2 bytes");
}

/// What a tap saw: sent or not, the bytes, what they belong to, who is at the other end, and when.
type Note = (bool, Vec<u8>, Option<Protocol>, Addr, Time);

#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<Note>>>);

impl Notes {
    fn note(&self, sent: bool, seen: &Seen<'_>) {
        assert!(matches!((seen.from, seen.to), (Addr::Udp(_), Addr::Udp(_))));
        let other = if sent { seen.to } else { seen.from };
        self.0.lock().unwrap().push((sent, seen.bytes.to_vec(), seen.protocol, other, seen.at));
    }
}

impl Tap for Notes {
    fn sent(&mut self, seen: &Seen<'_>) {
        self.note(true, seen);
    }

    fn received(&mut self, seen: &Seen<'_>) {
        self.note(false, seen);
    }
}

#[test]
fn a_tap_sees_what_passes_and_when() {
    let (a, _) = driver();
    let (mut b, b_address) = driver();
    let (origin, seen) = (Clock::start(), Notes::default());
    let mut a = a.with_clock(Clock::at(origin.origin_ns())).with_tap(seen.clone());
    a.command(Ask::Send { to: Addr::udp(b_address.ip().unwrap(), 0) }, &mut NoTrace);
    a.command(Ask::Send { to: b_address }, &mut NoTrace);
    assert_eq!(b.next_event(LIMIT, &mut NoTrace).unwrap(), "1 bytes");
    assert_eq!(a.next_event(LIMIT, &mut NoTrace).unwrap(), "2 bytes");
    let notes = seen.0.lock().unwrap();
    let shape: Vec<_> = notes.iter().map(|(sent, bytes, ..)| (*sent, bytes.len())).collect();
    assert_eq!(shape, [(true, 1), (false, 2), (true, 3)], "what could not be sent did not pass");
    assert!(notes.iter().all(|note| note.2 == Some(Protocol::ICMP) && note.3 == b_address));
    assert!(notes.is_sorted_by_key(|note| note.4) && notes[2].4 <= origin.now());
}
