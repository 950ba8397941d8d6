//! A toy engine on loopback sockets: datagrams, ticks and commands reach it, and what it says is sent.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use keytoll_crypto::Null;
use keytoll_engine::trace::{Fact, NoTrace, Protocol};
use keytoll_engine::{Addr, Ctx, Datagram, Deadline, Engine, Input, Output, Time, Transport};
use keytoll_live::{Driver, Sockets};

const LIMIT: Duration = Duration::from_secs(5);

/// Answers every datagram with one that is a byte longer; commanded, it sends one; ticked, it says so.
#[derive(Debug, Default)]
struct Echo {
    local: Option<Addr>,
    wake: Option<Time>,
    out: Vec<Output<String>>,
}

#[derive(Debug)]
enum Ask {
    Send { to: Addr, transport: Transport },
    WakeAfter(Duration),
}

impl Echo {
    fn send(&mut self, from: Addr, to: Addr, transport: Transport, bytes: Vec<u8>) {
        self.out.push(Output::Packet(Datagram { protocol: Protocol::Icmp, transport, from, to, bytes }));
    }

    fn say(&mut self, what: String) {
        self.out.push(Output::Event(what));
    }
}

impl Engine for Echo {
    type Command = Ask;
    type Event = String;

    fn handle(&mut self, input: Input<'_, Ask>, cx: &mut Ctx<'_>) {
        match input {
            Input::Packet { from, to, bytes } => {
                self.say(format!("{} bytes", bytes.len()));
                if bytes.len() < 4 {
                    self.send(to, from, Transport::Udp, [bytes, &[0]].concat());
                }
            }
            Input::Command(Ask::Send { to, transport }) => {
                self.send(self.local.expect("set by the test"), to, transport, vec![1]);
            }
            Input::Command(Ask::WakeAfter(wait)) => self.wake = Some(cx.now + wait),
            Input::Tick => {
                assert!(self.wake.take().is_some_and(|at| at <= cx.now), "an early tick");
                self.say("tick".into());
            }
        }
    }

    fn poll(&mut self) -> Option<Output<String>> {
        (!self.out.is_empty()).then(|| self.out.remove(0))
    }

    fn deadline(&self) -> Option<Deadline> {
        self.wake.map(|at| Deadline { at, why: "test" })
    }
}

fn driver() -> (Driver<Echo, Null>, Addr) {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let sockets = Sockets::bind(&[any]).expect("loopback is there");
    let local = sockets.locals()[0];
    (Driver::new(Echo { local: Some(local), ..Echo::default() }, Null, sockets), local)
}

#[test]
fn two_drivers_talk_until_one_falls_silent() {
    let (mut a, _) = driver();
    let (mut b, b_address) = driver();
    a.command(Ask::Send { to: b_address, transport: Transport::Udp }, &mut NoTrace);
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

#[test]
fn what_cannot_be_sent_is_traced() {
    let (mut a, local) = driver();
    let mut facts = Vec::new();
    a.command(Ask::Send { to: local, transport: Transport::Ip }, &mut facts);
    a.command(Ask::Send { to: local.at_port(0), transport: Transport::Udp }, &mut facts);
    let why = |fact: &Fact| matches!(fact, Fact::Discarded { why, .. } if why.starts_with("live: "));
    assert!(facts.len() == 2 && facts.iter().all(why), "{facts:?}");
}

#[test]
fn a_taken_address_is_named() {
    let (a, local) = driver();
    let error = Sockets::bind(&[local.into()]).expect_err("taken").to_string();
    assert!(error.contains(&local.to_string()), "{error}");
    drop(a);
    Sockets::bind(&[local.into()]).expect("free again once the driver is gone");
}
