//! What all hosts have in common, whatever their devices and gateways speak.

use std::fmt;
use std::net::IpAddr;

use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};

use crate::event::{Event, Naming, SessionId};
use crate::traffic;

/// What may be asked of a host. What is not for a host of its kind it ignores.
#[derive(Debug)]
pub enum Order {
    /// Device: send an echo request to the gateway; sets up a session if there is none.
    Echo {
        /// Bytes after the ICMP echo header.
        payload_bytes: usize,
    },
    /// Let nobody begin any more; those that began may go on.
    Drain,
    /// Device and gateway: close a session and all its child SAs.
    Close(SessionId),
    /// Device and gateway: replace the keys of a session.
    Rekey(SessionId),
    /// Device and gateway: ask the peer of a session whether it lives.
    Probe(SessionId),
    /// Device and gateway: set up one more SA for traffic under a session.
    OpenChild(SessionId),
    /// Device and gateway: replace the keys of the SA for traffic that we receive on this SPI.
    RekeyChild(SessionId, u32),
    /// Device and gateway: close the SA for traffic that we receive on this SPI.
    CloseChild(SessionId, u32),
    /// Device and gateway: begin traffic of users, or to answer it.
    Traffic(Box<traffic::Config>),
    /// Device and gateway: it is over; tell what was.
    TrafficEnd,
}

/// A device, a gateway or a server of any family: what simulator, daemons and launchers drive.
pub trait Host: Engine<Command = Order, Event = Event> + fmt::Debug + Send {
    /// What its sessions are called.
    fn naming(&self) -> Naming {
        Naming::NONE
    }

    /// From now on this machine has an interface: what comes out of SAs is for it, not for the host.
    fn attach_interface(&mut self) {}

    /// The address that traffic of its users comes from, if it is a device.
    fn source(&self) -> Option<IpAddr> {
        None
    }

    /// What it holds, and how much of it: nothing may be left when all is over.
    fn holds(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    /// How many conversations are under way, sessions that are up not counted: whoever ends the host waits for them.
    fn under_way_count(&self) -> usize {
        0
    }

    /// Forgets what would make the next authentication shorter than the first one.
    fn forget(&mut self) {}
}

impl Engine for Box<dyn Host> {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        (**self).handle(input, cx);
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        (**self).poll()
    }

    fn deadline(&self) -> Option<Deadline> {
        (**self).deadline()
    }
}
