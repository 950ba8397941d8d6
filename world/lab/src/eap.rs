//! Both ends of EAP for a row: the device's credentials, the AAA server's methods, and the subscribers.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use keytoll_eap::methods::md5::{Md5Peer, Md5Server};
use keytoll_eap::methods::mschapv2::{MschapV2Peer, MschapV2Server};
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
use keytoll_engine::Seed;
use keytoll_engine::credentials::{AlternativeName, PeerCertificate};
use keytoll_engine::crypto::Secret;
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_hosts::{AaaAccess, AaaConfig, EapCredentials};
use keytoll_radius::{client, server as radius};
use keytoll_scenario::catalogue::EapKind;
use keytoll_scenario::plan::RowPlan;

use crate::credentials::{AAA_ID, Certificates, Credentials, UE_ID};

/// The laboratory's subscriber; 001 and 01 are the test network of TS 23.122.
const IMSI: &str = "001010000000001";
/// AT_KDF_INPUT of access that is not 3GPP's (TS 24.302 §8.1.1).
const ACCESS_NETWORK: &[u8] = b"WLAN";

/// Both ends of EAP.
pub(crate) struct Ends {
    pub(crate) device: EapCredentials,
    pub(crate) server: Arc<ServerConfig>,
    pub(crate) subscribers: Option<AuthenticationCentre>,
    /// The device's card, if it has one.
    pub(crate) card: Option<SharedCard>,
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
            EapKind::Sim => Self::with_card(Flavour::Sim, seed),
            EapKind::Aka => Self::with_card(Flavour::Aka, seed),
            EapKind::AkaPrime => Self::with_card(Flavour::AkaPrime, seed),
            EapKind::Tls => Self::with_tls(credentials.tls(row).expect("made for this row")),
            EapKind::TtlsMd5 => Self::with_ttls(credentials.tls(row).expect("made for this row"), seed),
        }
    }

    fn new(identity: &[u8], peer: Arc<dyn PeerOffer>, server: Arc<dyn ServerOffer>) -> Self {
        let limits = Limits::default();
        let config = Arc::new(PeerConfig { methods: vec![peer], limits });
        Self {
            device: EapCredentials { config, identity: identity.to_vec() },
            server: Arc::new(ServerConfig { methods: vec![server], limits }),
            subscribers: None,
            card: None,
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

    fn with_card(flavour: Flavour, seed: &Seed) -> Self {
        let imsi = Imsi::parse(IMSI).expect("a literal IMSI");
        let [key, opc] = subscriber_keys(seed);
        let algorithm = Algorithm::Milenage(Milenage::with_opc(&key, &opc));
        let card = SharedCard::new(Card::new(imsi, "lab", algorithm.clone(), Sqn::new(0)));
        let settings = server::Settings {
            pseudonyms: false,
            reauthentications_max: 0,
            network: ACCESS_NETWORK.to_vec(),
            ..server::Settings::default()
        };
        let wallet = peer::Settings { network: Some(ACCESS_NETWORK.to_vec()), ..peer::Settings::default() };
        let book = Book::new(BookLimits::default());
        let in_device = card.clone();
        let (peer, server) = match flavour {
            Flavour::Sim => (sim::peer(card, wallet), sim::server(settings, book)),
            Flavour::Aka => (aka::peer(card, wallet), aka::server(settings, book)),
            Flavour::AkaPrime => (aka_prime::peer(card, wallet), aka_prime::server(settings, book)),
        };
        let mut centre = AuthenticationCentre::new(seed.stream("centre"));
        centre.insert(imsi, Subscriber { algorithm, amf: [0x80, 0], sqn: Sqn::new(32) });
        let identity = permanent(flavour, imsi, "lab");
        Self {
            subscribers: Some(centre),
            card: Some(in_device),
            ..Self::new(identity.as_bytes(), peer, server)
        }
    }

    fn with_tls(certificates: &Certificates) -> Self {
        let (client, server) = tunnels(certificates, true);
        let framing = Framing::default();
        let peer = Arc::new(TlsPeer { tunnels: client, framing });
        Self::new(UE_ID.as_bytes(), peer, Arc::new(TlsServer { tunnels: server, framing }))
    }

    fn with_ttls(certificates: &Certificates, seed: &Seed) -> Self {
        let (client, tls) = tunnels(certificates, false);
        let (framing, (password, users)) = (Framing::default(), password(seed));
        let inside = TtlsInside::Eap(Arc::new(Md5Peer { password }));
        let user = UE_ID.as_bytes().to_vec();
        let peer = Arc::new(TtlsPeer { tunnels: client, framing, user, inside });
        let md5: Arc<dyn ServerOffer> =
            Arc::new(Md5Server { passwords: Arc::clone(&users), name: b"aaa".to_vec() });
        let eap = Arc::new(ServerConfig { methods: vec![md5], limits: Limits::default() });
        Self::new(
            UE_ID.as_bytes(),
            peer,
            Arc::new(TtlsServer { tunnels: tls, framing, passwords: users, eap }),
        )
    }
}

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
fn tunnels(certificates: &Certificates, mutual: bool) -> (Arc<dyn Tunnels>, Arc<dyn Tunnels>) {
    let client = keytoll_tls::Config {
        credential: mutual.then(|| certificates.ue.clone()),
        trust: Some(Arc::clone(&certificates.ue_trusts)),
        name: Some(Arc::new(is_aaa)),
        resumption: false,
        ..keytoll_tls::Config::new()
    };
    let server = keytoll_tls::Config {
        credential: Some(certificates.gw.clone()),
        trust: mutual.then(|| Arc::clone(&certificates.gw_trusts)),
        resumption: false,
        ..keytoll_tls::Config::new()
    };
    let usable = "the laboratory's certificates are usable";
    (tls_client(&client).expect(usable), tls_server(&server).expect(usable))
}

/// Whether a certificate is the AAA server's: RFC 5216 §5.2 lets the device know its name.
fn is_aaa(peer: &PeerCertificate) -> bool {
    peer.alternatives.contains(&AlternativeName::Dns(AAA_ID.to_owned()))
}

/// How the gateway reaches the AAA server. Between them IPv4, as in paper 000.
pub(crate) fn access(row: &RowPlan, seed: &Seed) -> AaaAccess {
    AaaAccess {
        radius: client::Config {
            local: GW,
            ports: 49_152..=49_155,
            server: client::Server::new(AAA, secret(seed)),
            nas_identifier: "gw.lab".to_owned(),
            retransmission: client::Retransmission::default(),
        },
        asks_identity: row.options.eap_identity,
    }
}

/// The AAA server of a row.
pub(crate) fn aaa(ends: &mut Ends, seed: &Seed) -> AaaConfig {
    let clients = BTreeMap::from([(GW, radius::Client { secret: secret(seed) })]);
    AaaConfig {
        radius: radius::Config::new(clients),
        eap: Arc::clone(&ends.server),
        address: AAA,
        subscribers: ends.subscribers.take(),
    }
}

/// The gateway on the AAA server's side: documentation prefix, RFC 5737.
pub(crate) const GW: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 1));
/// The AAA server.
pub(crate) const AAA: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 2));

/// What gateway and AAA server share.
pub(crate) fn secret(seed: &Seed) -> Secret {
    Secret::from(&seed.stream("radius").bytes::<32>()[..])
}
