//! From the steps of one authentication to runs of equal operations, and the order of runs that several authentications
//! share.

use std::collections::BTreeMap;

use keytoll_trace::{StepCost, StepOperation, Stimulus};

use super::label::labels;

/// What identifies the same line in different authentications, or with different suites.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) message: String,
    pub(super) phase: String,
    pub(super) operation: String,
    /// Its purpose, as the engine reports it.
    pub(super) purpose: String,
    /// The number of this run among those of the same operation, message, phase and purpose.
    occurrence: usize,
}

/// The same operation with the same algorithm, several times in sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) key: Key,
    pub(super) algorithm: String,
    pub(super) count: u64,
    pub(super) ticks: u64,
}

/// The work of a node in one authentication, step by step, without IPsec traffic.
#[derive(Debug, Clone, Default)]
pub(super) struct Worked {
    pub(super) runs: Vec<Run>,
    /// Ticks of each step, by its name.
    pub(super) steps: Vec<WorkedStep>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkedStep {
    /// The received message, or else the sent one.
    pub(super) name: String,
    pub(super) ticks: u64,
    /// Those of its operations.
    pub(super) crypto_ticks: u64,
}

/// A message with more runs than this, as those of TLS, gets one line for each kind of operation, at the position of the first.
const RUNS_MAX: usize = 10;
/// The operations that must precede the use of a message.
const OPENING: [&str; 3] = ["decrypt", "verify-mac", "verify"];
/// The phase of IPsec traffic, which is not part of an authentication.
const TRAFFIC: &str = "traffic";

impl Worked {
    pub(super) fn of(steps: &[&StepCost]) -> Self {
        let mut worked = Self::default();
        let mut occurrences = BTreeMap::new();
        let steps: Vec<&StepCost> = steps.iter().copied().filter(|step| !is_traffic(step)).collect();
        for (step, labels) in steps.iter().zip(labels(&steps)) {
            let (inside, crypto_ticks, traffic_ticks) = split(step);
            let ticks = step.ticks.saturating_sub(traffic_ticks);
            worked.steps.push(WorkedStep { name: labels.message(true), ticks, crypto_ticks });
            let message = |reading| labels.message(reading);
            for (message, operations) in halves(&inside).map(|(reading, part)| (message(reading), part)) {
                worked.runs.extend(runs(&message, operations, &mut occurrences));
            }
        }
        worked
    }

    pub(super) fn ticks(&self) -> u64 {
        self.steps.iter().map(|step| step.ticks).sum()
    }

    pub(super) fn crypto_ticks(&self) -> u64 {
        self.steps.iter().map(|step| step.crypto_ticks).sum()
    }
}

fn is_traffic(step: &StepCost) -> bool {
    matches!(step.stimulus, Stimulus::Datagram(protocol) if protocol.is_traffic())
}

/// The operations that belong to the authentication, their ticks, and those of IPsec traffic.
fn split(step: &StepCost) -> (Vec<&StepOperation>, u64, u64) {
    let (traffic, inside): (Vec<_>, Vec<_>) =
        step.operations.iter().partition(|operation| operation.phase == TRAFFIC);
    let ticks = |operations: &[&StepOperation]| operations.iter().map(|operation| operation.ticks).sum();
    (inside.clone(), ticks(&inside), ticks(&traffic))
}

/// Operations up to the last opening one serve to read the received message, those after it to answer.
fn halves<'a, 'b>(operations: &'b [&'a StepOperation]) -> [(bool, &'b [&'a StepOperation]); 2] {
    let last = operations.iter().rposition(|operation| OPENING.contains(&&*operation.operation));
    let (reading, answering) = operations.split_at(last.map_or(0, |last| last + 1));
    [(true, reading), (false, answering)]
}

/// The number of runs of an operation so far, by message, phase, operation and purpose.
type Occurrences = BTreeMap<[String; 4], usize>;

/// The runs that belong to one message of a step.
fn runs(message: &str, operations: &[&StepOperation], occurrences: &mut Occurrences) -> Vec<Run> {
    let mut groups: Vec<Vec<&StepOperation>> = Vec::new();
    for &operation in operations {
        match groups.last_mut().filter(|group| is_same(group[0], operation)) {
            Some(group) => group.push(operation),
            None => groups.push(vec![operation]),
        }
    }
    if groups.len() > RUNS_MAX {
        groups = gathered(&groups);
    }
    groups.iter().map(|group| run(message, group, occurrences)).collect()
}

fn is_same(one: &StepOperation, other: &StepOperation) -> bool {
    one.phase == other.phase
        && one.operation == other.operation
        && one.purpose == other.purpose
        && one.algorithm == other.algorithm
}

/// Groups the same operation at the position of the first.
fn gathered<'a>(groups: &[Vec<&'a StepOperation>]) -> Vec<Vec<&'a StepOperation>> {
    let mut gathered: Vec<Vec<&StepOperation>> = Vec::new();
    for group in groups {
        match gathered.iter_mut().find(|known| is_same(known[0], group[0])) {
            Some(known) => known.extend(group),
            None => gathered.push(group.clone()),
        }
    }
    gathered
}

fn run(message: &str, group: &[&StepOperation], occurrences: &mut Occurrences) -> Run {
    let [phase, operation, purpose] =
        [&group[0].phase, &group[0].operation, &group[0].purpose].map(ToString::to_string);
    let of = [message.to_owned(), phase.clone(), operation.clone(), purpose.clone()];
    let occurrence = occurrences.entry(of).or_default();
    *occurrence += 1;
    Run {
        key: Key { message: message.to_owned(), phase, operation, purpose, occurrence: *occurrence },
        algorithm: group[0].algorithm.to_string(),
        count: group.len() as u64,
        ticks: group.iter().map(|operation| operation.ticks).sum(),
    }
}

/// Merges keys into an existing order: a new one comes after the one that it follows.
pub(super) fn weave<'a>(known: &mut Vec<Key>, keys: impl Iterator<Item = &'a Key>) {
    let mut at = 0;
    for key in keys {
        match known.iter().position(|other| other == key) {
            Some(place) => at = place + 1,
            None => {
                known.insert(at, key.clone());
                at += 1;
            }
        }
    }
}

/// An operation's name in words.
pub(super) fn words(operation: &str) -> &str {
    match operation {
        "hash" => "hash",
        "prf" => "PRF",
        "mac" => "integrity value",
        "verify-mac" => "integrity check",
        "encrypt" => "encryption",
        "decrypt" => "decryption",
        "generate" => "D-H generation",
        "agree" => "D-H agreement",
        "sign" => "signature",
        "verify" => "signature check",
        "block" => "block cipher",
        "compress" => "hash step",
        other => other,
    }
}
