//! Traffic selectors of quick mode: RFC 2407 §4.6.2 has one identity for each side where IKEv2 has lists of selectors.

use std::net::IpAddr;

use super::wire::Identification;
use crate::config::ChildConfig;
use crate::number::IdKind;
use crate::wire::TrafficSelector;
use crate::wire::traffic_selector::Ports;

/// A selector as an identity: kind, protocol, port and data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClientId {
    kind: IdKind,
    protocol: u8,
    port: u16,
    data: Vec<u8>,
}

impl ClientId {
    /// The identity for a selector; `None` if there is none.
    // RFC 2407 §4.6.2: one port, or all of them, which is 0.
    pub(super) fn of(selector: &TrafficSelector) -> Option<Self> {
        let (start, end) = (selector.start(), selector.end());
        let port = match selector.ports {
            Ports::ANY => 0,
            Ports::Range(first, last) if first == last && first > 0 => first,
            Ports::Range(..) | Ports::Opaque => return None,
        };
        let (kind, data) = match selector.prefix_length() {
            _ if start == end => (address_kind(start), octets(start)),
            Some(length) => (subnet_kind(start), [octets(start), mask(start, length)].concat()),
            None => (range_kind(start), [octets(start), octets(end)].concat()),
        };
        Some(Self { kind, protocol: selector.protocol, port, data })
    }

    pub(super) fn as_payload(&self) -> Identification<'_> {
        Identification { kind: self.kind, protocol: self.protocol, port: self.port, data: &self.data }
    }
}

/// Whether the configured traffic of a child can be offered.
pub(super) fn can_offer(child: &ChildConfig) -> bool {
    [&child.local, &child.remote].into_iter().all(|side| is_offerable(side))
}

// RFC 2409 §5.5: quick mode has one identity for each side.
fn is_offerable(side: &[TrafficSelector]) -> bool {
    match side {
        [] => true,
        [only] => ClientId::of(only).is_some(),
        _ => false,
    }
}

/// The selector for an identity; `None` if the identity denotes no traffic.
pub(super) fn selector(id: &Identification<'_>) -> Option<TrafficSelector> {
    let (start, end) = match id.kind {
        IdKind::ID_IPV4_ADDR | IdKind::ID_IPV6_ADDR => (address(id.data)?, address(id.data)?),
        Identification::IPV4_RANGE | Identification::IPV6_RANGE => halves(id.data)?,
        Identification::IPV4_SUBNET | Identification::IPV6_SUBNET => {
            let (network, mask) = halves(id.data)?;
            subnet(network, mask)?
        }
        _ => return None,
    };
    let ports = if id.port == 0 { Ports::ANY } else { Ports::Range(id.port, id.port) };
    TrafficSelector::range(start, end).map(|selector| selector.only(id.protocol, ports))
}

fn address(data: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(data).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(data).map(IpAddr::from)).ok()
}

fn halves(data: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let (first, second) = data.split_at(data.len() / 2);
    Some((address(first)?, address(second)?))
}

/// First and last address of a subnet; `None` if the mask is not contiguous.
fn subnet(network: IpAddr, mask: IpAddr) -> Option<(IpAddr, IpAddr)> {
    match (network, mask) {
        (IpAddr::V4(network), IpAddr::V4(mask)) => {
            let (network, mask) = (u32::from(network), u32::from(mask));
            let whole = mask.leading_ones() + mask.trailing_zeros() >= 32;
            whole.then(|| (IpAddr::V4((network & mask).into()), IpAddr::V4((network | !mask).into())))
        }
        (IpAddr::V6(network), IpAddr::V6(mask)) => {
            let (network, mask) = (u128::from(network), u128::from(mask));
            let whole = mask.leading_ones() + mask.trailing_zeros() >= 128;
            whole.then(|| (IpAddr::V6((network & mask).into()), IpAddr::V6((network | !mask).into())))
        }
        _ => None,
    }
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

fn mask(family: IpAddr, length: u8) -> Vec<u8> {
    let bytes = if family.is_ipv4() { 4 } else { 16 };
    let ones = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
    ones.to_be_bytes()[..bytes].to_vec()
}

const fn address_kind(ip: IpAddr) -> IdKind {
    if ip.is_ipv4() { IdKind::ID_IPV4_ADDR } else { IdKind::ID_IPV6_ADDR }
}

const fn subnet_kind(ip: IpAddr) -> IdKind {
    if ip.is_ipv4() { Identification::IPV4_SUBNET } else { Identification::IPV6_SUBNET }
}

const fn range_kind(ip: IpAddr) -> IdKind {
    if ip.is_ipv4() { Identification::IPV4_RANGE } else { Identification::IPV6_RANGE }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(selector: TrafficSelector, kind: u8, data: &[u8]) {
        let id = ClientId::of(&selector).unwrap();
        assert_eq!((id.kind.0, &id.data[..]), (kind, data));
        assert_eq!(super::selector(&id.as_payload()), Some(selector));
    }

    #[test]
    fn selectors_are_addresses_subnets_or_ranges() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        check(TrafficSelector::host(ip("192.0.2.1")), 1, &[192, 0, 2, 1]);
        check(TrafficSelector::prefix(ip("10.1.0.0"), 16), 4, &[10, 1, 0, 0, 255, 255, 0, 0]);
        check(TrafficSelector::prefix(ip("0.0.0.0"), 0), 4, &[0; 8]);
        let range = TrafficSelector::range(ip("10.0.0.1"), ip("10.0.0.9")).unwrap();
        check(range, 7, &[10, 0, 0, 1, 10, 0, 0, 9]);
        let web = TrafficSelector::host(ip("192.0.2.1")).only(6, Ports::Range(80, 80));
        check(web, 1, &[192, 0, 2, 1]);
    }

    #[test]
    fn selectors_without_an_identity_are_not_offered() {
        let host = TrafficSelector::host("192.0.2.1".parse().unwrap());
        let ports = |first, last| host.only(17, Ports::Range(first, last));
        for (side, offerable) in [
            (vec![], true),
            (vec![host], true),
            (vec![ports(80, 80)], true),
            (vec![ports(80, 81)], false),
            (vec![ports(0, 0)], false),
            (vec![host.only(17, Ports::Opaque)], false),
            (vec![host, host], false),
        ] {
            assert_eq!(is_offerable(&side), offerable, "{side:?}");
        }
    }

    #[test]
    fn a_mask_with_holes_is_no_subnet() {
        let data = [10, 0, 0, 0, 255, 0, 255, 0];
        let id = Identification { kind: Identification::IPV4_SUBNET, protocol: 0, port: 0, data: &data };
        assert_eq!(selector(&id), None);
    }

    proptest! {
        #[test]
        fn prefixes_come_back(address: u128, length in 0_u8..=128) {
            let selector = TrafficSelector::prefix(IpAddr::V6(address.into()), length);
            prop_assert_eq!(super::selector(&ClientId::of(&selector).unwrap().as_payload()), Some(selector));
        }

        #[test]
        fn no_identity_makes_it_panic(kind: u8, data: Vec<u8>, protocol: u8, port: u16) {
            let _ = selector(&Identification { kind: IdKind(kind), protocol, port, data: &data });
        }
    }
}
