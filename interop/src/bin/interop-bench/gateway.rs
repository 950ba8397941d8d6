//! Our gateway, to be measured from outside: the host that the product runs, on sockets, without a trace.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_engine::trace::NoTrace;
use keytoll_hosts::{Gateway, GatewayConfig, Host};
use keytoll_live::{Driver, Sockets, os_seed};

use crate::ike::{Auth, Side, config};
use crate::trouble::Result;

/// What the gateway agrees to.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Its address.
    #[arg(long)]
    local: IpAddr,
    /// The IKE suite.
    #[arg(long)]
    ike: String,
    /// The ESP suite, or none for childless SAs (RFC 6023).
    #[arg(long)]
    esp: Option<String>,
    /// The directory of certificates; without it there is a shared key.
    #[arg(long)]
    pki: Option<PathBuf>,
}

/// Serves until it is killed.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let auth = Auth::load(arguments.pki.as_deref(), Side::Gateway)?;
    let ike = config(Side::Gateway, &auth, &arguments.ike, arguments.esp.as_deref())?;
    let config = GatewayConfig { ike, address: arguments.local, inner: vec![], aaa: None };
    let host = Host::Gateway(Box::new(Gateway::new(config, &os_seed()?, "gw")));
    let sockets = Sockets::bind(&[500, 4500].map(|port| SocketAddr::new(arguments.local, port)))?;
    let mut driver = Driver::new(host, Real::default(), sockets);
    eprintln!("listening");
    loop {
        driver.next_event(Duration::from_secs(3600), &mut NoTrace);
    }
}
