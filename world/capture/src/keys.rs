//! Key tables in Wireshark's formats: a directory that is a complete Wireshark profile, beside the capture that it decrypts.
//!
//! ```text
//!   ikev2_decryption_table, esp_sa, tls.keys, …   the tables of each family, in its own format
//!   decode_as_entries                             non-standard ports
//!   preferences                                   enables decryption, and has the shared secret of nodes
//! ```
//!
//! Every line is written at once, so that a killed process leaves all keys so far. The capture itself contains no secrets, so it can
//! be published without this directory.

mod ports;
mod secrets;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use keytoll_family::{Families, KeyTable, family};
use keytoll_net::Addr;
use keytoll_trace::output::Output;
use keytoll_trace::{Protocol, Revealed, regular};

use ports::Ports;
use secrets::SecretDirectory;

/// Keys that both ends of a conversation in one process report are written once, if at most this many others are in between.
const REMEMBERED_MAX: usize = 1024;

/// The key tables of a capture.
pub struct KeyTables {
    families: Families,
    directory: PathBuf,
    place: SecretDirectory,
    tables: BTreeMap<&'static str, File>,
    /// The purposes of the latest keys.
    remembered: VecDeque<String>,
    unreadable: BTreeSet<String>,
    ports: Ports,
}

impl fmt::Debug for KeyTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyTables").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl KeyTables {
    /// Creates the directory, with mode 0700 and empty tables of these families, replacing older ones.
    ///
    /// # Errors
    /// Those of the operating system, and a symbolic link or the directory of another user in its place.
    pub fn create(families: Families, directory: &Path) -> io::Result<Self> {
        let place = SecretDirectory::open(directory)?;
        let files = all_tables(families).map(|table| Ok((table.file, place.create(table.file)?)));
        let tables = Self {
            families,
            tables: files.collect::<io::Result<_>>()?,
            remembered: VecDeque::new(),
            unreadable: BTreeSet::new(),
            ports: Ports::new(place.create("decode_as_entries")?),
            directory: directory.canonicalize()?,
            place,
        };
        tables.write_preferences(&[])?;
        Ok(tables)
    }

    /// Their path.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes the secret that clients and servers share, with which Wireshark verifies and decrypts, if it is printable. Any other secret
    /// is left out.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn share(&mut self, secret: &[u8]) -> io::Result<()> {
        let lines = self.families.iter().filter_map(|family| family.shared_secret(secret));
        let lines: Result<Vec<_>, String> = lines.collect();
        match lines {
            Ok(lines) => self.write_preferences(&lines.concat()),
            Err(what) => {
                self.unreadable.insert(what);
                Ok(())
            }
        }
    }

    /// Writes a revealed key.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn reveal(&mut self, revealed: &Revealed) -> io::Result<()> {
        let Some(key) = self.families.iter().find_map(|family| family.key_line(revealed)) else {
            return Ok(());
        };
        if !self.is_new(key.of) {
            return Ok(());
        }
        match (key.line, self.tables.get_mut(key.table)) {
            (Ok(line), Some(table)) => writeln!(table, "{line}"),
            (Ok(_), None) => Ok(()),
            (Err(what), _) => {
                self.unreadable.insert(what);
                Ok(())
            }
        }
    }

    /// Records the protocol between two addresses, if Wireshark does not recognise it by its ports.
    pub fn name_ports(&mut self, protocol: Protocol, ends: [Addr; 2], bytes: &[u8]) -> io::Result<()> {
        let Some(family) = family::of(self.families, protocol) else { return Ok(()) };
        self.ports.name(family.wireshark(protocol, bytes), ends)
    }

    /// The algorithms of revealed keys that the Wireshark of Debian 12 cannot decrypt.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.unreadable.iter().map(String::as_str)
    }

    fn is_new(&mut self, of: String) -> bool {
        if self.remembered.contains(&of) {
            return false;
        }
        self.remembered.truncate(REMEMBERED_MAX - 1);
        self.remembered.push_front(of);
        true
    }

    /// The preferences: decrypt, and verify whatever is possible.
    fn write_preferences(&self, secrets: &[String]) -> io::Result<()> {
        let mut file = self.place.create(PREFERENCES_FILE)?;
        for (preference, table) in placed_tables(self.families) {
            writeln!(file, "{preference}: {}", self.directory.join(table).display())?;
        }
        let switches = self.families.iter().flat_map(|family| family.preferences());
        for switch in switches.copied().chain(PREFERENCES) {
            writeln!(file, "{switch}")?;
        }
        for line in secrets {
            writeln!(file, "{line}")?;
        }
        file.flush()
    }
}

/// Updates the profile in a directory that will move to `destination`: Wireshark finds the keys of TLS by their full path.
///
/// # Errors
/// When the preferences cannot be read or written, or the directory is a symbolic link or another user's.
pub fn relocate(families: Families, directory: &Path, destination: &Path) -> io::Result<()> {
    let place = SecretDirectory::existing(directory)?;
    let path = place.path(PREFERENCES_FILE);
    let text = regular::read_text(&path, PREFERENCES_BYTES_MAX)?;
    let mut output = Output::create_secret(&path)?;
    for line in text.lines() {
        let preference = line.split_once(':').map_or(line, |(preference, _)| preference);
        match placed_tables(families).find(|(placed, _)| *placed == preference) {
            Some((_, table)) => writeln!(output, "{preference}: {}", destination.join(table).display())?,
            None => writeln!(output, "{line}")?,
        }
    }
    output.finish()
}

/// Wireshark's own are shorter, and ours have a few lines.
const PREFERENCES_BYTES_MAX: u64 = 1 << 20;
/// Of a profile.
const PREFERENCES_FILE: &str = "preferences";
/// The checks enabled for all families.
const PREFERENCES: [&str; 3] =
    ["ip.check_checksum: TRUE", "udp.check_checksum: TRUE", "tcp.check_checksum: TRUE"];

/// The tables of all families.
fn all_tables(families: Families) -> impl Iterator<Item = &'static KeyTable> {
    families.iter().flat_map(|family| family.key_tables())
}

/// The tables that a preference names by their full path, and the preference.
fn placed_tables(families: Families) -> impl Iterator<Item = (&'static str, &'static str)> {
    all_tables(families).filter_map(|table| Some((table.preference?, table.file)))
}

#[cfg(test)]
mod tests;
