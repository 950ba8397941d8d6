//! A keytoll host in one namespace: the program `keytoll` with a node file of its own, told what to do in lines, asked
//! what it told.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use keytoll_daemons::Usage;
use keytoll_daemons::process::usage;
use serde_json::Value;

use crate::lab::{Lab, Node, Spot};
use crate::node_file;
use crate::pki::Pki;
use crate::run::{Trouble, line, wait_for};
use crate::swanctl::Terms;

/// How long anything may take; first retransmissions come after four seconds, second ones after eleven.
const LIMIT: Duration = Duration::from_secs(30);
/// How long one may take to end in good order: it closes its SAs first.
const FAREWELL: Duration = Duration::from_secs(10);

/// The files that a host writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outputs {
    Nothing,
    /// All packets, and the keys that decrypt them.
    Capture,
    /// Metrics for Prometheus.
    Metrics,
}

/// A running host.
#[derive(Debug)]
pub struct Peer {
    log: PathBuf,
    outputs: Outputs,
    process: Child,
    stdin: ChildStdin,
    told: Receiver<String>,
    heard: Vec<String>,
}

impl Peer {
    /// Starts `program` (the built `keytoll`) as this node and waits until it listens.
    pub fn start(
        lab: &Lab,
        node: Node,
        program: &str,
        terms: &Terms,
        pki: Option<&Pki>,
    ) -> Result<Self, Trouble> {
        Self::logging(lab, node, program, (terms, pki), ("debug", Outputs::Nothing))
    }

    /// The same, and it writes down what passes and the keys of it: `NODE.pcapng` and `NODE.keys` in its directory. Dropped, it
    /// ends in good order, so that nothing is missing there.
    pub fn captured(
        lab: &Lab,
        node: Node,
        program: &str,
        terms: &Terms,
        pki: Option<&Pki>,
    ) -> Result<Self, Trouble> {
        Self::logging(lab, node, program, (terms, pki), ("debug", Outputs::Capture))
    }

    /// The same with a shared key, and nothing in its trace but warnings: a trace costs time.
    pub fn quiet(lab: &Lab, node: Node, program: &str, terms: &Terms) -> Result<Self, Trouble> {
        Self::logging(lab, node, program, (terms, None), ("warn", Outputs::Nothing))
    }

    /// The same with any terms, and it writes its metrics for Prometheus, of which [`Self::crypto_ns`] is one.
    pub fn metered(
        lab: &Lab,
        node: Node,
        program: &str,
        terms: &Terms,
        pki: Option<&Pki>,
    ) -> Result<Self, Trouble> {
        Self::logging(lab, node, program, (terms, pki), ("warn", Outputs::Metrics))
    }

    /// With a level of its log.
    fn logging(
        lab: &Lab,
        node: Node,
        program: &str,
        (terms, pki): (&Terms, Option<&Pki>),
        (level, outputs): (&str, Outputs),
    ) -> Result<Self, Trouble> {
        let spot = lab.spot(node).beside(node.name(), terms.outer(node));
        Self::listening(&spot, program, level, &node_file::text(node, &spot.address, terms, pki), outputs)
    }

    /// Its process ID.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// CPU time of its cryptography until it last wrote its metrics, in nanoseconds; none unless it writes them.
    pub fn crypto_ns(&self) -> Option<u64> {
        let metrics = fs::read_to_string(self.log.with_extension("prom")).ok()?;
        let line = metrics.lines().find_map(|line| line.strip_prefix("keytoll_crypto_seconds_total "))?;
        Some((line.parse::<f64>().ok()? * 1e9) as u64)
    }

    /// What it has used so far; nothing if it has ended.
    pub fn usage(&self) -> Option<Usage> {
        usage(self.process.id())
    }

    /// Another device beside the first one, with a shared key.
    pub fn second_device(lab: &Lab, program: &str, terms: &Terms) -> Result<Self, Trouble> {
        let spot = lab.spot(Node::Ue).beside("second", lab.second_device()?.into());
        Self::listening(
            &spot,
            program,
            "debug",
            &node_file::text(Node::Ue, &spot.address, terms, None),
            Outputs::Nothing,
        )
    }

    /// A node with a file of the test's own.
    pub fn of_file(spot: &Spot, program: &str, text: &str) -> Result<Self, Trouble> {
        Self::listening(spot, program, "debug", text, Outputs::Nothing)
    }

    fn listening(
        spot: &Spot,
        program: &str,
        level: &str,
        text: &str,
        outputs: Outputs,
    ) -> Result<Self, Trouble> {
        let Spot { name, place, dir, address, verb } = spot;
        let file = dir.join(format!("{name}.toml"));
        fs::write(&file, text).map_err(|source| unwritable(&file, source))?;
        // The log of the first is where the lab looks for it.
        let log = dir.join(if dir.ends_with(name) { "trace".to_owned() } else { format!("{name}-trace") });
        let stderr = File::create(&log).map_err(|source| unwritable(&log, source))?;
        let mut command = place.command(program);
        command.arg(verb).arg(&file).args(["--control", "--log", level]);
        if *verb != "connect" {
            command.arg("--listen").arg(address.to_string());
        }
        match outputs {
            Outputs::Nothing => {}
            Outputs::Capture => drop(command.arg("--pcap").arg(dir.join(format!("{name}.pcapng")))),
            Outputs::Metrics => drop(command.arg("--prometheus-file").arg(log.with_extension("prom"))),
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut peer = Self::spawn(&mut command, log, outputs)
            .map_err(|source| Trouble::Start { command: line(&command), source })?;
        peer.expect("listening")?;
        Ok(peer)
    }

    fn spawn(command: &mut Command, log: PathBuf, outputs: Outputs) -> io::Result<Self> {
        let mut process = command.spawn()?;
        let stdin = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { log, outputs, process, stdin, told: lines(stdout), heard: Vec::new() })
    }

    /// Ends it as a power cut would.
    pub fn kill(mut self) {
        self.outputs = Outputs::Nothing;
    }

    /// Ends it in good order, if it does not take long.
    fn quit(&mut self) {
        if self.say("quit").is_ok() {
            let ended = || matches!(self.process.try_wait(), Ok(Some(_))).then_some(());
            // One that does not is killed, and its capture lacks the end: whoever reads that says so.
            let _ = wait_for("its end", FAREWELL, ended, String::new);
        }
    }

    /// Tells it to do something.
    pub fn say(&mut self, what: &str) -> Result<(), Trouble> {
        writeln!(self.stdin, "{what}")
            .map_err(|source| Trouble::File { what: format!("say {what:?}"), source })
    }

    /// Waits until it tells something that begins like this; gives the whole line. A failure ends the waiting.
    pub fn expect(&mut self, begins: &str) -> Result<String, Trouble> {
        let end = Instant::now() + LIMIT;
        loop {
            let told = self.told.recv_timeout(end.saturating_duration_since(Instant::now()));
            let Ok(told) = told else { return Err(self.trouble(begins, told.err())) };
            self.heard.push(told.clone());
            if told.starts_with(begins) {
                return Ok(told);
            }
            if told.starts_with("failed") {
                return Err(self.trouble(begins, None));
            }
        }
    }

    /// How many facts of its trace contain `words`.
    pub fn traced(&self, words: &str) -> usize {
        let trace = fs::read_to_string(&self.log).unwrap_or_default();
        trace.lines().filter(|line| line.contains(words)).count()
    }

    fn trouble(&self, awaited: &str, why: Option<RecvTimeoutError>) -> Trouble {
        let ended = if why == Some(RecvTimeoutError::Disconnected) { "it has ended; " } else { "" };
        let detail = format!("{ended}it told {:?}\n{}", self.heard, self.last_words());
        Trouble::Late { what: format!("{awaited:?} of the keytoll host"), limit: LIMIT, detail }
    }

    /// The end of its trace.
    pub fn last_words(&self) -> String {
        let trace = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = trace.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

fn unwritable(file: &Path, source: io::Error) -> Trouble {
    Trouble::File { what: format!("write {}", file.display()), source }
}

fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, told) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(io::Result::ok);
        lines.map(|line| shortened(&line)).try_for_each(|line| sender.send(line))
    });
    told
}

/// An event as tests write it: its name and what matters about it.
fn shortened(line: &str) -> String {
    let event: Value = serde_json::from_str(line).unwrap_or_default();
    let field = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
    match field("event").as_str() {
        "established" => format!(
            "established with {} at {} by {} address {}",
            field("peer"),
            field("remote"),
            field("suite"),
            field("address")
        ),
        "child-failed" => format!("failed child {}", field("why")),
        "refused" => format!("failed to obey: {}", field("why")),
        name @ ("closed" | "failed") => format!("{name} {}", field("why")),
        name => name.to_owned(),
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if thread::panicking() {
            // Straight to the terminal or the test's report: this trace is gone in a moment.
            let _ = io::stderr().write_all(self.last_words().as_bytes());
        }
        if self.outputs == Outputs::Capture {
            self.quit();
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
