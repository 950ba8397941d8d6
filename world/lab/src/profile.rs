//! Profiles: rows authenticate in turns, and every step of every node is recorded.
//!
//! All compared rows are measured in one run: for each authentication every row has its turn, starting with another row every time.
//! Rounds that follow one another are a block: the machine is slow or fast in all rows of a block alike. An authentication disturbed by
//! preemption is repeated; if all repetitions are disturbed, one is kept and counted.

use std::sync::atomic::Ordering;

use keytoll_native::clock;
use keytoll_rigs::Credentials;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_trace::{BlockCost, Cost};

use crate::pace::Pace;
use crate::row::{Profiled, Row, Stop};
use crate::run::{RunError, supported};
use crate::turns::block_of;

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
    /// The clocks, and of each authentication its block and its steps.
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

/// Profiles rows, `count` authentications each, on this thread; `progress` is called after each authentication, `between` after each
/// block, of which there are [`blocks(count)`](crate::blocks).
///
/// # Errors
/// When this build lacks an algorithm of a plan, or credentials cannot be made.
pub fn profile(
    subjects: &[Subject<'_>],
    count: u32,
    progress: &dyn Fn(),
    between: &mut dyn FnMut(u32),
    stop: &Stop,
) -> Result<Vec<Profile>, RunError> {
    let mut known = Vec::new();
    let mut turns = Vec::with_capacity(subjects.len());
    for subject in subjects {
        turns.push(Turns::new(subject, &mut known)?);
    }
    for round in 0..count {
        let block = block_of(round, count);
        // The order rotates, so that no row is always first or always follows the same one.
        for place in 0..turns.len() {
            if stop.load(Ordering::Relaxed) {
                return Ok(turns.into_iter().map(|turns| turns.profile).collect());
            }
            let place = (place + round as usize) % subjects.len();
            turns[place].take(round, block);
            progress();
        }
        if round + 1 == count || block_of(round + 1, count) != block {
            between(block);
        }
    }
    Ok(turns.into_iter().map(|turns| turns.profile).collect())
}

/// A row that has its turns.
struct Turns {
    row: Row,
    profile: Profile,
    pace: Pace,
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
        Ok(Self { row, profile, pace: Pace::default() })
    }

    /// Measures one more authentication.
    fn take(&mut self, sample: u32, block: u32) {
        let before = self.pace.look();
        let Some(Profiled { steps, away_ns }) = self.quietest(sample) else {
            self.profile.failed += 1;
            return;
        };
        let reference_ns = clock::ticks_to_ns(before.max(self.pace.look())) as u64;
        self.profile.costs.push(Cost::Block(BlockCost { sample, block, reference_ns }));
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
