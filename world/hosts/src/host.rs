//! What all hosts have in common, and the enum that lets one world hold different ones.

use std::net::IpAddr;

use keytoll_engine::suite::Suite;
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};
use keytoll_ike::v2;
use keytoll_ike::wire::TrafficSelector;

use crate::{Aaa, Device, Gateway, Hss, traffic};

/// What may be asked of a host.
#[derive(Debug)]
pub enum Command {
    /// Device: send an echo request to the gateway; sets up an SA if there is none.
    Echo {
        /// Bytes after the ICMP echo header.
        payload_bytes: usize,
    },
    /// Any host: let nobody begin any more; those that began may go on.
    Drain,
    /// Any host: ask its IKE endpoint.
    Ike(v2::Command),
    /// Device and gateway: begin traffic of users, or to answer it.
    Traffic(Box<traffic::Config>),
    /// Device and gateway: it is over; tell what was.
    TrafficEnd,
}

/// What a host tells whoever drives it.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Device: an SA can be used.
    Usable,
    /// Device: its attempt to get an SA with the gateway there is over, though IKE has said nothing of a failure.
    GaveUp(v2::Reason, IpAddr),
    /// Device: the answer to an echo request came back.
    EchoReply,
    /// Device and gateway: traffic of users has ended and was told.
    TrafficEnded,
    /// Device and gateway: an SA for traffic is there.
    ChildUp(Child),
    /// Device and gateway: an SA for traffic has new keys.
    ChildRekeyed {
        /// SPI that the replaced one receives on.
        old: u32,
        /// The new one.
        new: Child,
    },
    /// Device and gateway: the SA for traffic that receives on this SPI is gone.
    ChildDown(u32),
    /// AAA server: somebody was let in, under this name.
    Accepted(Vec<u8>),
    /// AAA server: somebody was not let in.
    Rejected {
        /// What it calls itself.
        name: Vec<u8>,
        /// Why.
        why: &'static str,
    },
    /// HSS: a question was answered.
    Answered {
        /// The IMSI's digits.
        imsi: String,
        /// How many vectors, or why none.
        outcome: Result<usize, keytoll_diameter::Refusal>,
    },
    /// Any host: what its IKE endpoint told it.
    Ike(v2::Event),
}

/// An SA for traffic, without its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// The IKE SA that it came up under.
    pub sa: v2::SaId,
    /// SPI we receive on.
    pub inbound_spi: u32,
    /// SPI the peer receives on.
    pub outbound_spi: u32,
    /// Algorithms.
    pub suite: Suite,
    /// Our side of the traffic, the first selector of it.
    pub local: Option<TrafficSelector>,
    /// The peer's side.
    pub remote: Option<TrafficSelector>,
    /// Whether it travels in UDP (RFC 3948).
    pub encapsulated: bool,
}

impl Child {
    pub(crate) fn of(sa: v2::SaId, child: &v2::ChildSa) -> Self {
        Self {
            sa,
            inbound_spi: child.inbound_spi,
            outbound_spi: child.outbound_spi,
            suite: child.suite,
            local: child.local.first().copied(),
            remote: child.remote.first().copied(),
            encapsulated: child.encapsulation.is_some(),
        }
    }
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

impl Host {
    /// From now on this machine has an interface: what comes out of SAs is for it, not for the host.
    pub fn attach_interface(&mut self) {
        match self {
            Self::Device(device) => device.attach_interface(),
            Self::Gateway(gateway) => gateway.attach_interface(),
            Self::Aaa(_) | Self::Hss(_) => {}
        }
    }
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
