//! CPU time and heap of each node: cycle counts around every `handle`, heap by tag, both per authentication.
//!
//! A thread that is preempted in the middle of a step would charge the interruption to the node. The CPU clock of the thread stops
//! meanwhile, so that the interruption is known and not charged. The rest may still be too much: caches are cold afterwards, and
//! there are other disturbances. Steps with the same cryptographic work cost about the same, so each is compared with the median of
//! the last steps of its kind; one that took far longer is charged that median. Either way the authentication counts as smoothed.
//! No authentication is left out, so that delays, messages and CPU time are of the same ones. The sums of single operations are corrected with
//! the step: together they take the cryptographic part of its charged cost.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_crypto::Metered;
use keytoll_native::stack::{self, Painted};
use keytoll_native::{clock, heap};
use keytoll_rigs::looks_up;
use keytoll_scenario::population::Spreads;
use keytoll_sim::{Before, Meter, NodeIndex, Stimulus};
use keytoll_trace::{Fact, Node};

use crate::costs::{MessageCost, StepMessages};
use crate::steps::Steps;

/// A step that takes longer than this many times the median of its kind, plus [`SLACK_NS`], is smoothed.
const FACTOR: u64 = 2;
/// Interrupts and cache misses take less, preemption takes more.
const SLACK_NS: f64 = 20_000.0;
/// Reading the thread's clock takes less, and it is more accurate.
const AWAY_NS_MIN: u64 = 2_000;

/// The unit of a meter's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ruler {
    /// Of this machine's cycle counter.
    #[default]
    Counter,
    /// Picoseconds of a cost table.
    Table,
}

/// Picoseconds in a second.
const PS_HZ: f64 = 1e12;

impl Ruler {
    /// Ticks in a second.
    pub(crate) fn hz(self) -> f64 {
        match self {
            Self::Counter => clock::ticks_hz(),
            Self::Table => PS_HZ,
        }
    }

    /// A span in nanoseconds.
    pub(crate) fn ns(self, ticks: u64) -> f64 {
        match self {
            Self::Counter => clock::ticks_to_ns(ticks),
            Self::Table => ticks as f64 / 1000.0,
        }
    }
}

/// The computation of one node.
#[derive(Debug, Clone, Default)]
struct Account {
    /// Of the table: for each message received or sent.
    message: MessageCost,
    /// Virtual nanoseconds per host nanosecond.
    scale: f64,
    /// Whether the processor has a frequency of its own.
    is_scaled: bool,
    /// Whether computation takes virtual time.
    charged: bool,
    spent: Step,
    /// The part of it for moves of a device.
    moved: Option<Step>,
}

/// The cost of one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    ticks: u64,
    crypto_ticks: u64,
}

/// A step in progress.
#[derive(Debug, Clone, Default)]
struct Begun {
    messages: StepMessages,
    ticks: u64,
    crypto_ticks: u64,
    work: u64,
    /// Of the thread's own clock.
    cpu_ns: u64,
}

/// The last steps of one kind.
#[derive(Debug, Default)]
struct History {
    last: [Step; Self::LEN],
    seen: usize,
    median: Step,
}

impl Step {
    const fn add(&mut self, other: Self) {
        self.ticks += other.ticks;
        self.crypto_ticks += other.crypto_ticks;
    }

    /// The cost without a preemption. It is unknown which part it interrupted, so cryptography gets its usual share in steps of this
    /// kind.
    fn without(self, away_ticks: u64, usual: Self) -> Self {
        let ticks = self.ticks.saturating_sub(away_ticks);
        let like = if usual.ticks > 0 { usual } else { self };
        let share = like.crypto_ticks as f64 / like.ticks.max(1) as f64;
        Self { ticks, crypto_ticks: ((ticks as f64 * share) as u64).min(self.crypto_ticks) }
    }
}

impl History {
    const LEN: usize = 15;
    /// The least number of steps for a median.
    const ENOUGH: usize = 3;

    /// The charged cost of a step, and whether it was smoothed.
    fn judge(&mut self, step: Step, slack_ticks: u64) -> (Step, bool) {
        let unusual = self.seen >= Self::ENOUGH && step.ticks > FACTOR * self.median.ticks + slack_ticks;
        let charged = if unusual { self.median } else { step };
        self.last[self.seen % Self::LEN] = step;
        self.seen += 1;
        // The median moves slowly: it is updated after every step at first, later once a round.
        if self.seen <= Self::LEN || self.seen.is_multiple_of(Self::LEN) {
            self.median = self.middle();
        }
        (charged, unusual)
    }

    fn middle(&self) -> Step {
        let mut sorted = self.last;
        let known = &mut sorted[..self.seen.min(Self::LEN)];
        known.sort_unstable();
        known[known.len() / 2]
    }
}

/// The meter of a row.
#[derive(Debug)]
pub(crate) struct Gauge {
    accounts: Vec<Account>,
    /// By node and by the work of a step.
    histories: BTreeMap<(u32, u64), History>,
    begun: Begun,
    role: Option<heap::Guard>,
    empty_ticks: u64,
    slack_ticks: u64,
    smoothed: bool,
    /// How long the thread was preempted in steps of this sample.
    away_ns: u64,
    steps: Steps,
    ruler: Ruler,
    /// How much of the last step came after its outputs.
    after: Duration,
    /// A device has announced a new address that is not verified yet.
    is_moving: bool,
    /// The HSS with the times of its look-ups.
    store: Option<(NodeIndex, Spreads)>,
    /// How long the HSS waited for its store in the last step.
    waited: Duration,
    /// Measures stacks, if wanted.
    stacks: Option<Stacks>,
}

/// Stacks of nodes, one after another on the same thread.
#[derive(Debug, Default)]
struct Stacks {
    /// The thread's stack as it was before the current step.
    painted: Option<Painted>,
    /// By node number.
    peak_bytes: BTreeMap<u32, u64>,
}

impl Stacks {
    fn end_step(&mut self, node: NodeIndex) {
        let Some(painted) = self.painted.take() else { return };
        let peak = self.peak_bytes.entry(node.number()).or_default();
        *peak = painted.depth().max(*peak);
    }
}

/// The heap tag of a node; 0 is the driver's own.
pub(crate) fn role(node: NodeIndex) -> u8 {
    u8::try_from(node.number() + 1).unwrap_or(u8::MAX)
}

impl Gauge {
    pub(crate) fn new() -> Self {
        Self {
            accounts: Vec::new(),
            histories: BTreeMap::new(),
            begun: Begun::default(),
            role: None,
            empty_ticks: clock::empty_span_ticks(),
            slack_ticks: (SLACK_NS * clock::ticks_hz() / 1e9) as u64,
            smoothed: false,
            away_ns: 0,
            steps: Steps::default(),
            ruler: Ruler::Counter,
            after: Duration::ZERO,
            is_moving: false,
            store: None,
            waited: Duration::ZERO,
            stacks: None,
        }
    }

    /// Measures the stack of each step from now on, which takes time outside the steps.
    pub(crate) fn watch_stacks(&mut self) {
        self.stacks = Some(Stacks::default());
    }

    /// Ends that, and gives the deepest stack of each node that has computed, in bytes.
    pub(crate) fn take_stacks(&mut self) -> BTreeMap<u32, u64> {
        self.stacks.take().map(|stacks| stacks.peak_bytes).unwrap_or_default()
    }

    /// Lets the HSS wait for its store at each look-up, in virtual time and without computing.
    pub(crate) fn look_up_in(&mut self, hss: NodeIndex, times: Spreads) {
        self.store = Some((hss, times));
    }

    /// How long a step waits for a store.
    fn wait_of(&mut self, node: NodeIndex, noted: &[Fact]) -> Duration {
        let Some((_, times)) = self.store.as_mut().filter(|(hss, _)| *hss == node) else {
            return Duration::ZERO;
        };
        noted.iter().filter(|fact| looks_up(Node::Hss, fact)).map(|_| times.draw()).sum()
    }

    /// Charges the costs of the meters' table, and no measured time.
    pub(crate) const fn charge_table(&mut self) {
        self.ruler = Ruler::Table;
    }

    /// Charges each message of a node, too. `faster` is the frequency of the table's machine ÷ that of the other tables.
    pub(crate) fn charge_messages(&mut self, node: NodeIndex, message: MessageCost, faster: f64) {
        let account = &mut self.accounts[node.number() as usize];
        account.message = message;
        account.scale *= if account.is_scaled { faster } else { 1.0 };
    }

    /// The unit of the meters' ticks.
    pub(crate) const fn ruler(&self) -> Ruler {
        self.ruler
    }

    /// The single steps, if they are recorded.
    pub(crate) const fn steps_mut(&mut self) -> &mut Steps {
        &mut self.steps
    }

    /// Adds a node; `scale` is host frequency ÷ profile frequency, if it has one.
    pub(crate) fn add_node(&mut self, scale: Option<f64>, charged: bool) {
        let (is_scaled, scale) = (scale.is_some(), scale.unwrap_or(1.0));
        self.accounts.push(Account { scale, is_scaled, charged, ..Account::default() });
    }

    /// A sample begins.
    pub(crate) fn begin_sample(&mut self) {
        self.accounts.iter_mut().for_each(|account| account.spent = Step::default());
        (self.smoothed, self.away_ns) = (false, 0);
    }

    /// CPU time of a node for moves since this was asked last, and the part of it spent in crypto operations; none if it had
    /// nothing to do with any.
    pub(crate) fn take_moved_ns(&mut self, node: NodeIndex) -> Option<(u64, u64)> {
        let Step { ticks, crypto_ticks } = self.accounts[node.number() as usize].moved.take()?;
        Some((self.ruler.ns(ticks) as u64, self.ruler.ns(crypto_ticks) as u64))
    }

    /// Whether a step belongs to a move: from its announcement until the address was verified, what says or settles something.
    fn is_of_move(&mut self, noted: &[Fact]) -> bool {
        self.is_moving |= noted.contains(&Fact::Moved);
        let (was_moving, is_verified) = (self.is_moving, noted.contains(&Fact::MoveVerified));
        self.is_moving &= !is_verified;
        let says = |fact: &Fact| matches!(fact, Fact::Sent(message) if !message.protocol.is_traffic());
        was_moving && (is_verified || noted.iter().any(says))
    }

    /// Whether a step of this sample was not charged its measured time.
    pub(crate) const fn was_smoothed(&self) -> bool {
        self.smoothed
    }

    /// How long the thread was preempted in steps of this sample.
    pub(crate) const fn away_ns(&self) -> u64 {
        self.away_ns
    }

    /// Whether a node's steps are measured and charged.
    fn is_judged(&self, node: NodeIndex) -> bool {
        self.ruler == Ruler::Counter && self.accounts[node.number() as usize].charged
    }

    /// All host CPU time that was measured and charged since the sample began.
    pub(crate) fn charged_ns(&self) -> u64 {
        let judged = self.accounts.iter().filter(|account| account.charged && self.ruler == Ruler::Counter);
        self.ruler.ns(judged.map(|account| account.spent.ticks).sum()) as u64
    }

    /// The charged cost of a step, according to its kind and without preemption.
    fn judge(&mut self, kind: (u32, u64), step: Step, away_ns: u64) -> Step {
        let history = self.histories.entry(kind).or_default();
        let is_away = away_ns >= AWAY_NS_MIN;
        let own = if is_away { step.without(clock::ns_to_ticks(away_ns), history.median) } else { step };
        let (charged, unusual) = history.judge(own, self.slack_ticks);
        self.smoothed |= unusual || away_ns as f64 >= SLACK_NS;
        self.away_ns += if is_away { away_ns } else { 0 };
        charged
    }

    /// Host CPU time of a node since the sample began.
    pub(crate) fn cpu_ns(&self, node: NodeIndex) -> u64 {
        self.ruler.ns(self.accounts[node.number() as usize].spent.ticks) as u64
    }

    /// The part of it spent in crypto operations.
    pub(crate) fn crypto_ns(&self, node: NodeIndex) -> u64 {
        self.ruler.ns(self.accounts[node.number() as usize].spent.crypto_ticks) as u64
    }
}

impl<C> Meter<Metered<C>> for Gauge {
    fn begin(
        &mut self,
        node: NodeIndex,
        crypto: &mut Metered<C>,
        stimulus: Stimulus<'_>,
        before: Before,
    ) -> Duration {
        self.steps.begin(crypto, stimulus);
        crypto.begin_step();
        self.stacks.iter_mut().for_each(|stacks| stacks.painted = stack::paint());
        self.role = Some(heap::enter(role(node)));
        let (crypto_ticks, work) = (crypto.crypto_ticks_total(), crypto.work_total());
        let cpu_ns = if self.is_judged(node) { clock::thread_cpu_ns() } else { 0 };
        let messages = self.accounts[node.number() as usize].message.begin(&stimulus, before);
        let waking = messages.waking();
        self.begun = Begun { messages, ticks: clock::ticks(), crypto_ticks, work, cpu_ns };
        if self.accounts[node.number() as usize].charged { waking } else { Duration::ZERO }
    }

    fn end(&mut self, node: NodeIndex, crypto: &mut Metered<C>, noted: &[Fact]) -> Duration {
        let Begun { messages, ticks, crypto_ticks, work, cpu_ns } = std::mem::take(&mut self.begun);
        let ticks = clock::ticks().saturating_sub(ticks).saturating_sub(self.empty_ticks);
        let cpu_ns = if self.is_judged(node) { clock::thread_cpu_ns() - cpu_ns } else { 0 };
        self.role = None;
        self.stacks.iter_mut().for_each(|stacks| stacks.end_step(node));
        self.steps.end(node, crypto, noted, ticks);
        let crypto_ticks = crypto.crypto_ticks_total() - crypto_ticks;
        let mut step = match self.ruler {
            Ruler::Counter => Step { ticks, crypto_ticks },
            Ruler::Table => Step { ticks: crypto_ticks.saturating_add(messages.ps(noted)), crypto_ticks },
        };
        let after_ps = if self.ruler == Ruler::Table { messages.after_answer_ps(step.ticks) } else { 0 };
        if self.is_judged(node) {
            let kind = (node.number(), crypto.work_total().wrapping_sub(work));
            let away_ns = (self.ruler.ns(ticks) as u64).saturating_sub(cpu_ns);
            step = self.judge(kind, step, away_ns);
            if step.crypto_ticks != crypto_ticks {
                crypto.charge_step(step.crypto_ticks);
            }
        }
        self.waited = self.wait_of(node, noted);
        let is_of_move = self.is_of_move(noted);
        let account = &mut self.accounts[node.number() as usize];
        account.spent.add(step);
        if is_of_move {
            account.moved.get_or_insert_default().add(step);
        }
        let scale = if account.charged { account.scale } else { 0.0 };
        let scaled = |ticks: u64| Duration::from_nanos((self.ruler.ns(ticks) * scale) as u64);
        self.after = scaled(after_ps);
        scaled(step.ticks)
    }

    fn waits(&self) -> Duration {
        self.waited
    }

    fn after_outputs(&self) -> Duration {
        self.after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(ticks: u64) -> Step {
        Step { ticks, crypto_ticks: ticks / 2 }
    }

    #[test]
    fn a_step_far_above_the_median_is_charged_the_median() {
        let mut history = History::default();
        for ticks in [100, 104, 98, 102] {
            assert_eq!(history.judge(step(ticks), 10), (step(ticks), false));
        }
        assert_eq!(history.judge(step(5000), 10), (step(102), true));
        assert_eq!(history.judge(step(210), 10), (step(210), false), "twice the median and a little");
    }

    #[test]
    fn an_absence_is_not_charged_and_cryptography_keeps_its_usual_share() {
        let usual = Step { ticks: 100, crypto_ticks: 90 };
        let long = Step { ticks: 400, crypto_ticks: 390 };
        assert_eq!(long.without(300, usual), Step { ticks: 100, crypto_ticks: 90 });
        assert_eq!(long.without(500, usual), Step { ticks: 0, crypto_ticks: 0 });
        let unknown = Step { ticks: 400, crypto_ticks: 200 }.without(300, Step::default());
        assert_eq!(unknown, Step { ticks: 100, crypto_ticks: 50 });
        let outside = Step { ticks: 400, crypto_ticks: 10 }.without(300, usual);
        assert_eq!(outside, Step { ticks: 100, crypto_ticks: 10 }, "no more than there was");
    }

    #[test]
    fn the_median_follows_a_machine_that_becomes_slower() {
        let mut history = History::default();
        (0..20).for_each(|_| assert!(!history.judge(step(100), 10).1));
        let smoothed = (0..40).filter(|_| history.judge(step(1000), 10).1).count();
        assert!(smoothed < 30, "{smoothed} of 40");
        assert_eq!(history.judge(step(1000), 10), (step(1000), false));
    }

    #[test]
    fn the_first_steps_are_charged_as_they_are() {
        let mut history = History::default();
        assert_eq!(history.judge(step(9000), 10), (step(9000), false));
        assert_eq!(history.judge(step(100), 10), (step(100), false));
    }
}
