//! Building the world of a population: its serving nodes, what they are charged, and the links between them.

use keytoll_crypto::{Metered, Provider};
use keytoll_crypto_api::Seed;
use keytoll_engine::trace::{Link, Node};
use keytoll_hosts::Host;
use keytoll_native::heap;
use keytoll_net::Host as Address;
use keytoll_rig::{Crowd, Layout};
use keytoll_scenario::plan::{CpuProfile, Plan, RowPlan};
use keytoll_scenario::population::{Population, Spread};
use keytoll_sim::{LinkConfig, NodeConfig, NodeIndex, ProviderIndex, World};

use super::facts::Facts;
use super::till::Till;
use super::{Serving, gateways, heaps};
use crate::costs::{Costs, NodeCosts};
use crate::provider::metered;

/// How long each server waits for its store: as the population has it, or the options of its rows.
fn stores(population: &Population, rows: &[&RowPlan]) -> [(Node, Option<Spread>); 2] {
    let of_rows = rows.iter().find_map(|row| row.options.hss_store);
    [(Node::Aaa, population.aaa_store), (Node::Hss, population.hss_store.or(of_rows))]
}

/// What building a world needs.
pub(super) struct Builder<'a> {
    plan: &'a Plan,
    /// The first row: prices of a daemon are for its method.
    row: &'a RowPlan,
    costs: Option<&'a Costs>,
    core_hz: f64,
    pub(super) world: World<Box<dyn Host>, Metered<Provider>, Till>,
    pub(super) serving: Vec<Serving>,
    pub(super) facts: Facts,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        (population, rows): (&Population, &[&'a RowPlan]),
        (costs, core_hz): (Option<&'a Costs>, f64),
        seed: &Seed,
    ) -> Self {
        let (row, stores) = (rows[0], stores(population, rows));
        let of_devices = costs.map(|costs| costs.at(Node::Ue, row));
        let devices_hz = of_devices.as_ref().map_or(core_hz, |costs| costs.core_hz);
        let message = of_devices.map(|costs| costs.message).unwrap_or_default();
        let till = Till::new(plan.crypto, message, scale(plan, Node::Ue, devices_hz), stores, seed);
        let mut world = World::new(seed.clone(), till);
        // A device has nothing to do for minutes when it has done something.
        world.set_limits(keytoll_sim::Limits {
            datagrams_in_flight_max: 1 << 24,
            nodes_awake_max: 0,
            // More are awake only while they carry something.
            links_awake_max: 64,
        });
        Self { plan, row, costs, core_hz, world, serving: Vec::new(), facts: Facts::default() }
    }

    /// The charges of a node, if there is a table.
    fn costs(&self, node: Node) -> Option<NodeCosts> {
        self.costs.map(|costs| costs.at(node, self.row))
    }

    fn crypto(&self, node: Node) -> Metered<Provider> {
        let mut crypto = metered(self.plan);
        self.costs(node).into_iter().for_each(|costs| crypto.charge(costs.prices));
        crypto
    }

    /// The crypto provider of all devices.
    pub(super) fn purse(&mut self) -> ProviderIndex {
        let crypto = self.crypto(Node::Ue);
        self.world.add_provider(crypto)
    }

    /// How many cores a node has.
    pub(super) fn cores(&self, node: Node) -> u32 {
        self.plan.cpus.get(&node).map_or(1, |profile: &CpuProfile| profile.cores).into()
    }

    /// The node of a name; of several gateways the one of this number.
    fn index(&self, node: Node, gateway: u32) -> Option<NodeIndex> {
        let is_it =
            |serving: &&Serving| serving.node == node && serving.gateway.is_none_or(|it| it == gateway);
        self.serving.iter().find(is_it).map(|serving| serving.index)
    }

    /// Builds the serving nodes with this one of so many gateways that are not there yet, and connects them.
    pub(super) fn build(&mut self, crowd: &mut dyn Crowd, layouts: &[Layout], (gateway, count): (u32, u32)) {
        let door = layouts[0].users.nodes[1];
        for spec in layouts.iter().flat_map(|layout| &layout.nodes) {
            if spec.node == layouts[0].initiator || self.index(spec.node, gateway).is_some() {
                continue;
            }
            let number = u32::try_from(self.serving.len()).expect("few nodes serve");
            let host = {
                let _role = heap::enter(heaps::role(number));
                crowd.serving(spec.node, gateway)
            };
            let is_door = spec.node == door;
            let name = if is_door && door == Node::Gw {
                gateways::name(gateway, count)
            } else {
                spec.node.name().to_owned()
            };
            let is_one = is_door && count > 1;
            self.serve(
                Called { node: spec.node, name, gateway: is_door.then_some(gateway), is_one },
                host,
                &spec.inner,
            );
        }
    }

    fn serve(&mut self, called: Called, host: Box<dyn Host>, inner: &[std::net::IpAddr]) {
        let Called { node, name, gateway, is_one } = called;
        let cores = self.cores(node);
        let config = NodeConfig { cores, ..NodeConfig::new(node) };
        let crypto = self.crypto(node);
        let index = self.world.add_node(config, host, crypto);
        let costs = self.costs(node);
        let core_hz = costs.as_ref().map_or(self.core_hz, |costs| costs.core_hz);
        let message = costs.map(|costs| costs.message).unwrap_or_default();
        self.world.meter_mut().add_serving(index, node, scale(self.plan, node, core_hz), message);
        self.facts.add_serving(&name, cores, is_one);
        let (addresses, neighbours) = (Vec::new(), Vec::new());
        self.serving.push(Serving { node, name, gateway, index, addresses, neighbours });
        inner.iter().for_each(|inner| self.address(index, (*inner).into()));
    }

    /// A serving node has an address, which several gateways may have.
    fn address(&mut self, index: NodeIndex, host: Address) {
        let serving = self.serving.iter_mut().find(|serving| serving.index == index);
        let serving = serving.expect("only serving nodes are given addresses");
        if serving.addresses.contains(&host) {
            return;
        }
        serving.addresses.push(host);
        self.world.share_address(index, host);
    }

    fn join(&mut self, [a, b]: [NodeIndex; 2], config: &LinkConfig) {
        self.world.add_link(a, b, config);
        for (one, other) in [(a, b), (b, a)] {
            let serving = self.serving.iter_mut().find(|serving| serving.index == one);
            serving.into_iter().for_each(|serving| serving.neighbours.push(other));
        }
    }

    /// Connects the serving nodes as a layout with this gateway says; returns the access link of its devices, and where it leads.
    pub(super) fn links(&mut self, layout: &Layout, gateway: u32) -> (LinkConfig, NodeIndex) {
        let mut access = None;
        for link in &layout.links {
            let ends = link.ends.map(|end| (self.index(end.node, gateway), end));
            match ends {
                [(Some(a), at_a), (Some(b), at_b)] => {
                    self.address(a, at_a.host);
                    self.address(b, at_b.host);
                    self.join([a, b], &link.config);
                }
                [(None, _), (Some(to), end)] => {
                    self.address(to, end.host);
                    access = Some((link.config.clone(), to));
                }
                _ => {}
            }
        }
        debug_assert!(
            layout.links.iter().any(|link| link.link() == Link::between(Node::Ue, layout.users.nodes[1]))
        );
        access.expect("every layout leads its device to a serving node")
    }

    /// Tells the census of the links of a layout: as many access links as all devices need, one behind each gateway, and one between
    /// other serving nodes.
    pub(super) fn tell_links(&mut self, layout: &Layout, population: &Population) {
        let access_links = population.devices.div_ceil(population.devices_per_link).into();
        for link in &layout.links {
            let ends = link.ends.each_ref().map(|end| end.node);
            let is_of_gateways = ends.contains(&layout.users.nodes[1]);
            let count = match () {
                () if ends.contains(&layout.initiator) => access_links,
                () if is_of_gateways => population.gateways.into(),
                () => 1,
            };
            self.facts.add_links(ends, count, &link.config);
        }
    }
}

/// What a serving node is called.
struct Called {
    node: Node,
    name: String,
    gateway: Option<u32>,
    is_one: bool,
}

/// Virtual nanoseconds of a node for each one of the machine whose time is charged.
fn scale(plan: &Plan, node: Node, core_hz: f64) -> f64 {
    plan.cpus.get(&node).and_then(|profile| profile.hz).map_or(1.0, |hz| core_hz / hz)
}
