//! Who stands where in each case, and what the victim's node file says.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use keytoll_daemons::Process;
use keytoll_interop::lab::GW_TOWARDS_AAA;
use keytoll_interop::{KeyKind, Lab, Node, Pki};
use serde_json::Value;

use super::{Arguments, Case};
use crate::cases;
use crate::contestants::asking;
use crate::handshakes::one_by_one;
use crate::load::Outcome;
use crate::product;
use crate::siege::Stage;
use crate::trouble::Result;

/// The victim, and who is needed besides.
pub(super) struct Scene<'a> {
    lab: &'a Lab,
    arguments: &'a Arguments,
    victim: Process,
    _beside: Option<Process>,
}

impl<'a> Scene<'a> {
    pub(super) fn set(lab: &'a Lab, arguments: &'a Arguments) -> Result<Self> {
        Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
        let pki = lab.shared_dir().join("pki");
        let gateway = |places: u64| {
            let more = format!("half_open_max = {places}\n");
            product::strained_gateway(lab, &cases::Case::FLOODED, &pki, &more)
        };
        let (victim, beside) = match arguments.case {
            Case::Cookies | Case::Children => (gateway(HALF_OPEN_MAX)?, None),
            Case::Refused => (gateway(FEW_HALF_OPEN_MAX)?, None),
            Case::Identifiers => {
                let aaa = product::aaa_without_hss(lab)?;
                (product::eap_gateway(lab, &pki, MANY_HALF_OPEN_MAX)?, Some(aaa))
            }
            Case::Connections => (product::hss(lab)?, None),
        };
        Ok(Self { lab, arguments, victim, _beside: beside })
    }

    /// What the victim gives to an attacker at a time.
    pub(super) const fn limit(&self) -> u64 {
        match self.arguments.case {
            // An eighth of the places is one address's.
            Case::Cookies => HALF_OPEN_MAX / 8,
            Case::Refused => FEW_HALF_OPEN_MAX / 8,
            // `children_max` of node files.
            Case::Children => 64,
            // An eighth of eight ports' identifiers.
            Case::Identifiers => 256,
            // `Streaming::strangers_max`.
            Case::Connections => 16,
        }
    }

    /// How often a second somebody attacks.
    const fn rate(&self) -> u64 {
        match self.arguments.case {
            Case::Cookies | Case::Refused | Case::Children => 500,
            // In the six seconds until the AAA server gives the HSS up, more than all eight ports have.
            Case::Identifiers => 600,
            Case::Connections => 200,
        }
    }

    /// Where attackers are: one address, or for the HSS sixteen.
    fn attackers(&self) -> Result<(Node, Vec<Ipv4Addr>)> {
        let (node, cable, net, hosts) = match self.arguments.case {
            Case::Connections => (Node::Gw, "eth1", 2, 64..80),
            _ => (Node::Ue, "eth0", 1, 64..65),
        };
        let addresses: Vec<_> = hosts.map(|host| Ipv4Addr::new(10, 99, net, host)).collect();
        for &address in &addresses {
            self.lab.place(node).assign(cable, address.into(), 24)?;
        }
        Ok((node, addresses))
    }

    fn inquirers(&self, count: u64) -> Result<Command> {
        let mut command = asking(self.lab, Node::Gw, "inquirers")?;
        command.args(["--local", &GW_TOWARDS_AAA.to_string(), "--remote", &Node::Aaa.outer().to_string()]);
        command.args(["--count", &count.to_string()]);
        Ok(command)
    }

    /// Devices with EAP are the product's own.
    fn connect(&self, count: u64) -> Result<Outcome> {
        let file = self.device_file()?;
        let mut command = asking(self.lab, Node::Ue, "connect")?;
        command.arg(file).args(["--json", "--count", &count.to_string(), "--interval", "0ms"]);
        let output = command.stdin(Stdio::null()).output()?;
        let told = serde_json::from_slice(&output.stdout);
        let words = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Ok(of_attempts(&told.map_err(|why| format!("{why}: {}", words()))?))
    }

    fn device_file(&self) -> Result<PathBuf> {
        let path = self.lab.dir(Node::Ue).join("node.toml");
        fs::write(&path, product::eap_device_file(&self.lab.shared_dir().join("pki")))?;
        Ok(path)
    }
}

/// Of places for half-open SAs, as many as usual.
const HALF_OPEN_MAX: u64 = 1000;
/// So few that more SAs linger than may, and refused ones are forgotten before their time.
const FEW_HALF_OPEN_MAX: u64 = 200;
/// So many that one address may have more half-open SAs than there are RADIUS identifiers.
const MANY_HALF_OPEN_MAX: u64 = 32_000;

/// What the product says of its attempts.
fn of_attempts(document: &Value) -> Outcome {
    let mut outcome = Outcome::default();
    for attempt in document["attempts"].as_array().into_iter().flatten() {
        outcome.retransmissions += attempt["retransmissions"].as_u64().unwrap_or_default();
        match attempt["delay_ms"].as_f64() {
            Some(delay_ms) if attempt["outcome"] == "connected" => {
                outcome.done += 1;
                outcome.delays_ns.push((delay_ms * 1e6) as u64);
            }
            _ => outcome.fail(attempt["failure"].as_str().unwrap_or("no SA")),
        }
    }
    outcome
}

/// What a load generator says, also of those that did not get in; one that ends in trouble brought nobody in.
fn counted(mut command: Command, count: u64) -> Result<Outcome> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout)?);
    }
    let why = Some(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    Ok(Outcome { failed: count, why, ..Outcome::default() })
}

impl Stage for Scene<'_> {
    fn victim(&self) -> &Process {
        &self.victim
    }

    fn attack(&self) -> Result<Child> {
        let (node, from) = self.attackers()?;
        let from: Vec<_> = from.iter().map(ToString::to_string).collect();
        let to = if node == Node::Gw { Node::Aaa.outer() } else { Node::Gw.outer() };
        let mut command = asking(self.lab, node, "attacker")?;
        command.args(["--case", &self.arguments.case.name(), "--to", &to.to_string()]);
        command.args(["--from", &from.join(",")]).arg("--pki").arg(self.lab.shared_dir().join("pki"));
        command.args(["--rate", &self.rate().to_string()]);
        command.args(["--seconds", &self.arguments.seconds.to_string()]);
        Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
    }

    fn genuine(&self, count: u64) -> Result<Outcome> {
        match self.arguments.case {
            Case::Connections => counted(self.inquirers(count)?, count),
            Case::Identifiers => self.connect(count),
            _ => counted(one_by_one(self.lab, &cases::Case::FLOODED, count)?, count),
        }
    }
}
