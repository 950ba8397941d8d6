//! Columns of crypto operations and of kinds of messages, with a line of a CSV file for each.

use keytoll_analysis::RowFindings;
use keytoll_analysis::metrics::{MessageKind, Operation};
use keytoll_analysis::trace::{Node, Part};

use super::Value;
use super::field::{Field, number, text, whole};

/// A cell about an operation of a row.
pub(crate) type OfOperation = fn(&RowFindings, &Operation) -> Value;

/// The columns of a crypto operation of a row, in `operations.csv`.
pub(crate) const OPERATIONS: [Field<OfOperation>; 9] = [
    text("node", "the node that computed", |_, operation| operation.cost.node.name().into()),
    text("phase", "the phase of the protocol, like `ike-sa-init`", |_, operation| {
        operation.cost.phase.to_string().into()
    }),
    text("operation", "the operation, like `agree`", |_, operation| {
        operation.cost.operation.to_string().into()
    }),
    text("algorithm", "the algorithm, like `x25519`", |_, operation| {
        operation.cost.algorithm.to_string().into()
    }),
    whole("count", "operations", "how often, over all authentications of the row", |_, operation| {
        operation.cost.count.into()
    }),
    whole(
        "ns_total",
        "ns",
        "time of all of them on this machine, without preemption, as in `NODE_crypto_ns`",
        |_, operation| operation.cost.ns.into(),
    ),
    whole("bytes_total", "bytes", "bytes that all of them worked on", |_, operation| {
        operation.cost.bytes.into()
    }),
    whole("authentications", "authentications", "authentications of the row", |row, _| row.tally.n.into()),
    text(
        "part",
        "`authentication`, or `after` for what follows its outcome; empty of runs of older versions",
        |_, operation| operation.part.map(Part::name).unwrap_or_default().into(),
    ),
];

/// A cell about a kind of message of a row: its number in order of first appearance, and the kind.
pub(crate) type OfMessage = fn(&RowFindings, u64, &MessageKind) -> Value;

/// The columns of a kind of message of a row, in `messages.csv`.
pub(crate) const MESSAGES: [Field<OfMessage>; 11] = [
    whole("order", "", "the place of its first appearance, from 1", |_, order, _| order.into()),
    text("message", "the kind of message, like `IKE_AUTH request`", |_, _, kind| kind.name().into()),
    text("payloads", "what the first of its kind carried", |_, _, kind| kind.payloads().into()),
    text("direction", "sender and receiver, like `ue>gw`", |_, _, kind| {
        format!("{}>{}", kind.from.name(), receiver(kind)).into()
    }),
    text("from", "the node that sent it", |_, _, kind| kind.from.name().into()),
    text("to", "the node that it was sent to", |_, _, kind| receiver(kind).into()),
    whole(
        "count",
        "messages",
        "how many over all authentications of the row, retransmissions apart",
        |_, _, kind| kind.count.into(),
    ),
    number(
        "bytes_mean",
        "bytes",
        "mean length of a message, without headers of lower layers",
        |_, _, kind| kind.bytes_mean().map(|bytes| format!("{bytes:.1}")).into(),
    ),
    whole("retransmissions", "messages", "retransmissions of this kind", |_, _, kind| {
        kind.retransmissions.into()
    }),
    text("part", "`authentication`, or `after` for what is outside it", |_, _, kind| kind.part.name().into()),
    whole("authentications", "authentications", "authentications of the row", |row, _, _| row.tally.n.into()),
];

fn receiver(kind: &MessageKind) -> &'static str {
    kind.to.map(Node::name).unwrap_or_default()
}
