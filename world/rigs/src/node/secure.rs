//! TLS around Diameter and RADIUS of a node: from the files of a plan to a channel per stream. Read RFC 6733 §13.1 and
//! RFC 6614 §2.3 first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keytoll_crypto_api::credentials::{AlternativeName, PeerCertificate};
use keytoll_crypto_api::{Rng, Seed};
use keytoll_engine::Ctx;
use keytoll_engine::channel::{Broken, Channel, Secure};
use keytoll_pki::{Purpose, describe};
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::{PeerTlsPlan, Placed};
use keytoll_tls::{Client, Config, ConfigError, Failure, NameCheck, Server, Session};

use super::trusts::Drawn;
use super::{eap, files};

/// The longest input of a session at a time.
const PIECE_BYTES: usize = 16 << 10;

/// One side's settings, without randomness.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    side: Side,
    peer_names: Arc<[String]>,
}

/// Whoever calls is the client.
#[derive(Debug, Clone)]
enum Side {
    Client(Client),
    Server(Server),
}

/// The client's settings; `name` is its own name.
pub(super) fn client(
    plan: &Placed<PeerTlsPlan>,
    name: &str,
    trusts: &Drawn,
) -> Result<Settings, ScenarioError> {
    own_name(&plan.value, name)?;
    unnamed_client(plan, trusts)
}

/// The settings of a client that has no name of its own to prove.
pub(super) fn unnamed_client(plan: &Placed<PeerTlsPlan>, trusts: &Drawn) -> Result<Settings, ScenarioError> {
    let made = Client::new(&config(&plan.value, Purpose::TlsServer, trusts)?);
    settings(plan, made.map(Side::Client))
}

/// The server's settings; `name` is its own name.
pub(super) fn server(
    plan: &Placed<PeerTlsPlan>,
    name: &str,
    trusts: &Drawn,
) -> Result<Settings, ScenarioError> {
    own_name(&plan.value, name)?;
    let made = Server::new(&config(&plan.value, Purpose::TlsClient, trusts)?);
    settings(plan, made.map(Side::Server))
}

fn settings(plan: &Placed<PeerTlsPlan>, side: Result<Side, ConfigError>) -> Result<Settings, ScenarioError> {
    let side = side
        .map_err(|error| plan.error(format!("TLS cannot be spoken like this: {error}"), "these settings"))?;
    Ok(Settings { side, peer_names: plan.value.peer_names.clone().into() })
}

/// Refuses a certificate of ours that does not prove this name.
fn own_name(plan: &PeerTlsPlan, name: &str) -> Result<(), ScenarioError> {
    let credential = files::credential(&plan.credential)?;
    let own = credential.chain.first().and_then(|leaf| describe(leaf).ok());
    if own.is_none_or(|own| proved(&own, &[name.to_owned()]).is_empty()) {
        let shown = plan.credential.certificate.value.display();
        let message = format!("the certificate in {shown} does not prove that this node is `{name}`");
        let label = "no such name of a host in it";
        let error = plan.credential.certificate.error(message, label);
        return Err(
            error.hint("what `name` says must be a dNSName of the certificate, or no peer believes it")
        );
    }
    Ok(())
}

// RFC 6733 §13.1, RFC 6614 §2.3: both sides authenticate with certificates.
fn config(plan: &PeerTlsPlan, of_peer: Purpose, trusts: &Drawn) -> Result<Config, ScenarioError> {
    let trust = trusts.trust(&plan.roots, of_peer)?;
    let peer_names: Arc<[String]> = plan.peer_names.clone().into();
    let expected: Arc<NameCheck> = Arc::new(move |peer| !proved(peer, &peer_names).is_empty());
    let (oldest, newest) = eap::versions(plan.versions);
    Ok(Config {
        credential: Some(files::credential(&plan.credential)?),
        trust: Some(trust),
        name: Some(expected),
        oldest,
        newest,
        ..Config::new()
    })
}

/// The names that a certificate contains. RFC 4343 §3: names are case-insensitive.
fn proved(peer: &PeerCertificate, names: &[String]) -> Vec<String> {
    let is_there = |name: &&String| {
        peer.alternatives.iter().any(|alternative| {
            matches!(alternative, AlternativeName::Dns(proved) if proved.eq_ignore_ascii_case(name))
        })
    };
    names.iter().filter(is_there).cloned().collect()
}

impl Settings {
    /// With randomness: a stream for each channel, named `{name}/…`.
    pub(super) fn with_seed(&self, seed: &Seed, name: &str) -> Arc<dyn Secure> {
        let (settings, seed, name) = (self.clone(), seed.clone(), name.to_owned());
        Arc::new(Tls { settings, seed, name, count: AtomicU64::new(0) })
    }
}

/// Makes channels, each with random numbers of its own.
#[derive(Debug)]
struct Tls {
    settings: Settings,
    seed: Seed,
    name: String,
    count: AtomicU64,
}

impl Secure for Tls {
    fn channel(&self, cx: &mut Ctx<'_>) -> Result<Box<dyn Channel>, Broken> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let mut rng = self.seed.stream(&format!("{}/{number}", self.name));
        let session = match &self.settings.side {
            Side::Client(client) => Session::client(client, cx, &mut rng),
            Side::Server(server) => Session::server(server, cx, &mut rng),
        };
        let peer_names = Arc::clone(&self.settings.peer_names);
        Ok(Box::new(TlsChannel { session: session.map_err(named)?, rng, peer_names, proved: None }))
    }
}

/// The name in tables and logs.
fn named(failure: Failure) -> Broken {
    failure.name().into()
}

/// TLS of one stream.
struct TlsChannel {
    session: Session,
    rng: Rng,
    peer_names: Arc<[String]>,
    proved: Option<Vec<String>>,
}

impl std::fmt::Debug for TlsChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsChannel").field("proved", &self.proved).finish_non_exhaustive()
    }
}

impl Channel for TlsChannel {
    fn unseal(&mut self, sealed: &[u8], clear: &mut Vec<u8>, cx: &mut Ctx<'_>) -> Result<(), Broken> {
        self.session.feed(sealed, cx, &mut self.rng).map_err(named)?;
        if self.proved.is_none() && !self.session.is_handshaking() {
            let peer = self.session.peer().ok_or_else(|| named(Failure::NoCertificate))?;
            self.proved = Some(proved(peer, &self.peer_names));
        }
        clear.extend(self.session.take_received());
        Ok(())
    }

    fn seal(&mut self, clear: &[u8], cx: &mut Ctx<'_>) -> Result<(), Broken> {
        for piece in clear.chunks(PIECE_BYTES) {
            self.session.send(piece, cx, &mut self.rng).map_err(named)?;
        }
        Ok(())
    }

    fn close(&mut self, cx: &mut Ctx<'_>) {
        self.session.close(cx, &mut self.rng);
    }

    fn take_output(&mut self) -> Vec<u8> {
        self.session.take_output()
    }

    fn proved(&self) -> Option<&[String]> {
        self.proved.as_deref()
    }

    fn judge(&mut self, cx: &mut Ctx<'_>) -> Result<(), Broken> {
        self.session.judge(cx).map_err(named)
    }
}
