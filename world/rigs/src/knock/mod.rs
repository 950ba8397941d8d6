//! The rig of Knock, the example of a family: a device and a gateway that share a key.
//!
//! ```text
//!   UE --access network, topology's wire, IP protocol 253-- GW
//! ```

mod hosts;

use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::{Secret, Seed};
use keytoll_engine::trace::Node;
use keytoll_hosts::Host;
use keytoll_knock::{Config, KNOCK, NUMBER};
use keytoll_net::Addr;
use keytoll_rig::{
    End, Goal, Layout, LinkSpec, NodeSpec, Placement, Prepared, Rig, Setup, SharedSecret, Users,
};
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::families::knock::Knocks;
use keytoll_scenario::plan::{Maker, Plan, RowPlan};

use crate::{fault, sites};
use hosts::{Device, Gateway};

/// How long a session is open.
const LIFETIME: Duration = Duration::from_secs(5);

/// The rig of Knock.
pub(crate) struct KnockRig;

impl Rig for KnockRig {
    fn runs(&self, method: &Method) -> bool {
        method.own::<Knocks>().is_some()
    }

    fn standard_ports(&self) -> &'static [u16] {
        &[]
    }

    fn layout(&self, row: &RowPlan, placement: &Placement) -> Layout {
        let [ue, gw] = sites::on_access(row, placement);
        let spec = |node, ip| NodeSpec {
            node,
            maker: Maker::Keytoll,
            holds_sas: true,
            inner: Vec::new(),
            datagrams: vec![at(ip)],
            streams: None,
        };
        let access = LinkSpec {
            ends: [End::ip(Node::Ue, ue), End::ip(Node::Gw, gw)],
            config: fault::access_link(row, keytoll_rig::link(&row.network, row.topology.ue_gw())),
            protocol: KNOCK,
            prefix_bits: Some(if ue.is_ipv6() { 64 } else { 24 }),
        };
        Layout {
            nodes: vec![spec(Node::Ue, ue), spec(Node::Gw, gw)],
            links: vec![access],
            initiator: Node::Ue,
            goal: Goal::Sa,
            users: Users { nodes: [Node::Ue, Node::Gw], outer: [ue, gw] },
            closing_max: Duration::ZERO,
        }
    }

    fn shared_secrets(&self, _: &RowPlan, _: &Seed) -> Vec<SharedSecret> {
        Vec::new()
    }

    fn secrets(&self, seed: &Seed) -> Vec<(&'static str, Secret)> {
        vec![("knock key", key(seed))]
    }

    fn prepare(&self, _: &Plan) -> Box<dyn Prepared> {
        Box::new(Nothing)
    }
}

const fn at(ip: IpAddr) -> Addr {
    Addr::Ip { ip, protocol: NUMBER }
}

fn key(seed: &Seed) -> Secret {
    Secret::from(&seed.stream("knock/key").bytes::<32>()[..])
}

/// There are no certificates to make.
struct Nothing;

impl Prepared for Nothing {
    fn set_up(&self, row: &RowPlan, placement: &Placement, seed: &Seed) -> Box<dyn Setup> {
        let ends = sites::on_access(row, placement).map(at);
        let keys = [fault::seed_of_device(row, seed), seed.clone()].map(|seed| key(&seed));
        Box::new(Row { ends, keys, seed: seed.clone() })
    }
}

/// A row that is set up.
struct Row {
    /// The device's end, and the gateway's.
    ends: [Addr; 2],
    keys: [Secret; 2],
    seed: Seed,
}

impl Setup for Row {
    fn host(&mut self, node: Node) -> Box<dyn Host> {
        let config = |key: &Secret| Config { key: key.clone(), lifetime: LIFETIME };
        match node {
            Node::Ue => Box::new(Device::new(config(&self.keys[0]), self.ends, &self.seed)),
            Node::Gw => Box::new(Gateway::new(config(&self.keys[1]), &self.seed)),
            other => panic!("a row of Knock has no {}", other.name()),
        }
    }

    fn before_authentication(&self) {}

    fn forget(&self) {}
}
