//! The hosts: engines wired together by plain code, the same in the simulator and on real sockets.
//!
//! ```text
//!   Device:   Echo --> no SA? --> ike::Endpoint.Initiate --> ChildUp --> esp --> echo reply
//!   Gateway:                      ike::Endpoint (responder) ---------> esp --> answers echoes
//!   both:     traffic::Station: pings, datagrams or bulk data through the SA, or outside it
//!                                      '--EAP--> radius::Client --> Aaa: radius::Server --> eap::Server
//!                                                                                '--diameter::Client --> Hss
//! ```
//!
//! A host is itself a [`keytoll_engine::Engine`]: its driver passes it datagrams, orders and ticks. All hosts take the same
//! [`Order`]s and report the same [`Event`]s, so that a driver of a [`Host`] need not know its protocols.

pub mod aaa;
mod accounting;
mod authenticator;
pub mod callers;
pub mod described;
pub mod device;
mod eap;
mod eap_in_ike;
pub mod event;
pub mod gateway;
mod host;
pub mod hss;
mod hss_client;
pub mod icmp;
mod ike;
pub mod ip;
pub mod ipsec;
pub mod keepalive;
pub mod set_up;
pub mod subscribers;
mod supplicant;
pub mod traffic;
pub mod tunnels;
pub mod user_plane;

pub use aaa::{Aaa, AaaConfig};
pub use authenticator::{AaaAccess, Authenticator, Wanted};
pub use device::{Device, DeviceConfig, DeviceSetup, Person};
pub use eap::{Carrier, Conversation, Eap};
pub use event::{Child, Event, SessionId};
pub use gateway::{Gateway, GatewayConfig};
pub use host::{Host, Order};
pub use hss::{Hss, HssConfig};
pub use hss_client::HssClient;
pub use ipsec::SaLimits;
pub use keytoll_esp::selector::Selector;
pub use subscribers::{HssAccess, Subscribers};
pub use supplicant::{EapCredentials, EapIdentity, Supplicant};
