//! Reads the key tables that Wireshark reads, whoever wrote them: [`crate::KeyTables`], strongSwan's save-keys plugin, a
//! person. The formats are in [`crate::keys`].
//!
//! A table is plain text from somewhere: a line that cannot be used is counted, not fatal, and no key is ever shown.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use keytoll_crypto_api::Secret;
use keytoll_crypto_api::algorithm::{Integrity, Prf};
use keytoll_crypto_api::suite::Suite;
use keytoll_ike::v2::keys::IkeKeys;

use crate::keys::names;

/// More lines of a table are not read.
const LINES_MAX: usize = 1_000_000;
/// A longer table is refused, in bytes.
const TABLE_BYTES_MAX: u64 = 512 << 20;

/// Keys that a capture can be read with.
#[derive(Debug, Default)]
pub struct Keys {
    ike: BTreeMap<(u64, u64), IkeKeys>,
    /// Encryption keys of ISAKMP SAs by the initiator's cookie.
    isakmp: BTreeMap<u64, Secret>,
    esp: BTreeMap<u32, Vec<EspKeys>>,
    radius: Option<Secret>,
    unusable: u64,
}

/// Keys of one direction of an ESP SA.
#[derive(Debug, Clone)]
pub(crate) struct EspKeys {
    /// The receiver as the table has it, `*` or with a mask being anybody.
    pub(crate) destination: Option<std::net::IpAddr>,
    pub(crate) key: keytoll_esp::TrafficKey,
}

/// Why keys cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// The directory has none of the files.
    #[error("no key tables in {}: neither ikev2_decryption_table nor ikev1_decryption_table nor esp_sa nor preferences", directory.display())]
    None {
        /// The directory.
        directory: PathBuf,
    },
    /// A file that is there and cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

impl Keys {
    /// Reads the tables of a directory, those that are there.
    pub fn read(directory: &Path) -> Result<Self, TablesError> {
        let mut keys = Self::default();
        let ike = text(&directory.join("ikev2_decryption_table"))?;
        let isakmp = text(&directory.join("ikev1_decryption_table"))?;
        let esp = text(&directory.join("esp_sa"))?;
        let preferences = text(&directory.join("preferences"))?;
        if ike.is_none() && isakmp.is_none() && esp.is_none() && preferences.is_none() {
            return Err(TablesError::None { directory: directory.to_owned() });
        }
        keys.add_lines(ike.as_deref(), Self::ike_line);
        keys.add_lines(isakmp.as_deref(), Self::isakmp_line);
        keys.add_lines(esp.as_deref(), Self::esp_line);
        let secret = preferences.as_deref().into_iter().flat_map(str::lines);
        let secret = secret.filter_map(|line| line.strip_prefix("radius.shared_secret:")).next_back();
        keys.radius = secret.map(|secret| Secret::from(secret.trim().as_bytes()));
        Ok(keys)
    }

    /// Lines that could not be used: damaged, or of algorithms that we do not have.
    pub const fn unusable(&self) -> u64 {
        self.unusable
    }

    /// Keys of how many IKE SAs, and of how many directions of ESP SAs.
    pub fn counts(&self) -> (usize, usize) {
        (self.ike.len() + self.isakmp.len(), self.esp.values().map(Vec::len).sum())
    }

    pub(crate) fn ike(&self, spis: (u64, u64)) -> Option<&IkeKeys> {
        self.ike.get(&spis)
    }

    /// The encryption key of the ISAKMP SA with this initiator's cookie.
    pub(crate) fn isakmp(&self, cookie_i: u64) -> Option<&Secret> {
        self.isakmp.get(&cookie_i)
    }

    pub(crate) fn esp(&self, spi: u32) -> &[EspKeys] {
        self.esp.get(&spi).map_or(&[], Vec::as_slice)
    }

    /// The secret that RADIUS clients and servers share.
    pub(crate) const fn radius(&self) -> Option<&Secret> {
        self.radius.as_ref()
    }

    fn add_lines(&mut self, table: Option<&str>, add: fn(&mut Self, &[&str]) -> Option<()>) {
        let lines = table.unwrap_or_default().lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines.take(LINES_MAX) {
            // None of the values can have a comma inside its quotes.
            let fields: Vec<&str> = line.split(',').map(|field| field.trim().trim_matches('"')).collect();
            self.unusable += u64::from(add(self, &fields).is_none());
        }
    }

    fn ike_line(&mut self, fields: &[&str]) -> Option<()> {
        let &[spi_i, spi_r, ei, er, encryption, ai, ar, integrity] = fields else { return None };
        let (encryption, integrity) = names::ike_named(encryption, integrity)?;
        // Neither PRF nor group is in the table; the keys that the PRF's length is about are not needed to read.
        let suite = Suite { encryption, integrity, prf: Some(Prf::HmacSha256), group: None, esn: false };
        let unknown = vec![0; Prf::HmacSha256.output_len()];
        let [ei, er, ai, ar] = [ei, er, ai, ar].map(hex);
        let (ai, ar) = if integrity.is_some() { (ai?, ar?) } else { (Vec::new(), Vec::new()) };
        let material = Secret::new([&unknown[..], &ai, &ar, &ei?, &er?, &unknown, &unknown].concat());
        let spi = |text: &str| u64::from_str_radix(text, 16).ok();
        self.ike.insert((spi(spi_i)?, spi(spi_r)?), IkeKeys::from_material(&suite, &material)?);
        Some(())
    }

    fn isakmp_line(&mut self, fields: &[&str]) -> Option<()> {
        let &[cookie_i, key] = fields else { return None };
        self.isakmp.insert(u64::from_str_radix(cookie_i, 16).ok()?, Secret::new(hex(key)?));
        Some(())
    }

    fn esp_line(&mut self, fields: &[&str]) -> Option<()> {
        let &[_, _, destination, spi, encryption, encryption_key, integrity, integrity_key] = fields else {
            return None;
        };
        let encryption_key = hex(encryption_key)?;
        let (encryption, integrity) = names::esp_named(encryption, encryption_key.len(), integrity)?;
        let integrity_key = integrity.map_or(Some(Vec::new()), |_| hex(integrity_key))?;
        if integrity.is_some_and(|integrity: Integrity| integrity.key_len() != integrity_key.len()) {
            return None;
        }
        let (encryption_key, integrity_key) = (Secret::new(encryption_key), Secret::new(integrity_key));
        let key = keytoll_esp::TrafficKey::new(encryption, integrity, encryption_key, integrity_key);
        let spi = u32::from_str_radix(spi.trim_start_matches("0x"), 16).ok()?;
        self.esp.entry(spi).or_default().push(EspKeys { destination: destination.parse().ok(), key });
        Some(())
    }
}

/// A file's text, if it is there; what is not UTF-8 in it is in lines that cannot be used.
fn text(path: &Path) -> Result<Option<String>, TablesError> {
    let failed = |source| TablesError::Io { path: path.to_owned(), source };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
        Ok(file) if file.len() > TABLE_BYTES_MAX => Err(failed(io::ErrorKind::FileTooLarge.into())),
        Ok(_) => {
            let bytes = fs::read(path).map_err(failed)?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
    }
}

/// Bytes in hexadecimal, with or without `0x`.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_start_matches("0x").as_bytes();
    let digit = |byte: u8| (byte as char).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}
