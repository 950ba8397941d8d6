//! Users and the devices that they were let in with. A stranger who claims a user's name must not keep that user out; these devices have
//! places of their own.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// Maximum number of users; the one let in longest ago is dropped first.
const USERS_MAX: usize = 16_384;
/// Maximum number of devices of a user. Each has places of its own, so that more of them would let a stranger who knows them try more
/// passwords.
const DEVICES_MAX: usize = 2;
/// A longer name or Calling-Station-Id is not kept.
const NAME_BYTES_MAX: usize = 253;

#[derive(Debug)]
struct Devices {
    /// When one of them was let in last, as a place in the order.
    last: u64,
    /// Their Calling-Station-Ids, the one let in last at the end.
    stations: VecDeque<Vec<u8>>,
}

/// The users that were let in, each with its latest devices. Only an authenticated user gets an entry.
#[derive(Debug, Default)]
pub(super) struct Familiar {
    users: BTreeMap<Vec<u8>, Devices>,
    order: BTreeMap<u64, Vec<u8>>,
    next: u64,
}

impl Familiar {
    /// Whether this user was let in with this device.
    pub(super) fn knows(&self, user: &[u8], station: &[u8]) -> bool {
        let devices = self.users.get(user);
        devices.is_some_and(|devices| devices.stations.iter().any(|known| known == station))
    }

    /// This user is let in with this device.
    pub(super) fn remember(&mut self, user: Vec<u8>, station: &[u8]) {
        if user.len().max(station.len()) > NAME_BYTES_MAX {
            return;
        }
        let mut devices = self.take(&user);
        devices.stations.retain(|known| known != station);
        devices.stations.push_back(station.to_vec());
        if devices.stations.len() > DEVICES_MAX {
            devices.stations.pop_front();
        }
        self.order.insert(devices.last, user.clone());
        self.users.insert(user, devices);
        self.make_room();
    }

    /// The devices of a user, with the next place in the order.
    fn take(&mut self, user: &[u8]) -> Devices {
        let last = self.next;
        self.next += 1;
        let Some(devices) = self.users.remove(user) else {
            return Devices { last, stations: VecDeque::new() };
        };
        self.order.remove(&devices.last);
        Devices { last, ..devices }
    }

    fn make_room(&mut self) {
        if self.users.len() > USERS_MAX
            && let Some((_, user)) = self.order.pop_first()
        {
            self.users.remove(&user);
        }
    }
}

/// The part of a Calling-Station-Id that stays the same from one authentication to the next.
// strongSwan's eap-radius writes `192.0.2.1[4500]`; a device behind a NAT has another port next time.
pub(super) fn steady(station: &[u8]) -> &[u8] {
    let end = station.iter().position(|byte| *byte == b'[').filter(|_| station.ends_with(b"]"));
    &station[..end.unwrap_or(station.len())]
}

/// Whether a Calling-Station-Id is an address of IP: many devices behind a NAT may have it, and a device may have it for a moment only.
pub(super) fn is_of_ip(station: &[u8]) -> bool {
    std::str::from_utf8(steady(station)).is_ok_and(|text| text.parse::<IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_devices_of_the_latest_users_are_known() {
        let mut familiar = Familiar::default();
        familiar.remember(b"alice".to_vec(), b"first");
        familiar.remember(b"alice".to_vec(), b"second");
        familiar.remember(b"alice".to_vec(), b"first");
        familiar.remember(b"alice".to_vec(), b"third");
        let known = ["first", "second", "third"].map(|station| familiar.knows(b"alice", station.as_bytes()));
        assert_eq!(known, [true, false, true]);
        assert!(!familiar.knows(b"bob", b"first"));
        familiar.remember(b"bob".to_vec(), &[b'x'; NAME_BYTES_MAX + 1]);
        assert_eq!(familiar.users.len(), 1, "it is too long to keep");
        for user in 0..USERS_MAX {
            familiar.remember(user.to_string().into_bytes(), b"only");
        }
        assert_eq!((familiar.users.len(), familiar.order.len()), (USERS_MAX, USERS_MAX));
        assert!(!familiar.knows(b"alice", b"first") && familiar.knows(b"0", b"only"));
    }

    #[test]
    fn a_port_is_no_part_of_a_device() {
        assert_eq!(steady(b"192.0.2.1[4500]"), b"192.0.2.1");
        assert_eq!(steady(b"192.0.2.1[4500"), b"192.0.2.1[4500");
        let of_ip = ["192.0.2.1", "2001:db8::1[500]", "02-00-00-00-00-01", "", "[4500]"];
        assert_eq!(of_ip.map(|station| is_of_ip(station.as_bytes())), [true, true, false, false, false]);
    }
}
