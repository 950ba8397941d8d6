//! The host of each role.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use keytoll_engine::Seed;
use keytoll_engine::suite::{Suite, SuiteError};
use keytoll_hosts::{
    Aaa, AaaAccess, AaaConfig, Device, DeviceConfig, Gateway, GatewayConfig, Host, Subscribers,
};
use keytoll_ike::v2::config::{Believe, ChildConfig, Connection, Pool, Prove, Reauthenticate};
use keytoll_ike::v2::{Config, Mode};
use keytoll_ike::wire::TrafficSelector;
use keytoll_radius::{client, server};

use crate::arguments::{Arguments, Result};
use crate::eap;

/// Where RADIUS requests come from.
const RADIUS_PORT: u16 = 49_152;

/// A host, and the addresses it wants sockets for.
pub(crate) fn host(arguments: &Arguments, seed: &Seed) -> Result<(Host, Vec<SocketAddr>)> {
    match arguments.get("role")? {
        "ue" => Ok((device(arguments, seed)?, ike_sockets(arguments)?)),
        "gw" => {
            let mut sockets = ike_sockets(arguments)?;
            if arguments.has("aaa") {
                sockets.push(SocketAddr::new(arguments.parse("aaa_local")?, RADIUS_PORT));
            }
            Ok((gateway(arguments, seed)?, sockets))
        }
        "aaa" => {
            let port = client::Server::AUTHENTICATION_PORT;
            Ok((aaa(arguments, seed)?, vec![SocketAddr::new(arguments.parse("local")?, port)]))
        }
        other => Err(format!("role={other} is neither ue nor gw nor aaa").into()),
    }
}

fn ike_sockets(arguments: &Arguments) -> Result<Vec<SocketAddr>> {
    let local: IpAddr = arguments.parse("local")?;
    let ports: &[u16] = if arguments.is("ports", "500") { &[500] } else { &[500, 4500] };
    Ok(ports.iter().map(|port| SocketAddr::new(local, *port)).collect())
}

fn device(arguments: &Arguments, seed: &Seed) -> Result<Host> {
    let connection = Connection { request_address: true, ..connection(arguments)? };
    let config = DeviceConfig {
        ike: config(connection, arguments),
        address: arguments.parse("local")?,
        gateway: arguments.parse("remote")?,
        target: arguments.parse("inner")?,
        eap: arguments.has("eap").then(|| eap::device(arguments)).transpose()?,
    };
    Ok(Host::Device(Box::new(Device::new(config, seed, "ue"))))
}

fn gateway(arguments: &Arguments, seed: &Seed) -> Result<Host> {
    let pool = Pool { first: arguments.parse("pool")?, size: 100 };
    let connection = Connection { pool: Some(pool), ..connection(arguments)? };
    let config = GatewayConfig {
        ike: config(connection, arguments),
        address: arguments.parse("local")?,
        inner: vec![arguments.parse("inner")?],
        aaa: arguments.has("aaa").then(|| access(arguments)).transpose()?,
    };
    Ok(Host::Gateway(Box::new(Gateway::new(config, seed, "gw"))))
}

fn access(arguments: &Arguments) -> Result<AaaAccess> {
    let radius = client::Config {
        local: arguments.parse("aaa_local")?,
        ports: RADIUS_PORT..=RADIUS_PORT,
        server: client::Server::new(arguments.parse("aaa")?, arguments.secret("radius_secret")?),
        nas_identifier: arguments.get("id")?.to_owned(),
        retransmission: client::Retransmission::default(),
    };
    Ok(AaaAccess { radius, asks_identity: arguments.is("asks_identity", "yes"), accounts: false })
}

fn aaa(arguments: &Arguments, seed: &Seed) -> Result<Host> {
    let client = server::Client { secret: arguments.secret("radius_secret")? };
    let config = AaaConfig {
        radius: server::Config::new(BTreeMap::from([(arguments.parse("client")?, client)])),
        eap: eap::server(arguments)?,
        address: arguments.parse("local")?,
        subscribers: Subscribers::Own(eap::subscribers(seed)),
    };
    Ok(Host::Aaa(Box::new(Aaa::new(config, seed, "aaa"))))
}

/// strongSwan's user-space ESP cannot do without UDP encapsulation; we need no privileges with it.
fn config(connection: Connection, arguments: &Arguments) -> Config {
    let force_encapsulation = !arguments.is("encapsulation", "honest");
    let mut config = Config { force_encapsulation, ..Config::new(vec![connection]) };
    let timers = &mut config.retransmission;
    timers.first = arguments.milliseconds("retransmit_ms").unwrap_or(timers.first);
    timers.tries = arguments.parse("retransmit_tries").unwrap_or(timers.tries);
    if arguments.is("cookies", "always") {
        config.half_open.cookies_from = 0;
    }
    config
}

/// What both ends of IKE have in common. `inner` is the gateway's inner address, its network is what the SA is for.
fn connection(arguments: &Arguments) -> Result<Connection> {
    let (local, remote) = credentials(arguments)?;
    Ok(Connection {
        name: "interop".into(),
        local_id: arguments.parse("id")?,
        remote_id: Some(arguments.parse("peer_id")?),
        local,
        remote,
        suites: suites(arguments, "ike", Suite::ike)?,
        child: if arguments.is("child", "none") { None } else { Some(child(arguments)?) },
        request_address: false,
        pool: None,
        auth_lifetime: arguments.parse("auth_lifetime_s").ok().map(Duration::from_secs),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: arguments.milliseconds("liveness_after_ms"),
    })
}

/// Proposals separated by commas, best first.
fn suites(
    arguments: &Arguments,
    key: &str,
    parse: fn(&str) -> std::result::Result<Suite, SuiteError>,
) -> Result<Vec<Suite>> {
    Ok(arguments.get(key)?.split(',').map(parse).collect::<std::result::Result<_, _>>()?)
}

fn child(arguments: &Arguments) -> Result<ChildConfig> {
    let network = vec![TrafficSelector::prefix(arguments.parse("inner")?, 24)];
    let (local, remote) = if arguments.get("role")? == "gw" { (network, vec![]) } else { (vec![], network) };
    let suites = suites(arguments, "esp", Suite::esp)?;
    Ok(ChildConfig { suites, mode: Mode::Tunnel, local, remote, rekey_after: None })
}

/// With EAP only the gateway has a certificate in IKE.
fn credentials(arguments: &Arguments) -> Result<(Prove, Believe)> {
    if arguments.has("secret") {
        let secret = arguments.secret("secret")?;
        return Ok((Prove::Psk(secret.clone()), Believe::psk(secret)));
    }
    let prove = if arguments.has("eap") { Prove::Eap } else { Prove::Certificate(arguments.credential()?) };
    let believe = if arguments.has("aaa") { Believe::Eap } else { Believe::Certificate(arguments.trust()?) };
    Ok((prove, believe))
}
