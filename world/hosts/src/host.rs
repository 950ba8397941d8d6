//! The interface of all hosts, whatever protocols they use.

use std::fmt;
use std::net::IpAddr;

use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};

use crate::event::{Event, Naming, SessionId};
use crate::traffic;

/// A request to a host. A host ignores orders that do not concern its kind.
#[derive(Debug)]
pub enum Order {
    /// Device: send an echo request to the gateway; sets up a session if there is none.
    Echo {
        /// Bytes after the ICMP echo header.
        payload_bytes: usize,
    },
    /// Device: authenticate anew while there is a session, and close the old one then; sets up a session if there is none.
    Reauthenticate,
    /// Refuse new conversations; those under way may finish.
    Drain,
    /// Device and gateway: close a session with all its child SAs.
    Close(SessionId),
    /// Device and gateway: rekey a session.
    Rekey(SessionId),
    /// Device and gateway: check the liveness of a session's peer.
    Probe(SessionId),
    /// Device and gateway: set up another traffic SA under a session.
    OpenChild(SessionId),
    /// Device and gateway: rekey the traffic SA with this inbound SPI.
    RekeyChild(SessionId, u32),
    /// Device and gateway: close the traffic SA with this inbound SPI.
    CloseChild(SessionId, u32),
    /// Device and gateway: start user traffic, or answer it.
    Traffic(Box<traffic::Config>),
    /// Device and gateway: stop user traffic and record its counters.
    TrafficEnd,
}

/// A device, a gateway or a server of any family, as the simulator and the live driver run it.
pub trait Host: Engine<Command = Order, Event = Event> + fmt::Debug + Send {
    /// What its sessions are called.
    fn naming(&self) -> Naming {
        Naming::NONE
    }

    /// This machine has a network interface from now on: decapsulated packets go there, not to the host.
    fn attach_interface(&mut self) {}

    /// The ends of its user traffic through SAs, if it is a device: its own address inside, and the gateway's.
    fn user_ends(&self) -> Option<[IpAddr; 2]> {
        None
    }

    /// Its open state by kind, with counts: all must be zero after teardown.
    fn holds(&self) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    /// The number of conversations under way, established sessions excluded; a shutdown waits for them.
    fn under_way_count(&self) -> usize {
        0
    }

    /// Forgets what would shorten the next authentication.
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

    fn rest(&mut self) {
        (**self).rest();
    }
}
