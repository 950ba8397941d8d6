//! EAP-AKA′ (RFC 9048): EAP-AKA with keys bound to the access network's name, and SHA-256. Read RFC 9048 §3 first.
//!
//! ```text
//!   server                                  peer
//!     [AKA-Identity                   -->
//!                                    <--      identity]
//!     AKA-Challenge: RAND, AUTN, KDF, network's name, MAC  -->
//!                                    <--      RES, MAC
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
    /// RFC 9048.
    pub const AKA_PRIME: Self = Self(50);
}

/// EAP-AKA′ with a card.
pub static METHOD: Method = Method {
    name: "aka-prime",
    kind: MethodType::AKA_PRIME,
    title: "AKA'",
    has_tls: false,
    card: Some(Flavour::AkaPrime),
    inside: None,
    peer: |_, parts| parts.card().map(|(card, settings)| peer(card, settings)),
    server: |parts, _| parts.cards().map(|(settings, book)| server(settings, book)),
};

/// The peer's side of it, with a card.
pub fn peer(card: SharedCard, settings: peer::Settings) -> Arc<dyn PeerOffer> {
    Arc::new(PeerSide { flavour: Flavour::AkaPrime, settings: Arc::new(settings), card })
}

/// The server's side of it; its conversations share the state in `book`.
pub fn server(settings: server::Settings, book: Book) -> Arc<dyn ServerOffer> {
    Arc::new(ServerSide { flavour: Flavour::AkaPrime, settings: Arc::new(settings), book })
}
