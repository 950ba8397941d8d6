//! A flood of datagrams against a gateway or an AAA server, and genuine devices or stations that want in meanwhile.

use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};

use keytoll_daemons::Process;
use keytoll_interop::lab::GW_TOWARDS_AAA;
use keytoll_interop::{KeyKind, Lab, Node, Pki};
use serde::Serialize;

use crate::cases::Case;
use crate::contestants::asking;
use crate::flooder::{Sent, Victim};
use crate::handshakes::{one_by_one, outcome};
use crate::load::Outcome;
use crate::product::{self, Log};
use crate::siege::{self, Siege, Stage};
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

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    victim: String,
    flood: Sent,
    #[serde(flatten)]
    siege: Siege,
}

/// Floods, and says how everybody fared.
pub(crate) fn run(arguments: &Arguments) -> Result<Report> {
    let lab = Lab::new()?;
    let (flood, siege) = siege::lay(&Flooded::new(&lab, arguments)?)?;
    Ok(Report { victim: format!("{:?}", arguments.victim).to_lowercase(), flood, siege })
}

/// The victim and everything around it.
struct Flooded<'a> {
    lab: &'a Lab,
    arguments: &'a Arguments,
    process: Process,
}

impl<'a> Flooded<'a> {
    fn new(lab: &'a Lab, arguments: &'a Arguments) -> Result<Self> {
        Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
        let pki = lab.shared_dir().join("pki");
        let process = match arguments.victim {
            Victim::Gateway => product::gateway(lab, &Case::FLOODED, &pki, Log::Quiet)?,
            Victim::Aaa => product::aaa(lab, &pki)?,
        };
        Ok(Self { lab, arguments, process })
    }

    /// Sixteen addresses, among them, for RADIUS, the client's own.
    fn sources(&self) -> Result<(Node, Vec<Ipv4Addr>)> {
        let (node, cable, net) = match self.arguments.victim {
            Victim::Gateway => (Node::Ue, "eth0", 1),
            Victim::Aaa => (Node::Gw, "eth1", 2),
        };
        let mut sources: Vec<_> = (64..80).map(|host| Ipv4Addr::new(10, 99, net, host)).collect();
        for &address in &sources {
            self.lab.place(node).assign(cable, address.into(), 24)?;
        }
        if self.arguments.victim == Victim::Aaa {
            sources[0] = GW_TOWARDS_AAA;
        }
        Ok((node, sources))
    }

    fn stations(&self, count: u64) -> Result<Command> {
        let mut command = asking(self.lab, Node::Gw, "stations")?;
        command.args(["--local", &GW_TOWARDS_AAA.to_string(), "--remote", &Node::Aaa.outer().to_string()]);
        command.arg("--pki").arg(self.lab.shared_dir().join("pki"));
        command.args(["--count", &count.to_string(), "--window", "1"]);
        Ok(command)
    }
}

impl Stage for Flooded<'_> {
    fn victim(&self) -> &Process {
        &self.process
    }

    fn attack(&self) -> Result<Child> {
        let (node, sources) = self.sources()?;
        let from: Vec<_> = sources.iter().map(ToString::to_string).collect();
        let mut command = asking(self.lab, node, "flooder")?;
        let (victim, to) = match self.arguments.victim {
            Victim::Gateway => ("gateway", Node::Gw.outer()),
            Victim::Aaa => ("aaa", Node::Aaa.outer()),
        };
        command.args(["--victim", victim, "--to", &to.to_string(), "--from", &from.join(",")]);
        command.args([
            "--rate",
            &self.arguments.rate.to_string(),
            "--seconds",
            &self.arguments.seconds.to_string(),
        ]);
        command.args(["--ike", Case::FLOODED.ike]);
        Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
    }

    /// So many genuine ones, one after another.
    fn genuine(&self, count: u64) -> Result<Outcome> {
        match self.arguments.victim {
            Victim::Gateway => outcome(&mut one_by_one(self.lab, &Case::FLOODED, count)?),
            Victim::Aaa => outcome(&mut self.stations(count)?),
        }
    }
}
