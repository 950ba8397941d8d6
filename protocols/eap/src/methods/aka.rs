//! EAP-AKA (RFC 4187): mutual authentication of a USIM and its network. Read RFC 4187 §3 first.
//!
//! ```text
//!   server                                  peer
//!     [AKA-Identity                   -->
//!                                    <--      identity]
//!     AKA-Challenge: RAND, AUTN, MAC  -->
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
    /// RFC 4187.
    pub const AKA: Self = Self(23);
}

/// EAP-AKA with a card.
pub static METHOD: Method = Method {
    name: "aka",
    kind: MethodType::AKA,
    title: "AKA",
    has_tls: false,
    card: Some(Flavour::Aka),
    inside: None,
    peer: |_, parts| parts.card().map(|(card, settings)| peer(card, settings)),
    server: |parts, _| parts.cards().map(|(settings, book)| server(settings, book)),
};

/// The peer's side of it, with a card.
pub fn peer(card: SharedCard, settings: peer::Settings) -> Arc<dyn PeerOffer> {
    Arc::new(PeerSide { flavour: Flavour::Aka, settings: Arc::new(settings), card })
}

/// The server's side of it; its conversations share the state in `book`.
pub fn server(settings: server::Settings, book: Book) -> Arc<dyn ServerOffer> {
    Arc::new(ServerSide { flavour: Flavour::Aka, settings: Arc::new(settings), book })
}
