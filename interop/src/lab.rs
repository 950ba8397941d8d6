//! Three network namespaces and the cables between them, with a private directory for everything that runs in them.
//! Names are unique to the process and the lab, so that labs can exist side by side; dropping one removes it.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

use crate::run::{Trouble, finish, words};

/// Which place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// The device: initiator.
    Ue,
    /// The gateway: responder, and RADIUS client.
    Gw,
    /// The AAA server.
    Aaa,
}

impl Node {
    const ALL: [Self; 3] = [Self::Ue, Self::Gw, Self::Aaa];

    /// As it is called in file and namespace names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ue => "ue",
            Self::Gw => "gw",
            Self::Aaa => "aaa",
        }
    }

    /// The address on the cable; the gateway's towards the device.
    pub const fn outer(self) -> Ipv4Addr {
        match self {
            Self::Ue => Ipv4Addr::new(10, 99, 1, 1),
            Self::Gw => Ipv4Addr::new(10, 99, 1, 2),
            Self::Aaa => Ipv4Addr::new(10, 99, 2, 3),
        }
    }

    /// The address on its loopback, that only the tunnel reaches.
    pub const fn inner(self) -> Ipv4Addr {
        match self {
            Self::Ue => Ipv4Addr::new(10, 98, 1, 1),
            Self::Gw => Ipv4Addr::new(10, 98, 2, 1),
            Self::Aaa => Ipv4Addr::new(10, 98, 4, 1),
        }
    }

    /// The network behind it, as a selector.
    pub const fn inner_net(self) -> &'static str {
        match self {
            Self::Ue => "10.98.1.0/24",
            Self::Gw => "10.98.2.0/24",
            Self::Aaa => "10.98.4.0/24",
        }
    }

    /// The identity it has in IKE, and in its certificate.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ue => "ue@lab",
            Self::Gw => "gw.lab",
            Self::Aaa => "aaa.lab",
        }
    }
}

/// The gateway's address towards the AAA server.
pub const GW_TOWARDS_AAA: Ipv4Addr = Ipv4Addr::new(10, 99, 2, 2);

/// Where the gateway takes virtual addresses from.
pub const POOL: &str = "10.98.3.0/24";

/// Joined namespaces and a directory.
#[derive(Debug)]
pub struct Lab {
    name: String,
    dir: PathBuf,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Lab {
    /// Makes the namespaces, the cables and the directories.
    pub fn new() -> Result<Self, Trouble> {
        let name = format!("keytoll-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = env::temp_dir().join(&name);
        // Made before anything else, so that whatever was made goes away if the rest fails.
        let lab = Self { name, dir };
        for node in Node::ALL {
            let path = lab.dir(node);
            fs::create_dir_all(&path)
                .map_err(|source| Trouble::File { what: format!("make {}", path.display()), source })?;
        }
        lab.cable()?;
        Ok(lab)
    }

    fn cable(&self) -> Result<(), Trouble> {
        let [ue, gw, aaa] = Node::ALL.map(|node| self.namespace(node));
        let mut steps = Vec::new();
        for node in Node::ALL {
            let ns = self.namespace(node);
            steps.push(format!("ip netns add {ns}"));
            steps.push(format!("ip -n {ns} link set lo up"));
            steps.push(format!("ip -n {ns} addr add {}/24 dev lo", node.inner()));
        }
        steps.push(format!("ip link add eth0 netns {ue} type veth peer name eth0 netns {gw}"));
        steps.push(format!("ip link add eth1 netns {gw} type veth peer name eth0 netns {aaa}"));
        for (ns, address, port) in [
            (&ue, Node::Ue.outer(), "eth0"),
            (&gw, Node::Gw.outer(), "eth0"),
            (&gw, GW_TOWARDS_AAA, "eth1"),
            (&aaa, Node::Aaa.outer(), "eth0"),
        ] {
            steps.push(format!("ip -n {ns} addr add {address}/24 dev {port}"));
            steps.push(format!("ip -n {ns} link set {port} up"));
        }
        steps.iter().try_for_each(|step| finish(&mut words(step)).map(drop))
    }

    /// The namespace's name, as `ip netns exec` takes it.
    pub fn namespace(&self, node: Node) -> String {
        format!("{}-{}", self.name, node.name())
    }

    /// The directory of everything that runs on this node.
    pub fn dir(&self, node: Node) -> PathBuf {
        self.dir.join(node.name())
    }

    /// The directory shared by all.
    pub fn shared_dir(&self) -> &Path {
        &self.dir
    }

    /// What the program on this node logged, whichever it is; still there when it has ended.
    pub fn log(&self, node: Node) -> String {
        let read = |name| fs::read_to_string(self.dir(node).join(name)).unwrap_or_default();
        ["stdout", "charon.log", "trace"].map(read).concat()
    }

    /// The ends of all logs, for the message of a failed test.
    pub fn last_words(&self) -> String {
        let end = |node| {
            let log = self.log(node);
            let lines: Vec<_> = log.lines().collect();
            format!("-- {}\n{}\n", node.name(), lines[lines.len().saturating_sub(40)..].join("\n"))
        };
        Node::ALL.map(end).concat()
    }

    /// A command inside the node's namespace that dies with the thread that started it.
    ///
    /// Every program in the chain replaces the one before it, so the child's process id is the program's own.
    pub fn command(&self, node: Node, program: &str) -> Command {
        let mut command = words("setpriv --pdeathsig KILL ip netns exec");
        command.arg(self.namespace(node)).arg(program);
        command
    }

    /// Sends `count` echo requests from one node to an inner address; gives ping's own summary.
    pub fn ping(
        &self,
        from: Node,
        source: Option<Ipv4Addr>,
        to: Ipv4Addr,
        count: u32,
    ) -> Result<String, Trouble> {
        let mut ping = self.command(from, "ping");
        ping.args(["-n", "-i", "0.2", "-W", "3", "-c", &count.to_string()]);
        if let Some(source) = source {
            ping.args(["-I", &source.to_string()]);
        }
        finish(ping.arg(to.to_string()))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Best effort: what is already gone need not be removed.
        for node in Node::ALL {
            let _ = finish(&mut words(&format!("ip netns del {}", self.namespace(node))));
        }
        if env::var_os("KEYTOLL_INTEROP_KEEP").is_none() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}
