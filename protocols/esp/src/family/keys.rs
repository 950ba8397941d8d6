//! The table of ESP's keys as Wireshark 4.0 has it, with its names of the algorithms. It decrypts what it has a name for.
//!
//! ```text
//!   esp_sa   "IPv4","source","destination","0xSPI","encryption","0xkey","integrity","0xkey"
//! ```

use std::collections::BTreeMap;
use std::net::IpAddr;

use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_crypto_api::{Secret, TrafficKey};
use keytoll_engine::trace::Revealed;
use keytoll_engine::trace::revealed::{Algorithms, Sealing};
use keytoll_family::keys::{hex, unhex};
use keytoll_family::{KeyLine, Tables};

pub(super) const TABLE: &str = "esp_sa";

/// Keys that ESP is read with.
#[derive(Debug, Default)]
pub(super) struct Keys(BTreeMap<u32, Vec<EspKeys>>);

/// Keys of one direction of an ESP SA.
#[derive(Debug, Clone)]
struct EspKeys {
    /// The receiver as the table has it, `*` or with a mask being anybody.
    destination: Option<IpAddr>,
    key: TrafficKey,
}

impl Keys {
    /// The keys in the table.
    pub(super) fn read(tables: &mut Tables) -> Self {
        let mut keys = Self::default();
        tables.each_line(TABLE, |fields| keys.line(fields));
        keys
    }

    pub(super) fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The key of the SA of this SPI towards this host.
    pub(super) fn of(&self, to: IpAddr, spi: u32) -> Option<&TrafficKey> {
        let entries = self.0.get(&spi).map_or(&[][..], Vec::as_slice);
        let exact = entries.iter().rev().find(|entry| entry.destination == Some(to));
        // Behind NAT the addresses of the table are not those of the capture.
        exact.or_else(|| entries.last()).map(|entry| &entry.key)
    }

    fn line(&mut self, fields: &[&str]) -> Option<()> {
        let &[_, _, destination, spi, encryption, encryption_key, integrity, integrity_key] = fields else {
            return None;
        };
        let encryption_key = unhex(encryption_key)?;
        let (encryption, integrity) = algorithms_named(encryption, encryption_key.len(), integrity)?;
        let integrity_key = integrity.map_or(Some(Vec::new()), |_| unhex(integrity_key))?;
        if integrity.is_some_and(|integrity: Integrity| integrity.key_len() != integrity_key.len()) {
            return None;
        }
        let (encryption_key, integrity_key) = (Secret::new(encryption_key), Secret::new(integrity_key));
        let key = TrafficKey::new(encryption, integrity, encryption_key, integrity_key);
        let spi = u32::from_str_radix(spi.trim_start_matches("0x"), 16).ok()?;
        self.0.entry(spi).or_default().push(EspKeys { destination: destination.parse().ok(), key });
        Some(())
    }
}

/// How a key of ESP is written down.
pub(super) fn line(revealed: &Revealed) -> Option<KeyLine> {
    let Revealed::ChildSa { spi, source, destination, algorithms, keys } = revealed else { return None };
    let of = format!("ESP {spi:08x} {destination}");
    Some(KeyLine { of, table: TABLE, line: sa_line(*spi, [*source, *destination], *algorithms, keys) })
}

fn sa_line(
    spi: u32,
    [source, destination]: [IpAddr; 2],
    algorithms: Algorithms,
    keys: &Sealing,
) -> Result<String, String> {
    let Some((encryption, integrity)) = names(algorithms) else {
        return Err(format!("ESP with {algorithms}"));
    };
    let version = if destination.is_ipv4() { "IPv4" } else { "IPv6" };
    let (encryption_key, integrity_key) = (prefixed(&keys.encryption_key), prefixed(&keys.integrity_key));
    Ok(format!(
        "\"{version}\",\"{source}\",\"{destination}\",\"0x{spi:08x}\",\"{encryption}\",\"{encryption_key}\",\
         \"{integrity}\",\"{integrity_key}\""
    ))
}

/// `0x`, without which Wireshark takes a key of ESP for text; an empty key stays empty.
fn prefixed(key: &[u8]) -> String {
    if key.is_empty() { String::new() } else { format!("0x{}", hex(key)) }
}

/// Encryption and integrity. With an AEAD the integrity algorithm is NULL there.
fn names(algorithms: Algorithms) -> Option<(&'static str, &'static str)> {
    let encryption = encryption_name(Encryption::named(algorithms.encryption)?)?;
    let integrity = match algorithms.integrity {
        None => "NULL",
        Some(name) => integrity_name(Integrity::named(name)?),
    };
    Some((encryption, integrity))
}

fn encryption_name(encryption: Encryption) -> Option<&'static str> {
    Some(match encryption {
        Encryption::Null => "NULL",
        Encryption::TripleDesCbc => "TripleDES-CBC [RFC2451]",
        Encryption::Aes128Cbc | Encryption::Aes192Cbc | Encryption::Aes256Cbc => "AES-CBC [RFC3602]",
        Encryption::Aes128Ctr | Encryption::Aes192Ctr | Encryption::Aes256Ctr => "AES-CTR [RFC3686]",
        Encryption::Aes128Gcm16 | Encryption::Aes192Gcm16 | Encryption::Aes256Gcm16 => {
            "AES-GCM with 16 octet ICV [RFC4106]"
        }
        Encryption::Aes128Gcm12 | Encryption::Aes256Gcm12 => "AES-GCM with 12 octet ICV [RFC4106]",
        Encryption::Aes128Gcm8 | Encryption::Aes256Gcm8 => "AES-GCM with 8 octet ICV [RFC4106]",
        Encryption::Aes128Ccm16
        | Encryption::Aes192Ccm16
        | Encryption::Aes256Ccm16
        | Encryption::Aes128Ccm12
        | Encryption::Aes256Ccm12
        | Encryption::Aes128Ccm8
        | Encryption::Aes256Ccm8
        | Encryption::ChaCha20Poly1305
        | Encryption::Aes128Gmac
        | Encryption::Aes192Gmac
        | Encryption::Aes256Gmac => return None,
    })
}

fn integrity_name(integrity: Integrity) -> &'static str {
    match integrity {
        Integrity::HmacMd5_96 => "HMAC-MD5-96 [RFC2403]",
        Integrity::HmacSha1_96 => "HMAC-SHA-1-96 [RFC2404]",
        Integrity::HmacSha256_128 => "HMAC-SHA-256-128 [RFC4868]",
        Integrity::HmacSha384_192 => "HMAC-SHA-384-192 [RFC4868]",
        Integrity::HmacSha512_256 => "HMAC-SHA-512-256 [RFC4868]",
        // Neither is known there.
        Integrity::AesXcbc96 | Integrity::AesCmac96 => "ANY 96 bit authentication [no checking]",
    }
}

/// The algorithms that a line of ESP's table names, where the length of the key tells what the name leaves open.
fn algorithms_named(
    encryption: &str,
    key_len: usize,
    integrity: &str,
) -> Option<(Encryption, Option<Integrity>)> {
    // Wireshark before 3.3 knew only the longest tag, and did not say so.
    let encryption =
        if encryption == "AES-GCM [RFC4106]" { "AES-GCM with 16 octet ICV [RFC4106]" } else { encryption };
    let fits = |algorithm: &&Encryption| {
        encryption_name(**algorithm) == Some(encryption) && algorithm.key_len() == key_len
    };
    let encryption = *Encryption::ALL.iter().find(fits)?;
    if encryption.is_aead() {
        return Some((encryption, None));
    }
    Some((
        encryption,
        Some(*Integrity::ALL.iter().find(|algorithm| integrity_name(**algorithm) == integrity)?),
    ))
}
