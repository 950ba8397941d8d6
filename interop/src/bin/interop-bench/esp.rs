//! ESP in user space on one machine: TCP between two places, through SAs of our program, through SAs of strongSwan's
//! kernel-libipsec, and through bare forwarding, one after another's turn. Every interface has the same MTU.

use std::process::Command;

use keytoll_daemons::charon::Config;
use keytoll_daemons::{Process, Usage};
use keytoll_interop::run::finish;
use keytoll_interop::{Lab, Node, Peer, Terms};
use serde_json::Value;

use crate::contestants::start;
use crate::handshakes::turns;
use crate::throughput::{Comparison, HEAD, Measured, Row, Turn};
use crate::trouble::Result;

const IKE: &str = "aes128-sha256-x25519";
/// As both programs write them.
const SUITES: [&str; 3] = ["aes128gcm16", "chacha20poly1305", "aes128-sha256"];
/// What kernel-libipsec gives its interface, and cannot be told otherwise.
const MTU_BYTES: u16 = 1400;
/// Our interfaces, the device's address being what the gateway assigns.
const AT_GATEWAY: &str =
    "tun = { name = \"kt0\", address = \"10.98.2.2/32\", routes = \"10.98.3.0/24\", mtu = 1400 }";
const AT_DEVICE: &str = "tun = { name = \"kt0\", routes = \"10.98.2.0/24\", mtu = 1400 }";
/// Of bare forwarding.
const PORT: u16 = 4000;

/// How much is measured.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Rounds, in each of which everybody has a turn.
    #[arg(long, default_value_t = 6)]
    rounds: u64,
    /// How long a turn takes.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Only suites whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Measures every suite.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut found = Vec::new();
    if !arguments.json {
        print!("{HEAD}");
    }
    for suite in SUITES.into_iter().filter(|suite| suite.contains(&arguments.only)) {
        let comparison = compare(suite, arguments)?;
        if !arguments.json {
            print!("{}", comparison.markdown());
        }
        found.push(comparison);
    }
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    }
    Ok(())
}

fn compare(suite: &'static str, arguments: &Arguments) -> Result<Comparison> {
    let mut stands = [
        Stand::new("keytoll", |lab| keytoll(lab, suite))?,
        Stand::new("strongSwan, kernel-libipsec", |lab| charon(lab, suite))?,
        Stand::new("bare forwarding", forwarding)?,
    ];
    for stand in &stands {
        stand.turn(1)?;
    }
    for round in 0..arguments.rounds {
        for turn in turns(stands.len(), round) {
            let measured = stands[turn].turn(arguments.seconds)?;
            stands[turn].measured.add(measured);
        }
    }
    let rows = stands.iter().map(|stand| Row::new(stand.name, &stand.measured)).collect();
    Ok(Comparison { suite, rows })
}

/// Two ends that carry packets between their places.
enum Ends {
    Keytoll([Peer; 2]),
    Charon([keytoll_daemons::Charon; 2]),
    Forwarding([Process; 2]),
}

impl Ends {
    fn cpu_ns(&self) -> Result<u64> {
        let used: [Option<Usage>; 2] = match self {
            Self::Keytoll(ends) => ends.each_ref().map(Peer::usage),
            Self::Charon(ends) => ends.each_ref().map(keytoll_daemons::Charon::usage),
            Self::Forwarding(ends) => ends.each_ref().map(Process::usage),
        };
        used.into_iter()
            .map(|used| used.map(|used| used.cpu_ns).ok_or_else(|| "an end has ended".into()))
            .sum()
    }
}

/// Somebody who is measured, where he is, and what came of it so far.
struct Stand {
    name: &'static str,
    ends: Ends,
    _server: Process,
    lab: Lab,
    measured: Measured,
}

impl Stand {
    fn new(name: &'static str, ends: impl Fn(&Lab) -> Result<Ends>) -> Result<Self> {
        let lab = Lab::new()?;
        let ends = ends(&lab)?;
        let server = server(&lab)?;
        Ok(Self { name, ends, _server: server, lab, measured: Measured::default() })
    }

    /// TCP from the device to the gateway.
    fn turn(&self, seconds: u64) -> Result<Turn> {
        let before = self.ends.cpu_ns()?;
        let mut client = self.lab.command(Node::Ue, "iperf3");
        client.arg("-c").arg(Node::Gw.inner().to_string()).args(["-J", "-t", &seconds.to_string()]);
        let report: Value = serde_json::from_str(&finish(&mut client)?)?;
        let received = &report["end"]["sum_received"];
        let read = |bytes: &Value, seconds: &Value| Some((bytes.as_u64()?, seconds.as_f64()?));
        let (bytes, seconds) = read(&received["bytes"], &received["seconds"])
            .filter(|(bytes, _)| *bytes > 0)
            .ok_or_else(|| format!("{}: iperf3 told {report}", self.name))?;
        Ok(Turn { bytes, seconds, cpu_ns: self.ends.cpu_ns()? - before })
    }
}

/// Answers must come from the address that was asked, not from the interface's own.
fn server(lab: &Lab) -> Result<Process> {
    let mut command = lab.command(Node::Gw, "iperf3");
    command.args(["-s", "-B"]).arg(Node::Gw.inner().to_string());
    // The third place has no program that writes there.
    start("iperf3", command, &lab.dir(Node::Aaa), |_| {
        let listening = finish(lab.command(Node::Gw, "ss").args(["-Hltn", "sport", "=", "5201"]));
        listening.is_ok_and(|found| !found.is_empty())
    })
}

fn keytoll(lab: &Lab, suite: &'static str) -> Result<Ends> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let terms = |keytoll| Terms { keytoll, ..Terms::psk(IKE, suite) };
    let gateway = Peer::quiet(lab, Node::Gw, &program, &terms(AT_GATEWAY))?;
    let mut device = Peer::quiet(lab, Node::Ue, &program, &terms(AT_DEVICE))?;
    device.say("echo")?;
    device.expect("echo-reply")?;
    Ok(Ends::Keytoll([device, gateway]))
}

fn charon(lab: &Lab, suite: &'static str) -> Result<Ends> {
    let start = |node| -> Result<_> {
        let config = Config { logs: false, ..Terms::psk(IKE, suite).charon(node, None)? };
        Ok(keytoll_daemons::Charon::start(&lab.place(node), &lab.dir(node), &config)?)
    };
    let gateway = start(Node::Gw)?;
    let device = start(Node::Ue)?;
    device.initiate()?;
    same_mtu(lab)?;
    Ok(Ends::Charon([device, gateway]))
}

/// Fails where another version of strongSwan has another opinion: packets of another size cost something else.
fn same_mtu(lab: &Lab) -> Result<()> {
    let shown = finish(lab.command(Node::Ue, "ip").args(["link", "show", "ipsec0"]))?;
    if shown.contains(&format!(" mtu {MTU_BYTES} ")) {
        return Ok(());
    }
    Err(format!("strongSwan's interface has not an MTU of {MTU_BYTES}: {shown}").into())
}

fn forwarding(lab: &Lab) -> Result<Ends> {
    let gateway = forward(lab, Node::Gw, Node::Ue)?;
    let device = forward(lab, Node::Ue, Node::Gw)?;
    lab.place(Node::Gw).ip("route add 10.98.3.0/24 dev kt0")?;
    lab.place(Node::Ue).ip("address add 10.98.3.1/32 dev kt0")?;
    lab.place(Node::Ue).ip("route add 10.98.2.0/24 dev kt0")?;
    Ok(Ends::Forwarding([device, gateway]))
}

fn forward(lab: &Lab, node: Node, peer: Node) -> Result<Process> {
    let mut command: Command = lab.command(node, &std::env::current_exe()?.to_string_lossy());
    command.args(["forward", "--tun", "kt0", "--local"]).arg(format!("{}:{PORT}", node.outer()));
    command.arg("--remote").arg(format!("{}:{PORT}", peer.outer()));
    let process = start("forwarding", command, &lab.dir(node), |printed| printed.contains("open"))?;
    lab.place(node).ip(&format!("link set kt0 mtu {MTU_BYTES} up"))?;
    Ok(process)
}
