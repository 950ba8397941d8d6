//! The configuration that all AAA servers share.

use std::net::IpAddr;
use std::path::PathBuf;

/// A RADIUS client, and its shared secret.
#[derive(Clone)]
pub struct Client {
    /// Its address.
    pub address: IpAddr,
    /// The shared secret.
    pub secret: String,
}

/// TLS inside EAP.
#[derive(Debug, Clone)]
pub struct Tls {
    /// The server's certificate with the intermediate ones, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
    /// The trust anchor of the device's certificate, PEM.
    pub root: PathBuf,
    /// TLS 1.3 (RFC 9190), otherwise 1.2.
    pub is_1_3: bool,
    /// The longest EAP packet.
    pub fragment_bytes: u16,
    /// Whether sessions may be resumed.
    pub resumption: bool,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The methods of a server in its own syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Methods {
    /// The method that it proposes first.
    pub proposed: &'static str,
    /// The methods that the user may use.
    pub allowed: &'static str,
    /// The method that it proposes inside a tunnel.
    pub inside: &'static str,
}
