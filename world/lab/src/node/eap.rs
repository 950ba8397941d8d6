//! EAP of devices and AAA servers: one entry a method on each side.

use std::collections::BTreeMap;
use std::sync::Arc;

use keytoll_eap::methods::gtc::{GtcPeer, GtcServer};
use keytoll_eap::methods::md5::{Md5Peer, Md5Server};
use keytoll_eap::methods::mschapv2::{MschapV2Peer, MschapV2Server};
use keytoll_eap::methods::peap::{Binding, PeapPeer, PeapServer};
use keytoll_eap::methods::tls::{TlsPeer, TlsServer};
use keytoll_eap::methods::ttls::{TtlsInside, TtlsPeer, TtlsServer};
use keytoll_eap::methods::{aka, aka_prime, sim};
use keytoll_eap::simaka::book::{Book, Limits as BookLimits};
use keytoll_eap::simaka::flavour::Flavour;
use keytoll_eap::simaka::peer::{Settings as Wallet, SharedCard};
use keytoll_eap::simaka::server::Settings;
use keytoll_eap::tunnel::{Framing, Tunnels};
use keytoll_eap::{Limits, Passwords, PeerConfig, PeerOffer, ServerConfig, ServerOffer};
use keytoll_engine::credentials::AlternativeName;
use keytoll_engine::crypto::Secret;
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_hosts::{EapCredentials, EapIdentity};
use keytoll_pki::Purpose;
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::{AaaPlan, Cryptobinding, EapMethod, EapPlan, Placed, TlsPlan};
use keytoll_scenario::plan::TlsVersion;
use keytoll_tls::{Config, NameCheck, Version};

use super::trusts::Drawn;
use super::{files, subscribers};

/// How a device proves itself.
pub(super) fn peer(plan: &EapPlan, trusts: &Drawn) -> Result<EapCredentials, ScenarioError> {
    let device = Device {
        plan,
        trusts,
        user: plan
            .user
            .as_ref()
            .or(plan.identity.as_ref())
            .map(|user| user.clone().into_bytes())
            .unwrap_or_default(),
        card: plan.card.as_ref().map(subscribers::card).transpose()?,
    };
    let methods = plan.methods.iter().map(|method| device.offer(*method)).collect::<Result<_, _>>()?;
    let config = Arc::new(PeerConfig { methods, limits: Limits::default() });
    Ok(EapCredentials { config, identity: device.identity() })
}

/// What the methods of a device are made of.
struct Device<'a> {
    plan: &'a EapPlan,
    trusts: &'a Drawn,
    user: Vec<u8>,
    card: Option<SharedCard>,
}

impl Device<'_> {
    fn identity(&self) -> EapIdentity {
        let flavour = self.plan.methods.iter().find_map(|method| flavour(*method));
        match (&self.plan.identity, &self.card, flavour) {
            (None, Some(card), Some(flavour)) => EapIdentity::Card(card.clone(), flavour),
            (identity, ..) => EapIdentity::Fixed(identity.clone().unwrap_or_default().into_bytes()),
        }
    }

    fn offer(&self, method: EapMethod) -> Result<Arc<dyn PeerOffer>, ScenarioError> {
        Ok(match method {
            EapMethod::Md5 => Arc::new(Md5Peer { password: self.password() }),
            EapMethod::MschapV2 => Arc::new(MschapV2Peer { name: None, password: self.password() }),
            EapMethod::Gtc => Arc::new(GtcPeer { password: self.password() }),
            EapMethod::Sim => sim::peer(self.card(), self.wallet()),
            EapMethod::Aka => aka::peer(self.card(), self.wallet()),
            EapMethod::AkaPrime => aka_prime::peer(self.card(), self.wallet()),
            EapMethod::Tls => {
                let (tunnels, framing) = self.tunnels(true)?;
                Arc::new(TlsPeer { tunnels, framing })
            }
            EapMethod::TtlsPap => self.ttls(TtlsInside::Pap(self.password()))?,
            EapMethod::TtlsMschapV2 => self.ttls(TtlsInside::MschapV2(self.password()))?,
            EapMethod::TtlsMd5 => self.ttls(TtlsInside::Eap(self.offer(EapMethod::Md5)?))?,
            EapMethod::TtlsEapMschapV2 => self.ttls(TtlsInside::Eap(self.offer(EapMethod::MschapV2)?))?,
            EapMethod::PeapMschapV2 => {
                let (tunnels, framing) = self.tunnels(false)?;
                let (user, inside) = (self.user.clone(), self.offer(EapMethod::MschapV2)?);
                Arc::new(PeapPeer { tunnels, framing, user, inside, binding: binding(self.tls()) })
            }
        })
    }

    fn ttls(&self, inside: TtlsInside) -> Result<Arc<dyn PeerOffer>, ScenarioError> {
        let (tunnels, framing) = self.tunnels(false)?;
        Ok(Arc::new(TtlsPeer { tunnels, framing, user: self.user.clone(), inside }))
    }

    fn password(&self) -> Secret {
        self.plan.password.clone().expect("the reader wants a password for this method")
    }

    fn card(&self) -> SharedCard {
        self.card.clone().expect("the reader wants a card for this method")
    }

    fn wallet(&self) -> Wallet {
        let network = self.plan.card.as_ref().and_then(|card| card.access_network.clone());
        let can_prime = prefers_prime(&self.plan.methods);
        Wallet { network: network.map(String::into_bytes), can_prime, ..Wallet::default() }
    }

    fn tls(&self) -> &TlsPlan {
        of_tls(self.plan.tls.as_ref())
    }

    /// The device shows its certificate only where that is its proof.
    fn tunnels(&self, mutual: bool) -> Result<(Arc<dyn Tunnels>, Framing), ScenarioError> {
        let plan = self.tls();
        let expected = plan.server_name.clone().expect("the reader wants the server's name");
        // RFC 5216 §5.2: a trusted certificate that names another server is somebody else's.
        let name: Arc<NameCheck> =
            Arc::new(move |peer| peer.alternatives.contains(&AlternativeName::Dns(expected.clone())));
        let credential = plan.credential.as_ref().filter(|_| mutual).map(files::credential).transpose()?;
        let trust = plan.roots.as_ref();
        let trust = trust.map(|roots| self.trusts.trust(roots, Purpose::TlsServer)).transpose()?;
        let config = Config { credential, trust, name: Some(name), ..common(plan) };
        let placed = self.plan.tls.as_ref().expect("the reader wants `[tls]` for this method");
        Ok((usable(tls_client(&config), placed)?, framing(plan)))
    }
}

/// What an AAA server proposes, in order.
pub(super) fn server(plan: &AaaPlan, trusts: &Drawn) -> Result<Arc<ServerConfig>, ScenarioError> {
    let users = plan.users.iter().map(|(name, password)| (name.clone().into_bytes(), password.clone()));
    let users: Arc<dyn Passwords> = Arc::new(users.collect::<BTreeMap<_, _>>());
    let server = Proposer { plan, trusts, users, name: plan.name.clone().into_bytes() };
    let mut methods = Vec::new();
    for (index, method) in plan.methods.iter().enumerate() {
        // One type of EAP is proposed once: TTLS takes whatever the device does inside.
        if !(is_ttls(*method) && plan.methods[..index].iter().any(|earlier| is_ttls(*earlier))) {
            methods.push(server.offer(*method)?);
        }
    }
    Ok(of_methods(methods))
}

/// What the methods of an AAA server are made of.
struct Proposer<'a> {
    plan: &'a AaaPlan,
    trusts: &'a Drawn,
    users: Arc<dyn Passwords>,
    name: Vec<u8>,
}

impl Proposer<'_> {
    fn offer(&self, method: EapMethod) -> Result<Arc<dyn ServerOffer>, ScenarioError> {
        let (passwords, name) = (Arc::clone(&self.users), self.name.clone());
        Ok(match method {
            EapMethod::Md5 => Arc::new(Md5Server { passwords, name }),
            EapMethod::MschapV2 => Arc::new(MschapV2Server { passwords, name, retries: 0 }),
            EapMethod::Gtc => Arc::new(GtcServer { passwords, prompt: b"Password:".to_vec() }),
            EapMethod::Sim => sim::server(self.settings(), book()),
            EapMethod::Aka => aka::server(self.settings(), book()),
            EapMethod::AkaPrime => aka_prime::server(self.settings(), book()),
            EapMethod::Tls => {
                let (tunnels, framing) = self.tunnels(true)?;
                Arc::new(TlsServer { tunnels, framing })
            }
            EapMethod::TtlsPap
            | EapMethod::TtlsMschapV2
            | EapMethod::TtlsMd5
            | EapMethod::TtlsEapMschapV2 => {
                let (tunnels, framing) = self.tunnels(false)?;
                Arc::new(TtlsServer { tunnels, framing, passwords, eap: self.inside_ttls()? })
            }
            EapMethod::PeapMschapV2 => {
                let (tunnels, framing) = self.tunnels(false)?;
                let inside = of_methods(vec![self.offer(EapMethod::MschapV2)?]);
                Arc::new(PeapServer { tunnels, framing, inside, binding: binding(self.tls()) })
            }
        })
    }

    /// EAP inside TTLS: what the plan lists, in its order, or MSCHAPv2.
    fn inside_ttls(&self) -> Result<Arc<ServerConfig>, ScenarioError> {
        let inside = self.plan.methods.iter().filter_map(|method| match method {
            EapMethod::TtlsMd5 => Some(EapMethod::Md5),
            EapMethod::TtlsEapMschapV2 => Some(EapMethod::MschapV2),
            _ => None,
        });
        let mut inside = inside.collect::<Vec<_>>();
        if inside.is_empty() {
            inside.push(EapMethod::MschapV2);
        }
        inside.into_iter().map(|method| self.offer(method)).collect::<Result<_, _>>().map(of_methods)
    }

    fn settings(&self) -> Settings {
        Settings {
            challenges: self.plan.triplets.into(),
            pseudonyms: self.plan.pseudonyms,
            reauthentications_max: self.plan.fast_reauth,
            network: self.plan.access_network.clone().into_bytes(),
            prefers_prime: prefers_prime(&self.plan.methods),
            ..Settings::default()
        }
    }

    fn tls(&self) -> &TlsPlan {
        of_tls(self.plan.tls.as_ref())
    }

    /// The server asks for a certificate only where that is the device's proof.
    fn tunnels(&self, mutual: bool) -> Result<(Arc<dyn Tunnels>, Framing), ScenarioError> {
        let plan = self.tls();
        let credential = plan.credential.as_ref().map(files::credential).transpose()?;
        let trust = plan.roots.as_ref().filter(|_| mutual);
        let trust = trust.map(|roots| self.trusts.trust(roots, Purpose::TlsClient)).transpose()?;
        let config = Config { credential, trust, ..common(plan) };
        let placed = self.plan.tls.as_ref().expect("the reader wants `[tls]` for this method");
        Ok((usable(tls_server(&config), placed)?, framing(plan)))
    }
}

fn of_methods(methods: Vec<Arc<dyn ServerOffer>>) -> Arc<ServerConfig> {
    Arc::new(ServerConfig { methods, limits: Limits::default() })
}

fn of_tls(plan: Option<&Placed<TlsPlan>>) -> &TlsPlan {
    &plan.expect("the reader wants `[tls]` for this method").value
}

const fn is_ttls(method: EapMethod) -> bool {
    method.has_tunnel() && !matches!(method, EapMethod::PeapMschapV2)
}

// RFC 9048 §4: a server says in EAP-AKA that it would rather run EAP-AKA′, and a device that would, too, knows then that
// somebody has taken it away from both.
/// Whether EAP-AKA′ stands before EAP-AKA in the order of preference.
fn prefers_prime(methods: &[EapMethod]) -> bool {
    let first = methods.iter().find(|method| matches!(method, EapMethod::Aka | EapMethod::AkaPrime));
    first == Some(&EapMethod::AkaPrime)
}

const fn flavour(method: EapMethod) -> Option<Flavour> {
    match method {
        EapMethod::Sim => Some(Flavour::Sim),
        EapMethod::Aka => Some(Flavour::Aka),
        EapMethod::AkaPrime => Some(Flavour::AkaPrime),
        _ => None,
    }
}

fn book() -> Book {
    Book::new(BookLimits::default())
}

const fn binding(plan: &TlsPlan) -> Binding {
    match plan.cryptobinding {
        Cryptobinding::Off => Binding::Off,
        Cryptobinding::Optional => Binding::Optional,
        Cryptobinding::Required => Binding::Required,
    }
}

/// What both sides have in common.
fn common(plan: &TlsPlan) -> Config {
    let (oldest, newest) = versions(plan.versions);
    Config { oldest, newest, resumption: plan.resumption, ..Config::new() }
}

/// From and to.
pub(super) fn versions((oldest, newest): (TlsVersion, TlsVersion)) -> (Version, Version) {
    let version = |version| match version {
        TlsVersion::Tls12 => Version::Tls12,
        TlsVersion::Tls13 => Version::Tls13,
    };
    (version(oldest), version(newest))
}

fn framing(plan: &TlsPlan) -> Framing {
    Framing { packet_bytes_max: plan.fragment_bytes.into() }
}

fn usable(
    made: Result<Arc<dyn Tunnels>, keytoll_tls::ConfigError>,
    plan: &Placed<TlsPlan>,
) -> Result<Arc<dyn Tunnels>, ScenarioError> {
    made.map_err(|error| plan.error(format!("TLS cannot be spoken like this: {error}"), "these settings"))
}
