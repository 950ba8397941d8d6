//! IKE handshakes on one machine, one after another's turn: the same devices against every gateway, and every kind of
//! device against the same gateway. What a side costs is the CPU time of its process, divided by the handshakes.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use keytoll_daemons::Process;
use keytoll_interop::{KeyKind, Lab, Node, Pki};

use crate::cases::{Case, Proof};
use crate::contestants::{self, Gateway, asking, terms};
use crate::load::Outcome;
use crate::table::{Measured, Row};
use crate::trouble::Result;

/// How much is measured.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Plan {
    /// Rounds, in each of which everybody has a turn.
    #[arg(long, default_value_t = 10)]
    pub(crate) rounds: u64,
    /// Handshakes or authentications a turn.
    #[arg(long, default_value_t = 1000)]
    pub(crate) count: u64,
    /// How many of them at the same time.
    #[arg(long, default_value_t = 16)]
    pub(crate) window: u64,
}

impl Plan {
    /// A turn that fills caches and tables, and is not counted.
    pub(crate) fn warm_up(&self) -> u64 {
        (self.count / 5).max(1)
    }
}

/// What each gateway costs.
pub(crate) fn gateways(case: &Case, plan: &Plan) -> Result<Vec<Row>> {
    let mut stands = Vec::new();
    for &gateway in Gateway::for_case(case) {
        let lab = Lab::new()?;
        let pki = certificates(&lab, case)?;
        let process = gateway.start(&lab, case, &pki)?;
        stands.push(Stand { name: gateway.name(), process, lab, measured: Measured::default() });
    }
    for stand in &stands {
        devices(&stand.lab, case, plan.warm_up(), plan)?;
    }
    for round in 0..plan.rounds {
        for turn in turns(stands.len(), round) {
            let stand = &mut stands[turn];
            let before = cpu_ns(&stand.process);
            let outcome = devices(&stand.lab, case, plan.count, plan)?;
            let spent = cpu_ns(&stand.process) - before;
            stand.measured.add(spent, &outcome);
        }
    }
    stands.into_iter().map(Stand::row).collect()
}

/// What it has used so far.
fn cpu_ns(process: &Process) -> u64 {
    process.usage().unwrap_or_default().cpu_ns
}

/// The most memory it had.
fn peak_bytes(process: &Process) -> u64 {
    process.usage().unwrap_or_default().resident_max_bytes
}

/// Whose turn it is in a round; each begins with another one.
pub(crate) fn turns(count: usize, round: u64) -> impl Iterator<Item = usize> {
    let first = usize::try_from(round).unwrap_or(0);
    (0..count).map(move |turn| (first + turn) % count)
}

/// Somebody who is measured, where he is, and what he has cost so far.
struct Stand {
    name: &'static str,
    process: Process,
    lab: Lab,
    measured: Measured,
}

impl Stand {
    fn row(self) -> Result<Row> {
        Ok(Row::new(self.name, &self.measured, peak_bytes(&self.process)))
    }
}

fn certificates(lab: &Lab, case: &Case) -> Result<std::path::PathBuf> {
    if case.proof == Proof::Rsa2048 {
        Pki::make(lab.shared_dir(), KeyKind::Rsa2048)?;
    }
    Ok(lab.shared_dir().join("pki"))
}

/// Our devices, in their place of a lab; all of them must get in.
fn devices(lab: &Lab, case: &Case, count: u64, plan: &Plan) -> Result<Outcome> {
    outcome(&mut crowd(lab, case, count, plan)?)
}

fn crowd(lab: &Lab, case: &Case, count: u64, plan: &Plan) -> Result<Command> {
    let mut command = asking(lab, Node::Ue, "devices")?;
    command.args(["--local", &Node::Ue.outer().to_string(), "--remote", &Node::Gw.outer().to_string()]);
    command.args(["--count", &count.to_string(), "--window", &plan.window.to_string()]);
    terms(&mut command, case, &lab.shared_dir().join("pki"));
    Ok(command)
}

/// Our devices, each when the one before is gone.
pub(crate) fn one_by_one(lab: &Lab, case: &Case, count: u64) -> Result<Command> {
    crowd(lab, case, count, &Plan { rounds: 1, count, window: 1 })
}

/// Runs a load generator; fails if anything of its load failed.
pub(crate) fn outcome(command: &mut Command) -> Result<Outcome> {
    let output = command.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
    }
    let outcome: Outcome = serde_json::from_slice(&output.stdout)?;
    if outcome.failed > 0 || outcome.why.is_some() {
        return Err(format!("not everybody got in: {outcome:?}").into());
    }
    Ok(outcome)
}

/// What each kind of device costs, against our gateway.
pub(crate) fn initiators(case: &Case, plan: &Plan) -> Result<Vec<Row>> {
    let lab = Lab::new()?;
    let pki = certificates(&lab, case)?;
    let _gateway = Gateway::Keytoll.start(&lab, case, &pki)?;
    let tester = LoadTester::start(case, plan)?;
    let mut ours = Measured::default();
    let mut theirs = Measured::default();
    devices(&lab, case, plan.warm_up(), plan)?;
    tester.run(plan.warm_up())?;
    for _ in 0..plan.rounds {
        let outcome = devices(&lab, case, plan.count, plan)?;
        ours.add(outcome.cpu_ns, &outcome);
        let outcome = tester.run(plan.count)?;
        theirs.add(outcome.cpu_ns, &outcome);
    }
    let peak = peak_bytes(&tester.process);
    Ok(vec![Row::new("keytoll", &ours, 0), Row::new("strongSwan's load-tester, fastest", &theirs, peak)])
}

/// strongSwan's load-tester against a gateway of ours, in a lab of its own.
struct LoadTester {
    process: Process,
    _gateway: Process,
    lab: Lab,
    window: u64,
}

impl LoadTester {
    fn start(case: &Case, plan: &Plan) -> Result<Self> {
        let lab = Lab::new()?;
        let pki = certificates(&lab, case)?;
        let gateway = Gateway::Keytoll.start(&lab, case, &pki)?;
        let dir = lab.dir(Node::Ue);
        let tester = contestants::load_tester(case, &dir, &pki);
        std::fs::write(dir.join("strongswan.conf"), contestants::fastest(case, &dir, &tester))?;
        let process = contestants::load_tester_process(&lab, &dir)?;
        Ok(Self { process, _gateway: gateway, lab, window: plan.window })
    }

    /// So many handshakes, a window's worth at a time: it starts all it is asked for at once.
    fn run(&self, count: u64) -> Result<Outcome> {
        let (begin, before) = (Instant::now(), cpu_ns(&self.process));
        let mut outcome = Outcome::default();
        while outcome.done < count {
            let told = ask(&self.lab.dir(Node::Ue).join("load"), self.window.min(count - outcome.done))?;
            let times = |sign| told.matches(sign).count() as u64;
            if times('-') + times('!') > 0 {
                return Err(format!("strongSwan's load-tester told {told:?}").into());
            }
            outcome.done += times('+');
            outcome.retransmissions += times('*');
        }
        outcome.wall_ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        outcome.cpu_ns = cpu_ns(&self.process) - before;
        Ok(outcome)
    }
}

/// Its control socket takes a number and answers with a sign for everything that happens: `.` started, `+` established,
/// `-` failed, `!` not started, `*` said again.
fn ask(socket: &Path, count: u64) -> Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    writeln!(stream, "{count}")?;
    let mut told = String::new();
    stream.read_to_string(&mut told)?;
    Ok(told)
}
