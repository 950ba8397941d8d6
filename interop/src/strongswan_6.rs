//! strongSwan 6.1 in every place of 5.9.8, and strongSwan of both versions as an EAP server: two more tables of `RESULTS.md`.
//! `strongswan-6.sh` unpacks it, with libraries of its own, and a [`Lab`] runs it in place of the machine's strongSwan.
//! Read RFC 7296 §2.16, RFC 5216, RFC 9190 and RFC 9427 §2.1 first.

use std::fmt;
use std::fs;
use std::path::Path;

use keytoll_scenario::catalogue::eap::Foreign;

use crate::chain::{self, Outcome, Setting};
use crate::eap::{Method, Version};
use crate::ikev2::{self, Feature};
use crate::lab::{Lab, Node};
use crate::run::Trouble;

/// Its `/usr`, as `strongswan-6.sh` unpacks it.
pub const USR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/strongswan-6/usr");
/// The packages that the mirror did not have, one a line.
const MISSING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/strongswan-6/missing");

/// The packages that Debian's mirror did not have when `strongswan-6.sh` ran, as a sentence.
pub fn missing() -> Option<String> {
    missing_of(&fs::read_to_string(MISSING).ok()?)
}

fn missing_of(list: &str) -> Option<String> {
    let packages = list.lines().collect::<Vec<_>>().join(", ");
    (!packages.is_empty()).then(|| {
        format!("strongSwan 6.1: the mirror of Debian has no {packages}; see interop/strongswan-6.packages")
    })
}

/// Checks that the daemon of a lab is of this version, in its log.
///
/// # Panics
/// When no daemon of this version has started.
pub fn check_version(lab: &Lab) {
    let is_right = |node| lab.log(node).contains("IKE daemon (strongSwan 6.1.");
    assert!(is_right(Node::Ue) || is_right(Node::Gw), "another strongSwan\n{}", lab.last_words());
}

/// Why it cannot run, unless [`missing`] is the reason.
pub fn obstacle() -> Option<String> {
    (!Path::new(USR).exists()).then(|| format!("{USR} is missing; run interop/strongswan-6.sh as root"))
}

/// IKEv2 without EAP, in the direction that [`ikev2::Direction`] has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Direction(pub ikev2::Direction);

impl Direction {
    /// Both columns.
    pub const ALL: &[Self] = &[Self(ikev2::Direction::KeytollDevice), Self(ikev2::Direction::CharonDevice)];

    /// The known outcome of a row.
    pub const fn outcome(self, _: Feature) -> Outcome {
        Outcome::Passed
    }
}

/// The place of strongSwan when a device authenticates with EAP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// strongSwan 6.1, keytoll, keytoll.
    Device,
    /// keytoll, strongSwan 6.1, keytoll.
    Gateway,
    /// keytoll, and strongSwan 6.1 as gateway with an EAP server of its own.
    Server,
    /// The same with the machine's strongSwan.
    OldServer,
}

impl Chain {
    /// All columns.
    pub const ALL: &[Self] = &[Self::Device, Self::Gateway, Self::Server, Self::OldServer];

    /// The known outcome of a method.
    pub fn outcome(self, method: Method) -> Outcome {
        match (self, method.eap.strongswan) {
            (Self::Gateway, _) => Outcome::Passed,
            (Self::Server | Self::OldServer, _) if method.card().is_some() => {
                Outcome::NotOffered("Debian builds strongSwan without a source of vectors for cards")
            }
            (_, Foreign::Lacks(refusal)) => Outcome::NotOffered(refusal.message),
            (Self::Device, _) => Outcome::Passed,
            (Self::Server, _) => with_server(method),
            (Self::OldServer, _) => with_old_server(method),
        }
    }

    /// Lets a device authenticate; `setting` has a lab of [`crate::strongswan_6_or_skip`], but for [`Chain::OldServer`].
    ///
    /// # Errors
    /// When it does not succeed.
    pub fn authenticate(self, setting: &Setting<'_>) -> Result<(), Trouble> {
        match self {
            Self::Device => setting.authenticate(chain::Chain::CharonDevice),
            Self::Gateway => setting.authenticate(chain::Chain::CharonGateway),
            Self::Server | Self::OldServer => {
                Setting { login: setting.login.at_gateway(), ..*setting }.with_charon_gateway()
            }
        }
    }

    /// A lab for it, or none where it cannot run.
    pub fn lab(self) -> Option<Lab> {
        if self == Self::OldServer { crate::lab_or_skip() } else { crate::strongswan_6_or_skip() }
    }
}

fn with_server(method: Method) -> Outcome {
    match (method.eap.name, method.tls) {
        ("gtc", _) => Outcome::NotOffered("strongSwan's EAP-GTC server asks PAM, not its own secrets"),
        (_, Some(Version::Tls12)) => Outcome::Failed {
            words: "TLS no extended master secret (RFC 7627)",
            why: "strongSwan sends no extended_master_secret (RFC 7627) in TLS 1.2, and keytoll names that as the reason",
        },
        _ => Outcome::Passed,
    }
}

fn with_old_server(method: Method) -> Outcome {
    match method.tls {
        Some(Version::Tls13) if method.has_certificate() => Outcome::Failed {
            words: "EAP-TLS success indication missing",
            why: "strongSwan 5.9.8 sends no success indication (RFC 9190 §2.5)",
        },
        Some(Version::Tls13) => Outcome::Failed {
            words: "AUTHENTICATION_FAILED",
            why: "strongSwan 5.9.8 derives other keys than RFC 9427 §2.1 wants",
        },
        _ => with_server(method),
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            ikev2::Direction::KeytollDevice => "keytoll → strongSwan 6.1",
            ikev2::Direction::CharonDevice => "strongSwan 6.1 → keytoll",
        })
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "strongSwan 6.1 → keytoll → keytoll",
            Self::Gateway => "keytoll → strongSwan 6.1 → keytoll",
            Self::Server => "keytoll → strongSwan 6.1",
            Self::OldServer => "keytoll → strongSwan 5.9.8",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_names_each_missing_package() {
        let notice = missing_of("charon-systemd 6.1.0-2\nlibc6 2.43-7\n").unwrap();
        assert!(notice.contains("has no charon-systemd 6.1.0-2, libc6 2.43-7;"), "{notice}");
        assert_eq!(missing_of(""), None);
    }
}
