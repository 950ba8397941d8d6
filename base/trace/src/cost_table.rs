//! What every crypto operation costs on one machine, or what authentications cost a daemon: the file that `keytoll crypto --calibrate` and
//! `keytoll calibrate` write and `keytoll run --crypto table` reads.

mod daemon;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::Machine;
use crate::utc;

pub use daemon::{AuthenticationLoad, AuthenticationPrice, DaemonCosts};

/// The format written and the only one read.
pub const FORMAT: u32 = 1;

/// What the file says it is, so that no other JSON is taken for one.
const KIND: &str = "keytoll cost table";

/// The costs of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostTable {
    /// Always the same words.
    pub kind: String,
    /// The version of this interface.
    pub format: u32,
    /// The version of keytoll that measured.
    pub keytoll_version: String,
    /// When, in seconds since 1970-01-01T00:00:00Z.
    pub measured_unix_s: u64,
    /// The day of it, for people.
    pub measured: String,
    /// The machine.
    pub machine: Machine,
    /// The crypto library; empty if unknown.
    pub library: String,
    /// What a message costs besides cryptography; tables without it charge cryptography alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessagePrice>,
    /// What authentications cost a daemon, in a table that is not of single operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon: Option<DaemonCosts>,
    /// One for each operation and algorithm.
    pub costs: Vec<OperationPrice>,
}

/// What each message that a node receives or sends costs it besides cryptography: its own code, and the kernel's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagePrice {
    /// Nanoseconds of CPU time.
    pub ns: f64,
    /// The same of a message that waited while its node was busy: the process need not be woken, and its caches are warm. Absent
    /// where only the other is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_ns: Option<f64>,
    /// The same by how busy the node is and by the pause before the message, the idlest node first: between two loads the prices are
    /// interpolated. Absent where a message costs as much as any other that wakes the process, or where nobody knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<LoadPrice>,
    /// How long it takes until a process that sleeps computes, in microseconds: no CPU time, but time. Of messages after a pause, if
    /// these have prices, theirs applies. Absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_us: Option<f64>,
    /// How cryptography was told apart from the CPU time that was measured; absent in tables of an older keytoll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cryptography: Option<Cryptography>,
    /// The authentications behind it, of live runs.
    pub n: u64,
}

/// How the CPU time of a process was divided between cryptography and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cryptography {
    /// Cryptography is what this table charges for the operations that the process has counted, and messages are all else: together
    /// they cost what was measured.
    Priced,
    /// Cryptography is how long operations took by the clock of the process, which is longer than this table charges where their code
    /// and data are not in the caches.
    Timed,
}

/// What messages cost at a load. The less a node has to do, the more of its caches others have used, and the slower its processor may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadPrice {
    /// The share of the time in which the process computed.
    pub utilisation: f64,
    /// Nanoseconds of CPU time of a message that waited while its node was busy.
    pub queued_ns: f64,
    /// Of one that comes after a pause, the shortest first; at least one.
    pub pauses: Vec<PausePrice>,
}

/// What a message costs that reaches a node after a pause: the processor sleeps, and its caches have been used by others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PausePrice {
    /// The process slept for at least so long, in microseconds: from having nothing to do until it was awake.
    pub after_us: f64,
    /// Nanoseconds of CPU time.
    pub ns: f64,
    /// What the process needs besides what comes before its answer, in nanoseconds: to send it, to fall asleep, and to wake up. A part
    /// of the prices of its messages that delays nobody; `wake_us` is what does.
    pub after_answer_ns: f64,
    /// From when a message reaches the sleeping process until it computes, in microseconds: no CPU time, but time.
    pub wake_us: f64,
}

/// What one operation costs: `fixed_ns + ns_per_byte · bytes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperationPrice {
    /// The operation as the meter calls it.
    pub operation: String,
    /// The algorithm as the meter calls it.
    pub algorithm: String,
    /// `short` or `full`, for groups whose private exponents can be either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponents: Option<String>,
    /// Nanoseconds of CPU time, whatever the length.
    pub fixed_ns: f64,
    /// Nanoseconds of CPU time for each byte worked on.
    pub ns_per_byte: f64,
    /// How many measurements are behind it.
    pub n: u64,
    /// The largest of their relative standard deviations, as a fraction.
    pub spread: f64,
}

/// Why a file is no cost table.
#[derive(Debug, thiserror::Error)]
pub enum CostTableError {
    /// Not JSON, or not with these fields.
    #[error("is no cost table: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON of something else.
    #[error("is no cost table: it does not say `\"kind\": \"{KIND}\"`")]
    Foreign,
    /// Of another version.
    #[error("is a cost table of format {found}, and this keytoll reads format {FORMAT}")]
    Format {
        /// The format it says it has.
        found: u64,
    },
    /// A time that none of them takes.
    #[error("has a cost of {operation} {algorithm} that is negative or longer than a minute")]
    Number {
        /// The operation.
        operation: String,
        /// The algorithm.
        algorithm: String,
    },
    /// A time that no message takes.
    #[error("has a cost of a message that is negative or longer than a minute")]
    Message,
    /// Prices of messages by load or pause that are not in order, or a load without any.
    #[error("has costs of messages at loads whose utilisations or pauses do not grow, or are none")]
    Loads,
    /// No prices of a daemon, prices that are not in order, or numbers that cannot be.
    #[error("has costs of a daemon that are none, not in order, or impossible")]
    Daemon,
    /// Private exponents of a length that no group has: the price would never apply.
    #[error(
        "has a cost of {operation} {algorithm} with the exponents `{exponents}`, which are `short` or `full`"
    )]
    Exponents {
        /// The operation.
        operation: String,
        /// The algorithm.
        algorithm: String,
        /// What it says they are.
        exponents: String,
    },
    /// No standard deviation.
    #[error("has a cost of {operation} {algorithm} with the spread {spread}, which is at least 0")]
    Spread {
        /// The operation.
        operation: String,
        /// The algorithm.
        algorithm: String,
        /// What it says the spread is.
        spread: f64,
    },
    /// A frequency that no processor has.
    #[error("has a machine whose cores run at {core_hz} Hz")]
    Machine {
        /// The frequency.
        core_hz: f64,
    },
    /// Two prices of one operation.
    #[error("has two costs of {operation} {algorithm}")]
    Twice {
        /// The operation.
        operation: String,
        /// The algorithm.
        algorithm: String,
    },
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

/// No time is longer, in nanoseconds or, of pauses, in microseconds: a minute of work for one operation, and millions of them can be added.
const TIME_MAX: f64 = 60e9;

/// The frequencies of cores, in hertz: every time of the table is scaled by it.
const CORE_HZ: std::ops::RangeInclusive<f64> = 1e6..=1e12;

/// The lengths of private exponents, where there are two.
const EXPONENTS: [&str; 2] = ["short", "full"];

/// No table is longer.
pub const BYTES_MAX: u64 = 4 << 20;

impl CostTable {
    /// A table without costs yet.
    pub fn new(keytoll_version: &str, measured_unix_s: u64, machine: Machine, library: &str) -> Self {
        Self {
            kind: KIND.to_owned(),
            format: FORMAT,
            keytoll_version: keytoll_version.to_owned(),
            measured_unix_s,
            measured: utc::day(measured_unix_s),
            machine,
            library: library.to_owned(),
            message: None,
            daemon: None,
            costs: Vec::new(),
        }
    }

    /// Whether a file that begins like this is a cost table.
    pub fn is_one(beginning: &[u8]) -> bool {
        let kind = format!("{{\n  \"kind\": \"{KIND}\"");
        beginning.starts_with(kind.as_bytes())
    }

    /// Writes it with a line for every cost.
    ///
    /// # Errors
    /// When `out` does not take it.
    pub fn write(&self, mut out: impl Write) -> std::io::Result<()> {
        let head = serde_json::to_string_pretty(&Self { costs: Vec::new(), ..self.clone() })?;
        let head = head.strip_suffix("[]\n}").expect("the costs come last");
        writeln!(out, "{head}[")?;
        for (index, cost) in self.costs.iter().enumerate() {
            let comma = if index + 1 < self.costs.len() { "," } else { "" };
            writeln!(out, "    {}{comma}", serde_json::to_string(cost)?)?;
        }
        writeln!(out, "  ]\n}}")
    }

    /// Reads it; anything else is refused before its fields are looked at.
    ///
    /// # Errors
    /// When it cannot be read, is no cost table, or one of another format.
    pub fn read(input: impl Read) -> Result<Self, CostTableError> {
        let mut text = String::new();
        input.take(BYTES_MAX).read_to_string(&mut text)?;
        let value: serde_json::Value = serde_json::from_str(&text)?;
        if value.get("kind").and_then(serde_json::Value::as_str) != Some(KIND) {
            return Err(CostTableError::Foreign);
        }
        if let Some(found) = value.get("format").and_then(serde_json::Value::as_u64)
            && found != u64::from(FORMAT)
        {
            return Err(CostTableError::Format { found });
        }
        let table: Self = serde_json::from_value(value)?;
        table.sound()
    }

    /// This table, unless it has a number that [`Self::read`] refuses.
    ///
    /// # Errors
    /// A time that nothing takes, or pauses that do not grow.
    pub fn sound(self) -> Result<Self, CostTableError> {
        if self.message.as_ref().is_some_and(|message| !message.is_possible()) {
            return Err(CostTableError::Message);
        }
        if self.message.as_ref().is_some_and(|message| !message.is_ordered()) {
            return Err(CostTableError::Loads);
        }
        self.daemon.iter().try_for_each(DaemonCosts::sound)?;
        let core_hz = self.machine.core_hz;
        if !CORE_HZ.contains(&core_hz) {
            return Err(CostTableError::Machine { core_hz });
        }
        if let Some(OperationPrice { operation, algorithm, .. }) = self.twice().cloned() {
            return Err(CostTableError::Twice { operation, algorithm });
        }
        self.costs.iter().try_for_each(OperationPrice::sound)?;
        Ok(self)
    }
}

impl CostTable {
    /// The first price of an operation that has one already: one without `exponents` is for all of them.
    fn twice(&self) -> Option<&OperationPrice> {
        let mut known: BTreeMap<_, BTreeSet<Option<&str>>> = BTreeMap::new();
        self.costs.iter().find(|cost| {
            let others = known.entry((&cost.operation, &cost.algorithm)).or_default();
            let is_for_all = cost.exponents.is_none() && !others.is_empty();
            is_for_all || others.contains(&None) || !others.insert(cost.exponents.as_deref())
        })
    }
}

impl OperationPrice {
    fn sound(&self) -> Result<(), CostTableError> {
        let of = || (self.operation.clone(), self.algorithm.clone());
        if !is_time(self.fixed_ns) || !is_time(self.ns_per_byte) {
            let (operation, algorithm) = of();
            return Err(CostTableError::Number { operation, algorithm });
        }
        if let Some(exponents) = self.exponents.as_deref().filter(|length| !EXPONENTS.contains(length)) {
            let ((operation, algorithm), exponents) = (of(), exponents.to_owned());
            return Err(CostTableError::Exponents { operation, algorithm, exponents });
        }
        if !(0.0..).contains(&self.spread) {
            let ((operation, algorithm), spread) = (of(), self.spread);
            return Err(CostTableError::Spread { operation, algorithm, spread });
        }
        Ok(())
    }
}

fn is_time(time: f64) -> bool {
    (0.0..=TIME_MAX).contains(&time)
}

impl MessagePrice {
    fn is_possible(&self) -> bool {
        let times = [Some(self.ns), self.queued_ns, self.wake_us];
        times.into_iter().flatten().all(is_time) && self.loads.iter().all(LoadPrice::is_possible)
    }

    fn is_ordered(&self) -> bool {
        self.loads.is_sorted_by(|a, b| a.utilisation < b.utilisation)
            && self.loads.iter().all(LoadPrice::is_ordered)
    }
}

impl LoadPrice {
    fn is_possible(&self) -> bool {
        [self.utilisation, self.queued_ns].into_iter().all(is_time)
            && self.pauses.iter().all(PausePrice::is_possible)
    }

    fn is_ordered(&self) -> bool {
        !self.pauses.is_empty() && self.pauses.is_sorted_by(|a, b| a.after_us < b.after_us)
    }
}

impl PausePrice {
    fn is_possible(&self) -> bool {
        [self.ns, self.after_us, self.after_answer_ns, self.wake_us].into_iter().all(is_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> CostTable {
        let machine =
            Machine { cpu: "cpu".into(), cores: 2, ticks_hz: 2e9, core_hz: 3e9, ..Machine::default() };
        let cost = |operation: &str, exponents: Option<&str>| OperationPrice {
            operation: operation.into(),
            algorithm: "modp2048".into(),
            exponents: exponents.map(str::to_owned),
            fixed_ns: 200_000.125,
            ns_per_byte: 0.0,
            n: 100,
            spread: 0.01,
        };
        let costs = vec![cost("generate", Some("short")), cost("agree", None)];
        CostTable { costs, ..CostTable::new("0.1.0", 1_795_305_600, machine, "AWS-LC 1") }
    }

    #[test]
    fn a_cost_table_is_known_by_its_beginning() {
        let mut written = Vec::new();
        table().write(&mut written).unwrap();
        assert!(CostTable::is_one(&written));
        let other = String::from_utf8(written).unwrap().replacen(KIND, "keytoll run", 1);
        assert!(!CostTable::is_one(other.as_bytes()));
    }

    fn price(ns: f64, queued_ns: f64) -> MessagePrice {
        let pause = |(after_us, ns)| PausePrice { after_us, ns, after_answer_ns: 1.5, wake_us: 25.5 };
        let pauses = [(50.0, 7.5), (900.0, 9.5)].map(pause).to_vec();
        let load = |utilisation, queued_ns| LoadPrice { utilisation, queued_ns, pauses: pauses.clone() };
        MessagePrice {
            ns,
            queued_ns: Some(queued_ns),
            loads: vec![load(0.0625, 650.5), load(0.75, 550.5)],
            wake_us: Some(45.5),
            cryptography: Some(Cryptography::Priced),
            n: 30,
        }
    }

    fn written(table: &CostTable) -> String {
        let mut bytes = Vec::new();
        table.write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        let text = written(&table());
        assert_eq!(CostTable::read(text.as_bytes()).unwrap(), table());
        assert_eq!(text.lines().filter(|line| line.contains("fixed_ns")).count(), 2, "{text}");
        let with_messages = CostTable { message: Some(price(5250.5, 750.25)), ..table() };
        assert!(written(&with_messages).contains("\"cryptography\": \"priced\""));
        assert_eq!(CostTable::read(written(&with_messages).as_bytes()).unwrap(), with_messages);
        let empty = CostTable { costs: Vec::new(), ..table() };
        assert_eq!(CostTable::read(written(&empty).as_bytes()).unwrap(), empty);
    }

    #[test]
    fn anything_else_is_refused_in_words() {
        let refusal = |text: &str| CostTable::read(text.as_bytes()).unwrap_err().to_string();
        assert!(refusal("title = \"quickstart\"").starts_with("is no cost table: expected"));
        assert_eq!(refusal("{}"), "is no cost table: it does not say `\"kind\": \"keytoll cost table\"`");
        let text = written(&table());
        let newer = refusal(&text.replace("\"format\": 1", "\"format\": 7"));
        assert_eq!(newer, "is a cost table of format 7, and this keytoll reads format 1");
        let negative = refusal(&text.replace("200000.125", "-1.0"));
        assert_eq!(negative, "has a cost of generate modp2048 that is negative or longer than a minute");
        assert!(refusal(&text.replace("\"library\"", "\"librairie\"")).contains("library"));
        let unknown = refusal(&text.replace("\"short\"", "\"shrot\""));
        assert_eq!(
            unknown,
            "has a cost of generate modp2048 with the exponents `shrot`, which are `short` or `full`"
        );
        let spread = refusal(&text.replace("0.01", "-0.01"));
        assert_eq!(spread, "has a cost of generate modp2048 with the spread -0.01, which is at least 0");
        let twice = CostTable { costs: [table().costs, table().costs].concat(), ..table() };
        assert_eq!(refusal(&written(&twice)), "has two costs of generate modp2048");
        let for_all = OperationPrice { exponents: None, ..table().costs[0].clone() };
        for costs in [[table().costs[0].clone(), for_all.clone()], [for_all, table().costs[0].clone()]] {
            let twice = CostTable { costs: costs.into(), ..table() };
            assert_eq!(refusal(&written(&twice)), "has two costs of generate modp2048");
        }
        let stopped = refusal(&text.replace("3000000000.0", "0.0"));
        assert_eq!(stopped, "has a machine whose cores run at 0 Hz");
        assert!(refusal(&text.replace("\"spread\"", "\"bogus\": 1, \"spread\"")).contains("`bogus`"));
        let message = written(&CostTable { message: Some(price(5.0, 2.0)), ..table() });
        for sound in ["5.0", "2.0", "7.5", "900.0", "45.5", "25.5", "0.0625", "550.5"] {
            let told = refusal(&message.replace(sound, &format!("-{sound}")));
            assert_eq!(told, "has a cost of a message that is negative or longer than a minute");
        }
        for (sound, disordered) in [(" 50.0", " 900.0"), ("0.0625", "0.75")] {
            assert_eq!(
                refusal(&message.replace(sound, disordered)),
                "has costs of messages at loads whose utilisations or pauses do not grow, or are none"
            );
        }
        assert!(refusal(&message.replace("\"queued_ns\"", "\"cold\"")).contains("unknown field `cold`"));
        let endless = refusal(&message.replace("7.5", "1e42"));
        assert_eq!(endless, "has a cost of a message that is negative or longer than a minute");
    }
}
