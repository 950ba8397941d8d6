//! Transport mode behind a NAT, RFC 3948 §3.1.2: TCP and UDP inside have checksums over addresses that their sender knew, and
//! the NAT has written others in front of them.

use std::net::IpAddr;

use keytoll_net::{checksum::Sum, transport_checksum};

use keytoll_net::ip::protocol::{TCP, UDP};

/// The addresses that the peer's checksums count: RFC 3947 §5.2 (NAT-OA), RFC 7296 §2.23.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Original {
    /// The peer, as it knows itself.
    pub peer: IpAddr,
    /// We, as the peer knows us.
    pub us: IpAddr,
}

/// Makes the checksum of a payload right for the addresses that now stand in front of it.
// RFC 3948 §3.1.2: from the original addresses if they are known, else by computing it anew. What came out of ESP is as its
// sender made it, so nothing is covered up.
pub(crate) fn mend(payload: &mut [u8], protocol: u8, now: (IpAddr, IpAddr), original: Option<Original>) {
    let at = match (protocol, payload.len()) {
        (TCP, 20..) => 16,
        (UDP, 8..) => 6,
        _ => return,
    };
    let old = u16::from_be_bytes([payload[at], payload[at + 1]]);
    // RFC 768: zero says that there is none.
    if protocol == UDP && old == 0 {
        return;
    }
    let new = match original.filter(|original| is_of_family(*original, now)) {
        Some(original) => moved(old, original, now),
        None => computed(payload, at, protocol, now),
    };
    let new = if protocol == UDP && new == 0 { u16::MAX } else { new };
    payload[at..at + 2].copy_from_slice(&new.to_be_bytes());
}

fn is_of_family(Original { peer, us }: Original, (source, destination): (IpAddr, IpAddr)) -> bool {
    peer.is_ipv4() == source.is_ipv4() && us.is_ipv4() == destination.is_ipv4()
}

// RFC 1624 §3: the new checksum is ~(~HC + ~m + m').
fn moved(old: u16, original: Original, (source, destination): (IpAddr, IpAddr)) -> u16 {
    let sum = without(without(Sum::default().number(!old), original.peer), original.us);
    sum.address(source).address(destination).finish()
}

fn without(sum: Sum, address: IpAddr) -> Sum {
    match address {
        IpAddr::V4(address) => sum.bytes(&(!address).octets()),
        IpAddr::V6(address) => sum.bytes(&(!address).octets()),
    }
}

/// RFC 768: a datagram is as long as it says; what ESP carried behind it does not count.
fn computed(payload: &mut [u8], at: usize, protocol: u8, addresses: (IpAddr, IpAddr)) -> u16 {
    let len = match protocol {
        UDP => usize::from(u16::from_be_bytes([payload[4], payload[5]])).clamp(8, payload.len()),
        _ => payload.len(),
    };
    payload[at..at + 2].fill(0);
    transport_checksum(addresses, protocol, &payload[..len])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn addresses(is_v4: bool, seed: u128) -> (IpAddr, IpAddr) {
        if is_v4 {
            let address = |bits: u128| std::net::Ipv4Addr::from_bits(bits as u32).into();
            (address(seed), address(seed >> 32))
        } else {
            let address = |bits| std::net::Ipv6Addr::from_bits(bits).into();
            (address(seed), address(!seed.rotate_left(13)))
        }
    }

    proptest! {
        /// Both ways lead to a checksum that a receiver finds right, whatever the addresses and the data are.
        #[test]
        fn a_right_checksum_stays_right(
            is_v4 in any::<bool>(), is_udp in any::<bool>(), before in any::<u128>(), after in any::<u128>(),
            mut payload in proptest::collection::vec(any::<u8>(), 20..80), is_known in any::<bool>(),
        ) {
            let (protocol, at) = if is_udp { (UDP, 6) } else { (TCP, 16) };
            let (old, new) = (addresses(is_v4, before), addresses(is_v4, after));
            if is_udp {
                let len = (payload.len() as u16).to_be_bytes();
                payload[4..6].copy_from_slice(&len);
            }
            payload[at..at + 2].fill(0);
            let sum = transport_checksum(old, protocol, &payload);
            let sum = if is_udp && sum == 0 { u16::MAX } else { sum };
            payload[at..at + 2].copy_from_slice(&sum.to_be_bytes());
            let plain = payload.clone();
            mend(&mut payload, protocol, new, is_known.then_some(Original { peer: old.0, us: old.1 }));
            prop_assert_eq!(transport_checksum(new, protocol, &payload), 0);
            payload[at..at + 2].copy_from_slice(&sum.to_be_bytes());
            prop_assert_eq!(payload, plain, "nothing but the checksum has changed");
        }

        #[test]
        fn any_bytes_are_left_as_long_as_they_are(
            protocol in prop::sample::select(&[TCP, UDP, 1, 50][..]), mut payload in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let len = payload.len();
            mend(&mut payload, protocol, addresses(true, 7), None);
            prop_assert_eq!(payload.len(), len);
        }
    }

    #[test]
    fn a_datagram_without_a_checksum_has_none_afterwards() {
        let mut datagram = [0, 53, 0, 53, 0, 9, 0, 0, 7];
        mend(&mut datagram, UDP, addresses(true, 99), None);
        assert_eq!(datagram, [0, 53, 0, 53, 0, 9, 0, 0, 7]);
    }
}
