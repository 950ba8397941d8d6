//! The tables of IKE's keys as Wireshark 4.0 has them, with its names of the algorithms. It decrypts what it has a name for.
//!
//! ```text
//!   ikev2_decryption_table   SPIi,SPIr,SK_ei,SK_er,"encryption",SK_ai,SK_ar,"integrity"
//!   ikev1_decryption_table   initiator's cookie,key
//! ```

use std::collections::BTreeMap;

use keytoll_crypto_api::Secret;
use keytoll_crypto_api::algorithm::{Encryption, Integrity, Prf};
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::trace::Revealed;
use keytoll_engine::trace::revealed::{Algorithms, Sealing};
use keytoll_family::keys::{hex, unhex};
use keytoll_family::{KeyLine, Tables};

use crate::v2::keys::IkeKeys;

pub(super) const V2_TABLE: &str = "ikev2_decryption_table";
pub(super) const V1_TABLE: &str = "ikev1_decryption_table";

/// Keys that IKE is read with.
#[derive(Debug, Default)]
pub(super) struct Keys {
    ike: BTreeMap<(u64, u64), IkeKeys>,
    /// Encryption keys of ISAKMP SAs by the initiator's cookie.
    isakmp: BTreeMap<u64, Secret>,
}

impl Keys {
    /// The keys in the tables.
    pub(super) fn read(tables: &mut Tables) -> Self {
        let mut keys = Self::default();
        tables.each_line(V2_TABLE, |fields| keys.ike_line(fields));
        tables.each_line(V1_TABLE, |fields| keys.isakmp_line(fields));
        keys
    }

    pub(super) fn count(&self) -> usize {
        self.ike.len() + self.isakmp.len()
    }

    pub(super) fn ike(&self, spis: (u64, u64)) -> Option<&IkeKeys> {
        self.ike.get(&spis)
    }

    /// The encryption key of the ISAKMP SA with this initiator's cookie.
    pub(super) fn isakmp(&self, cookie_i: u64) -> Option<&Secret> {
        self.isakmp.get(&cookie_i)
    }

    fn ike_line(&mut self, fields: &[&str]) -> Option<()> {
        let &[spi_i, spi_r, ei, er, encryption, ai, ar, integrity] = fields else { return None };
        let (encryption, integrity) = algorithms_named(encryption, integrity)?;
        // Neither PRF nor group is in the table; the keys that the PRF's length is about are not needed to read.
        let suite = Suite { encryption, integrity, prf: Some(Prf::HmacSha256), group: None, esn: false };
        let unknown = vec![0; Prf::HmacSha256.output_len()];
        let [ei, er, ai, ar] = [ei, er, ai, ar].map(unhex);
        let (ai, ar) = if integrity.is_some() { (ai?, ar?) } else { (Vec::new(), Vec::new()) };
        let material = Secret::new([&unknown[..], &ai, &ar, &ei?, &er?, &unknown, &unknown].concat());
        let spi = |text: &str| u64::from_str_radix(text, 16).ok();
        self.ike.insert((spi(spi_i)?, spi(spi_r)?), IkeKeys::from_material(&suite, &material)?);
        Some(())
    }

    fn isakmp_line(&mut self, fields: &[&str]) -> Option<()> {
        let &[cookie_i, key] = fields else { return None };
        self.isakmp.insert(u64::from_str_radix(cookie_i, 16).ok()?, Secret::new(unhex(key)?));
        Some(())
    }
}

/// How keys of IKE are written down.
pub(super) fn line(revealed: &Revealed) -> Option<KeyLine> {
    match revealed {
        Revealed::IkeSa { spi_i, spi_r, algorithms, initiator, responder } => Some(KeyLine {
            of: of_spis(*spi_i, *spi_r),
            table: V2_TABLE,
            line: v2_line((*spi_i, *spi_r), *algorithms, [initiator, responder]),
        }),
        Revealed::IsakmpSa { cookie_i, cookie_r, key, .. } => Some(KeyLine {
            of: of_spis(*cookie_i, *cookie_r),
            table: V1_TABLE,
            line: Ok(format!("{cookie_i:016x},{}", hex(key))),
        }),
        _ => None,
    }
}

fn of_spis(spi_i: u64, spi_r: u64) -> String {
    format!("IKE {spi_i:016x} {spi_r:016x}")
}

fn v2_line(
    (spi_i, spi_r): (u64, u64),
    algorithms: Algorithms,
    [initiator, responder]: [&Sealing; 2],
) -> Result<String, String> {
    let Some((encryption, integrity)) = names(algorithms) else {
        return Err(format!("IKE with {algorithms}"));
    };
    let [ei, er] = [initiator, responder].map(|keys| hex(&keys.encryption_key));
    let [ai, ar] = [initiator, responder].map(|keys| hex(checked(integrity, &keys.integrity_key)));
    Ok(format!("{spi_i:016x},{spi_r:016x},{ei},{er},\"{encryption}\",{ai},{ar},\"{integrity}\""))
}

/// In IKE's table no integrity algorithm of its own, because an AEAD needs none.
const IKE_NONE: &str = "NONE [RFC4306]";
/// Wireshark cannot check AES-XCBC and AES-CMAC; this only tells it where the ciphertext ends.
const IKE_ANY_96: &str = "ANY 96-bits of Authentication [No Checking]";

/// Encryption and integrity.
fn names(algorithms: Algorithms) -> Option<(&'static str, &'static str)> {
    let encryption = encryption_name(Encryption::named(algorithms.encryption)?)?;
    let integrity = match algorithms.integrity {
        None => IKE_NONE,
        Some(name) => integrity_name(Integrity::named(name)?),
    };
    Some((encryption, integrity))
}

/// Wireshark refuses a line with a key for an algorithm that it does not check.
fn checked<'k>(integrity: &str, key: &'k [u8]) -> &'k [u8] {
    if integrity == IKE_ANY_96 { &[] } else { key }
}

fn encryption_name(encryption: Encryption) -> Option<&'static str> {
    Some(match encryption {
        Encryption::Null => "NULL [RFC2410]",
        Encryption::TripleDesCbc => "3DES [RFC2451]",
        Encryption::Aes128Cbc => "AES-CBC-128 [RFC3602]",
        Encryption::Aes192Cbc => "AES-CBC-192 [RFC3602]",
        Encryption::Aes256Cbc => "AES-CBC-256 [RFC3602]",
        Encryption::Aes128Ctr => "AES-CTR-128 [RFC5930]",
        Encryption::Aes192Ctr => "AES-CTR-192 [RFC5930]",
        Encryption::Aes256Ctr => "AES-CTR-256 [RFC5930]",
        Encryption::Aes128Gcm16 => "AES-GCM-128 with 16 octet ICV [RFC5282]",
        Encryption::Aes192Gcm16 => "AES-GCM-192 with 16 octet ICV [RFC5282]",
        Encryption::Aes256Gcm16 => "AES-GCM-256 with 16 octet ICV [RFC5282]",
        Encryption::Aes128Gcm12 => "AES-GCM-128 with 12 octet ICV [RFC5282]",
        Encryption::Aes256Gcm12 => "AES-GCM-256 with 12 octet ICV [RFC5282]",
        Encryption::Aes128Gcm8 => "AES-GCM-128 with 8 octet ICV [RFC5282]",
        Encryption::Aes256Gcm8 => "AES-GCM-256 with 8 octet ICV [RFC5282]",
        Encryption::Aes128Ccm16 => "AES-CCM-128 with 16 octet ICV [RFC5282]",
        Encryption::Aes192Ccm16 => "AES-CCM-192 with 16 octet ICV [RFC5282]",
        Encryption::Aes256Ccm16 => "AES-CCM-256 with 16 octet ICV [RFC5282]",
        Encryption::Aes128Ccm12 => "AES-CCM-128 with 12 octet ICV [RFC5282]",
        Encryption::Aes256Ccm12 => "AES-CCM-256 with 12 octet ICV [RFC5282]",
        Encryption::Aes128Ccm8 => "AES-CCM-128 with 8 octet ICV [RFC5282]",
        Encryption::Aes256Ccm8 => "AES-CCM-256 with 8 octet ICV [RFC5282]",
        Encryption::ChaCha20Poly1305
        | Encryption::Aes128Gmac
        | Encryption::Aes192Gmac
        | Encryption::Aes256Gmac => return None,
    })
}

fn integrity_name(integrity: Integrity) -> &'static str {
    match integrity {
        Integrity::HmacMd5_96 => "HMAC_MD5_96 [RFC2403]",
        Integrity::HmacSha1_96 => "HMAC_SHA1_96 [RFC2404]",
        Integrity::HmacSha256_128 => "HMAC_SHA2_256_128 [RFC4868]",
        Integrity::HmacSha384_192 => "HMAC_SHA2_384_192 [RFC4868]",
        Integrity::HmacSha512_256 => "HMAC_SHA2_512_256 [RFC4868]",
        Integrity::AesXcbc96 | Integrity::AesCmac96 => IKE_ANY_96,
    }
}

/// The algorithms that a line of IKE's table names: what [`names`] writes. AES-XCBC and AES-CMAC share a name that says
/// only how long their tags are; such a line is of no use without the keys that it leaves out.
fn algorithms_named(encryption: &str, integrity: &str) -> Option<(Encryption, Option<Integrity>)> {
    let named = |algorithm: &&Encryption| encryption_name(**algorithm) == Some(encryption);
    let encryption = *Encryption::ALL.iter().find(named)?;
    if integrity == IKE_NONE {
        return encryption.is_aead().then_some((encryption, None));
    }
    let checked = integrity != IKE_ANY_96;
    let integrity =
        Integrity::ALL.iter().find(|algorithm| checked && integrity_name(**algorithm) == integrity);
    Some((encryption, Some(*integrity?)))
}
