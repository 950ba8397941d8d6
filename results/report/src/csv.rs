//! The long tables. Units are in the names of the columns; what is not known is an empty cell, never a zero.
//!
//! Every table begins with the same columns, which name the row of the run. Columns are only ever added, at the end.

mod columns;

use std::io::{self, Write};

use keytoll_analysis::metrics::{LinkCount, NodeCost, Sample, Split, Traffic};
use keytoll_analysis::trace::manifest::ManifestRow;
use keytoll_analysis::trace::{Link, Node};
use keytoll_analysis::{Findings, RowFindings};

use columns::Column;
pub use columns::markdown;

/// The links that have columns of their own in `samples.csv`.
const LINKS: [Link; 6] = [
    Link(Node::Ue, Node::Gw),
    Link(Node::Gw, Node::Aaa),
    Link(Node::Aaa, Node::Hss),
    Link(Node::Gw, Node::Hss),
    Link(Node::Ue, Node::Ap),
    Link(Node::Aaa, Node::Ap),
];

fn identity(row: &ManifestRow) -> [String; columns::IDENTITY.len()] {
    [&row.method, &row.variant, &row.network, &row.topology, &row.world, &row.crypto].map(Clone::clone)
}

/// `samples.csv`: a row per authentication, written as they come.
#[derive(Debug)]
pub struct Samples<W: Write>(csv::Writer<W>);

impl<W: Write> Samples<W> {
    /// Writes the names of the columns.
    pub fn new(out: W) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(sample_columns())?;
        Ok(Self(csv))
    }

    /// Writes one authentication.
    pub fn write(&mut self, row: &ManifestRow, sample: &Sample) -> io::Result<()> {
        let links = LINKS.iter().flat_map(|link| link_cells(sample.links.get(link)));
        let nodes = Node::ALL.iter().flat_map(|node| node_cells(sample.nodes.get(node)));
        let traffic = traffic_cells(sample.traffic.as_ref());
        let cells = identity(row).into_iter().chain(sample_cells(sample)).chain(links);
        let cells = cells.chain(nodes).chain(traffic);
        Ok(self.0.write_record(cells)?)
    }

    /// Flushes.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn sample_columns() -> Vec<String> {
    let links = LINKS.iter().flat_map(|link| {
        let before = format!("{}_", link.name().replace('-', "_"));
        columns::names(&before, &columns::LINK).collect::<Vec<_>>()
    });
    let nodes = Node::ALL.iter().flat_map(|node| {
        let before = format!("{}_", node.name());
        columns::names(&before, &columns::NODE).collect::<Vec<_>>()
    });
    let own = columns::names("", &columns::IDENTITY).chain(columns::names("", &columns::SAMPLE));
    own.chain(links).chain(nodes).chain(columns::names("", &columns::TRAFFIC)).collect()
}

fn sample_cells(sample: &Sample) -> [String; columns::SAMPLE.len()] {
    let split = sample.split.as_ref();
    let total = &sample.total;
    [
        sample.sample.to_string(),
        sample.triggered_at_ns.to_string(),
        sample.outcome.name().to_owned(),
        sample.outcome.failure().unwrap_or_default().to_owned(),
        known(sample.delay_ns),
        known(sample.failed_after_ns),
        known(sample.first_packet_ns),
        known(split.map(|split| split.network_ns)),
        known(split.map(Split::computation_total_ns)),
        known(split.map(|split| split.waiting_ns)),
        total.messages.to_string(),
        total.packets.to_string(),
        total.bytes.to_string(),
        total.retransmissions.to_string(),
        total.lost_packets.to_string(),
        sample.after.messages.to_string(),
        sample.after.packets.to_string(),
        sample.after.bytes.to_string(),
        sample.discards.to_string(),
        sample.charged.to_string(),
        sample.disturbed.to_string(),
    ]
}

fn link_cells(count: Option<&LinkCount>) -> [String; columns::LINK.len()] {
    [
        known(count.map(|count| count.messages)),
        known(count.map(|count| count.packets)),
        known(count.map(|count| count.bytes)),
        known(count.map(|count| count.retransmissions)),
    ]
}

fn node_cells(cost: Option<&NodeCost>) -> [String; columns::NODE.len()] {
    [
        known(cost.map(|cost| cost.cpu_ns)),
        known(cost.and_then(|cost| cost.crypto_ns)),
        known(cost.and_then(|cost| cost.heap_peak_bytes)),
        known(cost.and_then(|cost| cost.idle_sa_bytes)),
    ]
}

fn traffic_cells(traffic: Option<&Traffic>) -> [String; columns::TRAFFIC.len()] {
    let goodput =
        |node| known(traffic.and_then(|traffic| traffic.goodput_bits_per_s(node)).map(|bits| bits as u64));
    [
        goodput(Node::Gw),
        goodput(Node::Ue),
        known(traffic.map(Traffic::sent)),
        known(traffic.map(Traffic::repeated)),
        known(traffic.map(Traffic::lost)),
        known(traffic.map(Traffic::longest_gap_ns)),
        known(traffic.map(|traffic| traffic.rekeys)),
    ]
}

fn known(value: Option<u64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// `operations.csv`: a row per operation of a row of the run, summed over its authentications.
pub fn operations(findings: &Findings, out: impl Write) -> io::Result<()> {
    table(findings, &columns::OPERATIONS, out, |row| {
        let cells = row.tally.operations.iter().map(|operation| {
            vec![
                operation.node.name().to_owned(),
                operation.phase.to_string(),
                operation.operation.to_string(),
                operation.algorithm.to_string(),
                operation.count.to_string(),
                operation.ns.to_string(),
                operation.bytes.to_string(),
                row.tally.n.to_string(),
            ]
        });
        cells.collect()
    })
}

/// `messages.csv`: a row per kind of message, in order of first appearance, summed over the authentications.
pub fn messages(findings: &Findings, out: impl Write) -> io::Result<()> {
    table(findings, &columns::MESSAGES, out, |row| {
        let cells = row.tally.messages.kinds().iter().enumerate().map(|(order, kind)| {
            let to = kind.to.map(Node::name).unwrap_or_default();
            vec![
                (order + 1).to_string(),
                kind.name(),
                kind.payloads(),
                format!("{}>{to}", kind.from.name()),
                kind.from.name().to_owned(),
                to.to_owned(),
                kind.count.to_string(),
                kind.bytes_mean().map(|bytes| format!("{bytes:.1}")).unwrap_or_default(),
                kind.retransmissions.to_string(),
                kind.part.name().to_owned(),
                row.tally.n.to_string(),
            ]
        });
        cells.collect()
    })
}

fn table(
    findings: &Findings,
    columns: &[Column],
    out: impl Write,
    cells_of: impl Fn(&RowFindings) -> Vec<Vec<String>>,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(columns::IDENTITY.iter().chain(columns).map(|column| column.name))?;
    for row in &findings.rows {
        for cells in cells_of(row) {
            csv.write_record(identity(&row.row).into_iter().chain(cells))?;
        }
    }
    csv.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn operations_of_an_example() {
        insta::assert_snapshot!(written(|out| operations(&example::findings(), out).unwrap()));
    }

    #[test]
    fn messages_of_an_example() {
        insta::assert_snapshot!(written(|out| messages(&example::findings(), out).unwrap()));
    }

    #[test]
    fn samples_of_an_example() {
        let (rows, samples) = example::measured();
        let text = written(|out| {
            let mut csv = Samples::new(out).unwrap();
            for (row, samples) in rows.iter().zip(&samples).take(1) {
                samples.kept.iter().for_each(|sample| csv.write(row, sample).unwrap());
            }
            csv.finish().unwrap();
        });
        // One column a line: the names are an interface.
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let columns = reader.headers().unwrap().clone();
        let rows: Vec<_> = reader.records().map(|row| row.unwrap()).collect();
        let lines = columns.iter().enumerate().map(|(place, column)| {
            let cells: Vec<_> = rows.iter().map(|row| &row[place]).collect();
            format!("{column}: {}", cells.join(" | ")).trim_end().to_owned()
        });
        insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
    }
}
