//! Non-standard ports for Wireshark's "Decode As", because it recognises a protocol by its port.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};

use keytoll_net::Addr;

/// The limit on named ports.
const NAMED_MAX: usize = 256;

/// The table and its entries.
#[derive(Debug)]
pub(super) struct Ports {
    out: File,
    named: BTreeSet<(&'static str, u16)>,
}

impl Ports {
    pub(super) fn new(out: File) -> Self {
        Self { out, named: BTreeSet::new() }
    }

    /// Names both ports for Wireshark's dissector, unless one of them is standard.
    pub(super) fn name(
        &mut self,
        dissector: Option<(&'static str, &'static [u16])>,
        ends: [Addr; 2],
    ) -> io::Result<()> {
        let Some((dissector, known)) = dissector else { return Ok(()) };
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
