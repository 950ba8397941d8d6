//! ICMP errors about packets of families: RFC 792, RFC 4443 §3. They quote the packet that they are about.

use keytoll_family::{Content, Dissected, Families, Part, Passed};
use keytoll_net::Addr;

use crate::packets::quoted;

/// An ICMP error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icmp {
    /// The source of the packet that it quotes.
    pub about_from: Addr,
    /// Whereto.
    pub about_to: Addr,
    /// The error.
    pub why: String,
}

impl Content for Icmp {}

/// An error that quotes a UDP packet, or one of a family's own IP protocol; `None` for any other.
pub(crate) fn dissect(families: Families, passed: &Passed) -> Option<Dissected> {
    let bytes = &passed.datagram.bytes[..];
    let &[kind, code, _, _, _, _, m0, m1] = bytes.first_chunk()?;
    let v4 = passed.datagram.from.ip()?.is_ipv4();
    let why = if v4 { why_v4(kind, code, u16::from_be_bytes([m0, m1])) } else { why_v6(kind, code, bytes) }?;
    let (about_from, about_to) = quoted(families, v4, bytes.get(8..)?)?;
    Some(Dissected {
        parts: vec![Part::bare(why.clone()), Part::new("about", format!("{about_from} to {about_to}"))],
        failure: Some(format!("ICMP {why}")),
        ..Dissected::bare("ICMP error", Icmp { about_from, about_to, why })
    })
}

fn why_v4(kind: u8, code: u8, mtu: u16) -> Option<String> {
    Some(match (kind, code) {
        (3, 0) => "network unreachable".to_owned(),
        (3, 1) => "host unreachable".to_owned(),
        (3, 2) => "protocol unreachable".to_owned(),
        (3, 3) => "port unreachable".to_owned(),
        (3, 4) => format!("fragmentation needed, MTU {mtu}"),
        (3, 9 | 10 | 13) => "prohibited by an administrator".to_owned(),
        (3, _) => format!("destination unreachable, code {code}"),
        (11, 0) => "time to live exceeded".to_owned(),
        (11, _) => "fragment reassembly time exceeded".to_owned(),
        _ => return None,
    })
}

fn why_v6(kind: u8, code: u8, bytes: &[u8]) -> Option<String> {
    Some(match (kind, code) {
        (1, 1) => "prohibited by an administrator".to_owned(),
        (1, 4) => "port unreachable".to_owned(),
        (1, _) => "destination unreachable".to_owned(),
        (2, _) => {
            let mtu = u32::from_be_bytes(*bytes.get(4..)?.first_chunk()?);
            format!("packet too big, MTU {mtu}")
        }
        (3, 0) => "hop limit exceeded".to_owned(),
        (3, _) => "fragment reassembly time exceeded".to_owned(),
        _ => return None,
    })
}
