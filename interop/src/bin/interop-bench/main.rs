//! What an authentication costs, beside the programs that the field runs: CPU time per IKEv2 handshake of our gateway and
//! devices beside strongSwan's, per EAP-TLS authentication of our AAA server beside FreeRADIUS's and hostapd's; and what a
//! gigabit of ESP costs.
//!
//! ```text
//!   interop-bench ike | eap-tls    --starts--> who is measured (CPU 1), load generator (CPU 0), both in a lab
//!   interop-bench esp              --starts--> two ends each in a lab, iperf3 between them
//!   interop-bench daemon           --starts--> two keytoll and two libreswan, from their start to their end
//!   interop-bench flood | exhaust    --starts--> a victim, who attacks it, and genuine ones
//!   interop-bench gateway | connect | aaa | hss    as `keytoll` itself: what is measured of ourselves
//!   interop-bench devices | stations    our load generators
//! ```
//!
//! All contestants run at the same time and take turns under load, so that whatever happens to the machine happens to
//! all. `bench/RESULTS.md` shows what came of it.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program that measures real time, floods sockets and prints"
)]

mod authentications;
mod cases;
mod contestants;
mod daemon;
mod devices;
mod esp;
mod exhaust;
mod flood;
mod flooder;
mod forward;
mod handshakes;
mod ike;
mod initiator;
mod load;
mod product;
mod siege;
mod stations;
mod table;
mod throughput;
mod trouble;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde::Serialize;

use crate::cases::Case;
use crate::contestants::take_place;
use crate::handshakes::Plan;
use crate::product::VERBS;
use crate::table::{Comparison, HEAD};
use crate::trouble::Result;

/// Measures CPU time per authentication beside other programs; wants root and interop/setup.sh.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// IKEv2: gateways under the same devices, then devices against the same gateway.
    Ike(What),
    /// EAP-TLS: AAA servers under the same stations.
    EapTls(What),
    /// ESP in user space: TCP through a TUN interface, beside strongSwan's kernel-libipsec and bare forwarding.
    Esp(esp::Arguments),
    /// Start, connection, termination and stop of daemons with IKEv1, keytoll and libreswan, and the share of cryptography.
    Daemon(daemon::Arguments),
    /// Bare forwarding.
    #[command(hide = true)]
    Forward(forward::Arguments),
    /// Our stations, as the load.
    #[command(hide = true)]
    Stations(stations::Stations),
    /// Bad input: a flood against our gateway or AAA server, while genuine devices want in.
    Flood(flood::Arguments),
    /// The flood.
    #[command(hide = true)]
    Flooder(flooder::Flood),
    /// What a victim has little of is used up by strangers or by one peer, while genuine ones want in.
    Exhaust(exhaust::Arguments),
    /// Who uses it up.
    #[command(hide = true)]
    Attacker(exhaust::Attacker),
    /// Genuine hosts that ask an HSS.
    #[command(hide = true)]
    Inquirers(exhaust::Inquirers),
    /// Our devices, as the load.
    #[command(hide = true)]
    Devices(devices::Devices),
}

#[derive(Debug, clap::Args)]
struct What {
    #[command(flatten)]
    plan: Plan,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|verb| VERBS.contains(&verb.as_str())) {
        return keytoll_cli::main();
    }
    match run(Cli::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("failed to measure: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(verb: Verb) -> Result<()> {
    match verb {
        Verb::Ike(what) => ike(&what),
        Verb::EapTls(what) => eap_tls(&what),
        Verb::Esp(arguments) => esp::run(&arguments),
        Verb::Daemon(arguments) => daemon::run(&arguments),
        Verb::Forward(arguments) => forward::run(&arguments),
        Verb::Flood(arguments) => tell(&flood::run(&arguments)?),
        Verb::Flooder(flood) => tell(&flooder::run(&flood)?),
        Verb::Exhaust(arguments) => tell(&exhaust::run(&arguments)?),
        Verb::Attacker(attacker) => tell(&exhaust::attack(&attacker)?),
        Verb::Inquirers(inquirers) => tell(&exhaust::inquire(&inquirers)?),
        Verb::Devices(devices) => tell(&devices::run(&devices)?),
        Verb::Stations(stations) => tell(&stations::run(&stations)?),
    }
}

/// To the process that measures.
fn tell(outcome: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string(outcome)?);
    Ok(())
}

fn ike(what: &What) -> Result<()> {
    take_place()?;
    let mut told = Told::new(what);
    for case in Case::ALL.iter().filter(|case| case.to_string().contains(&what.only)) {
        let rows = handshakes::gateways(case, &what.plan)?;
        told.add(Comparison { what: case.to_string(), side: "responder", aim: case.aim, rows });
        if case.esp.is_some() {
            let rows = handshakes::initiators(case, &what.plan)?;
            told.add(Comparison { what: case.to_string(), side: "initiator", aim: case.aim, rows });
        }
    }
    told.end()
}

fn eap_tls(what: &What) -> Result<()> {
    take_place()?;
    let mut told = Told::new(what);
    for &length in &authentications::CHAINS {
        if authentications::name(length).contains(&what.only) {
            told.add(authentications::servers(length, &what.plan)?);
        }
    }
    told.end()
}

/// What was found: rows of a table as they come, or JSON at the end.
struct Told {
    json: bool,
    found: Vec<Comparison>,
}

impl Told {
    fn new(what: &What) -> Self {
        if !what.json {
            print!("{HEAD}");
        }
        Self { json: what.json, found: Vec::new() }
    }

    fn add(&mut self, comparison: Comparison) {
        if !self.json {
            print!("{}", comparison.markdown());
        }
        self.found.push(comparison);
    }

    fn end(&self) -> Result<()> {
        if self.json {
            println!("{}", serde_json::to_string_pretty(&self.found)?);
        }
        Ok(())
    }
}
