//! Both ends of EAP: the device's credentials, the AAA server's methods.

use std::collections::BTreeMap;
use std::sync::Arc;

use keytoll_eap::methods::gtc::{GtcPeer, GtcServer};
use keytoll_eap::methods::md5::{Md5Peer, Md5Server};
use keytoll_eap::methods::mschapv2::{MschapV2Peer, MschapV2Server};
use keytoll_eap::methods::peap::{PeapPeer, PeapServer};
use keytoll_eap::methods::tls::{TlsPeer, TlsServer};
use keytoll_eap::methods::ttls::{TtlsInside, TtlsPeer, TtlsServer};
use keytoll_eap::methods::{aka, aka_prime, sim};
use keytoll_eap::simaka;
use keytoll_eap::simaka::book::{Book, Limits as BookLimits};
use keytoll_eap::simaka::card::{Algorithm, Card};
use keytoll_eap::simaka::centre::{AuthenticationCentre, Subscriber};
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_eap::simaka::sqn::Sqn;
use keytoll_eap::tunnel::{Framing, Tunnels};
use keytoll_eap::{Limits, Passwords, PeerConfig, PeerOffer, ServerConfig, ServerOffer};
use keytoll_engine::Seed;
use keytoll_engine::credentials::AlternativeName;
use keytoll_hosts::tunnels::{tls_client, tls_server};
use keytoll_hosts::{EapCredentials, EapIdentity};
use keytoll_interop::Node;
use keytoll_interop::eap::{CARD_KEY, CARD_OPC, Inside, Method, REALM, Version, subscriber};
use keytoll_tls::{Config, NameCheck};

use crate::arguments::{Arguments, Result};

/// How the device proves itself: `eap` with `user` and `password`.
pub(crate) fn device(arguments: &Arguments) -> Result<EapCredentials> {
    let (method, card): (Method, _) = (arguments.parse("eap")?, card(arguments)?);
    let methods = vec![peer(method, &card, arguments)?];
    let identity = match method.card() {
        Some(flavour) => EapIdentity::Card(card, flavour),
        None => EapIdentity::Fixed(arguments.get("user")?.into()),
    };
    Ok(EapCredentials { config: Arc::new(PeerConfig { methods, limits: Limits::default() }), identity })
}

fn peer(method: Method, card: &SharedCard, arguments: &Arguments) -> Result<Arc<dyn PeerOffer>> {
    let (framing, password) = (Framing::default(), arguments.secret("password")?);
    Ok(match method {
        Method::Md5 => Arc::new(Md5Peer { password }),
        Method::MschapV2 => Arc::new(MschapV2Peer { name: None, password }),
        Method::Gtc => Arc::new(GtcPeer { password }),
        Method::Sim => sim::peer(card.clone(), wallet()),
        Method::Aka => aka::peer(card.clone(), wallet()),
        Method::AkaPrime => aka_prime::peer(card.clone(), wallet()),
        Method::Tls(version) => Arc::new(TlsPeer { tunnels: client(version, true, arguments)?, framing }),
        Method::Ttls(inside, version) => {
            let inside = match inside {
                Inside::Pap => TtlsInside::Pap(password),
                Inside::MschapV2 => TtlsInside::MschapV2(password),
                Inside::EapMd5 => TtlsInside::Eap(Arc::new(Md5Peer { password })),
                Inside::EapMschapV2 => TtlsInside::Eap(Arc::new(MschapV2Peer { name: None, password })),
            };
            let (tunnels, user) = (client(version, false, arguments)?, arguments.get("user")?.into());
            Arc::new(TtlsPeer { tunnels, framing, user, inside })
        }
        Method::Peap(binding, version) => {
            let (tunnels, user) = (client(version, false, arguments)?, arguments.get("user")?.into());
            let inside = peer(Method::MschapV2, card, arguments)?;
            Arc::new(PeapPeer { tunnels, framing, user, inside, binding })
        }
    })
}

/// The subscriber's card, that has seen sequence numbers up to `sqn`.
fn card(arguments: &Arguments) -> Result<SharedCard> {
    let highest = Sqn::new(arguments.parse("sqn")?);
    Ok(SharedCard::new(Card::new(subscriber(), REALM, algorithm(), highest)))
}

fn wallet() -> simaka::peer::Settings {
    simaka::peer::Settings { network: Some(b"WLAN".to_vec()), ..Default::default() }
}

fn book() -> Book {
    Book::new(BookLimits::default())
}

fn algorithm() -> Algorithm {
    Algorithm::Milenage(Milenage::with_opc(&CARD_KEY.to_be_bytes(), &CARD_OPC.to_be_bytes()))
}

/// The AAA server's own subscribers: the one there is. TS 33.402 §6.2: AKA′ wants the separation bit of the AMF.
pub(crate) fn subscribers(seed: &Seed) -> AuthenticationCentre {
    let mut centre = AuthenticationCentre::new(seed.stream("centre"));
    let record = Subscriber { algorithm: algorithm(), amf: [0x80, 0], sqn: Sqn::new(32) };
    centre.insert(subscriber(), record);
    centre
}

fn client(version: Version, mutual: bool, arguments: &Arguments) -> Result<Arc<dyn Tunnels>> {
    let credential = mutual.then(|| arguments.credential()).transpose()?;
    // RFC 5216 §5.2: a trusted certificate that names another server is somebody else's.
    let name: Arc<NameCheck> =
        Arc::new(|peer| peer.alternatives.contains(&AlternativeName::Dns(Node::Aaa.id().into())));
    let config =
        Config { credential, trust: Some(arguments.trust()?), name: Some(name), ..only(version, arguments) };
    Ok(tls_client(&config)?)
}

/// What the AAA server proposes: `eap`, methods separated by semicolons, to one `user` with one `password`.
pub(crate) fn server(arguments: &Arguments) -> Result<Arc<ServerConfig>> {
    let users = BTreeMap::from([(arguments.get("user")?.into(), arguments.secret("password")?)]);
    let users: Arc<dyn Passwords> = Arc::new(users);
    let offers = arguments.get("eap")?.split(';');
    let methods = offers.map(|name| offer(name.parse()?, Arc::clone(&users), arguments));
    Ok(config(methods.collect::<Result<_>>()?))
}

fn config(methods: Vec<Arc<dyn ServerOffer>>) -> Arc<ServerConfig> {
    Arc::new(ServerConfig { methods, limits: Limits::default() })
}

fn offer(
    method: Method,
    passwords: Arc<dyn Passwords>,
    arguments: &Arguments,
) -> Result<Arc<dyn ServerOffer>> {
    let (framing, name) = (Framing::default(), Node::Aaa.id().into());
    Ok(match method {
        Method::Md5 => Arc::new(Md5Server { passwords, name }),
        Method::MschapV2 => Arc::new(MschapV2Server { passwords, name, retries: 0 }),
        Method::Gtc => Arc::new(GtcServer { passwords, prompt: b"Password:".to_vec() }),
        Method::Sim => sim::server(Default::default(), book()),
        Method::Aka => aka::server(Default::default(), book()),
        Method::AkaPrime => aka_prime::server(Default::default(), book()),
        Method::Tls(version) => Arc::new(TlsServer { tunnels: tunnels(version, true, arguments)?, framing }),
        Method::Ttls(inside, version) => {
            let within = if inside == Inside::EapMd5 { Method::Md5 } else { Method::MschapV2 };
            let eap = config(vec![offer(within, Arc::clone(&passwords), arguments)?]);
            let tunnels = tunnels(version, false, arguments)?;
            Arc::new(TtlsServer { tunnels, framing, passwords, eap })
        }
        Method::Peap(binding, version) => {
            let inside = config(vec![offer(Method::MschapV2, passwords, arguments)?]);
            let tunnels = tunnels(version, false, arguments)?;
            Arc::new(PeapServer { tunnels, framing, inside, binding })
        }
    })
}

fn tunnels(version: Version, mutual: bool, arguments: &Arguments) -> Result<Arc<dyn Tunnels>> {
    let trust = mutual.then(|| arguments.trust()).transpose()?;
    Ok(tls_server(&Config { credential: Some(arguments.credential()?), trust, ..only(version, arguments) })?)
}

/// One version and no other, so that it is known which one was spoken.
fn only(version: Version, arguments: &Arguments) -> Config {
    let version = match version {
        Version::Tls12 => keytoll_tls::Version::Tls12,
        Version::Tls13 => keytoll_tls::Version::Tls13,
    };
    let resumption = arguments.is("resumption", "yes");
    Config { oldest: version, newest: version, resumption, ..Config::new() }
}
