//! The echo requests of a device: sent through the SA, or kept until there is one. RFC 792, RFC 4443 §4.1.

use std::collections::VecDeque;
use std::net::IpAddr;

use keytoll_engine::Ctx;

use super::{Echoes, Fate, Out, Path, UserPlane};
use crate::icmp::{self, Echo};
use crate::ip;
use crate::ipsec::Delivered;

/// At most so many echo requests wait for an SA; more are dropped.
const WAITING_MAX: usize = 16;
/// Of the host's own echo requests.
const IDENTIFIER: u16 = 1;

/// A host that requests echoes.
#[derive(Debug)]
pub struct Requester {
    /// Our address inside the SAs.
    inside: IpAddr,
    /// Whom we request echoes of.
    target: IpAddr,
    waiting: VecDeque<Vec<u8>>,
    /// Sequence number of its last echo request.
    sequence: Option<u16>,
}

impl Requester {
    /// Requests echoes of `target` from `inside`.
    pub const fn new(inside: IpAddr, target: IpAddr) -> Self {
        Self { inside, target, waiting: VecDeque::new(), sequence: None }
    }

    /// The next request with these data, as an IP packet; none if its ends are of different families.
    fn request(&mut self, data: Vec<u8>) -> Option<Vec<u8>> {
        let sequence = self.sequence.map_or(1, |last| last.wrapping_add(1));
        self.sequence = Some(sequence);
        let (source, destination) = (self.inside, self.target);
        let echo = Echo { reply: false, identifier: IDENTIFIER, sequence, data };
        let payload = echo.write(source, destination);
        ip::Packet { source, destination, protocol: icmp::protocol(source), payload: &payload }.write()
    }

    /// Whether a packet answers our last echo request.
    fn is_our_reply(&self, packet: &Delivered) -> bool {
        let echo = || Echo::read(packet.source, packet.destination, packet.payload()).ok().flatten();
        packet.protocol == icmp::protocol(packet.source)
            && echo().is_some_and(|echo| {
                echo.reply && (echo.identifier, Some(echo.sequence)) == (IDENTIFIER, self.sequence)
            })
    }
}

impl Echoes for Requester {
    fn fate(&mut self, packet: Delivered, has_interface: bool) -> Fate {
        if self.is_our_reply(&packet) {
            return Fate::Awaited;
        }
        if has_interface {
            return Fate::Interface(packet);
        }
        let is_icmp = packet.protocol == icmp::protocol(packet.source);
        Fate::Discarded(is_icmp.then_some("icmp: not the reply we wait for"))
    }
}

/// What is kept of one at rest.
#[derive(Debug)]
pub(super) struct Standing {
    inside: IpAddr,
    target: IpAddr,
    sequence: Option<u16>,
}

impl Standing {
    /// Our address inside the SAs, and that of whom we request echoes.
    pub(super) const fn ends(&self) -> [IpAddr; 2] {
        [self.inside, self.target]
    }
}

impl Requester {
    /// What must be remembered, unless requests wait.
    pub(super) fn stand(&self) -> Option<Standing> {
        let &Self { inside, target, ref waiting, sequence } = self;
        waiting.is_empty().then_some(Standing { inside, target, sequence })
    }

    /// The requester as it was.
    pub(super) fn resume(Standing { inside, target, sequence }: Standing) -> Self {
        Self { sequence, ..Self::new(inside, target) }
    }
}

impl<P: Path> UserPlane<Requester, P> {
    /// Our address inside the SAs, and that of whom we request echoes.
    pub const fn ends(&self) -> [IpAddr; 2] {
        [self.echoes.inside, self.echoes.target]
    }

    /// We have another address inside the SAs.
    pub const fn moved_to(&mut self, inside: IpAddr) {
        self.echoes.inside = inside;
    }

    /// Echoes are requested of another host.
    pub const fn aim(&mut self, target: IpAddr) {
        self.echoes.target = target;
    }

    /// Requests an echo, or keeps the request until there is an SA ([`Self::release`]); whether there is one.
    pub fn echo(&mut self, payload_bytes: usize, out: &mut Out, cx: &mut Ctx<'_>) -> bool {
        let data = vec![0; payload_bytes];
        let is_reachable = self.sas.reaches(self.echoes.target);
        if is_reachable {
            self.request(data, out, cx);
        } else if self.echoes.waiting.len() < WAITING_MAX {
            self.echoes.waiting.push_back(data);
        }
        is_reachable
    }

    /// Sends the requests that wait for an SA.
    pub fn release(&mut self, out: &mut Out, cx: &mut Ctx<'_>) {
        while let Some(data) = self.echoes.waiting.pop_front() {
            self.request(data, out, cx);
        }
    }

    /// Forgets the requests that wait for an SA.
    pub fn forget_waiting(&mut self) {
        self.echoes.waiting.clear();
    }

    fn request(&mut self, data: Vec<u8>, out: &mut Out, cx: &mut Ctx<'_>) {
        if let Some(packet) = self.echoes.request(data) {
            self.forward(&packet, out, cx);
        }
    }
}
