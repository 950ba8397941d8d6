//! The cost table of a plan with `crypto = "table"`: parsed, and converted into the prices of the meters.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keytoll_crypto::Prices;
use keytoll_crypto::prices::UnknownOperation;
use keytoll_engine::trace::Fact;
use keytoll_scenario::plan::{CryptoMode, Plan};
use keytoll_sim::Stimulus;
use keytoll_trace::cost_table::{self, CostTable, CostTableError, MessagePrice};
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
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MessageCost {
    ps: u64,
    /// In a step whose input has waited for the node.
    queued_ps: u64,
}

/// The messages of one step, and what each of them costs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StepMessages {
    each_ps: u64,
    received: u64,
}

impl MessageCost {
    fn of(table: &CostTable) -> Self {
        let ps = |ns: f64| (ns * 1000.0) as u64;
        let of = |price: MessagePrice| Self {
            ps: ps(price.ns),
            queued_ps: ps(price.queued_ns.unwrap_or(price.ns)),
        };
        table.message.map_or_else(Self::default, of)
    }

    /// A step begins.
    pub(crate) const fn begin(self, stimulus: &Stimulus<'_>, has_waited: bool) -> StepMessages {
        let each_ps = if has_waited { self.queued_ps } else { self.ps };
        StepMessages { each_ps, received: matches!(stimulus, Stimulus::Packet(_)) as u64 }
    }
}

impl StepMessages {
    /// What the input and the messages that the step noted as sent cost, in picoseconds.
    pub(crate) fn ps(self, noted: &[Fact]) -> u64 {
        let is_message = |fact: &&Fact| matches!(fact, Fact::Sent(message) if !message.protocol.is_traffic());
        if self.each_ps == 0 {
            return 0;
        }
        self.each_ps * (self.received + noted.iter().filter(is_message).count() as u64)
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
        let message = MessageCost::of(&table);
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
pub(crate) fn prices(table: &CostTable, exponents: &str) -> Result<Prices, UnknownOperation> {
    let is_fit = |length: &str| length == exponents;
    let fits = table.costs.iter().filter(|it| it.exponents.as_deref().is_none_or(is_fit));
    Prices::new(fits.map(|it| (it.operation.as_str(), it.algorithm.as_str(), it.fixed_ns, it.ns_per_byte)))
}
