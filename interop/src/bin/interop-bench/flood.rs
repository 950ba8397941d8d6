//! A victim, a flood against it from a second process, and genuine devices or stations that want in meanwhile: how long
//! they take, before, during and after, and how much memory the victim has.

use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};

use keytoll_daemons::Process;
use keytoll_interop::lab::GW_TOWARDS_AAA;
use keytoll_interop::{KeyKind, Lab, Node, Pki};
use serde::Serialize;

use crate::cases::Case;
use crate::contestants::asking;
use crate::flooder::{Sent, Victim};
use crate::handshakes::{devices_one_by_one, outcome};
use crate::load::Outcome;
use crate::product::{self, Log};
use crate::trouble::Result;

/// What is done to whom.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Arguments {
    /// The victim.
    #[arg(value_enum)]
    victim: Victim,
    /// Datagrams a second.
    #[arg(long, default_value_t = 50_000)]
    rate: u64,
    /// For how long.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
}

/// How genuine ones fared.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Fared {
    /// How many got in.
    n: u64,
    /// How many did not.
    failed: u64,
    /// Messages that had to be said again.
    retransmissions: u64,
    /// How long they took.
    delay_ms: Delays,
}

/// Of how long they took.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Delays {
    p50: f64,
    p95: f64,
    max: f64,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    victim: String,
    flood: Sent,
    before: Fared,
    during: Fared,
    after: Fared,
    resident_before_bytes: u64,
    resident_after_bytes: u64,
    resident_max_bytes: u64,
    /// CPU time of the victim during the flood, as a share of one CPU.
    cpu_share: f64,
}

/// How many genuine ones come one after another before and after; during the flood as many as there is time for.
const CALM: u64 = 50;
/// How many of them one process is, during the flood.
const HANDFUL: u64 = 5;

/// Floods, and says how everybody fared.
pub(crate) fn run(arguments: &Arguments) -> Result<Report> {
    let lab = Lab::new()?;
    let stage = Stage::new(&lab, arguments)?;
    let before = stage.fare(CALM)?;
    let resident_before_bytes = stage.usage()?.resident_bytes;
    let cpu_before = stage.usage()?.cpu_ns;
    let mut flooder = stage.flood(arguments)?;
    let mut during = Vec::new();
    while flooder.try_wait()?.is_none() {
        during.push(stage.genuine(HANDFUL)?);
    }
    let output = flooder.wait_with_output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
    }
    let flood: Sent = serde_json::from_slice(&output.stdout)?;
    let cpu_share = (stage.usage()?.cpu_ns - cpu_before) as f64 / 1e9 / flood.seconds;
    let resident_after_bytes = stage.usage()?.resident_bytes;
    let after = stage.fare(CALM)?;
    Ok(Report {
        victim: format!("{:?}", arguments.victim).to_lowercase(),
        flood,
        before,
        during: Fared::of(&during),
        after,
        resident_before_bytes,
        resident_after_bytes,
        resident_max_bytes: stage.usage()?.resident_max_bytes,
        cpu_share,
    })
}

/// The victim and everything around it.
struct Stage<'a> {
    lab: &'a Lab,
    victim: Victim,
    process: Process,
}

impl<'a> Stage<'a> {
    fn new(lab: &'a Lab, arguments: &Arguments) -> Result<Self> {
        let victim = arguments.victim;
        Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
        let pki = lab.shared_dir().join("pki");
        let process = match victim {
            Victim::Gateway => product::gateway(lab, &Case::FLOODED, &pki, Log::Quiet)?,
            Victim::Aaa => product::aaa(lab, &pki)?,
        };
        Ok(Self { lab, victim, process })
    }

    fn usage(&self) -> Result<keytoll_daemons::Usage> {
        self.process.usage().ok_or_else(|| format!("it has ended: {}", self.process.last_words()).into())
    }

    /// Sixteen addresses, among them, for RADIUS, the client's own.
    fn sources(&self) -> Result<(Node, Vec<Ipv4Addr>)> {
        let (node, cable, net) = match self.victim {
            Victim::Gateway => (Node::Ue, "eth0", 1),
            Victim::Aaa => (Node::Gw, "eth1", 2),
        };
        let mut sources: Vec<_> = (64..80).map(|host| Ipv4Addr::new(10, 99, net, host)).collect();
        for &address in &sources {
            self.lab.place(node).assign(cable, address.into(), 24)?;
        }
        if self.victim == Victim::Aaa {
            sources[0] = GW_TOWARDS_AAA;
        }
        Ok((node, sources))
    }

    fn flood(&self, arguments: &Arguments) -> Result<Child> {
        let (node, sources) = self.sources()?;
        let from: Vec<_> = sources.iter().map(ToString::to_string).collect();
        let mut command = asking(self.lab, node, "flooder")?;
        let (victim, to) = match self.victim {
            Victim::Gateway => ("gateway", Node::Gw.outer()),
            Victim::Aaa => ("aaa", Node::Aaa.outer()),
        };
        command.args(["--victim", victim, "--to", &to.to_string(), "--from", &from.join(",")]);
        command.args(["--rate", &arguments.rate.to_string(), "--seconds", &arguments.seconds.to_string()]);
        command.args(["--ike", Case::FLOODED.ike]);
        Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
    }

    /// So many genuine ones, one after another.
    fn genuine(&self, count: u64) -> Result<Outcome> {
        match self.victim {
            Victim::Gateway => devices_one_by_one(self.lab, &Case::FLOODED, count),
            Victim::Aaa => outcome(&mut self.stations(count)?),
        }
    }

    fn stations(&self, count: u64) -> Result<Command> {
        let mut command = asking(self.lab, Node::Gw, "stations")?;
        command.args(["--local", &GW_TOWARDS_AAA.to_string(), "--remote", &Node::Aaa.outer().to_string()]);
        command.arg("--pki").arg(self.lab.shared_dir().join("pki"));
        command.args(["--count", &count.to_string(), "--window", "1"]);
        Ok(command)
    }

    fn fare(&self, count: u64) -> Result<Fared> {
        Ok(Fared::of(&[self.genuine(count)?]))
    }
}

impl Fared {
    fn of(outcomes: &[Outcome]) -> Self {
        let mut delays: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.delays_ns).copied().collect();
        delays.sort_unstable();
        let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum();
        Self {
            n: sum(|outcome| outcome.done),
            failed: sum(|outcome| outcome.failed),
            retransmissions: sum(|outcome| outcome.retransmissions),
            delay_ms: Delays { p50: at(&delays, 0.5), p95: at(&delays, 0.95), max: at(&delays, 1.0) },
        }
    }
}

/// A quantile of sorted nanoseconds, in milliseconds.
fn at(sorted: &[u64], fraction: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted.get((last * fraction).ceil() as usize).map_or(f64::NAN, |ns| *ns as f64 / 1e6)
}
