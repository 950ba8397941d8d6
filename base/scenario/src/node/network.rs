//! Addresses, ports and networks in node files: `127.0.0.1`, `127.0.0.1:1812`, `10.98.3.0/24`.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};

use super::files::Files;
use crate::diagnostic::ScenarioError;
use crate::tree::{Item, Table};

/// The default address of a node.
pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// An IP prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpNetwork {
    /// Its first address.
    pub address: IpAddr,
    /// How many bits are common.
    pub length: u8,
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// A pool of inner addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolPlan {
    /// The first one.
    pub first: IpAddr,
    /// How many there are.
    pub size: u32,
}

/// An IP address.
pub(crate) fn address(item: &Item) -> Result<IpAddr, ScenarioError> {
    let text = item.text("an IP address")?;
    text.parse()
        .map_err(|_| item.spot.error(format!("`{text}` is no IP address"), "an address like `127.0.0.1`"))
}

/// One address or several.
pub(crate) fn addresses(item: &Item) -> Result<Vec<IpAddr>, ScenarioError> {
    item.elements().iter().map(address).collect()
}

/// The address of a peer: an address or a name, with an optional port. Of the addresses of a name the first IPv4 one is used,
/// for nodes listen there by default, and a warning says so.
pub(crate) fn socket(item: &Item, port: u16, files: &mut Files) -> Result<SocketAddr, ScenarioError> {
    let text = item.text("an address")?;
    let alone = || text.parse().map(|ip| SocketAddr::new(ip, port));
    if let Ok(address) = text.parse().or_else(|_| alone()) {
        return Ok(address);
    }
    let mut found = resolved(text, port).map_err(|why| {
        let message = format!("`{text}` is no IP address, and no name that this machine knows: {why}");
        item.spot.error(message, format!("an address like `127.0.0.1` or `127.0.0.1:{port}`, or a name"))
    })?;
    found.sort_by_key(|address| !address.is_ipv4());
    found.dedup();
    if let [taken, others @ ..] = &found[..]
        && !others.is_empty()
    {
        let others: Vec<_> = others.iter().map(|other| other.ip().to_string()).collect();
        files.warn(format!(
            "`{text}` has several addresses: {} is taken, not {}",
            taken.ip(),
            others.join(", ")
        ));
    }
    Ok(found[0])
}

/// The addresses of a name, at least one.
fn resolved(text: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, number)) if !name.contains(':') => (name, number.parse().map_err(|_| no_name())?),
        _ => (text, port),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    // A malformed address is not looked up in the DNS.
    if name.is_empty() || !name.chars().all(is_name) || !name.contains(|c: char| c.is_ascii_alphabetic()) {
        return Err(no_name());
    }
    let found: Vec<_> = (name, port).to_socket_addrs()?.collect();
    if found.is_empty() { Err(no_name()) } else { Ok(found) }
}

fn no_name() -> io::Error {
    io::Error::other("not written like one")
}

/// A local port under a key; 0 means any free one.
pub(crate) fn own_port(table: &Table, key: &str, default: u16) -> Result<u16, ScenarioError> {
    table.or(key, default, |item| item.integer(0..=65_535).map(|port| port as u16))
}

/// Two local ports of one address, each under its key with its default.
pub(crate) fn own_ports(
    table: &Table,
    (one, of_one): (&str, u16),
    (other, of_other): (&str, u16),
) -> Result<(u16, u16), ScenarioError> {
    let ports = (own_port(table, one, of_one)?, own_port(table, other, of_other)?);
    if ports.0 == ports.1 && ports.0 != 0 {
        let spot =
            &table.entry(other).or_else(|| table.entry(one)).map_or(&table.spot, |entry| &entry.item.spot);
        let message = format!("`{one}` and `{other}` are both {}", ports.0);
        return Err(spot.error(message, "one of both needs another"));
    }
    Ok(ports)
}

/// The port of a peer under a key.
pub(crate) fn port(table: &Table, key: &str, default: u16) -> Result<u16, ScenarioError> {
    table.or(key, default, |item| item.integer(1..=65_535).map(|port| port as u16))
}

/// `10.98.3.0/24`, or one address.
pub(crate) fn network(item: &Item) -> Result<IpNetwork, ScenarioError> {
    let text = item.text("a network")?;
    let wrong = |label: &str| item.spot.error(format!("`{text}` is no network"), label);
    let (address, length) = text.split_once('/').unwrap_or((text, ""));
    let address: IpAddr = address.parse().map_err(|_| wrong("a network like `10.98.3.0/24`"))?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let length = if length.is_empty() { Ok(longest) } else { length.parse() };
    let length = length.ok().filter(|length| *length <= longest);
    let length = length.ok_or_else(|| wrong(&format!("a length from 0 to {longest} after the `/`")))?;
    if bits(address) & host_mask(longest, length) != 0 {
        return Err(wrong("there are bits set after the network's own"));
    }
    Ok(IpNetwork { address, length })
}

/// Several networks, or one.
pub(crate) fn networks(item: &Item) -> Result<Vec<IpNetwork>, ScenarioError> {
    item.elements().iter().map(network).collect()
}

/// The hosts of a network, without the first and last address of an IPv4 network.
pub(crate) fn pool(item: &Item) -> Result<PoolPlan, ScenarioError> {
    let text = item.text("a network")?;
    if !text.contains('/') {
        let error = item.spot.error(format!("`{text}` is one address"), "no length of a network");
        return Err(error.hint("a network like `10.98.3.0/24`, or `/32` after the address"));
    }
    let IpNetwork { address, length } = network(item)?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let hosts = host_mask(longest, length);
    let first = bits(address) + u128::from(hosts > 1);
    let size = if hosts > 1 { hosts - 1 } else { hosts + 1 };
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    Ok(PoolPlan { first: of_bits(first, address.is_ipv4()), size })
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

fn of_bits(bits: u128, v4: bool) -> IpAddr {
    if v4 { IpAddr::V4((bits as u32).into()) } else { IpAddr::V6(bits.into()) }
}

fn host_mask(longest: u8, length: u8) -> u128 {
    1_u128.checked_shl(u32::from(longest - length)).map_or(u128::MAX, |bit| bit - 1)
}
