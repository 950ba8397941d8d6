//! The child SAs of a host: what is sealed into which, what arrives on which.

use std::net::IpAddr;

use keytoll_engine::crypto::Phase;
use keytoll_engine::map::FastMap;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Addr, Ctx, Datagram, Rng, Transport};
use keytoll_esp::{Inbound, Keys, Outbound};
use keytoll_ike::v2::{ChildKeys, ChildSa, Mode};
use keytoll_ike::wire::TrafficSelector;

use crate::ip;

/// Where an SA's packets go and in which clothes.
#[derive(Debug)]
struct Entry {
    inbound: Inbound,
    outbound: Outbound,
    mode: Mode,
    local: Vec<TrafficSelector>,
    remote: Vec<TrafficSelector>,
    path: Path,
    /// The peer is where its last packet came from.
    follows_peer: bool,
}

/// The outer addresses of an SA.
#[derive(Debug, Clone, Copy)]
struct Path {
    transport: Transport,
    from: Addr,
    to: Addr,
}

/// The child SAs of a host, by the SPI it receives on.
#[derive(Debug, Default)]
pub(crate) struct SaTable {
    entries: FastMap<u32, Box<Entry>>,
    /// Inbound SPIs by where their traffic goes, oldest first; the newest is used.
    routes: std::collections::BTreeMap<IpAddr, Vec<u32>>,
}

/// An IP payload that came out of an SA.
#[derive(Debug)]
pub(crate) struct Delivered {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) payload: Vec<u8>,
}

impl SaTable {
    /// Installs a pair of SAs between two outer addresses.
    pub(crate) fn install(&mut self, child: ChildSa, local: IpAddr, remote: IpAddr) {
        let keys = |keys: ChildKeys| Keys {
            encryption: child.suite.encryption,
            integrity: child.suite.integrity,
            encryption_key: keys.encryption,
            integrity_key: keys.integrity,
        };
        let path = match child.encapsulation {
            Some((from, to)) => Path { transport: Transport::Udp, from, to },
            None => Path { transport: Transport::Ip, from: Addr::new(local, 0), to: Addr::new(remote, 0) },
        };
        let route = child.remote.first().map_or(remote, TrafficSelector::start);
        self.routes.entry(route).or_default().push(child.inbound_spi);
        let entry = Entry {
            inbound: Inbound::new(child.inbound_spi, keys(child.inbound)),
            outbound: Outbound::new(child.outbound_spi, keys(child.outbound)),
            mode: child.mode,
            local: child.local,
            remote: child.remote,
            path,
            follows_peer: child.encapsulation.is_some() && child.peer_may_move,
        };
        self.entries.insert(child.inbound_spi, Box::new(entry));
    }

    /// Forgets the SA that receives on this SPI.
    pub(crate) fn remove(&mut self, inbound_spi: u32) {
        if self.entries.remove(&inbound_spi).is_some() {
            self.routes.retain(|_, spis| {
                spis.retain(|&spi| spi != inbound_spi);
                !spis.is_empty()
            });
        }
    }

    /// Whether traffic to this address has an SA.
    pub(crate) fn reaches(&self, destination: IpAddr) -> bool {
        self.route(destination).is_some()
    }

    /// RFC 4301 §5.1: the SA for a destination, the newest first.
    fn route(&self, destination: IpAddr) -> Option<u32> {
        let exact = self.routes.get(&destination).and_then(|spis| spis.last().copied());
        exact.or_else(|| {
            let spis = self.routes.values().filter_map(|spis| spis.last());
            spis.copied().find(|spi| self.covers(*spi, destination))
        })
    }

    fn covers(&self, spi: u32, destination: IpAddr) -> bool {
        self.entries.get(&spi).is_some_and(|entry| entry.remote.iter().any(|ts| covers(ts, destination)))
    }

    /// Seals an IP payload into the SA for its destination.
    pub(crate) fn seal(
        &mut self,
        packet: &ip::Packet<'_>,
        rng: &mut Rng,
        cx: &mut Ctx<'_>,
    ) -> Option<Datagram> {
        let spi = self.route(packet.destination)?;
        let entry = self.entries.get_mut(&spi)?;
        cx.crypto.enter(Phase::Traffic);
        let sealed = match entry.mode {
            Mode::Transport => entry.outbound.seal(packet.protocol, packet.payload, rng, cx.crypto),
            Mode::Tunnel => {
                let next_header = ip::next_header(packet.source);
                entry.outbound.seal(next_header, &packet.write()?, rng, cx.crypto)
            }
        };
        let Ok(bytes) = sealed else {
            cx.discard(Protocol::Esp, "esp: sequence number exhausted");
            return None;
        };
        let Path { transport, from, to } = entry.path;
        Some(Datagram { protocol: Protocol::Esp, transport, from, to, bytes })
    }

    /// Opens an ESP packet; what is wrong with it is traced.
    pub(crate) fn open(&mut self, from: Addr, to: Addr, bytes: &[u8], cx: &mut Ctx<'_>) -> Option<Delivered> {
        let spi = bytes.first_chunk().map(|spi| u32::from_be_bytes(*spi));
        let Some(entry) = spi.and_then(|spi| self.entries.get_mut(&spi)) else {
            cx.discard(Protocol::Esp, "esp: no SA for this SPI");
            return None;
        };
        cx.crypto.enter(Phase::Traffic);
        let opened = match entry.inbound.open(bytes, cx.crypto) {
            Ok(opened) => opened,
            Err(why) => {
                cx.discard(Protocol::Esp, why.name());
                return None;
            }
        };
        // RFC 7296 §2.23: whoever is not behind the NAT sends to where the last authentic packet came from.
        if entry.follows_peer {
            entry.path.to = from;
        }
        let delivered = entry.deliver(from, to, opened);
        if delivered.is_none() {
            cx.discard(Protocol::Esp, "esp: packet outside the SA's selectors");
        }
        delivered
    }
}

impl Entry {
    /// RFC 4301 §5.2: what comes out must be what the SA is for.
    fn deliver(&self, from: Addr, to: Addr, opened: keytoll_esp::Opened) -> Option<Delivered> {
        let delivered = match self.mode {
            Mode::Transport => Delivered {
                source: from.ip,
                destination: to.ip,
                protocol: opened.next_header,
                payload: opened.payload,
            },
            Mode::Tunnel => {
                let packet = ip::Packet::read(&opened.payload).ok()?;
                Delivered {
                    source: packet.source,
                    destination: packet.destination,
                    protocol: packet.protocol,
                    payload: packet.payload.to_vec(),
                }
            }
        };
        let inside = |selectors: &[TrafficSelector], address| selectors.iter().any(|ts| covers(ts, address));
        (inside(&self.remote, delivered.source) && inside(&self.local, delivered.destination))
            .then_some(delivered)
    }
}

/// Whether an address lies in a selector's range.
fn covers(selector: &TrafficSelector, address: IpAddr) -> bool {
    (selector.start()..=selector.end()).contains(&address)
}
