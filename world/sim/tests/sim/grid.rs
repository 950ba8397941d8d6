//! Snapshot of how long a stop-and-wait transfer takes over links of various loss and rate.

use std::fmt::Write as _;

use keytoll_engine::trace::{NoTrace, Node};
use keytoll_engine::{Ctx, Datagram, Deadline, Engine, Input, Output, Time};
use keytoll_net::Addr;
use keytoll_sim::{Direction, Free, LinkConfig, Loss, NodeConfig, World};

use crate::no_crypto::NoCrypto;
use crate::toy::{GW, TOY, UE, addr, millis};

const BLOCKS: u16 = 200;
const BLOCK_BYTES: usize = 1000;

/// Sends numbered blocks and retransmits each every second until it is acknowledged; or acknowledges them.
struct Host {
    me: Addr,
    other: Addr,
    block: u16,
    again_at: Option<Time>,
    sent: u32,
    out: Option<Output<u32>>,
}

impl Host {
    fn new(me: &str, other: &str) -> Self {
        Self { me: addr(me), other: addr(other), block: 0, again_at: None, sent: 0, out: None }
    }

    fn datagram(&self, bytes: Vec<u8>) -> Option<Output<u32>> {
        let protocol = TOY;
        Some(Output::Datagram(Datagram { protocol, from: self.me, to: self.other, bytes }))
    }

    fn send_block(&mut self, now: Time) {
        let mut bytes = vec![0; BLOCK_BYTES];
        bytes[..2].copy_from_slice(&self.block.to_be_bytes());
        self.again_at = Some(now + millis(1000));
        self.sent += 1;
        self.out = self.datagram(bytes);
    }

    fn on_acknowledgement(&mut self, block: u16, now: Time) {
        if block != self.block {
            return;
        }
        self.block += 1;
        if self.block < BLOCKS {
            return self.send_block(now);
        }
        self.again_at = None;
        self.out = Some(Output::Event(self.sent));
    }
}

impl Engine for Host {
    type Command = ();
    type Event = u32;

    fn handle(&mut self, input: Input<'_, ()>, cx: &mut Ctx<'_>) {
        match input {
            Input::Command(()) | Input::Tick => self.send_block(cx.now),
            Input::Datagram { bytes: [high, low], .. } => {
                self.on_acknowledgement(u16::from_be_bytes([*high, *low]), cx.now);
            }
            Input::Datagram { bytes, .. } => self.out = self.datagram(bytes[..2].to_vec()),
            Input::Inner(_) | Input::Secured { .. } | Input::Lost { .. } | Input::Recover => {
                unreachable!("no simulator says so")
            }
        }
    }

    fn poll(&mut self) -> Option<Output<u32>> {
        self.out.take()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.again_at.map(|at| Deadline { at, why: "not acknowledged" })
    }
}

/// When the last block was acknowledged, and how many were sent for it.
fn transfer(direction: Direction) -> (Time, u32) {
    let mut world = World::new(1, Free);
    let ue = world.add_node(NodeConfig::new(Node::Ue), Host::new(UE[0], GW[0]), NoCrypto);
    let gw = world.add_node(NodeConfig::new(Node::Gw), Host::new(GW[0], UE[0]), NoCrypto);
    world.add_address(ue, addr(UE[0]).ip().unwrap());
    world.add_address(gw, addr(GW[0]).ip().unwrap());
    world.add_link(ue, gw, &LinkConfig::symmetric(direction));
    world.command(ue, ());
    let (at, _, sent) = world.run_until(Time::MAX, &mut NoTrace).unwrap();
    (at, sent)
}

#[test]
fn a_transfer_over_loss_and_rate() {
    let mut table = format!("{BLOCKS} blocks of {BLOCK_BYTES} bytes, 20 ms one way\n   loss");
    let rates = [Some(64_000), Some(384_000), Some(10_000_000), None];
    for rate in rates {
        let name = rate.map_or("no limit".to_owned(), |rate: u64| format!("{} kbit/s", rate / 1000));
        write!(table, "{name:>24}").unwrap();
    }
    for loss_percent in [0, 1, 5, 10, 30] {
        write!(table, "\n{loss_percent:>5} %").unwrap();
        for rate_bits_per_s in rates {
            let loss = Loss::Uniform(f64::from(loss_percent) / 100.0);
            let direction = Direction { delay: millis(20), rate_bits_per_s, loss, ..Direction::default() };
            let (at, sent) = transfer(direction);
            let cell = format!("{at} ({sent})");
            write!(table, "{cell:>24}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}
