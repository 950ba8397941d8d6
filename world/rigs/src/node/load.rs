//! The devices of a load file: their credentials, and the callers that use them, one for each worker.
//!
//! ```text
//!   LoadPlan --draw--> Blueprint --sockets()--> bound by a worker --build(locals)--> Callers
//! ```

mod hip;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use keytoll_crypto_api::Seed;
use keytoll_crypto_api::credentials::Credential;
use keytoll_eap::methods::{PeerParts, TlsParts, prefers_prime};
use keytoll_eap::simaka::card::{Algorithm, Card};
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::peer::{Settings as Wallet, SharedCard};
use keytoll_eap::simaka::sqn::Sqn;
use keytoll_eap::{Limits, PeerConfig};
use keytoll_engine::channel::Secure;
use keytoll_engine::map::FastMap;
use keytoll_hosts::callers::ike::{IkeCallers, Terms};
use keytoll_hosts::callers::radius::{RadiusCallers, User};
use keytoll_hosts::callers::{Callers, DeviceIndex};
use keytoll_hosts::{EapCredentials, EapIdentity};
use keytoll_ike::config::{Connection, Prove, Responds};
use keytoll_ike::wire::Identity as IkeIdentity;
use keytoll_net::Socket;
use keytoll_radius::client::{Config as RadiusConfig, Retransmission, Server, Streams};
use keytoll_scenario::ScenarioError;
use keytoll_scenario::catalogue::EapMethod;
use keytoll_scenario::node::Placed;
use keytoll_scenario::node::load::{
    AccessPlan, EapLoad, Identities, Identity, IkeLoad, LoadPlan, RadiusLoad, RadiusMethod,
};

use super::secure::{self, Settings};
use super::trusts::Drawn;
use super::{Place, eap, files, ike};
use crate::eap::method as made;
use hip::HipAccess;

/// The devices of a load, whose sockets are not bound yet.
pub struct LoadBlueprint {
    target: SocketAddr,
    local: Vec<std::net::IpAddr>,
    access: Access,
    identities: Identities,
}

/// How they get access.
enum Access {
    Radius(Box<RadiusAccess>),
    Ike(Box<IkeAccess>),
    Hip(Box<HipAccess>),
}

struct RadiusAccess {
    load: RadiusLoad,
    /// TLS around it.
    tls: Option<Settings>,
    eap: Option<Arc<EapDevices>>,
}

struct IkeAccess {
    ike: keytoll_ike::Config,
    first: Connection,
    /// Certificates of devices' own, by their number; empty: they have none.
    own: Arc<[Option<Credential>]>,
    eap: Option<Arc<EapDevices>>,
}

/// What the EAP of all devices is made from.
struct EapDevices {
    method: &'static EapMethod,
    /// TLS that all share.
    tls: Option<TlsParts>,
    /// TLS with certificates of their own, by the number of the device; empty: they have none.
    own_tls: Vec<Option<TlsParts>>,
    realm: String,
    wallet: Wallet,
}

impl fmt::Debug for LoadBlueprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadBlueprint").field("target", &self.target).finish_non_exhaustive()
    }
}

impl LoadBlueprint {
    /// Opens everything that a plan names.
    ///
    /// # Errors
    /// When a file or value cannot be used, with its place in the load file.
    pub fn draw(plan: &LoadPlan) -> Result<Self, ScenarioError> {
        let trusts = Drawn::default();
        let access = match &plan.access {
            AccessPlan::Radius(load) => Access::Radius(Box::new(RadiusAccess::draw(plan, load, &trusts)?)),
            AccessPlan::Ike(load) => Access::Ike(Box::new(IkeAccess::draw(plan, load, &trusts)?)),
            AccessPlan::Hip(load) => Access::Hip(Box::new(HipAccess::draw(plan, load)?)),
        };
        let identities = plan.identities.value.clone();
        Ok(Self { target: plan.target, local: plan.local.clone(), access, identities })
    }

    /// The sockets of a worker; where it speaks over streams, the names of its ends of them.
    pub fn sockets(&self, worker: usize) -> Vec<Place> {
        let place_at = |ip: Option<std::net::IpAddr>, port| match ip {
            Some(ip) => Place::At(SocketAddr::new(ip, port)),
            None => Place::Towards(self.target, port),
        };
        let place = |ip| place_at(ip, 0);
        match &self.access {
            Access::Radius(access) => {
                let RadiusAccess { load, tls, .. } = &**access;
                let ip = (!self.local.is_empty()).then(|| self.local[worker % self.local.len()]);
                let place = |number| place_at(ip, if tls.is_some() { number } else { 0 });
                (1..=load.ports).map(place).collect()
            }
            Access::Ike(_) if self.local.is_empty() => vec![place(None); 2],
            Access::Ike(_) => self.local.iter().flat_map(|ip| [place(Some(*ip)); 2]).collect(),
            Access::Hip(_) if self.local.is_empty() => vec![place(None)],
            Access::Hip(_) => self.local.iter().map(|ip| place(Some(*ip))).collect(),
        }
    }

    /// What secures streams to the target; `None`: it is called with datagrams. The random streams are named `{name}/…`.
    pub fn secure(&self, seed: &Seed, name: &str) -> Option<Arc<dyn Secure>> {
        match &self.access {
            Access::Radius(access) => {
                access.tls.as_ref().map(|tls| tls.with_seed(seed, &format!("{name}/tls")))
            }
            Access::Ike(_) | Access::Hip(_) => None,
        }
    }

    /// The callers of a worker, with its sockets at these addresses.
    pub fn build(&self, locals: &[Socket], seed: &Seed, name: &str) -> Box<dyn Callers> {
        let identities = self.identities.clone();
        match &self.access {
            Access::Radius(access) => {
                let config = radius_config(&access.load, self.target, locals);
                let mut maker = Maker::new(access.eap.clone());
                let method = access.load.method;
                let user = move |device: DeviceIndex| maker.user(method, device, &identities.get(device.0));
                let streams = access.tls.as_ref().map(|_| Streams::default());
                Box::new(RadiusCallers::new((config, streams), Box::new(user), seed, name))
            }
            Access::Ike(access) => {
                let ends = locals.chunks(2).map(|pair| (pair[0].ip, access.config(pair))).collect();
                let mut maker = Maker::new(access.eap.clone());
                let (first, own) = (access.first.clone(), Arc::clone(&access.own));
                let terms = move |device: DeviceIndex| {
                    let own = own.get(device.0 as usize).and_then(Clone::clone);
                    maker.terms(&first, own, device, &identities.get(device.0))
                };
                Box::new(IkeCallers::new(ends, self.target.ip(), Box::new(terms), seed, name))
            }
            Access::Hip(access) => Box::new(access.build((self.target, locals), identities, seed, name)),
        }
    }
}

impl RadiusAccess {
    fn draw(plan: &LoadPlan, load: &RadiusLoad, trusts: &Drawn) -> Result<Self, ScenarioError> {
        let eap = match load.method {
            RadiusMethod::Eap(method) => Some(EapDevices::draw(plan, method, &load.eap, trusts)?),
            RadiusMethod::Pap | RadiusMethod::Chap => None,
        };
        let tls = load.tls.as_ref().map(|tls| secure::unnamed_client(tls, trusts)).transpose()?;
        Ok(Self { load: load.clone(), tls, eap: eap.map(Arc::new) })
    }
}

fn radius_config(radius: &RadiusLoad, target: SocketAddr, locals: &[Socket]) -> RadiusConfig {
    let authentication = Socket::from(target);
    // Nothing is reported; the port only has to be another one.
    let accounting = authentication.at_port(authentication.port ^ 1);
    RadiusConfig {
        local: locals[0].ip,
        ports: locals.iter().map(|local| local.port).collect(),
        server: Server { authentication, accounting, secret: radius.secret.clone() },
        nas_identifier: radius.identifier.clone(),
        retransmission: Retransmission::default(),
    }
}

impl IkeAccess {
    fn draw(plan: &LoadPlan, load: &IkeLoad, trusts: &Drawn) -> Result<Self, ScenarioError> {
        let identities = &plan.identities;
        let eap = load.method.map(|method| EapDevices::draw(plan, method, &load.eap, trusts)).transpose()?;
        let sample = identities.value.get(0);
        let claimed = IkeIdentity::of_name(sample.name.as_bytes());
        let first = ike::connection(&load.connection, Some(claimed), trusts)?;
        if eap.is_none() {
            let mut all = identities.value.samples();
            all.try_for_each(|one| {
                identity(&one).map(drop).map_err(|why| identities.error(why, "these identities"))
            })?;
        }
        let own = own_credentials(identities)?.into();
        let mut config = ike::endpoint(&load.endpoint, vec![first.clone()]);
        config.responder_ports = Some((plan.target.port(), load.nat_port));
        config.responds = Responds::ToPeers;
        Ok(Self { ike: config, first, own, eap: eap.map(Arc::new) })
    }

    /// The endpoint at one address.
    fn config(&self, pair: &[Socket]) -> keytoll_ike::Config {
        let nat_port = pair.last().map_or(0, |local| local.port);
        keytoll_ike::Config { port: pair[0].port, nat_port, ..self.ike.clone() }
    }
}

/// The certificates of a file's identities.
fn own_credentials(identities: &Placed<Identities>) -> Result<Vec<Option<Credential>>, ScenarioError> {
    let listed = match &identities.value {
        Identities::Listed(all) if all.iter().any(|one| one.certificate.is_some()) => all,
        Identities::Listed(_) | Identities::Pattern(_) => return Ok(Vec::new()),
    };
    let read = |one: &Identity| {
        let Some([certificate, key]) = &one.certificate else { return Ok(None) };
        let read = files::credential_of([certificate, key]).map(Some);
        read.map_err(|why| identities.error(format!("`{}`: {why}", one.name), "these identities"))
    };
    listed.iter().map(read).collect()
}

/// In strongSwan's syntax.
fn identity(one: &Identity) -> Result<IkeIdentity, String> {
    one.name.parse().map_err(|why| format!("`{}` is no identity of IKE: {why}", one.name))
}

impl EapDevices {
    fn draw(
        plan: &LoadPlan,
        method: &'static EapMethod,
        load: &EapLoad,
        trusts: &Drawn,
    ) -> Result<Self, ScenarioError> {
        let identities = &plan.identities;
        if method.has_card() {
            check_imsis(identities)?;
        }
        let (mut tls, mut own_tls) = (None, Vec::new());
        if let Some(placed) = load.tls.as_ref().filter(|_| method.has_tls) {
            let own = own_credentials(identities)?;
            let with = |own: Option<Credential>| eap::client_tls(placed, method, own, trusts);
            own_tls = own
                .into_iter()
                .map(|one| one.map(|one| with(Some(one))).transpose())
                .collect::<Result<_, _>>()?;
            tls = Some(with(None)?);
        }
        let network = load.access_network.clone().map(String::into_bytes);
        let wallet = Wallet { network, can_prime: prefers_prime(&[made(method)]), ..Wallet::default() };
        Ok(Self { method, tls, own_tls, realm: load.realm.clone(), wallet })
    }
}

/// Refuses identities with cards whose names are no IMSIs.
fn check_imsis(identities: &Placed<Identities>) -> Result<(), ScenarioError> {
    let wrong = identities.value.samples().find(|one| Imsi::parse(&one.name).is_none());
    wrong.map_or(Ok(()), |one| {
        let message = format!("`{}` is no IMSI", one.name);
        Err(identities.error(message, "6 to 15 digits, country and network first"))
    })
}

/// Cards by the numbers of their devices: they remember pseudonyms and sequence numbers.
#[derive(Default)]
struct Cards(FastMap<u32, SharedCard>);

impl Cards {
    /// The card of a device, whose name is an IMSI.
    fn of(&mut self, device: DeviceIndex, one: &Identity, realm: &str) -> SharedCard {
        if let Some(card) = self.0.get(&device.0) {
            return card.clone();
        }
        let card = card(one, realm);
        self.0.insert(device.0, card.clone());
        card
    }
}

fn card(one: &Identity, realm: &str) -> SharedCard {
    let keys = one.card.as_ref().expect(EVERY_PART).each_ref();
    let [k, opc] =
        keys.map(|key| <[u8; 16]>::try_from(&key[..]).expect("the reader takes keys of 16 bytes only"));
    let algorithm = Algorithm::Milenage(Milenage::with_opc(&k, &opc));
    let imsi = Imsi::parse(&one.name).expect("IMSIs were read when they were drawn");
    SharedCard::new(Card::new(imsi, realm, algorithm, Sqn::new(0)))
}

/// Makes the credentials of a worker's devices.
struct Maker {
    eap: Option<Arc<EapDevices>>,
    cards: Cards,
}

/// The reader refuses identities that lack what their method needs.
const EVERY_PART: &str = "the reader wants whatever a method needs";

impl Maker {
    fn new(eap: Option<Arc<EapDevices>>) -> Self {
        Self { eap, cards: Cards::default() }
    }

    fn user(&mut self, method: RadiusMethod, device: DeviceIndex, one: &Identity) -> User {
        let name = one.name.clone().into_bytes();
        let password = || one.password.clone().expect(EVERY_PART);
        match method {
            RadiusMethod::Pap => User::Pap(name, password()),
            RadiusMethod::Chap => User::Chap(name, password()),
            RadiusMethod::Eap(_) => User::Eap(self.eap(device, one).expect("EAP is drawn for such a method")),
        }
    }

    fn terms(
        &mut self,
        first: &Connection,
        own: Option<Credential>,
        device: DeviceIndex,
        one: &Identity,
    ) -> Terms {
        let eap = self.eap(device, one);
        let local_id = match &eap {
            Some(eap) => IkeIdentity::of_name(&eap.identity.now()),
            None => identity(one).expect("identities were read when they were drawn"),
        };
        let local = match (own, &one.psk) {
            (Some(own), _) => Prove::Certificate(own),
            (None, Some(psk)) => Prove::Psk(psk.clone()),
            (None, None) => first.local.clone(),
        };
        let connection = Some(Arc::new(Connection { local_id, local, ..first.clone() }));
        Terms { connection, eap }
    }

    fn eap(&mut self, device: DeviceIndex, one: &Identity) -> Option<EapCredentials> {
        let eap = self.eap.clone()?;
        let has_card = one.card.is_some() && eap.method.has_card();
        let card = has_card.then(|| self.cards.of(device, one, &eap.realm));
        let own_tls = eap.own_tls.get(device.0 as usize).and_then(Clone::clone);
        let parts = PeerParts {
            user: one.name.clone().into_bytes(),
            password: one.password.clone(),
            card: card.clone().map(|card| (card, eap.wallet.clone())),
            tls: own_tls.or_else(|| eap.tls.clone()),
        };
        let method = made(eap.method);
        let offer = method.peer(&parts).expect(EVERY_PART);
        let identity = match (card, method.card) {
            (Some(card), Some(flavour)) => EapIdentity::Card(card, flavour),
            _ => EapIdentity::Fixed(one.name.clone().into_bytes()),
        };
        let config = Arc::new(PeerConfig { methods: vec![offer], limits: Limits::default() });
        Some(EapCredentials { config, identity })
    }
}
