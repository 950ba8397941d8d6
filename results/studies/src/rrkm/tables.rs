//! The paper's tables, and the same for WPA2 and WPA3.

use super::measured::Measured;
use super::{Kind, METHODS, Method, Side, Speed, algorithms, cells, published};
use crate::{Basis, Figure, Line, Table};

/// All of them, in the order of the paper.
pub(super) fn tables(measured: Measured<'_>) -> Vec<Table> {
    let timed = measured.0.supplement.primitives.as_ref().map(algorithms::table);
    let counted = METHODS.map(|method| operations(measured, method));
    let costs = [delays(measured), cycles(measured), frames(measured), bytes(measured)];
    let tables = timed.into_iter().chain(counted).chain(cells::tables(measured.0.supplement)).chain(costs);
    tables.filter(|table| !table.lines.is_empty()).collect()
}

/// Table 4-2 for one method: what each side computes in an authentication.
fn operations(measured: Measured<'_>, method: Method) -> Table {
    let is_printed = Kind::ALL.iter().any(|&kind| published::count(method, Side::Station, kind).is_some());
    let cells = |kind| {
        let of_side = |side| {
            let paper = published::count(method, side, kind).map(Figure::from);
            [Some(measured.count(method, side, kind).map(counted)), is_printed.then_some(paper)]
        };
        Side::ALL.into_iter().flat_map(of_side).flatten().collect::<Vec<_>>()
    };
    let is_there = |cells: &[Option<Figure>]| {
        measured.has(method) && cells.iter().flatten().any(|figure| figure.value > 0.0)
    };
    let lines = Kind::ALL.map(|kind| Line { label: kind.label().to_owned(), cells: cells(kind) });
    let lines = lines.into_iter().filter(|line| is_there(&line.cells)).collect();
    let (number, columns): (_, &[&str]) = match is_printed {
        true => ("Table 4-2", &["AP", "paper", "STA", "paper"]),
        false => ("As in Table 4-2", &["AP", "STA"]),
    };
    let title = format!("{number}: operations of an authentication, {}", method.label);
    assembled(&title, "operations", columns, lines)
}

fn delays(measured: Measured<'_>) -> Table {
    let cells = |method| {
        let of_speed = |speed| [measured.delay_ms(method, speed), measured.computation_ms(method, speed)];
        Speed::ALL.into_iter().flat_map(of_speed).collect()
    };
    let columns = ["mips-125", "computation", "here", "computation"];
    let title =
        "Delay of an authentication, and computation in it: as shipped with mips-125 on both sides, and here";
    of_methods(measured, title, "ms", &columns, cells)
}

fn cycles(measured: Measured<'_>) -> Table {
    let cells = |method| Side::ALL.map(|side| measured.kilocycles(method, side)).to_vec();
    let title = "CPU cycles of an authentication on this machine";
    of_methods(measured, title, "kilocycles", &Side::ALL.map(Side::name), cells)
}

fn frames(measured: Measured<'_>) -> Table {
    let cells = |method| {
        vec![
            measured.on_air(method, |means| means.messages).map(counted),
            measured.on_air(method, |means| means.packets).map(counted),
        ]
    };
    let title = "Frames of an authentication, from the probe request until the station is a member";
    of_methods(measured, title, "frames", &["messages", "frames"], cells)
}

fn bytes(measured: Measured<'_>) -> Table {
    let cells = |method| vec![measured.on_air(method, |means| means.bytes).map(counted)];
    of_methods(measured, "Bytes of an authentication, with all headers of 802.11", "bytes", &["bytes"], cells)
}

pub(super) fn counted(value: f64) -> Figure {
    Figure::of_run(Basis::Measured, value, None)
}

/// A line for every method with a known number.
fn of_methods(
    measured: Measured<'_>,
    title: &str,
    unit: &str,
    columns: &[&str],
    cells: impl Fn(Method) -> Vec<Option<Figure>>,
) -> Table {
    let known = METHODS.into_iter().filter(|&method| measured.has(method));
    let lines = known.map(|method| Line { label: method.label.to_owned(), cells: cells(method) });
    assembled(title, unit, columns, lines.filter(|line| line.cells.iter().any(Option::is_some)).collect())
}

pub(super) fn assembled(title: &str, unit: &str, columns: &[&str], lines: Vec<Line>) -> Table {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Table { title: title.to_owned(), unit: unit.to_owned(), columns, lines }
}

#[cfg(test)]
mod tests {
    use super::super::example::Example;
    use super::*;

    fn values(tables: &[Table], title: &str, label: &str) -> Vec<Option<f64>> {
        let table = tables.iter().find(|table| table.title.contains(title)).unwrap();
        let line = table.lines.iter().find(|line| line.label == label).unwrap();
        assert_eq!(line.cells.len(), table.columns.len(), "{title}");
        line.cells.iter().map(|cell| cell.as_ref().map(|figure| figure.value)).collect()
    }

    #[test]
    fn counts_are_beside_the_papers_and_alone_without_one() {
        let example = Example::as_printed();
        let tables = tables(Measured(&example.material()));
        let operations = |method: &str, label| values(&tables, &format!("authentication, {method}"), label);
        assert_eq!(operations("RRKM", "WEP (RC4)"), [2.0; 4].map(Some));
        assert_eq!(operations("EAP-TLS", "RSA, public key"), [1.0, 1.0, 2.0, 2.0].map(Some));
        assert_eq!(operations("EAP-TLS", "AES"), [Some(2.0), None, Some(2.0), None]);
        assert_eq!(operations("WPA2-PSK", "AES"), [1.0, 1.0].map(Some));
        assert_eq!(values(&tables, "Bytes", "RRKM"), [Some(600.0)]);
        let here = values(&tables, "Delay", "RRKM");
        assert_eq!((here[0], here[2]), (Some(12.0), Some(12.0)));
    }

    #[test]
    fn only_published_numbers_have_a_source() {
        let example = Example::as_printed();
        let lines = tables(Measured(&example.material())).into_iter().flat_map(|table| table.lines);
        let figures = lines.flat_map(|line| line.cells).flatten().collect::<Vec<_>>();
        assert!(figures.iter().all(|figure| figure.source.is_some() == figure.basis.is_published()));
        assert!(figures.iter().filter(|figure| figure.basis.is_published()).count() >= 12);
    }
}
