//! A keytoll host in one namespace: the program `keytoll-live-peer`, told what to do in lines, asked what it told.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::eap::{Login, PASSWORD, RADIUS_SECRET};
use crate::lab::{GW_TOWARDS_AAA, Lab, Node};
use crate::pki::Pki;
use crate::run::{Trouble, line};
use crate::swanctl::{Auth, Terms};

/// How long anything may take; first retransmissions come after four seconds, second ones after eleven.
const LIMIT: Duration = Duration::from_secs(30);

/// The first virtual address our gateway gives away.
pub const POOL_FIRST: Ipv4Addr = Ipv4Addr::new(10, 98, 3, 1);

/// A running host.
#[derive(Debug)]
pub struct Peer {
    log: PathBuf,
    process: Child,
    stdin: ChildStdin,
    told: Receiver<String>,
    heard: Vec<String>,
}

impl Peer {
    /// Starts `program` (the built `keytoll-live-peer`) as this node and waits until it listens.
    pub fn start(
        lab: &Lab,
        node: Node,
        program: &str,
        terms: &Terms,
        pki: Option<&Pki>,
    ) -> Result<Self, Trouble> {
        let arguments = arguments(node, terms).into_iter().chain(credentials(node, terms, pki));
        Self::listening(lab.command(node, program), arguments, lab.dir(node).join("trace"))
    }

    /// Another device beside the first one, with a shared key.
    pub fn second_device(lab: &Lab, program: &str, terms: &Terms) -> Result<Self, Trouble> {
        let address = lab.second_device()?;
        // The last word about a thing counts.
        let own = arguments(Node::Ue, terms).into_iter().chain([format!("local={address}")]);
        let arguments = own.chain(credentials(Node::Ue, terms, None));
        Self::listening(lab.command(Node::Ue, program), arguments, lab.dir(Node::Ue).join("second-trace"))
    }

    fn listening(
        mut command: Command,
        arguments: impl Iterator<Item = String>,
        log: PathBuf,
    ) -> Result<Self, Trouble> {
        let stderr = File::create(&log)
            .map_err(|source| Trouble::File { what: format!("write {}", log.display()), source })?;
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut peer = Self::spawn(&mut command, log)
            .map_err(|source| Trouble::Start { command: line(&command), source })?;
        peer.expect("listening")?;
        Ok(peer)
    }

    fn spawn(command: &mut Command, log: PathBuf) -> io::Result<Self> {
        let mut process = command.spawn()?;
        let stdin = process.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { log, process, stdin, told: lines(stdout), heard: Vec::new() })
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

fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, told) = channel();
    thread::spawn(move || {
        BufReader::new(stdout).lines().map_while(io::Result::ok).try_for_each(|line| sender.send(line))
    });
    told
}

/// Who it is and what it shall agree to.
fn arguments(node: Node, terms: &Terms) -> Vec<String> {
    let peer = if node == Node::Ue { Node::Gw } else { Node::Ue };
    let own = [
        format!("role={}", node.name()),
        format!("local={}", terms.outer(node)),
        format!("remote={}", terms.outer(peer)),
        format!("id={}", node.id()),
        format!("peer_id={}", peer.id()),
        format!("ike={}", terms.ike),
        format!("esp={}", terms.esp),
        format!("inner={}", Node::Gw.inner()),
        format!("pool={POOL_FIRST}"),
    ];
    own.into_iter().chain(terms.keytoll.split_whitespace().map(str::to_owned)).collect()
}

fn credentials(node: Node, terms: &Terms, pki: Option<&Pki>) -> Vec<String> {
    match terms.auth {
        Auth::Psk => vec![format!("secret={}", terms.secret)],
        Auth::Certificate => files(node, pki),
        Auth::Eap(login) => eap(node, &login).into_iter().chain(files(node, pki)).collect(),
    }
}

fn files(node: Node, pki: Option<&Pki>) -> Vec<String> {
    let Some(pki) = pki else { return vec![] };
    let file = |key: &str, path: &Path| format!("{key}={}", path.display());
    vec![
        file("root", &pki.root_certificate()),
        file("certificate", &pki.certificate(node)),
        file("key", &pki.key(node)),
    ]
}

/// Each node's part in EAP. The AAA server always knows the right password.
fn eap(node: Node, login: &Login) -> Vec<String> {
    let resumption = format!("resumption={}", if login.resumption { "yes" } else { "no" });
    let radius_secret = format!("radius_secret={RADIUS_SECRET}");
    let user = |eap, password| vec![eap, format!("user={}", login.user()), format!("password={password}")];
    match node {
        Node::Ue => {
            let card = format!("sqn={}", login.sqn);
            user(format!("eap={}", login.method), login.password)
                .into_iter()
                .chain([card, resumption])
                .collect()
        }
        Node::Gw => vec![
            format!("aaa={}", Node::Aaa.outer()),
            format!("aaa_local={GW_TOWARDS_AAA}"),
            format!("asks_identity={}", if login.asks_identity { "yes" } else { "no" }),
            radius_secret,
        ],
        Node::Aaa => {
            let client = format!("client={GW_TOWARDS_AAA}");
            let offers = format!("eap={};{}", login.proposed, login.method);
            user(offers, PASSWORD).into_iter().chain([client, radius_secret, resumption]).collect()
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if thread::panicking() {
            // Straight to the terminal or the test's report: this trace is gone in a moment.
            let _ = io::stderr().write_all(self.last_words().as_bytes());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
