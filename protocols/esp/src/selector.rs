//! Selectors, RFC 4301 §4.4.1.1: which packets a policy or an SA is for.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU64;

use keytoll_engine::Few;
use keytoll_net::wire::DecodeError;

use keytoll_net::ip::{self, Fragment, Header, extension, protocol};

/// What of a packet decides its policy.
// Aligned as its words are, not as 128 bits: every SA keeps one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C, packed(8))]
pub struct Flow {
    /// The addresses as numbers: see [`ip::bits`].
    source: u128,
    destination: u128,
    /// In one word, which is compared at once: [`Flow::IPV4`], [`Flow::PORTS`], protocol, source and destination port.
    /// [`Flow::THERE`] is always among them.
    rest: NonZeroU64,
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut flow = f.debug_struct("Flow");
        flow.field("source", &self.source()).field("destination", &self.destination());
        flow.field("protocol", &self.protocol()).field("ports", &self.ports()).finish()
    }
}

impl Flow {
    /// There is a flow: so that an `Option` of one takes no more room.
    const THERE: NonZeroU64 = NonZeroU64::new(1 << 42).expect("a bit is set");
    /// The addresses are of IPv4.
    const IPV4: u64 = 1 << 41;
    /// There are ports.
    const PORTS: u64 = 1 << 40;

    /// The sender.
    pub fn source(&self) -> IpAddr {
        ip::address(self.is_v4(), self.source)
    }

    /// The receiver.
    pub fn destination(&self) -> IpAddr {
        ip::address(self.is_v4(), self.destination)
    }

    /// The next layer protocol.
    pub const fn protocol(&self) -> u8 {
        (self.rest.get() >> 32) as u8
    }

    /// Its ports; the same number twice for ICMP, which has type and code instead; none if they cannot be seen.
    pub fn ports(&self) -> Option<(u16, u16)> {
        let rest = self.rest.get();
        (rest & Self::PORTS != 0).then_some(((rest >> 16) as u16, rest as u16))
    }

    const fn is_v4(&self) -> bool {
        self.rest.get() & Self::IPV4 != 0
    }

    /// A number that flows seldom share.
    #[inline]
    pub(crate) fn mixed(&self) -> u64 {
        let fold = |address: u128| (address >> 64) as u64 ^ address as u64;
        [fold(self.source), fold(self.destination).rotate_left(17), self.rest.get()].into_iter().fold(0, mix)
    }

    /// The flow of an IP packet.
    // Always inlined: copying what it makes costs more than making it.
    #[inline(always)]
    pub fn of(packet: &[u8]) -> Result<(Header, Self), DecodeError> {
        let header = Header::read(packet)?;
        let flow = if header.fragment == Fragment::Later {
            Self::bare(&header, header.protocol)
        } else {
            Self::bare(&header, header.protocol).with(&packet[header.header_len..header.total_len])
        };
        Ok((header, flow))
    }

    /// The flow of a payload without an IP header, between two addresses of one family.
    #[inline]
    pub fn of_payload(source: IpAddr, destination: IpAddr, protocol: u8, payload: &[u8]) -> Self {
        let family = if source.is_ipv4() { Self::IPV4 } else { 0 };
        let (source, destination) = (ip::bits(source), ip::bits(destination));
        Self { source, destination, rest: Self::THERE | family | u64::from(protocol) << 32 }.with(payload)
    }

    /// Without what the payload tells.
    #[inline(always)]
    fn bare(header: &Header, protocol: u8) -> Self {
        let &Header { source, destination, is_v4, .. } = header;
        let family = if is_v4 { Self::IPV4 } else { 0 };
        Self { source, destination, rest: Self::THERE | family | u64::from(protocol) << 32 }
    }

    /// With what the payload tells.
    #[inline(always)]
    fn with(self, payload: &[u8]) -> Self {
        let (family, protocol) = (self.rest.get() & Self::IPV4, self.protocol());
        let (protocol, payload) =
            if family == 0 { behind_extensions(protocol, payload) } else { (protocol, payload) };
        let ports = ports(protocol, payload).map_or(0, |ports| Self::PORTS | u64::from(ports));
        Self { rest: Self::THERE | family | u64::from(protocol) << 32 | ports, ..self }
    }
}

/// One round of the finalizer of SplitMix64.
const fn mix(sum: u64, word: u64) -> u64 {
    let z = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z ^ (z >> 29)
}

/// What follows all extension headers of IPv6 at the front of a payload, as far as they are not those of fragments.
#[inline]
pub(crate) fn behind_extensions(mut protocol: u8, mut payload: &[u8]) -> (u8, &[u8]) {
    while let Some((next, rest)) = behind_extension(protocol, payload) {
        (protocol, payload) = (next, rest);
    }
    (protocol, payload)
}

/// What follows an extension header at the front of a payload, unless it is that of a fragment.
///
/// RFC 8200 §4.3, §4.4, §4.6: Next Header(1) Hdr Ext Len(1), then 6 + 8 × length bytes; §4.5: a Fragment header has 8 bytes.
#[inline]
fn behind_extension(protocol: u8, payload: &[u8]) -> Option<(u8, &[u8])> {
    let len = match (protocol, payload) {
        (extension::HOP_BY_HOP | extension::ROUTING | extension::DESTINATION, [_, len, ..]) => {
            8 + usize::from(*len) * 8
        }
        // RFC 6946 §2: one with offset zero and without more fragments stands in front of a whole packet.
        (extension::FRAGMENT, [_, _, 0, offset, ..]) if offset & !6 == 0 => 8,
        _ => return None,
    };
    Some((*payload.first()?, payload.get(len..)?))
}

/// Source and destination port, together.
// RFC 4301 §4.4.1.1: TCP, UDP, SCTP, DCCP and UDP-Lite begin with their ports, ICMP with type and code.
#[inline]
fn ports(protocol: u8, payload: &[u8]) -> Option<u32> {
    match (protocol, payload) {
        (6 | 17 | 33 | 132 | 136, &[a, b, c, d, ..]) => Some(u32::from_be_bytes([a, b, c, d])),
        (1 | 58, &[kind, code, ..]) => Some(u32::from_be_bytes([kind, code, kind, code])),
        _ => None,
    }
}

/// Addresses of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    is_v4: bool,
    first: Bits,
    last: Bits,
}

/// An address as a number ([`ip::bits`]), in memory without alignment: every SA keeps four.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bits([u8; 16]);

impl Bits {
    const fn of(number: u128) -> Self {
        Self(number.to_ne_bytes())
    }

    const fn get(self) -> u128 {
        u128::from_ne_bytes(self.0)
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.get())
    }
}

impl Addresses {
    /// A range of addresses; none if they are of different families.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        let is_v4 = first.is_ipv4();
        let [first_bits, last_bits] = [first, last].map(|address| Bits::of(ip::bits(address)));
        (is_v4 == last.is_ipv4()).then_some(Self { is_v4, first: first_bits, last: last_bits })
    }

    /// A single address.
    pub fn one(address: IpAddr) -> Self {
        let bits = Bits::of(ip::bits(address));
        Self { is_v4: address.is_ipv4(), first: bits, last: bits }
    }

    /// The only address, if there is but one.
    pub fn single(self) -> Option<IpAddr> {
        (self.first == self.last).then(|| ip::address(self.is_v4, self.first.get()))
    }

    /// Whether an address is among them.
    pub fn contain(self, address: IpAddr) -> bool {
        self.contain_bits(address.is_ipv4(), ip::bits(address))
    }

    #[inline]
    fn contain_bits(self, is_v4: bool, address: u128) -> bool {
        self.is_v4 == is_v4 && (self.first.get()..=self.last.get()).contains(&address)
    }

    /// How many bits all of them share at the beginning, if that is all they share and all that share it are among them.
    fn prefix_length(self) -> Option<u32> {
        let (first, last) = (self.first.get(), self.last.get());
        let host_bits = u128::BITS - (first ^ last).leading_zeros();
        let host = if host_bits == u128::BITS { u128::MAX } else { (1 << host_bits) - 1 };
        let length = if self.is_v4 { 32 } else { 128 };
        (first & host == 0 && last & host == host).then_some(length - host_bits)
    }
}

impl fmt::Display for Addresses {
    /// `10.0.0.0/8`, `10.0.0.1..10.0.0.5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, last] = [self.first, self.last].map(|bits| ip::address(self.is_v4, bits.get()));
        match self.prefix_length() {
            Some(length) => write!(f, "{first}/{length}"),
            None => write!(f, "{first}..{last}"),
        }
    }
}

/// One side of a traffic: RFC 7296 §3.13.1 calls it a traffic selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selector {
    /// The addresses.
    pub addresses: Addresses,
    /// The next layer protocol; 0 for any.
    pub protocol: u8,
    /// The ports.
    pub ports: Ports,
}

/// The ports of a selector: RFC 4301 §4.4.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// From the first to the last.
    Range(u16, u16),
    /// Packets of which the ports cannot be seen.
    Opaque,
}

impl Ports {
    /// Every port, and packets that have none.
    pub const ANY: Self = Self::Range(0, u16::MAX);

    #[inline]
    fn contain(self, port: Option<u16>) -> bool {
        match (self, port) {
            (Self::ANY, _) | (Self::Opaque, None) => true,
            (Self::Range(first, last), Some(port)) => (first..=last).contains(&port),
            (Self::Range(..), None) | (Self::Opaque, Some(_)) => false,
        }
    }
}

impl Selector {
    /// Everything to and from these addresses.
    pub const fn of(addresses: Addresses) -> Self {
        Self { addresses, protocol: 0, ports: Ports::ANY }
    }

    #[inline]
    fn covers(&self, flow: &Flow, address: u128, port: Option<u16>) -> bool {
        self.addresses.contain_bits(flow.is_v4(), address)
            && (self.protocol == 0 || self.protocol == flow.protocol())
            && self.ports.contain(port)
    }

    fn fmt_protocol(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.protocol {
            0 => f.write_str("any"),
            1 => f.write_str("icmp"),
            6 => f.write_str("tcp"),
            17 => f.write_str("udp"),
            58 => f.write_str("icmpv6"),
            protocol => write!(f, "{protocol}"),
        }
    }

    /// Of ICMP a port is type and code (RFC 4301 §4.4.1.1).
    fn fmt_port(&self, port: u16, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kind, code] = port.to_be_bytes();
        if matches!(self.protocol, 1 | 58) { write!(f, "{kind}({code})") } else { write!(f, "{port}") }
    }

    fn fmt_ports(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ports {
            Ports::ANY => Ok(()),
            Ports::Opaque => f.write_str("/OPAQUE"),
            Ports::Range(first, last) => {
                f.write_str("/")?;
                self.fmt_port(first, f)?;
                if first == last {
                    return Ok(());
                }
                f.write_str("-")?;
                self.fmt_port(last, f)
            }
        }
    }
}

impl fmt::Display for Selector {
    /// As strongSwan writes them: `10.0.0.0/8`, `192.0.2.1/32[tcp/80]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.addresses.fmt(f)?;
        if (self.protocol, self.ports) == (0, Ports::ANY) {
            return Ok(());
        }
        f.write_str("[")?;
        self.fmt_protocol(f)?;
        self.fmt_ports(f)?;
        f.write_str("]")
    }
}

/// Both sides of a traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selectors {
    /// Our side: one of these.
    pub local: Few<Selector>,
    /// The peer's side: one of these.
    pub remote: Few<Selector>,
}

impl Selectors {
    /// Everything between two ranges.
    pub fn between(local: Addresses, remote: Addresses) -> Self {
        Self { local: [Selector::of(local)].into(), remote: [Selector::of(remote)].into() }
    }

    /// Whether a packet that leaves is meant.
    #[inline]
    pub fn cover_outbound(&self, flow: &Flow) -> bool {
        let (source, destination) = flow.ports().unzip();
        side(&self.local, flow, flow.source, source)
            && side(&self.remote, flow, flow.destination, destination)
    }

    /// Whether a packet that arrives is meant.
    #[inline]
    pub fn cover_inbound(&self, flow: &Flow) -> bool {
        let (source, destination) = flow.ports().unzip();
        side(&self.remote, flow, flow.source, source)
            && side(&self.local, flow, flow.destination, destination)
    }

    /// The only address of the peer's side, if there is but one.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        match &self.remote[..] {
            [only] => only.addresses.single(),
            _ => None,
        }
    }
}

#[inline]
fn side(selectors: &[Selector], flow: &Flow, address: u128, port: Option<u16>) -> bool {
    selectors.iter().any(|selector| selector.covers(flow, address, port))
}

/// The IP version that a next header number announces inside ESP.
pub(crate) const fn version_of(next_header: u8) -> Option<u8> {
    match next_header {
        protocol::IPV4 => Some(4),
        protocol::IPV6 => Some(6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn flow(source: &str, destination: &str, protocol: u8, ports: Option<(u16, u16)>) -> Flow {
        let ports = ports.map_or(Vec::new(), |(from, to)| [from.to_be_bytes(), to.to_be_bytes()].concat());
        Flow::of_payload(address(source), address(destination), protocol, &ports)
    }

    #[test]
    fn a_packet_is_covered_when_all_its_selectors_are() {
        let web = Selectors {
            local: [Selector::of(Addresses::new(address("10.0.0.0"), address("10.0.0.255")).unwrap())].into(),
            remote: [Selector {
                addresses: Addresses::one(address("192.0.2.1")),
                protocol: 6,
                ports: Ports::Range(80, 80),
            }]
            .into(),
        };
        assert!(web.cover_outbound(&flow("10.0.0.7", "192.0.2.1", 6, Some((4000, 80)))));
        assert!(web.cover_inbound(&flow("192.0.2.1", "10.0.0.7", 6, Some((80, 4000)))));
        for wrong in [
            flow("10.0.1.7", "192.0.2.1", 6, Some((4000, 80))),
            flow("10.0.0.7", "192.0.2.2", 6, Some((4000, 80))),
            flow("10.0.0.7", "192.0.2.1", 17, Some((4000, 80))),
            flow("10.0.0.7", "192.0.2.1", 6, Some((4000, 443))),
            flow("10.0.0.7", "192.0.2.1", 6, None),
            flow("::ffff:10.0.0.7", "::ffff:192.0.2.1", 6, Some((4000, 80))),
        ] {
            assert!(!web.cover_outbound(&wrong), "{wrong:?}");
        }
    }

    /// RFC 4301 §7: a later fragment has no ports; only selectors that do not ask for them, or ask for none, take it.
    #[test]
    fn packets_without_ports_want_any_or_opaque() {
        let side = |ports| Selector { ports, ..Selector::of(Addresses::one(address("10.0.0.1"))) };
        let flow = flow("10.0.0.1", "10.0.0.2", 17, None);
        let covers = |ports, port| side(ports).covers(&flow, flow.source, port);
        assert!(covers(Ports::ANY, None) && covers(Ports::ANY, Some(9)));
        assert!(covers(Ports::Opaque, None) && !covers(Ports::Opaque, Some(9)));
        assert!(!covers(Ports::Range(9, 9), None) && covers(Ports::Range(9, 9), Some(9)));
    }

    const OPTIONS: u8 = extension::DESTINATION;

    fn of(protocol: u8, payload: &[u8]) -> (u8, Option<(u16, u16)>) {
        let flow = Flow::of_payload(address("2001:db8::1"), address("2001:db8::2"), protocol, payload);
        (flow.protocol(), flow.ports())
    }

    /// RFC 4301 §4.4.1.1: who has ports where, and who has type and code.
    #[test]
    fn ports_are_seen_where_a_protocol_has_them() {
        for protocol in [6, 17, 33, 132, 136] {
            assert_eq!(of(protocol, &[0x12, 0x34, 0x56, 0x78]), (protocol, Some((0x1234, 0x5678))));
            assert_eq!(of(protocol, &[0x12, 0x34, 0x56]), (protocol, None), "cut short");
        }
        for protocol in [1, 58] {
            assert_eq!(of(protocol, &[8, 3, 9, 9]), (protocol, Some((0x0803, 0x0803))));
            assert_eq!(of(protocol, &[8]), (protocol, None));
        }
        assert_eq!(of(50, &[1, 2, 3, 4]), (50, None));
    }

    /// RFC 8200 §4.6: what is behind destination options decides, however many there are.
    #[test]
    fn destination_options_hide_no_protocol() {
        let ports = [0, 80, 1, 187];
        let behind = |options: &[u8]| of(OPTIONS, &[options, &ports].concat());
        let seen = (6, Some((80, 443)));
        assert_eq!(behind(&[6, 0, 1, 4, 0, 0, 0, 0]), seen);
        assert_eq!(behind(&[&[6, 1, 1, 12][..], &[0; 12]].concat()), seen);
        assert_eq!(behind(&[&[6, 2, 1, 20][..], &[0; 20]].concat()), seen);
        assert_eq!(behind(&[OPTIONS, 0, 1, 4, 0, 0, 0, 0, 6, 0, 1, 4, 0, 0, 0, 0]), seen);
        assert_eq!(of(OPTIONS, &[6, 1, 1, 4, 0, 0, 0, 0]), (OPTIONS, None), "there is no end of them");
        assert_eq!(of(OPTIONS, &[6]), (OPTIONS, None));
        let (v4, inside) = (address("10.0.0.1"), [&[6, 0, 1, 4, 0, 0, 0, 0][..], &ports].concat());
        let flow = Flow::of_payload(v4, v4, OPTIONS, &inside);
        assert_eq!((flow.protocol(), flow.ports()), (OPTIONS, None), "IPv4 has none");
    }

    #[test]
    fn a_flow_says_what_it_is() {
        let shown = format!("{:?}", flow("10.0.0.1", "10.0.0.2", 17, Some((500, 4500))));
        assert_eq!(
            shown,
            "Flow { source: 10.0.0.1, destination: 10.0.0.2, protocol: 17, ports: Some((500, 4500)) }"
        );
        let shown = format!("{:?}", flow("2001:db8::1", "2001:db8::2", 50, None));
        assert_eq!(
            shown,
            "Flow { source: 2001:db8::1, destination: 2001:db8::2, protocol: 50, ports: None }"
        );
    }

    /// What is looked up by the low bits of this number is found at once only if they differ for flows that differ in little.
    #[test]
    fn flows_that_differ_in_little_have_numbers_that_differ_in_their_low_bits() {
        let (a, b) = (u128::from(u64::MAX) << 64 | 1, u128::from(u64::MAX) << 64 | 2);
        let v6 = |bits: u128| IpAddr::from(bits.to_be_bytes());
        let families: [&dyn Fn(u16) -> Flow; 6] = [
            &|n| Flow::of_payload(v6(a), v6(b), 17, &[n.to_be_bytes(), [0, 80]].concat()),
            &|n| Flow::of_payload(v6(a), v6(b), 17, &[[0, 80], n.to_be_bytes()].concat()),
            &|n| Flow::of_payload(v6(a ^ u128::from(n) << 64), v6(b), 17, &[]),
            &|n| Flow::of_payload(v6(a ^ u128::from(n) << 32), v6(b), 17, &[]),
            &|n| Flow::of_payload(v6(a), v6(b ^ u128::from(n) << 64), 17, &[]),
            &|n| Flow::of_payload(v6(a), v6(b ^ u128::from(n)), 17, &[]),
        ];
        for (which, family) in families.iter().enumerate() {
            // Of 1024 numbers by chance there are 906 among 4096, more or less.
            let low = (0..1024).map(|n| family(n).mixed() & 0xfff);
            let distinct = low.collect::<std::collections::BTreeSet<_>>().len();
            assert!(distinct > 800, "family {which}: {distinct}");
        }
    }

    #[test]
    fn one_peer_is_a_single_address_and_nothing_else() {
        let (one, range) = (
            Addresses::one(address("192.0.2.1")),
            Addresses::new(address("192.0.2.1"), address("192.0.2.2")).unwrap(),
        );
        assert_eq!((one.single(), range.single()), (Some(address("192.0.2.1")), None));
        assert_eq!(Addresses::new(address("192.0.2.1"), address("2001:db8::1")), None);
        assert_eq!(Selectors::between(range, one).peer(), Some(address("192.0.2.1")));
        assert_eq!(Selectors::between(one, range).peer(), None);
        let twice = Selectors {
            local: [Selector::of(one)].into(),
            remote: [Selector::of(one), Selector::of(one)].into(),
        };
        assert_eq!(twice.peer(), None);
        assert_eq!([4, 41, 6, 50].map(version_of), [Some(4), Some(6), None, None]);
    }
}
