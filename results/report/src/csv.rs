//! The CSV files. Units are in the names of the columns; an unknown value is an empty cell, and so is a link without packets.
//!
//! Every file begins with the same columns, which name the row of the run. Columns are only ever added, at the end.

mod documentation;

use std::io::{self, Write};
use std::iter;

use keytoll_analysis::census::{NodePoint, Point};
use keytoll_analysis::directory::{Lines, PIECE_BYTES, Population};
use keytoll_analysis::metrics::Sample;
use keytoll_analysis::trace::manifest::ManifestRow;
use keytoll_analysis::trace::{Link, Node};
use keytoll_analysis::{Findings, RowFindings};

use crate::columns::authentication::{BLOCK, IDENTITY, OfSample, SAMPLE, SAMPLE_ADDED};
use crate::columns::field::Field;
pub use crate::columns::field::Holds;
use crate::columns::kinds::{MESSAGES, OPERATIONS};
use crate::columns::population::{
    OfNode, POINT, POINT_ADDED, POINT_GATEWAY, POINT_NODE, POINT_NODE_ADDED, SERVING,
};
use crate::columns::{Value, links, moves, nodes, traffic};
use documentation::documented;
pub use documentation::{
    CsvFile, FILES, FileColumn, gateway_columns, markdown, message_columns, operation_columns,
    sample_columns, series_columns,
};

/// The links that have columns of their own in `samples.csv`.
const LINKS: [Link; 6] = [
    Link(Node::Ue, Node::Gw),
    Link(Node::Gw, Node::Aaa),
    Link(Node::Aaa, Node::Hss),
    Link(Node::Gw, Node::Hss),
    Link(Node::Ue, Node::Ap),
    Link(Node::Ap, Node::Aaa),
];

/// The nodes, in the order of their columns in `samples.csv`: new ones come last.
const NODES: [Node; 5] = [Node::Ue, Node::Gw, Node::Aaa, Node::Hss, Node::Ap];

/// Columns of `samples.csv` about one subject.
#[derive(Debug)]
enum Part {
    Sample(&'static [Field<OfSample>]),
    Link(Link),
    Node(Node),
    Traffic,
    Move,
}

/// All of them but those that name the row, in order.
fn parts() -> impl Iterator<Item = Part> {
    let links = LINKS.into_iter().map(Part::Link);
    let nodes = NODES.into_iter().map(Part::Node);
    let first = iter::once(Part::Sample(&SAMPLE));
    let added = [Part::Traffic, Part::Sample(&SAMPLE_ADDED), Part::Move, Part::Sample(&BLOCK)];
    first.chain(links).chain(nodes).chain(added)
}

impl Part {
    /// The documentation of its columns.
    fn documented(&self) -> Vec<FileColumn> {
        match self {
            Self::Sample(columns) => documented("", columns),
            Self::Link(link) => documented(&format!("{}_", link.name().replace('-', "_")), &links::LINK),
            Self::Node(node) => documented(&format!("{}_", node.name()), &nodes::NODE),
            Self::Traffic => documented("", &traffic::SAMPLE),
            Self::Move => documented("", &moves::SAMPLE),
        }
    }

    /// Appends the cells of an authentication.
    fn write(&self, sample: &Sample, line: &mut Line) {
        match self {
            Self::Sample(columns) => line.extend(columns, Some(sample), |of, sample| of(sample)),
            Self::Link(link) => line.extend(&links::LINK, sample.links.get(link), |of, count| of(count)),
            Self::Node(node) => line.extend(&nodes::NODE, sample.nodes.get(node), |of, cost| of(cost)),
            Self::Traffic => line.extend(&traffic::SAMPLE, sample.traffic.as_ref(), |of, it| of(it)),
            Self::Move => line.extend(&moves::SAMPLE, sample.moved.as_ref(), |of, it| of(it)),
        }
    }
}

fn cells<Of: Copy>(fields: &[Field<Of>], value: impl Fn(Of) -> Value) -> Vec<Value> {
    let cell = |field: &Field<Of>| {
        let value = value(field.of);
        debug_assert!(
            field.holds.takes(&value.written()),
            "`{}` holds {:?}: {value:?}",
            field.name,
            field.holds
        );
        value
    };
    fields.iter().map(cell).collect()
}

/// A line that is written again and again: of millions of cells none is a text of its own.
#[derive(Debug, Default)]
struct Line {
    cells: csv::ByteRecord,
    cell: String,
}

impl Line {
    fn push<Of>(&mut self, field: &Field<Of>, value: &Value) {
        self.cell.clear();
        value.write(&mut self.cell);
        debug_assert!(field.holds.takes(&self.cell), "`{}` holds {:?}: {value:?}", field.name, field.holds);
        self.cells.push_field(self.cell.as_bytes());
    }

    /// Appends the cells of what is told about; empty ones if it is not there.
    fn extend<Of: Copy, About: Copy>(
        &mut self,
        fields: &[Field<Of>],
        about: Option<About>,
        value: impl Fn(Of, About) -> Value,
    ) {
        for field in fields {
            match about {
                Some(about) => self.push(field, &value(field.of, about)),
                None => self.cells.push_field(&[]),
            }
        }
    }
}

/// The names of the columns of `samples.csv`.
///
/// # Errors
/// When they cannot be written.
pub fn sample_names(out: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(sample_columns().iter().map(|column| &column.name))?;
    csv.flush()
}

/// `samples.csv`: a line for each authentication of a row, in order of their conclusion.
#[derive(Debug)]
pub struct Samples<W: Write> {
    csv: csv::Writer<W>,
    parts: Vec<Part>,
    /// Begins with the cells that name the row.
    line: Line,
}

impl<W: Write> Samples<W> {
    /// No line yet.
    pub fn new(row: &ManifestRow, out: W) -> Self {
        let csv = csv::WriterBuilder::new().buffer_capacity(PIECE_BYTES).from_writer(out);
        let mut line = Line::default();
        line.extend(&IDENTITY, Some(row), |of, row| of(row));
        Self { csv, parts: parts().collect(), line }
    }
}

impl<W: Write> Lines for Samples<W> {
    fn write(&mut self, sample: &Sample) -> io::Result<()> {
        self.line.cells.truncate(IDENTITY.len());
        self.parts.iter().for_each(|part| part.write(sample, &mut self.line));
        Ok(self.csv.write_byte_record(&self.line.cells)?)
    }

    fn finish(mut self) -> io::Result<()> {
        self.csv.flush()
    }
}

/// `operations.csv`: a line for each operation of a row of the run, summed over its authentications.
///
/// # Errors
/// When it cannot be written.
pub fn operations(findings: &Findings, out: impl Write) -> io::Result<()> {
    file(findings, &operation_columns(), out, |row| {
        let operations = row.tally.operations.iter();
        operations.map(|operation| cells(&OPERATIONS, |of| of(row, operation))).collect()
    })
}

/// `messages.csv`: a line for each kind of message, in order of first appearance, summed over the authentications.
///
/// # Errors
/// When it cannot be written.
pub fn messages(findings: &Findings, out: impl Write) -> io::Result<()> {
    file(findings, &message_columns(), out, |row| {
        let kinds = (1..).zip(row.tally.messages.kinds());
        kinds.map(|(order, kind)| cells(&MESSAGES, |of| of(row, order, kind))).collect()
    })
}

/// `series.csv`: a line for each second of each population.
///
/// # Errors
/// When it cannot be written.
pub fn series(findings: &Findings, out: impl Write) -> io::Result<()> {
    of_seconds(findings, &series_columns(), out, |row, point| vec![second(row, point)])
}

/// The cells of a second.
fn second(row: &ManifestRow, point: &Point) -> Vec<Value> {
    let serving = SERVING.map(|node| point.node(node));
    let of_nodes = |columns: &'static [Field<OfNode>]| {
        let of_node =
            |node: &Option<NodePoint>| cells(columns, |of| node.as_ref().map_or(Value::Nothing, of));
        serving.iter().flat_map(of_node).collect::<Vec<_>>()
    };
    let parts = [
        cells(&IDENTITY, |of| of(row)),
        cells(&POINT, |of| of(point)),
        of_nodes(&POINT_NODE),
        cells(&POINT_ADDED, |of| of(point)),
        of_nodes(&POINT_NODE_ADDED),
    ];
    parts.concat()
}

/// Whether a population has several gateways.
pub fn has_gateways(findings: &Findings) -> bool {
    let mut points = findings.populations.iter().flat_map(|population| &population.account.points);
    points.any(|point| point.several().next().is_some())
}

/// `gateways.csv`: a line for each second of each of several gateways.
///
/// # Errors
/// When it cannot be written.
pub fn gateways(findings: &Findings, out: impl Write) -> io::Result<()> {
    of_seconds(findings, &gateway_columns(), out, |row, point| {
        let [start, ..] = &POINT;
        let of_gateway = |node: &NodePoint| {
            let identity = cells(&IDENTITY, |of| of(row)).into_iter().chain([(start.of)(point)]);
            let parts = [&POINT_GATEWAY[..], &POINT_NODE, &POINT_NODE_ADDED];
            identity.chain(parts.into_iter().flat_map(|columns| cells(columns, |of| of(node)))).collect()
        };
        point.several().map(of_gateway).collect()
    })
}

/// Writes lines of cells for each second of each population.
fn of_seconds(
    findings: &Findings,
    columns: &[FileColumn],
    out: impl Write,
    lines_of: impl Fn(&ManifestRow, &Point) -> Vec<Vec<Value>>,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(columns.iter().map(|column| &column.name))?;
    for Population { row, account } in &findings.populations {
        for line in account.points.iter().flat_map(|point| lines_of(row, point)) {
            csv.write_record(line.iter().map(Value::written))?;
        }
    }
    csv.flush()
}

fn file(
    findings: &Findings,
    columns: &[FileColumn],
    out: impl Write,
    lines_of: impl Fn(&RowFindings) -> Vec<Vec<Value>>,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(columns.iter().map(|column| &column.name))?;
    for row in &findings.rows {
        for line in lines_of(row) {
            let identity = cells(&IDENTITY, |of| of(&row.row));
            csv.write_record(identity.iter().chain(&line).map(Value::written))?;
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
            sample_names(&mut *out).unwrap();
            let mut csv = Samples::new(&rows[0], out);
            samples[0].kept.iter().for_each(|sample| csv.write(sample).unwrap());
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
