//! UDP datagrams between two stations, which have the same port.

use std::net::IpAddr;

use keytoll_net::udp;
use keytoll_net::wire::{DecodeError, Problem};

pub(super) use keytoll_net::ip::protocol::UDP;
pub(super) use keytoll_net::udp::HEADER as HEADER_BYTES;

/// A datagram between these ports.
pub(super) fn write(between: (IpAddr, IpAddr), port: u16, data: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0; HEADER_BYTES + data.len()];
    datagram[HEADER_BYTES..].copy_from_slice(data);
    udp::write(between, (port, port), &mut datagram).expect("a packet's length was checked");
    datagram
}

/// The data of a datagram to this port.
pub(super) fn read(between: (IpAddr, IpAddr), port: u16, datagram: &[u8]) -> Result<&[u8], DecodeError> {
    let (header, data) = udp::read(between, datagram)?;
    if header.destination != port {
        let problem = Problem::Value(header.destination.into());
        return Err(DecodeError { field: "UDP destination port", offset: 2, problem });
    }
    Ok(data)
}
