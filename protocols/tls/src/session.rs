//! One TLS conversation over buffers. Read RFC 8446 §2 and §7.5, RFC 5705 §4, RFC 9190 §2.5 first.
//!
//! ```text
//!   handshaking --Finished--> established --close_notify--> closed
//!        '-------- any error --------------'--> failed (the alert for the other side is in the output)
//! ```

use std::io::{Read, Write};
use std::sync::Arc;

use keytoll_crypto_api::credentials::PeerCertificate;
use keytoll_crypto_api::{Rng, Secret};
use keytoll_engine::Ctx;
use rustls::{ClientConnection, Connection, HandshakeKind, ProtocolVersion, ServerConnection};

use crate::config::{Client, Server, Version};
use crate::failure::Failure;
use crate::hellos::{Beginning, Hellos};
use crate::lent::{self, Notes};
use crate::verifier::Verifier;

/// Maximum amount of received application data that is not taken yet; rustls limits everything else itself.
const RECEIVED_BYTES_MAX: usize = 64 << 10;

/// Maximum length of application data per call: half of what rustls buffers.
const SENT_BYTES_MAX: usize = 32 << 10;

/// RFC 9190 §2.5: one record with this byte promises that no more handshake messages follow.
const SUCCESS_INDICATION: [u8; 1] = [0];

/// A conversation.
pub struct Session {
    connection: Connection,
    verifier: Option<Arc<Verifier>>,
    notes: Notes,
    output: Vec<u8>,
    received: Vec<u8>,
    client_hello: Beginning,
    server_hello: Beginning,
    closed: bool,
    failed: Option<Failure>,
}

impl Session {
    /// Starts as client: the ClientHello is in the output.
    ///
    /// # Errors
    /// The TLS library refuses to start.
    pub fn client(client: &Client, cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<Self, Failure> {
        let (config, mut notes) = (Arc::clone(&client.config), Notes::default());
        let connection =
            lent::with(cx, Some(rng), &mut notes, || ClientConnection::new(config, Client::server_name()))?;
        let verifier = Some(Arc::clone(&client.verifier));
        let mut session = Self::new(connection.into(), verifier, notes);
        session.flush(cx, rng);
        Ok(session)
    }

    /// Waits as server.
    ///
    /// # Errors
    /// The TLS library refuses to start.
    pub fn server(server: &Server, cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<Self, Failure> {
        let (config, mut notes) = (Arc::clone(&server.config), Notes::default());
        let connection = lent::with(cx, Some(rng), &mut notes, || ServerConnection::new(config))?;
        Ok(Self::new(connection.into(), server.verifier.clone(), notes))
    }

    fn new(connection: Connection, verifier: Option<Arc<Verifier>>, notes: Notes) -> Self {
        Self {
            connection,
            verifier,
            notes,
            output: Vec::new(),
            received: Vec::new(),
            client_hello: Beginning::of_client(),
            server_hello: Beginning::of_server(),
            closed: false,
            failed: None,
        }
    }

    /// Processes bytes of the other side. After a failure every call fails in the same way; an alert for the other side may be in
    /// the output.
    ///
    /// # Errors
    /// The bytes are not TLS, or the handshake or a record is invalid.
    pub fn feed(&mut self, bytes: &[u8], cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<(), Failure> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        self.note_input(bytes);
        let result = self.process(bytes, cx, rng);
        self.flush(cx, rng);
        self.failed = result.err();
        result
    }

    fn process(&mut self, mut bytes: &[u8], cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<(), Failure> {
        while !bytes.is_empty() && !self.closed {
            // rustls refuses more only if a message exceeds its buffers.
            self.connection.read_tls(&mut bytes).map_err(|_| Failure::TooLong)?;
            let connection = &mut self.connection;
            let state = lent::with(cx, Some(rng), &mut self.notes, || connection.process_new_packets())?;
            self.closed = state.peer_has_closed();
            if state.plaintext_bytes_to_read() > 0 {
                self.collect(state.plaintext_bytes_to_read())?;
            }
        }
        Ok(())
    }

    /// Moves application data out of rustls.
    fn collect(&mut self, len: usize) -> Result<(), Failure> {
        let start = self.received.len();
        if start + len > RECEIVED_BYTES_MAX {
            return Err(Failure::TooLong);
        }
        self.received.resize(start + len, 0);
        let read = self.connection.reader().read_exact(&mut self.received[start..]);
        read.expect("rustls has said how much there is");
        Ok(())
    }

    /// Moves records out of rustls.
    fn flush(&mut self, cx: &mut Ctx<'_>, rng: &mut Rng) {
        let (connection, start) = (&mut self.connection, self.output.len());
        let output = &mut self.output;
        lent::with(cx, Some(rng), &mut self.notes, || {
            while connection.wants_write() {
                connection.write_tls(output).expect("a vector takes everything");
            }
        });
        let ours = match self.connection {
            Connection::Client(_) => &mut self.client_hello,
            Connection::Server(_) => &mut self.server_hello,
        };
        ours.push(&self.output[start..]);
    }

    fn note_input(&mut self, bytes: &[u8]) {
        match self.connection {
            Connection::Client(_) => self.server_hello.push(bytes),
            Connection::Server(_) => self.client_hello.push(bytes),
        }
    }

    /// Takes the records to send; empty if there are none.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Takes the received application data; empty if there is none.
    pub fn take_received(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.received)
    }

    /// Encrypts application data into the output.
    ///
    /// # Errors
    /// The handshake is not complete or has failed, or the data are too long.
    pub fn send(&mut self, data: &[u8], cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<(), Failure> {
        // Before the handshake is complete rustls would buffer the data, without limit.
        if self.is_handshaking() || self.failed.is_some() {
            return Err(Failure::NotNow);
        }
        if data.len() > SENT_BYTES_MAX {
            return Err(Failure::TooLong);
        }
        let connection = &mut self.connection;
        lent::with(cx, Some(rng), &mut self.notes, || connection.writer().write_all(data))
            .map_err(|_| Failure::TooLong)?;
        self.flush(cx, rng);
        Ok(())
    }

    /// RFC 9190 §2.5: as server of TLS 1.3, promises that no more handshake messages follow.
    ///
    /// # Errors
    /// The handshake is not complete or has failed.
    pub fn indicate_success(&mut self, cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<(), Failure> {
        self.send(&SUCCESS_INDICATION, cx, rng)
    }

    /// RFC 9190 §2.5: takes the promise, if nothing else has arrived.
    pub fn take_success_indication(&mut self) -> bool {
        let indicated = self.received == SUCCESS_INDICATION;
        if indicated {
            self.received.clear();
        }
        indicated
    }

    /// Ends the conversation: close_notify is in the output.
    pub fn close(&mut self, cx: &mut Ctx<'_>, rng: &mut Rng) {
        let connection = &mut self.connection;
        lent::with(cx, Some(rng), &mut self.notes, || connection.send_close_notify());
        self.flush(cx, rng);
    }

    /// Whether the handshake is not complete yet; true for ever if it failed.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether the other side sent close_notify.
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether this session resumes an earlier one, without an exchange of certificates.
    pub fn is_resumed(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// Verifies the other side's certificate again: it may have expired or been revoked meanwhile.
    ///
    /// # Errors
    /// There is no certificate, or it is no longer valid.
    pub fn judge(&self, cx: &mut Ctx<'_>) -> Result<(), Failure> {
        let chain = self.connection.peer_certificates().ok_or(Failure::NoCertificate)?;
        let verifier = self.verifier.as_ref().ok_or(Failure::NoCertificate)?;
        Ok(verifier.judge(chain, cx)?)
    }

    /// Marks both sides as authenticated, the other one as `identity`: later sessions may resume this one.
    pub fn vouch(&mut self, identity: &[u8]) {
        // The first identity stays.
        let _ = self.notes.voucher.set(identity.into());
    }

    /// The identity of the earlier session that this one resumes.
    pub fn vouched(&self) -> Option<&[u8]> {
        let earlier = self.notes.earlier.as_ref().filter(|_| self.is_resumed())?;
        earlier.voucher.get().map(|identity| &**identity)
    }

    /// The version, once it is chosen.
    pub fn version(&self) -> Option<Version> {
        match self.connection.protocol_version()? {
            ProtocolVersion::TLSv1_2 => Some(Version::Tls12),
            ProtocolVersion::TLSv1_3 => Some(Version::Tls13),
            _ => None,
        }
    }

    /// The IANA number of the cipher suite, once it is chosen.
    pub fn suite(&self) -> Option<u16> {
        self.connection.negotiated_cipher_suite().map(|suite| suite.suite().into())
    }

    /// The other side's certificate, once its path is verified; `None` in a resumed session.
    pub fn peer(&self) -> Option<&PeerCertificate> {
        self.notes.peer.as_ref()
    }

    /// The random numbers of both hellos, once both were exchanged.
    pub fn hellos(&self) -> Option<Hellos> {
        Some(Hellos {
            client_random: self.client_hello.random()?,
            server_random: self.server_hello.random()?,
        })
    }

    /// RFC 5705 §4, RFC 8446 §7.5: `len` bytes of keying material, once the handshake is complete. TLS 1.2 does not distinguish
    /// an absent context from an empty one.
    ///
    /// # Errors
    /// The handshake is not complete, or TLS cannot export so many bytes.
    pub fn export(
        &mut self,
        label: &[u8],
        context: Option<&[u8]>,
        len: usize,
        cx: &mut Ctx<'_>,
    ) -> Result<Secret, Failure> {
        let connection = &self.connection;
        let material = lent::with(cx, None, &mut self.notes, || {
            connection.export_keying_material(vec![0; len], label, context)
        })?;
        Ok(Secret::new(material))
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the contents of its buffers, which may be passwords.
        f.debug_struct("Session")
            .field("version", &self.version())
            .field("closed", &self.closed)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}
