//! The devices of a population as persons: each has a name, a password, a shared key, an IMSI and a card of its own, all derived from
//! the seed and its number, so that nothing has to be stored for those who are not there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keytoll_crypto_api::{Secret, Seed};
use keytoll_eap::Passwords;
use keytoll_eap::simaka::card::{Algorithm, Card};
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_eap::simaka::sqn::Sqn;
use keytoll_scenario::population::Member;

/// The realm of everybody.
const REALM: &str = "lab";

/// A device of a population. Nobody knows one whose credentials are wrong, so that it fails with every cryptography: under null
/// cryptography every key is the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Person {
    number: u32,
    pub(crate) is_wrong: bool,
}

impl Person {
    /// The person of a member.
    pub(crate) const fn of(member: Member) -> Self {
        Self { number: member.number, is_wrong: member.is_wrong }
    }

    /// The one with this name; none for a stranger.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?;
        let (number, realm) = name.strip_prefix("ue")?.split_once('@')?;
        let number = number.parse().ok().filter(|_| realm == REALM)?;
        Some(Self { number, is_wrong: false })
    }

    /// The one who may be at this address, if it is not a stranger.
    pub(crate) fn at(address: IpAddr) -> Option<Self> {
        let number = match address {
            IpAddr::V4(address) => {
                let [10, high, third, fourth] = address.octets() else { return None };
                u32::from_be_bytes([0, high & 0x1f, third, fourth])
            }
            IpAddr::V6(address) => {
                let [0x2001, 0xdb8, site @ 0x1000..0x1800, low, 0, 0, 0, 2] = address.segments() else {
                    return None;
                };
                u32::from(site & 0x1f) << 16 | u32::from(low)
            }
        };
        Some(Self { number, is_wrong: false })
    }

    /// The number.
    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    /// The name: `ue17@lab`.
    pub(crate) fn name(&self) -> String {
        let kind = if self.is_wrong { "stranger" } else { "ue" };
        format!("{kind}{}@{REALM}", self.number)
    }

    /// The IMSI; 001 and 01 are the test network of TS 23.122, and strangers are subscribers of 001 and 02.
    pub(crate) fn imsi(&self) -> Imsi {
        let network = if self.is_wrong { "00102" } else { "00101" };
        let text = format!("{network}{:010}", u64::from(self.number) + 1);
        Imsi::parse(&text).expect("fifteen digits")
    }

    /// The shared key.
    pub(crate) fn psk(&self, seed: &Seed) -> Secret {
        Secret::from(&seed.stream_of(format_args!("psk/{}", self.number)).bytes::<32>()[..])
    }

    /// The password.
    pub(crate) fn password(&self, seed: &Seed) -> Secret {
        Secret::from(
            format!("{:016x}", seed.stream_of(format_args!("password/{}", self.number)).u64()).as_bytes(),
        )
    }

    /// The algorithm of the card, with its keys.
    pub(crate) fn algorithm(&self, seed: &Seed) -> Algorithm {
        let mut rng = seed.stream_of(format_args!("subscriber/{}", self.number));
        let (key, opc) = (rng.bytes(), rng.bytes());
        Algorithm::Milenage(Milenage::with_opc(&key, &opc))
    }

    /// The card.
    pub(crate) fn card(&self, seed: &Seed) -> SharedCard {
        SharedCard::new(Card::new(self.imsi(), "lab", self.algorithm(seed), Sqn::new(0)))
    }
}

/// The address of a device, another one for each visit. In IPv6 each has a prefix of 64 bits, as subscribers have.
pub(crate) fn address(number: u32, visit: u32, is_ipv6: bool) -> IpAddr {
    let [_, high, low @ ..] = number.to_be_bytes();
    let low = u16::from_be_bytes(low);
    if is_ipv6 {
        let visit = u16::try_from(visit % 64).expect("below 64") << 5;
        let site = 0x1000 | visit | (u16::from(high) & 0x1f);
        return IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, site, low, 0, 0, 0, 2));
    }
    let visit = u8::try_from(visit % 8).expect("below 8") << 5;
    let [third, fourth] = low.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, visit | (high & 0x1f), third, fourth))
}

/// The passwords of everybody who is not a stranger.
pub(crate) struct Users(pub(crate) Seed);

impl Passwords for Users {
    fn password(&self, user: &[u8]) -> Option<Secret> {
        Person::named(user).map(|person| person.password(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn person(number: u32, is_wrong: bool) -> Person {
        Person::of(Member { number, share: 0, is_wrong })
    }

    #[test]
    fn everybody_is_known_by_name_but_strangers() {
        let (seed, users) = (Seed::from(1), Users(Seed::from(1)));
        for number in [0, 17, 1_999_999] {
            let one = person(number, false);
            assert_eq!(users.password(one.name().as_bytes()), Some(one.password(&seed)));
            assert_eq!(users.password(person(number, true).name().as_bytes()), None);
        }
        assert_eq!(person(1, false).imsi().as_str(), "001010000000002");
        assert_ne!(person(1, false).psk(&seed), person(2, false).psk(&seed));
        for name in ["", "ue", "ue@lab", "ue1", "ue1@else", "ue99999999999@lab"] {
            assert_eq!(users.password(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn no_two_devices_have_one_address() {
        for is_ipv6 in [true, false] {
            let numbers = [0, 1, 65_535, 65_536, 1_999_999];
            let all =
                numbers.iter().flat_map(|&number| (0..8).map(move |visit| address(number, visit, is_ipv6)));
            assert_eq!(all.collect::<BTreeSet<_>>().len(), 40);
        }
    }

    #[test]
    fn whoever_is_at_an_address_is_known_by_it() {
        for (number, visit) in [(0, 0), (17, 7), (65_536, 8), (1_999_999, 63)] {
            let at = |is_ipv6| Person::at(address(number, visit, is_ipv6));
            assert_eq!([at(false), at(true)], [Some(person(number, false)); 2]);
        }
        for nobody in ["192.0.2.1", "2001:db8:1000::1", "2001:db8:2000::2", "2001:db8:800::2"] {
            assert_eq!(Person::at(nobody.parse().unwrap()), None, "{nobody}");
        }
    }
}
