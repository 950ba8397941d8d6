//! Authentication of packets: RFC 2865 §3 (Response Authenticator), RFC 2866 §3 (accounting), RFC 3579 §3.2
//! (Message-Authenticator).

use keytoll_crypto_api::algorithm::{Hash, Prf};
use keytoll_crypto_api::{Crypto, Secret};

use crate::wire::{Authenticator, Packet};

/// The authenticator of a request while the authenticator of an Accounting-Request is computed.
pub(crate) const ZERO: Authenticator = [0; 16];

/// Why a packet is not authentic; a wrong secret on either side looks the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Forged {
    /// The Response Authenticator, or the authenticator of an Accounting-Request.
    #[error("wrong authenticator")]
    Authenticator,
    /// The Message-Authenticator is invalid.
    #[error("wrong Message-Authenticator")]
    MessageAuthenticator,
    /// There is no Message-Authenticator.
    #[error("no Message-Authenticator")]
    Missing,
}

impl Forged {
    /// The reason of the discard in traces.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Authenticator => "wrong authenticator",
            Self::MessageAuthenticator => "wrong Message-Authenticator",
            Self::Missing => "no Message-Authenticator",
        }
    }
}

impl Packet<'_> {
    /// Checks an Access-Request.
    ///
    /// # Errors
    /// The Message-Authenticator is missing or invalid.
    pub fn verify_request(&self, secret: &Secret, crypto: &mut dyn Crypto) -> Result<(), Forged> {
        self.verify_message(&self.authenticator, secret, crypto)
    }

    /// Checks a response to an Access-Request that had the authenticator `request`.
    ///
    /// # Errors
    /// The Message-Authenticator is missing or invalid, or the Response Authenticator is invalid.
    pub fn verify_response(
        &self,
        request: &Authenticator,
        secret: &Secret,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Forged> {
        self.verify_digest(request, secret, crypto)?;
        self.verify_message(request, secret, crypto)
    }

    /// Checks an Accounting-Request.
    ///
    /// # Errors
    /// The Request Authenticator is invalid.
    pub fn verify_accounting_request(&self, secret: &Secret, crypto: &mut dyn Crypto) -> Result<(), Forged> {
        self.verify_digest(&ZERO, secret, crypto)
    }

    /// Checks an Accounting-Response, which needs no Message-Authenticator, because it grants nothing.
    ///
    /// # Errors
    /// The Response Authenticator is invalid.
    pub fn verify_accounting_response(
        &self,
        request: &Authenticator,
        secret: &Secret,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Forged> {
        self.verify_digest(request, secret, crypto)
    }

    fn verify_digest(
        &self,
        request: &Authenticator,
        secret: &Secret,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Forged> {
        let expected = response(self.bytes(), request, secret, crypto);
        same(&expected, &self.authenticator).then_some(()).ok_or(Forged::Authenticator)
    }

    fn verify_message(
        &self,
        request: &Authenticator,
        secret: &Secret,
        crypto: &mut dyn Crypto,
    ) -> Result<(), Forged> {
        let at = self.message_authenticator().ok_or(Forged::Missing)?;
        let expected = message_under(request, self.bytes(), at, secret, crypto);
        same(&expected, &self.bytes()[at..at + 16]).then_some(()).ok_or(Forged::MessageAuthenticator)
    }
}

/// RFC 2865 §3: MD5(Code+ID+Length+RequestAuth+Attributes+Secret).
pub(crate) fn response(
    packet: &[u8],
    request: &Authenticator,
    secret: &Secret,
    crypto: &mut dyn Crypto,
) -> Authenticator {
    let (head, attributes) = (&packet[..4], &packet[Packet::HEADER_LEN..]);
    let digest = crypto.hash(Hash::Md5, &[head, request, attributes, secret]);
    digest[..].try_into().expect("MD5 has 16 bytes")
}

/// The Message-Authenticator whose value is at `at`, for a packet that holds the request's authenticator.
pub(crate) fn message(packet: &[u8], at: usize, secret: &Secret, crypto: &mut dyn Crypto) -> Authenticator {
    message_under(&of(packet), packet, at, secret, crypto)
}

/// RFC 3579 §3.2: HMAC-MD5(Type, Identifier, Length, Request Authenticator, Attributes), itself counted as zeros.
fn message_under(
    request: &Authenticator,
    packet: &[u8],
    at: usize,
    secret: &Secret,
    crypto: &mut dyn Crypto,
) -> Authenticator {
    let (head, before) = (&packet[..4], &packet[Packet::HEADER_LEN..at]);
    let parts = [head, request, before, &ZERO, &packet[at + 16..]];
    let digest = crypto.prf(Prf::HmacMd5, secret, &parts);
    digest[..].try_into().expect("HMAC-MD5 has 16 bytes")
}

/// The authenticator of a packet that was just written.
pub(crate) fn of(packet: &[u8]) -> Authenticator {
    packet[4..Packet::HEADER_LEN].try_into().expect("16 bytes of header")
}

/// Compares in constant time.
fn same(expected: &[u8], found: &[u8]) -> bool {
    Secret::from(expected) == Secret::from(found)
}
