//! Both ends of EAP for a row: the device's credentials, the AAA server's methods, and the HSS's subscribers.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use keytoll_diameter::{Name, client as diameter, server as hss};
use keytoll_eap::methods::md5::{Md5Peer, Md5Server};
use keytoll_eap::methods::mschapv2::{MschapV2Peer, MschapV2Server};
use keytoll_eap::methods::peap::{Binding, PeapPeer, PeapServer};
use keytoll_eap::methods::tls::{TlsPeer, TlsServer};
use keytoll_eap::methods::ttls::{TtlsInside, TtlsPeer, TtlsServer};
use keytoll_eap::methods::{aka, aka_prime, sim};
use keytoll_eap::simaka::book::{Book, Limits as BookLimits};
use keytoll_eap::simaka::card::{Algorithm, Card};
use keytoll_eap::simaka::centre::{AuthenticationCentre, Subscriber};
use keytoll_eap::simaka::flavour::Flavour;
use keytoll_eap::simaka::identity::{Imsi, permanent};
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_eap::simaka::sqn::Sqn;
use keytoll_eap::simaka::{peer, server};
use keytoll_eap::tunnel::{Framing, Tunnels};
use keytoll_eap::{Limits, Passwords, PeerConfig, PeerOffer, ServerConfig, ServerOffer};
use keytoll_engine::credentials::{AlternativeName, PeerCertificate};
use keytoll_engine::crypto::Secret;
use keytoll_engine::{Addr, Seed};
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_hosts::{AaaAccess, AaaConfig, EapCredentials, EapIdentity, HssAccess, HssConfig, Subscribers};
use keytoll_radius::{client, server as radius};
use keytoll_scenario::catalogue::EapKind;
use keytoll_scenario::plan::{RowPlan, Tls, TlsVersion};
use keytoll_tls::{Config, Version};

use crate::credentials::{AAA_ID, Certificates, Credentials, UE_ID};
use crate::sites::Sites;

/// The laboratory's subscriber; 001 and 01 are the test network of TS 23.122.
pub(crate) const IMSI: &str = "001010000000001";
/// AT_KDF_INPUT of access that is not 3GPP's (TS 24.302 §8.1.1).
const ACCESS_NETWORK: &[u8] = b"WLAN";

/// Both ends of EAP.
pub(crate) struct Ends {
    pub(crate) device: EapCredentials,
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) subscribers: Option<AuthenticationCentre>,
    /// TLS of both sides, for methods with it.
    pub(crate) tunnels: Option<Both>,
    /// The device's card, if it has one.
    pub(crate) card: Option<SharedCard>,
    /// What the AAA server remembers of cards.
    pub(crate) book: Option<Book>,
}

/// What both ends remember from one authentication to the next.
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

    /// Begins anew with nothing that could be continued.
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
    pub(crate) fn of(row: &RowPlan, kind: EapKind, credentials: &Credentials, seed: &Seed) -> Self {
        match kind {
            EapKind::Md5 => Self::with_password(
                |password, users| {
                    (
                        Arc::new(Md5Peer { password }),
                        Arc::new(Md5Server { passwords: users, name: b"aaa".to_vec() }),
                    )
                },
                seed,
            ),
            EapKind::MschapV2 => Self::with_password(
                |password, users| {
                    let server = MschapV2Server { passwords: users, name: b"aaa".to_vec(), retries: 0 };
                    (Arc::new(MschapV2Peer { name: None, password }), Arc::new(server))
                },
                seed,
            ),
            EapKind::Sim => Self::with_card(row, Flavour::Sim, seed),
            EapKind::Aka => Self::with_card(row, Flavour::Aka, seed),
            EapKind::AkaPrime => Self::with_card(row, Flavour::AkaPrime, seed),
            EapKind::Tls => Self::with_tls(&row.options.tls, certificates(credentials, row)),
            EapKind::TtlsMd5 => Self::with_ttls(&row.options.tls, certificates(credentials, row), seed),
            EapKind::PeapMschapV2 => Self::with_peap(&row.options.tls, certificates(credentials, row), seed),
        }
    }

    fn new(identity: &[u8], peer: Arc<dyn PeerOffer>, server: Arc<dyn ServerOffer>) -> Self {
        let limits = Limits::default();
        let config = Arc::new(PeerConfig { methods: vec![peer], limits });
        Self {
            device: EapCredentials { config, identity: EapIdentity::Fixed(identity.to_vec()) },
            server: Arc::new(ServerConfig { methods: vec![server], limits }),
            subscribers: None,
            tunnels: None,
            card: None,
            book: None,
        }
    }

    fn with_password(
        make: impl FnOnce(Secret, Arc<dyn Passwords>) -> (Arc<dyn PeerOffer>, Arc<dyn ServerOffer>),
        seed: &Seed,
    ) -> Self {
        let (password, users) = password(seed);
        let (peer, server) = make(password, users);
        Self::new(UE_ID.as_bytes(), peer, server)
    }

    fn with_card(row: &RowPlan, flavour: Flavour, seed: &Seed) -> Self {
        let imsi = Imsi::parse(IMSI).expect("a literal IMSI");
        let [key, opc] = subscriber_keys(seed);
        let algorithm = Algorithm::Milenage(Milenage::with_opc(&key, &opc));
        let card = SharedCard::new(Card::new(imsi, "lab", algorithm.clone(), Sqn::new(0)));
        let settings = server::Settings {
            challenges: row.options.triplets.into(),
            pseudonyms: row.options.pseudonyms,
            reauthentications_max: row.options.fast_reauth,
            network: ACCESS_NETWORK.to_vec(),
            ..server::Settings::default()
        };
        let wallet = peer::Settings { network: Some(ACCESS_NETWORK.to_vec()), ..peer::Settings::default() };
        let book = Book::new(BookLimits::default());
        let (peer, server) = match flavour {
            Flavour::Sim => (sim::peer(card.clone(), wallet), sim::server(settings, book.clone())),
            Flavour::Aka => (aka::peer(card.clone(), wallet), aka::server(settings, book.clone())),
            Flavour::AkaPrime => {
                (aka_prime::peer(card.clone(), wallet), aka_prime::server(settings, book.clone()))
            }
        };
        let mut centre = AuthenticationCentre::new(seed.stream("centre"));
        centre.insert(imsi, Subscriber { algorithm, amf: AMF, sqn: Sqn::new(32) });
        let mut ends = Self::new(permanent(flavour, imsi, "lab").as_bytes(), peer, server);
        ends.device.identity = EapIdentity::Card(card.clone(), flavour);
        Self { subscribers: Some(centre), card: Some(card), book: Some(book), ..ends }
    }

    fn with_tls(tls: &Tls, certificates: &Certificates) -> Self {
        let (both, framing) = (tunnels(tls, certificates, true), framing(tls));
        let Both { client, server } = both.clone();
        let peer = Arc::new(TlsPeer { tunnels: client, framing });
        let server = Arc::new(TlsServer { tunnels: server, framing });
        Self { tunnels: Some(both), ..Self::new(UE_ID.as_bytes(), peer, server) }
    }

    fn with_ttls(tls: &Tls, certificates: &Certificates, seed: &Seed) -> Self {
        let (both, framing) = (tunnels(tls, certificates, false), framing(tls));
        let (Both { client, server }, (password, users)) = (both.clone(), password(seed));
        let inside = TtlsInside::Eap(Arc::new(Md5Peer { password }));
        let user = UE_ID.as_bytes().to_vec();
        let peer = Arc::new(TtlsPeer { tunnels: client, framing, user, inside });
        let eap = inside_server(Md5Server { passwords: Arc::clone(&users), name: b"aaa".to_vec() });
        let server = Arc::new(TtlsServer { tunnels: server, framing, passwords: users, eap });
        Self { tunnels: Some(both), ..Self::new(UE_ID.as_bytes(), peer, server) }
    }

    fn with_peap(tls: &Tls, certificates: &Certificates, seed: &Seed) -> Self {
        let (both, framing, binding) = (tunnels(tls, certificates, false), framing(tls), Binding::default());
        let (Both { client, server }, (password, passwords)) = (both.clone(), password(seed));
        let inside = Arc::new(MschapV2Peer { name: None, password });
        let user = UE_ID.as_bytes().to_vec();
        let peer = Arc::new(PeapPeer { tunnels: client, framing, user, inside, binding });
        let inside = inside_server(MschapV2Server { passwords, name: b"aaa".to_vec(), retries: 0 });
        let server = Arc::new(PeapServer { tunnels: server, framing, inside, binding });
        Self { tunnels: Some(both), ..Self::new(UE_ID.as_bytes(), peer, server) }
    }
}

fn certificates<'a>(credentials: &'a Credentials, row: &RowPlan) -> &'a Certificates {
    credentials.tls(row).expect("made for this row")
}

fn framing(tls: &Tls) -> Framing {
    Framing { packet_bytes_max: tls.fragment_bytes.into() }
}

/// EAP inside a tunnel with one method.
fn inside_server(method: impl ServerOffer + 'static) -> Arc<ServerConfig> {
    Arc::new(ServerConfig { methods: vec![Arc::new(method)], limits: Limits::default() })
}

/// The authentication management field of the laboratory's vectors: TS 33.402 §6.2 wants the separation bit.
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

/// The laboratory's user and its password.
fn password(seed: &Seed) -> (Secret, Arc<dyn Passwords>) {
    let password = password_of(seed);
    let users = BTreeMap::from([(UE_ID.as_bytes().to_vec(), password.clone())]);
    (password, Arc::new(users))
}

/// TLS of both sides; the client shows a certificate if it is to prove itself with one.
fn tunnels(tls: &Tls, certificates: &Certificates, mutual: bool) -> Both {
    let newest = match tls.version {
        TlsVersion::Tls12 => Version::Tls12,
        TlsVersion::Tls13 => Version::Tls13,
    };
    let common = Config { newest, resumption: tls.resumption, ..Config::new() };
    let client = Config {
        credential: mutual.then(|| certificates.ue.clone()),
        trust: Some(Arc::clone(&certificates.ue_trusts)),
        name: Some(Arc::new(is_aaa)),
        ..common.clone()
    };
    let server = Config {
        credential: Some(certificates.gw.clone()),
        trust: mutual.then(|| Arc::clone(&certificates.gw_trusts)),
        ..common
    };
    let usable = "the laboratory's certificates are usable";
    Both { client: tls_client(&client).expect(usable), server: tls_server(&server).expect(usable) }
}

/// Whether a certificate is the AAA server's: RFC 5216 §5.2 lets the device know its name.
fn is_aaa(peer: &PeerCertificate) -> bool {
    peer.alternatives.contains(&AlternativeName::Dns(AAA_ID.to_owned()))
}

/// Where RADIUS requests come from.
pub(crate) const RADIUS_CLIENT_PORTS: RangeInclusive<u16> = 49_152..=49_155;
/// Where the AAA server's Diameter connection comes from.
const DIAMETER_CLIENT_PORT: u16 = 40_000;

/// How the gateway reaches the AAA server.
pub(crate) fn access((row, sites): (&RowPlan, &Sites), seed: &Seed) -> AaaAccess {
    let authentication = Addr::new(sites.aaa, sites.ports.radius);
    let accounting = authentication.at_port(sites.ports.accounting);
    AaaAccess {
        radius: client::Config {
            local: sites.core,
            ports: RADIUS_CLIENT_PORTS.collect(),
            server: client::Server { authentication, accounting, secret: secret(seed) },
            nas_identifier: "gw.lab".to_owned(),
            retransmission: client::Retransmission::default(),
        },
        asks_identity: row.options.eap_identity,
        accounts: row.options.accounting,
    }
}

/// The AAA server of a row.
pub(crate) fn aaa((row, sites): (&RowPlan, &Sites), ends: &Ends, seed: &Seed) -> AaaConfig {
    let clients = BTreeMap::from([(sites.core, radius::Client { secret: secret(seed) })]);
    AaaConfig {
        radius: radius::Config {
            authentication_port: sites.ports.radius,
            accounting_port: sites.ports.accounting,
            ..radius::Config::new(clients)
        },
        eap: Arc::clone(&ends.server),
        address: sites.aaa,
        subscribers: match ends.subscribers {
            Some(_) => Subscribers::Hss(hss_access(row, sites)),
            None => Subscribers::Nobody,
        },
    }
}

fn hss_access(row: &RowPlan, sites: &Sites) -> HssAccess {
    let local = Addr::new(sites.aaa, DIAMETER_CLIENT_PORT);
    let server = Addr::new(sites.hss, sites.ports.diameter);
    let mut diameter = diameter::Config::new(local, server, name("aaa.lab"), REALM.to_owned());
    // The laboratory's connection is never idle between two authentications: whether a watchdog falls into one of them
    // is not what a row is about.
    diameter.watchdog = None;
    HssAccess { diameter, batch: row.options.vector_batch, kept_max: SUBSCRIBERS_KEPT_MAX }
}

/// The HSS of a row, with its one subscriber.
pub(crate) fn hss(subscribers: AuthenticationCentre, sites: &Sites) -> HssConfig {
    let local = Addr::new(sites.hss, sites.ports.diameter);
    HssConfig { diameter: hss::Config::new(local, name("hss.lab")), subscribers }
}

fn name(host: &str) -> Name {
    Name { host: host.to_owned(), realm: REALM.to_owned() }
}

/// The realm of AAA server and HSS.
const REALM: &str = "lab";
/// Of so many subscribers the AAA server keeps vectors; the laboratory has one.
const SUBSCRIBERS_KEPT_MAX: usize = 1024;

/// What gateway and AAA server share: hexadecimal digits, because Wireshark and other
/// makers' programs take only what can be typed.
pub(crate) fn secret(seed: &Seed) -> Secret {
    let bytes = seed.stream("radius").bytes::<16>();
    Secret::new(bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect())
}
