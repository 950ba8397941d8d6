//! Columns of an authentication's cost at a node: CPU time and memory.

use keytoll_analysis::metrics::NodeCost;
use keytoll_analysis::summary::{Cpu, Memory, SummaryRow};

use super::field::{Field, whole};
use super::{Column, OfLine, Table, Value, column, cpu_time, short, wide};

/// A cell about an authentication at a node.
pub(crate) type OfNode = fn(&NodeCost) -> Value;

/// The columns of an authentication at each node in `samples.csv`, with prefixes like `ue_`.
pub(crate) const NODE: [Field<OfNode>; 4] = [
    whole("cpu_ns", "ns", "CPU time of this machine that the node took", |cost| cost.cpu_ns.into()),
    whole("crypto_ns", "ns", "the part of it in crypto operations; not known of foreign daemons", |cost| {
        cost.crypto_ns.into()
    }),
    whole("heap_peak_bytes", "bytes", "highest heap use of the node so far", |cost| {
        cost.heap_peak_bytes.into()
    }),
    whole("idle_sa_bytes", "bytes", "heap that the idle SA pair keeps, where it was measured", |cost| {
        cost.idle_sa_bytes.into()
    }),
];

/// CPU time of each node. Heap is measured wherever CPU time is, and also where every authentication was disturbed.
pub(crate) const CPU: Table = Table {
    title: "CPU",
    columns: &CPU_COLUMNS,
    lines,
    note: "cpu: time of this machine per authentication, median with its distribution-free 95 % interval, 95th \
           percentile, mean; crypto: median of its part in crypto operations; Mcycles: the median at the \
           clock frequency this machine was seen running at. heap: highest use during start and the first authentication.",
};

const CPU_COLUMNS: [Column<OfLine>; 7] = [
    column("node", "", "", node),
    cpu_time(
        "cpu µs†",
        column(
            "cpu µs",
            "µs",
            "CPU time of this machine: median, in brackets its distribution-free 95 % interval",
            |row, line| cpu(row, line).map(|cpu| cpu.median().times(1e-3)).into(),
        ),
    ),
    cpu_time(
        "p95 µs†",
        column("p95 µs", "µs", "95th percentile", |row, line| us(row, line, |cpu| Some(cpu.ns_p95))),
    ),
    cpu_time(
        "mean µs†",
        column("mean µs", "µs", "arithmetic mean", |row, line| us(row, line, |cpu| Some(cpu.ns))),
    ),
    column("crypto µs", "µs", "median of the part in crypto operations", |row, line| {
        us(row, line, |cpu| cpu.crypto_ns_p50)
    }),
    cpu_time(
        "Mcycles†",
        column(
            "Mcycles",
            "Mcycles",
            "millions of cycles of the median, at the frequency this machine was seen running at",
            |row, line| cpu(row, line).and_then(|cpu| cpu.cycles_p50).map(|cycles| cycles / 1e6).into(),
        ),
    ),
    wide(column("n", "authentications", "", |row, line| cpu(row, line).map(|cpu| cpu.n).into())),
];

/// Heap of each node.
pub(crate) const MEMORY: Table = Table { title: "Memory", columns: &MEMORY_COLUMNS, lines, note: "" };

const MEMORY_COLUMNS: [Column<OfLine>; 3] = [
    column("node", "", "", node),
    short(
        "heap KiB",
        column(
            "heap peak KiB",
            "KiB",
            "highest use of the heap during start and the first authentication",
            |row, line| {
                memory(row, line).and_then(|memory| memory.peak).map(|bytes| bytes as f64 / 1024.0).into()
            },
        ),
    ),
    column("idle SA bytes", "bytes", "what a pair of SAs keeps while nothing happens", |row, line| {
        memory(row, line).and_then(|memory| memory.idle_sa).map(f64::round).into()
    }),
];

fn lines(row: &SummaryRow) -> usize {
    row.memory_bytes.names().count()
}

fn node(row: &SummaryRow, line: usize) -> Value {
    row.memory_bytes.names().nth(line).into()
}

fn cpu(row: &SummaryRow, line: usize) -> Option<&Cpu> {
    row.cpu.get(row.memory_bytes.names().nth(line)?)
}

fn us(row: &SummaryRow, line: usize, ns: fn(&Cpu) -> Option<f64>) -> Value {
    cpu(row, line).and_then(ns).map(|ns| ns / 1e3).into()
}

fn memory(row: &SummaryRow, line: usize) -> Option<&Memory> {
    row.memory_bytes.iter().nth(line).map(|(_, memory)| memory)
}
