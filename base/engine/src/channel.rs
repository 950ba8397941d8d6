//! The security layer of a stream, between the socket and the messages: TLS, for one. The driver that carries streams does not
//! know which it is; whoever configures the sockets passes a [`Secure`].

use std::error::Error;
use std::fmt;

use crate::Ctx;

/// Why a stream cannot be secured, or can no longer be trusted.
pub type Broken = Box<dyn Error + Send + Sync>;

/// Secures streams: makes one [`Channel`] per stream.
pub trait Secure: fmt::Debug + Send + Sync {
    /// Makes the channel of one more stream.
    ///
    /// # Errors
    /// The channel cannot be set up, e.g. for lack of a usable certificate.
    fn channel(&self, cx: &mut Ctx<'_>) -> Result<Box<dyn Channel>, Broken>;
}

/// Secures one stream. Output may be ready after every call, also after one that failed: an alert tells the peer why.
pub trait Channel: fmt::Debug + Send {
    /// Takes received bytes and appends the plaintext that they carry.
    ///
    /// # Errors
    /// The stream can no longer be trusted: the handshake failed or a record is forged.
    fn unseal(&mut self, sealed: &[u8], clear: &mut Vec<u8>, cx: &mut Ctx<'_>) -> Result<(), Broken>;

    /// Seals a message. Only allowed once the peer is authenticated.
    ///
    /// # Errors
    /// The message cannot be sent.
    fn seal(&mut self, clear: &[u8], cx: &mut Ctx<'_>) -> Result<(), Broken>;

    /// Announces that nothing more follows.
    fn close(&mut self, cx: &mut Ctx<'_>);

    /// Takes the bytes to send.
    fn take_output(&mut self) -> Vec<u8>;

    /// The names that the peer has proved; `None` before it is authenticated.
    fn proved(&self) -> Option<&[String]>;

    /// Checks the peer's credentials again: they may have expired or been revoked.
    ///
    /// # Errors
    /// The credentials are no longer valid.
    fn judge(&mut self, cx: &mut Ctx<'_>) -> Result<(), Broken>;
}
