//! What the nodes of a population are charged in virtual time: the measured or listed time of their computation, and that of the
//! stores that servers ask.

use std::time::Duration;

use keytoll_crypto::{Metered, Provider};
use keytoll_crypto_api::Seed;
use keytoll_engine::trace::{Fact, Node};
use keytoll_native::{clock, heap};
use keytoll_rigs::looks_up;
use keytoll_scenario::plan::CryptoMode;
use keytoll_scenario::population::{Population, Spread, Spreads};
use keytoll_sim::{Before, Meter, NodeIndex, Stimulus};

use super::heaps::role;
use crate::costs::{MessageCost, StepMessages};

/// What is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Charge {
    /// Nothing.
    Free,
    /// The prices of a table, in picoseconds.
    Listed,
    /// The time of this machine.
    Measured,
}

/// A serving node.
#[derive(Debug)]
struct Account {
    node: Node,
    scale: f64,
    store: Option<Spreads>,
    message: MessageCost,
}

/// The meter of a population.
#[derive(Debug)]
pub(super) struct Till {
    charge: Charge,
    /// By the number of the node; devices come after these, and one that is lost has none.
    serving: Vec<Option<Account>>,
    /// What the node that computes allocates is its own.
    role: Option<heap::Guard>,
    device_scale: f64,
    stores: [(Node, Option<Spreads>); 2],
    begun: u64,
    /// Of devices.
    message: MessageCost,
    messages: StepMessages,
    /// How much of the last step came after its outputs.
    after: Duration,
    empty_ticks: u64,
}

impl Till {
    pub(super) fn new(
        crypto: CryptoMode,
        message: MessageCost,
        device_scale: f64,
        stores: [(Node, Option<Spread>); 2],
        seed: &Seed,
    ) -> Self {
        let charge = match crypto {
            CryptoMode::Null => Charge::Free,
            CryptoMode::Table => Charge::Listed,
            CryptoMode::Real | CryptoMode::OpenSsl => Charge::Measured,
        };
        let stores = stores.map(|(node, times)| {
            let name = format!("{} store", node.name());
            (node, times.map(|times| Population::draws(times, seed, &name)))
        });
        let (serving, messages) = (Vec::new(), StepMessages::default());
        let (begun, after, empty_ticks) = (0, Duration::ZERO, clock::empty_span_ticks());
        Self {
            charge,
            serving,
            role: None,
            device_scale,
            stores,
            begun,
            message,
            messages,
            after,
            empty_ticks,
        }
    }

    /// Charges a serving node; they are added in the order of their numbers, before any device.
    pub(super) fn add_serving(&mut self, index: NodeIndex, node: Node, scale: f64, message: MessageCost) {
        assert_eq!(index.number() as usize, self.serving.len(), "serving nodes come first");
        let store = self.stores.iter_mut().find(|(of, _)| *of == node).and_then(|(_, store)| store.take());
        self.serving.push(Some(Account { node, scale, store, message }));
    }

    /// A serving node is lost, and a device may have its number.
    pub(super) fn lose(&mut self, index: NodeIndex) {
        self.serving[index.number() as usize] = None;
    }

    fn account(&mut self, index: NodeIndex) -> Option<&mut Account> {
        self.serving.get_mut(index.number() as usize)?.as_mut()
    }

    fn ticks(&self, crypto: &Metered<Provider>) -> u64 {
        match self.charge {
            Charge::Free => 0,
            Charge::Listed => crypto.crypto_ticks_total(),
            Charge::Measured => clock::ticks(),
        }
    }
}

impl Meter<Metered<Provider>> for Till {
    fn begin(
        &mut self,
        index: NodeIndex,
        crypto: &mut Metered<Provider>,
        stimulus: Stimulus<'_>,
        before: Before,
    ) -> Duration {
        let account = self.serving.get(index.number() as usize).and_then(Option::as_ref);
        self.role = account.map(|_| heap::enter(role(index.number())));
        let message = account.map_or(&self.message, |account| &account.message);
        self.messages = message.begin(&stimulus, before);
        self.begun = self.ticks(crypto);
        self.messages.waking()
    }

    fn end(&mut self, index: NodeIndex, crypto: &mut Metered<Provider>, noted: &[Fact]) -> Duration {
        let ticks = self.ticks(crypto) - self.begun;
        self.role = None;
        let (ns, after_ns) = match self.charge {
            Charge::Free => (0.0, 0.0),
            Charge::Listed => {
                let ps = ticks.saturating_add(self.messages.ps(noted));
                (ps as f64 / 1000.0, self.messages.after_answer_ps(ps) as f64 / 1000.0)
            }
            Charge::Measured => (clock::ticks_to_ns(ticks.saturating_sub(self.empty_ticks)), 0.0),
        };
        let device_scale = self.device_scale;
        let scale = self.account(index).map_or(device_scale, |account| account.scale);
        let scaled = |ns: f64| Duration::from_nanos((ns * scale) as u64);
        let mut busy = scaled(ns);
        self.after = scaled(after_ns);
        let Some(account) = self.account(index) else { return busy };
        if let Some(store) = &mut account.store {
            let count = noted.iter().filter(|fact| looks_up(account.node, fact)).count();
            busy += (0..count).map(|_| store.draw()).sum::<Duration>();
        }
        busy
    }

    fn after_outputs(&self) -> Duration {
        self.after
    }
}
