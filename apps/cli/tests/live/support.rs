//! Nodes that run while a test does: node files on disk, programs that end with the test, what they tell.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::schema;

/// How long anything may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll");

/// Runs to the end.
pub(crate) fn keytoll(arguments: &[&str]) -> Output {
    keytoll_at(Path::new(PROGRAM), arguments)
}

/// The same with a program that was built otherwise.
pub(crate) fn keytoll_at(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).env_remove("KEYTOLL_LOG").output().unwrap()
}

/// A directory that goes away with its test.
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // As wide whatever the number is: the path takes part in how sentences are wrapped.
        let name =
            format!("keytoll-live-{:07}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file in it.
    /// A file that its owner alone can read, as one with secrets should be.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// What a program says of a file in it, wherever it is.
    pub(crate) fn anywhere(&self, text: &[u8]) -> String {
        let text = String::from_utf8_lossy(text).replace(&format!("{}/", self.0.display()), "");
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running node. Its events are lines of JSON, its log is kept.
pub(crate) struct Node {
    process: Child,
    stdin: ChildStdin,
    events: Receiver<Value>,
    pub(crate) told: Vec<Value>,
    log: PathBuf,
}

impl Node {
    /// Starts a verb with a node file and `--json`, and waits until it listens.
    pub(crate) fn start(dir: &Dir, arguments: &[&str]) -> Self {
        Self::start_at(Path::new(PROGRAM), dir, arguments)
    }

    /// The same with a program that was built otherwise.
    pub(crate) fn start_at(program: &Path, dir: &Dir, arguments: &[&str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let log = dir.path(&format!("log-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let mut process = Command::new(program)
            .args(arguments)
            .arg("--json")
            .env_remove("KEYTOLL_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (sender, events) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.map(|line| serde_json::from_str(&line).unwrap()).try_for_each(|event| sender.send(event))
        });
        let mut node = Self { process, stdin, events, told: Vec::new(), log };
        node.expect("listening");
        node
    }

    /// Waits for an event of this name.
    pub(crate) fn expect(&mut self, name: &str) -> Value {
        let end = Instant::now() + LIMIT;
        loop {
            match self.events.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(event) => {
                    schema::check("events", &event);
                    self.told.push(event.clone());
                    if event["event"] == name {
                        return event;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!("no {name} in time: {:?}\n{}", self.told, self.log())
                }
                Err(RecvTimeoutError::Disconnected) => panic!("it ended: {:?}\n{}", self.told, self.log()),
            }
        }
    }

    /// The port of the n-th socket.
    pub(crate) fn port(&self, n: usize) -> u16 {
        let address = self.told[0]["addresses"][n].as_str().unwrap();
        address.rsplit(':').next().unwrap().parse().unwrap()
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }

    /// Its end, after at most so long.
    pub(crate) fn ended_within(&mut self, limit: Duration) -> ExitStatus {
        let end = Instant::now() + limit;
        while Instant::now() < end {
            if let Some(status) = self.process.try_wait().unwrap() {
                self.told.extend(self.events.iter());
                return status;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("it goes on: {:?}\n{}", self.told, self.log());
    }

    /// Tells it to stop; its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.ended_within(LIMIT).code()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until the log has these words.
pub(crate) fn wait_for(node: &Node, words: &str) {
    wait_for_again(node, words, 1);
}

pub(crate) fn wait_for_again(node: &Node, words: &str, times: usize) {
    let end = Instant::now() + LIMIT;
    while node.log().matches(words).count() < times {
        assert!(Instant::now() < end, "no {words:?} in\n{}", node.log());
        thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) const PSK: &str = "a key of the test";
pub(crate) const RADIUS_SECRET: &str = "a secret of RADIUS";
pub(crate) const PASSWORD: &str = "a password of the test";
pub(crate) const CARD_K: &str = "5122250214c33e723a5dd523fc145fc0";
pub(crate) const CARD_OPC: &str = "981d464c7c52eb6e5036234984ad0bcf";

/// A gateway with a shared key at ports that are free.
pub(crate) fn gateway() -> String {
    format!(
        "role = \"gateway\"\nport = 0\nnat_port = 0\ninner = \"10.98.2.1\"\n[connection]\n\
         identity = \"gw.test\"\nauth = {{ psk = {PSK:?} }}\npool = \"10.98.3.0/24\"\n"
    )
}

/// A device for a running gateway: its head, before the tables.
pub(crate) fn device_of(gateway: &Node) -> String {
    format!(
        "role = \"device\"\ngateway = \"127.0.0.1:{}\"\ngateway_nat_port = {}\nping = \"10.98.2.1\"\n",
        gateway.port(0),
        gateway.port(1)
    )
}

/// A device with a shared key for a running gateway.
pub(crate) fn device(gateway: &Node, psk: &str) -> String {
    format!(
        "{}[connection]\nidentity = \"ue@test\"\npeer = \"gw.test\"\nauth = {{ psk = {psk:?} }}\n\
         virtual_address = true\n",
        device_of(gateway)
    )
}

/// A gateway whose devices prove themselves with EAP to a running AAA server.
pub(crate) fn eap_gateway(aaa: &Node) -> String {
    format!(
        "{}peer_auth = \"eap\"\n[radius]\nserver = \"127.0.0.1:{}\"\naccounting_port = {}\n\
         secret = {RADIUS_SECRET:?}\naccounting = true\n",
        gateway(),
        aaa.port(0),
        aaa.port(1)
    )
}

/// An AAA server that proposes a method; `more` follows.
pub(crate) fn aaa(methods: &str, more: &str) -> String {
    format!(
        "role = \"aaa\"\nport = 0\naccounting_port = 0\nname = \"aaa.test\"\nmethods = {methods:?}\n\
         [clients]\n\"127.0.0.1\" = {RADIUS_SECRET:?}\n[users]\n\"ue@test\" = {PASSWORD:?}\n{more}"
    )
}

/// The subscriber.
pub(crate) fn subscriber(table: &str) -> String {
    format!("{table}\nimsi = \"001010000000001\"\nk = {CARD_K:?}\nopc = {CARD_OPC:?}\n")
}

/// A device with a method of EAP; `more` follows.
pub(crate) fn eap_device(gateway: &Node, method: &str, more: &str) -> String {
    let mut text = format!(
        "{}[connection]\npeer = \"gw.test\"\nauth = \"eap\"\npeer_auth = {{ psk = {PSK:?} }}\n\
         virtual_address = true\n[eap]\nmethods = {method:?}\n",
        device_of(gateway)
    );
    if !["sim", "aka", "aka-prime"].contains(&method) {
        let _ = writeln!(text, "identity = \"ue@test\"\npassword = {PASSWORD:?}");
    }
    text + more
}

/// Whether a text shows a secret, as it is or in hexadecimal or as a list of numbers.
pub(crate) fn shows(text: &str, secret: &[u8]) -> bool {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let list = format!("{secret:?}");
    let plain = String::from_utf8_lossy(secret).into_owned();
    [plain, hex.to_uppercase(), hex, list.trim_matches(['[', ']']).to_owned()]
        .iter()
        .any(|spelling| text.contains(spelling.as_str()))
}

/// A file that only its owner may read, or not.
pub(crate) fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
