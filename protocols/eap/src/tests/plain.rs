//! A tunnel without encryption, so that tests can read and write its contents.
//!
//! ```text
//!   full, TLS 1.2            full TLS 1.3, or resumed
//!   c -> s  H                c -> s  H
//!   s -> c  S                s -> c  S
//!   c -> s  C                c -> s  C
//!   s -> c  F                then data, unencrypted
//! ```

use std::sync::Arc;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::Ctx;

use crate::Reason;
use crate::tunnel::{Tunnel, Tunnels};

/// What kind of tunnel both sides have.
#[derive(Debug, Clone, Default)]
pub(super) struct Plain {
    pub(super) is_tls13: bool,
    /// The identity of the original conversation, if it is resumed.
    pub(super) vouched: Option<&'static str>,
    /// The input of the keys: tunnels that differ here have different keys.
    pub(super) secret: u8,
}

impl Plain {
    pub(super) fn client(&self) -> Arc<dyn Tunnels> {
        Arc::new(Side { kind: self.clone(), hello: b"H" })
    }

    pub(super) fn server(&self) -> Arc<dyn Tunnels> {
        Arc::new(Side { kind: self.clone(), hello: b"" })
    }

    /// Whether the server sends the last message of the handshake.
    fn ends_with_server(&self) -> bool {
        !self.is_tls13 && self.vouched.is_none()
    }
}

struct Side {
    kind: Plain,
    hello: &'static [u8],
}

impl Tunnels for Side {
    fn begin(&self, _cx: &mut Ctx<'_>, _rng: &mut Rng) -> Result<Box<dyn Tunnel>, Reason> {
        let output = self.hello.to_vec();
        Ok(Box::new(Running { kind: self.kind.clone(), established: false, output, received: vec![] }))
    }

    fn forget(&self) {}
}

struct Running {
    kind: Plain,
    established: bool,
    output: Vec<u8>,
    received: Vec<u8>,
}

impl Tunnel for Running {
    fn feed(&mut self, bytes: &[u8], _cx: &mut Ctx<'_>, _rng: &mut Rng) -> Result<(), Reason> {
        if self.established {
            self.received.extend_from_slice(bytes);
            return Ok(());
        }
        let late = self.kind.ends_with_server();
        let (answer, established): (&[u8], bool) = match bytes {
            b"H" => (b"S", false),
            b"S" => (b"C", !late),
            b"C" if late => (b"F", true),
            b"C" | b"F" => (b"", true),
            _ => return Err(Reason("no handshake")),
        };
        (self.output, self.established) = (answer.to_vec(), established);
        Ok(())
    }

    fn send(&mut self, data: &[u8], _cx: &mut Ctx<'_>, _rng: &mut Rng) -> Result<(), Reason> {
        self.output.extend_from_slice(data);
        Ok(())
    }

    fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    fn take_received(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.received)
    }

    fn is_established(&self) -> bool {
        self.established
    }

    fn is_tls13(&self) -> bool {
        self.kind.is_tls13
    }

    fn is_resumed(&self) -> bool {
        self.kind.vouched.is_some()
    }

    fn certified(&self) -> Option<&[u8]> {
        None
    }

    fn vouched(&self) -> Option<&[u8]> {
        self.kind.vouched.map(str::as_bytes)
    }

    fn vouch(&mut self, _identity: &[u8]) {}

    fn export(
        &mut self,
        label: &str,
        context: Option<&[u8]>,
        len: usize,
        _cx: &mut Ctx<'_>,
    ) -> Result<Secret, Reason> {
        let name = context.unwrap_or_default().len() + label.len();
        Ok(Secret::new((0..len).map(|at| (at + name) as u8 ^ self.kind.secret).collect()))
    }

    fn randoms(&self) -> Option<[u8; 64]> {
        Some([self.kind.secret; 64])
    }
}
