//! ryke-peer, the program around ryke: whether it can run, as a gateway until it is dropped, and as a device until it ends.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::lab::{Lab, Node};
use crate::pki::Pki;
use crate::require;
use crate::run::{Trouble, finish, line, wait_for, words};

/// The built program.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/ryke/release/ryke-peer");
/// Why crates.io could not be reached when it was to be built.
const UNREACHABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/ryke/unreachable");
/// Time for a line of its log; it waits eight seconds for a response.
const LIMIT: Duration = Duration::from_secs(20);

/// A lab in which ryke can run; or nothing, with a notice. No other program of `interop/setup.sh` is needed.
///
/// # Panics
/// In CI, if the tests cannot run for any reason other than that crates.io could not be reached.
pub fn lab_or_skip() -> Option<Lab> {
    let is_built = Path::new(PROGRAM).exists();
    if let Ok(why) = fs::read_to_string(UNREACHABLE)
        && !is_built
    {
        require::notice(&format!("no ryke 0.3.0, because crates.io could not be reached: {}", why.trim()));
        return None;
    }
    let missing = || format!("{PROGRAM} is missing (of interop/build-ryke.sh); run interop/setup.sh as root");
    require::run_or_skip(|| (!is_built).then(missing), Lab::new)
}

/// `key=value` words of ryke-peer.
pub(super) fn word(key: &str, value: impl Display) -> String {
    format!("{key}={value}")
}

/// What ryke shows on a node, and the authority that it trusts, converted to DER, which is all that it reads.
pub(super) fn credential(pki: &Pki, node: Node) -> Result<Vec<String>, Trouble> {
    let converted = |what: &str, path: PathBuf, how: &str| {
        let der = path.with_extension(format!("{what}.der"));
        let command = format!("openssl {how} -in {} -outform DER -out {}", path.display(), der.display());
        finish(&mut words(&command)).map(|_| word(what, der.display()))
    };
    let mut words = vec![
        converted("certificate", pki.certificate(node), "x509")?,
        converted("key", pki.key(node), "pkcs8 -topk8 -nocrypt")?,
        converted("root", pki.root_certificate(), "x509")?,
    ];
    for (number, path) in pki.intermediate_certificates().iter().enumerate() {
        words.push(converted(&format!("intermediate{number}"), path.clone(), "x509")?);
    }
    Ok(words)
}

/// A running ryke.
#[derive(Debug)]
pub(super) struct Ryke {
    process: Child,
    log: PathBuf,
}

impl Ryke {
    /// A gateway that listens.
    pub(super) fn gateway(lab: &Lab, arguments: &[String]) -> Result<Self, Trouble> {
        let own = [word("listen", Node::Gw.outer()), word("id", Node::Gw.id())];
        let ryke = Self::start(lab, Node::Gw, "server", &[&own, arguments].concat())?;
        ryke.expect("listening", 1)?;
        Ok(ryke)
    }

    /// A device that connects and takes its steps.
    pub(super) fn device(lab: &Lab, arguments: &[String]) -> Result<Self, Trouble> {
        let own = [
            word("gateway", Node::Gw.outer()),
            word("id", Node::Ue.id()),
            word("inner", Node::Ue.inner()),
            word("ping", Node::Gw.inner()),
        ];
        Self::start(lab, Node::Ue, "client", &[&own, arguments].concat())
    }

    fn start(lab: &Lab, node: Node, role: &str, arguments: &[String]) -> Result<Self, Trouble> {
        // Where `Lab::log` looks for it.
        let log = lab.dir(node).join("stdout");
        let unwritable = |source| Trouble::File { what: format!("write {}", log.display()), source };
        let stdout = File::create(&log).map_err(unwritable)?;
        let mut command = lab.command(node, PROGRAM);
        command.arg(role).args(arguments).stdin(Stdio::piped()).stdout(stdout);
        let started = command.spawn();
        let process = started.map_err(|source| Trouble::Start { command: line(&command), source })?;
        Ok(Self { process, log })
    }

    /// Its log so far.
    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until so many lines of its log begin like this.
    pub(super) fn expect(&self, begins: &str, count: usize) -> Result<(), Trouble> {
        let found =
            || (self.log().lines().filter(|line| line.starts_with(begins)).count() >= count).then_some(());
        wait_for(&format!("{begins:?} of ryke"), LIMIT, found, || self.log())
    }

    /// Waits until it has ended; its log, which is the reason if it failed.
    pub(super) fn ended(mut self) -> Result<String, Trouble> {
        let ended = || self.process.try_wait().ok().flatten();
        let status =
            wait_for("the end of ryke", LIMIT, ended, || fs::read_to_string(&self.log).unwrap_or_default())?;
        let log = self.log();
        if status.success() {
            Ok(log)
        } else {
            Err(Trouble::Failed { command: "ryke-peer".into(), output: log })
        }
    }

    /// A command for a gateway.
    pub(super) fn say(&mut self, what: &str) -> Result<(), Trouble> {
        let stdin = self.process.stdin.as_mut().expect("it was started with a pipe");
        writeln!(stdin, "{what}")
            .map_err(|source| Trouble::File { what: format!("say {what:?} to ryke"), source })
    }
}

impl Drop for Ryke {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
