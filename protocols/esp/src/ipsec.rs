//! IPsec processing as RFC 4301 §5 orders it, over the three databases of a host.
//!
//! ```text
//!   out: packet -> SPD (or its cache) -> SAD -> number, pad -> encrypt, authenticate -> headers -> network
//!   in:  network -> SAD by SPI -> replay? -> verify, decrypt -> unpad, headers -> selectors? -> packet
//! ```
//!
//! Packets are worked on where they lie ([`Frame`]); nothing is allocated for one.

use std::collections::VecDeque;
use std::net::IpAddr;

use keytoll_crypto_api::{Crypto, Rng};
use keytoll_net::Addr;
use keytoll_net::wire::{Problem, Reader};

use crate::cache::Cache;
use crate::encapsulation::{self, BEET_OPTIONS, Copied, Inner, Saved};
use crate::lifetime::Limit;
use crate::sad::{Carried, Contents, Ends, Headers, Moved, Pair, PairConfig, Path, Place, Sad};
use crate::selector::{Flow, version_of};
use crate::spd::{Action, Spd};
use crate::{Counters, Dropped, Frame, Probe, Stage, nat};
use keytoll_net::ip::{self, Fragment, HEADER_V6, Header, extension, protocol};

/// The IPsec of a host.
#[derive(Debug, Default)]
pub struct Ipsec {
    spd: Spd,
    cache: Cache,
    sad: Sad,
    counters: Counters,
    events: VecDeque<Event>,
}

/// What became of a packet that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It lies sealed in its frame and goes this way.
    Protected(Path),
    /// It leaves as it is.
    Bypassed,
}

/// What came out of an SA; the frame holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// The SPI it came on.
    pub spi: u32,
    /// What it is.
    pub flow: Flow,
    /// Bytes of IP header at the front of the frame: none in transport and BEET mode, if a socket has kept it.
    pub header_len: usize,
    /// What is behind them: the protocol number of the payload, or of an extension header in front of it.
    pub next_header: u8,
}

/// What the key exchange should know. A pair is named by the SPI that we receive on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A soft lifetime has passed: a successor is wanted. Told again while there is none, at half of what is left.
    RekeyWanted(u32),
    /// A hard lifetime has passed, or the sequence numbers are used up: the pair carries nothing any more. Told once.
    Expired(u32),
    /// A pair that waited for it ([`Start::WhenHeard`](crate::sad::Start::WhenHeard)) is used by the peer. Told once.
    Heard(u32),
}

impl Event {
    /// The pair it is about.
    const fn spi(self) -> u32 {
        match self {
            Self::RekeyWanted(spi) | Self::Expired(spi) | Self::Heard(spi) => spi,
        }
    }
}

/// How a packet reached us.
#[derive(Debug, Clone, Copy)]
struct Outer {
    from: Addr,
    to: Addr,
    /// RFC 3168's field of the outer header; zero if a socket has kept it.
    ecn: u8,
}

/// What is kept of the headers in front of ESP until it is opened.
enum Kept<'a> {
    /// A socket has them, or nobody asks for them.
    Nothing,
    /// All: they go in front of what was inside.
    Headers(Saved, &'a Header),
    /// What the header that replaces them has of them.
    Fields(Copied),
}

/// A pair, taken out ([`Ipsec::take`]).
#[derive(Debug)]
pub struct Taken(Box<Pair>);

impl Taken {
    /// The SPI that it receives on.
    pub fn inbound_spi(&self) -> u32 {
        self.0.inbound.spi()
    }
}

impl Ipsec {
    /// IPsec with these policies.
    pub fn new(spd: Spd) -> Self {
        Self { spd, ..Self::default() }
    }

    /// Installs a pair of SAs; one with the same inbound SPI makes way.
    pub fn install(&mut self, pair: PairConfig) {
        self.remove(pair.inbound_spi);
        self.sad.insert(pair);
    }

    /// Forgets the pair that receives on this SPI; whether there was one.
    pub fn remove(&mut self, inbound_spi: u32) -> bool {
        // What was to be told of it is nothing to act on any more: its SPI may come again.
        self.events.retain(|event| event.spi() != inbound_spi);
        self.sad.remove(inbound_spi)
    }

    /// Nothing leaves any more through the pair that receives on this SPI; what arrives on it is still opened.
    pub fn retire(&mut self, inbound_spi: u32) {
        self.sad.retire(inbound_spi);
    }

    /// What leaves through the pair that receives on this SPI goes between other addresses from now on; whether there is such a
    /// pair. SPIs, keys, sequence numbers and the anti-replay window stay.
    pub fn redirect(&mut self, inbound_spi: u32, moved: Moved) -> bool {
        self.sad.redirect(inbound_spi, moved)
    }

    /// Whether another pair, not retired, is for the same packets as the one that receives on this SPI.
    pub fn is_replaced(&self, inbound_spi: u32) -> bool {
        self.sad.is_replaced(inbound_spi)
    }

    /// Whether a pair receives on this SPI.
    pub fn has(&self, inbound_spi: u32) -> bool {
        self.sad.get(inbound_spi).is_some()
    }

    /// The peer that the pair is for which receives on this SPI; `None` if that is for a network.
    pub fn peer(&self, inbound_spi: u32) -> Option<IpAddr> {
        self.sad.get(inbound_spi)?.selectors.peer()
    }

    /// Who has the pair that receives on this SPI, if somebody was [named](Self::set_owner).
    pub fn owner(&self, inbound_spi: u32) -> Option<u64> {
        self.sad.get(inbound_spi)?.owner
    }

    /// Names the owner of the pair that receives on this SPI, by a number that means nothing here; returns the one before.
    pub fn set_owner(&mut self, inbound_spi: u32, owner: Option<u64>) -> Option<u64> {
        let pair = self.sad.by_spi(inbound_spi)?;
        std::mem::replace(&mut pair.owner, owner)
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.sad.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether some pair is for packets to this address.
    pub fn reaches(&self, destination: IpAddr) -> bool {
        self.sad.for_destination(destination).is_some()
    }

    /// The longest IP packet to this address that some pair makes no more than `mtu_bytes` of, outer header included.
    pub fn room_bytes(&self, destination: IpAddr, mtu_bytes: usize) -> Option<usize> {
        let pair = self.sad.for_destination(destination)?;
        let outer = pair.path.remote.header_bytes();
        let payload = pair.outbound.room_bytes(mtu_bytes.saturating_sub(outer));
        Some(match pair.contents {
            Contents::Packet => payload,
            Contents::Payload(_) => payload + ip::header_bytes(destination),
        })
    }

    /// Whether nothing but its pairs is to be remembered: no event, and no packet dropped.
    pub fn has_only_pairs(&self) -> bool {
        self.events.is_empty() && self.counters == Counters::default()
    }

    /// The SPI that its only pair receives on; any of them, if there are several.
    pub fn only(&self) -> Option<u32> {
        self.sad.first().map(|pair| pair.inbound.spi())
    }

    /// Takes the pair out that receives on this SPI, if there is one.
    pub fn take(&mut self, inbound_spi: u32) -> Option<Taken> {
        self.sad.take(inbound_spi).map(Taken)
    }

    /// Installs a pair again that was [taken out](Self::take).
    pub fn install_again(&mut self, Taken(pair): Taken) {
        self.sad.put(pair);
    }

    /// What the pair that receives on this SPI has carried: in, out.
    pub fn used(&self, inbound_spi: u32) -> Option<(Limit, Limit)> {
        let pair = self.sad.get(inbound_spi)?;
        Some((pair.inbound.used(), pair.outbound.used()))
    }

    /// How many packets were dropped for which reason.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The next thing that the key exchange should know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Processes the IP packet in the frame, which leaves: RFC 4301 §5.1.
    ///
    /// # Panics
    /// If the frame lacks [`crate::HEADROOM`] and [`crate::TAILROOM`].
    #[inline]
    pub fn outbound<P: Probe>(
        &mut self,
        frame: &mut Frame<'_>,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
        probe: &mut P,
    ) -> Result<Sent, Dropped> {
        let outcome = self.try_outbound(frame, rng, crypto, probe);
        self.count(&outcome);
        outcome
    }

    /// Processes the ESP packet in the frame, which a socket received: RFC 4301 §5.2.
    #[inline]
    pub fn inbound<P: Probe>(
        &mut self,
        frame: &mut Frame<'_>,
        from: Addr,
        to: Addr,
        crypto: &mut dyn Crypto,
        probe: &mut P,
    ) -> Result<Arrived, Dropped> {
        let outcome = self.try_inbound(frame, Outer { from, to, ecn: 0 }, None, crypto, probe);
        self.count(&outcome);
        outcome
    }

    /// Processes the IP packet in the frame, which carries ESP, itself or in UDP.
    #[inline]
    pub fn inbound_packet<P: Probe>(
        &mut self,
        frame: &mut Frame<'_>,
        crypto: &mut dyn Crypto,
        probe: &mut P,
    ) -> Result<Arrived, Dropped> {
        let outcome = self.try_inbound_packet(frame, crypto, probe);
        self.count(&outcome);
        outcome
    }

    /// Whether an IP packet that arrived without protection may pass: RFC 4301 §5.2, step 3b.
    pub fn inbound_unprotected(&mut self, packet: &[u8]) -> Result<Flow, Dropped> {
        let outcome = Flow::of(packet).map_err(Dropped::Malformed).and_then(|(_, flow)| {
            match self.spd.inbound(&flow) {
                Action::Bypass => Ok(flow),
                Action::Protect => Err(Dropped::Unprotected),
                Action::Discard => Err(Dropped::Policy),
            }
        });
        self.count(&outcome);
        outcome
    }

    // By reference: handing an outcome through would copy it.
    #[inline]
    const fn count<T>(&mut self, outcome: &Result<T, Dropped>) {
        if let Err(why) = outcome {
            self.counters.count(*why);
        }
    }

    #[inline]
    fn try_outbound<P: Probe>(
        &mut self,
        frame: &mut Frame<'_>,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
        probe: &mut P,
    ) -> Result<Sent, Dropped> {
        let (header, flow) = Flow::of(frame.bytes()).map_err(Dropped::Malformed)?;
        frame.truncate(header.total_len);
        let Some(place) = self.look_up(&flow, probe)? else { return Ok(Sent::Bypassed) };
        let pair = self.sad.at(place);
        probe.ended(Stage::SaLookup);
        let sealed = seal(pair, frame, &header, rng, crypto, probe);
        let spi = pair.inbound.spi();
        let ended = sealed.as_ref().is_err_and(|&why| pair.ends(why));
        if pair.outbound.take_soft() {
            self.wanted(spi);
        }
        if ended {
            self.expired(spi);
        }
        sealed?;
        // Asked for last: a copy made earlier would be copied again.
        Ok(Sent::Protected(self.sad.at(place).path))
    }

    /// The SA for a flow; none if it needs none.
    #[inline]
    fn look_up<P: Probe>(&mut self, flow: &Flow, probe: &mut P) -> Result<Option<Place>, Dropped> {
        if let Some(known) = self.cache.get(flow, self.sad.generation()) {
            probe.ended(Stage::PolicyLookup);
            return Ok(Some(known));
        }
        let action = self.spd.outbound(flow);
        probe.ended(Stage::PolicyLookup);
        match action {
            Action::Bypass => Ok(None),
            Action::Discard => Err(Dropped::Policy),
            Action::Protect => {
                let place = self.sad.for_flow(flow).ok_or(Dropped::NoSa)?;
                self.cache.put(*flow, place, self.sad.generation());
                Ok(Some(place))
            }
        }
    }

    fn try_inbound_packet<P: Probe>(
        &mut self,
        frame: &mut Frame<'_>,
        crypto: &mut dyn Crypto,
        probe: &mut P,
    ) -> Result<Arrived, Dropped> {
        let (header, esp_at) = encapsulation::locate(frame.bytes())?;
        frame.truncate(header.total_len);
        let at = |ip, port: usize| match frame.bytes().get(header.header_len + port..) {
            Some(&[high, low, ..]) if header.protocol == protocol::UDP => {
                Addr::udp(ip, u16::from_be_bytes([high, low]))
            }
            _ => Addr::Ip { ip, protocol: header.protocol },
        };
        let outer =
            Outer { from: at(header.source(), 0), to: at(header.destination(), 2), ecn: header.class & 3 };
        self.try_inbound(frame, outer, Some((&header, esp_at)), crypto, probe)
    }

    #[inline]
    fn try_inbound<P: Probe>(
        &mut self,
        frame: &mut Frame<'_>,
        outer: Outer,
        carrier: Option<(&Header, usize)>,
        crypto: &mut dyn Crypto,
        probe: &mut P,
    ) -> Result<Arrived, Dropped> {
        let esp_at = carrier.map_or(0, |(_, at)| at);
        let spi = spi(&frame.bytes()[esp_at..])?;
        let pair = self.sad.by_spi(spi).ok_or(Dropped::UnknownSpi)?;
        probe.ended(Stage::SaLookup);
        let (kept, taken) = match (carrier, &pair.contents) {
            (Some((header, _)), Contents::Payload(carried)) => keep(frame, header, carried)?,
            (Some(_), Contents::Packet) | (None, _) => (Kept::Nothing, 0),
        };
        frame.skip(esp_at - taken);
        let highest = pair.inbound.highest();
        let opened = open(pair, frame, outer, kept, crypto, probe);
        let wants = pair.inbound.take_soft();
        let ended = opened.as_ref().is_err_and(|&why| pair.ends(why));
        if opened.is_ok() {
            // RFC 7296 §2.23: whoever is not behind the NAT sends to where the last authentic packet came from. An older
            // one that somebody held back and lets go from elsewhere is not the last.
            if pair.follows_peer && pair.inbound.highest() > highest && pair.path.can_lead_to(outer.from) {
                pair.path.remote = outer.from;
            }
            if !std::mem::replace(&mut pair.is_ready, true) {
                self.heard(spi);
            }
        }
        if wants {
            self.wanted(spi);
        }
        if ended {
            self.expired(spi);
        }
        opened
    }

    #[cold]
    fn heard(&mut self, spi: u32) {
        self.sad.changed();
        self.tell(Event::Heard(spi));
    }

    #[cold]
    fn wanted(&mut self, spi: u32) {
        self.tell(Event::RekeyWanted(spi));
    }

    #[cold]
    fn expired(&mut self, spi: u32) {
        self.tell(Event::Expired(spi));
    }

    /// Nobody needs to hear the same twice before it is taken: a flood of packets must not fill the queue.
    fn tell(&mut self, event: Event) {
        if !self.events.contains(&event) {
            self.events.push_back(event);
        }
    }
}

#[inline]
fn spi(packet: &[u8]) -> Result<u32, Dropped> {
    match packet {
        &[a, b, c, d, ..] => Ok(u32::from_be_bytes([a, b, c, d])),
        short => Err(Dropped::Malformed(
            Reader::new(short).error("SPI", Problem::Short { needed: 4, left: short.len() }),
        )),
    }
}

/// What a payload needs of the headers in front of ESP, and how many bytes of them are no longer in the frame.
#[inline]
fn keep<'a>(
    frame: &mut Frame<'_>,
    header: &'a Header,
    carried: &Carried,
) -> Result<(Kept<'a>, usize), Dropped> {
    Ok(match carried {
        Carried::Transport(_) => (Kept::Headers(Saved::take(frame, header)?, header), header.header_len),
        Carried::Bound(_) => (Kept::Fields(Copied::of(frame.bytes())), 0),
    })
}

#[inline]
fn seal<P: Probe>(
    pair: &mut Pair,
    frame: &mut Frame<'_>,
    header: &Header,
    rng: &mut Rng,
    crypto: &mut dyn Crypto,
    probe: &mut P,
) -> Result<(), Dropped> {
    match &pair.contents {
        Contents::Packet => seal_packet(pair, frame, header, rng, crypto, probe),
        Contents::Payload(carried) => match **carried {
            Carried::Transport(_) => seal_transport(pair, frame, header, rng, crypto, probe),
            Carried::Bound(ends) => seal_bound(pair, ends, frame, header, rng, crypto, probe),
        },
    }?;
    probe.ended(Stage::Encapsulate);
    Ok(())
}

#[inline]
fn seal_packet<P: Probe>(
    Pair { path, outbound, .. }: &mut Pair,
    frame: &mut Frame<'_>,
    header: &Header,
    rng: &mut Rng,
    crypto: &mut dyn Crypto,
    probe: &mut P,
) -> Result<(), Dropped> {
    let next_header = if header.is_v4 { protocol::IPV4 } else { protocol::IPV6 };
    outbound.seal(frame, next_header, rng, crypto, probe)?;
    let Headers::Here(outer) = path.headers else { return Ok(()) };
    // RFC 6864 §4.2: what may be fragmented has a number that does not come back soon.
    encapsulation::enclose(frame, path, outer, Inner::tunnelled(header, outer), outbound.sequence() as u16)
}

fn seal_transport<P: Probe>(
    Pair { path, outbound, .. }: &mut Pair,
    frame: &mut Frame<'_>,
    header: &Header,
    rng: &mut Rng,
    crypto: &mut dyn Crypto,
    probe: &mut P,
) -> Result<(), Dropped> {
    // RFC 4303 §3.3.4: in transport mode ESP is applied to whole packets only.
    if header.fragment != Fragment::Whole {
        return Err(Dropped::Fragment);
    }
    let saved = Saved::take(frame, header)?;
    outbound.seal(frame, header.protocol, rng, crypto, probe)?;
    let Headers::Here(_) = path.headers else { return Ok(()) };
    saved.put(frame, encapsulation::protocol(path), Some(path))
}

fn seal_bound<P: Probe>(
    Pair { path, outbound, .. }: &mut Pair,
    ends: Ends,
    frame: &mut Frame<'_>,
    header: &Header,
    rng: &mut Rng,
    crypto: &mut dyn Crypto,
    probe: &mut P,
) -> Result<(), Dropped> {
    check_bound(ends, header)?;
    let (inner, next_header) = (Inner::replaced(frame.bytes()), frame.bytes()[NEXT_HEADER_AT]);
    // RFC 7402 §B.1.5: what is behind the IP header is wrapped, extension headers included.
    frame.skip(HEADER_V6);
    outbound.seal(frame, next_header, rng, crypto, probe)?;
    let Headers::Here(outer) = path.headers else { return Ok(()) };
    encapsulation::enclose(frame, path, outer, inner, outbound.sequence() as u16)
}

/// RFC 8200 §3: where a fixed header names what is behind it.
const NEXT_HEADER_AT: usize = 6;

/// Whether a packet may leave through a bound end-to-end tunnel.
// RFC 7402 §B.1.5: its addresses are exactly those of the SA. RFC 4303 §3.3.4: it is whole, as in transport mode.
#[inline]
fn check_bound(Ends { local, remote }: Ends, header: &Header) -> Result<(), Dropped> {
    if header.is_v4 || (header.source, header.destination) != (local.to_bits(), remote.to_bits()) {
        return Err(Dropped::NoSa);
    }
    if header.fragment == Fragment::Whole { Ok(()) } else { Err(Dropped::Fragment) }
}

#[inline]
fn open<P: Probe>(
    pair: &mut Pair,
    frame: &mut Frame<'_>,
    outer: Outer,
    kept: Kept<'_>,
    crypto: &mut dyn Crypto,
    probe: &mut P,
) -> Result<Arrived, Dropped> {
    let packet = frame.range();
    let next_header = pair.inbound.open(frame, crypto, probe)?;
    let came = match &pair.contents {
        Contents::Packet => leave_tunnel(frame, next_header, outer.ecn),
        Contents::Payload(carried) => match **carried {
            Carried::Transport(original) => {
                // RFC 3948 §3.1.2: only in UDP is there a NAT that ESP survives.
                let Some(ends) = outer.from.ip().zip(outer.to.ip()) else { return Err(Dropped::Selectors) };
                if pair.path.is_in_udp() {
                    nat::mend(frame.bytes_mut(), next_header, ends, original);
                }
                leave_transport(frame, next_header, ends, kept)
            }
            Carried::Bound(ends) => leave_bound(frame, next_header, ends, &kept),
        },
    };
    probe.ended(Stage::Decapsulate);
    let checked = came.and_then(|Came { flow, header_len, next_header }| {
        // RFC 4301 §5.2: what comes out must be what the SA is for.
        let arrived = Arrived { spi: pair.inbound.spi(), flow, header_len, next_header };
        pair.covers(&flow).then_some(arrived).ok_or(Dropped::Selectors)
    });
    probe.ended(Stage::SelectorCheck);
    if checked.is_err() {
        // All that was decrypted, padding and what hides the length included; and headers put in front of it, which may
        // have moved it.
        let left = frame.range();
        frame.wipe(left.start.min(packet.start)..left.end.max(packet.end));
    }
    checked
}

/// What came out of ESP, before it is known whether the SA is for it.
struct Came {
    flow: Flow,
    header_len: usize,
    next_header: u8,
}

#[inline]
fn leave_tunnel(frame: &mut Frame<'_>, next_header: u8, ecn: u8) -> Result<Came, Dropped> {
    let version = version_of(next_header).ok_or(Dropped::NextHeader)?;
    let (header, flow) = Flow::of(frame.bytes()).map_err(Dropped::Malformed)?;
    if frame.bytes()[0] >> 4 != version {
        return Err(Dropped::NextHeader);
    }
    // RFC 4303 §2.7: what follows the inner packet is there to hide its length.
    frame.truncate(header.total_len);
    let inner_ecn = header.class & 3;
    let ecn = encapsulation::decapsulated_ecn(inner_ecn, ecn)?;
    if ecn != inner_ecn {
        ip::set_ecn(frame.bytes_mut(), ecn);
    }
    Ok(Came { flow, header_len: header.header_len, next_header: header.protocol })
}

fn leave_transport(
    frame: &mut Frame<'_>,
    next_header: u8,
    (source, destination): (IpAddr, IpAddr),
    kept: Kept<'_>,
) -> Result<Came, Dropped> {
    let flow = Flow::of_payload(source, destination, next_header, frame.bytes());
    let Kept::Headers(saved, header) = kept else { return Ok(Came { flow, header_len: 0, next_header }) };
    saved.put(frame, next_header, None)?;
    Ok(Came { flow, header_len: header.header_len, next_header })
}

// RFC 7402 §B.1.6: that ESP has proved the packet says whose it is; where it came from says nothing.
fn leave_bound(frame: &mut Frame<'_>, next_header: u8, ends: Ends, kept: &Kept<'_>) -> Result<Came, Dropped> {
    // RFC 7402 §B.1.7: only in front of what had an IPv4 header.
    if next_header == BEET_OPTIONS {
        return Err(Dropped::NextHeader);
    }
    let flow = Flow::of_payload(ends.remote.into(), ends.local.into(), next_header, frame.bytes());
    if flow.protocol() == extension::FRAGMENT {
        return Err(Dropped::Fragment);
    }
    let &Kept::Fields(copied) = kept else { return Ok(Came { flow, header_len: 0, next_header }) };
    encapsulation::bind(frame, ends, next_header, copied)?;
    Ok(Came { flow, header_len: HEADER_V6, next_header })
}
