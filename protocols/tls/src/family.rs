//! TLS as captures know it: the secrets of its sessions, a key log that Wireshark reads. Its records are in what others carry.

use std::fmt::Write as _;

use keytoll_engine::trace::{Protocol, Revealed};
use keytoll_family::keys::hex;
use keytoll_family::{Family, KeyLine, KeyTable};

/// TLS inside whatever carries it.
#[derive(Debug)]
pub struct TlsFamily;

/// label client_random secret (NSS key log, draft-ietf-tls-keylogfile)
const TABLE: KeyTable = KeyTable { file: "tls.keys", preference: Some("tls.keylog_file"), is_read: false };

impl Family for TlsFamily {
    fn protocols(&self) -> &'static [Protocol] {
        &[]
    }

    fn key_tables(&self) -> &'static [KeyTable] {
        &[TABLE]
    }

    fn key_line(&self, revealed: &Revealed) -> Option<KeyLine> {
        let Revealed::TlsSecret { label, client_random, secret } = revealed else { return None };
        let of = format!("{label} {}", hex(client_random));
        let mut line = of.clone();
        write!(line, " {}", hex(secret)).expect("a string takes everything");
        Some(KeyLine { of, table: TABLE.file, line: Ok(line) })
    }
}
