//! Three network namespaces and the cables between them, with a private directory for everything that runs in them.
//! Labs can exist side by side; dropping one removes it.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

use keytoll_daemons::place::cable;
use keytoll_daemons::{Home, Place};

use crate::require;
use crate::run::{Trouble, finish};

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

    /// The same in IPv6.
    pub const fn outer_v6(self) -> Ipv6Addr {
        let [.., net, host] = self.outer().octets();
        Ipv6Addr::new(0xfd99, net as u16, 0, 0, 0, 0, 0, host as u16)
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

/// What the gateway sees of a device behind the NAT.
pub const NAT_OUTSIDE: Ipv4Addr = Ipv4Addr::new(10, 99, 1, 253);
/// Where a device behind the NAT sends everything.
const NAT_INSIDE: Ipv4Addr = Ipv4Addr::new(10, 99, 1, 254);

/// Where the gateway takes virtual addresses from.
pub const POOL: &str = "10.98.3.0/24";

/// Where a keytoll node runs, and as what.
#[derive(Debug, Clone)]
pub struct Spot {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) dir: PathBuf,
    pub(crate) address: IpAddr,
    pub(crate) verb: &'static str,
}

impl Spot {
    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its namespace.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Its address outside.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// The same place for a node with this verb at another of its addresses.
    #[must_use]
    pub fn running(self, verb: &'static str, address: IpAddr) -> Self {
        Self { verb, address, ..self }
    }

    /// The same place with another name and address.
    pub(crate) fn beside(self, name: &str, address: IpAddr) -> Self {
        Self { name: name.to_owned(), address, ..self }
    }
}

/// Joined namespaces and a directory.
#[derive(Debug)]
pub struct Lab {
    home: Home,
    strongswan_usr: Option<PathBuf>,
}

impl Lab {
    /// Makes the namespaces, the cables and the directories.
    pub fn new() -> Result<Self, Trouble> {
        let home = require::home()?;
        let lab = Self { home, strongswan_usr: None };
        for node in Node::ALL {
            lab.home.folder(node.name())?;
            lab.home.namespace(node.name())?.assign("lo", node.inner().into(), 24)?;
        }
        let [ue, gw, aaa] = Node::ALL.map(|node| lab.place(node));
        cable((&ue, "eth0"), (&gw, "eth0"))?;
        cable((&gw, "eth1"), (&aaa, "eth0"))?;
        ue.assign("eth0", Node::Ue.outer().into(), 24)?;
        gw.assign("eth0", Node::Gw.outer().into(), 24)?;
        gw.assign("eth1", IpAddr::V4(GW_TOWARDS_AAA), 24)?;
        aaa.assign("eth0", Node::Aaa.outer().into(), 24)?;
        ue.assign("eth0", Node::Ue.outer_v6().into(), 64)?;
        gw.assign("eth0", Node::Gw.outer_v6().into(), 64)?;
        Ok(lab)
    }

    /// The same lab with the strongSwan below another `/usr`.
    #[must_use]
    pub fn with_strongswan_of(self, usr: PathBuf) -> Self {
        Self { strongswan_usr: Some(usr), ..self }
    }

    /// The `/usr` of its strongSwan, if it is not the machine's.
    pub fn strongswan_usr(&self) -> Option<&Path> {
        self.strongswan_usr.as_deref()
    }

    /// Another address for another device in the device's place.
    pub fn second_device(&self) -> Result<Ipv4Addr, Trouble> {
        let address = Ipv4Addr::new(10, 99, 1, 3);
        self.place(Node::Ue).assign("eth0", address.into(), 24)?;
        Ok(address)
    }

    /// A place of its own for one more device, with a cable to the gateway.
    ///
    /// ```text
    ///   ue<number> 10.99.10<number>.1 ---- 10.99.10<number>.2 gw
    /// ```
    pub fn another_device(&self, number: u8) -> Result<Spot, Trouble> {
        let name = format!("ue{number}");
        let dir = self.home.folder(&name)?;
        let (place, gw) = (self.home.namespace(&name)?, self.place(Node::Gw));
        cable((&place, "eth0"), (&gw, &name))?;
        let [own, gateway] = [1, 2].map(|host| Ipv4Addr::new(10, 99, 100 + number, host));
        place.assign("eth0", own.into(), 24)?;
        gw.assign(&name, gateway.into(), 24)?;
        place.ip(&format!("route add {} via {gateway}", Node::Gw.outer()))?;
        Ok(Spot { name, place, dir, address: own.into(), verb: "connect" })
    }

    /// Where a node of ours runs.
    pub fn spot(&self, node: Node) -> Spot {
        let verb = match node {
            Node::Ue => "connect",
            Node::Gw => "gateway",
            Node::Aaa => "aaa",
        };
        let (place, dir) = (self.place(node), self.dir(node));
        Spot { name: node.name().to_owned(), place, dir, address: node.outer().into(), verb }
    }

    /// Puts a NAT between device and gateway: every flow gets the NAT's address and a port drawn by lot.
    ///
    /// ```text
    ///   ue 10.99.1.1 ---- 10.99.1.254 nat 10.99.1.253 ---- 10.99.1.2 gw
    /// ```
    pub fn insert_nat(&self) -> Result<(), Trouble> {
        let [ue, gw, _] = Node::ALL.map(|node| self.place(node));
        let nat = self.home.namespace("nat")?;
        // One end of a cable gone, the other is gone, too.
        ue.ip("link del eth0")?;
        cable((&ue, "eth0"), (&nat, "inside"))?;
        cable((&nat, "outside"), (&gw, "eth0"))?;
        ue.assign("eth0", Node::Ue.outer().into(), 32)?;
        ue.ip(&format!("route add {NAT_INSIDE} dev eth0"))?;
        ue.ip(&format!("route add {} via {NAT_INSIDE}", Node::Gw.outer()))?;
        nat.assign("inside", NAT_INSIDE.into(), 32)?;
        nat.ip(&format!("route add {} dev inside", Node::Ue.outer()))?;
        nat.assign("outside", NAT_OUTSIDE.into(), 24)?;
        gw.assign("eth0", Node::Gw.outer().into(), 24)?;
        finish(nat.command("sysctl").args(["-q", "-w", "net.ipv4.ip_forward=1"]))?;
        let rules = "add table nat; add chain nat out { type nat hook postrouting priority srcnat; }; \
                     add rule nat out oifname outside masquerade random,fully-random";
        finish(nat.command("nft").arg(rules)).map(drop)
    }

    /// Of what the gateway sends and gets on the cable every fourth packet of IKE is lost.
    pub fn lose_every_fourth(&self) -> Result<(), Trouble> {
        let rules = "add table lossy; \
                     add chain lossy in { type filter hook input priority 0; }; \
                     add chain lossy out { type filter hook output priority 0; }; \
                     add rule lossy in udp dport { 500, 4500 } numgen inc mod 4 == 2 drop; \
                     add rule lossy out udp sport { 500, 4500 } numgen inc mod 4 == 0 drop";
        finish(self.place(Node::Gw).command("nft").arg(rules)).map(drop)
    }

    /// Ends [`Self::lose_every_fourth`].
    pub fn lose_nothing(&self) -> Result<(), Trouble> {
        finish(self.place(Node::Gw).command("nft").arg("delete table lossy")).map(drop)
    }

    /// The NAT forgets whom its ports belong to, as one does that was switched off and on.
    pub fn forget_nat_bindings(&self) -> Result<(), Trouble> {
        finish(self.home.place("nat").command("conntrack").arg("--flush")).map(drop)
    }

    /// The NAT forgets whoever has said nothing for so long, and whom nobody has said anything to.
    pub fn forget_idle(&self, after: std::time::Duration) -> Result<(), Trouble> {
        let set = |key: &str| format!("net.netfilter.nf_conntrack_{key}={}", after.as_secs());
        let mut sysctl = self.home.place("nat").command("sysctl");
        finish(sysctl.args(["-q", "-w", &set("udp_timeout"), &set("udp_timeout_stream")])).map(drop)
    }

    /// Where the node's programs run.
    pub fn place(&self, node: Node) -> Place {
        self.home.place(node.name())
    }

    /// The namespace's name, as `ip netns exec` takes it.
    pub fn namespace(&self, node: Node) -> String {
        match self.place(node) {
            Place::Namespace(name) => name,
            Place::Machine => unreachable!("every node of a lab is in a namespace"),
        }
    }

    /// The directory of everything that runs on this node.
    pub fn dir(&self, node: Node) -> PathBuf {
        self.home.dir().join(node.name())
    }

    /// The directory shared by all.
    pub fn shared_dir(&self) -> &Path {
        self.home.dir()
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
    pub fn command(&self, node: Node, program: &str) -> Command {
        self.place(node).command(program)
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
