//! Two hosts that send each other the same datagram.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use keytoll_engine::trace::{Node, Protocol};
use keytoll_engine::{Ctx, Datagram, Deadline, Engine, Input, Output, Time};
use keytoll_net::Addr;
use keytoll_sim::{Direction, Free, LinkConfig, NodeConfig, World};

use crate::no_crypto::NoCrypto;

/// How often it is sent.
pub(crate) const DATAGRAMS: u32 = 100_000;
const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))];

/// Answers every datagram with an equal one, a given number of times, and has a deadline that never comes.
pub(crate) struct Echo {
    left: u32,
    out: Option<Output<()>>,
    deadline: Time,
}

impl Engine for Echo {
    type Command = Datagram;
    type Event = ();

    fn handle(&mut self, input: Input<'_, Datagram>, cx: &mut Ctx<'_>) {
        self.deadline = cx.now + Duration::from_secs(1);
        self.out = match input {
            Input::Command(datagram) => Some(Output::Datagram(datagram)),
            Input::Datagram { from, to, bytes } if self.left > 0 => {
                self.left -= 1;
                Some(Output::Datagram(datagram(to, from, bytes.to_vec())))
            }
            _ => Some(Output::Event(())),
        };
    }

    fn poll(&mut self) -> Option<Output<()>> {
        self.out.take()
    }

    fn deadline(&self) -> Option<Deadline> {
        Some(Deadline { at: self.deadline, why: "bench" })
    }
}

fn datagram(from: Addr, to: Addr, bytes: Vec<u8>) -> Datagram {
    Datagram { protocol: Protocol::new(&"echo"), from, to, bytes }
}

/// A world of both hosts with so many datagrams in flight at a time.
pub(crate) fn world(direction: Direction, in_flight: u32) -> World<Echo, NoCrypto> {
    let mut world = World::new(1, Free);
    let nodes = [Node::Ue, Node::Gw].map(|name| {
        let echo = Echo { left: DATAGRAMS / 2, out: None, deadline: Time::MAX };
        world.add_node(NodeConfig::new(name), echo, NoCrypto)
    });
    (0..2).for_each(|i| world.add_address(nodes[i], ADDRESSES[i]));
    world.add_link(nodes[0], nodes[1], &LinkConfig::symmetric(direction));
    let [ue, gw] = ADDRESSES.map(|ip| Addr::udp(ip, 500));
    (0..in_flight).for_each(|_| world.command(nodes[0], datagram(ue, gw, vec![7; 300])));
    world
}
