//! IKE, the Internet Key Exchange: RFC 7296 (IKEv2) with RFC 7383 (fragmentation) and RFC 7427 (signatures), and
//! RFC 2407–2409 (IKEv1).
//!
//! * [`number`]: the IANA registries, and the algorithms behind their numbers; [`names`]: names of messages in traces.
//! * [`wire`]: messages and payloads, read into borrowed views and written into one buffer.
//! * [`config`], [`event`]: configuration, commands and events of an endpoint of either version.
//! * [`Endpoint`]: both versions behind one port, for hosts.
//! * [`v2`] is IKEv2,
//!   [`v1`] IKEv1 with its own messages.

mod certificates;
pub mod config;
mod endpoint;
pub mod event;
pub mod family;
mod half_open;
mod lent;
pub mod names;
mod nat;
pub mod number;
mod peers;
mod peers_spis;
mod phase;
mod refused;
mod reveal;
mod role;
mod route;
mod spis;
mod unproved;
pub mod v1;
pub mod v2;
pub mod wire;

pub use config::{Config, Mode};
pub use endpoint::{Endpoint, Setup, Standing};
pub use event::{ChildSa, Command, Eap, Event, Reason, SaId};
pub use names::IKE;
pub use refused::{Acceptable, Offered, RefusedProposal};
pub use unproved::{Likely, Unproved};
