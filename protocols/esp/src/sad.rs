//! The security association database, RFC 4301 §4.4.2. SAs come in pairs, as the key exchanges make them.
//!
//! A packet that leaves finds its pair by the peer's address, where a pair is for one peer, else among the pairs for whole
//! networks; the newest that is ready wins. A packet that arrives finds it by its SPI.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, LazyLock};

use keytoll_crypto_api::TrafficKey;
use keytoll_engine::Few;
use keytoll_engine::map::FastMap;
use keytoll_net::Addr;

use crate::lifetime::Lifetime;
use crate::replay::Window;
use crate::selector::{Flow, Selectors};
use crate::spis::Spis;
use crate::{Dropped, Inbound, Original, Outbound};

/// Tunnel or transport, RFC 4301 §4.1, or a bound end-to-end tunnel, RFC 7402 appendix B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Whole IP packets travel inside.
    Tunnel,
    /// Only what is behind the IP header does.
    Transport,
    /// The same, but the IP header in front of it is replaced: inside the hosts it has the inner addresses, which are never
    /// sent, and on the way the outer ones. HIP has HITs inside; IPv4 addresses (LSIs) are not supported.
    Beet {
        /// Our inner address.
        local: Ipv6Addr,
        /// The peer's.
        remote: Ipv6Addr,
    },
}

/// Between which addresses ESP travels, on IP itself or in UDP (RFC 3948), and who writes the headers in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// We.
    pub local: Addr,
    /// The peer.
    pub remote: Addr,
    /// Who writes IP and UDP headers.
    pub headers: Headers,
}

impl Path {
    /// Whether the peer may be found to be there: the same kind of way to another address of the same family.
    pub(crate) const fn can_lead_to(&self, remote: Addr) -> bool {
        match (self.remote, remote) {
            // No datagram can be sent to port 0.
            (Addr::Udp(old), Addr::Udp(new)) => new.port != 0 && new.ip.is_ipv4() == old.ip.is_ipv4(),
            _ => false,
        }
    }

    /// Whether ESP travels in UDP.
    pub(crate) const fn is_in_udp(&self) -> bool {
        matches!(self.remote, Addr::Udp(_))
    }
}

/// The end of a path that is at another address now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// We are there.
    Local(Addr),
    /// The peer is.
    Remote(Addr),
}

/// Who writes the headers in front of ESP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headers {
    /// The socket that a packet goes to: a frame holds ESP and nothing in front of it.
    Socket,
    /// We: a frame holds an IP packet.
    Here(OuterHeader),
}

/// RFC 4301 §5.1.2: what of the outer header is not copied from the inner one. In BEET mode the hop limit is, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OuterHeader {
    /// TTL or hop limit.
    pub hop_limit: u8,
    /// Whether routers may fragment what carries an inner packet, IPv4 only (RFC 4301 §8.1).
    pub dont_fragment: DontFragment,
}

impl Default for OuterHeader {
    fn default() -> Self {
        Self { hop_limit: 64, dont_fragment: DontFragment::Copy }
    }
}

/// RFC 4301 §8.1: the DF bit of the outer header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DontFragment {
    /// As the inner packet has it; set around IPv6.
    Copy,
    /// Always set.
    Set,
    /// Never set.
    Clear,
}

/// When a new pair may carry what leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At once: the peer has installed it.
    Now,
    // RFC 7296 §2.8: who answered a rekeying waits for a sign that the other side has the new SA.
    /// When the peer has used it, or nothing older is left.
    WhenHeard,
}

/// What a pair of SAs is made of.
#[derive(Debug, Clone)]
pub struct PairConfig {
    /// SPI we receive on.
    pub inbound_spi: u32,
    /// SPI the peer receives on.
    pub outbound_spi: u32,
    /// Keys for what we receive.
    pub inbound_key: TrafficKey,
    /// Keys for what we send.
    pub outbound_key: TrafficKey,
    /// Extended sequence numbers.
    pub esn: bool,
    /// Tunnel, transport or BEET.
    pub mode: Mode,
    /// What it is for.
    pub selectors: Selectors,
    /// Between which addresses.
    pub path: Path,
    /// The peer is where its last packet came from (RFC 7296 §2.23).
    pub follows_peer: bool,
    /// Transport mode in UDP: the addresses on both sides before a NAT changed them, if they are known.
    pub original: Option<Original>,
    /// Packets that the anti-replay window holds: [`Window::SIZES`].
    pub replay_window: u32,
    /// How long it may serve, each half by itself.
    pub lifetime: Lifetime,
    /// When it may carry what leaves.
    pub start: Start,
}

/// What ESP packets of a pair carry. Most carry whole packets, so that an SA has one word for the others.
#[derive(Debug)]
pub(crate) enum Contents {
    /// Whole IP packets.
    Packet,
    /// What is behind an IP header.
    Payload(Arc<Carried>),
}

/// What most SAs in transport mode carry: no NAT has changed an address.
static UNCHANGED: LazyLock<Arc<Carried>> = LazyLock::new(|| Arc::new(Carried::Transport(None)));

/// Allocates what all SAs share. The first SA in transport mode allocates it otherwise, and the heap of its node would depend on which
/// node of the process comes first.
pub fn allocate_shared() {
    LazyLock::force(&UNCHANGED);
}

/// In front of which header a payload belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Carried {
    /// That of the packet it came in; with the addresses that its checksums count, if a NAT has changed them.
    Transport(Option<Original>),
    /// An IPv6 header between these two.
    Bound(Ends),
}

/// The inner addresses of a bound end-to-end tunnel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) local: Ipv6Addr,
    pub(crate) remote: Ipv6Addr,
}

impl Contents {
    fn of(mode: Mode, original: Option<Original>) -> Self {
        match mode {
            Mode::Tunnel => Self::Packet,
            Mode::Transport if original.is_none() => Self::Payload(Arc::clone(&UNCHANGED)),
            Mode::Transport => Self::Payload(Arc::new(Carried::Transport(original))),
            Mode::Beet { local, remote } => Self::Payload(Arc::new(Carried::Bound(Ends { local, remote }))),
        }
    }
}

/// A pair of SAs.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) inbound: Inbound,
    pub(crate) outbound: Outbound,
    pub(crate) contents: Contents,
    pub(crate) selectors: Selectors,
    pub(crate) path: Path,
    pub(crate) follows_peer: bool,
    /// Whose it is, which is the key exchange's business.
    pub(crate) owner: Option<u64>,
    /// The flow of the last packet that came out of it and was what the SA is for.
    covered: Option<Flow>,
    /// It may carry what leaves.
    pub(crate) is_ready: bool,
    /// That it has ended was told.
    is_end_told: bool,
}

impl Pair {
    fn new(config: PairConfig) -> Self {
        let PairConfig { inbound_spi, outbound_spi, esn, lifetime, .. } = config;
        let window = Window::new(config.replay_window);
        Self {
            inbound: Inbound::with(inbound_spi, config.inbound_key, esn, window, lifetime),
            outbound: Outbound::with(outbound_spi, config.outbound_key, esn, lifetime),
            contents: Contents::of(config.mode, config.original),
            selectors: config.selectors,
            path: config.path,
            follows_peer: config.follows_peer,
            owner: None,
            covered: None,
            is_ready: config.start == Start::Now,
            is_end_told: false,
        }
    }

    /// Whether a packet that arrived through it is what it is for: most are of the same flow as the one before.
    #[inline]
    pub(crate) fn covers(&mut self, flow: &Flow) -> bool {
        if self.covered.as_ref() == Some(flow) {
            return true;
        }
        let is_covered = self.selectors.cover_inbound(flow);
        if is_covered {
            self.covered = Some(*flow);
        }
        is_covered
    }

    /// Whether a packet that was dropped for this is the first to say that the pair has ended.
    pub(crate) const fn ends(&mut self, why: Dropped) -> bool {
        matches!(why, Dropped::Lifetime | Dropped::SequenceOverflow)
            && !std::mem::replace(&mut self.is_end_told, true)
    }
}

/// Where a pair is in the database, until the database changes. Counted from one, so that tables of places that may be empty
/// take no more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(NonZeroU32);

impl Place {
    /// The place with so many before it.
    pub(crate) fn after(before: usize) -> Self {
        let number = u32::try_from(before + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("SPIs have 32 bits and zero is none, so there are no more pairs"))
    }

    #[inline]
    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The SAD.
#[derive(Debug, Default)]
pub(crate) struct Sad {
    pairs: Vec<Option<Box<Pair>>>,
    vacant: Vec<Place>,
    by_spi: Spis,
    /// Pairs for one peer, oldest first.
    by_peer: FastMap<IpAddr, Few<Place>>,
    /// All others, oldest first.
    others: Few<Place>,
    /// Counts the changes, so that what was looked up before one is looked up again.
    generation: u32,
}

impl Sad {
    pub(crate) fn insert(&mut self, config: PairConfig) {
        self.remove(config.inbound_spi);
        self.put(Box::new(Pair::new(config)));
    }

    /// Puts a pair in whose SPI is not in it.
    pub(crate) fn put(&mut self, pair: Box<Pair>) {
        let (spi, peer) = (pair.inbound.spi(), pair.selectors.peer());
        let place = self.place(pair);
        self.by_spi.insert(spi, place);
        self.siblings(peer).push(place);
        self.changed();
    }

    /// The one in the first place that is taken.
    pub(crate) fn first(&self) -> Option<&Pair> {
        self.pairs.iter().flatten().map(Box::as_ref).next()
    }

    fn place(&mut self, pair: Box<Pair>) -> Place {
        match self.vacant.pop() {
            Some(place) => {
                self.pairs[place.index()] = Some(pair);
                place
            }
            None => {
                self.pairs.push(Some(pair));
                Place::after(self.pairs.len() - 1)
            }
        }
    }

    pub(crate) fn remove(&mut self, spi: u32) -> bool {
        self.take(spi).is_some()
    }

    pub(crate) fn take(&mut self, spi: u32) -> Option<Box<Pair>> {
        let place = self.by_spi.remove(spi)?;
        let pair = self.pairs[place.index()].take().expect("what has an SPI has a place");
        self.unlist(place, pair.selectors.peer());
        self.vacant.push(place);
        Some(pair)
    }

    /// Nothing leaves through this pair any more; what arrives on it is still opened.
    pub(crate) fn retire(&mut self, spi: u32) {
        if let Some(place) = self.by_spi.get(spi) {
            let peer = self.at(place).selectors.peer();
            self.unlist(place, peer);
        }
    }

    /// Whether another pair that is not retired is for the same packets.
    pub(crate) fn is_replaced(&self, spi: u32) -> bool {
        let Some(pair) = self.get(spi) else { return false };
        let listed = match pair.selectors.peer() {
            Some(peer) => self.by_peer.get(&peer).map_or(&[][..], Few::as_slice),
            None => self.others.as_slice(),
        };
        let mut others = listed.iter().filter_map(|&place| self.pair(place));
        others.any(|other| other.inbound.spi() != spi && other.selectors == pair.selectors)
    }

    fn unlist(&mut self, place: Place, peer: Option<IpAddr>) {
        let siblings = self.siblings(peer);
        siblings.retain(|other| other != place);
        if let Some(peer) = peer.filter(|_| siblings.as_slice().is_empty()) {
            self.by_peer.remove(&peer);
        }
        self.changed();
    }

    /// The pairs with the same peer, or those for networks.
    fn siblings(&mut self, peer: Option<IpAddr>) -> &mut Few<Place> {
        let Some(peer) = peer else { return &mut self.others };
        if !self.by_peer.contains_key(&peer) {
            self.by_peer.insert(peer, Few::default());
        }
        self.by_peer.get_mut(&peer).expect("just put there")
    }

    /// One end of the pair that receives on this SPI is elsewhere; whether there is such a pair.
    pub(crate) fn redirect(&mut self, spi: u32, moved: Moved) -> bool {
        let Some(pair) = self.by_spi(spi) else { return false };
        match moved {
            Moved::Local(local) => pair.path.local = local,
            Moved::Remote(remote) => pair.path.remote = remote,
        }
        true
    }

    pub(crate) const fn generation(&self) -> u32 {
        self.generation
    }

    pub(crate) fn len(&self) -> usize {
        self.by_spi.len()
    }

    #[inline]
    pub(crate) fn at(&mut self, place: Place) -> &mut Pair {
        self.pairs[place.index()]
            .as_deref_mut()
            .expect("places are asked for again when the database changed")
    }

    pub(crate) fn get(&self, spi: u32) -> Option<&Pair> {
        self.pairs[self.by_spi.get(spi)?.index()].as_deref()
    }

    #[inline]
    pub(crate) fn by_spi(&mut self, spi: u32) -> Option<&mut Pair> {
        let place = self.by_spi.get(spi)?;
        Some(self.at(place))
    }

    /// The newest pair that is for packets to there, whatever their protocols and ports.
    pub(crate) fn for_destination(&self, destination: IpAddr) -> Option<&Pair> {
        let peers = self.by_peer.get(&destination).map_or(&[][..], Few::as_slice);
        let pairs = peers.iter().rev().chain(self.others.as_slice().iter().rev());
        let mut pairs = pairs.filter_map(|&place| self.pair(place));
        pairs.find(|pair| pair.selectors.remote.iter().any(|side| side.addresses.contain(destination)))
    }

    /// The newest pair for a flow that is ready, else the newest of those that are not.
    // RFC 4301 §5.1: an SA with narrower selectors was made by a policy that came before.
    pub(crate) fn for_flow(&self, flow: &Flow) -> Option<Place> {
        let peers = self.by_peer.get(&flow.destination()).map_or(&[][..], Few::as_slice);
        self.newest(peers, flow).or_else(|| self.newest(self.others.as_slice(), flow))
    }

    fn newest(&self, places: &[Place], flow: &Flow) -> Option<Place> {
        let mut fitting = places.iter().rev().copied().filter(|&place| self.fits(place, flow)).peekable();
        let newest = fitting.peek().copied();
        fitting.find(|&place| self.pair(place).is_some_and(|pair| pair.is_ready)).or(newest)
    }

    fn fits(&self, place: Place, flow: &Flow) -> bool {
        self.pair(place).is_some_and(|pair| pair.selectors.cover_outbound(flow))
    }

    fn pair(&self, place: Place) -> Option<&Pair> {
        self.pairs[place.index()].as_deref()
    }

    /// What was looked up before must be looked up again.
    pub(crate) const fn changed(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto_api::Secret;
    use keytoll_crypto_api::algorithm::Encryption;
    use keytoll_net::ip::protocol::ESP;

    use super::*;
    use crate::selector::Addresses;

    const US: &str = "10.0.0.1";

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn on_ip(ip: IpAddr) -> Addr {
        Addr::Ip { ip, protocol: ESP }
    }

    fn in_udp(ip: IpAddr) -> Addr {
        Addr::udp(ip, 4500)
    }

    fn path(at: fn(IpAddr) -> Addr) -> Path {
        let (local, remote) = (at(ip("192.0.2.1")), at(ip("192.0.2.2")));
        Path { local, remote, headers: Headers::Socket }
    }

    /// A pair for packets to addresses up to the last.
    fn pair(inbound_spi: u32, [first, last]: [&str; 2]) -> PairConfig {
        let key =
            || TrafficKey::new(Encryption::Aes128Gcm16, None, Secret::new(vec![1; 20]), Secret::default());
        let remote = Addresses::new(ip(first), ip(last)).expect("of one family");
        PairConfig {
            inbound_spi,
            outbound_spi: inbound_spi + 1000,
            inbound_key: key(),
            outbound_key: key(),
            esn: false,
            mode: Mode::Tunnel,
            selectors: Selectors::between(Addresses::one(ip(US)), remote),
            path: path(on_ip),
            follows_peer: false,
            original: None,
            replay_window: 64,
            lifetime: Lifetime::NONE,
            start: Start::Now,
        }
    }

    const PEER: [&str; 2] = ["10.0.0.2", "10.0.0.2"];
    const NETWORK: [&str; 2] = ["10.0.0.0", "10.0.0.255"];

    fn flow_to(destination: &str) -> Flow {
        Flow::of_payload(ip(US), ip(destination), 17, &[0, 1, 0, 2])
    }

    /// Through which pair a packet to there leaves.
    fn way(sad: &Sad, destination: &str) -> Option<u32> {
        let place = sad.for_flow(&flow_to(destination))?;
        sad.pair(place).map(|pair| pair.inbound.spi())
    }

    /// RFC 4301 §5.1: a pair for one peer goes before one for its network, the newest before what it replaces, and what is
    /// taken out is looked up no more.
    #[test]
    fn the_narrowest_and_newest_pair_carries_a_packet() {
        let mut sad = Sad::default();
        assert_eq!((way(&sad, "10.0.0.2"), sad.len()), (None, 0));
        sad.insert(pair(1, NETWORK));
        sad.insert(pair(2, PEER));
        sad.insert(pair(3, NETWORK));
        sad.insert(pair(4, PEER));
        assert_eq!(
            (way(&sad, "10.0.0.2"), way(&sad, "10.0.0.9"), way(&sad, "10.0.1.9")),
            (Some(4), Some(3), None)
        );
        let covering = |sad: &Sad, to: &str| sad.for_destination(ip(to)).map(|pair| pair.inbound.spi());
        assert_eq!((covering(&sad, "10.0.0.2"), covering(&sad, "10.0.0.9")), (Some(4), Some(3)));
        assert!(sad.remove(4) && !sad.remove(4));
        assert_eq!((way(&sad, "10.0.0.2"), sad.len()), (Some(2), 3));
        assert!(sad.remove(2));
        assert_eq!(way(&sad, "10.0.0.2"), Some(3), "the network's is left");
        assert!(sad.by_peer.is_empty(), "nothing is kept of a peer that is gone");
        assert!(sad.get(2).is_none() && sad.by_spi(2).is_none() && sad.by_spi(3).is_some());
        // A place that is vacant is used again, and by nobody before it is.
        sad.insert(pair(5, PEER));
        sad.insert(pair(6, PEER));
        sad.insert(pair(7, PEER));
        assert_eq!(sad.pairs.len(), 5);
        let spis: Vec<u32> =
            (1..8).filter(|&spi| sad.get(spi).is_some_and(|pair| pair.inbound.spi() == spi)).collect();
        assert_eq!(spis, [1, 3, 5, 6, 7]);
        // One that comes under an SPI that is there takes the place of the old one.
        sad.insert(pair(7, NETWORK));
        assert_eq!((sad.len(), way(&sad, "10.0.0.9"), way(&sad, "10.0.0.2")), (5, Some(7), Some(6)));
    }

    /// RFC 7296 §2.8: nothing leaves through the old one any more, what is on its way still arrives.
    #[test]
    fn a_retired_pair_only_receives() {
        for sides in [PEER, NETWORK] {
            let mut sad = Sad::default();
            sad.insert(pair(1, sides));
            assert!(!sad.is_replaced(1), "by itself");
            sad.insert(pair(2, sides));
            assert!(sad.is_replaced(1) && sad.is_replaced(2) && !sad.is_replaced(9));
            sad.retire(1);
            assert_eq!(
                (way(&sad, "10.0.0.2"), sad.is_replaced(1), sad.is_replaced(2)),
                (Some(2), true, false)
            );
            assert!(sad.by_spi(1).is_some());
            sad.retire(2);
            sad.retire(9);
            assert_eq!((way(&sad, "10.0.0.2"), sad.is_replaced(1), sad.len()), (None, false, 2));
        }
        let mut sad = Sad::default();
        sad.insert(pair(1, PEER));
        sad.insert(pair(2, ["10.0.0.3", "10.0.0.3"]));
        sad.insert(pair(3, ["10.0.0.0", "10.0.0.9"]));
        sad.insert(pair(4, NETWORK));
        assert!((1..5).all(|spi| !sad.is_replaced(spi)), "others are for other packets");
    }

    /// What was looked up before is looked up again after every change that could matter.
    #[test]
    fn every_change_counts() {
        let mut sad = Sad::default();
        let mut last = sad.generation();
        let mut has_changed = |sad: &Sad| std::mem::replace(&mut last, sad.generation()) != sad.generation();
        sad.insert(pair(1, PEER));
        assert!(has_changed(&sad));
        sad.insert(pair(2, PEER));
        assert!(has_changed(&sad));
        sad.retire(1);
        assert!(has_changed(&sad));
        sad.remove(1);
        assert!(has_changed(&sad));
        sad.remove(1);
        assert!(!has_changed(&sad), "nothing was there");
    }

    /// RFC 4301 §5.2: what comes out is what the SA is for, whatever came out before.
    #[test]
    fn every_packet_that_arrives_is_looked_at() {
        let mut pair = Pair::new(pair(1, PEER));
        let from = |source: &str| Flow::of_payload(ip(source), ip(US), 17, &[0, 1, 0, 2]);
        for (source, is_covered) in [
            ("10.0.0.3", false),
            ("10.0.0.2", true),
            ("10.0.0.3", false),
            ("10.0.0.3", false),
            ("10.0.0.2", true),
        ] {
            assert_eq!(pair.covers(&from(source)), is_covered, "{source}");
        }
    }

    #[test]
    fn an_end_is_told_once_and_only_an_end() {
        let mut pair = Pair::new(pair(1, PEER));
        assert!(!pair.ends(Dropped::Integrity) && !pair.ends(Dropped::Replay));
        assert!(pair.ends(Dropped::Lifetime));
        assert!(!pair.ends(Dropped::Lifetime) && !pair.ends(Dropped::SequenceOverflow));
        let mut other = Pair::new(self::pair(2, PEER));
        assert!(other.ends(Dropped::SequenceOverflow) && !other.ends(Dropped::SequenceOverflow));
    }

    /// RFC 7296 §2.23: only behind UDP does a NAT give a peer another place, and it leaves the family as it is.
    #[test]
    fn a_peer_is_followed_only_where_it_can_be() {
        let to = |address: &str, port| Addr::udp(ip(address), port);
        let udp = path(in_udp);
        assert!(udp.can_lead_to(to("198.51.100.1", 1)) && udp.can_lead_to(to("192.0.2.2", 4501)));
        assert!(!udp.can_lead_to(to("198.51.100.1", 0)), "nothing to answer to");
        assert!(!udp.can_lead_to(to("2001:db8::1", 4500)), "of the other family");
        assert!(!path(on_ip).can_lead_to(to("198.51.100.1", 4500)));
    }
}
