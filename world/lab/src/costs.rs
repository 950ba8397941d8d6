//! The cost tables of a plan with `crypto = "table"`: parsed, and converted into the prices of the meters.

mod daemon;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto::Prices;
use keytoll_crypto::prices::UnknownOperation;
use keytoll_engine::trace::{Fact, Message, Node};
use keytoll_scenario::plan::{CryptoMode, Plan, RowPlan};
use keytoll_sim::{Before, Stimulus};
use keytoll_trace::cost_table::{
    self, CostTable, CostTableError, DaemonCosts, LoadPrice, MessagePrice, PausePrice,
};
use keytoll_trace::manifest::{CRYPTOGRAPHY_ONLY, Machine};
use keytoll_trace::regular;

use daemon::Daemon;

/// The name of the cost table that comes with keytoll.
const REFERENCE: &str = "reference";

/// The costs of operations, possibly of another machine.
#[derive(Debug, Clone)]
pub(crate) struct Costs {
    pub(crate) path: PathBuf,
    pub(crate) prices: Arc<Prices>,
    pub(crate) message: MessageCost,
    /// The same as the table says it.
    price: Option<MessagePrice>,
    /// The frequency of the machine's cores.
    pub(crate) core_hz: f64,
    /// For readers of a row: the machine and the library, and whether messages have no price.
    notes: Vec<String>,
    /// The nodes with the costs of a daemon.
    daemons: BTreeMap<Node, Daemon>,
}

/// The charges of a node.
pub(crate) struct NodeCosts {
    pub(crate) prices: Arc<Prices>,
    pub(crate) message: MessageCost,
    /// The frequency of the cores to which the costs belong.
    pub(crate) core_hz: f64,
}

/// The charges of a node for messages, without cryptography.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageCost {
    /// In a step whose input wakes the node, in picoseconds.
    ps: u64,
    /// In a step whose input has waited for the node, in picoseconds.
    queued_ps: u64,
    /// By how busy the node has been, the idlest first.
    loads: Arc<[LoadCost]>,
    /// From when an input reaches a node that sleeps until the node computes.
    waking: Duration,
    charged: Charged,
}

/// The messages that a node is charged for.
#[derive(Debug, Clone, Default)]
enum Charged {
    /// Each datagram that it takes and each message that it sends.
    #[default]
    All,
    /// Each response of this protocol to an authentication: once, however many fragments it has, and how often it is sent.
    Responses(Arc<str>),
}

impl Charged {
    const fn has_input(&self) -> bool {
        matches!(self, Self::All)
    }

    fn has(&self, message: &Message) -> bool {
        match self {
            Self::All => !message.protocol.is_traffic(),
            Self::Responses(protocol) => {
                let is_repeated = message.fragment > 0 || message.retransmission;
                let is_answer = message.response && !message.accounting && !is_repeated;
                is_answer && message.protocol.name() == &**protocol
            }
        }
    }
}

/// What messages cost at a load.
#[derive(Debug, Clone)]
struct LoadCost {
    utilisation: f64,
    /// In a step whose input has waited for the node, in picoseconds.
    queued_ps: u64,
    /// In a step whose input wakes a node that has slept for at least so long, the shortest pause first.
    pauses: Vec<(Duration, StepCost)>,
}

/// What a step costs besides cryptography, and how long it takes to wake up for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct StepCost {
    /// Each message, in picoseconds.
    each_ps: u64,
    /// The part of a step which comes after its answers, in picoseconds.
    after_answer_ps: u64,
    waking: Duration,
}

/// The messages of one step, and what it costs.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepMessages {
    received: u64,
    cost: StepCost,
    charged: Charged,
}

impl MessageCost {
    fn of(price: &MessagePrice) -> Self {
        Self {
            ps: ps(price.ns),
            queued_ps: ps(price.queued_ns.unwrap_or(price.ns)),
            loads: price.loads.iter().map(LoadCost::of).collect(),
            waking: price.wake_us.map_or(Duration::ZERO, micros),
            charged: Charged::All,
        }
    }

    /// A step begins.
    pub(crate) fn begin(&self, stimulus: &Stimulus<'_>, before: Before) -> StepMessages {
        let is_packet = matches!(stimulus, Stimulus::Packet(_));
        let by_load = if is_packet { self.at(before) } else { None };
        let cost = by_load.unwrap_or_else(|| self.anyhow(before.idle));
        let received = u64::from(is_packet && self.charged.has_input());
        StepMessages { received, cost, charged: self.charged.clone() }
    }

    /// Whatever the load. Whoever begins by itself pays no more for a pause, but sleeps until its time has come.
    fn anyhow(&self, idle: Option<Duration>) -> StepCost {
        match idle {
            None => StepCost::waited(self.queued_ps),
            Some(Duration::ZERO) => StepCost { each_ps: self.ps, ..StepCost::default() },
            Some(_) => StepCost { each_ps: self.ps, waking: self.waking, ..StepCost::default() },
        }
    }

    /// Between the loads that are next to it.
    fn at(&self, before: Before) -> Option<StepCost> {
        let above = self.loads.partition_point(|load| load.utilisation < before.utilisation);
        let [below, above] = [above.saturating_sub(1), above.min(self.loads.len().saturating_sub(1))];
        let (below, above) = (self.loads.get(below)?, self.loads.get(above)?);
        let apart = above.utilisation - below.utilisation;
        let part = if apart > 0.0 { (before.utilisation - below.utilisation) / apart } else { 0.0 };
        let [below, above] = [below, above].map(|load| load.step(before.idle));
        Some(below.towards(above, part))
    }
}

impl LoadCost {
    fn of(price: &LoadPrice) -> Self {
        let pause = |price: &PausePrice| {
            let (each_ps, after_answer_ps) = (ps(price.ns), ps(price.after_answer_ns));
            (micros(price.after_us), StepCost { each_ps, after_answer_ps, waking: micros(price.wake_us) })
        };
        let pauses = price.pauses.iter().map(pause).collect();
        Self { utilisation: price.utilisation, queued_ps: ps(price.queued_ns), pauses }
    }

    /// A pause that is shorter than all which have a price has that of the shortest.
    fn step(&self, idle: Option<Duration>) -> StepCost {
        let Some(idle) = idle else { return StepCost::waited(self.queued_ps) };
        let mut longest_first = self.pauses.iter().rev();
        let slept = longest_first.find(|(least, cost)| *least <= idle.saturating_add(cost.waking));
        slept.or(self.pauses.first()).map_or_else(StepCost::default, |(_, cost)| *cost)
    }
}

impl StepCost {
    /// It has waited while the node was busy.
    fn waited(queued_ps: u64) -> Self {
        Self { each_ps: queued_ps, ..Self::default() }
    }

    /// Some part of the way to another one.
    fn towards(self, other: Self, part: f64) -> Self {
        let between = |from: u64, to: u64| (from as f64 + part * (to as f64 - from as f64)) as u64;
        let waking_ns = between(nanos(self.waking), nanos(other.waking));
        Self {
            each_ps: between(self.each_ps, other.each_ps),
            after_answer_ps: between(self.after_answer_ps, other.after_answer_ps),
            waking: Duration::from_nanos(waking_ns),
        }
    }
}

/// Picoseconds.
const fn ps(ns: f64) -> u64 {
    (ns * 1000.0) as u64
}

fn micros(us: f64) -> Duration {
    Duration::try_from_secs_f64(us / 1e6).unwrap_or(Duration::MAX)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl StepMessages {
    /// How long the node wakes up before it computes.
    pub(crate) const fn waking(&self) -> Duration {
        self.cost.waking
    }

    /// What the input and the messages that the step noted as sent cost, in picoseconds.
    pub(crate) fn ps(&self, noted: &[Fact]) -> u64 {
        let is_message = |fact: &&Fact| matches!(fact, Fact::Sent(message) if self.charged.has(message));
        if self.cost.each_ps == 0 {
            return 0;
        }
        self.cost.each_ps * (self.received + noted.iter().filter(is_message).count() as u64)
    }

    /// The part of a step's picoseconds that comes after its answers: what it did not cost in all cannot come after.
    pub(crate) fn after_answer_ps(&self, step_ps: u64) -> u64 {
        self.cost.after_answer_ps.min(step_ps)
    }
}

/// Why a plan has no costs.
#[derive(Debug, thiserror::Error)]
pub enum CostsError {
    /// The file is not there.
    #[error("the cost table `{0}` does not exist")]
    Missing(PathBuf),
    /// The file is none.
    #[error("`{path}` {source}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: CostTableError,
    },
    /// It has a price of an unknown operation.
    #[error("`{path}` was made by another keytoll: {source}")]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The operation.
        source: UnknownOperation,
    },
    /// It has the costs of a daemon, which are those of one node.
    #[error(
        "`{0}` has the costs of a daemon; name it for a node, like `[cpus] gw = {{ costs = … }}`, and `costs = \"reference\"` for all"
    )]
    OfDaemon(PathBuf),
    /// It has the costs of operations, and not those of a daemon.
    #[error(
        "`{0}` has no costs of a daemon; `keytoll calibrate` writes such a file, and `costs` of the whole scenario takes this one"
    )]
    NoDaemon(PathBuf),
    /// It has not been calibrated for a method.
    #[error(
        "`{path}` has no costs of {method} for {node}, only of {known}; calibrate it with this method, too"
    )]
    NoMethod {
        /// The file.
        path: PathBuf,
        /// The node.
        node: &'static str,
        /// The method.
        method: &'static str,
        /// The methods that it has.
        known: String,
    },
    /// A daemon has a price for each method, and messages of a mix have no method.
    #[error(
        "`{path}` has a price for each method, and a population of several methods would mix them; run each method alone"
    )]
    Mixed {
        /// The file.
        path: PathBuf,
    },
}

/// The table in a file.
fn table_of(path: &Path) -> Result<CostTable, CostsError> {
    let unusable = |source| CostsError::Unusable { path: path.to_owned(), source };
    let text = regular::read_named_text(path, cost_table::BYTES_MAX).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CostsError::Missing(path.to_owned()),
        _ => unusable(error.into()),
    })?;
    CostTable::read(text.as_bytes()).map_err(unusable)
}

impl Costs {
    /// The tables of a plan; `None` unless the plan has one.
    pub(crate) fn of(plan: &Plan) -> Result<Option<Self>, CostsError> {
        Self::of_all(plan)?.map(|costs| costs.with_daemons(plan)).transpose()
    }

    /// The table of the nodes without the costs of a daemon.
    fn of_all(plan: &Plan) -> Result<Option<Self>, CostsError> {
        let exponents = plan.exponents.name();
        let costs = match (plan.crypto, &plan.costs) {
            (CryptoMode::Table, Some(name)) if name == REFERENCE => {
                let reference = CostTable::read(crate::rehearsal::REFERENCE.as_bytes());
                Self::of_table(Path::new(name), reference.expect("a test reads it"), exponents)?
            }
            (CryptoMode::Table, Some(path)) => {
                let path = Path::new(path);
                Self::of_table(path, table_of(path)?, exponents)?
            }
            _ => return Ok(None),
        };
        Ok(Some(costs))
    }

    fn with_daemons(mut self, plan: &Plan) -> Result<Self, CostsError> {
        for node in plan.cpus.keys() {
            if let Some(daemon) = Daemon::of(plan, *node)? {
                self.notes.push(daemon.note().to_owned());
                self.daemons.insert(*node, daemon);
            }
        }
        Ok(self)
    }

    /// The charges of a node in a row.
    pub(crate) fn at(&self, node: Node, row: &RowPlan) -> NodeCosts {
        let Some(daemon) = self.daemons.get(&node) else {
            let (prices, message) = (Arc::clone(&self.prices), self.message.clone());
            return NodeCosts { prices, message, core_hz: self.core_hz };
        };
        let (prices, message) = daemon.charge(row, node);
        NodeCosts { prices, message, core_hz: daemon.core_hz }
    }

    /// The notes of every row of a plan; none where it has no table, or one that is refused when it runs.
    pub(crate) fn notes(plan: &Plan) -> Vec<String> {
        Self::of(plan).ok().flatten().map_or_else(Vec::new, |costs| costs.notes)
    }

    fn of_table(path: &Path, table: CostTable, exponents: &str) -> Result<Self, CostsError> {
        if table.daemon.is_some() {
            return Err(CostsError::OfDaemon(path.to_owned()));
        }
        let prices = prices(&table, exponents)
            .map_err(|source| CostsError::Unknown { path: path.to_owned(), source })?;
        let message = table.message.as_ref().map_or_else(MessageCost::default, MessageCost::of);
        let is_cryptography_only = table.message.is_none().then(|| CRYPTOGRAPHY_ONLY.to_owned());
        let origin =
            format!("costs of {} on {}, measured {}", table.library, table.machine.cpu, table.measured);
        Ok(Self {
            path: path.to_owned(),
            prices: Arc::new(prices),
            message,
            price: table.message,
            core_hz: table.machine.core_hz,
            notes: std::iter::once(origin).chain(is_cryptography_only).collect(),
            daemons: BTreeMap::new(),
        })
    }
}

/// The price of messages in the cost table of a plan; `None` without a table, if it cannot be read, or if a node has the costs of a daemon.
pub fn message_price(plan: &Plan) -> Option<MessagePrice> {
    let has_daemons = plan.cpus.values().any(|cpu| cpu.costs.is_some());
    Costs::of_all(plan).ok().flatten().filter(|_| !has_daemons)?.price
}

/// The costs of a daemon in a cost table, and the machine on which it was measured.
///
/// # Errors
/// The file is no cost table, or has no costs of a daemon.
pub fn daemon_costs(path: &Path) -> Result<(DaemonCosts, Machine), CostsError> {
    let table = table_of(path)?;
    let costs = table.daemon.ok_or_else(|| CostsError::NoDaemon(path.to_owned()))?;
    Ok((costs, table.machine))
}

/// The prices of a table, with private exponents of one length.
///
/// # Errors
/// The table has a price of an operation that this keytoll does not know.
pub fn prices(table: &CostTable, exponents: &str) -> Result<Prices, UnknownOperation> {
    let is_fit = |length: &str| length == exponents;
    let fits = table.costs.iter().filter(|it| it.exponents.as_deref().is_none_or(is_fit));
    Prices::new(fits.map(|it| (it.operation.as_str(), it.algorithm.as_str(), it.fixed_ns, it.ns_per_byte)))
}

#[cfg(test)]
mod tests {
    use keytoll_engine::trace::{Name, Protocol};
    use keytoll_engine::{Addr, Datagram};

    use super::*;

    fn pause([after_us, ns, wake_us]: [f64; 3]) -> PausePrice {
        PausePrice { after_us, ns, after_answer_ns: ns - 2.0, wake_us }
    }

    /// Of a node that was busy for a tenth of the time, or a half.
    fn cost() -> MessageCost {
        let load = |utilisation, queued_ns, pauses: &[[f64; 3]]| LoadPrice {
            utilisation,
            queued_ns,
            pauses: pauses.iter().copied().map(pause).collect(),
        };
        let idle = load(0.1, 4.0, &[[50.0, 8.0, 40.0], [900.0, 10.0, 60.0]]);
        let busy = load(0.5, 2.0, &[[25.0, 4.0, 20.0]]);
        MessageCost::of(&MessagePrice {
            ns: 3.0,
            queued_ns: Some(2.0),
            loads: vec![idle, busy],
            wake_us: Some(30.0),
            cryptography: None,
            n: 1,
        })
    }

    fn plan(changes: &[&str]) -> Plan {
        let changes = keytoll_scenario::Overrides::parse(changes).unwrap();
        keytoll_scenario::Source::builtin("quickstart").unwrap().plan(&changes).unwrap()
    }

    #[test]
    fn a_table_without_messages_is_marked_and_the_reference_has_them() {
        let of_reference = plan(&["crypto=table", "costs=reference"]);
        let [origin] = &Costs::notes(&of_reference)[..] else { panic!("{:?}", Costs::notes(&of_reference)) };
        assert!(origin.starts_with("costs of AWS-LC"), "{origin}");
        assert!(Costs::of(&of_reference).unwrap().unwrap().message.ps > 0);
        let mut table = CostTable::read(crate::rehearsal::REFERENCE.as_bytes()).unwrap();
        table.message = None;
        let costs = Costs::of_table(Path::new("without.json"), table, "short").unwrap();
        assert_eq!(costs.notes[1..], [CRYPTOGRAPHY_ONLY]);
        assert_eq!(Costs::notes(&plan(&[])), [""; 0]);
    }

    fn begin(cost: &MessageCost, utilisation: f64, idle_us: Option<u64>) -> StepMessages {
        let addr = Addr::udp("10.0.0.1".parse().unwrap(), 500);
        let datagram = Datagram { protocol: Protocol::IP, from: addr, to: addr, bytes: Vec::new() };
        let before = Before { idle: idle_us.map(Duration::from_micros), utilisation };
        cost.begin(&Stimulus::Packet(&datagram), before)
    }

    fn told(step: &StepMessages) -> (u64, u64, u128) {
        (step.ps(&[]), step.after_answer_ps(u64::MAX), step.waking().as_micros())
    }

    #[test]
    fn a_packet_costs_by_how_long_its_node_was_idle() {
        let cost = cost();
        let at = |idle_us| told(&begin(&cost, 0.1, idle_us));
        assert_eq!(at(None), (4000, 0, 0), "it has waited");
        assert_eq!([0, 9, 10, 839].map(Some).map(at), [(8000, 6000, 40); 4]);
        assert_eq!(at(Some(840)), (10_000, 8000, 60), "a pause lasts until it is awake");
        assert_eq!(begin(&cost, 0.1, Some(0)).after_answer_ps(5), 5, "no more than all");
    }

    #[test]
    fn a_packet_costs_by_how_busy_its_node_was() {
        let cost = cost();
        let at = |utilisation| told(&begin(&cost, utilisation, Some(100)));
        assert_eq!([0.0, 0.1].map(at), [(8000, 6000, 40); 2]);
        assert_eq!(at(0.3), (6000, 4000, 30));
        assert_eq!([0.5, 1.0].map(at), [(4000, 2000, 20); 2]);
        assert_eq!(told(&begin(&cost, 0.2, None)), (3500, 0, 0));
    }

    #[test]
    fn a_daemon_pays_once_for_each_response() {
        let response =
            Message { response: true, ..Message::new(Protocol::new(&"ike"), Name::new(&"answer")) };
        let others = [
            Message { fragment: 1, ..response.clone() },
            Message { retransmission: true, ..response.clone() },
            Message { accounting: true, ..response.clone() },
            Message { response: false, ..response.clone() },
            Message { protocol: Protocol::new(&"radius"), ..response.clone() },
        ];
        let daemon = MessageCost { charged: Charged::Responses("ike".into()), ..cost() };
        let step = begin(&daemon, 0.1, None);
        assert_eq!(
            step.ps(&[Fact::Sent(response.clone()), Fact::Sent(response)]),
            8000,
            "and nothing for the input"
        );
        assert_eq!(step.ps(&others.map(Fact::Sent)), 0);
    }

    #[test]
    fn whoever_begins_by_itself_pays_no_more_for_a_pause() {
        let cost = cost();
        let begin = |stimulus, idle_us| {
            let before = Before { idle: Some(Duration::from_micros(idle_us)), utilisation: 0.1 };
            cost.begin(&stimulus, before)
        };
        let begun = begin(Stimulus::Command, 1_000_000);
        assert_eq!((begun.cost.each_ps, begun.received), (3000, 0));
        assert_eq!([0, 1, 900].map(|idle_us| told(&begin(Stimulus::Tick, idle_us)).2), [0, 30, 30]);
    }
}
