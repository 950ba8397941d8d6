//! A device that stands between any two inputs sends, reports and records the same bytes as one that never does.

use std::collections::VecDeque;
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::Seed;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Datagram, Engine, Input, Output, Time};
use keytoll_hosts::{Device, DeviceConfig, Event, Gateway, GatewayConfig, Host, Order, SessionId};

use crate::children::{ADDRESS, config};

/// A device, a gateway, and all that happened.
struct Pair {
    device: Device,
    gateway: Gateway,
    rests: bool,
    crypto: Real,
    now: Time,
    wire: VecDeque<Datagram>,
    facts: Vec<Fact>,
    journal: Vec<String>,
    session: Option<SessionId>,
    child: Option<u32>,
    /// After how many inputs it stood.
    stood: usize,
}

impl Pair {
    fn new(rests: bool) -> Self {
        let seed = Seed::from(7);
        let device = DeviceConfig {
            ike: config(0),
            address: ADDRESS[0],
            gateway: ADDRESS[1],
            inner: None,
            target: ADDRESS[1],
            eap: None,
        };
        let gateway = GatewayConfig { ike: config(1), address: ADDRESS[1], inner: vec![], aaa: None };
        Self {
            device: Device::new(device, &seed, "ue"),
            gateway: Gateway::new(gateway, &seed, "gw"),
            rests,
            crypto: Real::default(),
            now: Time::ZERO,
            wire: VecDeque::new(),
            facts: Vec::new(),
            journal: Vec::new(),
            session: None,
            child: None,
            stood: 0,
        }
    }

    fn give(&mut self, is_device: bool, input: Input<'_, Order>) {
        let host: &mut dyn Host = if is_device { &mut self.device } else { &mut self.gateway };
        host.handle(input, &mut Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut self.facts });
        while let Some(output) = host.poll() {
            self.journal.push(format!("{:?} {is_device} {output:?}", self.now));
            match output {
                Output::Datagram(datagram) => self.wire.push_back(datagram),
                Output::Event(Event::Established(up)) if is_device => self.session = Some(up.session),
                Output::Event(Event::Rekeyed { new, .. }) if is_device => self.session = Some(new),
                Output::Event(Event::ChildUp(child)) if is_device => self.child = Some(child.inbound_spi),
                Output::Event(_) | Output::Inner(_) | Output::Close { .. } => {}
            }
        }
        if self.rests {
            let deadline = self.device.deadline();
            self.device.rest();
            assert_eq!(self.device.deadline(), deadline, "it needs its tick all the same");
            self.stood += usize::from(format!("{:?}", self.device).starts_with("Device(Standing"));
        }
    }

    fn order(&mut self, order: Order) {
        self.give(true, Input::Command(order));
        while let Some(Datagram { from, to, bytes, .. }) = self.wire.pop_front() {
            self.give(to.ip() == Some(ADDRESS[0]), Input::Datagram { from, to, bytes: &bytes });
        }
    }

    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let of = |host: &dyn Host| host.deadline().map(|deadline| deadline.at);
            let due = [of(&self.device), of(&self.gateway)].into_iter().flatten().min();
            let Some(at) = due.filter(|at| *at <= end) else { break };
            self.now = at.max(self.now);
            [true, false].into_iter().for_each(|is_device| self.give(is_device, Input::Tick));
        }
        self.now = end;
    }
}

fn life(rests: bool) -> Pair {
    let mut pair = Pair::new(rests);
    let echo = || Order::Echo { payload_bytes: 56 };
    pair.order(echo());
    pair.order(echo());
    pair.order(Order::Reauthenticate);
    pair.wait(Duration::from_secs(3));
    pair.order(echo());
    pair.wait(Duration::from_secs(300));
    pair.order(Order::Rekey(pair.session.expect("it is up")));
    pair.order(Order::RekeyChild(pair.session.expect("it is up"), pair.child.expect("it is up")));
    pair.wait(Duration::from_secs(300));
    pair.order(echo());
    pair.order(Order::Close(pair.session.expect("it is up")));
    pair.wait(Duration::from_secs(300));
    pair.order(echo());
    pair
}

#[test]
fn a_device_that_has_stood_goes_on_as_if_it_had_not() {
    let (never, always) = (life(false), life(true));
    assert_eq!(always.journal, never.journal);
    assert_eq!(always.facts, never.facts);
    let replies = always.facts.iter().filter(|fact| **fact == Fact::FirstPacket).count();
    assert!(replies == 5 && always.stood > 10 && never.stood == 0, "{replies}, {}", always.stood);
}
