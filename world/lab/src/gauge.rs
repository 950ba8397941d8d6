//! How much a node computes: cycle counts around every `handle`, heap booked to the node, both per authentication.

use std::time::Duration;

use keytoll_native::{clock, heap};
use keytoll_sim::{Meter, NodeIndex};

/// A sample whose thread was away from its CPU for longer than this is disturbed; clock granularity and interrupts stay
/// below it.
const AWAY_NS_MAX: u64 = 30_000;

/// What one node computed.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    /// Virtual nanoseconds per host nanosecond.
    scale: f64,
    /// Whether computation takes virtual time.
    charged: bool,
    ticks: u64,
}

/// The meter of a row.
#[derive(Debug)]
pub(crate) struct Gauge {
    accounts: Vec<Account>,
    begun: u64,
    role: Option<heap::Guard>,
    empty_ticks: u64,
    sample_ticks: u64,
    sample_cpu_ns: u64,
}

/// The heap role of a node; role 0 is the driver's own.
pub(crate) fn role(node: NodeIndex) -> u8 {
    u8::try_from(node.number() + 1).unwrap_or(u8::MAX)
}

impl Gauge {
    pub(crate) fn new() -> Self {
        Self {
            accounts: Vec::new(),
            begun: 0,
            role: None,
            empty_ticks: clock::empty_span_ticks(),
            sample_ticks: 0,
            sample_cpu_ns: 0,
        }
    }

    /// Opens the account of the next node: `scale` is host frequency ÷ profile frequency.
    pub(crate) fn add_node(&mut self, scale: f64, charged: bool) {
        self.accounts.push(Account { scale, charged, ticks: 0 });
    }

    /// A sample begins.
    pub(crate) fn begin_sample(&mut self) {
        self.accounts.iter_mut().for_each(|account| account.ticks = 0);
        self.sample_cpu_ns = clock::thread_cpu_ns();
        self.sample_ticks = clock::ticks();
    }

    /// A sample ends: whether this thread had its CPU all the time.
    pub(crate) fn was_disturbed(&self) -> bool {
        let elapsed = clock::ticks_to_ns(clock::ticks() - self.sample_ticks) as u64;
        let on_cpu = clock::thread_cpu_ns() - self.sample_cpu_ns;
        elapsed.saturating_sub(on_cpu) > AWAY_NS_MAX
    }

    /// Host CPU time of a node since the sample began.
    pub(crate) fn cpu_ns(&self, node: NodeIndex) -> u64 {
        clock::ticks_to_ns(self.accounts[node.number() as usize].ticks) as u64
    }
}

impl Meter for Gauge {
    fn begin(&mut self, node: NodeIndex) {
        self.role = Some(heap::enter(role(node)));
        self.begun = clock::ticks();
    }

    fn end(&mut self, node: NodeIndex) -> Duration {
        let ticks = (clock::ticks() - self.begun).saturating_sub(self.empty_ticks);
        self.role = None;
        let account = &mut self.accounts[node.number() as usize];
        account.ticks += ticks;
        if !account.charged {
            return Duration::ZERO;
        }
        Duration::from_nanos((clock::ticks_to_ns(ticks) * account.scale) as u64)
    }
}
