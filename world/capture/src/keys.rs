//! Key tables as Wireshark reads them: a directory that is a whole Wireshark profile, beside the capture that it opens.
//!
//! ```text
//!   ikev2_decryption_table   SPIi,SPIr,SK_ei,SK_er,"encryption",SK_ai,SK_ar,"integrity"
//!   ikev1_decryption_table   initiator's cookie,key
//!   esp_sa                   "IPv4","source","destination","0xSPI","encryption","0xkey","integrity","0xkey"
//!   tls.keys                 label client_random secret          (NSS key log, draft-ietf-tls-keylogfile)
//!   decode_as_entries        ports that are not the standards'
//!   preferences              which switches all on, and holds the RADIUS secret
//! ```
//!
//! Every line is written as the key is told, so that a process that is killed leaves what it had. The capture itself
//! holds no secret: who gives it away keeps this directory.

pub(crate) mod names;
mod ports;
mod secrets;

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use keytoll_net::Addr;
use keytoll_trace::output::Output;
use keytoll_trace::revealed::{Algorithms, Sealing};
use keytoll_trace::{Protocol, Revealed, regular};

use ports::Ports;
use secrets::SecretDirectory;

/// Keys that both ends of a conversation in one process tell are written once, if these many others came between at most.
const REMEMBERED_MAX: usize = 1024;

/// The key tables of a capture.
#[derive(Debug)]
pub struct KeyTables {
    directory: PathBuf,
    place: SecretDirectory,
    ikev1: File,
    ikev2: File,
    esp: File,
    tls: File,
    remembered: VecDeque<Name>,
    unreadable: BTreeSet<String>,
    ports: Ports,
}

/// What a key is for.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    Ike(u64, u64),
    Esp(u32, IpAddr),
    Tls(Box<str>, [u8; 32]),
}

impl KeyTables {
    /// Makes the directory with empty tables in it, in place of older ones; only its owner enters it.
    ///
    /// # Errors
    /// What the operating system refuses, and a symbolic link or the directory of another user in its place.
    pub fn create(directory: &Path) -> io::Result<Self> {
        let place = SecretDirectory::open(directory)?;
        let tables = Self {
            ikev1: place.create("ikev1_decryption_table")?,
            ikev2: place.create("ikev2_decryption_table")?,
            esp: place.create("esp_sa")?,
            tls: place.create(TLS_FILE)?,
            remembered: VecDeque::new(),
            unreadable: BTreeSet::new(),
            ports: Ports::new(place.create("decode_as_entries")?),
            directory: directory.canonicalize()?,
            place,
        };
        tables.write_preferences(None)?;
        Ok(tables)
    }

    /// Where they are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The secret that RADIUS clients and servers share: Wireshark checks and decrypts with it, if it can be typed. With any
    /// other nothing is written.
    pub fn share(&mut self, secret: &[u8]) -> io::Result<()> {
        match std::str::from_utf8(secret) {
            Ok(text) if can_be_typed(text) => self.write_preferences(Some(text)),
            _ => {
                self.unreadable.insert("RADIUS with a secret that cannot be typed".to_owned());
                Ok(())
            }
        }
    }

    /// Writes down what was told.
    pub fn reveal(&mut self, revealed: &Revealed) -> io::Result<()> {
        if !self.is_new(revealed) {
            return Ok(());
        }
        match revealed {
            Revealed::IkeSa { spi_i, spi_r, algorithms, initiator, responder } => {
                self.ike_sa((*spi_i, *spi_r), *algorithms, [initiator, responder])
            }
            Revealed::IsakmpSa { cookie_i, key, .. } => {
                writeln!(self.ikev1, "{cookie_i:016x},{}", hex(key))
            }
            Revealed::ChildSa { spi, source, destination, algorithms, keys } => {
                self.child_sa(*spi, [*source, *destination], *algorithms, keys)
            }
            Revealed::TlsSecret { label, client_random, secret } => {
                writeln!(self.tls, "{label} {} {}", hex(client_random), hex(secret))
            }
        }
    }

    /// Notes what travels between two addresses, if Wireshark would not know it by either.
    pub fn name_ports(&mut self, protocol: Protocol, ends: [Addr; 2], bytes: &[u8]) -> io::Result<()> {
        self.ports.name(protocol, ends, bytes)
    }

    /// What the Wireshark of Debian 12 cannot decrypt of what was told, with the names of its algorithms.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.unreadable.iter().map(String::as_str)
    }

    fn is_new(&mut self, revealed: &Revealed) -> bool {
        let name = match revealed {
            Revealed::IkeSa { spi_i, spi_r, .. } => Name::Ike(*spi_i, *spi_r),
            Revealed::IsakmpSa { cookie_i, cookie_r, .. } => Name::Ike(*cookie_i, *cookie_r),
            Revealed::ChildSa { spi, destination, .. } => Name::Esp(*spi, *destination),
            Revealed::TlsSecret { label, client_random, .. } => Name::Tls(label.clone(), *client_random),
        };
        if self.remembered.contains(&name) {
            return false;
        }
        self.remembered.truncate(REMEMBERED_MAX - 1);
        self.remembered.push_front(name);
        true
    }

    fn ike_sa(
        &mut self,
        (spi_i, spi_r): (u64, u64),
        algorithms: Algorithms,
        [initiator, responder]: [&Sealing; 2],
    ) -> io::Result<()> {
        let Some((encryption, integrity)) = names::of_ike(algorithms) else {
            return self.cannot_read("IKE", algorithms);
        };
        let [ei, er] = [initiator, responder].map(|keys| hex(&keys.encryption_key));
        let [ai, ar] = [initiator, responder].map(|keys| hex(names::checked(integrity, &keys.integrity_key)));
        writeln!(self.ikev2, "{spi_i:016x},{spi_r:016x},{ei},{er},\"{encryption}\",{ai},{ar},\"{integrity}\"")
    }

    fn child_sa(
        &mut self,
        spi: u32,
        [source, destination]: [IpAddr; 2],
        algorithms: Algorithms,
        keys: &Sealing,
    ) -> io::Result<()> {
        let Some((encryption, integrity)) = names::of_esp(algorithms) else {
            return self.cannot_read("ESP", algorithms);
        };
        let version = if destination.is_ipv4() { "IPv4" } else { "IPv6" };
        let (encryption_key, integrity_key) = (prefixed(&keys.encryption_key), prefixed(&keys.integrity_key));
        writeln!(
            self.esp,
            "\"{version}\",\"{source}\",\"{destination}\",\"0x{spi:08x}\",\"{encryption}\",\"{encryption_key}\",\
             \"{integrity}\",\"{integrity_key}\""
        )
    }

    fn cannot_read(&mut self, protocol: &str, algorithms: Algorithms) -> io::Result<()> {
        let Algorithms { encryption, integrity } = algorithms;
        let integrity = integrity.map(|integrity| format!("-{integrity}")).unwrap_or_default();
        self.unreadable.insert(format!("{protocol} with {encryption}{integrity}"));
        Ok(())
    }

    /// The profile's switches: decrypt, and check what can be checked.
    fn write_preferences(&self, shared_secret: Option<&str>) -> io::Result<()> {
        let mut file = self.place.create(PREFERENCES_FILE)?;
        writeln!(file, "{KEYLOG} {}", self.directory.join(TLS_FILE).display())?;
        file.write_all(PREFERENCES.as_bytes())?;
        if let Some(secret) = shared_secret {
            writeln!(file, "radius.shared_secret: {secret}")?;
            writeln!(file, "radius.validate_authenticator: TRUE")?;
        }
        file.flush()
    }
}

/// Tells the profile in a directory that it will be at `destination`: Wireshark finds the keys of TLS by their whole path.
///
/// # Errors
/// When the preferences cannot be read or written, or the directory is a symbolic link or another user's.
pub fn relocate(directory: &Path, destination: &Path) -> io::Result<()> {
    let place = SecretDirectory::existing(directory)?;
    let path = place.path(PREFERENCES_FILE);
    let text = regular::read_text(&path, PREFERENCES_BYTES_MAX)?;
    let mut output = Output::create_secret(&path)?;
    for line in text.lines() {
        if line.starts_with(KEYLOG) {
            writeln!(output, "{KEYLOG} {}", destination.join(TLS_FILE).display())?;
        } else {
            writeln!(output, "{line}")?;
        }
    }
    output.finish()
}

/// Wireshark's own are shorter, and ours have a few lines.
const PREFERENCES_BYTES_MAX: u64 = 1 << 20;
/// Of a profile.
const PREFERENCES_FILE: &str = "preferences";
/// The secrets of TLS.
const TLS_FILE: &str = "tls.keys";
/// The preference that names them.
const KEYLOG: &str = "tls.keylog_file:";

const PREFERENCES: &str = "\
esp.enable_encryption_decode: TRUE
esp.enable_authentication_check: TRUE
ip.check_checksum: TRUE
udp.check_checksum: TRUE
tcp.check_checksum: TRUE
";

/// A line of the preferences holds it whole.
fn can_be_typed(secret: &str) -> bool {
    let is_printable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    !secret.is_empty() && secret.bytes().all(is_printable) && secret.trim() == secret
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

/// `0x`, without which Wireshark takes a key of ESP for text; an empty key stays empty.
fn prefixed(key: &[u8]) -> String {
    if key.is_empty() { String::new() } else { format!("0x{}", hex(key)) }
}

#[cfg(test)]
mod tests;
