//! The rig of wireless LANs: a station and an access point, and with EAP an AAA server behind the access point, unless it is
//! inside; with a card an HSS behind that.
//!
//! ```text
//!   UE --802.11 frames-- AP --topology's wires, RADIUS-- AAA --wire, Diameter-- HSS
//! ```

mod build;
mod crowd;
mod hosts;
mod keys;
mod population;
mod sites;

use std::time::Duration;

use keytoll_crypto_api::{Secret, Seed};
use keytoll_engine::trace::Node;
use keytoll_hosts::Host;
use keytoll_net::Addr;
use keytoll_rig::{
    End, Goal, Layout, LinkSpec, NodeSpec, Placement, Prepared, Rig, Setup, SharedSecret, Users,
};
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::families::wlan::{Admission, EapServer};
use keytoll_scenario::plan::{Maker, Plan, RowPlan};
use keytoll_scenario::population::Population;
use keytoll_sim::LinkConfig;
use keytoll_wlan::names::WLAN;

use crate::back_end::{self, BackEnd};
use crate::credentials::Credentials;
use crate::{fault, provider};
pub use crowd::{Crowd, Seat, crowd, has_no_servers, lasting};
use keys::Passphrase;
use population::Populated;
use sites::Sites;

/// Deauthentication is one frame and has no answer.
const CLOSING_MAX: Duration = Duration::ZERO;

/// The rig of wireless LANs.
pub(crate) struct WlanRig;

impl Rig for WlanRig {
    fn runs(&self, method: &Method) -> bool {
        method.own::<Admission>().is_some()
    }

    fn standard_ports(&self) -> &'static [u16] {
        &crate::sites::STANDARD_PORTS
    }

    fn layout(&self, row: &RowPlan, placement: &Placement) -> Layout {
        laid_out(row, &Sites::of(row, placement))
    }

    fn shared_secrets(&self, row: &RowPlan, seed: &Seed) -> Vec<SharedSecret> {
        let behind = has_back_end(row).then(|| back_end::shared_secrets(row, Node::Ap, seed));
        behind.unwrap_or_default()
    }

    fn secrets(&self, seed: &Seed) -> Vec<(&'static str, Secret)> {
        let [wep_40, wep_104] = keys::wep_keys(seed);
        let own =
            [("passphrase", Passphrase::of(seed).secret()), ("WEP-40 key", wep_40), ("WEP-104 key", wep_104)];
        own.into_iter().chain(back_end::Secrets::of(seed).named()).collect()
    }

    fn prepare(&self, plan: &Plan) -> Box<dyn Prepared> {
        Box::new(Cells { credentials: Credentials::prepare(plan, |_| None), plan: plan.clone() })
    }
}

/// The layout of a row at these sites.
fn laid_out(row: &RowPlan, sites: &Sites) -> Layout {
    Layout {
        nodes: nodes(row, sites),
        links: links(row, sites),
        initiator: Node::Ue,
        goal: Goal::Echo,
        users: Users { nodes: [Node::Ue, Node::Ap], outer: [sites.ue, sites.ap] },
        closing_max: CLOSING_MAX,
    }
}

/// Whether the EAP server is a node of its own.
fn has_back_end(row: &RowPlan) -> bool {
    row.method.eap().is_some() && row.options.wlan.eap_server == EapServer::Radius
}

fn nodes(row: &RowPlan, sites: &Sites) -> Vec<NodeSpec> {
    let spec = |node, address| NodeSpec {
        node,
        maker: Maker::Keytoll,
        holds_sas: true,
        inner: Vec::new(),
        datagrams: vec![Addr::Mac(address)],
        streams: None,
    };
    let mut access_point = spec(Node::Ap, sites::ACCESS_POINT);
    access_point.datagrams.extend(build::roams(row).then_some(Addr::Mac(sites::OTHER_ACCESS_POINT)));
    let mut behind = Vec::new();
    if has_back_end(row) {
        access_point.datagrams.extend(back_end::client_sockets(row, &sites.back_end));
        behind.extend(back_end::nodes(row, &sites.back_end));
    }
    [spec(Node::Ue, sites.station), access_point].into_iter().chain(behind).collect()
}

/// What a topology puts between device and gateway lies behind the access point, which is where the device is.
fn links(row: &RowPlan, sites: &Sites) -> Vec<LinkSpec> {
    let ends = [(Node::Ue, sites.station), (Node::Ap, sites::ACCESS_POINT)];
    let access = LinkSpec {
        ends: ends.map(|(node, address)| End { node, host: keytoll_net::Host::Mac(address) }),
        config: fault::access_link(row, air(row)),
        protocol: WLAN,
        prefix_bits: None,
    };
    let wires = row.topology.ue_gw() + row.topology.gw_aaa();
    let behind = has_back_end(row).then(|| back_end::links(row, (Node::Ap, wires), &sites.back_end));
    [access].into_iter().chain(behind.into_iter().flatten()).collect()
}

/// The link between a station and its access point.
fn air(row: &RowPlan) -> LinkConfig {
    LinkConfig { is_lan: true, ..keytoll_rig::link(&row.network, Duration::ZERO) }
}

/// The certificates of TLS in EAP for all rows of a plan.
struct Cells {
    credentials: Credentials,
    plan: Plan,
}

impl Prepared for Cells {
    fn populate(
        &self,
        rows: &[&RowPlan],
        population: &Population,
        seed: &Seed,
    ) -> Box<dyn keytoll_rig::Crowd> {
        let shared = keys::of(rows[0], seed, &mut provider(&self.plan));
        Box::new(Populated::new(rows[0], (population, &self.credentials), shared, seed))
    }

    fn set_up(&self, row: &RowPlan, placement: &Placement, seed: &Seed) -> Box<dyn Setup> {
        let seeds = [fault::seed_of_device(row, seed), seed.clone()];
        let mut crypto = provider(&self.plan);
        let keys = seeds.map(|seed| keys::of(row, &seed, &mut crypto));
        let back_end = BackEnd::of(row, &self.credentials, seed);
        Box::new(Built {
            row: row.clone(),
            sites: Sites::of(row, placement),
            seed: seed.clone(),
            keys,
            back_end,
        })
    }
}

/// A row that is set up.
struct Built {
    row: RowPlan,
    sites: Sites,
    seed: Seed,
    /// The station's, and the access point's.
    keys: [keys::Keys; 2],
    back_end: BackEnd,
}

impl Setup for Built {
    fn host(&mut self, node: Node) -> Box<dyn Host> {
        let here = (&self.row, &self.sites);
        let [station, access_point] = &self.keys;
        match node {
            Node::Ue => {
                let eap = self.back_end.ends().map(|ends| &ends.device);
                Box::new(build::station(here, station, eap, &self.seed))
            }
            Node::Ap => {
                let stations = [(self.sites.station, access_point.clone())];
                let keys = (access_point, &stations[..]);
                Box::new(build::access_point(here, keys, self.back_end.ends(), &self.seed))
            }
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
