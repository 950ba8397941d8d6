//! Our AAA server, to be measured from outside: the host that the product runs, on a socket, without a trace. EAP-TLS
//! with TLS 1.2 and nothing else.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_eap::methods::tls::TlsServer;
use keytoll_eap::simaka::centre::AuthenticationCentre;
use keytoll_eap::tunnel::Framing;
use keytoll_eap::{Limits, ServerConfig};
use keytoll_engine::Seed;
use keytoll_engine::crypto::Secret;
use keytoll_engine::trace::NoTrace;
use keytoll_hosts::tunnels::tls_server;
use keytoll_hosts::{Aaa, AaaConfig, Host, Subscribers};
use keytoll_interop::eap::RADIUS_SECRET;
use keytoll_live::{Driver, Sockets, os_seed};
use keytoll_radius::client::Server;
use keytoll_radius::server;
use keytoll_tls as tls;

use crate::ike::{Auth, Side};
use crate::trouble::Result;

/// What the server is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Its address.
    #[arg(long)]
    local: IpAddr,
    /// The address of its RADIUS client.
    #[arg(long)]
    client: IpAddr,
    /// The directory of certificates.
    #[arg(long)]
    pki: PathBuf,
}

/// Serves until it is killed.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let seed = os_seed()?;
    let host = Host::Aaa(Box::new(Aaa::new(config(arguments, &seed)?, &seed, "aaa")));
    let sockets = Sockets::bind(&[SocketAddr::new(arguments.local, Server::AUTHENTICATION_PORT)])?;
    let mut driver = Driver::new(host, Real::default(), sockets);
    eprintln!("listening");
    loop {
        driver.next_event(Duration::from_secs(3600), &mut NoTrace);
    }
}

fn config(arguments: &Arguments, seed: &Seed) -> Result<AaaConfig> {
    let client = server::Client { secret: Secret::from(RADIUS_SECRET.as_bytes()) };
    let offer = TlsServer { tunnels: tls_server(&tunnels(arguments)?)?, framing: Framing::default() };
    Ok(AaaConfig {
        radius: server::Config::new(BTreeMap::from([(arguments.client, client)])),
        eap: Arc::new(ServerConfig { methods: vec![Arc::new(offer)], limits: Limits::default() }),
        address: arguments.local,
        subscribers: Subscribers::Own(AuthenticationCentre::new(seed.stream("centre"))),
    })
}

fn tunnels(arguments: &Arguments) -> Result<tls::Config> {
    let Auth::Certificate(credential, trust) = Auth::load(Some(&arguments.pki), Side::Aaa)? else {
        return Err("EAP-TLS takes certificates".into());
    };
    let version = tls::Version::Tls12;
    Ok(tls::Config {
        credential: Some(credential),
        trust: Some(trust),
        oldest: version,
        newest: version,
        resumption: false,
        ..tls::Config::new()
    })
}
