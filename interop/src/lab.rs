//! Two network namespaces and the cable between them, with a private directory for everything that runs in them.
//! Names are unique to the process and the lab, so that labs can exist side by side; dropping one removes it.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

use crate::run::{Trouble, finish, words};

/// Which end of the cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// The device: initiator.
    Ue,
    /// The gateway: responder.
    Gw,
}

impl Node {
    /// As it is called in file and namespace names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ue => "ue",
            Self::Gw => "gw",
        }
    }

    /// The address on the cable.
    pub const fn outer(self) -> Ipv4Addr {
        match self {
            Self::Ue => Ipv4Addr::new(10, 99, 1, 1),
            Self::Gw => Ipv4Addr::new(10, 99, 1, 2),
        }
    }

    /// The address that only the tunnel reaches.
    pub const fn inner(self) -> Ipv4Addr {
        match self {
            Self::Ue => Ipv4Addr::new(10, 98, 1, 1),
            Self::Gw => Ipv4Addr::new(10, 98, 2, 1),
        }
    }

    /// The network behind it, as a selector.
    pub const fn inner_net(self) -> &'static str {
        match self {
            Self::Ue => "10.98.1.0/24",
            Self::Gw => "10.98.2.0/24",
        }
    }

    /// The identity it has in IKE.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ue => "ue@lab",
            Self::Gw => "gw.lab",
        }
    }
}

/// Where the gateway takes virtual addresses from.
pub const POOL: &str = "10.98.3.0/24";

/// Two joined namespaces and a directory.
#[derive(Debug)]
pub struct Lab {
    name: String,
    dir: PathBuf,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Lab {
    /// Makes both namespaces, the cable and the directory.
    pub fn new() -> Result<Self, Trouble> {
        let name = format!("keytoll-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let dir = env::temp_dir().join(&name);
        // Made before anything else, so that whatever was made goes away if the rest fails.
        let lab = Self { name, dir };
        for node in [Node::Ue, Node::Gw] {
            let path = lab.dir(node);
            fs::create_dir_all(&path)
                .map_err(|source| Trouble::File { what: format!("make {}", path.display()), source })?;
        }
        lab.cable()?;
        Ok(lab)
    }

    fn cable(&self) -> Result<(), Trouble> {
        let (ue, gw) = (self.namespace(Node::Ue), self.namespace(Node::Gw));
        let mut steps = vec![format!("ip netns add {ue}"), format!("ip netns add {gw}")];
        steps.push(format!("ip link add eth0 netns {ue} type veth peer name eth0 netns {gw}"));
        for node in [Node::Ue, Node::Gw] {
            let ns = self.namespace(node);
            steps.push(format!("ip -n {ns} link set lo up"));
            steps.push(format!("ip -n {ns} addr add {}/24 dev eth0", node.outer()));
            steps.push(format!("ip -n {ns} link set eth0 up"));
            steps.push(format!("ip -n {ns} addr add {}/24 dev lo", node.inner()));
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

    /// The directory shared by both.
    pub fn shared_dir(&self) -> &Path {
        &self.dir
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
        for node in [Node::Ue, Node::Gw] {
            let _ = finish(&mut words(&format!("ip netns del {}", self.namespace(node))));
        }
        if env::var_os("KEYTOLL_INTEROP_KEEP").is_none() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}
