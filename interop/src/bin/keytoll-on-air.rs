//! A station or an access point of ours at a monitor interface (`keytoll_interop::on_air`), for the guest of `interop/hwsim.sh`.

#![allow(clippy::print_stdout, reason = "a program that says what happened")]

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use keytoll_interop::on_air::{AccessPointOnAir, Kind, Network, Pings, StationOnAir, run};

/// Joins a network, or is its access point; exchanges echoes; prints what happened, a line each.
#[derive(Debug, Parser)]
struct Cli {
    /// Which side.
    side: Side,
    /// A monitor interface with `flags active` on the right channel, whose address is ours.
    interface: String,
    /// The name of the network.
    ssid: String,
    /// What protects it, such as open or wpa2-psk.
    #[arg(value_parser = kind)]
    kind: Kind,
    /// The passphrase or password.
    secret: String,
    /// Our IP address.
    own: IpAddr,
    /// That of the other side.
    peer: IpAddr,
    /// How many echoes are wanted.
    #[arg(long, default_value_t = 3)]
    echoes: u16,
    /// How long all of it may take, in seconds.
    #[arg(long, default_value_t = 12)]
    seconds: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Side {
    Station,
    AccessPoint,
}

fn kind(name: &str) -> Result<Kind, String> {
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| format!("one of {}", Kind::ALL.map(Kind::name).join(", ")))
}

fn main() -> io::Result<()> {
    let cli = Cli::parse();
    let network = Network { ssid: cli.ssid, kind: cli.kind, secret: cli.secret };
    let pings = Pings::new(cli.own, cli.peer, cli.echoes);
    let limit = Duration::from_secs(cli.seconds);
    let report = match cli.side {
        Side::Station => run(&cli.interface, limit, |own| StationOnAir::new(own, &network, pings))?,
        Side::AccessPoint => run(&cli.interface, limit, |own| AccessPointOnAir::new(own, &network, pings))?,
    };
    report.events.iter().for_each(|event| println!("{event}"));
    Ok(())
}
