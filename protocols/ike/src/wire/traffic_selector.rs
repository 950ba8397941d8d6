//! Traffic Selector payloads, RFC 7296 §3.13, §3.13.1, §2.9 (narrowing); RFC 4301 §4.4.1.1 (OPAQUE and ICMP ports).
//!
//!   Number of TSs(1) Reserved(3) selectors
//!   selector: TS Type(1) IP Protocol ID(1) Selector Length(2) Start Port(2) End Port(2) Start Address(4|16) End Address(4|16)

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::number::SelectorType;

/// A decoded TSi or TSr payload: checked once, and iterated on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficSelectors<'a> {
    count: u8,
    body: &'a [u8],
}

impl<'a> TrafficSelectors<'a> {
    /// The selectors of known types, in order.
    pub fn selectors(&self) -> impl Iterator<Item = TrafficSelector> + use<'a> {
        let mut r = Reader::new(self.body);
        let read = move || if r.is_empty() { None } else { TrafficSelector::read(&mut r).ok() };
        std::iter::from_fn(read).flatten()
    }

    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let at = *r;
        let count = r.u8("number of traffic selectors")?;
        if count == 0 {
            return Err(at.error("number of traffic selectors", Problem::Missing));
        }
        r.skip(3, "TS reserved")?;
        let mut check = *r;
        (0..count).try_for_each(|_| TrafficSelector::read(&mut check).map(drop))?;
        check.end("traffic selectors")?;
        Ok(Self { count, body: r.rest() })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        w.bytes(&[self.count, 0, 0, 0]);
        w.bytes(self.body);
    }

    /// Writes the body of a TS payload: at most the first [`SELECTORS_MAX`] selectors.
    pub fn write_selectors(selectors: &[TrafficSelector], w: &mut Writer) {
        // RFC 7296 §2.9: omitting selectors is narrowing. The combinations of a peer's selectors with ours may exceed one
        // octet, and a peer must not be able to cause a panic.
        let selectors = &selectors[..selectors.len().min(SELECTORS_MAX)];
        let count = u8::try_from(selectors.len()).expect("SELECTORS_MAX fits an octet");
        w.bytes(&[count, 0, 0, 0]);
        selectors.iter().for_each(|selector| selector.write(w));
    }
}

/// RFC 7296 §3.13: the number of selectors is one octet.
pub const SELECTORS_MAX: usize = 255;

/// Traffic by address range, protocol and port range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrafficSelector {
    /// The IP protocol; 0 is any.
    pub protocol: u8,
    /// The ports (for ICMP: type in the high byte, code in the low one).
    pub ports: Ports,
    /// The first address.
    start: IpAddr,
    /// The last address, of the same family.
    end: IpAddr,
}

/// The ports of a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ports {
    /// From the first to the last, which is not smaller.
    Range(u16, u16),
    /// Packets whose port cannot be seen.
    Opaque,
}

impl Ports {
    /// Every port.
    pub const ANY: Self = Self::Range(0, u16::MAX);

    // RFC 7296 §3.13.1: start 0 and end 65535 is every port, start 65535 and end 0 is OPAQUE.
    const fn from_wire(start: u16, end: u16) -> Option<Self> {
        match (start, end) {
            (u16::MAX, 0) => Some(Self::Opaque),
            _ if start <= end => Some(Self::Range(start, end)),
            _ => None,
        }
    }

    const fn to_wire(self) -> (u16, u16) {
        match self {
            Self::Range(start, end) => (start, end),
            Self::Opaque => (u16::MAX, 0),
        }
    }

    fn narrow(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Range(start, end), Self::Range(other_start, other_end)) => {
                let (start, end) = (start.max(other_start), end.min(other_end));
                (start <= end).then_some(Self::Range(start, end))
            }
            // RFC 4301 §4.4.1.1: ANY covers OPAQUE, no smaller range does.
            (Self::Opaque, Self::ANY | Self::Opaque) | (Self::ANY, Self::Opaque) => Some(Self::Opaque),
            _ => None,
        }
    }
}

/// IP protocol numbers with types and codes in place of ports.
const ICMP: [u8; 2] = [1, 58];

impl TrafficSelector {
    /// Every IPv4 packet.
    pub const ANY_IPV4: Self = Self::prefix(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    /// Every IPv6 packet.
    pub const ANY_IPV6: Self = Self::prefix(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);

    /// All traffic of a prefix; a length beyond the address length means the whole address.
    pub const fn prefix(address: IpAddr, length: u8) -> Self {
        let (start, end) = match address {
            IpAddr::V4(ip) => {
                let host = if length >= 32 { 0 } else { u32::MAX >> length };
                let bits = ip.to_bits();
                (IpAddr::V4(Ipv4Addr::from_bits(bits & !host)), IpAddr::V4(Ipv4Addr::from_bits(bits | host)))
            }
            IpAddr::V6(ip) => {
                let host = if length >= 128 { 0 } else { u128::MAX >> length };
                let bits = ip.to_bits();
                (IpAddr::V6(Ipv6Addr::from_bits(bits & !host)), IpAddr::V6(Ipv6Addr::from_bits(bits | host)))
            }
        };
        Self { protocol: 0, ports: Ports::ANY, start, end }
    }

    /// All traffic of one address.
    pub const fn host(address: IpAddr) -> Self {
        Self::prefix(address, 128)
    }

    /// All traffic of a range; `None` if the range is empty or the families differ.
    pub fn range(start: IpAddr, end: IpAddr) -> Option<Self> {
        let fits = start.is_ipv4() == end.is_ipv4() && start <= end;
        fits.then_some(Self { protocol: 0, ports: Ports::ANY, start, end })
    }

    /// The same addresses, restricted to this protocol and these ports.
    pub const fn only(self, protocol: u8, ports: Ports) -> Self {
        Self { protocol, ports, ..self }
    }

    /// The first address.
    pub const fn start(&self) -> IpAddr {
        self.start
    }

    /// The last address, of the same family.
    pub const fn end(&self) -> IpAddr {
        self.end
    }

    /// The intersection of both, if there is any.
    pub fn narrow(&self, other: &Self) -> Option<Self> {
        let protocol = match (self.protocol, other.protocol) {
            (a, b) if a == b || b == 0 => a,
            (0, b) => b,
            _ => return None,
        };
        if self.start.is_ipv4() != other.start.is_ipv4() {
            return None;
        }
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        let ports = self.ports.narrow(other.ports)?;
        (start <= end).then_some(Self { protocol, ports, start, end })
    }

    /// Whether it selects everything `other` does.
    pub fn contains(&self, other: &Self) -> bool {
        self.narrow(other).as_ref() == Some(other)
    }

    /// Whether it selects a packet with this address, protocol and port (of ICMP: type and code).
    pub fn matches(&self, address: IpAddr, protocol: u8, port: u16) -> bool {
        let port_matches = match self.ports {
            Ports::Range(start, end) => (start..=end).contains(&port),
            Ports::Opaque => false,
        };
        address.is_ipv4() == self.start.is_ipv4()
            && (self.start..=self.end).contains(&address)
            && (self.protocol == 0 || self.protocol == protocol)
            && port_matches
    }

    /// The length of the prefix that equals this range, if there is one.
    pub fn prefix_length(&self) -> Option<u8> {
        let (bits, length) = match (self.start, self.end) {
            (IpAddr::V4(start), IpAddr::V4(end)) => (32, (start.to_bits() ^ end.to_bits()).leading_zeros()),
            (IpAddr::V6(start), IpAddr::V6(end)) => (128, (start.to_bits() ^ end.to_bits()).leading_zeros()),
            _ => return None,
        };
        let length = u8::try_from(length.min(bits)).ok()?;
        let whole = Self::prefix(self.start, length);
        ((whole.start, whole.end) == (self.start, self.end)).then_some(length)
    }

    /// Reads a selector; `None` if its type is unknown.
    fn read(r: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        let mut inside = *r;
        let kind = SelectorType(inside.u8("TS type")?);
        let protocol = inside.u8("TS IP protocol ID")?;
        let at_length = inside;
        let length = usize::from(inside.u16("selector length")?);
        let expected = match kind {
            SelectorType::TS_IPV4_ADDR_RANGE => 16,
            SelectorType::TS_IPV6_ADDR_RANGE => 40,
            _ => length.max(4),
        };
        if length != expected {
            return Err(at_length.error("selector length", Problem::Length(length as u64)));
        }
        r.skip(length, "traffic selector")?;
        match kind {
            SelectorType::TS_IPV4_ADDR_RANGE => Self::read_range::<4>(protocol, &mut inside).map(Some),
            SelectorType::TS_IPV6_ADDR_RANGE => Self::read_range::<16>(protocol, &mut inside).map(Some),
            _ => Ok(None),
        }
    }

    fn read_range<const N: usize>(protocol: u8, r: &mut Reader<'_>) -> Result<Self, DecodeError>
    where
        IpAddr: From<[u8; N]>,
    {
        let at_ports = *r;
        let (start_port, end_port) = (r.u16("start port")?, r.u16("end port")?);
        let ports = Ports::from_wire(start_port, end_port)
            .ok_or(at_ports.error("start port", Problem::Value(start_port.into())))?;
        let at_addresses = *r;
        let (start, end) =
            (IpAddr::from(r.array::<N>("starting address")?), r.array::<N>("ending address")?.into());
        if start > end {
            return Err(at_addresses.error("starting address", Problem::Value(0)));
        }
        Ok(Self { protocol, ports, start, end })
    }

    fn write(&self, w: &mut Writer) {
        let (start_port, end_port) = self.ports.to_wire();
        let (kind, length) = match self.start {
            IpAddr::V4(_) => (SelectorType::TS_IPV4_ADDR_RANGE, 16),
            IpAddr::V6(_) => (SelectorType::TS_IPV6_ADDR_RANGE, 40),
        };
        w.bytes(&[kind.0, self.protocol, 0, length]);
        w.u16(start_port);
        w.u16(end_port);
        for address in [self.start, self.end] {
            match address {
                IpAddr::V4(ip) => w.bytes(&ip.octets()),
                IpAddr::V6(ip) => w.bytes(&ip.octets()),
            }
        }
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

    fn fmt_port(&self, port: u16, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [kind, code] = port.to_be_bytes();
        if ICMP.contains(&self.protocol) { write!(f, "{kind}({code})") } else { write!(f, "{port}") }
    }

    fn fmt_ports(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ports {
            Ports::ANY => Ok(()),
            Ports::Opaque => f.write_str("/OPAQUE"),
            Ports::Range(start, end) => {
                f.write_str("/")?;
                self.fmt_port(start, f)?;
                if start == end {
                    return Ok(());
                }
                f.write_str("-")?;
                self.fmt_port(end, f)
            }
        }
    }
}

impl fmt::Display for TrafficSelector {
    /// In strongSwan's notation: `10.0.0.0/8`, `10.0.0.1..10.0.0.5`, `192.0.2.1/32[tcp/80]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix_length() {
            Some(length) => write!(f, "{}/{length}", self.start)?,
            None => write!(f, "{}..{}", self.start, self.end)?,
        }
        if (self.protocol, self.ports) == (0, Ports::ANY) {
            return Ok(());
        }
        f.write_str("[")?;
        self.fmt_protocol(f)?;
        self.fmt_ports(f)?;
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::PayloadType;
    use crate::wire::Payload;
    use crate::wire::payload::read_chain;
    use crate::wire::testing::check_codec;
    use proptest::prelude::*;

    fn v4(text: &str, length: u8) -> TrafficSelector {
        TrafficSelector::prefix(text.parse().unwrap(), length)
    }

    fn body(selectors: &[TrafficSelector]) -> Vec<u8> {
        let mut w = Writer::default();
        TrafficSelectors::write_selectors(selectors, &mut w);
        w.finish()
    }

    #[test]
    fn selectors_print_as_in_strongswan() {
        let check = |selector: TrafficSelector, text: &str| assert_eq!(selector.to_string(), text);
        check(v4("10.1.2.3", 8), "10.0.0.0/8");
        check(TrafficSelector::ANY_IPV6, "::/0");
        check(v4("192.0.2.1", 32).only(6, Ports::Range(80, 80)), "192.0.2.1/32[tcp/80]");
        check(v4("192.0.2.1", 32).only(17, Ports::Opaque), "192.0.2.1/32[udp/OPAQUE]");
        check(v4("192.0.2.1", 32).only(1, Ports::Range(0x0800, 0x0800)), "192.0.2.1/32[icmp/8(0)]");
        check(v4("192.0.2.1", 32).only(47, Ports::ANY), "192.0.2.1/32[47]");
        let range = TrafficSelector::range("10.0.0.1".parse().unwrap(), "10.0.0.5".parse().unwrap());
        check(range.unwrap(), "10.0.0.1..10.0.0.5");
    }

    #[test]
    fn narrowing_is_intersection() {
        let (wide, tcp) = (v4("10.0.0.0", 8), v4("10.1.0.0", 16).only(6, Ports::Range(10, 20)));
        assert_eq!(wide.narrow(&tcp), Some(tcp));
        assert!(wide.contains(&tcp) && !tcp.contains(&wide));
        assert_eq!(tcp.narrow(&wide.only(17, Ports::ANY)), None);
        assert_eq!(tcp.narrow(&wide.only(6, Ports::Range(21, 30))), None);
        assert_eq!(tcp.narrow(&wide.only(6, Ports::Range(15, 30))), Some(tcp.only(6, Ports::Range(15, 20))));
        assert_eq!(wide.narrow(&TrafficSelector::ANY_IPV6), None);
        assert_eq!(wide.narrow(&v4("11.0.0.0", 8)), None);
    }

    #[test]
    fn opaque_ports_are_in_any_and_in_nothing_else() {
        let (opaque, any) = (v4("10.0.0.0", 8).only(6, Ports::Opaque), v4("10.0.0.0", 8));
        assert_eq!(any.narrow(&opaque), Some(opaque));
        assert_eq!(opaque.narrow(&opaque), Some(opaque));
        assert_eq!(opaque.narrow(&any.only(6, Ports::Range(0, 65534))), None);
        assert!(!opaque.matches("10.0.0.1".parse().unwrap(), 6, 80));
    }

    #[test]
    fn packets_match_by_address_protocol_and_port() {
        let selector = v4("10.1.0.0", 16).only(6, Ports::Range(10, 20));
        assert!(selector.matches("10.1.255.255".parse().unwrap(), 6, 20));
        assert!(!selector.matches("10.2.0.0".parse().unwrap(), 6, 20));
        assert!(!selector.matches("10.1.0.0".parse().unwrap(), 17, 20));
        assert!(!selector.matches("10.1.0.0".parse().unwrap(), 6, 21));
        assert!(!TrafficSelector::ANY_IPV6.matches("10.1.0.0".parse().unwrap(), 6, 21));
    }

    #[test]
    fn the_layout_is_that_of_the_standard() {
        let selector = v4("10.0.0.0", 8).only(6, Ports::Range(80, 81));
        assert_eq!(
            body(&[selector]),
            [1, 0, 0, 0, 7, 6, 0, 16, 0, 80, 0, 81, 10, 0, 0, 0, 10, 255, 255, 255]
        );
    }

    #[test]
    fn ranges_that_end_before_they_start_and_wrong_lengths_are_refused() {
        let damaged = |at: usize, value: u8| {
            let mut bytes = body(&[v4("10.0.0.0", 8).only(6, Ports::Range(80, 81))]);
            bytes[at] = value;
            TrafficSelectors::read(&mut Reader::new(&bytes)).unwrap_err().field
        };
        assert_eq!(damaged(0, 0), "number of traffic selectors");
        assert_eq!(damaged(0, 2), "TS type");
        assert_eq!(damaged(7, 15), "selector length");
        assert_eq!(damaged(9, 82), "start port");
        assert_eq!(damaged(12, 11), "starting address");
    }

    #[test]
    fn selectors_of_unknown_type_are_skipped() {
        let mut bytes = body(&[v4("10.0.0.0", 8)]);
        bytes[0] = 2;
        bytes.extend_from_slice(&[10, 0, 0, 6, 1, 2]);
        let selectors = TrafficSelectors::read(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(selectors.selectors().collect::<Vec<_>>(), [v4("10.0.0.0", 8)]);
        check_codec(&Payload::SelectorsInitiator(selectors));
        assert!(read_chain(PayloadType::TS_R, &mut Reader::new(&[0, 0, 0, 8, 0, 0, 0, 0])).is_err());
    }

    #[test]
    fn selectors_beyond_the_count_are_left_out() {
        let many = vec![v4("10.0.0.0", 8); SELECTORS_MAX + 1];
        let body = body(&many);
        let payload = TrafficSelectors::read(&mut Reader::new(&body)).unwrap();
        assert_eq!(payload.selectors().count(), SELECTORS_MAX);
    }

    fn addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
        let v4 =
            any::<(u32, u32)>().prop_map(|(a, b)| (IpAddr::V4(a.min(b).into()), IpAddr::V4(a.max(b).into())));
        let v6 = any::<(u128, u128)>()
            .prop_map(|(a, b)| (IpAddr::V6(a.min(b).into()), IpAddr::V6(a.max(b).into())));
        prop_oneof![v4, v6]
    }

    fn selectors() -> impl Strategy<Value = TrafficSelector> {
        let range = any::<(u16, u16)>().prop_map(|(a, b)| Ports::Range(a.min(b), a.max(b)));
        let ports = prop_oneof![Just(Ports::ANY), Just(Ports::Opaque), range];
        (addresses(), prop_oneof![Just(0_u8), Just(6), any::<u8>()], ports)
            .prop_map(|((start, end), protocol, ports)| TrafficSelector { protocol, ports, start, end })
    }

    proptest! {
        #[test]
        fn round_trip(all in proptest::collection::vec(selectors(), 1..6)) {
            let body = body(&all);
            let payload = TrafficSelectors::read(&mut Reader::new(&body)).unwrap();
            prop_assert!(payload.selectors().eq(all.iter().copied()));
            check_codec(&Payload::SelectorsInitiator(payload));
            check_codec(&Payload::SelectorsResponder(payload));
        }

        #[test]
        fn narrowing_commutes_and_stays_inside(a in selectors(), b in selectors()) {
            prop_assert_eq!(a.narrow(&b), b.narrow(&a));
            prop_assert_eq!(a.narrow(&a), Some(a));
            if let Some(both) = a.narrow(&b) {
                prop_assert!(a.contains(&both) && b.contains(&both));
            }
        }
    }
}
