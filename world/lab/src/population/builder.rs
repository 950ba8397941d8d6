//! Building the world of a population: its serving nodes, what they are charged, and the links between them.

use std::sync::Arc;

use keytoll_crypto::{Metered, Provider};
use keytoll_crypto_api::Seed;
use keytoll_engine::trace::{Link, Node};
use keytoll_hosts::Host;
use keytoll_scenario::plan::{CpuProfile, Plan};
use keytoll_scenario::population::Population;
use keytoll_sim::{NodeConfig, NodeIndex, ProviderIndex, World};

use super::facts::Facts;
use super::till::Till;
use super::{Access, Serving};
use crate::costs::Costs;
use crate::provider::metered;

/// What building a world needs.
pub(super) struct Builder<'a> {
    plan: &'a Plan,
    costs: Option<&'a Costs>,
    core_hz: f64,
    pub(super) world: World<Box<dyn Host>, Metered<Provider>, Till>,
    pub(super) serving: Vec<Serving>,
    pub(super) facts: Facts,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        population: &Population,
        (costs, core_hz): (Option<&'a Costs>, f64),
        seed: &Seed,
    ) -> Self {
        let scale = |node| scale(plan, node, core_hz);
        let message = costs.map(|costs| costs.message).unwrap_or_default();
        let till = Till::new(plan.crypto, message, scale(Node::Ue), population, seed);
        let mut world = World::new(seed.clone(), till);
        // A device has nothing to do for minutes when it has done something.
        let (datagrams_in_flight_max, nodes_awake_max) = (1 << 24, 0);
        let limits = keytoll_sim::Limits::default();
        world.set_limits(keytoll_sim::Limits { datagrams_in_flight_max, nodes_awake_max, ..limits });
        Self { plan, costs, core_hz, world, serving: Vec::new(), facts: Facts::default() }
    }

    fn crypto(&self) -> Metered<Provider> {
        let mut crypto = metered(self.plan);
        self.costs.into_iter().for_each(|costs| crypto.charge(Arc::clone(&costs.prices)));
        crypto
    }

    /// The crypto provider of all devices.
    pub(super) fn purse(&mut self) -> ProviderIndex {
        let crypto = self.crypto();
        self.world.add_provider(crypto)
    }

    pub(super) fn index(&self, node: Node) -> Option<NodeIndex> {
        self.serving.iter().find(|serving| serving.node == node).map(|serving| serving.index)
    }

    pub(super) fn serve(&mut self, node: Node, host: Box<dyn Host>, inner: &[std::net::IpAddr]) {
        let cores = self.plan.cpus.get(&node).map_or(1, |profile: &CpuProfile| profile.cores).into();
        let config = NodeConfig { cores, ..NodeConfig::new(node) };
        let crypto = self.crypto();
        let index = self.world.add_node(config, host, crypto);
        inner.iter().for_each(|inner| self.world.add_address(index, *inner));
        let scale = scale(self.plan, node, self.core_hz);
        self.world.meter_mut().add_serving(index, node, scale);
        self.facts.census.add_node(node.name(), cores);
        self.serving.push(Serving { node, index });
    }

    /// Connects the serving nodes as a layout says; returns the access link of its devices.
    pub(super) fn links(&mut self, layout: &keytoll_rig::Layout) -> Access {
        let mut access = None;
        for link in &layout.links {
            let ends = link.ends.map(|end| (self.index(end.node), end));
            match ends {
                [(Some(a), at_a), (Some(b), at_b)] => {
                    self.world.add_address(a, at_a.host);
                    self.world.add_address(b, at_b.host);
                    self.world.add_link(a, b, &link.config);
                }
                [(None, _), (Some(to), end)] => {
                    self.world.add_address(to, end.host);
                    access = Some(Access { config: link.config.clone(), to });
                }
                _ => {}
            }
        }
        debug_assert!(
            layout.links.iter().any(|link| link.link() == Link::between(Node::Ue, layout.users.nodes[1]))
        );
        access.expect("every layout leads its device to a serving node")
    }

    /// Tells the census of the links of a layout: as many access links as all devices need, and one between serving nodes.
    pub(super) fn tell_links(&mut self, layout: &keytoll_rig::Layout, population: &Population) {
        let access_links = population.devices.div_ceil(population.devices_per_link).into();
        for link in &layout.links {
            let ends = link.ends.each_ref().map(|end| end.node);
            let count = if ends.contains(&layout.initiator) { access_links } else { 1 };
            self.facts.add_links(ends, count, &link.config);
        }
    }
}

/// Virtual nanoseconds of a node for each one of the machine whose time is charged.
fn scale(plan: &Plan, node: Node, core_hz: f64) -> f64 {
    plan.cpus.get(&node).and_then(|profile| profile.hz).map_or(1.0, |hz| core_hz / hz)
}
