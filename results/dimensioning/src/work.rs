//! What an authentication takes of each serving node, from a row of a summary, on the processor that is asked for.

use keytoll_analysis::stats::two_sided_quantile;
use keytoll_analysis::summary::{Cpu, StepsSummary, SummaryRow};

use crate::SizingError;
use crate::priced::{Load, Priced};
use crate::question::{Processor, Question, Run};
use crate::station::Station;

/// The device, which nobody sizes.
const DEVICE: &str = "ue";
/// The world in which nodes have processors of their own.
const SIM: &str = "sim";
/// Modes of cryptography whose CPU time is nobody's.
const WITHOUT_CPU: [&str; 2] = ["null", "captured"];
/// Cryptography that is charged the prices of a table.
const TABLE: &str = "table";
/// The operations of an agreement on keys.
const AGREEMENT: [&str; 4] = ["generate", "agree", "encapsulate", "decapsulate"];

/// The work of an authentication at a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// The node.
    pub node: String,
    /// How long it occupies a core, what comes after the authentication and its look-up in a store included.
    pub busy_s: f64,
    /// The look-up in a store.
    pub store_s: f64,
    /// How many steps wait for a core.
    pub visits: f64,
    /// Mean time of service of a step.
    pub step_s: f64,
    /// Mean of its square.
    pub step_square_s2: f64,
    /// By how much an authentication becomes slower without load: by another processor, and by the store.
    pub slower_s: f64,
    /// The clock of its processor; `None` if unknown.
    pub clock_hz: Option<f64>,
    /// Whether its steps were measured; otherwise all of its work is one.
    pub has_steps: bool,
    /// Time that a change of keys occupies a core.
    pub rekey_s: f64,
    /// Time that a request for a cookie occupies a core: a message that arrives and its answer. Zero at nodes that ask for none.
    pub cookie_s: f64,
    /// Messages with a price that depends on the load, if there are any.
    pub(crate) priced: Option<Priced>,
    /// Heap of the node itself, with one authentication.
    pub heap_bytes: Option<f64>,
    /// Heap of an idle session.
    pub idle_bytes: Option<f64>,
}

/// Whether a row says anything about CPU time.
pub fn has_cpu(row: &SummaryRow) -> bool {
    !WITHOUT_CPU.contains(&row.crypto.as_str()) && serving(row).next().is_some()
}

/// The serving nodes with CPU time, the one that faces the device first.
fn serving(row: &SummaryRow) -> impl Iterator<Item = (&str, &Cpu)> {
    row.cpu.iter().filter(|(node, _)| *node != DEVICE)
}

/// The work at every serving node of a row.
///
/// # Errors
/// When the clock of the machine is not known, or nothing is known of a change of keys.
pub fn of_row(row: &SummaryRow, run: &Run<'_>, question: &Question) -> Result<Vec<Work>, SizingError> {
    let facing = facing(row);
    let of_node = |(node, cpu): (&str, &Cpu)| {
        let is_facing = facing == Some(node);
        Work::of((row, node, cpu), is_facing, run, question)
    };
    serving(row).map(of_node).collect()
}

/// The serving node at the other end of the device's link.
fn facing(row: &SummaryRow) -> Option<&str> {
    let of_device = |link: &str| link.strip_prefix(DEVICE)?.strip_prefix('-').map(str::to_owned);
    let named = row.links.names().find_map(of_device);
    let mut nodes = serving(row).map(|(node, _)| node);
    named
        .and_then(|name| nodes.find(|node| *node == name))
        .or_else(|| serving(row).map(|(node, _)| node).next())
}

/// How many responses a node sends until the session can be used: it answers each message from the side of the device.
pub(crate) fn responses(row: &SummaryRow, node: &str) -> f64 {
    let before = serving(row).map(|(name, _)| name).take_while(|name| *name != node).last();
    let of_links = row.links.iter().find(|(link, _)| {
        link.split_once('-').is_some_and(|(near, far)| {
            let ends = [near, far];
            ends.contains(&node) && ends.contains(&before.unwrap_or(DEVICE))
        })
    });
    of_links.map_or(1.0, |(_, means)| (means.messages / 2.0).max(1.0))
}

/// Times on the processor that is asked for, over those measured.
struct Scale {
    /// Over CPU time of the machine.
    of_machine: f64,
    /// Over time of the node in the run.
    of_run: f64,
    clock_hz: Option<f64>,
}

impl Scale {
    fn of(
        row: &SummaryRow,
        node: &str,
        cpu: &Cpu,
        run: &Run<'_>,
        processor: &Processor,
    ) -> Result<Self, SizingError> {
        let machine_hz = cpu.cycles.filter(|_| cpu.ns > 0.0).map(|cycles| cycles / cpu.ns * 1e9);
        let in_run = run.planned.clocks_hz.get(node).copied().filter(|_| row.world == SIM);
        let slower = |hz: f64| machine_hz.map(|machine_hz| machine_hz / hz);
        let of_run = in_run.and_then(slower).unwrap_or(1.0);
        let (of_machine, clock_hz) = match processor {
            Processor::AsRun => (of_run, in_run.or(machine_hz)),
            Processor::Host => (1.0, machine_hz),
            Processor::Clock { hz, .. } => (slower(*hz).ok_or_else(|| no_clock(node))?, Some(*hz)),
        };
        Ok(Self { of_machine, of_run: of_machine / of_run, clock_hz })
    }
}

fn no_clock(node: &str) -> SizingError {
    let message =
        format!("the run does not say at what frequency `{node}` was measured, so that it cannot be scaled");
    SizingError::new(message, "leave `--cpu` out, or size from a run in the simulator")
}

impl Work {
    fn of(
        (row, node, cpu): (&SummaryRow, &str, &Cpu),
        is_facing: bool,
        run: &Run<'_>,
        question: &Question,
    ) -> Result<Self, SizingError> {
        let scale = Scale::of(row, node, cpu, run, &question.processor)?;
        let busy_s = cpu.ns * 1e-9 * scale.of_machine;
        let steps = Steps::of(row.steps.get(node), cpu, &scale);
        let memory = row.memory_bytes.get(node);
        let work = Self {
            node: node.to_owned(),
            busy_s: busy_s.max(steps.count * steps.mean_s),
            store_s: 0.0,
            visits: steps.count,
            step_s: steps.mean_s,
            step_square_s2: steps.square_s2,
            slower_s: steps.count * steps.mean_s * (1.0 - 1.0 / scale.of_run),
            clock_hz: scale.clock_hz,
            has_steps: row.steps.get(node).is_some(),
            rekey_s: 0.0,
            cookie_s: 0.0,
            priced: None,
            heap_bytes: memory
                .and_then(|memory| memory.peak.or(memory.resident_max))
                .map(|bytes| bytes as f64),
            idle_bytes: memory.and_then(|memory| memory.idle_sa),
        };
        let work = work.with_messages((row, node, cpu), is_facing, run, &scale);
        let work = question.stores_s.get(node).map_or(work.clone(), |store_s| work.with_store(*store_s));
        if is_facing && question.rekeys_per_s().is_some() {
            return work.with_rekeys(row, &scale);
        }
        Ok(work)
    }

    /// Work without cryptography is messages: those on the links of the node in the authentication, and those after it at the same price.
    fn with_messages(
        self,
        (row, node, cpu): (&SummaryRow, &str, &Cpu),
        is_facing: bool,
        run: &Run<'_>,
        scale: &Scale,
    ) -> Self {
        let Some(crypto_ns) = cpu.crypto_ns.filter(|_| cpu.ns > 0.0) else { return self };
        let share = (1.0 - crypto_ns / cpu.ns).clamp(0.0, 1.0);
        let is_at_node = |link: &str| link.split('-').any(|end| end == node);
        let on_links = row.links.iter().filter(|(link, _)| is_at_node(link));
        let messages: f64 = on_links.map(|(_, means)| means.messages).sum();
        let step_messages_s = share * self.step_s;
        let each_s = if messages > 0.0 { step_messages_s * self.visits / messages } else { 0.0 };
        let priced = run.planned.message.as_ref().filter(|_| row.crypto == TABLE).map(|price| Priced {
            price: price.clone(),
            slower: scale.of_machine,
            messages_s: share * self.busy_s,
            step_messages_s,
        });
        Self { cookie_s: if is_facing { 2.0 * each_s } else { 0.0 }, priced, ..self }
    }

    /// One of the steps, any of them, looks somebody up.
    pub(crate) fn with_store(self, store_s: f64) -> Self {
        let more = (2.0 * self.step_s * store_s + store_s.powi(2)) / self.visits;
        Self {
            busy_s: self.busy_s + store_s,
            store_s,
            step_s: self.step_s + store_s / self.visits,
            step_square_s2: self.step_square_s2 + more,
            slower_s: self.slower_s + store_s,
            ..self
        }
    }

    /// A change of keys agrees on a key as the authentication did; beside that its messages are nothing.
    fn with_rekeys(self, row: &SummaryRow, scale: &Scale) -> Result<Self, SizingError> {
        let operations = row.operations.get(&self.node).into_iter().flatten();
        let agreed = operations
            .filter(|one| one.is_in_authentication() && AGREEMENT.contains(&one.operation.as_str()));
        let ns: f64 = agreed.map(|one| one.ns).sum();
        if ns <= 0.0 {
            let message = format!(
                "the run of `{}` does not say what an agreement on keys costs `{}`",
                row.method, self.node
            );
            return Err(SizingError::new(
                message,
                "leave `--rekey` out, or name other methods with `--method`",
            ));
        }
        Ok(Self { rekey_s: ns * 1e-9 * scale.of_machine, ..self })
    }

    /// How many cores so many authentications and changes of keys a second keep busy.
    pub fn busy_cores(&self, per_s: f64, rekeys_per_s: f64) -> f64 {
        per_s * self.busy_s + rekeys_per_s * self.rekey_s
    }

    /// The same at a node without an idle core, if this share of authentications begins with a request for a cookie.
    pub fn saturated_cores(&self, per_s: f64, rekeys_per_s: f64, asked_share: f64) -> f64 {
        let load = self.load(per_s, rekeys_per_s, asked_share);
        self.priced.as_ref().map_or(load.busy_cores, |priced| priced.saturated_cores(load))
    }

    /// With so many authentications and changes of keys a second, of which this share begins with a request for a cookie.
    fn load(&self, per_s: f64, rekeys_per_s: f64, asked_share: f64) -> Load {
        let cookie_cores = per_s * asked_share * self.cookie_s;
        let message_cores = self.priced.as_ref().map_or(0.0, |priced| per_s * priced.messages_s);
        Load {
            busy_cores: self.busy_cores(per_s, rekeys_per_s) + cookie_cores,
            message_cores: message_cores + cookie_cores,
            steps_per_s: per_s * self.visits_asked(asked_share),
        }
    }

    /// How many steps wait for a core if this share of authentications begins with a request for a cookie.
    fn visits_asked(&self, asked_share: f64) -> f64 {
        if self.cookie_s > 0.0 { self.visits + asked_share } else { self.visits }
    }

    /// The node with so many cores, at so many authentications and changes of keys a second, of which this share begins with a request for
    /// a cookie.
    pub fn station(&self, cores: u32, per_s: f64, rekeys_per_s: f64, asked_share: f64) -> Station {
        let load = self.load(per_s, rekeys_per_s, asked_share);
        let visits = self.visits_asked(asked_share);
        let mean = |of_steps: f64, of_cookie: f64| {
            (self.visits * of_steps + (visits - self.visits) * of_cookie) / visits
        };
        let plain = Station {
            cores,
            busy_cores: load.busy_cores,
            waking_cores: 0.0,
            step_s: mean(self.step_s, self.cookie_s),
            step_square_s2: mean(self.step_square_s2, self.cookie_s.powi(2)),
            visits,
            later_s: 0.0,
            queue: None,
        };
        self.priced.as_ref().map_or(plain, |priced| priced.station(plain, load))
    }
}

/// Steps of an authentication on the processor that is asked for.
struct Steps {
    count: f64,
    mean_s: f64,
    square_s2: f64,
}

impl Steps {
    fn of(steps: Option<&StepsSummary>, cpu: &Cpu, scale: &Scale) -> Self {
        let (count, mean_ns, stddev_ns, factor) = match steps {
            Some(steps) => {
                let stddev = steps.busy_ns_stddev.unwrap_or(0.0);
                (steps.per_authentication, steps.busy_ns, stddev, scale.of_run)
            }
            None => (1.0, cpu.ns, stddev_ns(cpu), scale.of_machine),
        };
        let (mean_s, stddev_s) = (mean_ns * 1e-9 * factor, stddev_ns * 1e-9 * factor);
        Self { count, mean_s, square_s2: mean_s.powi(2) + stddev_s.powi(2) }
    }
}

/// The standard deviation by which the interval of the mean is as wide as it is.
fn stddev_ns(cpu: &Cpu) -> f64 {
    let width = cpu.ns_ci95_low.zip(cpu.ns_ci95_high).map_or(0.0, |(low, high)| high - low);
    if cpu.n < 2 {
        return 0.0;
    }
    let n = cpu.n as f64;
    width / 2.0 * n.sqrt() / two_sided_quantile(0.05, n - 1.0)
}
