//! Profiles: rows authenticate in turns, and every step of every node is recorded.
//!
//! All compared rows are measured in one run: for each authentication every row has its turn, starting with another row every time.
//! An authentication disturbed by preemption is repeated; if all repetitions are disturbed, one is kept and counted.

use std::sync::atomic::Ordering;

use keytoll_native::clock;
use keytoll_rigs::Credentials;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_trace::Cost;

use crate::row::{Profiled, Row, Stop};
use crate::run::{RunError, supported};

/// An authentication with a longer preemption is repeated. Reading the clocks takes less.
const AWAY_NS_MAX: u64 = 20_000;

/// The limit on repetitions of an authentication.
const AGAIN_MAX: u32 = 25;

/// A row to profile.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The plan of the row.
    pub plan: &'a Plan,
    /// The row.
    pub row: &'a RowPlan,
    /// Whether each operation is timed and recorded. Otherwise only whole steps are timed.
    pub timed: bool,
}

/// The measurements of a row.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// The clocks, and the steps of each authentication.
    pub costs: Vec<Cost>,
    /// The number of authentications.
    pub samples: u32,
    /// How many failed and are not.
    pub failed: u32,
    /// How many of them were disturbed by preemption.
    pub disturbed: u32,
    /// How many were made again.
    pub repeated: u32,
}

/// Profiles rows, `count` authentications each, on this thread; `progress` is called after each authentication.
///
/// # Errors
/// When this build lacks an algorithm of a plan, or credentials cannot be made.
pub fn profile(
    subjects: &[Subject<'_>],
    count: u32,
    progress: &dyn Fn(),
    stop: &Stop,
) -> Result<Vec<Profile>, RunError> {
    let mut known = Vec::new();
    let mut turns = Vec::with_capacity(subjects.len());
    for subject in subjects {
        turns.push(Turns::new(subject, &mut known)?);
    }
    for round in 0..count {
        // The order rotates, so that no row is always first or always follows the same one.
        for place in 0..turns.len() {
            if stop.load(Ordering::Relaxed) {
                return Ok(turns.into_iter().map(|turns| turns.profile).collect());
            }
            let place = (place + round as usize) % subjects.len();
            turns[place].take(round);
            progress();
        }
    }
    Ok(turns.into_iter().map(|turns| turns.profile).collect())
}

/// A row that has its turns.
struct Turns {
    row: Row,
    profile: Profile,
}

impl Turns {
    /// `known` are the credentials of earlier plans.
    fn new<'a>(subject: &Subject<'a>, known: &mut Vec<(&'a Plan, Credentials)>) -> Result<Self, RunError> {
        let Subject { plan, row, timed } = *subject;
        supported(plan)?;
        let place = known.iter().position(|(other, _)| std::ptr::eq(*other, plan)).unwrap_or_else(|| {
            known.push((plan, Credentials::prepare(plan)));
            known.len() - 1
        });
        let mut row = Row::new(plan, row, &known[place].1, clock::core_hz());
        row.begin_profile(timed);
        let profile = Profile { costs: vec![row.clock()], ..Profile::default() };
        Ok(Self { row, profile })
    }

    /// Measures one more authentication.
    fn take(&mut self, sample: u32) {
        let Some(Profiled { steps, away_ns }) = self.quietest(sample) else {
            self.profile.failed += 1;
            return;
        };
        self.profile.samples += 1;
        self.profile.disturbed += u32::from(away_ns > AWAY_NS_MAX);
        self.profile.costs.extend(steps.into_iter().map(Cost::Step));
    }

    /// The first undisturbed authentication, or the least disturbed one.
    fn quietest(&mut self, sample: u32) -> Option<Profiled> {
        let mut best = self.row.profiled(sample)?;
        for _ in 0..AGAIN_MAX {
            if best.away_ns <= AWAY_NS_MAX {
                break;
            }
            self.profile.repeated += 1;
            let again = self.row.profiled(sample)?;
            if again.away_ns < best.away_ns {
                best = again;
            }
        }
        Some(best)
    }
}
