//! `[tun]`: the network interface through which this machine uses a node's SAs.

use std::net::IpAddr;

use super::network::{IpNetwork, networks};
use crate::diagnostic::ScenarioError;
use crate::tree::{Item, Table};

/// A network interface of a node.
#[derive(Debug, Clone)]
pub struct TunPlan {
    /// Its name.
    pub name: String,
    /// Its address and prefix length; `None`: the address that the gateway assigns.
    pub address: Option<(IpAddr, u8)>,
    /// The longest packet.
    pub mtu_bytes: u16,
    /// Networks routed through it besides its own.
    pub routes: Vec<IpNetwork>,
}

/// What every suite leaves of 1500 bytes: IPv6 (40), UDP (8), SPI and sequence number (8), an IV (16), padding with its
/// length and the next header (17), an ICV (32).
const MTU_BYTES: u16 = 1500 - 40 - 8 - 8 - 16 - 17 - 32;

/// The table `[tun]`, if present.
pub(super) fn read(document: &Table) -> Result<Option<TunPlan>, ScenarioError> {
    let Some(item) = document.get("tun") else { return Ok(None) };
    let table = item.table()?;
    table.only("`tun`", &["name", "address", "mtu", "routes"])?;
    Ok(Some(TunPlan {
        name: name(table.need("name", "`tun`")?)?,
        address: table.or("address", None, |item| address(item).map(Some))?,
        mtu_bytes: table.or("mtu", MTU_BYTES, |item| item.integer(576..=9000).map(|bytes| bytes as u16))?,
        routes: table.or("routes", Vec::new(), networks)?,
    }))
}

/// A name; IFNAMSIZ is 16 with the final zero.
fn name(item: &Item) -> Result<String, ScenarioError> {
    let text = item.text("the name of an interface")?;
    let is_fit = (1..=15).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if is_fit {
        return Ok(text.to_owned());
    }
    let label = "1 to 15 letters, digits, `-`, `_` and `.`";
    Err(item.spot.error(format!("no interface can be called `{text}`"), label))
}

/// `10.98.2.1/24`, or an address alone.
fn address(item: &Item) -> Result<(IpAddr, u8), ScenarioError> {
    let text = item.text("an address with the length of its network")?;
    let parsed = match text.split_once('/') {
        Some((address, length)) => address.parse().ok().zip(length.parse().ok()),
        None => {
            text.parse::<IpAddr>().ok().map(|address| (address, if address.is_ipv4() { 32 } else { 128 }))
        }
    };
    let fits = |(address, length): &(IpAddr, u8)| *length <= if address.is_ipv4() { 32 } else { 128 };
    let wrong = || item.spot.error(format!("`{text}` is no address"), "an address like `10.98.2.1/24`");
    parsed.filter(fits).ok_or_else(wrong)
}
