//! The associations of a network's access points as a path for users' packets: which station has which address, and was heard when.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Rng;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Datagram, Deadline, Time};
use keytoll_hosts::user_plane::Path;
use keytoll_net::ip::Header;
use keytoll_wlan::MacAddr;

use super::network::Network;

/// So many addresses a station may send from: IPv4, and several of IPv6 (RFC 7934 §6).
const ADDRESSES_MAX: usize = 8;

/// What hostapd waits for (`ap_max_inactivity`) before it has a station leave that has not been heard. A deauthentication may get
/// lost, and nobody is a member for ever.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(300);

/// The access points of a network and the addresses of their members.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) network: Network,
    silence_max: Duration,
    /// Who has sent from an address first, as long as it is a member.
    owners: BTreeMap<IpAddr, MacAddr>,
    members: BTreeMap<MacAddr, Member>,
    /// Whose silence is looked at when, the earliest first.
    watch: BTreeSet<(Time, MacAddr)>,
}

/// What is known of a member.
#[derive(Debug)]
struct Member {
    addresses: Vec<IpAddr>,
    heard: Time,
    /// When its silence is looked at.
    watched_at: Time,
}

impl Cell {
    /// Nobody has an address yet; a member that is silent for so long has to leave.
    pub(super) const fn new(network: Network, silence_max: Duration) -> Self {
        Self {
            network,
            silence_max,
            owners: BTreeMap::new(),
            members: BTreeMap::new(),
            watch: BTreeSet::new(),
        }
    }

    /// Whether a member may send from an address: nobody else does, and it has not too many.
    pub(super) fn learns(&mut self, station: MacAddr, source: IpAddr) -> bool {
        if let Some(owner) = self.owners.get(&source) {
            return *owner == station;
        }
        let Some(member) = self.members.get_mut(&station) else { return false };
        let has_room = member.addresses.len() < ADDRESSES_MAX;
        if has_room {
            member.addresses.push(source);
            self.owners.insert(source, station);
        }
        has_room
    }

    /// A station is a member; whether it was one before, at another access point.
    pub(super) fn joined(&mut self, station: MacAddr, now: Time) -> bool {
        if self.members.contains_key(&station) {
            self.heard(station, now);
            return true;
        }
        let watched_at = now + self.silence_max;
        self.members.insert(station, Member { addresses: Vec::new(), heard: now, watched_at });
        self.watch.insert((watched_at, station));
        false
    }

    /// A member has sent something.
    pub(super) fn heard(&mut self, station: MacAddr, now: Time) {
        self.members.get_mut(&station).into_iter().for_each(|member| member.heard = now);
    }

    /// A member that has been silent for too long.
    pub(super) fn silent(&mut self, now: Time) -> Option<MacAddr> {
        while let Some(&(at, station)) = self.watch.first().filter(|(at, _)| *at <= now) {
            self.watch.remove(&(at, station));
            let Some(member) = self.members.get_mut(&station) else { continue };
            member.watched_at = member.heard + self.silence_max;
            if member.watched_at <= now {
                return Some(station);
            }
            self.watch.insert((member.watched_at, station));
        }
        None
    }

    /// When somebody's silence is looked at.
    pub(super) fn watches_at(&self) -> Option<Time> {
        self.watch.first().map(|&(at, _)| at)
    }

    /// A station is a member no more; whether it was one.
    pub(super) fn forget(&mut self, station: MacAddr) -> bool {
        let Some(member) = self.members.remove(&station) else { return false };
        self.watch.remove(&(member.watched_at, station));
        for address in member.addresses {
            self.owners.remove(&address);
        }
        true
    }
}

impl Path for Cell {
    fn reaches(&self, destination: IpAddr) -> bool {
        self.owners.get(&destination).is_some_and(|&owner| self.network.is_member(owner))
    }

    fn room_bytes(&self, destination: IpAddr, mtu_bytes: usize) -> Option<usize> {
        self.reaches(destination).then_some(mtu_bytes)
    }

    fn forward(&mut self, packet: &[u8], _: &mut Rng, cx: &mut Ctx<'_>) -> Option<Datagram> {
        let destination = Header::read(packet).ok()?.destination();
        let frame = match self.owners.get(&destination) {
            Some(&owner) => self.network.send(owner, packet, cx),
            None if is_to_group(destination) => self.network.send_to_all(packet, cx),
            None => None,
        };
        if frame.is_none() {
            cx.discard(Protocol::FRAMES, "no association for it");
        }
        frame
    }

    /// The access point is ticked by its owner.
    fn expire(&mut self, _: Time) {}

    fn deadline(&self) -> Option<Deadline> {
        self.network.deadline()
    }
}

const fn is_to_group(destination: IpAddr) -> bool {
    match destination {
        IpAddr::V4(ip) => ip.is_broadcast() || ip.is_multicast(),
        IpAddr::V6(ip) => ip.is_multicast(),
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto_api::Seed;
    use keytoll_wlan::access_point::{self, AccessPoint};
    use keytoll_wlan::bss::{Security, Ssid};

    use super::*;

    const FIRST: MacAddr = [2, 0, 0, 0, 0, 2];
    const SECOND: MacAddr = [2, 0, 0, 0, 0, 3];

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    /// A cell with two members, who joined at the beginning.
    fn cell() -> Cell {
        let ssid = Ssid::new(&b"cell"[..]).expect("a short name");
        let config = access_point::Config::new([2, 0, 0, 0, 0, 1], ssid, Security::Open, None);
        let access_point = AccessPoint::new(config, &Seed::from(1), "ap");
        let mut cell = Cell::new(Network::new(vec![([2, 0, 0, 0, 0, 1], access_point)]), SILENCE_MAX);
        assert!(![FIRST, SECOND].into_iter().any(|station| cell.joined(station, Time::ZERO)));
        cell
    }

    #[test]
    fn an_address_belongs_to_who_has_sent_from_it_first_as_long_as_it_is_a_member() {
        let mut cell = cell();
        assert!(cell.learns(FIRST, ip(7)) && cell.learns(FIRST, ip(7)));
        assert!(!cell.learns(SECOND, ip(7)), "of another station");
        assert!(cell.forget(FIRST) && !cell.forget(FIRST));
        assert!(!cell.learns(FIRST, ip(7)), "no member");
        assert!(cell.learns(SECOND, ip(7)));
    }

    #[test]
    fn a_station_has_a_few_addresses() {
        let mut cell = cell();
        let learned = (0..20).filter(|&last| cell.learns(FIRST, ip(last))).count();
        assert_eq!((learned, cell.owners.len()), (ADDRESSES_MAX, ADDRESSES_MAX));
        cell.forget(FIRST);
        assert!(cell.owners.is_empty());
    }

    #[test]
    fn who_is_silent_for_too_long_is_told_once_and_who_is_heard_is_not() {
        let mut cell = cell();
        assert_eq!((cell.watches_at(), cell.silent(at(299))), (Some(at(300)), None));
        cell.heard(SECOND, at(200));
        assert_eq!((cell.silent(at(300)), cell.silent(at(300))), (Some(FIRST), None));
        cell.forget(FIRST);
        assert_eq!((cell.watches_at(), cell.silent(at(499))), (Some(at(500)), None));
        for second in 0..100 {
            assert!(!cell.joined(FIRST, at(second)) && cell.joined(FIRST, at(second)));
            cell.forget(FIRST);
        }
        assert_eq!(cell.watch.len(), 1, "who comes and goes leaves nothing");
        cell.forget(SECOND);
        assert_eq!((cell.silent(at(500)), cell.watches_at()), (None, None));
    }
}
