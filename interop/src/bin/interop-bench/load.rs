//! How much a load generator does, and what came of it: one line of JSON from the process that bore the load to the one
//! that measures.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// How much.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Load {
    /// How many in all.
    #[arg(long)]
    pub(crate) count: u64,
    /// How many at the same time.
    #[arg(long, default_value_t = 16)]
    pub(crate) window: u64,
}

/// What came of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Came to a good end.
    pub(crate) done: u64,
    /// Did not.
    pub(crate) failed: u64,
    /// Why the last of those did not.
    pub(crate) why: Option<String>,
    /// Messages sent again.
    pub(crate) retransmissions: u64,
    /// From the first message to the last.
    pub(crate) wall_ns: u64,
    /// CPU time of the generator meanwhile.
    pub(crate) cpu_ns: u64,
    /// How long each took, where they come one after another.
    pub(crate) delays_ns: Vec<u64>,
}

impl Outcome {
    /// Those that are over.
    pub(crate) const fn over(&self) -> u64 {
        self.done + self.failed
    }

    /// One more that came to a good end; how long it took is known when it was alone.
    pub(crate) fn succeed(&mut self, alone_since: Option<Instant>) {
        self.done += 1;
        let taken = alone_since.map(|since| u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX));
        self.delays_ns.extend(taken);
    }

    /// One more that failed.
    pub(crate) fn fail(&mut self, why: &str) {
        self.failed += 1;
        self.why = Some(why.to_owned());
    }
}
