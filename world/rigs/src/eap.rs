//! Both ends of EAP for a row: the device's credentials, the AAA server's methods, and the HSS's subscribers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use keytoll_crypto_api::credentials::{AlternativeName, Credential, PeerCertificate};
use keytoll_crypto_api::{Secret, Seed};
use keytoll_diameter::{Name, client as diameter, server as hss};
use keytoll_eap::methods::peap::Binding;
use keytoll_eap::methods::{self, Method, PeerParts, Proposal, ServerParts, TlsParts};
use keytoll_eap::simaka::book::{Book, Limits as BookLimits};
use keytoll_eap::simaka::card::{Algorithm, Card};
use keytoll_eap::simaka::centre::{AuthenticationCentre, Subscriber};
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_eap::simaka::sqn::Sqn;
use keytoll_eap::simaka::{peer, server};
use keytoll_eap::tunnel::{Framing, Tunnels};
use keytoll_eap::{Limits, Passwords, PeerConfig, ServerConfig};
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_hosts::{AaaAccess, AaaConfig, EapCredentials, EapIdentity, HssAccess, HssConfig, Subscribers};
use keytoll_net::Socket;
use keytoll_radius::{client, server as radius};
use keytoll_scenario::catalogue::EapMethod;
use keytoll_scenario::catalogue::eap::Proof;
use keytoll_scenario::plan::{RowPlan, Tls, TlsVersion};
use keytoll_scenario::population::{Member, Population};
use keytoll_tls::{Config, Version};

use crate::credentials::{AAA_ID, Certificates, Credentials, UE_ID};
use crate::people;
use crate::sites::Sites;

/// The laboratory's subscriber; 001 and 01 are the test network of TS 23.122.
pub(crate) const IMSI: &str = "001010000000001";
/// AT_KDF_INPUT of non-3GPP access (TS 24.302 §8.1.1).
const ACCESS_NETWORK: &[u8] = b"WLAN";

/// Both ends of EAP.
pub(crate) struct Ends {
    pub(crate) device: EapCredentials,
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) subscribers: Option<AuthenticationCentre>,
    /// TLS of both sides, for methods that use it.
    pub(crate) tunnels: Option<Both>,
    /// The device's card, if it has one.
    pub(crate) card: Option<SharedCard>,
    /// The AAA server's data about cards.
    pub(crate) book: Option<Book>,
}

/// The state that both ends keep from one authentication to the next.
#[derive(Default)]
pub(crate) struct Memories {
    tunnels: Option<Both>,
    card: Option<SharedCard>,
    book: Option<Book>,
}

impl Memories {
    /// Those of a row.
    pub(crate) fn of(ends: &Ends) -> Self {
        Self { tunnels: ends.tunnels.clone(), card: ends.card.clone(), book: ends.book.clone() }
    }

    /// Discards everything that could be resumed.
    pub(crate) fn forget(&self) {
        self.tunnels.iter().for_each(Both::forget);
        self.card.iter().for_each(SharedCard::forget);
        self.book.iter().for_each(Book::forget);
    }
}

/// TLS of both sides.
#[derive(Clone)]
pub(crate) struct Both {
    client: Arc<dyn Tunnels>,
    server: Arc<dyn Tunnels>,
}

impl Both {
    fn forget(&self) {
        self.client.forget();
        self.server.forget();
    }
}

impl Ends {
    /// The ends a row needs.
    pub(crate) fn of(row: &RowPlan, eap: &EapMethod, credentials: &Credentials, seed: &Seed) -> Self {
        let method = method(eap);
        let laboratory = Laboratory::new(Cow::Borrowed(row), eap, credentials, seed);
        let limits = Limits::default();
        let peer = method.peer(&laboratory.peer()).expect(EVERY_PART);
        let server = Proposal::all(&[method])
            .iter()
            .map(|one| one.server(&laboratory.server()).expect(EVERY_PART))
            .collect();
        let identity = match (&laboratory.card, method.card) {
            (Some(card), Some(flavour)) => EapIdentity::Card(card.clone(), flavour),
            _ => EapIdentity::Fixed(UE_ID.as_bytes().to_vec()),
        };
        let config = Arc::new(PeerConfig { methods: vec![peer], limits });
        Self {
            device: EapCredentials { config, identity },
            server: Arc::new(ServerConfig { methods: server, limits }),
            subscribers: laboratory.card.as_ref().map(|_| centre(seed)),
            tunnels: laboratory.tunnels,
            book: laboratory.card.as_ref().map(|_| laboratory.book),
            card: laboratory.card,
        }
    }
}

/// Both ends of EAP for the devices of a population, all of whom use the methods of these rows.
pub(crate) struct Everybody {
    shares: Vec<Option<Laboratory<'static>>>,
    seed: Seed,
}

impl Everybody {
    /// That of the rows of a population; a row without EAP has none.
    pub(crate) fn of(rows: &[RowPlan], credentials: &Credentials, seed: &Seed) -> Self {
        let share = |row: &RowPlan| {
            let eap = row.method.eap()?;
            Some(Laboratory::new(Cow::Owned(row.clone()), eap, credentials, seed))
        };
        Self { shares: rows.iter().map(share).collect(), seed: seed.clone() }
    }

    /// The server of all of them, with the users that there are.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        let shares = || self.shares.iter().flatten();
        let users: Arc<dyn Passwords> = Arc::new(people::Users(self.seed.clone()));
        let parts: Vec<_> = shares().map(|share| share.server_of(Arc::clone(&users))).collect();
        let parts = ServerParts {
            name: b"aaa".to_vec(),
            passwords: Some(users),
            cards: parts.iter().find_map(|parts| parts.cards.clone()),
            tls: parts.iter().find_map(|parts| parts.tls.clone()),
        };
        let methods: Vec<_> = shares().filter_map(|share| share.row.method.eap()).map(method).collect();
        let methods =
            Proposal::all(&methods).iter().map(|one| one.server(&parts).expect(EVERY_PART)).collect();
        Arc::new(ServerConfig { methods, limits: Limits::default() })
    }

    /// The credentials of a person; `None` in a share without EAP.
    pub(crate) fn device(
        &self,
        share: usize,
        person: &people::Person,
        credentials: &Credentials,
    ) -> Option<EapCredentials> {
        let laboratory = self.shares.get(share)?.as_ref()?;
        let eap = laboratory.row.method.eap()?;
        let made = method(eap);
        let card = eap.has_card().then(|| person.card(&self.seed));
        let tls = &laboratory.row.options.tls;
        let mutual = eap.proof == Proof::Certificate;
        let tunnels = eap.has_tls.then(|| {
            let certificates = credentials.tls(&laboratory.row).expect("made for this row");
            let own = mutual.then(|| certificates.of_device(&person.name(), person.is_wrong));
            own.map_or_else(|| laboratory.client_of_all(), |own| client(tls, certificates, Some(own)))
        });
        let parts = PeerParts {
            user: person.name().into_bytes(),
            password: Some(person.password(&self.seed)),
            card: card.clone().map(|card| (card, laboratory.wallet())),
            tls: tunnels.map(|tunnels| laboratory.tls(&tunnels)),
        };
        let peer = made.peer(&parts).expect(EVERY_PART);
        let identity = match (card, made.card) {
            (Some(card), Some(flavour)) => EapIdentity::Card(card, flavour),
            _ => EapIdentity::Fixed(person.name().into_bytes()),
        };
        let config = Arc::new(PeerConfig { methods: vec![peer], limits: Limits::default() });
        Some(EapCredentials { config, identity })
    }

    /// The HSS's subscribers: everybody of a share with cards whose credentials are right; `None` without such a share.
    pub(crate) fn centre(&self, population: &Population) -> Option<AuthenticationCentre> {
        let has_card = |share: usize| {
            self.shares.get(share).and_then(Option::as_ref).is_some_and(|share| share.card.is_some())
        };
        if !self.shares.iter().enumerate().any(|(share, _)| has_card(share)) {
            return None;
        }
        let members = (0..population.devices).map(|number| population.member(&self.seed, number));
        Some(centre_of(members.filter(|member| has_card(member.share)), &self.seed))
    }
}

/// The subscribers among these members: those whose credentials are right.
pub(crate) fn centre_of(members: impl Iterator<Item = Member>, seed: &Seed) -> AuthenticationCentre {
    let mut centre = AuthenticationCentre::new(seed.stream("centre"));
    for person in members.filter(|member| !member.is_wrong).map(people::Person::of) {
        let algorithm = person.algorithm(seed);
        centre.insert(person.imsi(), Subscriber { algorithm, amf: AMF, sqn: Sqn::new(32) });
    }
    centre
}

/// The invariant behind every method that the laboratory makes.
const EVERY_PART: &str = "the laboratory has whatever a method of the catalogue needs";

/// The constructor of a method of the catalogue.
pub(crate) fn method(eap: &EapMethod) -> &'static Method {
    methods::named(eap.name).expect("a test finds every method of the catalogue among the methods")
}

/// The parts of the laboratory's methods, on both sides.
struct Laboratory<'a> {
    row: Cow<'a, RowPlan>,
    user: Vec<u8>,
    password: Secret,
    card: Option<SharedCard>,
    book: Book,
    tunnels: Option<Both>,
}

impl<'a> Laboratory<'a> {
    fn new(row: Cow<'a, RowPlan>, eap: &EapMethod, credentials: &Credentials, seed: &Seed) -> Self {
        let both = |certificates| tunnels(&row.options.tls, certificates, eap.proof == Proof::Certificate);
        Self {
            user: UE_ID.as_bytes().to_vec(),
            password: password_of(seed),
            card: eap.has_card().then(|| card(seed)),
            book: Book::new(BookLimits::default()),
            tunnels: eap.has_tls.then(|| both(credentials.tls(&row).expect("made for this row"))),
            row,
        }
    }

    fn peer(&self) -> PeerParts {
        PeerParts {
            user: self.user.clone(),
            password: Some(self.password.clone()),
            card: self.card.clone().map(|card| (card, self.wallet())),
            tls: self.tunnels.as_ref().map(|both| self.tls(&both.client)),
        }
    }

    /// How a card is used.
    #[allow(clippy::unused_self, reason = "it is a part of the laboratory")]
    fn wallet(&self) -> peer::Settings {
        peer::Settings { network: Some(ACCESS_NETWORK.to_vec()), ..peer::Settings::default() }
    }

    /// TLS of devices without certificates.
    fn client_of_all(&self) -> Arc<dyn Tunnels> {
        Arc::clone(&self.tunnels.as_ref().expect("a method with TLS has tunnels").client)
    }

    fn server(&self) -> ServerParts {
        let users = BTreeMap::from([(self.user.clone(), self.password.clone())]);
        self.server_of(Arc::new(users))
    }

    /// The same with other users.
    fn server_of(&self, users: Arc<dyn Passwords>) -> ServerParts {
        ServerParts {
            name: b"aaa".to_vec(),
            passwords: Some(users),
            cards: self.card.as_ref().map(|_| (self.settings(), self.book.clone())),
            tls: self.tunnels.as_ref().map(|both| self.tls(&both.server)),
        }
    }

    fn settings(&self) -> server::Settings {
        server::Settings {
            challenges: self.row.options.eap.triplets.into(),
            pseudonyms: self.row.options.eap.pseudonyms,
            reauthentications_max: self.row.options.eap.fast_reauth,
            network: ACCESS_NETWORK.to_vec(),
            ..server::Settings::default()
        }
    }

    fn tls(&self, tunnels: &Arc<dyn Tunnels>) -> TlsParts {
        let packet_bytes_max = self.row.options.tls.fragment_bytes.into();
        let framing = Framing { packet_bytes_max };
        TlsParts { tunnels: Arc::clone(tunnels), framing, binding: Binding::default() }
    }
}

/// [`IMSI`] as the type that methods use.
pub(crate) fn imsi() -> Imsi {
    Imsi::parse(IMSI).expect("a literal IMSI")
}

fn algorithm(seed: &Seed) -> Algorithm {
    let [key, opc] = subscriber_keys(seed);
    Algorithm::Milenage(Milenage::with_opc(&key, &opc))
}

/// The card of the laboratory's subscriber.
pub(crate) fn card(seed: &Seed) -> SharedCard {
    SharedCard::new(Card::new(imsi(), "lab", algorithm(seed), Sqn::new(0)))
}

/// The authentication centre of the laboratory's subscriber.
pub(crate) fn centre(seed: &Seed) -> AuthenticationCentre {
    let mut centre = AuthenticationCentre::new(seed.stream("centre"));
    centre.insert(imsi(), Subscriber { algorithm: algorithm(seed), amf: AMF, sqn: Sqn::new(32) });
    centre
}

/// The authentication management field of the laboratory's vectors: TS 33.402 §6.2 requires the separation bit.
pub(crate) const AMF: [u8; 2] = [0x80, 0];

/// Ki and OPc of the laboratory's subscriber.
pub(crate) fn subscriber_keys(seed: &Seed) -> [[u8; 16]; 2] {
    let mut rng = seed.stream("subscriber");
    [rng.bytes(), rng.bytes()]
}

/// The password of the laboratory's user.
pub(crate) fn password_of(seed: &Seed) -> Secret {
    Secret::from(format!("{:016x}", seed.stream("password").u64()).as_bytes())
}

/// TLS of both sides; with `mutual` the client has a certificate.
fn tunnels(tls: &Tls, certificates: &Certificates, mutual: bool) -> Both {
    let server = Config {
        credential: Some(certificates.gw.clone()),
        trust: mutual.then(|| Arc::clone(&certificates.gw_trusts)),
        ..common(tls)
    };
    let client = client(tls, certificates, mutual.then(|| certificates.ue.clone()));
    Both { client, server: tls_server(&server).expect(USABLE) }
}

/// The invariant behind TLS of the laboratory.
const USABLE: &str = "the laboratory's certificates are usable";

fn common(tls: &Tls) -> Config {
    let newest = match tls.version {
        TlsVersion::Tls12 => Version::Tls12,
        TlsVersion::Tls13 => Version::Tls13,
    };
    Config { newest, resumption: tls.resumption, ..Config::new() }
}

/// TLS of a device.
fn client(tls: &Tls, certificates: &Certificates, credential: Option<Credential>) -> Arc<dyn Tunnels> {
    let client = Config {
        credential,
        trust: Some(Arc::clone(&certificates.ue_trusts)),
        name: Some(Arc::new(is_aaa)),
        ..common(tls)
    };
    tls_client(&client).expect(USABLE)
}

/// Whether a certificate is the AAA server's, whose name the device checks according to RFC 5216 §5.2.
fn is_aaa(peer: &PeerCertificate) -> bool {
    peer.alternatives.contains(&AlternativeName::Dns(AAA_ID.to_owned()))
}

/// Source ports of RADIUS requests.
pub(crate) const RADIUS_CLIENT_PORTS: RangeInclusive<u16> = 49_152..=49_155;
/// Source port of Diameter connections.
const DIAMETER_CLIENT_PORT: u16 = 40_000;

/// The gateway's access to the AAA server.
pub(crate) fn access(here: (&RowPlan, &Sites), seed: &Seed) -> AaaAccess {
    access_of("gw.lab", here, seed)
}

/// An access point's access to the AAA server. Nothing before EAP tells whom it has before it.
pub(crate) fn access_of_access_point(here: (&RowPlan, &Sites), seed: &Seed) -> AaaAccess {
    AaaAccess { asks_identity: true, ..access_of("ap.lab", here, seed) }
}

fn access_of(nas_identifier: &str, (row, sites): (&RowPlan, &Sites), seed: &Seed) -> AaaAccess {
    let authentication = Socket::new(sites.aaa, sites.ports.radius);
    let accounting = authentication.at_port(sites.ports.accounting);
    AaaAccess {
        radius: client::Config {
            local: sites.core,
            ports: RADIUS_CLIENT_PORTS.collect(),
            server: client::Server { authentication, accounting, secret: secret(seed) },
            nas_identifier: nas_identifier.to_owned(),
            retransmission: client::Retransmission::default(),
        },
        asks_identity: row.options.eap.asks_identity,
        names_addresses: false,
        accounts: row.options.eap.accounting,
    }
}

/// The access of a gateway of a population, with room for more requests without answer.
pub(crate) fn access_of_many(here: (&RowPlan, &Sites), gateway: u32, seed: &Seed) -> AaaAccess {
    of_many(access_of(&format!("{}.lab", crate::sites::name(gateway)), here, seed))
}

/// The same with room for more requests without answer.
pub(crate) fn of_many(mut access: AaaAccess) -> AaaAccess {
    access.radius.ports = MANY_PORTS.collect();
    access
}

/// Source ports of RADIUS requests of a population: 256 identifiers each (RFC 2865 §5.3).
const MANY_PORTS: RangeInclusive<u16> = 49_152..=49_407;

/// The AAA server of a population whose gateways, so many, have so many unfinished authentications at most.
pub(crate) fn aaa_of_many(
    (row, sites): (&RowPlan, &Sites),
    (server, has_cards): (Arc<ServerConfig>, bool),
    (gateways, unfinished_max): (u32, usize),
    seed: &Seed,
) -> AaaConfig {
    let mut config = aaa_with((row, sites), (server, has_cards), seed);
    let client = |gateway| (sites.behind(gateway).core, radius::Client { secret: secret(seed) });
    config.radius.clients = (0..gateways).map(client).collect();
    let unfinished_max = unfinished_max.saturating_mul(gateways as usize);
    let radius = &mut config.radius;
    radius.conversations_max = radius.conversations_max.max(unfinished_max);
    // A conversation has a kept response and one to come.
    radius.responses_max = radius.responses_max.max(2 * unfinished_max);
    config
}

/// The AAA server of a row.
pub(crate) fn aaa(here: (&RowPlan, &Sites), ends: &Ends, seed: &Seed) -> AaaConfig {
    aaa_with(here, (Arc::clone(&ends.server), ends.subscribers.is_some()), seed)
}

fn aaa_with(
    (row, sites): (&RowPlan, &Sites),
    (server, has_cards): (Arc<ServerConfig>, bool),
    seed: &Seed,
) -> AaaConfig {
    let clients = BTreeMap::from([(sites.core, radius::Client { secret: secret(seed) })]);
    AaaConfig {
        radius: radius::Config {
            authentication_port: sites.ports.radius,
            accounting_port: sites.ports.accounting,
            ..radius::Config::new(clients)
        },
        eap: server,
        address: sites.aaa,
        subscribers: if has_cards { Subscribers::Hss(hss_access(row, sites)) } else { Subscribers::Nobody },
    }
}

/// The connection of a node at this address to the HSS.
pub(crate) fn diameter((at, host): (IpAddr, &str), sites: &Sites) -> diameter::Config {
    let local = Socket::new(at, DIAMETER_CLIENT_PORT);
    let server = Socket::new(sites.hss, sites.ports.diameter);
    let mut diameter = diameter::Config::new(local, server, name(host), REALM.to_owned());
    // The laboratory's connection is never idle between two authentications; a watchdog would fall into some of them by chance.
    diameter.watchdog = None;
    diameter
}

fn hss_access(row: &RowPlan, sites: &Sites) -> HssAccess {
    let diameter = diameter((sites.aaa, AAA_ID), sites);
    HssAccess { diameter, batch: row.options.eap.vector_batch, kept_max: SUBSCRIBERS_KEPT_MAX }
}

/// The HSS of a row, with its one subscriber.
pub(crate) fn hss(subscribers: AuthenticationCentre, sites: &Sites) -> HssConfig {
    let local = Socket::new(sites.hss, sites.ports.diameter);
    HssConfig { diameter: hss::Config::new(local, name("hss.lab")), subscribers }
}

fn name(host: &str) -> Name {
    Name { host: host.to_owned(), realm: REALM.to_owned() }
}

/// The realm of AAA server and HSS.
const REALM: &str = "lab";
/// The limit on subscribers whose vectors the AAA server stores; the laboratory has one.
const SUBSCRIBERS_KEPT_MAX: usize = 1024;

/// The secret of gateway and AAA server, in hexadecimal digits, because Wireshark and foreign daemons accept only printable
/// ones.
pub(crate) fn secret(seed: &Seed) -> Secret {
    let bytes = seed.stream("radius").bytes::<16>();
    Secret::new(bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect())
}

#[cfg(test)]
mod tests {
    use keytoll_scenario::catalogue::EAP_METHODS;

    use super::*;

    /// Methods are built according to the catalogue.
    #[test]
    fn the_catalogue_and_the_methods_are_one_list() {
        for eap in EAP_METHODS {
            let made = method(eap);
            assert_eq!((made.has_tls, made.card.is_some()), (eap.has_tls, eap.has_card()), "{eap:?}");
        }
        let unknown: Vec<_> =
            methods::METHODS.iter().filter(|made| EapMethod::named(made.name).is_none()).collect();
        assert!(unknown.is_empty(), "nobody can ask for {unknown:?}");
    }
}
