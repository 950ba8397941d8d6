//! Foreign daemons: strongSwan's charon, libreswan's pluto, FreeRADIUS, hostapd and wpa_supplicant, started with generated configurations,
//! monitored, measured and stopped. The machine's own configuration is neither read nor changed.
//!
//! ```text
//!   Home: a private directory --+-- Place: a network namespace, or the machine itself
//!     '-- reaper                |      '-- cable() --- another Place
//!                               '-- Charon, Pluto, FreeRadius, Hostapd, WpaSupplicant: files there, one Process each
//! ```
//!
//! Every program is killed with the thread that started it (PR_SET_PDEATHSIG), and everything that a [`Home`] created is removed,
//! however we end: a reaper, a process of its own, waits for the end of a pipe that only we hold.
//!
//! strongSwan runs without systemd, and with its own ESP in user space (`kernel-libipsec`), so that packets pass through
//! real SAs independent of the kernel. Therefore ESP is always encapsulated in UDP port 4500 (RFC 3948), and the IKE peer
//! has to change to that port (RFC 7296 §2.23).

#![allow(
    clippy::disallowed_methods,
    reason = "this crate waits for other programs, which takes real time; no engine is in here"
)]

pub mod aaa;
pub mod charon;
mod files;
pub mod freeradius;
pub mod home;
pub mod hostapd;
pub mod place;
pub mod pluto;
pub mod process;
pub mod program;
pub mod run;
pub mod status;
mod swanctl;
pub mod vici;
pub mod wpa_supplicant;

pub use charon::Charon;
pub use freeradius::FreeRadius;
pub use home::Home;
pub use hostapd::Hostapd;
pub use place::Place;
pub use pluto::Pluto;
pub use process::{Process, Usage};
pub use program::Program;
pub use run::Trouble;
pub use wpa_supplicant::WpaSupplicant;
