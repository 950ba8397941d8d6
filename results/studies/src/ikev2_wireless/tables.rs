//! The paper's figures 4 to 10 as tables.

use super::measured::Measured;
use super::{Place, Speeds, VARIANTS, Variant, published};
use crate::published::Published;
use crate::{Basis, Figure, Line, Table};
use keytoll_analysis::summary::{Delay, LinkMeans};

/// All of them, in the paper's order.
pub(super) fn tables(speeds: &Speeds<'_>) -> Vec<Table> {
    let measured = speeds.clocks;
    let delays = [("Figure 4", Place::Umts), ("Figure 5", Place::Wifi)];
    let delays = delays.map(|(figure, place)| delays_of(speeds, figure, place));
    let cycles = [
        ("Figure 8", "initiator", "ue"),
        ("Figure 9", "responder", "gw"),
        ("Figure 10", "AAA server", "aaa"),
    ];
    let cycles = cycles.map(|(figure, role, node)| cycles_of(measured, figure, role, node));
    delays.into_iter().chain([messages(measured), bytes(measured)]).chain(cycles).collect()
}

/// The paper's statistic, the mean of pings with its symmetric interval, and medians, at the testbed clock and on fitted CPUs.
fn delays_of(speeds: &Speeds<'_>, figure: &str, place: Place) -> Table {
    let cells = |variant: Variant| {
        let ping = |measured: Measured<'_>| measured.ping(variant, place);
        let usable = speeds.clocks.row(variant, place).and_then(|row| row.delay_ms);
        let fitted = speeds.fitted().and_then(ping);
        let clocks = ping(speeds.clocks);
        let median = |delay: Delay| Figure::of_median(delay.median_of_blocks());
        vec![
            clocks.map(mean),
            clocks.map(median),
            usable.map(median),
            fitted.map(mean),
            fitted.map(median),
            published::delay_ms(variant, place).map(Figure::from),
        ]
    };
    let columns = ["mean", "median", "SA, median", "mean, fitted", "median, fitted", "paper"];
    table(
        format!("{figure}: ping that an authentication delays, over {}", place.name()),
        "ms",
        &columns,
        cells,
    )
}

/// A mean with the symmetric interval of Student's t.
fn mean(delay: Delay) -> Figure {
    Figure { low: delay.ci95_low, high: delay.ci95_high, ..Figure::of_run(Basis::Measured, delay.mean, None) }
}

fn messages(measured: Measured<'_>) -> Table {
    let title = "Figure 6: messages of an authentication, without retransmissions";
    links(measured, title, "messages", |means| means.messages, published::messages)
}

fn bytes(measured: Measured<'_>) -> Table {
    let title = "Figure 7: bytes of an authentication, IP headers included";
    links(measured, title, "bytes", |means| means.bytes, published::bytes)
}

/// For each link in use, the measured and the published numbers.
fn links(
    measured: Measured<'_>,
    title: &str,
    unit: &str,
    of: fn(&LinkMeans) -> f64,
    published: fn(Variant, &str) -> Option<Published>,
) -> Table {
    let used = |link: &&str| measured.0.rows.iter().any(|row| row.links.get(link).is_some());
    let links: Vec<&str> = ["ue-gw", "gw-aaa", "aaa-hss"].into_iter().filter(used).collect();
    let in_paper = |link: &str| link != "aaa-hss";
    let columns: Vec<&str> =
        links.iter().flat_map(|&link| [Some(link), in_paper(link).then_some("paper")]).flatten().collect();
    let cells = |variant: Variant| {
        let of_link = |&link: &&str| {
            let theirs = published(variant, link).map(Figure::from);
            [Some(measured.link(variant, link, of)), in_paper(link).then_some(theirs)]
        };
        links.iter().flat_map(of_link).flatten().collect()
    };
    table(title.to_owned(), unit, &columns, cells)
}

fn cycles_of(measured: Measured<'_>, figure: &str, role: &str, node: &str) -> Table {
    let cells = |variant: Variant| {
        vec![
            measured.megacycles(variant, node),
            measured.sampled_megacycles(variant, node),
            published::megacycles(variant, node).map(Figure::from),
        ]
    };
    let title = format!("{figure}: cycles of an authentication at the {role} ({node})");
    table(title, "Mcycles", &["measured", "estimate by (1)", "paper"], cells)
}

/// A line for every variant with known numbers.
fn table(
    title: String,
    unit: &str,
    columns: &[&str],
    cells: impl Fn(Variant) -> Vec<Option<Figure>>,
) -> Table {
    let lines =
        VARIANTS.iter().map(|&variant| Line { label: variant.label.to_owned(), cells: cells(variant) });
    Table {
        title,
        unit: unit.to_owned(),
        columns: columns.iter().map(|&column| column.to_owned()).collect(),
        lines: lines.filter(|line| line.cells.iter().any(Option::is_some)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{Cell, Example};
    use super::*;

    fn tables(cells: &[Cell]) -> Vec<Table> {
        super::tables(&Example::of(cells).speeds())
    }

    fn cells(table: &Table, label: &str) -> Vec<Option<f64>> {
        let line = table.lines.iter().find(|line| line.label == label).unwrap();
        assert_eq!(line.cells.len(), table.columns.len());
        line.cells.iter().map(|cell| cell.as_ref().map(|figure| figure.value)).collect()
    }

    #[test]
    fn measured_is_beside_published() {
        let tables = tables(&[
            Cell("PSK", 4.0, [25.0, 700.0], [10.0, 11.0, 0.0]),
            Cell("TLS-4-4", 24.0, [170.0, 7900.0], [95.0, 26.0, 120.0]),
        ]);
        // Means are 1 ms above medians, and a SA is usable 1 ms before the echo reply.
        let umts = [7901.0, 7900.0, 7899.0, 7901.0, 7900.0, 6000.0];
        assert_eq!(cells(&tables[0], "TLS-4-4"), umts.map(Some));
        assert_eq!(cells(&tables[1], "PSK"), [26.0, 25.0, 24.0, 26.0, 25.0, 25.0].map(Some));
        assert_eq!(tables[2].columns, ["ue-gw", "paper", "gw-aaa", "paper"]);
        assert_eq!(cells(&tables[2], "PSK"), [Some(4.0), Some(4.0), None, None]);
        assert_eq!(cells(&tables[2], "TLS-4-4"), [Some(24.0), Some(26.0), Some(18.0), Some(20.0)]);
        assert_eq!(cells(&tables[2], "PEAP-2-MSCHAPv2"), [None, Some(24.0), None, Some(18.0)]);
        assert_eq!(cells(&tables[6], "TLS-4-4"), [Some(120.0), None, Some(100.0)]);
    }

    /// §IV-B: "the mean and the 95% two-sided symmetric confidence intervals".
    #[test]
    fn the_papers_statistic_is_the_mean_with_a_symmetric_interval() {
        let tables = tables(&[Cell("PSK", 4.0, [25.0, 700.0], [10.0, 11.0, 0.0])]);
        let mean = tables[1].lines[0].cells[0].as_ref().unwrap();
        assert_eq!((mean.value, mean.low, mean.high), (26.0, Some(24.0), Some(28.0)));
    }

    #[test]
    fn only_published_numbers_have_a_source() {
        let figures = tables(&[Cell("PSK", 4.0, [25.0, 700.0], [10.0, 11.0, 0.0])]);
        let lines = figures.into_iter().flat_map(|table| table.lines);
        let figures = lines.flat_map(|line| line.cells).flatten().collect::<Vec<_>>();
        assert!(figures.iter().all(|figure| figure.source.is_some() == figure.basis.is_published()));
        assert!(figures.iter().filter(|figure| figure.basis.is_published()).count() > 20);
    }

    /// The column of figure 6 as protocols.md §2.2 has it.
    #[test]
    fn the_arithmetic_of_the_messages() {
        let counts = |variant| {
            ["ue-gw", "gw-aaa"]
                .map(|link| published::messages(variant, link).map_or(0.0, |count| count.value))
        };
        let wanted = [
            [4.0, 0.0],
            [10.0, 4.0],
            [12.0, 6.0],
            [18.0, 12.0],
            [22.0, 16.0],
            [18.0, 12.0],
            [26.0, 20.0],
            [24.0, 18.0],
            [28.0, 22.0],
        ];
        assert_eq!(VARIANTS.map(counts), wanted);
    }
}
