//! Runs third-party daemons beside keytoll: three network namespaces joined by cables, Debian's strongSwan, FreeRADIUS,
//! hostapd, wpa_supplicant and eapol_test in some of them, and what it takes to look inside. Nothing of the host is touched; everything goes
//! away on drop.
//!
//! ```text
//!   namespace ue              namespace gw                          namespace aaa
//!   10.99.1.1 ---- veth ---- 10.99.1.2   10.99.2.2 ---- veth ---- 10.99.2.3
//!   inner 10.98.1.1          inner 10.98.2.1; virtual addresses 10.98.3.0/24
//! ```
//!
//! `world/daemons` writes their configurations, starts and stops them; here is what they are to be told, and what is to
//! come of it.
//!
//! The tests need root, namespaces and the packages of `interop/setup.sh`, and run when `KEYTOLL_INTEROP=1`.

#![allow(
    clippy::disallowed_methods,
    reason = "the harness waits for other programs, which takes real time; no engine is in here"
)]

pub mod chain;
pub mod charon;
pub mod dot1x;
pub mod eap;
mod eap_sides;
pub mod eapol_test;
pub mod esp;
pub mod freeradius;
pub mod freeradius_proxy;
pub mod hostapd;
pub mod hwsim;
pub mod ikev1;
pub mod ikev2;
pub mod lab;
pub mod libreswan;
pub mod node_file;
pub mod on_air;
pub mod pair;
pub mod peer;
pub mod pki;
pub mod proxy;
pub mod radsecproxy;
pub mod require;
pub mod results;
pub mod ryke;
pub mod strongswan_6;
pub mod swanctl;
pub mod verdict;

pub use keytoll_daemons::{run, status};

pub use charon::Charon;
pub use freeradius::FreeRadius;
pub use hostapd::Hostapd;
pub use lab::{Lab, Node};
pub use peer::Peer;
pub use pki::{KeyKind, Pki};
pub use require::{guest_or_skip, lab_or_skip, strongswan_6_or_skip};
pub use run::Trouble;
pub use swanctl::{Auth, Inner, Terms};
