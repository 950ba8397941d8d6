//! Arguments of what runs on real sockets: nodes, and loads.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use keytoll_scenario::node::load::Condition;
use keytoll_scenario::population::Rate;
use tracing_subscriber::filter::Targets;

use crate::live::FACT;

use super::number::{duration, some_duration, whole};

/// Arguments of `gateway`, `aaa` and `hss`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Listen there instead of the address in the file; required for any address other than loopback.
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = listen)]
    pub(crate) listen: Option<Listen>,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
}

/// Where what runs shows its metrics.
#[derive(Debug, Default, Args)]
pub(crate) struct MetricsArgs {
    /// Show metrics for Prometheus on this port of the loopback interface while it runs.
    #[arg(long, value_name = "ADDR:PORT", value_parser = loopback)]
    pub(crate) prometheus: Option<SocketAddr>,
    /// Write metrics for Prometheus into this file every second.
    #[arg(long, value_name = "FILE")]
    pub(crate) prometheus_file: Option<PathBuf>,
}

impl MetricsArgs {
    /// Whether anybody wants them.
    pub(crate) const fn are_wanted(&self) -> bool {
        self.prometheus.is_some() || self.prometheus_file.is_some()
    }

    /// The option of the file, and the file.
    pub(crate) fn output(&self) -> (&'static str, Option<&Path>) {
        ("--prometheus-file", self.prometheus_file.as_deref())
    }
}

/// Arguments of `connect`.
#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// How often to connect.
    #[arg(long, value_name = "N", default_value = "1", conflicts_with_all = ["stay", "control"], allow_negative_numbers = true, value_parser = whole::<NonZeroU32>(1, u32::MAX.into()))]
    pub(crate) count: NonZeroU32,
    /// Time between the end of one connection and the start of the next, like `200ms` or `1.5s`.
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "count", value_parser = duration)]
    pub(crate) interval: Duration,
    /// Begin this often instead, like `5/s`, if the connection before is over; delays count from when one should have begun.
    #[arg(long, value_name = "RATE", requires = "count", conflicts_with_all = ["interval", "stay", "control"], value_parser = Rate::read_some)]
    pub(crate) rate: Option<Rate>,
    /// Timeout of one connection.
    #[arg(long, value_name = "TIME", default_value = "180s", value_parser = some_duration)]
    pub(crate) within: Duration,
    /// Keep the SA until Ctrl-C, then delete it.
    #[arg(long)]
    pub(crate) stay: bool,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
}

/// Arguments of `load`.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// The load file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Threads, each with its share of devices and sockets of its own.
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = whole::<NonZeroU32>(1, 1024))]
    pub(crate) workers: NonZeroU32,
    /// Seed of the schedule: who begins when and stays how long. Keys and nonces are always random [default: random].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>(0, u64::MAX))]
    pub(crate) seed: Option<u64>,
    /// Fail if this is so, like `delay.p99 > 300ms`, `failed > 1%` or `rate < 450/s`; can be repeated, and is added to
    /// the file's `fail_if`.
    #[arg(long = "fail-if", value_name = "CONDITION", value_parser = Condition::read)]
    pub(crate) fail_if: Vec<Condition>,
    /// Directory for the results [default: runs/NAME].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the previous results instead of keeping them beside the new ones.
    #[arg(long)]
    pub(crate) force: bool,
    /// Also write the verdict and the conditions as a JUnit file.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Write the packets of all devices into this file, for Wireshark, and the keys into a directory of that name with the
    /// extension `keys`. This takes CPU time of the workers.
    #[arg(long, value_name = "PCAPNG")]
    pub(crate) pcap: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,
    /// Print load.json instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
}

impl LoadArgs {
    /// The directory for the results.
    pub(crate) fn out_dir(&self) -> PathBuf {
        let name = self.file.file_stem().unwrap_or("load".as_ref());
        self.out.clone().unwrap_or_else(|| Path::new("runs").join(name))
    }
}

/// Options of all nodes on real sockets.
#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// The node file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print JSON: a line for every event; for `connect` one document at the end.
    #[arg(long)]
    pub(crate) json: bool,
    /// Which log lines go to stderr: `error`, `warn`, `info`, `debug`, `trace`, or a filter like
    /// `info,fact=debug`.
    #[arg(long, value_name = "LEVEL", env = "KEYTOLL_LOG", hide_env = true, value_parser = log_filter)]
    pub(crate) log: Option<Targets>,
    /// Take commands from stdin, one a line: echo, rekey-ike, rekey-child, create-child, probe, delete,
    /// quit. Every event becomes a line of JSON on stdout.
    #[arg(long)]
    pub(crate) control: bool,
    /// Write the packets of all sockets into this file, for Wireshark, and the keys into a directory beside it.
    #[arg(long, value_name = "PCAPNG")]
    pub(crate) pcap: Option<PathBuf>,
}

/// An address of this machine's own, and a port.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "expected an IP address and a port, like 127.0.0.1:9400".to_owned())?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        let port = address.port();
        Err(format!("metrics are shown on this machine alone, expected one like 127.0.0.1:{port}"))
    }
}

/// Levels and `TARGET=LEVEL`, with commas. An empty part would be the level `error`, and an unknown target would silence the log.
fn log_filter(text: &str) -> Result<Targets, String> {
    let is_known = |part: &str| match part.split_once('=') {
        Some((target, level)) => LOG_TARGETS.contains(&target) && LOG_LEVELS.contains(&level),
        None => LOG_LEVELS.contains(&part),
    };
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if let Some(wrong) = parts.iter().find(|part| !is_known(part)) {
        return Err(format!(
            "`{wrong}` is no level; expected {}, or a filter like `info,fact=debug` with the targets {}",
            listed(&LOG_LEVELS),
            listed(&LOG_TARGETS)
        ));
    }
    parts.join(",").parse::<Targets>().map_err(|error| error.to_string())
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Levels of log lines, each with those before it.
const LOG_LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// The log targets: facts about packets, and events of a node.
const LOG_TARGETS: [&str; 2] = [FACT, "keytoll"];

/// The listening address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listen {
    pub(crate) ip: IpAddr,
    pub(crate) port: Option<u16>,
}

fn listen(text: &str) -> Result<Listen, String> {
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return Ok(Listen { ip: socket.ip(), port: Some(socket.port()) });
    }
    let ip = text.trim_matches(['[', ']']).parse();
    ip.map(|ip| Listen { ip, port: None })
        .map_err(|_| "expected an IP address, with or without a port, like 192.0.2.1:500".to_owned())
}
