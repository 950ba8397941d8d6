//! Key tables as Wireshark reads them: a directory that is a whole Wireshark profile, beside the capture that it opens.
//!
//! ```text
//!   ikev2_decryption_table, esp_sa, tls.keys, …   the tables of each family, which writes their lines itself
//!   decode_as_entries                             ports that are not the standards'
//!   preferences                                   which switches all on, and holds the secret that nodes share
//! ```
//!
//! Every line is written as the key is told, so that a process that is killed leaves what it had. The capture itself
//! holds no secret: who gives it away keeps this directory.

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

/// Keys that both ends of a conversation in one process tell are written once, if these many others came between at most.
const REMEMBERED_MAX: usize = 1024;

/// The key tables of a capture.
pub struct KeyTables {
    families: Families,
    directory: PathBuf,
    place: SecretDirectory,
    tables: BTreeMap<&'static str, File>,
    /// What the latest keys are for.
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
    /// Makes the directory with empty tables of these families in it, in place of older ones; only its owner enters it.
    ///
    /// # Errors
    /// What the operating system refuses, and a symbolic link or the directory of another user in its place.
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

    /// Where they are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The secret that clients and servers share: Wireshark checks and decrypts with it, if it can be typed. With any other
    /// nothing is written.
    ///
    /// # Errors
    /// What the operating system refuses.
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

    /// Writes down what was told.
    ///
    /// # Errors
    /// What the operating system refuses.
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

    /// Notes what travels between two addresses, if Wireshark would not know it by either.
    pub fn name_ports(&mut self, protocol: Protocol, ends: [Addr; 2], bytes: &[u8]) -> io::Result<()> {
        let Some(family) = family::of(self.families, protocol) else { return Ok(()) };
        self.ports.name(family.wireshark(protocol, bytes), ends)
    }

    /// What the Wireshark of Debian 12 cannot decrypt of what was told, with the names of its algorithms.
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

    /// The profile's switches: decrypt, and check what can be checked.
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

/// Tells the profile in a directory that it will be at `destination`: Wireshark finds the keys of TLS by their whole path.
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
/// What is checked whatever the family.
const PREFERENCES: [&str; 3] =
    ["ip.check_checksum: TRUE", "udp.check_checksum: TRUE", "tcp.check_checksum: TRUE"];

/// The tables of all families.
fn all_tables(families: Families) -> impl Iterator<Item = &'static KeyTable> {
    families.iter().flat_map(|family| family.key_tables())
}

/// The tables that a preference names by their whole path, and the preference.
fn placed_tables(families: Families) -> impl Iterator<Item = (&'static str, &'static str)> {
    all_tables(families).filter_map(|table| Some((table.preference?, table.file)))
}

#[cfg(test)]
mod tests;
