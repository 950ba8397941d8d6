//! The cost table of a plan with `crypto = "table"`: parsed, and converted into the prices of the meters.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto::Prices;
use keytoll_crypto::prices::UnknownOperation;
use keytoll_engine::trace::Fact;
use keytoll_scenario::plan::{CryptoMode, Plan};
use keytoll_sim::Stimulus;
use keytoll_trace::cost_table::{self, CostTable, CostTableError, MessagePrice, PausePrice};
use keytoll_trace::regular;

/// The name of the cost table that comes with keytoll.
const REFERENCE: &str = "reference";

/// The costs of operations, possibly of another machine.
#[derive(Debug, Clone)]
pub(crate) struct Costs {
    pub(crate) path: PathBuf,
    pub(crate) prices: Arc<Prices>,
    pub(crate) message: MessageCost,
    /// The frequency of the machine's cores.
    pub(crate) core_hz: f64,
    /// The machine and the library, for people.
    pub(crate) origin: String,
}

/// What a node is charged for each datagram that it takes and each message that it sends, besides cryptography, in picoseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageCost {
    ps: u64,
    /// In a step whose input has waited for the node.
    queued_ps: u64,
    /// In a step whose input wakes a node that has been idle for at least so long, the shortest pause first.
    pauses: Arc<[PauseCost]>,
    /// From when an input reaches a node that sleeps until the node computes.
    waking: Duration,
}

/// What messages cost that wake a node which has slept for at least so long.
#[derive(Debug, Clone, Copy)]
struct PauseCost {
    least: Duration,
    ps: u64,
    /// The part of a step which comes after its answers.
    after_answer_ps: u64,
    waking: Duration,
}

/// The messages of one step, what each of them costs, and what it took to wake the node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepMessages {
    each_ps: u64,
    received: u64,
    waking: Duration,
    after_answer_ps: u64,
}

impl MessageCost {
    fn of(price: &MessagePrice) -> Self {
        Self {
            ps: ps(price.ns),
            queued_ps: ps(price.queued_ns.unwrap_or(price.ns)),
            pauses: price.pauses.iter().map(PauseCost::of).collect(),
            waking: price.wake_us.map_or(Duration::ZERO, micros),
        }
    }

    /// A step begins. Whoever begins by itself pays no more for that, but sleeps until its time has come.
    pub(crate) fn begin(&self, stimulus: &Stimulus<'_>, idle: Option<Duration>) -> StepMessages {
        let is_packet = matches!(stimulus, Stimulus::Packet(_));
        let step = StepMessages { received: u64::from(is_packet), ..StepMessages::default() };
        let Some(idle) = idle else { return StepMessages { each_ps: self.queued_ps, ..step } };
        match self
            .pauses
            .iter()
            .rev()
            .find(|pause| is_packet && pause.least <= idle.saturating_add(pause.waking))
        {
            Some(&PauseCost { ps: each_ps, after_answer_ps, waking, .. }) => {
                StepMessages { each_ps, after_answer_ps, waking, ..step }
            }
            None if idle.is_zero() => StepMessages { each_ps: self.ps, ..step },
            None => StepMessages { each_ps: self.ps, waking: self.waking, ..step },
        }
    }
}

impl PauseCost {
    fn of(price: &PausePrice) -> Self {
        Self {
            least: micros(price.after_us),
            ps: ps(price.ns),
            after_answer_ps: ps(price.after_answer_ns),
            waking: micros(price.wake_us),
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

impl StepMessages {
    /// How long the node wakes up before it computes.
    pub(crate) const fn waking(self) -> Duration {
        self.waking
    }

    /// What the input and the messages that the step noted as sent cost, in picoseconds.
    pub(crate) fn ps(self, noted: &[Fact]) -> u64 {
        let is_message = |fact: &&Fact| matches!(fact, Fact::Sent(message) if !message.protocol.is_traffic());
        if self.each_ps == 0 {
            return 0;
        }
        self.each_ps * (self.received + noted.iter().filter(is_message).count() as u64)
    }

    /// The part of a step's picoseconds that comes after its answers: what it did not cost in all cannot come after.
    pub(crate) fn after_answer_ps(self, step_ps: u64) -> u64 {
        self.after_answer_ps.min(step_ps)
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
}

impl Costs {
    /// The table of a plan; `None` unless the plan has one.
    pub(crate) fn of(plan: &Plan) -> Result<Option<Self>, CostsError> {
        match (plan.crypto, &plan.costs) {
            (CryptoMode::Table, Some(name)) if name == REFERENCE => {
                Self::of_table(Path::new(name), crate::rehearsal::REFERENCE.as_bytes(), plan.exponents.name())
                    .map(Some)
            }
            (CryptoMode::Table, Some(path)) => Self::read(Path::new(path), plan.exponents.name()).map(Some),
            _ => Ok(None),
        }
    }

    fn read(path: &Path, exponents: &str) -> Result<Self, CostsError> {
        let unusable = |source| CostsError::Unusable { path: path.to_owned(), source };
        let text =
            regular::read_named_text(path, cost_table::BYTES_MAX).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => CostsError::Missing(path.to_owned()),
                _ => unusable(error.into()),
            })?;
        Self::of_table(path, text.as_bytes(), exponents)
    }

    fn of_table(path: &Path, file: impl Read, exponents: &str) -> Result<Self, CostsError> {
        let unusable = |source| CostsError::Unusable { path: path.to_owned(), source };
        let table = CostTable::read(file).map_err(unusable)?;
        let prices = prices(&table, exponents)
            .map_err(|source| CostsError::Unknown { path: path.to_owned(), source })?;
        let message = table.message.as_ref().map_or_else(MessageCost::default, MessageCost::of);
        let origin =
            format!("costs of {} on {}, measured {}", table.library, table.machine.cpu, table.measured);
        Ok(Self {
            path: path.to_owned(),
            prices: Arc::new(prices),
            message,
            core_hz: table.machine.core_hz,
            origin,
        })
    }
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
    use keytoll_engine::trace::Protocol;
    use keytoll_engine::{Addr, Datagram};

    use super::*;

    #[test]
    fn a_packet_costs_by_how_long_its_node_was_idle() {
        let pause = |after_us, ns, wake_us| PausePrice { after_us, ns, after_answer_ns: 0.001, wake_us };
        let pauses = [pause(50.0, 0.004, 40.0), pause(900.0, 0.005, 60.0)];
        let cost = MessageCost::of(&MessagePrice {
            ns: 0.003,
            queued_ns: Some(0.002),
            pauses: pauses.to_vec(),
            wake_us: Some(30.0),
            cryptography: None,
            n: 1,
        });
        let addr = Addr::udp("10.0.0.1".parse().unwrap(), 500);
        let datagram = Datagram { protocol: Protocol::IP, from: addr, to: addr, bytes: Vec::new() };
        let begin = |idle_us: Option<u64>| {
            cost.begin(&Stimulus::Packet(&datagram), idle_us.map(Duration::from_micros))
        };
        let packet = |idle_us: Option<u64>| begin(idle_us).ps(&[]);
        let pauses_us = [0, 9, 10, 839, 840].map(Some);
        assert_eq!(
            (packet(None), pauses_us.map(packet)),
            (2, [3, 3, 4, 4, 5]),
            "a pause lasts until it is awake"
        );
        let begun = cost.begin(&Stimulus::Command, Some(Duration::from_secs(1)));
        assert_eq!((begun.each_ps, begun.received), (3, 0), "whoever begins is not cold");
        let after_answer = |idle_us: Option<u64>| [9, 1, 0].map(|ps| begin(idle_us).after_answer_ps(ps));
        assert_eq!([None, Some(9), Some(10)].map(after_answer), [[0; 3], [0; 3], [1, 1, 0]]);
        let waking_us = |step: StepMessages| step.waking().as_micros();
        let pauses_us = [None, Some(0), Some(1), Some(10), Some(840)];
        assert_eq!(pauses_us.map(|idle_us| waking_us(begin(idle_us))), [0, 0, 30, 40, 60]);
        let tick = |idle_us| cost.begin(&Stimulus::Tick, Some(Duration::from_micros(idle_us)));
        assert_eq!([0, 1, 900].map(|idle_us| waking_us(tick(idle_us))), [0, 30, 30]);
    }
}
