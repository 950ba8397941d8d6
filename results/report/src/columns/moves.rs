//! Columns of a device's move to another address.

use keytoll_analysis::metrics::Move;
use keytoll_analysis::summary::{LinkMeans, MoveCpu, MovesSummary, SummaryRow};

use super::field::{Field, whole};
use super::{Column, OfLine, Table, Value, column, wide};

/// A cell about the move after an authentication.
pub(crate) type OfMove = fn(&Move) -> Value;

/// The columns of the move after an authentication, in `samples.csv`.
pub(crate) const SAMPLE: [Field<OfMove>; 6] = [
    whole(
        "move_verified_ns",
        "ns",
        "from the announcement of a new address until it was verified",
        |moved| moved.verified_ns.into(),
    ),
    whole(
        "move_reached_ns",
        "ns",
        "from the announcement until the first packet of an SA arrived at the new address",
        |moved| moved.reached_ns.into(),
    ),
    whole(
        "move_missed_packets",
        "packets",
        "packets of SAs that came to the old address meanwhile and were lost",
        |moved| moved.reached_ns.map(|_| moved.missed_packets).into(),
    ),
    whole(
        "move_messages",
        "messages",
        "protocol messages until the new address was verified, retransmissions apart",
        |moved| moved.verified_ns.map(|_| moved.signalling.messages).into(),
    ),
    whole(
        "move_bytes",
        "bytes",
        "bytes of their IP packets, headers and retransmissions included",
        |moved| moved.verified_ns.map(|_| moved.signalling.bytes).into(),
    ),
    whole("move_retransmissions", "messages", "messages of these that were sent again", |moved| {
        moved.verified_ns.map(|_| moved.signalling.retransmissions).into()
    }),
];

/// A line for each node that has to do with moves.
pub(crate) const MOVES: Table = Table {
    title: "Moves",
    columns: &COLUMNS,
    lines: |row| row.moves.as_ref().map_or(0, |moves| moves.cpu.names().count().max(1)),
    note: "Moves: the device goes to another address and announces it, or to another access point. verified: until the gateway believes \
           it, or it has joined there; reached: until the first packet of an SA arrives there; medians from the announcement on, with their distribution-free 95 % \
           intervals. missed: packets of SAs that came to the old address meanwhile. said, said bytes: protocol messages until \
           the address was verified, and bytes of their IP packets, means. move µs: CPU time of this machine for that, median.",
};

const COLUMNS: [Column<OfLine>; 9] = [
    column("moves", "moves", "addresses verified, of all moves", |row, line| {
        once(row, line, |moves| format!("{}/{}", moves.succeeded, moves.n).into())
    }),
    column(
        "verified ms",
        "ms",
        "from the announcement of a new address until it was verified: median with its interval",
        |row, line| once(row, line, |moves| moves.verified_ms.map(|delay| delay.median()).into()),
    ),
    column(
        "reached ms",
        "ms",
        "from the announcement until the first packet of an SA arrived at the new address: median with its interval",
        |row, line| once(row, line, |moves| moves.reached_ms.map(|delay| delay.median()).into()),
    ),
    column(
        "missed",
        "packets",
        "packets of SAs that came to the old address meanwhile and were lost, mean",
        |row, line| once(row, line, |moves| moves.missed_packets.into()),
    ),
    column(
        "said",
        "messages",
        "protocol messages until the new address was verified, without retransmissions, mean",
        |row, line| once(row, line, |moves| said(moves, |means| means.messages)),
    ),
    column(
        "said bytes",
        "bytes",
        "bytes of their IP packets, headers and retransmissions included, mean",
        |row, line| once(row, line, |moves| said(moves, |means| means.bytes)),
    ),
    wide(column("said again", "messages", "messages of these that were sent again, mean", |row, line| {
        once(row, line, |moves| said(moves, |means| means.retransmissions))
    })),
    column("node", "", "", |row, line| {
        row.moves.as_ref().and_then(|moves| moves.cpu.names().nth(line)).map_or(Value::Nothing, Into::into)
    }),
    column(
        "move µs",
        "µs",
        "CPU time of this machine for a move: median with its interval",
        |row, line| cpu(row, line).map_or(Value::Nothing, |cpu| cpu.median().times(1e-3).into()),
    ),
];

/// What belongs to all nodes stands in the first line.
fn once(row: &SummaryRow, line: usize, of: fn(&MovesSummary) -> Value) -> Value {
    row.moves.as_ref().filter(|_| line == 0).map_or(Value::Nothing, of)
}

fn said(moves: &MovesSummary, of: fn(&LinkMeans) -> f64) -> Value {
    moves.signalling.as_ref().map(of).into()
}

fn cpu(row: &SummaryRow, line: usize) -> Option<&MoveCpu> {
    row.moves.as_ref()?.cpu.iter().nth(line).map(|(_, cpu)| cpu)
}
