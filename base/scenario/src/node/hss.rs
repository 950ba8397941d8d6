//! `role = "hss"`: a Diameter server with the subscribers' keys.

use std::net::IpAddr;

use super::files::Files;
use super::network::{LOOPBACK, address, addresses, own_port};
use super::peer_tls::{self, PeerTlsPlan, peer_tls};
use super::subscriber::{self, SubscriberPlan};
use super::{Placed, ROLE};
use crate::diagnostic::ScenarioError;
use crate::tree::Table;

/// An HSS.
#[derive(Debug, Clone)]
pub struct HssPlan {
    /// The listening address.
    pub listen: IpAddr,
    /// For Diameter.
    pub port: u16,
    /// Its name.
    pub name: String,
    /// Its realm.
    pub realm: String,
    /// The allowed peers by address; `None`: any, which is possible on loopback only.
    pub peers: Option<Vec<IpAddr>>,
    /// TLS around Diameter; `None`: no protection.
    pub tls: Option<Placed<PeerTlsPlan>>,
    /// Its subscribers.
    pub subscribers: Vec<SubscriberPlan>,
}

const KEYS: &[&str] = &[ROLE, "listen", "port", "name", "realm", "peers", "tls", "subscriber"];

/// Advice about an HSS that accepts any peer.
pub const PEERS: &str = "`peers = [\"the address of the AAA server\"]`";

pub(super) fn read(document: &Table, files: &mut Files) -> Result<HssPlan, ScenarioError> {
    const WHAT: &str = "an HSS";
    document.only(WHAT, KEYS)?;
    document.need("subscriber", WHAT)?;
    let listen = document.or("listen", LOOPBACK, address)?;
    if let (Some(item), None, false) = (document.get("listen"), document.get("peers"), listen.is_loopback()) {
        let message = format!("an HSS on {listen} needs `peers`: whoever may ask gets keys of subscribers");
        return Err(item.spot.error(message, "others can reach it here").hint(PEERS));
    }
    let tls = peer_tls(document, files)?;
    Ok(HssPlan {
        listen,
        port: own_port(document, "port", if tls.is_some() { peer_tls::PORT } else { 3868 })?,
        tls,
        name: document.or("name", "hss".to_owned(), |item| item.text("a name").map(str::to_owned))?,
        realm: document.or("realm", "lab".to_owned(), |item| item.text("a realm").map(str::to_owned))?,
        peers: document.or("peers", None, |item| addresses(item).map(Some))?,
        subscribers: subscriber::all(document, files)?,
    })
}
