//! What all hosts have in common, and the enum that lets one world hold different ones.

use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_ike::v2;

use crate::{Aaa, Device, Gateway, Hss};

/// What may be asked of a host.
#[derive(Debug)]
pub enum Command {
    /// Device: send an echo request to the gateway; sets up an SA if there is none.
    Echo {
        /// Bytes after the ICMP echo header.
        payload_bytes: usize,
    },
    /// Any host: ask its IKE endpoint.
    Ike(v2::Command),
}

/// What a host tells whoever drives it.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Device: an SA can be used.
    Usable,
    /// Device: the answer to an echo request came back.
    EchoReply,
    /// Any host: what its IKE endpoint told it.
    Ike(v2::Event),
}

/// Any host.
#[derive(Debug)]
pub enum Host {
    /// A device.
    Device(Box<Device>),
    /// A gateway.
    Gateway(Box<Gateway>),
    /// An AAA server.
    Aaa(Box<Aaa>),
    /// An HSS.
    Hss(Box<Hss>),
}

impl Engine for Host {
    type Command = Command;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Command>, cx: &mut Ctx<'_>) {
        match self {
            Self::Device(device) => device.handle(input, cx),
            Self::Gateway(gateway) => gateway.handle(input, cx),
            Self::Aaa(aaa) => aaa.handle(input, cx),
            Self::Hss(hss) => hss.handle(input, cx),
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        match self {
            Self::Device(device) => device.poll(),
            Self::Gateway(gateway) => gateway.poll(),
            Self::Aaa(aaa) => aaa.poll(),
            Self::Hss(hss) => hss.poll(),
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::Device(device) => device.deadline(),
            Self::Gateway(gateway) => gateway.deadline(),
            Self::Aaa(aaa) => aaa.deadline(),
            Self::Hss(hss) => hss.deadline(),
        }
    }
}
