//! EAP of devices and AAA servers: the parts of their methods, from a node file.

use std::collections::BTreeMap;
use std::sync::Arc;

use keytoll_crypto_api::credentials::{AlternativeName, Credential};
use keytoll_eap::methods::peap::Binding;
use keytoll_eap::methods::{Method, PeerParts, Proposal, ServerParts, TlsParts, prefers_prime};
use keytoll_eap::simaka::book::{Book, Limits as BookLimits};
use keytoll_eap::simaka::peer::{Settings as Wallet, SharedCard};
use keytoll_eap::simaka::server::Settings;
use keytoll_eap::tunnel::{Framing, Tunnels};
use keytoll_eap::{Limits, Passwords, PeerConfig, PeerOffer, ServerConfig, ServerOffer};
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_hosts::{EapCredentials, EapIdentity};
use keytoll_pki::Purpose;
use keytoll_scenario::ScenarioError;
use keytoll_scenario::catalogue::EapMethod;
use keytoll_scenario::catalogue::eap::Proof;
use keytoll_scenario::node::{AaaPlan, Cryptobinding, EapPlan, Placed, TlsPlan};
use keytoll_scenario::plan::TlsVersion;
use keytoll_tls::{Config, NameCheck, Version};

use super::trusts::Drawn;
use super::{files, subscribers};
use crate::eap::method;

/// The credentials of a device.
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
    let methods = plan.methods.iter().map(|eap| device.offer(eap)).collect::<Result<_, _>>()?;
    let config = Arc::new(PeerConfig { methods, limits: Limits::default() });
    Ok(EapCredentials { config, identity: device.identity() })
}

/// The parts of a device's methods.
struct Device<'a> {
    plan: &'a EapPlan,
    trusts: &'a Drawn,
    user: Vec<u8>,
    card: Option<SharedCard>,
}

impl Device<'_> {
    fn identity(&self) -> EapIdentity {
        let flavour = self.plan.methods.iter().find_map(|eap| method(eap).card);
        match (&self.plan.identity, &self.card, flavour) {
            (None, Some(card), Some(flavour)) => EapIdentity::Card(card.clone(), flavour),
            (identity, ..) => EapIdentity::Fixed(identity.clone().unwrap_or_default().into_bytes()),
        }
    }

    fn offer(&self, eap: &EapMethod) -> Result<Arc<dyn PeerOffer>, ScenarioError> {
        let parts = PeerParts {
            user: self.user.clone(),
            password: self.plan.password.clone(),
            card: self.card.clone().map(|card| (card, self.wallet())),
            tls: eap.has_tls.then(|| self.tunnels(eap)).transpose()?,
        };
        Ok(method(eap).peer(&parts).expect(EVERY_PART))
    }

    fn wallet(&self) -> Wallet {
        let network = self.plan.card.as_ref().and_then(|card| card.access_network.clone());
        let can_prime = prefers_prime(&all(&self.plan.methods));
        Wallet { network: network.map(String::into_bytes), can_prime, ..Wallet::default() }
    }

    fn tunnels(&self, eap: &EapMethod) -> Result<TlsParts, ScenarioError> {
        let placed = self.plan.tls.as_ref().expect("the reader wants `[tls]` for this method");
        client_tls(placed, eap, None, self.trusts)
    }
}

/// TLS of a device, with a certificate of its own in place of the plan's if there is one. It has a certificate only where the
/// method authenticates it by one.
pub(super) fn client_tls(
    placed: &Placed<TlsPlan>,
    eap: &EapMethod,
    own: Option<Credential>,
    trusts: &Drawn,
) -> Result<TlsParts, ScenarioError> {
    let plan = &placed.value;
    let expected = plan.server_name.clone().expect("the reader wants the server's name");
    // RFC 5216 §5.2: a trusted certificate of another server must be refused.
    let name: Arc<NameCheck> =
        Arc::new(move |peer| peer.alternatives.contains(&AlternativeName::Dns(expected.clone())));
    let credential = match own {
        Some(own) => Some(own),
        None => plan.credential.as_ref().filter(|_| is_mutual(eap)).map(files::credential).transpose()?,
    };
    let trust = plan.roots.as_ref();
    let trust = trust.map(|roots| trusts.trust(roots, Purpose::TlsServer)).transpose()?;
    let config = Config { credential, trust, name: Some(name), ..common(plan) };
    Ok(parts(usable(tls_client(&config), placed)?, plan))
}

/// The methods that an AAA server proposes, in order.
pub(super) fn server(plan: &AaaPlan, trusts: &Drawn) -> Result<Arc<ServerConfig>, ScenarioError> {
    let users = plan.users.iter().map(|(name, password)| (name.clone().into_bytes(), password.clone()));
    let users: Arc<dyn Passwords> = Arc::new(users.collect::<BTreeMap<_, _>>());
    let server = Proposer { plan, trusts, users, name: plan.name.clone().into_bytes() };
    let proposals = Proposal::all(&all(&plan.methods));
    let methods = proposals.iter().map(|proposal| server.offer(proposal)).collect::<Result<_, _>>()?;
    Ok(Arc::new(ServerConfig { methods, limits: Limits::default() }))
}

/// The parts of an AAA server's methods.
struct Proposer<'a> {
    plan: &'a AaaPlan,
    trusts: &'a Drawn,
    users: Arc<dyn Passwords>,
    name: Vec<u8>,
}

impl Proposer<'_> {
    fn offer(&self, proposal: &Proposal) -> Result<Arc<dyn ServerOffer>, ScenarioError> {
        let method = proposal.method;
        let parts = ServerParts {
            name: self.name.clone(),
            passwords: Some(Arc::clone(&self.users)),
            cards: Some((self.settings(), Book::new(BookLimits::default()))),
            tls: method.has_tls.then(|| self.tunnels(method)).transpose()?,
        };
        Ok(proposal.server(&parts).expect(EVERY_PART))
    }

    fn settings(&self) -> Settings {
        Settings {
            challenges: self.plan.triplets.into(),
            pseudonyms: self.plan.pseudonyms,
            reauthentications_max: self.plan.fast_reauth,
            network: self.plan.access_network.clone().into_bytes(),
            prefers_prime: prefers_prime(&all(&self.plan.methods)),
            ..Settings::default()
        }
    }

    fn tls(&self) -> &TlsPlan {
        of_tls(self.plan.tls.as_ref())
    }

    /// The server requests a certificate only where the method authenticates the device by one.
    fn tunnels(&self, method: &Method) -> Result<TlsParts, ScenarioError> {
        let plan = self.tls();
        let is_proof = EapMethod::named(method.name).is_some_and(is_mutual);
        let credential = plan.credential.as_ref().map(files::credential).transpose()?;
        let trust = plan.roots.as_ref().filter(|_| is_proof);
        let trust = trust.map(|roots| self.trusts.trust(roots, Purpose::TlsClient)).transpose()?;
        let config = Config { credential, trust, ..common(plan) };
        let placed = self.plan.tls.as_ref().expect("the reader wants `[tls]` for this method");
        Ok(parts(usable(tls_server(&config), placed)?, plan))
    }
}

fn of_tls(plan: Option<&Placed<TlsPlan>>) -> &TlsPlan {
    &plan.expect("the reader wants `[tls]` for this method").value
}

/// The invariant behind every method of a node.
const EVERY_PART: &str = "the reader wants whatever a method needs";

fn all(methods: &[&'static EapMethod]) -> Vec<&'static Method> {
    methods.iter().map(|eap| method(eap)).collect()
}

/// Whether the device is authenticated by its certificate.
fn is_mutual(eap: &EapMethod) -> bool {
    eap.proof == Proof::Certificate
}

fn parts(tunnels: Arc<dyn Tunnels>, plan: &TlsPlan) -> TlsParts {
    let framing = Framing { packet_bytes_max: plan.fragment_bytes.into() };
    TlsParts { tunnels, framing, binding: binding(plan) }
}

const fn binding(plan: &TlsPlan) -> Binding {
    match plan.cryptobinding {
        Cryptobinding::Off => Binding::Off,
        Cryptobinding::Optional => Binding::Optional,
        Cryptobinding::Required => Binding::Required,
    }
}

/// The settings that both sides share.
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

fn usable(
    made: Result<Arc<dyn Tunnels>, keytoll_tls::ConfigError>,
    plan: &Placed<TlsPlan>,
) -> Result<Arc<dyn Tunnels>, ScenarioError> {
    made.map_err(|error| plan.error(format!("TLS cannot be spoken like this: {error}"), "these settings"))
}
