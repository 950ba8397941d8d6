//! TLS for the EAP methods that need it: connects `keytoll-tls` to the trait of `keytoll-eap`, since protocol crates do not
//! depend on each other.

use std::sync::Arc;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_eap::Reason;
use keytoll_eap::tunnel::{Tunnel, Tunnels};
use keytoll_engine::Ctx;
use keytoll_tls::{Client, Config, ConfigError, Failure, Server, Session, Version};

/// TLS for an EAP peer.
///
/// # Errors
/// The certificates or versions cannot be used.
pub fn tls_client(config: &Config) -> Result<Arc<dyn Tunnels>, ConfigError> {
    Ok(Arc::new(ClientSide(Client::new(config)?)))
}

/// TLS for an EAP server.
///
/// # Errors
/// The certificates or versions cannot be used.
pub fn tls_server(config: &Config) -> Result<Arc<dyn Tunnels>, ConfigError> {
    Ok(Arc::new(ServerSide(Server::new(config)?)))
}

struct ClientSide(Client);

impl Tunnels for ClientSide {
    fn begin(&self, cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<Box<dyn Tunnel>, Reason> {
        Ok(Box::new(Wired(Session::client(&self.0, cx, rng).map_err(reason)?)))
    }

    fn forget(&self) {
        self.0.forget();
    }
}

struct ServerSide(Server);

impl Tunnels for ServerSide {
    fn begin(&self, cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<Box<dyn Tunnel>, Reason> {
        Ok(Box::new(Wired(Session::server(&self.0, cx, rng).map_err(reason)?)))
    }

    fn forget(&self) {
        self.0.forget();
    }
}

struct Wired(Session);

fn reason(failure: Failure) -> Reason {
    Reason(failure.name())
}

impl Tunnel for Wired {
    fn feed(&mut self, bytes: &[u8], cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<(), Reason> {
        self.0.feed(bytes, cx, rng).map_err(reason)
    }

    fn send(&mut self, data: &[u8], cx: &mut Ctx<'_>, rng: &mut Rng) -> Result<(), Reason> {
        self.0.send(data, cx, rng).map_err(reason)
    }

    fn take_output(&mut self) -> Vec<u8> {
        self.0.take_output()
    }

    fn take_received(&mut self) -> Vec<u8> {
        self.0.take_received()
    }

    fn is_established(&self) -> bool {
        !self.0.is_handshaking()
    }

    fn is_tls13(&self) -> bool {
        self.0.version() == Some(Version::Tls13)
    }

    fn is_resumed(&self) -> bool {
        self.0.is_resumed()
    }

    fn certified(&self) -> Option<&[u8]> {
        self.0.peer()?.holder().map(str::as_bytes)
    }

    fn vouched(&self) -> Option<&[u8]> {
        self.0.vouched()
    }

    fn vouch(&mut self, identity: &[u8]) {
        self.0.vouch(identity);
    }

    fn export(
        &mut self,
        label: &str,
        context: Option<&[u8]>,
        len: usize,
        cx: &mut Ctx<'_>,
    ) -> Result<Secret, Reason> {
        self.0.export(label.as_bytes(), context, len, cx).map_err(reason)
    }

    fn randoms(&self) -> Option<[u8; 64]> {
        let hellos = self.0.hellos()?;
        let mut both = [0; 64];
        both[..32].copy_from_slice(&hellos.client_random);
        both[32..].copy_from_slice(&hellos.server_random);
        Some(both)
    }
}
