//! The charge of a node with the costs of a daemon: a price for each response of one protocol, cryptography included.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto::Prices;
use keytoll_engine::trace::Node;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_trace::cost_table::{AuthenticationLoad, AuthenticationPrice, CostTable, DaemonCosts};

use super::{Charged, CostsError, LoadCost, MessageCost, StepCost, ps, table_of};

/// The costs of a daemon, for a node.
#[derive(Debug, Clone)]
pub(super) struct Daemon {
    path: PathBuf,
    costs: DaemonCosts,
    /// The frequency of the cores on which it was measured.
    pub(super) core_hz: f64,
    /// For the reader of a row.
    note: String,
    prices: Arc<Prices>,
}

impl Daemon {
    /// The daemon of a node, with a price for each row of the plan; `None` for a node with its own costs.
    pub(super) fn of(plan: &Plan, node: Node) -> Result<Option<Self>, CostsError> {
        let Some(path) = plan.cpus.get(&node).and_then(|cpu| cpu.costs.as_ref()) else { return Ok(None) };
        let daemon = Self::read(Path::new(path), node)?;
        let rows = plan.rows.iter().filter(|row| row.method.nodes.contains(&node));
        rows.clone().try_for_each(|row| daemon.price(row, node).map(|_| ()))?;
        let is_mixed = plan.population.as_ref().is_some_and(|population| population.mix.len() > 1);
        if is_mixed && rows.count() > 1 {
            return Err(CostsError::Mixed { path: daemon.path });
        }
        Ok(Some(daemon))
    }

    fn read(path: &Path, node: Node) -> Result<Self, CostsError> {
        let table = table_of(path)?;
        let note = note(&table, node);
        let core_hz = table.machine.core_hz;
        let costs = table.daemon.ok_or_else(|| CostsError::NoDaemon(path.to_owned()))?;
        Ok(Self { path: path.to_owned(), costs, core_hz, note, prices: Arc::new(Prices::flat(0.0)) })
    }

    fn price(&self, row: &RowPlan, node: Node) -> Result<&AuthenticationPrice, CostsError> {
        let method = row.method.name();
        self.costs.price(method, node.name()).ok_or_else(|| CostsError::NoMethod {
            path: self.path.clone(),
            node: node.name(),
            method,
            known: self.costs.methods(node.name()).collect::<Vec<_>>().join(", "),
        })
    }

    /// The charge in a row: operations are free, because the price of messages includes them.
    pub(super) fn charge(&self, row: &RowPlan, node: Node) -> (Arc<Prices>, MessageCost) {
        let price = self.price(row, node).ok();
        (Arc::clone(&self.prices), price.map_or_else(MessageCost::default, MessageCost::of_daemon))
    }

    pub(super) fn note(&self) -> &str {
        &self.note
    }
}

/// Names the software and machine behind the CPU time of a node.
fn note(table: &CostTable, node: Node) -> String {
    let (node, cpu, measured) = (node.name(), &table.machine.cpu, &table.measured);
    table.daemon.as_ref().map_or_else(String::new, |DaemonCosts { name, version, configuration, .. }| {
        format!(
            "cpu of {node} is that of {name} {version} ({configuration}) on {cpu}, measured {measured}, spread over its \
             responses; its delays and messages are those of keytoll"
        )
    })
}

impl MessageCost {
    /// Each response of the protocol pays its part of the authentication.
    fn of_daemon(price: &AuthenticationPrice) -> Self {
        let each_ps = |load: &AuthenticationLoad| ps(1000.0 * load.cpu_us / price.responses_count);
        let load = |load: &AuthenticationLoad| {
            let cost = StepCost { each_ps: each_ps(load), ..StepCost::default() };
            LoadCost {
                utilisation: load.utilisation,
                queued_ps: cost.each_ps,
                pauses: vec![(Duration::ZERO, cost)],
            }
        };
        let ends = [price.loads.first(), price.loads.last()].map(|load| load.map_or(0, each_ps));
        Self {
            ps: ends[0],
            queued_ps: ends[1],
            loads: price.loads.iter().map(load).collect(),
            waking: Duration::ZERO,
            charged: Charged::Responses(price.protocol.as_str().into()),
        }
    }
}
