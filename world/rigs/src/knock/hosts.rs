//! Device and gateway around the engines of Knock.

use std::collections::VecDeque;

use keytoll_crypto_api::Seed;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Addr, Ctx, Deadline, Engine, Input, Output};
use keytoll_hosts::described::{Details, Fields, Value};
use keytoll_hosts::event::{Established, Failure, Reason};
use keytoll_hosts::{Event, Host, Order, SessionId};
use keytoll_knock::initiator::{Command, Event as Asked};
use keytoll_knock::responder::Event as Answered;
use keytoll_knock::{Config, Initiator, Responder, Session};

/// Why a session ends.
const OVER: Reason = Reason::new("lifetime");

const fn id(session: Session) -> SessionId {
    SessionId(session.0)
}

fn established(session: Session, peer: Option<Addr>) -> Event {
    let fields = Fields::new().with("remote", peer.map(Value::shown));
    let details = Details::of(Box::new(fields));
    Event::Established(Established { session: id(session), address: None, authenticated_for: None, details })
}

fn closed(session: Session, cx: &mut Ctx<'_>) -> Event {
    cx.trace.record(Fact::Closed { why: OVER.name.into() });
    Event::Closed { session: id(session), why: OVER }
}

/// The device: opens a session when it wants to reach the gateway and has none.
#[derive(Debug)]
pub(super) struct Device {
    engine: Initiator,
    local: Addr,
    gateway: Addr,
    out: VecDeque<Output<Event>>,
}

impl Device {
    pub(super) fn new(config: Config, [local, gateway]: [Addr; 2], seed: &Seed) -> Self {
        Self { engine: Initiator::new(config, seed, "ue"), local, gateway, out: VecDeque::new() }
    }

    fn on_order(&mut self, order: &Order, cx: &mut Ctx<'_>) {
        let command = match order {
            Order::Echo { .. } if self.engine.session_count() == 0 => {
                cx.trace.record(Fact::Triggered);
                Command::Open { local: self.local, peer: self.gateway }
            }
            Order::Close(_) => Command::Close,
            _ => return,
        };
        self.engine.handle(Input::Command(command), cx);
    }

    fn on_event(&mut self, event: Asked, cx: &mut Ctx<'_>) {
        let told = match event {
            Asked::Opened(session) => {
                cx.trace.record(Fact::Usable);
                vec![established(session, Some(self.gateway)), Event::Usable]
            }
            Asked::TimedOut => {
                let why = Reason::TIMEOUT;
                cx.trace.record(Fact::Failed { why: why.name.into() });
                vec![Event::Failed(Box::new(Failure { session: None, why, likely: None, peer: None }))]
            }
            Asked::Closed(session) => vec![closed(session, cx)],
        };
        self.out.extend(told.into_iter().map(Output::Event));
    }
}

impl Engine for Device {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        match input.command() {
            Ok(order) => self.on_order(&order, cx),
            Err(input) => self.engine.handle(input, cx),
        }
        while let Some(output) = self.engine.poll() {
            match output.event() {
                Ok(event) => self.on_event(event, cx),
                Err(output) => self.out.push_back(output),
            }
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.engine.deadline()
    }
}

impl Host for Device {
    fn holds(&self) -> Vec<(&'static str, usize)> {
        vec![("sessions", self.engine.session_count())]
    }
}

/// The gateway.
#[derive(Debug)]
pub(super) struct Gateway {
    engine: Responder,
    out: VecDeque<Output<Event>>,
}

impl Gateway {
    pub(super) fn new(config: Config, seed: &Seed) -> Self {
        Self { engine: Responder::new(config, seed, "gw"), out: VecDeque::new() }
    }

    fn on_event(&mut self, event: Answered, cx: &mut Ctx<'_>) {
        let told = match event {
            Answered::Opened(session, peer) => established(session, Some(peer)),
            Answered::Closed(session) => closed(session, cx),
        };
        self.out.push_back(Output::Event(told));
    }
}

impl Engine for Gateway {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        match input.command() {
            Ok(Order::Close(session)) => {
                self.engine.handle(Input::Command(Session(session.0)), cx);
            }
            Ok(_) => {}
            Err(input) => self.engine.handle(input, cx),
        }
        while let Some(output) = self.engine.poll() {
            match output.event() {
                Ok(event) => self.on_event(event, cx),
                Err(output) => self.out.push_back(output),
            }
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.engine.deadline()
    }
}

impl Host for Gateway {
    fn holds(&self) -> Vec<(&'static str, usize)> {
        vec![("sessions", self.engine.session_count())]
    }
}
