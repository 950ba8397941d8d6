//! What the bytes of a stream pass on their way between socket and messages, if something secures them: TLS, for one. Whoever
//! carries streams does not know what that is; who opens their sockets says ([`Secure`]).

use std::error::Error;
use std::fmt;

use crate::Ctx;

/// Why a stream cannot be secured, or no longer.
pub type Broken = Box<dyn Error + Send + Sync>;

/// Secures streams, one channel each.
pub trait Secure: fmt::Debug + Send + Sync {
    /// For one more stream.
    ///
    /// # Errors
    /// What stands in the way.
    fn channel(&self, cx: &mut Ctx<'_>) -> Result<Box<dyn Channel>, Broken>;
}

/// Secures one stream. What it wants to send lies ready after every call, also after one that failed: the peer may be told
/// why.
pub trait Channel: fmt::Debug + Send {
    /// Takes bytes that came, and appends what they say.
    ///
    /// # Errors
    /// Why nothing more can be believed.
    fn unseal(&mut self, sealed: &[u8], clear: &mut Vec<u8>, cx: &mut Ctx<'_>) -> Result<(), Broken>;

    /// Seals a message; only when the peer is proved.
    ///
    /// # Errors
    /// Why it cannot be sent.
    fn seal(&mut self, clear: &[u8], cx: &mut Ctx<'_>) -> Result<(), Broken>;

    /// Says that nothing more follows.
    fn close(&mut self, cx: &mut Ctx<'_>);

    /// Takes the bytes that are to be sent.
    fn take_output(&mut self) -> Vec<u8>;

    /// The names that the peer has proved; none before.
    fn proved(&self) -> Option<&[String]>;

    /// Judges the peer's proof again: it may have expired, or been revoked.
    ///
    /// # Errors
    /// Why it counts no more.
    fn judge(&mut self, cx: &mut Ctx<'_>) -> Result<(), Broken>;
}
