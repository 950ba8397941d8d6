//! Columns of an authentication: the row of the run, the outcome, the times.

use keytoll_analysis::Sample;
use keytoll_analysis::metrics::times::{
    COMPUTATION, DELAY as DELAY_TIME, FAILED_AFTER, FIRST_PACKET, NETWORK, WAITING, WAITING_FOR_REPEATS,
};
use keytoll_analysis::trace::manifest::ManifestRow;

use super::field::{Field, flag, name, text, whole};
use super::{Column, OfLine, Table, Value, column, rare};

/// A cell that names the row of the run.
pub(crate) type OfRow = fn(&ManifestRow) -> Value;

/// A cell of an authentication.
pub(crate) type OfSample = fn(&Sample) -> Value;

/// The columns that identify the row of the run, in every CSV file.
pub(crate) const IDENTITY: [Field<OfRow>; 6] = [
    name("method", "the method's name in the catalogue", |row| row.method.as_str().into()),
    name("variant", "what differs from the method's default; empty for the default itself", |row| {
        row.variant.as_str().into()
    }),
    name("network", "the network's name", |row| row.network.as_str().into()),
    name("topology", "the topology's name", |row| row.topology.as_str().into()),
    name("world", "`sim`, `live` or `captured`", |row| row.world.as_str().into()),
    name("crypto", "`real`, `openssl`, `null`, `table` or `captured`", |row| row.crypto.as_str().into()),
];

/// The columns of an authentication in `samples.csv`.
pub(crate) const SAMPLE: [Field<OfSample>; 21] = [
    whole("sample", "", "the authentication's number in the row, from 0", |sample| {
        u64::from(sample.sample).into()
    }),
    whole("triggered_at_ns", "ns", "time of its trigger, since the start of the row", |sample| {
        sample.triggered_at_ns.into()
    }),
    text("outcome", "`established`, `failed` or `unfinished`", |sample| sample.outcome.name().into()),
    text("failure", "the node that noticed, and the reason; empty if established", |sample| {
        sample.outcome.failure().into()
    }),
    whole("delay_ns", "ns", "from the trigger to a usable SA at the device", |sample| {
        sample.times.get(&DELAY_TIME).into()
    }),
    whole("failed_after_ns", "ns", "from the trigger until the device knew that it had failed", |sample| {
        sample.times.get(&FAILED_AFTER).into()
    }),
    whole(
        "first_packet_ns",
        "ns",
        "from the trigger until the packet that caused it came back through the SA",
        |sample| sample.times.get(&FIRST_PACKET).into(),
    ),
    whole(
        "network_ns",
        "ns",
        "the part of the delay in which a datagram that arrived was under way",
        |sample| sample.times.get(&NETWORK).into(),
    ),
    whole(
        "computation_ns",
        "ns",
        "the part in which a node computed and no datagram was under way",
        |sample| sample.times.get(&COMPUTATION).into(),
    ),
    whole(
        "waiting_ns",
        "ns",
        "the rest: timers ran, a datagram was lost, or the HSS waited for its store",
        |sample| sample.times.get(&WAITING).into(),
    ),
    whole(
        "messages",
        "messages",
        "protocol messages over all links until the outcome was known, retransmissions apart",
        |sample| sample.total.messages.into(),
    ),
    whole(
        "packets",
        "packets",
        "IP packets after fragmentation, retransmissions and lost ones included",
        |sample| sample.total.packets.into(),
    ),
    whole("bytes", "bytes", "bytes of these packets, IP headers included", |sample| {
        sample.total.bytes.into()
    }),
    whole("retransmissions", "messages", "retransmitted messages", |sample| {
        sample.total.retransmissions.into()
    }),
    whole(
        "lost_packets",
        "packets",
        "packets lost or damaged, and those that a full queue refused",
        |sample| sample.total.lost_packets.into(),
    ),
    whole(
        "after_messages",
        "messages",
        "messages outside that span: deletes, liveness, rekeying; RADIUS accounting always",
        |sample| sample.after.messages.into(),
    ),
    whole("after_packets", "packets", "their IP packets", |sample| sample.after.packets.into()),
    whole("after_bytes", "bytes", "bytes of these packets", |sample| sample.after.bytes.into()),
    whole("discards", "messages", "messages that arrived and could not be used, at all nodes", |sample| {
        u64::from(sample.discards).into()
    }),
    flag("charged", "`true` if computation takes virtual time", |sample| sample.charged.to_string().into()),
    flag(
        "disturbed",
        "`true` if the driver lost the CPU meanwhile: computation and CPU times are not to be used",
        |sample| sample.disturbed.to_string().into(),
    ),
];

/// Further columns of an authentication, at the end of `samples.csv`, where columns are added.
pub(crate) const SAMPLE_ADDED: [Field<OfSample>; 1] = [whole(
    "waiting_for_repeats_ns",
    "ns",
    "the part of `waiting_ns` that ended with a retransmission, after a loss or without an answer",
    |sample| sample.times.get(&WAITING_FOR_REPEATS).into(),
)];

/// When an authentication was measured, at the end of `samples.csv`.
pub(crate) const BLOCK: [Field<OfSample>; 2] = [
    whole(
        "block",
        "",
        "the block of the row in which it was measured, from 0: with real cryptography rows take turns, a block each",
        |sample| sample.block.as_ref().map(|block| u64::from(block.block)).into(),
    ),
    whole(
        "reference_ns",
        "ns",
        "time of a fixed computation directly before or after it, whichever took longer: how fast the machine was",
        |sample| sample.block.as_ref().map(|block| block.reference_ns).into(),
    ),
];

/// How many authentications were established, and how long they took.
pub(crate) const DELAY: Table = Table {
    title: "Delay",
    columns: &DELAY_COLUMNS,
    lines: |row| usize::from(row.population.is_none()),
    note: "ok/n: established of all measured. delay: trigger to usable SA of those established, median with its \
           distribution-free 95 % interval, 95th percentile, mean. packet: median time until the packet that caused it came back \
           through the SA, of those that did: where links lose packets, these are not all.",
};

const DELAY_COLUMNS: [Column<OfLine>; 6] = [
    column("ok/n", "authentications", "authentications established, of all measured", |row, _| {
        format!("{}/{}", row.succeeded, row.n).into()
    }),
    column(
        "delay ms",
        "ms",
        "from the trigger to a usable SA: median, in brackets its distribution-free 95 % interval",
        |row, _| row.delay_ms.map(|delay| delay.median()).into(),
    ),
    column("p95 ms", "ms", "95th percentile", |row, _| row.delay_ms.map(|delay| delay.p95).into()),
    column("mean ms", "ms", "arithmetic mean", |row, _| row.delay_ms.map(|delay| delay.mean).into()),
    column(
        "packet ms",
        "ms",
        "median time until the packet that caused it came back through the SA",
        |row, _| row.first_packet_ms.map(|delay| delay.p50).into(),
    ),
    rare(column(
        "repeats s",
        "s",
        "time in which an established one only waited until a message was sent again, for a packet was lost or nobody had \
         answered, mean",
        |row, _| row.waiting_for_repeats_ms.map_or(Value::Nothing, |wait| (wait.mean / 1e3).into()),
    )),
];
