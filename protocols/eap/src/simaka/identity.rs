//! Identities of subscribers: the IMSI and the network access identifiers derived from it. Read 3GPP TS 23.003 §2.2, §19.3.1
//! to §19.3.5 and RFC 4186 §4.2.1 first.
//!
//! `0<IMSI>@nai.epc.mnc<MNC>.mcc<MCC>.3gppnetwork.org`: the first character tells the method, and whether the name is
//! permanent, a pseudonym or a fast re-authentication identity.

use std::fmt;

use keytoll_crypto_api::Rng;

use super::flavour::Flavour;

/// Longest identity accepted or stored, in bytes (RFC 7542 §2.2: 253 octets fit RADIUS).
pub const IDENTITY_BYTES_MAX: usize = 253;

/// An International Mobile Subscriber Identity, 6 to 15 digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Imsi {
    digits: [u8; 15],
    len: u8,
}

impl Imsi {
    /// Parses digits; `None` if they are not 6 to 15 digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let valid = (6..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
        valid.then(|| {
            let mut imsi = Self { digits: [b'0'; 15], len: 0 };
            imsi.digits[..digits.len()].copy_from_slice(digits);
            imsi.len = digits.len().to_le_bytes()[0];
            imsi
        })
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.digits[..usize::from(self.len)]).expect("digits are ASCII")
    }
}

impl fmt::Display for Imsi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Imsi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Imsi({self})")
    }
}

/// The home network's realm (TS 23.003 §19.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home {
    /// Mobile country code, three digits.
    pub mcc: u16,
    /// Mobile network code, two or three digits.
    pub mnc: u16,
}

impl Home {
    /// `nai.epc.mnc001.mcc001.3gppnetwork.org`.
    pub fn realm(self) -> String {
        format!("nai.epc.mnc{:03}.mcc{:03}.3gppnetwork.org", self.mnc, self.mcc)
    }
}

/// The permanent identity of a subscriber for a method; without a realm, the bare user name.
pub fn permanent(flavour: Flavour, imsi: Imsi, realm: &str) -> String {
    let [prefix, _, _] = flavour.prefixes();
    joined(&format!("{prefix}{imsi}"), realm)
}

/// `user@realm`, or `user` if the realm is empty.
pub fn joined(user: &str, realm: &str) -> String {
    if realm.is_empty() { user.to_owned() } else { format!("{user}@{realm}") }
}

/// User name and realm of an identity; the realm is empty if there is none.
pub fn split(identity: &[u8]) -> (&[u8], &[u8]) {
    match identity.iter().position(|&byte| byte == b'@') {
        Some(at) => (&identity[..at], &identity[at + 1..]),
        None => (identity, &[]),
    }
}

/// The IMSI in a permanent identity of this method.
pub fn imsi_of(flavour: Flavour, identity: &[u8]) -> Option<Imsi> {
    let (user, _) = split(identity);
    let [prefix, _, _] = flavour.prefixes();
    Imsi::parse(std::str::from_utf8(user).ok()?.strip_prefix(prefix)?)
}

/// A fresh pseudonym user name.
pub fn pseudonym(flavour: Flavour, rng: &mut Rng) -> String {
    let [_, prefix, _] = flavour.prefixes();
    format!("{prefix}{}", token(rng))
}

/// A new fast re-authentication user name.
pub fn reauthentication(flavour: Flavour, rng: &mut Rng) -> String {
    let [_, _, prefix] = flavour.prefixes();
    format!("{prefix}{}", token(rng))
}

/// 22 characters of six random bits each.
fn token(rng: &mut Rng) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    rng.bytes::<22>().iter().map(|byte| char::from(ALPHABET[usize::from(byte % 64)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: Home = Home { mcc: 216, mnc: 30 };

    /// RFC 4186 §7: a pseudonym must not reveal the subscriber, so it must be unpredictable: six bits per character.
    #[test]
    fn temporary_names_use_the_whole_alphabet() {
        let mut rng = Rng::named(1, "names");
        let drawn: String = (0..100).map(|_| token(&mut rng)).collect();
        let used: std::collections::BTreeSet<_> = drawn.chars().collect();
        assert_eq!((drawn.len(), used.len()), (2200, 64));
    }

    #[test]
    fn identities_are_in_3gpp_form() {
        let imsi = Imsi::parse("216300123456789").unwrap();
        let permanent = |flavour| permanent(flavour, imsi, &HOME.realm());
        assert_eq!(permanent(Flavour::Aka), "0216300123456789@nai.epc.mnc030.mcc216.3gppnetwork.org");
        assert_eq!(permanent(Flavour::Sim), "1216300123456789@nai.epc.mnc030.mcc216.3gppnetwork.org");
        assert_eq!(permanent(Flavour::AkaPrime), "6216300123456789@nai.epc.mnc030.mcc216.3gppnetwork.org");
    }

    #[test]
    fn the_imsi_comes_back_under_its_own_prefix_only() {
        let imsi = Imsi::parse("216300123456789").unwrap();
        for flavour in Flavour::ALL {
            for realm in ["", "example.org"] {
                let identity = permanent(flavour, imsi, realm);
                assert_eq!(imsi_of(flavour, identity.as_bytes()), Some(imsi));
                let others = Flavour::ALL.iter().filter(|&&other| other != flavour);
                others.for_each(|&other| assert_eq!(imsi_of(other, identity.as_bytes()), None));
            }
        }
    }

    #[test]
    fn invalid_imsis_are_refused() {
        for text in ["", "12345", "1234567890123456", "12345x", "１２３４５６", "123456\0"] {
            assert_eq!(Imsi::parse(text), None, "{text:?}");
        }
        assert_eq!(imsi_of(Flavour::Aka, b"0\xff\xff\xff\xff\xff\xff@x"), None);
    }

    #[test]
    fn names_differ_and_carry_their_prefix() {
        let mut rng = Rng::named(1, "identity");
        let (a, b) = (pseudonym(Flavour::Sim, &mut rng), pseudonym(Flavour::Sim, &mut rng));
        assert!(a.starts_with('3') && b.starts_with('3') && a != b && a.len() == 23, "{a} {b}");
        assert!(reauthentication(Flavour::Aka, &mut rng).starts_with('4'));
        assert_eq!(split(b"a@b@c"), (&b"a"[..], &b"b@c"[..]));
    }
}
