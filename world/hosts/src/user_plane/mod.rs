//! The user plane of a device or gateway: its SAs for traffic, and what goes through them, whichever key exchange has
//! negotiated them. RFC 4301 §5 is what the SAs of IPsec do; a [`Path`] may be something else.
//!
//! ```text
//!   Order::Echo, Order::Traffic --> Requester, Station --.
//!   Input::Inner (the interface) ------------------------+--> SaTable --> Output::Datagram
//!   Input::Datagram with ESP --> SaTable --> Station?
//!                                   '--no--> Requester: the reply we wait for?    (device)
//!                                   '--no--> Responder: answers an echo request   (gateway)
//!                                   '--no--> Output::Inner, if there is an interface
//! ```
//!
//! Its owner tells it of SAs ([`UserPlane::sas`]), orders and ticks, and asks it for events of the SAs and its next
//! deadline.

mod path;
mod requester;
mod responder;
mod standing;

use std::collections::VecDeque;
use std::fmt;

use keytoll_crypto_api::Rng;
use keytoll_engine::trace::{Fact, Protocol};
use keytoll_engine::{Ctx, Deadline, Output, Time};
use keytoll_net::Addr;

pub use path::Path;
pub use requester::Requester;
pub use responder::Responder;
pub use standing::Standing;

use crate::ipsec::{Delivered, SaLimits, SaTable};
use crate::traffic::Station;
use crate::{Event, Order};

/// What a host sends and reports, in order.
pub type Out = VecDeque<Output<Event>>;

/// The user plane of a host that requests or answers echoes.
#[derive(Debug)]
pub struct UserPlane<E, P = SaTable> {
    /// The SAs for traffic.
    pub sas: P,
    /// User traffic, if configured. A device of a population has none, and is moved often.
    station: Option<Box<Station>>,
    /// Whether this machine has a network interface, which receives the decapsulated packets.
    has_interface: bool,
    /// For what ESP draws by lot.
    rng: Rng,
    /// Our part in echoes.
    echoes: E,
}

/// A host's part in echoes: [`Requester`] or [`Responder`].
pub trait Echoes: fmt::Debug {
    /// What becomes of a packet that was decapsulated and belongs to no station.
    fn fate(&mut self, packet: Delivered, has_interface: bool) -> Fate;
}

/// What becomes of a packet that was decapsulated.
#[derive(Debug)]
pub enum Fate {
    /// It is the reply that the host waits for.
    Awaited,
    /// It was a request, and this IP packet answers it.
    Answered(Vec<u8>),
    /// It goes to the interface of this machine.
    Interface(Delivered),
    /// Nobody wants it: for this reason, or for none worth a fact.
    Discarded(Option<&'static str>),
}

impl<E: Echoes> UserPlane<E> {
    /// Without SAs; `rng` is for what ESP draws by lot.
    pub fn new(echoes: E, rng: Rng) -> Self {
        Self::over(SaTable::default(), echoes, rng)
    }

    /// Limits the lifetime of its SAs.
    pub const fn limit(&mut self, limits: SaLimits) {
        self.sas.limit(limits);
    }

    /// Processes an ESP packet; the inbound SPI of the SA that has opened it.
    pub fn arrived(
        &mut self,
        from: Addr,
        to: Addr,
        esp: &[u8],
        out: &mut Out,
        cx: &mut Ctx<'_>,
    ) -> Option<u32> {
        let (spi, packet) = self.sas.open(from, to, esp, cx)?;
        self.deliver(packet, out, cx);
        Some(spi)
    }
}

impl<E: Echoes, P: Path> UserPlane<E, P> {
    /// Over a path; `rng` is for what that draws by lot.
    pub const fn over(path: P, echoes: E, rng: Rng) -> Self {
        Self { sas: path, station: None, has_interface: false, rng, echoes }
    }

    /// This machine has a network interface from now on.
    pub const fn attach_interface(&mut self) {
        self.has_interface = true;
    }

    /// Starts or ends user traffic; gives an order back that does not concern it.
    pub fn traffic(&mut self, order: Order, out: &mut Out, cx: &mut Ctx<'_>) -> Option<Order> {
        match order {
            Order::Traffic(config) => {
                self.station = Some(Box::new(Station::begin(&config, &self.sas, cx)));
            }
            Order::TrafficEnd => {
                self.station.take().into_iter().for_each(|station| station.end(cx));
                out.push_back(Output::Event(Event::TrafficEnded));
            }
            other => return Some(other),
        }
        None
    }

    /// Processes a datagram if it is user traffic outside the SAs; whether it was.
    pub fn arrived_plain(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) -> bool {
        let station = self.station.as_mut().filter(|station| station.takes_plain(to));
        station.map(|station| station.arrived_plain(from, to, bytes, cx)).is_some()
    }

    /// Brings a packet that was decapsulated to whoever wants it.
    pub fn deliver(&mut self, packet: Delivered, out: &mut Out, cx: &mut Ctx<'_>) {
        if self.station.as_mut().is_some_and(|station| station.arrived(&packet.as_packet(), cx)) {
            return;
        }
        match self.echoes.fate(packet, self.has_interface) {
            Fate::Awaited => {
                cx.trace.record(Fact::FirstPacket);
                out.push_back(Output::Event(Event::EchoReply));
            }
            Fate::Answered(packet) => self.forward(&packet, out, cx),
            Fate::Interface(packet) => out.extend(packet.into_packet().map(Output::Inner)),
            Fate::Discarded(why) => why.into_iter().for_each(|why| cx.discard(Protocol::ICMP, why)),
        }
    }

    /// Sends an IP packet through the SA for it; a missing SA is traced.
    pub fn forward(&mut self, packet: &[u8], out: &mut Out, cx: &mut Ctx<'_>) {
        let sealed = self.sas.forward(packet, &mut self.rng, cx);
        out.extend(sealed.map(Output::Datagram));
    }

    /// Sends what user traffic has queued; whether there is user traffic, so that SAs may have events.
    pub fn flush(&mut self, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let Self { sas, station, rng, .. } = self;
        station.as_mut().map(|station| station.flush((sas, rng), out, cx)).is_some()
    }

    /// Something may be due.
    pub fn tick(&mut self, now: Time) {
        self.sas.expire(now);
        self.station.iter_mut().for_each(|station| station.tick(now));
    }

    /// When something is due.
    pub fn deadline(&self) -> Option<Deadline> {
        Deadline::earlier(self.sas.deadline(), self.station.as_ref().and_then(|station| station.deadline()))
    }
}

#[cfg(test)]
mod tests;
