//! A victim, an attack on it by a second process, and genuine ones that want in meanwhile: how long they take, before, during
//! and after, and what the victim has used.

use std::process::Child;

use keytoll_daemons::{Process, Usage};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::load::Outcome;
use crate::trouble::Result;

/// How many genuine ones come one after another before and after; during the attack as many as there is time for.
const CALM: u64 = 50;
/// How many of them one process is, during the attack.
const HANDFUL: u64 = 5;

/// What an attacker says of itself.
pub(crate) trait Attack: DeserializeOwned {
    /// From its first message to its last.
    fn seconds(&self) -> f64;
}

/// How genuine ones fared.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Fared {
    /// How many got in.
    n: u64,
    /// How many did not.
    failed: u64,
    /// Why the last of those did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Messages that had to be said again.
    retransmissions: u64,
    /// How long they took.
    delay_ms: Delays,
}

/// Of how long they took.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Delays {
    p50: f64,
    p95: f64,
    max: f64,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Siege {
    before: Fared,
    during: Fared,
    after: Fared,
    resident_before_bytes: u64,
    resident_after_bytes: u64,
    resident_max_bytes: u64,
    /// CPU time of the victim during the attack, as a share of one CPU.
    cpu_share: f64,
}

/// Who is attacked, who attacks and who wants in.
pub(crate) trait Stage {
    fn victim(&self) -> &Process;

    /// Begins the attack.
    fn attack(&self) -> Result<Child>;

    /// So many genuine ones, one after another.
    fn genuine(&self, count: u64) -> Result<Outcome>;
}

/// Attacks, and says how everybody fared.
pub(crate) fn lay<A: Attack>(stage: &impl Stage) -> Result<(A, Siege)> {
    let before = Fared::of(&[stage.genuine(CALM)?]);
    let begun = usage(stage)?;
    let mut attacker = stage.attack()?;
    let mut during = Vec::new();
    while attacker.try_wait()?.is_none() {
        during.push(stage.genuine(HANDFUL)?);
    }
    let output = attacker.wait_with_output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into());
    }
    let attack: A = serde_json::from_slice(&output.stdout)?;
    let ended = usage(stage)?;
    let after = Fared::of(&[stage.genuine(CALM)?]);
    let siege = Siege {
        before,
        during: Fared::of(&during),
        after,
        resident_before_bytes: begun.resident_bytes,
        resident_after_bytes: ended.resident_bytes,
        resident_max_bytes: usage(stage)?.resident_max_bytes,
        cpu_share: (ended.cpu_ns - begun.cpu_ns) as f64 / 1e9 / attack.seconds(),
    };
    Ok((attack, siege))
}

fn usage(stage: &impl Stage) -> Result<Usage> {
    let victim = stage.victim();
    victim.usage().ok_or_else(|| format!("it has ended: {}", victim.last_words()).into())
}

impl Fared {
    fn of(outcomes: &[Outcome]) -> Self {
        let mut delays: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.delays_ns).copied().collect();
        delays.sort_unstable();
        let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum();
        Self {
            n: sum(|outcome| outcome.done),
            failed: sum(|outcome| outcome.failed),
            why: outcomes.iter().rev().find_map(|outcome| outcome.why.clone()),
            retransmissions: sum(|outcome| outcome.retransmissions),
            delay_ms: Delays { p50: at(&delays, 0.5), p95: at(&delays, 0.95), max: at(&delays, 1.0) },
        }
    }
}

/// A quantile of sorted nanoseconds, in milliseconds.
fn at(sorted: &[u64], fraction: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted.get((last * fraction).ceil() as usize).map_or(f64::NAN, |ns| *ns as f64 / 1e6)
}
