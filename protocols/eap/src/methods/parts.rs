//! The parts from which the two sides of a method are made. The caller supplies those that the method needs.

use std::sync::Arc;

use keytoll_crypto_api::Secret;

use super::peap::Binding;
use crate::passwords::Passwords;
use crate::simaka::book::Book;
use crate::simaka::peer::{self, SharedCard};
use crate::simaka::server;
use crate::tunnel::{Framing, Tunnels};

/// The parts of a peer's side.
#[derive(Clone, Default)]
pub struct PeerParts {
    /// The user's name inside a tunnel.
    pub user: Vec<u8>,
    /// The password.
    pub password: Option<Secret>,
    /// The subscriber's card, and its settings.
    pub card: Option<(SharedCard, peer::Settings)>,
    /// TLS as client, with a certificate if the method needs one.
    pub tls: Option<TlsParts>,
}

/// The parts of a server's side.
#[derive(Clone, Default)]
pub struct ServerParts {
    /// The name that it sends.
    pub name: Vec<u8>,
    /// The users with passwords.
    pub passwords: Option<Arc<dyn Passwords>>,
    /// Settings for cards, and the state that is remembered of them.
    pub cards: Option<(server::Settings, Book)>,
    /// TLS as server, requesting a certificate if the method needs one.
    pub tls: Option<TlsParts>,
}

/// TLS of either side.
#[derive(Clone)]
pub struct TlsParts {
    /// Makes tunnels.
    pub tunnels: Arc<dyn Tunnels>,
    /// How long EAP packets are.
    pub framing: Framing,
    /// Whether PEAP uses Cryptobinding.
    pub binding: Binding,
}

/// A part that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the EAP method needs {0}")]
pub struct Lacks(pub &'static str);

impl PeerParts {
    pub(super) fn password(&self) -> Result<Secret, Lacks> {
        self.password.clone().ok_or(Lacks("a password"))
    }

    pub(super) fn card(&self) -> Result<(SharedCard, peer::Settings), Lacks> {
        self.card.clone().ok_or(Lacks("a card"))
    }

    pub(super) fn tls(&self) -> Result<TlsParts, Lacks> {
        self.tls.clone().ok_or(Lacks("TLS"))
    }
}

impl ServerParts {
    pub(super) fn passwords(&self) -> Result<Arc<dyn Passwords>, Lacks> {
        self.passwords.clone().ok_or(Lacks("users with passwords"))
    }

    pub(super) fn cards(&self) -> Result<(server::Settings, Book), Lacks> {
        self.cards.clone().ok_or(Lacks("subscribers with cards"))
    }

    pub(super) fn tls(&self) -> Result<TlsParts, Lacks> {
        self.tls.clone().ok_or(Lacks("TLS"))
    }
}
