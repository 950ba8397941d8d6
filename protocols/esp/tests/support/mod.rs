//! Two hosts with a pair of SAs between them, for tests and benchmarks.

#![allow(dead_code, reason = "each test uses what it needs")]

use std::net::{IpAddr, Ipv6Addr};

use keytoll_crypto::Real;
use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_crypto_api::{Rng, Secret, TrafficKey};
use keytoll_esp::lifetime::Lifetime;
use keytoll_esp::sad::{Headers, Mode, PairConfig, Path, Start};
use keytoll_esp::selector::{Addresses, Selectors};
use keytoll_esp::{Arrived, Dropped, Frame, HEADROOM, Ipsec, Sent, TAILROOM};
use keytoll_net::Addr;

/// Outer addresses of the two ends.
pub(crate) const OUTER: [&str; 2] = ["192.0.2.1", "192.0.2.2"];
/// Inner addresses of the two ends.
pub(crate) const INNER: [&str; 2] = ["10.0.0.1", "10.0.0.2"];

/// Inner addresses of the two ends in BEET mode.
pub(crate) const HITS: [&str; 2] =
    ["2001:21:1122:3344:5566:7788:99aa:bbcc", "2001:21:ddee:ff00:1357:9bdf:2468:ace0"];

/// An address from its text.
pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Keys that say nothing.
pub(crate) fn key(encryption: Encryption, integrity: Option<Integrity>) -> TrafficKey {
    let integrity = if encryption.is_aead() { None } else { integrity };
    let secret = |byte, len| Secret::new(vec![byte; len]);
    let integrity_key = secret(0x22, integrity.map_or(0, Integrity::key_len));
    TrafficKey::new(encryption, integrity, secret(0x11, encryption.key_len()), integrity_key)
}

/// A pair of SAs of end 0 or 1, in tunnel mode between the inner addresses, in frames without outer headers.
pub(crate) fn pair(end: usize, key: &TrafficKey) -> PairConfig {
    let addresses = |text| Addresses::one(ip(text));
    let (us, peer) = (end, 1 - end);
    PairConfig {
        inbound_spi: 0x100 + us as u32,
        outbound_spi: 0x100 + peer as u32,
        inbound_key: key.clone(),
        outbound_key: key.clone(),
        esn: false,
        mode: Mode::Tunnel,
        selectors: Selectors::between(addresses(INNER[us]), addresses(INNER[peer])),
        path: Path {
            local: Addr::Ip { ip: ip(OUTER[us]), protocol: 50 },
            remote: Addr::Ip { ip: ip(OUTER[peer]), protocol: 50 },
            headers: Headers::Socket,
        },
        follows_peer: false,
        original: None,
        replay_window: 64,
        lifetime: Lifetime::NONE,
        start: Start::Now,
    }
}

/// A pair of SAs of end 0 or 1, in BEET mode between the HITs, in frames without outer headers.
pub(crate) fn beet(end: usize, key: &TrafficKey) -> PairConfig {
    let hit = |end: usize| HITS[end].parse().expect("an IPv6 address");
    let (local, remote) = (hit(end), hit(1 - end));
    let one = |hit: Ipv6Addr| Addresses::one(hit.into());
    let selectors = Selectors::between(one(local), one(remote));
    PairConfig { mode: Mode::Beet { local, remote }, selectors, ..pair(end, key) }
}

/// Bytes from their hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).filter(|pair| pair.len() == 2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex")).collect()
}

/// A UDP datagram of so many bytes of IP between two addresses of the same family.
pub(crate) fn datagram(source: &str, destination: &str, total_len: usize) -> Vec<u8> {
    let udp = |len: usize| [0x0f, 0xa0, 0x1f, 0x90, (len >> 8) as u8, len as u8, 0, 0];
    let mut packet = match (ip(source), ip(destination)) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut head =
                [0x45, 0, (total_len >> 8) as u8, total_len as u8, 0, 1, 0x40, 0, 64, 17, 0, 0].to_vec();
            head.extend(source.octets().into_iter().chain(destination.octets()));
            let sum = checksum(&head);
            head[10..12].copy_from_slice(&sum.to_be_bytes());
            head
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let payload = total_len - 40;
            let mut head = [0x60, 0, 0, 0, (payload >> 8) as u8, payload as u8, 17, 64].to_vec();
            head.extend(source.octets().into_iter().chain(destination.octets()));
            head
        }
        _ => panic!("addresses of one family"),
    };
    packet.extend(udp(total_len - packet.len()));
    packet.extend((0..).take(total_len - packet.len()).map(|n: usize| n as u8));
    packet
}

/// RFC 1071, written for the tests alone.
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    // End-around carry after each addition.
    !(words.fold(0, |sum, word| (sum + word) % 0x10000 + (sum + word) / 0x10000) as u16)
}

/// A packet in the middle of a buffer that it may grow in.
pub(crate) struct Room(Vec<u8>, usize);

impl Room {
    /// Room around a packet.
    pub(crate) fn around(packet: &[u8]) -> Self {
        Self([&[0xaa; HEADROOM], packet, &[0xbb; TAILROOM]].concat(), packet.len())
    }

    /// The packet.
    pub(crate) fn frame(&mut self) -> Frame<'_> {
        Frame::new(&mut self.0, HEADROOM..HEADROOM + self.1)
    }
}

/// A host with IPsec.
pub(crate) struct Host {
    /// Its IPsec.
    pub(crate) ipsec: Ipsec,
    /// Where its IVs come from.
    pub(crate) rng: Rng,
    /// What computes.
    pub(crate) crypto: Real,
}

impl Default for Host {
    fn default() -> Self {
        Self { ipsec: Ipsec::default(), rng: Rng::named(1, "esp"), crypto: Real::default() }
    }
}

impl Host {
    /// A host with one pair of SAs.
    pub(crate) fn with(pair: PairConfig) -> Self {
        let mut host = Self::default();
        host.ipsec.install(pair);
        host
    }

    /// What a packet becomes on its way out.
    pub(crate) fn send(&mut self, packet: &[u8]) -> Result<(Sent, Vec<u8>), Dropped> {
        let mut room = Room::around(packet);
        let mut frame = room.frame();
        let sent = self.ipsec.outbound(&mut frame, &mut self.rng, &mut self.crypto, &mut ())?;
        Ok((sent, frame.bytes().to_vec()))
    }

    /// What comes out of ESP that a socket received from the other end's address.
    pub(crate) fn receive(&mut self, end: usize, packet: &[u8]) -> Result<(Arrived, Vec<u8>), Dropped> {
        let [us, peer] = [OUTER[end], OUTER[1 - end]].map(|text| Addr::Ip { ip: ip(text), protocol: 50 });
        let mut packet = packet.to_vec();
        let mut frame = Frame::whole(&mut packet);
        let arrived = self.ipsec.inbound(&mut frame, peer, us, &mut self.crypto, &mut ())?;
        Ok((arrived, frame.bytes().to_vec()))
    }

    /// What comes out of an IP packet that carries ESP.
    pub(crate) fn receive_packet(&mut self, packet: &[u8]) -> Result<(Arrived, Vec<u8>), Dropped> {
        let mut packet = packet.to_vec();
        let mut frame = Frame::whole(&mut packet);
        let arrived = self.ipsec.inbound_packet(&mut frame, &mut self.crypto, &mut ())?;
        Ok((arrived, frame.bytes().to_vec()))
    }
}
