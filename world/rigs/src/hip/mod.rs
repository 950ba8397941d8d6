//! The rig of HIP: a device and a gateway with Host Identities, and with AKA an HSS behind the gateway.
//!
//! ```text
//!   UE --access network, topology's wire, IP protocol 139 or UDP-- GW --wire, Diameter-- HSS
//! ```

mod build;
pub mod callers;
pub mod hosts;
mod identities;
mod population;
mod sites;

use std::time::Duration;

use keytoll_crypto_api::{Secret, Seed};
use keytoll_diameter::DIAMETER;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_engine::trace::Node;
use keytoll_hip::config::Admits;
use keytoll_hip::names::HIP;
use keytoll_hosts::{Host, Hss};
use keytoll_net::Addr;
use keytoll_rig::{
    Crowd, End, Goal, Layout, LinkSpec, NodeSpec, Placement, Prepared, Rig, Setup, SharedSecret, Users, wire,
};
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::families::hip::Exchange;
use keytoll_scenario::plan::{Maker, Plan, RowPlan};
use keytoll_scenario::population::Population;

use crate::{back_end, eap, fault};
use identities::Identities;
pub(crate) use identities::of_p256;
use sites::Sites;

/// How long the answer to a CLOSE may take: until then it was sent three times (after 1 s and 2 s more).
const ANSWERED_MAX: Duration = Duration::from_secs(4);

/// The rig of HIP.
pub struct HipRig;

impl Rig for HipRig {
    fn runs(&self, method: &Method) -> bool {
        method.own::<Exchange>().is_some()
    }

    fn standard_ports(&self) -> &'static [u16] {
        &sites::STANDARD_PORTS
    }

    fn layout(&self, row: &RowPlan, placement: &Placement) -> Layout {
        laid_out(row, &Sites::of(row, placement))
    }

    fn shared_secrets(&self, _: &RowPlan, _: &Seed) -> Vec<SharedSecret> {
        Vec::new()
    }

    fn secrets(&self, seed: &Seed) -> Vec<(&'static str, Secret)> {
        let [key, opc] = eap::subscriber_keys(seed);
        vec![("Ki", Secret::from(&key[..])), ("OPc", Secret::from(&opc[..]))]
    }

    fn prepare(&self, plan: &Plan) -> Box<dyn Prepared> {
        Box::new(Identities::prepare(plan))
    }
}

/// The layout of a row at these sites.
fn laid_out(row: &RowPlan, sites: &Sites) -> Layout {
    Layout {
        nodes: nodes((row, sites)),
        links: links((row, sites)),
        initiator: Node::Ue,
        goal: Goal::Echo,
        users: Users { nodes: [Node::Ue, Node::Gw], outer: [sites.ue, sites.gw] },
        closing_max: row.options.hip.unused_after + ANSWERED_MAX,
    }
}

/// Whether a subscription is proved, so that there is an HSS.
fn has_card(row: &RowPlan) -> bool {
    row.method.own::<Exchange>() == Some(&Exchange::DietAka)
}

fn nodes((row, sites): (&RowPlan, &Sites)) -> Vec<NodeSpec> {
    let spec = |node, [signalling, traffic]: [Addr; 2]| NodeSpec {
        node,
        maker: Maker::Keytoll,
        holds_sas: true,
        inner: Vec::new(),
        datagrams: if signalling == traffic { vec![signalling] } else { vec![signalling, traffic] },
        streams: None,
    };
    let mut gateway = spec(Node::Gw, sites.sockets(sites.gw));
    gateway.streams = has_card(row).then(|| back_end::diameter(Vec::new()));
    let hss = has_card(row).then(|| back_end::hss(&sites.back_end));
    let inner = sites.elsewhere.into_iter().collect();
    let device = NodeSpec { inner, ..spec(Node::Ue, sites.sockets(sites.ue)) };
    [device, gateway].into_iter().chain(hss).collect()
}

fn links((row, sites): (&RowPlan, &Sites)) -> Vec<LinkSpec> {
    let access = LinkSpec {
        ends: [End::ip(Node::Ue, sites.ue), End::ip(Node::Gw, sites.gw)],
        config: fault::access_link(row, keytoll_rig::link(&row.network, row.topology.ue_gw())),
        protocol: HIP,
        prefix_bits: Some(if sites.ue.is_ipv6() { 64 } else { 24 }),
    };
    let hss = has_card(row).then(|| LinkSpec {
        ends: [End::ip(Node::Gw, sites.back_end.core), End::ip(Node::Hss, sites.back_end.hss)],
        config: fault::hss_link(row, wire(row.topology.gw_hss())),
        protocol: DIAMETER,
        prefix_bits: None,
    });
    [access].into_iter().chain(hss).collect()
}

impl Prepared for Identities {
    fn set_up(&self, row: &RowPlan, placement: &Placement, seed: &Seed) -> Box<dyn Setup> {
        let card = has_card(row).then(|| eap::card(&fault::seed_of_card(row, seed)));
        let travelling_card = fault::travelling_card(row, card.as_ref());
        let (sites, seed) = (Sites::of(row, placement), seed.clone());
        Box::new(Built { row: row.clone(), sites, seed, identities: self.of(row), card, travelling_card })
    }

    fn populate(&self, rows: &[&RowPlan], population: &Population, seed: &Seed) -> Box<dyn Crowd> {
        Box::new(population::Populated::new(rows, population, self, seed))
    }
}

/// A row that is set up.
struct Built {
    row: RowPlan,
    sites: Sites,
    seed: Seed,
    /// The device's, and the gateway's.
    identities: [keytoll_hip::HostIdentity; 2],
    card: Option<SharedCard>,
    /// A card that is also used elsewhere between authentications.
    travelling_card: Option<SharedCard>,
}

impl Setup for Built {
    fn host(&mut self, node: Node) -> Box<dyn Host> {
        let (row, sites) = (&self.row, &self.sites);
        match node {
            Node::Ue => {
                let card = self.card.clone().map(|card| (eap::IMSI, card));
                Box::new(build::device((row, sites), self.identities.each_ref(), card, &self.seed))
            }
            Node::Gw => {
                let [device, own] = &self.identities;
                let admits = Admits::Hits([device.hit()].into());
                Box::new(build::gateway((row, sites), own, admits, (&self.seed, "gw")))
            }
            Node::Hss => {
                let config = eap::hss(eap::centre(&self.seed), &sites.back_end);
                Box::new(Hss::new(fault::hss(row, config, &self.seed)))
            }
            other => panic!("a row of HIP has no {}", other.name()),
        }
    }

    fn before_authentication(&self) {
        self.travelling_card.iter().for_each(fault::travel);
    }

    fn forget(&self) {
        self.card.iter().for_each(SharedCard::forget);
    }
}
