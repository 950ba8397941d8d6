//! The rig of IKE: a device and a gateway, and with EAP an AAA server and possibly an HSS behind the gateway.
//!
//! ```text
//!   UE --access network, topology's wire-- GW --wire, RADIUS-- AAA --wire, Diameter-- HSS
//! ```

mod build;
mod cookies;
mod credentials;
mod population;
mod sites;

use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::{Secret, Seed};
use keytoll_engine::trace::Node;
use keytoll_hosts::Host;
use keytoll_ike::IKE;
use keytoll_net::Addr;
use keytoll_rig::{
    Crowd, End, Goal, Layout, LinkSpec, NodeSpec, Placement, Prepared, Rig, Setup, SharedSecret, Users,
};
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::families::ike::Exchange;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_scenario::population::Population;

use crate::back_end::{self, BackEnd};
use crate::fault;

pub use build::{esp_suites, row_secret};
pub use cookies::{Cookie, Cookies};
pub use credentials::Credentials;
pub use sites::Sites;

/// How long the answer to a DELETE may take: until then it was sent three times (after 4 s and 7.2 s more).
const ANSWERED_MAX: Duration = Duration::from_secs(12);
/// The same without an answer (RFC 2408 §5.15): the DELETE's transit over the slowest network.
const UNANSWERED_MAX: Duration = Duration::from_millis(500);

/// The rig of IKE.
pub struct IkeRig;

impl Rig for IkeRig {
    fn runs(&self, method: &Method) -> bool {
        method.own::<Exchange>().is_some()
    }

    fn standard_ports(&self) -> &'static [u16] {
        &sites::STANDARD_PORTS
    }

    fn layout(&self, row: &RowPlan, placement: &Placement) -> Layout {
        laid_out(row, &Sites::of(row, placement))
    }

    fn shared_secrets(&self, row: &RowPlan, seed: &Seed) -> Vec<SharedSecret> {
        back_end::shared_secrets(row, Node::Gw, seed)
    }

    fn secrets(&self, seed: &Seed) -> Vec<(&'static str, Secret)> {
        let own = ("shared key", row_secret(seed));
        [own].into_iter().chain(back_end::Secrets::of(seed).named()).collect()
    }

    fn asks_for_liveness(&self) -> bool {
        true
    }

    fn prepare(&self, plan: &Plan) -> Box<dyn Prepared> {
        Box::new(Credentials::prepare(plan))
    }
}

/// The layout of a row at these sites.
fn laid_out(row: &RowPlan, sites: &Sites) -> Layout {
    let is_answered = row.method.phase1().is_none();
    Layout {
        nodes: nodes((row, sites)),
        links: links((row, sites)),
        initiator: Node::Ue,
        goal: if row.options.ike.childless { Goal::Sa } else { Goal::Echo },
        users: Users { nodes: [Node::Ue, Node::Gw], outer: [sites.ue, sites.gw] },
        closing_max: if is_answered { ANSWERED_MAX } else { UNANSWERED_MAX },
    }
}

fn nodes((row, sites): (&RowPlan, &Sites)) -> Vec<NodeSpec> {
    let udp = |ip: IpAddr| [sites.port, sites.nat_port].map(|port| Addr::udp(ip, port));
    let makers = row.options.makers;
    let spec = |node, maker, inner, datagrams| NodeSpec {
        node,
        maker,
        holds_sas: true,
        inner: vec![inner],
        datagrams,
        streams: None,
    };
    let device = spec(Node::Ue, makers.ue, sites.brought, udp(sites.ue).to_vec());
    let to_aaa = back_end::client_sockets(row, &sites.back_end);
    let gateway = spec(Node::Gw, makers.gw, sites.inner, udp(sites.gw).into_iter().chain(to_aaa).collect());
    [device, gateway].into_iter().chain(back_end::nodes(row, &sites.back_end)).collect()
}

fn links((row, sites): (&RowPlan, &Sites)) -> Vec<LinkSpec> {
    let access = LinkSpec {
        ends: [End::ip(Node::Ue, sites.ue), End::ip(Node::Gw, sites.gw)],
        config: fault::access_link(row, keytoll_rig::link(&row.network, row.topology.ue_gw())),
        protocol: IKE,
        prefix_bits: Some(if sites.ue.is_ipv6() { 64 } else { 24 }),
    };
    [access]
        .into_iter()
        .chain(back_end::links(row, (Node::Gw, row.topology.gw_aaa()), &sites.back_end))
        .collect()
}

impl Prepared for Credentials {
    fn set_up(&self, row: &RowPlan, placement: &Placement, seed: &Seed) -> Box<dyn Setup> {
        let back_end = BackEnd::of(row, self.shared(), seed);
        let (sites, seed, credentials) = (Sites::of(row, placement), seed.clone(), self.clone());
        Box::new(Built { row: row.clone(), sites, seed, credentials, back_end })
    }

    fn populate(&self, rows: &[&RowPlan], population: &Population, seed: &Seed) -> Box<dyn Crowd> {
        Box::new(population::Populated::new(rows, population, self, seed))
    }
}

/// A row with its back end.
struct Built {
    row: RowPlan,
    sites: Sites,
    seed: Seed,
    credentials: Credentials,
    back_end: BackEnd,
}

impl Setup for Built {
    fn host(&mut self, node: Node) -> Box<dyn Host> {
        let here = (&self.row, &self.sites);
        match node {
            Node::Ue => {
                let ends = self.back_end.ends();
                Box::new(build::device(here, &self.credentials, ends, &self.seed))
            }
            Node::Gw => Box::new(build::gateway(here, &self.credentials, &self.seed)),
            other => self.back_end.host(other, (&self.row, &self.sites.back_end), &self.seed),
        }
    }

    fn before_authentication(&self) {
        self.back_end.before_authentication();
    }

    fn forget(&self) {
        self.back_end.forget();
    }
}
