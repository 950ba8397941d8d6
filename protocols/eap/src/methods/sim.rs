//! EAP-SIM (RFC 4186): authentication of a GSM card with two or three triplets. Read RFC 4186 §3 first.
//!
//! ```text
//!   server                                  peer
//!     SIM/Start: versions             -->
//!                                    <--      NONCE_MT, version
//!     SIM/Challenge: RANDs, MAC       -->
//!                                    <--      MAC over the SRESs
//! ```
//!
//! [`crate::simaka`] has what the three methods of this family share.

use std::sync::Arc;

use super::Method;
use crate::packet::MethodType;
use crate::simaka::book::Book;
use crate::simaka::flavour::Flavour;
use crate::simaka::offer::{PeerSide, ServerSide};
use crate::simaka::peer::{self, SharedCard};
use crate::simaka::server;
use crate::{PeerOffer, ServerOffer};

impl MethodType {
    /// RFC 4186.
    pub const SIM: Self = Self(18);
}

/// EAP-SIM with a card.
pub static METHOD: Method = Method {
    name: "sim",
    kind: MethodType::SIM,
    title: "SIM",
    has_tls: false,
    card: Some(Flavour::Sim),
    inside: None,
    peer: |_, parts| parts.card().map(|(card, settings)| peer(card, settings)),
    server: |parts, _| parts.cards().map(|(settings, book)| server(settings, book)),
};

/// The peer's side of it, with a card.
pub fn peer(card: SharedCard, settings: peer::Settings) -> Arc<dyn PeerOffer> {
    Arc::new(PeerSide { flavour: Flavour::Sim, settings: Arc::new(settings), card })
}

/// The server's side of it; its conversations share the state in `book`.
pub fn server(settings: server::Settings, book: Book) -> Arc<dyn ServerOffer> {
    Arc::new(ServerSide { flavour: Flavour::Sim, settings: Arc::new(settings), book })
}
