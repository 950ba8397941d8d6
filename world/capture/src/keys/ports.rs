//! Ports that are not the standards', for Wireshark's "Decode As": it knows a protocol by its port.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};

use keytoll_diameter::DIAMETER;
use keytoll_ike::IKE;
use keytoll_net::Addr;
use keytoll_radius::RADIUS;
use keytoll_trace::Protocol;

/// Ports that are named; more are no longer told.
const NAMED_MAX: usize = 256;

/// RFC 3948 §2.2: four zero bytes where an SPI would be.
const NON_ESP_MARKER: [u8; 4] = [0; 4];

/// The table, and what stands in it.
#[derive(Debug)]
pub(super) struct Ports {
    out: File,
    named: BTreeSet<(&'static str, u16)>,
}

impl Ports {
    pub(super) fn new(out: File) -> Self {
        Self { out, named: BTreeSet::new() }
    }

    /// Names both ports, unless one of them is where Wireshark looks for the protocol.
    pub(super) fn name(&mut self, protocol: Protocol, ends: [Addr; 2], bytes: &[u8]) -> io::Result<()> {
        let Some((dissector, known)) = dissector(protocol, bytes) else { return Ok(()) };
        let table = match ends[0] {
            Addr::Udp(_) => "udp.port",
            Addr::Tcp(_) => "tcp.port",
            Addr::Sctp(_) | Addr::Ip { .. } | Addr::Mac(_) => return Ok(()),
        };
        let ports = ends.into_iter().filter_map(Addr::port);
        if ports.clone().any(|port| known.contains(&port)) {
            return Ok(());
        }
        for port in ports {
            if self.named.len() < NAMED_MAX && self.named.insert((table, port)) {
                writeln!(self.out, "decode_as_entry: {table},{port},(none),{dissector}")?;
            }
        }
        Ok(())
    }
}

/// Wireshark's dissector of a datagram, and the ports at which it looks for such.
fn dissector(protocol: Protocol, bytes: &[u8]) -> Option<(&'static str, &'static [u16])> {
    let is_marked = bytes.starts_with(&NON_ESP_MARKER);
    Some(match protocol {
        IKE if !is_marked => ("ISAKMP", &[500, 4500]),
        IKE | Protocol::ESP => ("UDPENCAP", &[4500]),
        RADIUS => ("RADIUS", &[1645, 1646, 1812, 1813, 3799]),
        DIAMETER => ("Diameter", &[3868]),
        _ => return None,
    })
}
