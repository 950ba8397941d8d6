//! The table of keys of wireless LANs as Wireshark has it (epan/crypt/dot11decrypt_user.h of its source), a line for each:
//!
//! ```text
//!   "wep","1234567890"                 a key of WEP-40 or WEP-104
//!   "wpa-pwd","passphrase:network"     a passphrase, of any network without `:network`; `%3a` is a colon in either
//!   "wpa-psk","32 or 48 octets"        a PSK or PMK
//!   "msk","at least 32 octets"         what EAP came to, of which the PMK is a part
//!   "tk","16 or 32 octets"             the key of data itself
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use keytoll_crypto_api::{Crypto, Secret};
use keytoll_engine::trace::Revealed;
use keytoll_family::keys::{hex, unhex};
use keytoll_family::{KeyLine, Tables};

use crate::bss::Ssid;
use crate::keys::master_of_msk;
use crate::keys::psk;
use crate::suite::Akm;

/// The name of the table.
pub(in super::super) const TABLE: &str = "80211_keys";
/// More keys are not used: each is tried with every handshake.
const KEYS_MAX: usize = 4096;
/// More pairs of a passphrase and a network are not computed: each takes thousands of hashes.
const STRETCHED_MAX: usize = 1024;
/// Lengths of a key of WEP.
const WEP_LENS: [usize; 2] = [5, 13];
/// Lengths of a PMK, and of an MSK at least: RFC 5247 §1.4.
const PMK_LENS: [usize; 2] = [32, 48];
const MSK_MIN: usize = 32;
/// Lengths of a temporal key.
const TK_LENS: [usize; 2] = [16, 32];

/// The keys of the table.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pub(super) wep: Vec<Secret>,
    pub(super) temporal: Vec<Secret>,
    passphrases: Vec<Passphrase>,
    pmks: Vec<Secret>,
    msks: Vec<Secret>,
    /// PSKs of passphrases, by their place in the table; none of a passphrase that is none.
    stretched: BTreeMap<(usize, Ssid), Option<Secret>>,
}

struct Passphrase {
    text: String,
    network: Option<Ssid>,
}

/// Without the passphrase.
impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passphrase").field("network", &self.network).finish_non_exhaustive()
    }
}

impl Keys {
    /// The keys in the table.
    pub(super) fn read(tables: &mut Tables) -> Self {
        let mut keys = Self::default();
        tables.judge_lines(TABLE, |fields| match *fields {
            [kind, value] if keys.count() < KEYS_MAX => keys.add(kind, value),
            [_, _] => Err("one key more than are tried, which are 4096"),
            _ => Err("a line has the kind of a key and the key, such as \"wep\",\"1234567890\""),
        });
        keys
    }

    pub(super) fn count(&self) -> usize {
        let hexadecimal = [&self.wep, &self.temporal, &self.pmks, &self.msks];
        hexadecimal.iter().map(|keys| keys.len()).sum::<usize>() + self.passphrases.len()
    }

    fn add(&mut self, kind: &str, value: &str) -> Result<(), &'static str> {
        const PASSPHRASE: &str =
            "a passphrase is UTF-8 text, with a network of 1 to 32 octets behind a colon or without";
        if kind == "wpa-pwd" {
            self.passphrases.push(Passphrase::read(value).ok_or(PASSPHRASE)?);
            return Ok(());
        }
        let (keys, fits, lengths): (_, fn(usize) -> bool, _) = match kind {
            "wep" => (&mut self.wep, |len| WEP_LENS.contains(&len), "a key of WEP has 5 or 13 octets"),
            "wpa-psk" => (&mut self.pmks, |len| PMK_LENS.contains(&len), "a PSK or PMK has 32 or 48 octets"),
            "msk" => (&mut self.msks, |len| len >= MSK_MIN, "an MSK has at least 32 octets"),
            "tk" => (&mut self.temporal, |len| TK_LENS.contains(&len), "a temporal key has 16 or 32 octets"),
            _ => return Err("the kind of a key is wep, wpa-pwd, wpa-psk, msk or tk"),
        };
        // Keys of WEP are written with colons, too.
        let key = unhex(&value.replace(':', "")).ok_or("a key is written in hexadecimal digits")?;
        let key = Secret::new(key);
        fits(key.len()).then(|| keys.push(key)).ok_or(lengths)
    }

    /// Everything that an association in a network may have begun with: a PMK, or with fast transition an XXKey.
    pub(super) fn masters(
        &mut self,
        akm: Akm,
        network: Option<&Ssid>,
        crypto: &mut dyn Crypto,
    ) -> Vec<Secret> {
        let is_long_enough = |key: &&Secret| key.len() == akm.pmk_len();
        let mut masters: Vec<Secret> = self.pmks.iter().filter(is_long_enough).cloned().collect();
        match akm {
            _ if akm.has_eap() => masters.extend(self.msks.iter().filter_map(|msk| master_of_msk(akm, msk))),
            Akm::Psk | Akm::PskSha256 | Akm::FtPsk => masters.extend(self.psks(network, crypto)),
            _ => {}
        }
        masters
    }

    /// The PSKs of passphrases in a network.
    fn psks(&mut self, network: Option<&Ssid>, crypto: &mut dyn Crypto) -> Vec<Secret> {
        let Self { passphrases, stretched, .. } = self;
        let mut psks = Vec::new();
        for (place, passphrase) in passphrases.iter().enumerate() {
            let Some(network) = passphrase.network.as_ref().or(network) else { continue };
            let key = (place, network.clone());
            if stretched.len() >= STRETCHED_MAX && !stretched.contains_key(&key) {
                continue;
            }
            let of = || psk(&passphrase.text, network.octets(), crypto).ok();
            psks.extend(stretched.entry(key).or_insert_with(of).clone());
        }
        psks
    }
}

/// How a key is written down. Both ends of an association tell the same one.
pub(in super::super) fn line(revealed: &Revealed) -> Option<KeyLine> {
    let Revealed::LanKey { kind, key } = revealed else { return None };
    let mut hasher = DefaultHasher::new();
    key[..].hash(&mut hasher);
    let of = format!("802.11 {:016x}", hasher.finish());
    Some(KeyLine { of, table: TABLE, line: Ok(format!("\"{kind}\",\"{}\"", hex(key))) })
}

impl Passphrase {
    /// Reads one; nothing if it cannot be a passphrase.
    fn read(value: &str) -> Option<Self> {
        let value = unescaped(value, "\\x")?;
        let (text, network) = match value.split_once(':') {
            Some((text, network)) => (text, Some(network)),
            None => (&*value, None),
        };
        let network = network.map(|network| unescaped(network, "%")).map(|name| Ssid::new(name?));
        Some(Self { text: unescaped(text, "%")?, network: network.map_or(Some(None), |it| it.map(Some))? })
    }
}

/// A text in which each `escape` and two hexadecimal digits were an octet.
fn unescaped(text: &str, escape: &str) -> Option<String> {
    let mut pieces = text.split(escape);
    let mut octets = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2)?;
        octets.extend(unhex(digits)?);
        octets.extend(rest.as_bytes());
    }
    String::from_utf8(octets).ok()
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;

    fn read(text: &str) -> (Keys, u64) {
        let mut tables = Tables::new(BTreeMap::from([(TABLE.to_owned(), text.to_owned())]));
        (Keys::read(&mut tables), tables.unusable())
    }

    #[test]
    fn every_kind_of_key_is_read_and_others_are_counted() {
        let pmk = "00".repeat(32);
        let good = format!(
            "\"wep\",\"12:34:56:78:90\"\n\"wpa-pwd\",\"password\"\n\"wpa-psk\",\"{pmk}\"\n\"msk\",\"{pmk}\"\n\"tk\",\"{}\"\n",
            &pmk[..32]
        );
        let (keys, unusable) = read(&good);
        assert_eq!((keys.count(), unusable), (5, 0));
        for (line, why) in [
            ("wep", "a line has the kind of a key and the key, such as \"wep\",\"1234567890\""),
            ("\"wep\",\"1234\"", "a key of WEP has 5 or 13 octets"),
            ("\"wpa-psk\",\"zz\"", "a key is written in hexadecimal digits"),
            ("\"tk\",\"00\"", "a temporal key has 16 or 32 octets"),
            ("\"owe\",\"00\"", "the kind of a key is wep, wpa-pwd, wpa-psk, msk or tk"),
        ] {
            let mut tables = Tables::new(BTreeMap::from([(TABLE.to_owned(), format!("# keys\n{line}\n"))]));
            Keys::read(&mut tables);
            let told = tables.first_unusable().map(ToString::to_string);
            assert_eq!(told, Some(format!("line 2 of 80211_keys: {why}")));
        }
        let bad =
            "\"wep\",\"1234\"\n\"wpa-psk\",\"zz\"\n\"tk\",\"00\"\n\"msk\",\"00\"\n\"owe\",\"00\"\n\"wep\"\n";
        let (keys, unusable) = read(bad);
        assert_eq!((keys.count(), unusable), (0, 6));
    }

    #[test]
    fn more_keys_than_can_be_tried_are_counted() {
        let (keys, unusable) = read(&"\"wep\",\"1234567890\"\n".repeat(KEYS_MAX + 3));
        assert_eq!((keys.count(), unusable), (KEYS_MAX, 3));
    }

    /// 802.11-2020 J.4.2.
    #[test]
    fn a_passphrase_is_of_its_network_or_of_any() {
        let psk = "f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e";
        let crypto = &mut Real::default();
        for (line, network, found) in [
            ("\"wpa-pwd\",\"password\"", Some("IEEE"), true),
            ("\"wpa-pwd\",\"p%61ssword:IEEE\"", Some("another"), true),
            ("\"wpa-pwd\",\"p\\x61ssword:IEEE\"", None, true),
            ("\"wpa-pwd\",\"password\"", None, false),
            ("\"wpa-pwd\",\"password:another\"", Some("IEEE"), false),
        ] {
            let (mut keys, _) = read(line);
            let network = network.and_then(Ssid::new);
            let psks = keys.masters(Akm::Psk, network.as_ref(), crypto);
            assert_eq!(psks.contains(&Secret::new(unhex(psk).unwrap())), found, "{line}");
        }
    }

    #[test]
    fn quotes_keep_a_comma_and_escapes_are_whole() {
        let (keys, unusable) = read("\"wpa-pwd\",\"one, two %\"\n\"wpa-pwd\",\"one, two\"\n");
        assert_eq!((keys.count(), unusable), (1, 1));
        assert_eq!(keys.passphrases[0].text, "one, two");
    }

    #[test]
    fn each_akm_takes_its_part_of_an_msk() {
        let (mut keys, _) = read(&format!("\"msk\",\"{}{}\"", "11".repeat(32), "22".repeat(32)));
        let part = |keys: &mut Keys, akm| keys.masters(akm, None, &mut Real::default());
        assert_eq!(part(&mut keys, Akm::Dot1x)[0][..], [0x11; 32]);
        assert_eq!(part(&mut keys, Akm::FtDot1x)[0][..], [0x22; 32]);
        assert_eq!(part(&mut keys, Akm::SuiteB192)[0].len(), 48);
        assert!(part(&mut keys, Akm::Sae).is_empty());
    }
}
