//! What IKEv2 can do, tried between keytoll and ryke in both directions: a table of `RESULTS.md`.
//! [`ryke_rows!`](crate::ryke_rows) is the one list of it; the tests and the table follow. ryke is a library of crates.io, and
//! `interop/ryke-peer` is the program around it. Read RFC 7296 §2.11, §2.16 and §2.23 first.

mod device;
mod gateway;
mod program;

use std::fmt;

use crate::chain::Outcome;
use crate::eap::{Login, Method};
use crate::ikev1::IkeVersion;
use crate::ikev2::{Kind, shown};
use crate::lab::Lab;
use crate::pair::Role;
use crate::pki::KeyKind;
use crate::run::Trouble;
use crate::swanctl::{Auth, Inner, Terms};

pub use program::lab_or_skip;

/// The one suite that ryke offers, and its ESP.
const IKE: &str = "aes256gcm16-prfsha256-x25519";
const ESP: &str = "aes256gcm16";

/// Which side is the device; the other one is the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// keytoll initiates.
    KeytollDevice,
    /// ryke initiates.
    RykeDevice,
}

impl Direction {
    /// Both columns.
    pub const ALL: &[Self] = &[Self::KeytollDevice, Self::RykeDevice];
}

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// `ryke::Client` and `ryke::Server` as they are: IKE stays at port 500, without NAT_DETECTION.
    WithoutNatDetection,
    /// A shared key with this group, IKE and ESP at port 4500.
    Psk(&'static str),
    /// The device says which gateway it wants to reach (IDr).
    NamedGateway,
    /// Certificates on both sides, in chains of this length.
    Certificates(usize),
    /// EAP-MSCHAPv2, the gateway with a certificate of this kind.
    Mschapv2(KeyKind),
    /// The gateway assigns an address to the device.
    AssignedAddress,
    /// The device asks a gateway with a pool for no address, and is refused.
    NoAddress,
    /// One side asks whether the other one lives; ryke as the device does so twice with the same request.
    Liveness(Role),
    /// One side wants new keys.
    Rekey(Kind, Role),
    /// One side closes the IKE SA.
    Delete(Role),
    /// The gateway demands a cookie first.
    Cookie,
    /// The gateway wants another group than the device guessed.
    OtherGroup,
    /// The two have different shared keys.
    WrongSecret,
    /// The device has a wrong password.
    WrongPassword,
    /// The gateway trusts another authority than that of the device's certificate.
    WrongCertificate,
    /// The two have no suite in common.
    NoCommonSuite,
    /// The device is behind a NAT that changes ports.
    Nat,
    /// The gateway asks for EAP-5G, as an N3IWF does.
    Eap5g,
    /// IKEv1 with a shared key.
    AggressiveMode,
}

/// Hands every row, as the name of a test and a [`Feature`], to the macro `$each`, after `($more)`.
#[macro_export]
macro_rules! ryke_rows {
    ($each:ident($($more:tt)*)) => {
        $each! { ($($more)*)
            without_nat_detection: WithoutNatDetection,
            psk: Psk("x25519"),
            psk_modp2048: Psk("modp2048"),
            named_gateway: NamedGateway,
            certificates: Certificates(2),
            long_chains: Certificates(4),
            mschapv2: Mschapv2(EcdsaP256),
            mschapv2_rsa: Mschapv2(Rsa2048),
            assigned_address: AssignedAddress,
            no_address: NoAddress,
            liveness_by_device: Liveness(Device),
            liveness_by_gateway: Liveness(Gateway),
            rekey_child_by_device: Rekey(Child, Device),
            rekey_child_by_gateway: Rekey(Child, Gateway),
            rekey_ike_by_device: Rekey(Ike, Device),
            rekey_ike_by_gateway: Rekey(Ike, Gateway),
            delete_by_device: Delete(Device),
            delete_by_gateway: Delete(Gateway),
            cookie: Cookie,
            other_group: OtherGroup,
            wrong_secret: WrongSecret,
            wrong_password: WrongPassword,
            wrong_certificate: WrongCertificate,
            no_common_suite: NoCommonSuite,
            nat: Nat,
            eap_5g: Eap5g,
            aggressive_mode: AggressiveMode,
        }
    };
}

macro_rules! as_constant {
    (() $($name:ident: $feature:ident $(($($part:expr),*))?,)*) => { {
        use KeyKind::{EcdsaP256, Rsa2048};
        use Kind::{Child, Ike};
        use Role::{Device, Gateway};
        &[$(Feature::$feature $(($($part),*))?),*]
    } };
}

/// Two tests for each row; each calls `$run` with a direction and its feature.
#[macro_export]
macro_rules! ryke_tests {
    (($direction:expr, $run:expr) $($name:ident: $feature:ident $(($($part:expr),*))?,)*) => { $(
        #[test]
        fn $name() {
            #[allow(unused_imports, reason = "some rows do not use them")]
            use $crate::{
                KeyKind::{EcdsaP256, Rsa2048}, ikev2::Kind::{Child, Ike}, pair::Role::{Device, Gateway},
            };
            ($run)($direction, $crate::ryke::Feature::$feature $(($($part),*))?);
        }
    )* };
}

/// Each request of ryke-peer has a socket of its own.
const NEW_PORT: Outcome =
    Outcome::PassedWith("ryke sends each request from a new port, and keytoll answers to that port");
const NO_IKE_REKEY: Outcome =
    Outcome::NotOffered("ryke has no function for a request with new keys of the IKE SA");

impl Feature {
    /// All rows.
    pub const ALL: &[Self] = ryke_rows!(as_constant());

    /// The known outcome.
    pub const fn outcome(self, direction: Direction) -> Outcome {
        match direction {
            Direction::KeytollDevice => self.with_keytoll_device(),
            Direction::RykeDevice => self.with_ryke_device(),
        }
    }

    const fn with_keytoll_device(self) -> Outcome {
        match self {
            Self::NamedGateway => Outcome::Failed {
                words: "refused: peer authentication (AUTH payload) failed",
                why: "ryke 0.3.0 takes the IDr of a request for the IDi, so that AUTH does not fit",
            },
            Self::AggressiveMode => Outcome::Failed {
                words: "refused: declared length",
                why: "`ryke::ikev1::Server` reads the third message, which is encrypted, as one in the clear",
            },
            Self::Mschapv2(KeyKind::Rsa2048) => {
                Outcome::NotOffered("ryke has no function that reads an RSA key")
            }
            Self::NoAddress => Outcome::NotOffered("a gateway by ryke assigns an address or wants none"),
            Self::Rekey(Kind::Ike, Role::Gateway) => NO_IKE_REKEY,
            Self::Liveness(Role::Gateway) | Self::Rekey(_, Role::Gateway) | Self::Delete(Role::Gateway) => {
                NEW_PORT
            }
            _ => Outcome::Passed,
        }
    }

    const fn with_ryke_device(self) -> Outcome {
        match self {
            Self::NamedGateway => Outcome::NotOffered("ryke's client sends no IDr"),
            Self::AssignedAddress => Outcome::NotOffered("ryke's client asks for no address"),
            Self::Rekey(Kind::Ike, Role::Device) => NO_IKE_REKEY,
            Self::Cookie => Outcome::Failed {
                words: "required SA payload is missing",
                why: "ryke's client does not repeat IKE_SA_INIT with a cookie",
            },
            Self::OtherGroup => Outcome::Failed {
                words: "required SA payload is missing",
                why: "ryke's client does not repeat IKE_SA_INIT with another group",
            },
            Self::Eap5g => Outcome::NotOffered("keytoll has no EAP-5G"),
            Self::AggressiveMode => Outcome::PassedWith(
                "both SAs are there and ryke's ESP arrives; keytoll cannot answer, for ESP is not in UDP without NAT detection",
            ),
            Self::Mschapv2(_) => Outcome::PassedWith(
                "ryke-peer repeats the IDr of the first response in the last one, where ryke's client looks for it; RFC 7296 §2.16 does not \
                 have it there",
            ),
            Self::Liveness(Role::Device) | Self::Rekey(_, Role::Device) | Self::Delete(Role::Device) => {
                NEW_PORT
            }
            _ => Outcome::Passed,
        }
    }

    /// Tries it.
    pub fn run(self, direction: Direction, lab: &Lab, program: &str) -> Result<(), Trouble> {
        match direction {
            Direction::KeytollDevice => gateway::Stage { lab, program }.run(self),
            Direction::RykeDevice => device::Stage { lab, program }.run(self),
        }
    }
}

/// Networks on both sides, and a shared key.
const fn plain() -> Terms {
    Terms { inner: Inner::Subnet, ..Terms::psk(IKE, ESP) }
}

/// The same with keytoll as the side that soon gives up.
const fn quick() -> Terms {
    Terms { keytoll: "retransmit_first = \"200 ms\"\nretransmit_tries = 3", ..plain() }
}

/// Networks on both sides, and EAP-MSCHAPv2.
fn with_eap(password: &'static str) -> Terms {
    let login = Login { password, ..Login::new(Method::plain("mschapv2")) };
    Terms { ike: IKE, esp: ESP, inner: Inner::Subnet, ..Terms::eap(login) }
}

/// IKEv1, with keytoll as the side that soon gives up.
const fn aggressive() -> Terms {
    let keytoll = quick().keytoll;
    Terms { keytoll, ..Terms::v1(IkeVersion::V1Aggressive, Auth::Psk, "aes256-sha256-modp2048", ESP) }
}

/// Certificates and networks on both sides.
const fn certified() -> Terms {
    Terms { inner: Inner::Subnet, ..Terms::certificate(IKE, ESP) }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeytollDevice => "keytoll → ryke",
            Self::RykeDevice => "ryke → keytoll",
        })
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WithoutNatDetection => f.write_str(
                "PSK, `ryke::Client` and `ryke::Server`: no NAT_DETECTION, IKE at port 500, five echoes",
            ),
            Self::Psk(group) => write!(f, "PSK, aes256gcm16-prfsha256-{group}, port 4500, five echoes"),
            Self::NamedGateway => f.write_str("PSK, the device names the gateway (IDr)"),
            Self::Certificates(2) => f.write_str("certificates, ECDSA P-256, five echoes"),
            Self::Certificates(length) => {
                write!(f, "certificates, ECDSA P-256, chains of {length}, without fragmentation, five echoes")
            }
            Self::Mschapv2(kind) => {
                write!(f, "EAP-MSCHAPv2, gateway with a certificate of {}, five echoes", shown(*kind))
            }
            Self::AssignedAddress => f.write_str("the gateway assigns an address"),
            Self::NoAddress => {
                f.write_str("a device that asks for no address of a pool is refused (FAILED_CP_REQUIRED)")
            }
            Self::Liveness(by) => write!(f, "liveness check by the {by}"),
            Self::Rekey(kind, by) => {
                let sa = if *kind == Kind::Ike { "IKE SA" } else { "CHILD SA" };
                write!(f, "rekey of the {sa} by the {by}, then five echoes")
            }
            Self::Delete(by) => write!(f, "delete by the {by}"),
            Self::Cookie => f.write_str("the gateway demands a cookie"),
            Self::OtherGroup => f.write_str("the gateway wants another group (INVALID_KE_PAYLOAD)"),
            Self::WrongSecret => f.write_str("a wrong shared key is refused"),
            Self::WrongPassword => f.write_str("EAP-MSCHAPv2, a wrong password is refused"),
            Self::WrongCertificate => f.write_str("a certificate of another authority is refused"),
            Self::NoCommonSuite => f.write_str("no common suite is refused"),
            Self::Nat => f.write_str("the device behind a NAT that changes ports, five echoes"),
            Self::AggressiveMode => {
                f.write_str("IKEv1 aggressive mode, PSK, aes256-sha256-modp2048, ESP aes256gcm16")
            }
            Self::Eap5g => f.write_str("the gateway asks for EAP-5G: the device ends, and names the method"),
        }
    }
}
