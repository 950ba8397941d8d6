//! What EAP-TLS, EAP-TTLS and PEAP share: TLS messages in fragments, and the inner conversation once the tunnel is established.
//! Read RFC 5216 §2 and §3, RFC 9190 §2 first.
//!
//! ```text
//!   EAP data --Carrier--> TLS messages --Tunnel--> application data --Inner--> the method's processing
//! ```
//!
//! TLS itself comes through the trait [`Tunnels`], because protocol crates do not depend on each other: `keytoll-tls`
//! implements it, the host connects them.

pub mod avp;
pub mod binding;
mod carrier;
pub mod extensions;
mod inner;
mod peer;
mod server;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::Ctx;
use zeroize::Zeroizing;

use crate::method::{Keys, Reason, Turn};
use crate::packet::MethodType;

pub use carrier::Framing;
pub(crate) use carrier::{Carrier, Received};
pub(crate) use inner::{InnerPeer, InnerStep};
pub(crate) use peer::PeerSide;
pub(crate) use server::ServerSide;

/// Starts TLS conversations with one side's settings.
pub trait Tunnels: Send + Sync {
    /// A new conversation; a client's first message is in its output.
    ///
    /// # Errors
    /// TLS cannot be started with these settings.
    fn begin(&self, cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<Box<dyn Tunnel>, Reason>;

    /// Drops all resumable sessions.
    fn forget(&self);
}

/// One TLS conversation over buffers.
pub trait Tunnel: Send {
    /// Processes bytes of the other side. After a failure the output may contain an alert.
    ///
    /// # Errors
    /// The handshake failed, or a record is invalid.
    fn feed(&mut self, bytes: &[u8], cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<(), Reason>;

    /// Encrypts application data into the output.
    ///
    /// # Errors
    /// The data cannot be sent.
    fn send(&mut self, data: &[u8], cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<(), Reason>;

    /// Takes the records to send.
    fn take_output(&mut self) -> Vec<u8>;

    /// Takes the received application data.
    fn take_received(&mut self) -> Vec<u8>;

    /// Whether the handshake has succeeded.
    fn is_established(&self) -> bool;

    /// Whether the version is TLS 1.3.
    fn is_tls13(&self) -> bool;

    /// Whether it resumes an earlier session, so that no certificates were exchanged.
    fn is_resumed(&self) -> bool;

    /// The identity in the other side's verified certificate; `None` without a certificate, or for one without a name.
    fn certified(&self) -> Option<&[u8]>;

    /// The identity of the earlier session that this one resumes.
    fn vouched(&self) -> Option<&[u8]>;

    /// Marks both sides as authenticated, the peer as `identity`: later conversations may resume this session.
    fn vouch(&mut self, identity: &[u8]);

    /// RFC 5705 §4: `len` bytes of keying material.
    fn export(
        &mut self,
        label: &str,
        context: Option<&[u8]>,
        len: usize,
        cx: &mut Ctx<'_>,
    ) -> Result<Secret, Reason>;

    /// client_random and server_random, once both hellos were exchanged.
    fn randoms(&self) -> Option<[u8; 64]>;
}

/// The part of a method inside the tunnel.
pub(crate) trait Inner: Send {
    /// The handshake is over.
    fn on_established(&mut self, tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act;

    /// Application data arrived.
    fn on_data(&mut self, data: &[u8], tunnel: &mut dyn Tunnel, turn: &mut Turn<'_, '_>) -> Act;

    /// The other side has completed its message without data.
    fn on_acknowledgement(&mut self, _tunnel: &mut dyn Tunnel, _turn: &mut Turn<'_, '_>) -> Act {
        Act::only(Then::Wait)
    }

    /// The peer's reason for failure if a Success arrives too early inside an established tunnel.
    fn lacks(&self, _tunnel: &dyn Tunnel) -> Reason {
        Reason::EARLY_SUCCESS
    }

    /// The identity authenticated inside, if there is one.
    fn identity(&self) -> Option<&[u8]> {
        None
    }

    /// The user name of the peer's password attempt, right or wrong.
    fn tried(&self) -> Option<&[u8]> {
        None
    }
}

/// The next step inside the tunnel.
pub(crate) struct Act {
    /// Application data to send first, passwords among them; may be empty.
    send: Zeroizing<Vec<u8>>,
    /// And then.
    then: Then,
}

impl Act {
    /// Sends this first.
    pub(crate) fn send(data: Vec<u8>, then: Then) -> Self {
        Self { send: Zeroizing::new(data), then }
    }

    /// Sends nothing.
    pub(crate) fn only(then: Then) -> Self {
        Self::send(vec![], then)
    }
}

/// What follows after everything was sent.
#[derive(Debug, Default)]
pub(crate) enum Then {
    /// The other side's turn.
    #[default]
    Wait,
    /// This side is satisfied.
    Done(Keys),
    /// This side is not.
    Failed(Reason),
}

/// The result of a key derivation.
pub(crate) fn done(keys: Result<Keys, Reason>) -> Then {
    keys.map_or_else(Then::Failed, Then::Done)
}

/// RFC 5216 §2.3 for TLS 1.2, with the method's own label; RFC 9190 §2.3 for TLS 1.3.
pub(crate) fn keys(
    tunnel: &mut dyn Tunnel,
    kind: MethodType,
    label_tls12: &str,
    cx: &mut Ctx<'_>,
) -> Result<Keys, Reason> {
    let context = [kind.0];
    let (material, name) = if tunnel.is_tls13() {
        let material = tunnel.export("EXPORTER_EAP_TLS_Key_Material", Some(&context), 128, cx)?;
        (material, tunnel.export("EXPORTER_EAP_TLS_Method-Id", Some(&context), 64, cx)?.to_vec())
    } else {
        let randoms = tunnel.randoms().ok_or(Reason("EAP-TLS hello not seen"))?;
        (tunnel.export(label_tls12, None, 128, cx)?, randoms.to_vec())
    };
    let (msk, emsk) = material.split_at(64);
    Ok(Keys {
        msk: Some(Secret::from(msk)),
        emsk: Some(Secret::from(emsk)),
        session_id: [&context[..], &name].concat(),
    })
}

/// The tunnel with its inner conversation.
pub(crate) struct Conversation<I> {
    tunnel: Box<dyn Tunnel>,
    inner: I,
    was_established: bool,
}

impl<I: Inner> Conversation<I> {
    pub(crate) fn new(tunnel: Box<dyn Tunnel>, inner: I) -> Self {
        Self { tunnel, inner, was_established: false }
    }

    /// Processes a message; returns the records to send, and what follows when they are sent.
    pub(crate) fn take(&mut self, message: &[u8], turn: &mut Turn<'_, '_>) -> (Vec<u8>, Then) {
        let then = self.react(message, turn).unwrap_or_else(Then::Failed);
        (self.tunnel.take_output(), then)
    }

    /// Both sides are authenticated, and the peer is let in; `outside` is its name if it has none inside.
    // RFC 5216 §2.1.2: only successful sessions are resumed later, so that the inner authentication cannot be skipped.
    pub(crate) fn vouch(&mut self, outside: &[u8]) {
        let identity = self.identity().unwrap_or(outside).to_vec();
        self.tunnel.vouch(&identity);
    }

    fn react(&mut self, message: &[u8], turn: &mut Turn<'_, '_>) -> Result<Then, Reason> {
        self.tunnel.feed(message, turn.cx, turn.rng)?;
        if !self.tunnel.is_established() {
            return Ok(Then::Wait);
        }
        let mut then = Then::Wait;
        if !self.was_established {
            self.was_established = true;
            let act = self.inner.on_established(&mut *self.tunnel, turn);
            then = self.follow(act, turn)?;
        } else if message.is_empty() {
            let act = self.inner.on_acknowledgement(&mut *self.tunnel, turn);
            return self.follow(act, turn);
        }
        let received = Zeroizing::new(self.tunnel.take_received());
        if received.is_empty() || !matches!(then, Then::Wait) {
            return Ok(then);
        }
        let act = self.inner.on_data(&received, &mut *self.tunnel, turn);
        self.follow(act, turn)
    }

    fn follow(&mut self, act: Act, turn: &mut Turn<'_, '_>) -> Result<Then, Reason> {
        if !act.send.is_empty() {
            self.tunnel.send(&act.send, turn.cx, turn.rng)?;
        }
        Ok(act.then)
    }

    /// The identity authenticated inside, or that of the resumed session.
    pub(crate) fn identity(&self) -> Option<&[u8]> {
        self.inner.identity().or_else(|| self.tunnel.vouched())
    }

    /// The user name of the peer's password attempt inside, right or wrong.
    pub(crate) fn tried(&self) -> Option<&[u8]> {
        self.inner.tried()
    }

    /// The peer's reason for failure if a Success arrives too early.
    pub(crate) fn lacks(&self) -> Reason {
        if self.was_established { self.inner.lacks(&*self.tunnel) } else { Reason::EARLY_SUCCESS }
    }

    /// The first records of a client.
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        self.tunnel.take_output()
    }
}
