//! The hosts: engines wired together by plain code, the same in the simulator and on real sockets.
//!
//! ```text
//!   Device:   Echo --> no SA? --> ike::Endpoint.Initiate --> ChildUp --> esp --> echo reply
//!   Gateway:                      ike::Endpoint (responder) ---------> esp --> answers echoes
//! ```
//!
//! A host is an [`keytoll_engine::Engine`] itself: whoever drives one hands it datagrams, commands and ticks.

pub mod device;
pub mod gateway;
mod host;
pub mod icmp;
pub mod ip;
mod ipsec;

pub use device::{Device, DeviceConfig};
pub use gateway::{Gateway, GatewayConfig};
pub use host::{Command, Event, Host};
