//! The processes of our own nodes, as the parent holds them: started once for the whole plan, told row after row.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{env, thread};

use keytoll_scenario::Plan;
use keytoll_trace::Node;

use super::message::{Ask, Start, Tell};
use super::testbed::{LiveError, Testbed};

/// The hidden verb that makes our program one node.
const VERB: &str = "node";
/// How long an answer may take: keys are made in it, and an authentication may fail after all its retransmissions.
const PATIENCE: Duration = Duration::from_secs(600);

/// The process of one node.
pub(super) struct Process {
    node: Node,
    child: Child,
    stdin: Option<ChildStdin>,
    tells: Receiver<Tell>,
}

impl Process {
    /// Starts our own program as this node.
    pub(super) fn start(
        plan: &Plan,
        node: Node,
        testbed: &Testbed,
        origin_ns: u64,
        captures: Option<(PathBuf, u32)>,
    ) -> Result<Self, LiveError> {
        let failed = |why: io::Error| LiveError::Node { node: node.name(), why: why.to_string() };
        let program = env::current_exe().map_err(failed)?;
        let mut command = testbed.place(node).command(&program.to_string_lossy());
        command.arg(VERB).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.ok_or(io::ErrorKind::BrokenPipe).map_err(|kind| failed(kind.into()))?;
        let mut process = Self { node, child, stdin: Some(stdin), tells: tells(stdout) };
        let (plan, dir) = (plan.to_toml(), testbed.folder(node)?);
        process.write(&Start {
            plan,
            node,
            origin_ns,
            placement: testbed.placement.clone(),
            dir,
            captures,
        })?;
        Ok(process)
    }

    /// Which node it is.
    pub(super) const fn node(&self) -> Node {
        self.node
    }

    /// Asks without waiting for an answer.
    pub(super) fn ask(&mut self, ask: &Ask) -> Result<(), LiveError> {
        self.write(ask)
    }

    fn write(&mut self, what: &impl serde::Serialize) -> Result<(), LiveError> {
        let Some(stdin) = &mut self.stdin else { return Err(self.trouble("it has been told to end")) };
        let text = serde_json::to_string(what).expect("our own messages are JSON");
        let written = writeln!(stdin, "{text}").and_then(|()| stdin.flush());
        written.map_err(|why| self.trouble(&why.to_string()))
    }

    /// The next thing it tells.
    pub(super) fn hear(&mut self) -> Result<Tell, LiveError> {
        match self.tells.recv_timeout(PATIENCE) {
            Ok(Tell::Trouble(why)) => Err(LiveError::Node { node: self.node.name(), why }),
            Ok(tell) => Ok(tell),
            Err(_) => Err(self.trouble("it has ended, or says nothing any more")),
        }
    }

    /// Asks, and waits until it is done.
    pub(super) fn done(&mut self, ask: &Ask) -> Result<(), LiveError> {
        self.ask(ask)?;
        match self.hear()? {
            Tell::Ready => Ok(()),
            other => Err(self.trouble(&format!("it tells {other:?}"))),
        }
    }

    pub(super) fn trouble(&self, why: &str) -> LiveError {
        LiveError::Node { node: self.node.name(), why: why.to_owned() }
    }
}

fn tells(stdout: ChildStdout) -> Receiver<Tell> {
    let (sender, tells) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let said = lines.map_while(|line| serde_json::from_str(&line).ok());
        for tell in said {
            if sender.send(tell).is_err() {
                return;
            }
        }
    });
    tells
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends when its input does; what hangs is killed.
        drop(self.stdin.take());
        for _ in 0..50 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
