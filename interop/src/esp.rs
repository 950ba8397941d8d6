//! What ESP can be made of, tried between keytoll and strongSwan, negotiated by IKEv2 and by IKEv1, in both directions: the
//! fourth table of `RESULTS.md`. [`esp_rows!`](crate::esp_rows) is the one list of it; the tests and the table follow. Read
//! RFC 4303 §2 and §3.2, RFC 8221 §5 and §6 first.

use std::fmt;

use keytoll_daemons::charon::IkeVersion;

use crate::chain::Outcome;
use crate::ikev2::Direction;
use crate::lab::Lab;
use crate::pair::{Pair, Role};
use crate::run::Trouble;
use crate::swanctl::{Auth, Terms};
use crate::verdict::{self, Judged};

/// What the SAs are negotiated under: cheap, and known to both versions of IKE.
const IKE: &str = "aes128-sha256-ecp256";

/// A row: what an SA seals its packets with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suite(pub &'static str);

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Who negotiates it.
    pub version: IkeVersion,
    /// Who is who.
    pub direction: Direction,
}

impl Way {
    /// All columns.
    pub const ALL: &[Self] = &[
        Self { version: IkeVersion::V2, direction: Direction::KeytollDevice },
        Self { version: IkeVersion::V2, direction: Direction::CharonDevice },
        Self { version: IkeVersion::V1Main, direction: Direction::KeytollDevice },
        Self { version: IkeVersion::V1Main, direction: Direction::CharonDevice },
    ];
}

/// Hands every row, as the name of a test and a suite, to the macro `$each`, after `($more)`.
#[macro_export]
macro_rules! esp_rows {
    ($each:ident($($more:tt)*)) => {
        $each! { ($($more)*)
            aes128_md5: "aes128-md5",
            aes128_sha1: "aes128-sha1",
            aes128_sha256: "aes128-sha256",
            aes192_sha384: "aes192-sha384",
            aes256_sha512: "aes256-sha512",
            aes128_xcbc: "aes128-aesxcbc",
            aes128_cmac: "aes128-aescmac",
            aes128_ctr: "aes128ctr-sha256",
            aes192_ctr: "aes192ctr-sha1",
            aes256_ctr: "aes256ctr-sha512",
            aes128_gcm8: "aes128gcm8",
            aes128_gcm12: "aes128gcm12",
            aes128_gcm16: "aes128gcm16",
            aes192_gcm16: "aes192gcm16",
            aes256_gcm8: "aes256gcm8",
            aes256_gcm12: "aes256gcm12",
            aes256_gcm16: "aes256gcm16",
            aes128_ccm8: "aes128ccm8",
            aes128_ccm12: "aes128ccm12",
            aes128_ccm16: "aes128ccm16",
            aes192_ccm16: "aes192ccm16",
            aes256_ccm8: "aes256ccm8",
            aes256_ccm12: "aes256ccm12",
            aes256_ccm16: "aes256ccm16",
            chacha20_poly1305: "chacha20poly1305",
            triple_des_md5: "3des-md5",
            triple_des_sha1: "3des-sha1",
            triple_des_sha256: "3des-sha256",
            null_md5: "null-md5",
            null_sha1: "null-sha1",
            null_sha256: "null-sha256",
            null_gmac: "aes128gmac",
            extended_numbers: "aes128gcm16-esn",
        }
    };
}

macro_rules! as_constant {
    (() $($name:ident: $suite:literal,)*) => { &[$(Suite($suite)),*] };
}

/// A test for each row and column; each calls `$run` with a suite and a [`Way`].
#[macro_export]
macro_rules! esp_tests {
    (($way:expr, $run:expr) $($name:ident: $suite:literal,)*) => { $(
        #[test]
        fn $name() {
            ($run)($crate::esp::Suite($suite), $way);
        }
    )* };
}

impl Suite {
    /// All rows.
    pub const ALL: &[Self] = esp_rows!(as_constant());

    /// What is known to come of it.
    pub fn outcome(self, way: Way) -> Outcome {
        match (self.0, way.version) {
            ("chacha20poly1305" | "aes128-aescmac", IkeVersion::V1Main | IkeVersion::V1Aggressive) => {
                Outcome::NotOffered("IKEv1 has no number for it")
            }
            ("aes128gcm16-esn", IkeVersion::V1Main | IkeVersion::V1Aggressive) => {
                Outcome::NotOffered("the attribute of RFC 4304 is not implemented in keytoll's IKEv1")
            }
            ("aes128gcm16-esn", IkeVersion::V2) => Outcome::Failed {
                words: "IPsec SA: ESN not supported",
                why: "agreed in IKE, but `kernel-libipsec` has no extended sequence numbers",
            },
            ("aes128gmac", _) => Outcome::Failed {
                words: "unsupported AEAD algorithm NULL_AES_GMAC",
                why: "agreed in IKE, but `kernel-libipsec` has no GMAC",
            },
            _ => Outcome::Passed,
        }
    }

    /// Why the capture of a row of IKEv1 cannot be held against the logs, if it cannot.
    fn unjudged(self, direction: Direction) -> Option<&'static str> {
        let is_silent = (self.0, direction) == ("aes128gmac", Direction::KeytollDevice);
        is_silent.then_some("strongSwan agrees, has no such SA afterwards, and tells nobody")
    }

    /// That the capture of a row of IKEv1 that was tried tells what the two daemons logged.
    ///
    /// # Panics
    /// When it does not.
    pub fn judge(self, way: Way, lab: &Lab, program: &str) {
        let Way { version, direction } = way;
        if version != IkeVersion::V2 && self.unjudged(direction).is_none() {
            let keytoll = direction.keytoll();
            Judged { version, lab, program, keytoll, read: verdict::strongswan }.check();
        }
    }

    /// Sets an SA up, sends an echo and its answer through, and takes it down.
    pub fn run(self, way: Way, lab: &Lab, program: &str) -> Result<(), Trouble> {
        let terms = match way.version {
            IkeVersion::V2 => Terms::psk(IKE, self.0),
            v1 => Terms::v1(v1, Auth::Psk, IKE, self.0),
        };
        let mut pair = Pair::start(way.direction, lab, program, [&terms, &terms], None)?;
        match way.version {
            IkeVersion::V2 => pair.connect()?,
            IkeVersion::V1Main | IkeVersion::V1Aggressive => pair.connect_v1()?,
        };
        pair.delete(Role::Device)
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = if self.version == IkeVersion::V2 { "IKEv2" } else { "IKEv1" };
        write!(f, "{version}, {}", self.direction)
    }
}
