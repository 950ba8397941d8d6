//! The settings of TLS: credentials, trust, versions; converted once to what sessions share.

use std::fmt;
use std::sync::Arc;

use keytoll_crypto_api::algorithm::Group;
use keytoll_crypto_api::credentials::{Credential, PeerCertificate, Trust};
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::NoServerSessionStorage;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, ServerConfig, SupportedProtocolVersion, version};

use crate::key_log::LentKeys;
use crate::memory::{ClientMemory, ServerMemory};
use crate::provider::{LentTime, provider};
use crate::signature::Key;
use crate::verifier::Verifier;

/// Decides whether a certificate with a valid path belongs to the expected party.
pub type NameCheck = dyn Fn(&PeerCertificate) -> bool + Send + Sync;

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

/// The settings of one side.
#[derive(Clone)]
pub struct Config {
    /// Our certificate and key. A server must have one; a client without one sends an empty Certificate if asked.
    pub credential: Option<Credential>,
    /// The trust anchors for the other side. A client must have some; a server without any requests no certificate.
    pub trust: Option<Arc<dyn Trust>>,
    /// An additional check of the other side's names.
    pub name: Option<Arc<NameCheck>>,
    /// The oldest version.
    pub oldest: Version,
    /// The newest version.
    pub newest: Version,
    /// The groups for key agreement in order of preference: X25519, P-256, P-384, P-521. A client sends a share of the
    /// first. RFC 8422 §5.1: in TLS 1.2 they also limit the curves of ECDSA certificates.
    pub groups: Vec<Group>,
    /// Whether a session may resume an earlier one of the same [`Client`] or [`Server`] that was marked as authenticated
    /// ([`crate::Session::vouch`]), for at most a day and as long as its certificates are valid.
    pub resumption: bool,
}

impl Config {
    /// TLS 1.2 and 1.3 with all groups, without certificates, trust and resumption.
    pub fn new() -> Self {
        Self {
            credential: None,
            trust: None,
            name: None,
            oldest: Version::Tls12,
            newest: Version::Tls13,
            groups: vec![Group::X25519, Group::Ecp256, Group::Ecp384, Group::Ecp521],
            resumption: false,
        }
    }

    fn versions(&self) -> Result<Vec<&'static SupportedProtocolVersion>, ConfigError> {
        match (self.oldest, self.newest) {
            (Version::Tls12, Version::Tls12) => Ok(vec![&version::TLS12]),
            (Version::Tls12, Version::Tls13) => Ok(vec![&version::TLS13, &version::TLS12]),
            (Version::Tls13, Version::Tls13) => Ok(vec![&version::TLS13]),
            (Version::Tls13, Version::Tls12) => Err(ConfigError::NoVersion),
        }
    }

    fn verifier(&self) -> Option<Arc<Verifier>> {
        let trust = self.trust.clone()?;
        Some(Arc::new(Verifier { trust, name: self.name.clone() }))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("credential", &self.credential)
            .field("oldest", &self.oldest)
            .field("newest", &self.newest)
            .field("groups", &self.groups)
            .field("resumption", &self.resumption)
            .finish_non_exhaustive()
    }
}

/// Contradictory settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The oldest version is newer than the newest.
    #[error("no version of TLS is left")]
    NoVersion,
    /// None of the groups is one of TLS.
    #[error("no group for key agreement is left: x25519, ecp256, ecp384 and ecp521 can be used")]
    NoGroup,
    /// A client without trust.
    #[error("a TLS client needs trust anchors")]
    NoTrust,
    /// A server without certificate.
    #[error("a TLS server needs a certificate")]
    NoCredential,
}

/// What all sessions of one client share.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) verifier: Arc<Verifier>,
    memory: Arc<ClientMemory>,
}

impl Client {
    /// Prepares a client.
    ///
    /// # Errors
    /// The settings leave no version, no group or no trust anchors.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let verifier = config.verifier().ok_or(ConfigError::NoTrust)?;
        let builder = ClientConfig::builder_with_details(provider(&config.groups), Arc::new(LentTime))
            .with_protocol_versions(&config.versions()?)
            .map_err(|_| ConfigError::NoGroup)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::<Verifier>::clone(&verifier));
        let mut client = match &config.credential {
            Some(credential) => builder.with_client_cert_resolver(Arc::new(resolver(credential))),
            None => builder.with_no_client_auth(),
        };
        // EAP has no server name to send.
        client.enable_sni = false;
        // RFC 9427 §2.1: without RFC 7627 keys of TLS 1.2 are not bound to the handshake, so a man in the middle could have the same
        // keys with both sides.
        client.require_ems = true;
        client.key_log = Arc::new(LentKeys);
        let memory = Arc::new(ClientMemory::new(Some(Arc::clone(&verifier))));
        client.resumption = match config.resumption {
            true => Resumption::store(Arc::<ClientMemory>::clone(&memory)),
            false => Resumption::disabled(),
        };
        Ok(Self { config: Arc::new(client), verifier, memory })
    }

    /// Drops all resumable sessions.
    pub fn forget(&self) {
        self.memory.forget();
    }

    /// The name under which rustls stores sessions; it is never sent.
    pub(crate) fn server_name() -> ServerName<'static> {
        ServerName::try_from("eap").expect("a word of three letters is a name")
    }
}

/// What all sessions of one server share.
#[derive(Debug, Clone)]
pub struct Server {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) verifier: Option<Arc<Verifier>>,
    memory: Arc<ServerMemory>,
}

impl Server {
    /// Prepares a server.
    ///
    /// # Errors
    /// The settings leave no version or no group, or there is no certificate.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let credential = config.credential.as_ref().ok_or(ConfigError::NoCredential)?;
        let builder = ServerConfig::builder_with_details(provider(&config.groups), Arc::new(LentTime))
            .with_protocol_versions(&config.versions()?)
            .map_err(|_| ConfigError::NoGroup)?;
        let verifier = config.verifier();
        let builder = match verifier.clone() {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        let mut server = builder.with_cert_resolver(Arc::new(resolver(credential)));
        // RFC 7627 §5.2: a server continues without it to support legacy clients, strongSwan 5.9 among them; our own clients require
        // it, so that a man in the middle cannot have their keys.
        server.require_ems = false;
        server.key_log = Arc::new(LentKeys);
        server.send_tls13_tickets = usize::from(config.resumption);
        let memory = Arc::new(ServerMemory::new(verifier.clone()));
        server.session_storage = match config.resumption {
            true => Arc::<ServerMemory>::clone(&memory),
            false => Arc::new(NoServerSessionStorage {}),
        };
        Ok(Self { config: Arc::new(server), verifier, memory })
    }

    /// Drops all resumable sessions.
    pub fn forget(&self) {
        self.memory.forget();
    }
}

fn resolver(credential: &Credential) -> SingleCertAndKey {
    let chain = credential.chain.iter().map(|der| CertificateDer::from(der.clone())).collect();
    SingleCertAndKey::from(CertifiedKey::new(chain, Arc::new(Key(credential.key.clone()))))
}
