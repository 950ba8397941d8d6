//! Columns that compare our nodes with foreign daemons.

use keytoll_analysis::beside::Beside;

use super::{Column, Value, column};

/// A cell about a node of ours and a foreign daemon.
pub(crate) type OfPair = fn(&Beside) -> Value;

/// A node of ours beside a foreign daemon, on the screen.
pub(crate) const BESIDE: [Column<OfPair>; 7] = [
    column("node", "", "", |pair| pair.node.as_str().into()),
    column("cpu µs", "µs", "", |pair| (pair.cpu_ns / 1e3).into()),
    column("theirs µs", "µs", "", |pair| (pair.maker_cpu_ns / 1e3).into()),
    column("ratio", "times", "", |pair| pair.cpu_ratio.into()),
    column("delay ms", "ms", "", |pair| pair.delay_ms.into()),
    column("theirs ms", "ms", "", |pair| pair.maker_delay_ms.into()),
    column("whose", "", "", |pair| pair.maker.as_str().into()),
];
