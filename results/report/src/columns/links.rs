//! Columns of the traffic on a link.

use keytoll_analysis::metrics::LinkCount;
use keytoll_analysis::summary::{LinkMeans, SummaryRow};

use super::field::{Field, whole};
use super::{Column, OfLine, Table, Value, column, wide};

/// A cell about an authentication on a link.
pub(crate) type OfLink = fn(&LinkCount) -> Value;

/// The columns of an authentication on each link in `samples.csv`, with prefixes like `ue_gw_`.
pub(crate) const LINK: [Field<OfLink>; 4] = [
    whole("messages", "messages", "protocol messages over this link, retransmissions apart", |count| {
        count.messages.into()
    }),
    whole(
        "packets",
        "packets",
        "IP packets after fragmentation, retransmissions and lost ones included",
        |count| count.packets.into(),
    ),
    whole("bytes", "bytes", "bytes of these packets, IP headers included", |count| count.bytes.into()),
    whole("retransmissions", "messages", "messages sent again", |count| count.retransmissions.into()),
];

/// The messages on each link.
pub(crate) const MESSAGES: Table = Table {
    title: "Messages",
    columns: &MESSAGE_COLUMNS,
    lines: |row| row.links.names().count(),
    note: "msgs, pkts, bytes, retr: means over all n. msgs without retransmissions (retr); pkts and bytes are IP packets \
           after fragmentation, headers and retransmissions included.",
};

const MESSAGE_COLUMNS: [Column<OfLine>; 6] = [
    column("link", "", "", |row, line| row.links.names().nth(line).into()),
    column("msgs", "messages", "protocol messages without retransmissions, mean", |row, line| {
        mean(row, line, |means| means.messages)
    }),
    column("pkts", "packets", "IP packets after fragmentation, mean", |row, line| {
        mean(row, line, |means| means.packets)
    }),
    column("bytes", "bytes", "bytes of these packets, headers included, mean", |row, line| {
        mean(row, line, |means| means.bytes)
    }),
    column("retr", "messages", "retransmitted messages, mean", |row, line| {
        mean(row, line, |means| means.retransmissions)
    }),
    wide(column(
        "lost pkts",
        "packets",
        "packets lost, damaged, or refused by a full queue, mean",
        |row, line| mean(row, line, |means| means.lost_packets),
    )),
];

fn mean(row: &SummaryRow, line: usize, of: fn(&LinkMeans) -> f64) -> Value {
    row.links.iter().nth(line).map(|(_, means)| of(means)).into()
}
