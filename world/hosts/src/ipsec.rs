//! The traffic SAs of a host, whatever negotiated their keys: outbound and inbound processing. RFC 4301 §4.4.

use std::collections::VecDeque;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;
use std::time::Duration;

use keytoll_crypto_api::{Phase, Rng};
use keytoll_engine::Few;
use keytoll_engine::map::FastMap;
use keytoll_engine::sa::SaPair;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Datagram, Deadline, Time};
use keytoll_esp::lifetime::Lifetime;
use keytoll_esp::replay::Window;
use keytoll_esp::sad::{Headers, Moved, Path, Start};
use keytoll_esp::selector::{Addresses, Selectors};
use keytoll_esp::{Arrived, Event, Frame, HEADROOM, Ipsec, Mode, PairConfig, Sent, TAILROOM, Taken};
use keytoll_net::Addr;
use keytoll_net::ip::Header;
use keytoll_net::ip::protocol::ESP;
use keytoll_net::wire::DecodeError;

use crate::event::SessionId;
use crate::ip;

/// Lifetime of every pair of SAs of a host, and its anti-replay window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaLimits {
    /// In bytes and packets, counted per direction.
    pub lifetime: Lifetime,
    /// Packets: [`Window::SIZES`].
    pub replay_window: u32,
}

impl Default for SaLimits {
    fn default() -> Self {
        Self { lifetime: Lifetime::NONE, replay_window: Window::SIZE_DEFAULT }
    }
}

/// What ESP makes of a pair that a key exchange has negotiated, between two outer addresses: it may be used at once, sockets
/// write the headers, and the limits are set when it is installed.
pub fn configured(
    pair: SaPair,
    mode: Mode,
    selectors: Selectors,
    (local, remote): (Addr, Addr),
) -> PairConfig {
    let SaPair { inbound_spi, outbound_spi, suite, .. } = pair;
    let (inbound_key, outbound_key) = pair.into_keys();
    PairConfig {
        inbound_spi,
        outbound_spi,
        inbound_key,
        outbound_key,
        esn: suite.esn,
        mode,
        selectors,
        path: Path { local, remote, headers: Headers::Socket },
        follows_peer: false,
        // No key exchange reports them: checksums are recomputed.
        original: None,
        replay_window: Window::SIZE_DEFAULT,
        lifetime: Lifetime::NONE,
        start: Start::Now,
    }
}

/// The same in BEET mode, for everything between two inner addresses; where the key exchange travels in UDP, ESP does, too.
pub fn bound(
    pair: SaPair,
    (local, remote): (Ipv6Addr, Ipv6Addr),
    (local_at, remote_at): (Addr, Addr),
) -> PairConfig {
    let one = |inner: Ipv6Addr| Addresses::one(inner.into());
    let selectors = Selectors::between(one(local), one(remote));
    configured(pair, Mode::Beet { local, remote }, selectors, (esp_at(local_at), esp_at(remote_at)))
}

/// Where ESP is of a host that has its key exchange there: on IP beside it, in UDP with it.
const fn esp_at(signalling: Addr) -> Addr {
    match signalling {
        Addr::Ip { ip, .. } => Addr::Ip { ip, protocol: ESP },
        in_udp => in_udp,
    }
}

/// The SAs for traffic of a host.
#[derive(Debug, Default)]
pub struct SaTable {
    ipsec: Ipsec,
    /// Replaced pairs by their inbound SPI, and until when they are kept; the first to expire comes first.
    replaced: VecDeque<(Time, u32)>,
    /// How many of them are for each peer; `None` counts those for networks.
    replaced_of: FastMap<Option<IpAddr>, usize>,
    /// The limits of every pair.
    limits: SaLimits,
    /// The pairs of each session, by inbound SPI, and how many that are; each pair knows its session.
    pairs: FastMap<SessionId, Few<u32>>,
    owned: usize,
}

/// How long packets sent before rekeying may be in transit: strongSwan's `delete_rekeyed_delay`.
const REPLACED_FOR: Duration = Duration::from_secs(5);

/// An IP packet that was decapsulated.
pub struct Delivered {
    /// The sender.
    pub source: IpAddr,
    /// The receiver.
    pub destination: IpAddr,
    /// The protocol number of the payload, or of an extension header in front of it.
    pub protocol: u8,
    /// Header and payload; in transport and BEET mode the payload alone.
    bytes: Vec<u8>,
    header_len: usize,
}

/// Without its payload, which does not belong in logs.
impl fmt::Debug for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { source, destination, protocol, ref bytes, header_len } = self;
        let mut packet = f.debug_struct("Delivered");
        packet.field("source", &source).field("destination", &destination).field("protocol", &protocol);
        packet.field("length", &bytes.len()).field("header_len", &header_len).finish()
    }
}

impl Delivered {
    /// A whole IP packet that came over another path than ESP.
    ///
    /// # Errors
    /// The bytes are not a whole, unfragmented IP packet.
    pub fn read(mut bytes: Vec<u8>) -> Result<Self, DecodeError> {
        let Header { protocol, header_len, total_len, .. } = Header::read(&bytes)?;
        let ip::Packet { source, destination, .. } = ip::Packet::read(&bytes)?;
        bytes.truncate(total_len);
        Ok(Self { source, destination, protocol, bytes, header_len })
    }

    /// What the packet carries.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[self.header_len..]
    }

    /// As an IP packet.
    pub fn as_packet(&self) -> ip::Packet<'_> {
        let &Self { source, destination, protocol, .. } = self;
        ip::Packet { source, destination, protocol, payload: self.payload() }
    }

    /// Its bytes, with a new header if the socket kept the original one.
    pub fn into_packet(self) -> Option<Vec<u8>> {
        if self.header_len > 0 { Some(self.bytes) } else { self.as_packet().write() }
    }
}

/// What is kept of a table at rest: the pair in use, if there is one, with the session that owns it, and those that it has replaced.
#[derive(Debug)]
pub struct Standing {
    in_use: Option<(SessionId, Taken)>,
    /// Until when they are kept; the first to expire comes first. Mostly there is none.
    replaced: Vec<(Time, Taken)>,
}

impl Standing {
    /// When [`Self::expire`] is due next.
    pub fn deadline(&self) -> Option<Deadline> {
        self.replaced.first().map(|(at, _)| forgotten_at(*at))
    }

    /// Drops replaced pairs that have been kept for long enough; whether there were any.
    pub fn expire(&mut self, now: Time) -> bool {
        let over = self.replaced.iter().take_while(|(until, _)| *until <= now).count();
        self.replaced.drain(..over);
        self.replaced.shrink_to_fit();
        over > 0
    }
}

/// The deadline of a replaced pair.
const fn forgotten_at(at: Time) -> Deadline {
    Deadline { at, why: "replaced SA forgotten" }
}

impl SaTable {
    /// Takes out what it must remember; `None` if that is more than one pair in use and those that it has replaced.
    pub fn stand(&mut self) -> Option<Standing> {
        let are_all = self.ipsec.len() == self.owned + self.replaced.len();
        if self.owned > 1 || !are_all || !self.ipsec.has_only_pairs() {
            return None;
        }
        let Self { ipsec, replaced, .. } = self;
        let mut kept = Vec::with_capacity(replaced.len());
        kept.extend(replaced.drain(..).filter_map(|(until, spi)| Some((until, ipsec.take(spi)?))));
        let in_use = ipsec.only().and_then(|spi| Some((SessionId(ipsec.owner(spi)?), ipsec.take(spi)?)));
        Some(Standing { in_use, replaced: kept })
    }

    /// The table as it was.
    pub fn resume(limits: SaLimits, Standing { in_use, replaced }: Standing) -> Self {
        let mut table = Self { limits, ..Self::default() };
        if let Some((session, pair)) = in_use {
            let spi = pair.inbound_spi();
            table.ipsec.install_again(pair);
            table.own(session, spi);
        }
        for (until, pair) in replaced {
            let spi = pair.inbound_spi();
            table.ipsec.install_again(pair);
            table.keep_replaced(until, spi);
        }
        table
    }

    /// A session owns the pair that receives on this SPI.
    fn own(&mut self, session: SessionId, spi: u32) {
        self.ipsec.set_owner(spi, Some(session.0));
        self.owned += 1;
        match self.pairs.get_mut(&session) {
            Some(pairs) => pairs.push(spi),
            None => drop(self.pairs.insert(session, Few::of(spi))),
        }
    }

    /// Whoever owns it does not any more.
    fn disown(&mut self, spi: u32) {
        let Some(session) = self.ipsec.set_owner(spi, None).map(SessionId) else { return };
        self.owned -= 1;
        if let Some(pairs) = self.pairs.get_mut(&session) {
            pairs.retain(|own| own != spi);
            if pairs.as_slice().is_empty() {
                self.pairs.remove(&session);
            }
        }
    }

    /// Nothing leaves any more through a pair that was replaced; it is kept until then.
    fn keep_replaced(&mut self, until: Time, spi: u32) {
        self.ipsec.retire(spi);
        self.count_replaced(spi, 1);
        self.replaced.push_back((until, spi));
    }

    /// Sets the limits of pairs that are installed from now on.
    pub const fn limit(&mut self, limits: SaLimits) {
        self.limits = limits;
    }

    /// Installs a pair of SAs of a session, with the limits of the host.
    pub fn install(&mut self, session: SessionId, pair: PairConfig) {
        let spi = pair.inbound_spi;
        self.disown(spi);
        // A replaced pair with the same SPI is dropped, and its expiry must not remove the new one.
        if self.ipsec.has(spi) {
            self.drop_replaced(|_, replaced| replaced == spi);
        }
        let SaLimits { lifetime, replay_window } = self.limits;
        self.ipsec.install(PairConfig { replay_window, lifetime: pair.lifetime.within(lifetime), ..pair });
        self.own(session, spi);
    }

    /// Closes the pair with this inbound SPI.
    // RFC 7296 §2.8: packets sent through the old SA may arrive after those sent through the new one.
    pub fn remove(&mut self, inbound_spi: u32, now: Time) {
        self.disown(inbound_spi);
        if self.ipsec.is_replaced(inbound_spi) {
            return self.keep_replaced(now + REPLACED_FOR, inbound_spi);
        }
        // A replaced pair whose successor is closed goes, too.
        let peer = self.ipsec.peer(inbound_spi);
        let is_successor = self.replaced_of.contains_key(&peer);
        self.ipsec.remove(inbound_spi);
        if is_successor {
            self.drop_replaced(|ipsec, spi| !ipsec.is_replaced(spi));
        }
    }

    /// Drops the replaced pairs of which this is true.
    fn drop_replaced(&mut self, goes: impl Fn(&Ipsec, u32) -> bool) {
        for (until, spi) in std::mem::take(&mut self.replaced) {
            if goes(&self.ipsec, spi) {
                self.forget_replaced(spi);
            } else {
                self.replaced.push_back((until, spi));
            }
        }
    }

    fn forget_replaced(&mut self, spi: u32) {
        self.count_replaced(spi, -1);
        self.ipsec.remove(spi);
    }

    /// There are so many more replaced pairs for the peer of this one.
    fn count_replaced(&mut self, spi: u32, more: isize) {
        if !self.ipsec.has(spi) {
            return;
        }
        let peer = self.ipsec.peer(spi);
        let count = self.replaced_of.remove(&peer).unwrap_or(0).saturating_add_signed(more);
        if count > 0 {
            self.replaced_of.insert(peer, count);
        }
    }

    /// One end of a session's pairs has its key exchange, and with it its ESP, at another address now.
    pub fn redirect(&mut self, session: SessionId, moved: Moved) {
        let moved = match moved {
            Moved::Local(at) => Moved::Local(esp_at(at)),
            Moved::Remote(at) => Moved::Remote(esp_at(at)),
        };
        for spi in self.pairs.get(&session).map_or(&[][..], Few::as_slice) {
            self.ipsec.redirect(*spi, moved);
        }
    }

    /// Drops replaced pairs that have been kept for long enough.
    pub fn expire(&mut self, now: Time) {
        while let Some(&(_, spi)) = self.replaced.front().filter(|(until, _)| *until <= now) {
            self.replaced.pop_front();
            self.forget_replaced(spi);
        }
    }

    /// When [`Self::expire`] is due next.
    pub fn deadline(&self) -> Option<Deadline> {
        self.replaced.front().map(|&(at, _)| forgotten_at(at))
    }

    /// Moves the pairs of a session to its successor.
    pub fn rekeyed(&mut self, old: SessionId, new: SessionId) {
        let moved = self.pairs.remove(&old).unwrap_or_default();
        self.owned -= moved.as_slice().len();
        moved.as_slice().iter().for_each(|spi| self.own(new, *spi));
    }

    /// The next event of a pair for the key exchange, with the owning session: its lifetime is used up, or its peer was heard.
    pub fn poll(&mut self) -> Option<(SessionId, Event)> {
        while let Some(event) = self.ipsec.poll_event() {
            let (Event::RekeyWanted(spi) | Event::Expired(spi) | Event::Heard(spi)) = event;
            if let Some(session) = self.owner(spi) {
                return Some((session, event));
            }
        }
        None
    }

    /// The session that owns the pair with this inbound SPI, unless it is closed.
    pub fn owner(&self, inbound_spi: u32) -> Option<SessionId> {
        self.ipsec.owner(inbound_spi).map(SessionId)
    }

    /// Whether there are no SAs except closed ones.
    pub fn is_empty(&self) -> bool {
        self.owned == 0
    }

    /// Whether traffic to this address has an SA.
    pub fn reaches(&self, destination: IpAddr) -> bool {
        self.ipsec.reaches(destination)
    }

    /// The longest IP packet to a destination that fits in an outer packet of `mtu_bytes`.
    pub fn room_bytes(&self, destination: IpAddr, mtu_bytes: usize) -> Option<usize> {
        self.ipsec.room_bytes(destination, mtu_bytes)
    }

    /// Seals a whole IP packet into the SA for it; a missing SA is traced.
    pub fn forward(&mut self, packet: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> Option<Datagram> {
        let mut buffer = vec![0; HEADROOM + packet.len() + TAILROOM];
        let range = HEADROOM..HEADROOM + packet.len();
        buffer[range.clone()].copy_from_slice(packet);
        let mut frame = Frame::new(&mut buffer, range);
        cx.crypto.enter(Phase::TRAFFIC);
        match self.ipsec.outbound(&mut frame, rng, cx.crypto, &mut ()) {
            Ok(Sent::Protected(Path { local: from, remote: to, .. })) => {
                let sealed = frame.range();
                Some(Datagram { protocol: Protocol::ESP, from, to, bytes: cut(buffer, sealed) })
            }
            // No policy of a host has a BYPASS action.
            Ok(Sent::Bypassed) => None,
            Err(why) => {
                cx.discard(Protocol::ESP, why.name());
                None
            }
        }
    }

    /// Opens an ESP packet; returns the inbound SPI of its SA, too. Errors are traced.
    pub fn open(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) -> Option<(u32, Delivered)> {
        let mut bytes = bytes.to_vec();
        let mut frame = Frame::whole(&mut bytes);
        cx.crypto.enter(Phase::TRAFFIC);
        match self.ipsec.inbound(&mut frame, from, to, cx.crypto, &mut ()) {
            Ok(arrived) => {
                let opened = frame.range();
                Some((arrived.spi, delivered(&arrived, cut(bytes, opened))))
            }
            Err(why) => {
                if !why.is_silent() {
                    cx.discard(Protocol::ESP, why.name());
                }
                None
            }
        }
    }
}

fn delivered(arrived: &Arrived, bytes: Vec<u8>) -> Delivered {
    let &Arrived { flow, header_len, next_header: protocol, .. } = arrived;
    let (source, destination) = (flow.source(), flow.destination());
    Delivered { source, destination, protocol, bytes, header_len }
}

/// Shortens a buffer to the packet in it.
fn cut(mut buffer: Vec<u8>, range: Range<usize>) -> Vec<u8> {
    buffer.truncate(range.end);
    buffer.drain(..range.start);
    buffer
}
