//! Generic Token Card: sends the password itself, so it must only be used inside a tunnel. Read RFC 3748 §5.6 first.
//!
//! ```text
//!   server                            peer
//!     Request  a text to show  -->
//!                              <--      Response  the password
//! ```

use std::sync::Arc;

use keytoll_crypto_api::Secret;

use super::Method;
use crate::method::{
    Keys, PeerMethod, PeerOffer, PeerStep, Reason, ServerMethod, ServerOffer, ServerStep, Turn,
};
use crate::packet::{Message, MethodType};
use crate::passwords::Passwords;

impl MethodType {
    /// RFC 3748 §5.6.
    pub const GTC: Self = Self(6);
}

/// Generic Token Card, here with a static password.
pub static METHOD: Method = Method {
    name: "gtc",
    kind: MethodType::GTC,
    title: "GTC",
    has_tls: false,
    card: None,
    inside: None,
    peer: |_, parts| Ok(Arc::new(GtcPeer { password: parts.password()? })),
    server: |parts, _| {
        Ok(Arc::new(GtcServer { passwords: parts.passwords()?, prompt: b"Password:".to_vec() }))
    },
};

/// The peer's side of it.
#[derive(Debug, Clone)]
pub struct GtcPeer {
    /// The password.
    pub password: Secret,
}

/// The server's side of it.
#[derive(Clone)]
pub struct GtcServer {
    /// The users.
    pub passwords: Arc<dyn Passwords>,
    /// The prompt shown to the user.
    pub prompt: Vec<u8>,
}

impl PeerOffer for GtcPeer {
    fn method(&self) -> MethodType {
        MethodType::GTC
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        Box::new(self.clone())
    }
}

impl PeerMethod for GtcPeer {
    fn on_request(&mut self, _request: &Message<'_>, _turn: &mut Turn<'_, '_>) -> PeerStep {
        PeerStep::Satisfied(self.password.to_vec(), Keys::default())
    }
}

impl ServerOffer for GtcServer {
    fn method(&self) -> MethodType {
        MethodType::GTC
    }

    fn tries_password(&self) -> bool {
        true
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(self.clone())
    }
}

impl ServerMethod for GtcServer {
    fn begin(&mut self, _turn: &mut Turn<'_, '_>) -> ServerStep {
        ServerStep::Request(self.prompt.clone())
    }

    fn on_response(&mut self, response: &Message<'_>, turn: &mut Turn<'_, '_>) -> ServerStep {
        match self.passwords.password(turn.identity) {
            None => ServerStep::Failed(Reason::UNKNOWN_USER),
            Some(password) if password == Secret::from(response.data) => ServerStep::Done(Keys::default()),
            Some(_) => ServerStep::Failed(Reason::WRONG_PASSWORD),
        }
    }
}
