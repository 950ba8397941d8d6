//! The child SAs of a host: what is sealed into which, what arrives on which.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use std::time::Duration;

use keytoll_engine::crypto::Phase;
use keytoll_engine::map::FastMap;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Addr, Ctx, Datagram, Deadline, Rng, Time, Transport};
use keytoll_esp::lifetime::Lifetime;
use keytoll_esp::replay::Window;
use keytoll_esp::sad::{Headers, Path, Start};
use keytoll_esp::selector::{Selector, Selectors};
use keytoll_esp::{Arrived, Event, Frame, HEADROOM, Ipsec, Mode, PairConfig, Sent, TAILROOM, TrafficKey};
use keytoll_ike::v2::{self, ChildKeys, ChildSa, SaId};
use keytoll_ike::wire::TrafficSelector;

use crate::{ike, ip};

/// How long every pair of SAs of a host may serve, and its anti-replay window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaLimits {
    /// In bytes and packets, each half by itself.
    pub lifetime: Lifetime,
    /// Packets: [`Window::SIZES`].
    pub replay_window: u32,
}

impl Default for SaLimits {
    fn default() -> Self {
        Self { lifetime: Lifetime::NONE, replay_window: Window::SIZE_DEFAULT }
    }
}

/// The child SAs of a host.
#[derive(Debug, Default)]
pub(crate) struct SaTable {
    ipsec: Ipsec,
    /// Pairs that others have replaced, by the SPI that they receive on, and until when they do; the first to end first.
    replaced: VecDeque<(Time, u32)>,
    /// What every pair may.
    limits: SaLimits,
    /// Under which IKE SA each pair is, and the pairs of each IKE SA, by the SPI that they receive on.
    owners: FastMap<u32, SaId>,
    pairs: BTreeSet<(SaId, u32)>,
}

/// How long what was sent before a rekeying may be on its way: strongSwan's `delete_rekeyed_delay`.
const REPLACED_FOR: Duration = Duration::from_secs(5);

/// An IP packet that came out of an SA.
pub(crate) struct Delivered {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    /// Header and payload; in transport mode the payload alone.
    bytes: Vec<u8>,
    header_len: usize,
}

/// Without what it carries, which nobody is to read in a log.
impl fmt::Debug for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { source, destination, protocol, ref bytes, header_len } = self;
        let mut packet = f.debug_struct("Delivered");
        packet.field("source", &source).field("destination", &destination).field("protocol", &protocol);
        packet.field("length", &bytes.len()).field("header_len", &header_len).finish()
    }
}

impl Delivered {
    /// What the packet carries.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.bytes[self.header_len..]
    }

    /// As the packet that it was.
    pub(crate) fn as_packet(&self) -> ip::Packet<'_> {
        let &Self { source, destination, protocol, .. } = self;
        ip::Packet { source, destination, protocol, payload: self.payload() }
    }

    /// Its bytes, with a header of our own if a socket has kept the one it had.
    pub(crate) fn into_packet(self) -> Option<Vec<u8>> {
        if self.header_len > 0 { Some(self.bytes) } else { self.as_packet().write() }
    }
}

impl SaTable {
    /// What pairs that are installed from now on may.
    pub(crate) const fn limit(&mut self, limits: SaLimits) {
        self.limits = limits;
    }

    /// Installs a pair of SAs of an IKE SA between two outer addresses.
    pub(crate) fn install(&mut self, sa: SaId, child: ChildSa, local: IpAddr, remote: IpAddr) {
        self.owners.insert(child.inbound_spi, sa);
        self.pairs.insert((sa, child.inbound_spi));
        // One that was replaced makes way, and must not take this one along when its time has come.
        self.replaced.retain(|&(_, spi)| spi != child.inbound_spi);
        let key = |keys: ChildKeys| {
            TrafficKey::new(child.suite.encryption, child.suite.integrity, keys.encryption, keys.integrity)
        };
        let (transport, local, remote) = match child.encapsulation {
            Some((from, to)) => (Transport::Udp, from, to),
            None => (Transport::Ip, Addr::new(local, 0), Addr::new(remote, 0)),
        };
        self.ipsec.install(PairConfig {
            inbound_spi: child.inbound_spi,
            outbound_spi: child.outbound_spi,
            inbound_key: key(child.inbound),
            outbound_key: key(child.outbound),
            esn: child.suite.esn,
            mode: match child.mode {
                v2::Mode::Tunnel => Mode::Tunnel,
                v2::Mode::Transport => Mode::Transport,
            },
            selectors: Selectors { local: side(&child.local), remote: side(&child.remote) },
            path: Path { transport, local, remote, headers: Headers::Socket },
            follows_peer: child.encapsulation.is_some() && child.peer_may_move,
            // IKE does not tell them: checksums are computed anew.
            original: None,
            replay_window: self.limits.replay_window,
            lifetime: child
                .bytes_max
                .map_or(self.limits.lifetime, |bytes| self.limits.lifetime.within_bytes(bytes)),
            start: if child.peer_ready { Start::Now } else { Start::WhenHeard },
        });
    }

    /// The pair of an IKE SA that receives on this SPI is closed.
    // RFC 7296 §2.8: what was sent through the old SA may arrive after what was sent through the new one.
    pub(crate) fn remove(&mut self, sa: SaId, inbound_spi: u32, now: Time) {
        self.owners.remove(&inbound_spi);
        self.pairs.remove(&(sa, inbound_spi));
        if self.ipsec.is_replaced(inbound_spi) {
            self.ipsec.retire(inbound_spi);
            self.replaced.push_back((now + REPLACED_FOR, inbound_spi));
            return;
        }
        self.ipsec.remove(inbound_spi);
        // Whose successor is gone is over, too.
        let Self { ipsec, replaced, .. } = self;
        replaced.retain(|&(_, spi)| ipsec.is_replaced(spi) || !ipsec.remove(spi));
    }

    /// Forgets what has been replaced for long enough.
    pub(crate) fn expire(&mut self, now: Time) {
        while let Some(&(_, spi)) = self.replaced.front().filter(|(until, _)| *until <= now) {
            self.ipsec.remove(spi);
            self.replaced.pop_front();
        }
    }

    /// When [`Self::expire`] has something to forget.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        self.replaced.front().map(|&(at, _)| Deadline { at, why: "replaced SA forgotten" })
    }

    /// The children of an IKE SA are under the one that took its place.
    pub(crate) fn rekeyed(&mut self, old: SaId, new: SaId) {
        let moved: Vec<_> = self.pairs.range((old, 0)..=(old, u32::MAX)).copied().collect();
        for (_, spi) in moved {
            self.pairs.remove(&(old, spi));
            self.pairs.insert((new, spi));
            self.owners.insert(spi, new);
        }
    }

    /// What IKE should do about a pair that has served long enough, or whose peer was heard.
    pub(crate) fn poll(&mut self) -> Option<v2::Command> {
        while let Some(event) = self.ipsec.poll_event() {
            let (Event::RekeyWanted(spi) | Event::Expired(spi) | Event::Heard(spi)) = event;
            let Some(&sa) = self.owners.get(&spi) else { continue };
            return Some(match event {
                Event::RekeyWanted(_) => v2::Command::RekeyChild(sa, spi),
                Event::Expired(_) => v2::Command::DeleteChild(sa, spi),
                Event::Heard(_) => v2::Command::ChildHeard(sa, spi),
            });
        }
        None
    }

    /// Whether there is no SA but such as have been closed.
    pub(crate) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Whether traffic to this address has an SA.
    pub(crate) fn reaches(&self, destination: IpAddr) -> bool {
        self.ipsec.reaches(destination)
    }

    /// The longest IP packet to a destination that leaves in one of at most `mtu_bytes`.
    pub(crate) fn room_bytes(&self, destination: IpAddr, mtu_bytes: usize) -> Option<usize> {
        self.ipsec.room_bytes(destination, mtu_bytes)
    }

    /// Seals an IP payload into the SA for its destination; that there is none is traced.
    pub(crate) fn seal(
        &mut self,
        packet: &ip::Packet<'_>,
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Option<Datagram> {
        self.forward(&packet.write()?, rng, cx)
    }

    /// Seals a whole IP packet into the SA for it; that there is none is traced.
    pub(crate) fn forward(&mut self, packet: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> Option<Datagram> {
        let mut buffer = vec![0; HEADROOM + packet.len() + TAILROOM];
        let range = HEADROOM..HEADROOM + packet.len();
        buffer[range.clone()].copy_from_slice(packet);
        let mut frame = Frame::new(&mut buffer, range);
        cx.crypto.enter(Phase::Traffic);
        match self.ipsec.outbound(&mut frame, rng, cx.crypto, &mut ()) {
            Ok(Sent::Protected(Path { transport, local: from, remote: to, .. })) => {
                let sealed = frame.range();
                Some(Datagram { protocol: Protocol::Esp, transport, from, to, bytes: cut(buffer, sealed) })
            }
            // No policy of a host lets packets pass as they are.
            Ok(Sent::Bypassed) => None,
            Err(why) => {
                cx.discard(Protocol::Esp, why.name());
                None
            }
        }
    }

    /// Opens an ESP packet; what is wrong with it is traced.
    pub(crate) fn open(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) -> Option<Delivered> {
        let mut bytes = bytes.to_vec();
        let mut frame = Frame::whole(&mut bytes);
        cx.crypto.enter(Phase::Traffic);
        match self.ipsec.inbound(&mut frame, from, to, cx.crypto, &mut ()) {
            Ok(arrived) => {
                let opened = frame.range();
                Some(delivered(&arrived, cut(bytes, opened)))
            }
            Err(why) => {
                if !why.is_silent() {
                    cx.discard(Protocol::Esp, why.name());
                }
                None
            }
        }
    }
}

fn delivered(arrived: &Arrived, bytes: Vec<u8>) -> Delivered {
    let &Arrived { flow, header_len, .. } = arrived;
    let (source, destination) = (flow.source(), flow.destination());
    Delivered { source, destination, protocol: flow.protocol(), bytes, header_len }
}

/// What of a buffer is the packet.
fn cut(mut buffer: Vec<u8>, range: Range<usize>) -> Vec<u8> {
    buffer.truncate(range.end);
    buffer.drain(..range.start);
    buffer
}

/// RFC 7296 §3.13.1: the selectors of one side.
fn side(selectors: &[TrafficSelector]) -> Box<[Selector]> {
    let mut side = Vec::with_capacity(selectors.len());
    side.extend(selectors.iter().filter_map(ike::selector));
    side.into_boxed_slice()
}
