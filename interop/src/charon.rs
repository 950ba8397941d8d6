//! One strongSwan daemon in one namespace: started without systemd, asked through `swanctl`, killed on drop.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::lab::{Lab, Node};
use crate::pki::Pki;
use crate::run::{Trouble, finish, line, wait_for};
use crate::status::{self, IkeSa};
use crate::swanctl::Terms;

/// How long the daemon may take to answer after its start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How long SAs may take to become what they should: two retransmissions (4 s and 7.2 s) can be part of it, because
/// strongSwan 5.9.8 drops a response while it works on a request with the same message ID ("already processing").
const SA_LIMIT: Duration = Duration::from_secs(30);

/// A running daemon.
#[derive(Debug)]
pub struct Charon {
    dir: PathBuf,
    process: Child,
}

impl Charon {
    /// Writes its configuration, starts it, waits until it answers, and loads connections and credentials.
    pub fn start(lab: &Lab, node: Node, terms: &Terms, pki: Option<&Pki>) -> Result<Self, Trouble> {
        let dir = lab.dir(node);
        configure(&dir, node, terms, pki)?;
        let charon = Self { process: spawn(lab, node, &dir)?, dir };
        let answers = || charon.swanctl("--stats").ok();
        wait_for("an answer of charon", START_LIMIT, answers, || charon.last_words())?;
        charon.swanctl("--load-all --noprompt")?;
        Ok(charon)
    }

    /// Sets up the child `net` and its IKE SA; fails with strongSwan's own words.
    pub fn initiate(&self) -> Result<String, Trouble> {
        self.initiate_child("net")
    }

    /// Sets up this child, and an IKE SA if there is none.
    pub fn initiate_child(&self, name: &str) -> Result<String, Trouble> {
        self.swanctl(&format!("--initiate --child {name} --timeout 20"))
    }

    /// Sets up the IKE SA alone.
    pub fn initiate_ike(&self) -> Result<String, Trouble> {
        self.swanctl("--initiate --ike c --timeout 20")
    }

    /// Waits until its log contains `words`.
    pub fn await_log(&self, words: &str) -> Result<(), Trouble> {
        let ready = || self.log().contains(words).then_some(());
        wait_for(words, Duration::from_secs(10), ready, || self.last_words())
    }

    /// Deletes the IKE SA and waits for the peer's answer.
    pub fn terminate(&self) -> Result<String, Trouble> {
        self.swanctl("--terminate --ike c --timeout 20")
    }

    /// Rekeys the CHILD SA, or with `ike` the IKE SA itself.
    pub fn rekey(&self, ike: bool) -> Result<String, Trouble> {
        self.swanctl(if ike { "--rekey --ike c" } else { "--rekey --child net" })
    }

    /// Rekeys the IKE SA while the daemon is held still and `meanwhile` happens: afterwards it finds its own wish and
    /// whatever has arrived waiting side by side.
    pub fn rekey_ike_after(&self, meanwhile: impl FnOnce() -> Result<(), Trouble>) -> Result<(), Trouble> {
        self.signal("STOP")?;
        thread::scope(|scope| {
            let rekey = scope.spawn(|| self.rekey(true));
            let happened = meanwhile();
            // Both the request and the wish need a moment to get there.
            thread::sleep(Duration::from_millis(100));
            self.signal("CONT")?;
            // Refused when the other side's rekeying has come first.
            let _ = rekey.join();
            happened
        })
    }

    fn signal(&self, name: &str) -> Result<(), Trouble> {
        finish(Command::new("sh").args(["-c", &format!("kill -{name} {}", self.process.id())])).map(drop)
    }

    /// The SAs it has.
    pub fn list_sas(&self) -> Result<Vec<IkeSa>, Trouble> {
        Ok(status::read(&self.swanctl("--list-sas --raw")?))
    }

    /// Waits until its SAs are as wished; gives them.
    pub fn await_sas(&self, what: &str, wished: impl Fn(&[IkeSa]) -> bool) -> Result<Vec<IkeSa>, Trouble> {
        let ready = || self.list_sas().ok().filter(|sas| wished(sas));
        wait_for(what, SA_LIMIT, ready, || format!("{:?}\n{}", self.list_sas(), self.last_words()))
    }

    /// Everything it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("charon.log")).unwrap_or_default()
    }

    fn swanctl(&self, arguments: &str) -> Result<String, Trouble> {
        let mut command = Command::new("/usr/sbin/swanctl");
        command
            .args(arguments.split_whitespace())
            .arg("--uri")
            .arg(format!("unix://{}/vici", self.dir.display()));
        command
            .env("STRONGSWAN_CONF", self.dir.join("strongswan.conf"))
            .env("SWANCTL_DIR", self.dir.join("swanctl"));
        finish(&mut command)
    }

    /// The end of what it printed and logged, for the message of a failed test.
    fn last_words(&self) -> String {
        let printed = fs::read_to_string(self.dir.join("stdout")).unwrap_or_default();
        let log = self.log();
        let lines: Vec<_> = printed.lines().chain(log.lines()).collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}

fn configure(dir: &Path, node: Node, terms: &Terms, pki: Option<&Pki>) -> Result<(), Trouble> {
    let file = |what: &Path| {
        let what = format!("write {}", what.display());
        move |source| Trouble::File { what, source }
    };
    let swanctl = dir.join("swanctl");
    for part in ["x509", "x509ca", "private"] {
        fs::create_dir_all(swanctl.join(part)).map_err(file(&swanctl))?;
    }
    fs::write(dir.join("strongswan.conf"), terms.strongswan_conf(dir)).map_err(file(dir))?;
    fs::write(swanctl.join("swanctl.conf"), terms.swanctl_conf(node)).map_err(file(&swanctl))?;
    let Some(pki) = pki else { return Ok(()) };
    let name = node.name();
    for (from, to) in [
        (pki.root_certificate(), "x509ca/root.crt".to_owned()),
        (pki.certificate(node), format!("x509/{name}.crt")),
        (pki.key(node), format!("private/{name}.key")),
    ] {
        fs::copy(&from, swanctl.join(to)).map_err(file(&from))?;
    }
    Ok(())
}

fn spawn(lab: &Lab, node: Node, dir: &Path) -> Result<Child, Trouble> {
    let stdout = dir.join("stdout");
    let printed = File::create(&stdout)
        .and_then(|file| Ok((file.try_clone()?, file)))
        .map_err(|source| Trouble::File { what: format!("write {}", stdout.display()), source })?;
    let mut command = lab.command(node, "unshare");
    // charon wants a /run of its own for its sockets and lock files; the private mount hides the machine's.
    command.args(["-m", "sh", "-c", "mount -t tmpfs tmpfs /run && exec /usr/sbin/charon-systemd"]);
    command.env("STRONGSWAN_CONF", dir.join("strongswan.conf"));
    command.stdin(Stdio::null()).stdout(printed.0).stderr(printed.1);
    command.spawn().map_err(|source| Trouble::Start { command: line(&command), source })
}

impl Drop for Charon {
    fn drop(&mut self) {
        if thread::panicking() {
            // Straight to the terminal or the test's report: this log is gone in a moment.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), self.last_words().as_bytes());
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
