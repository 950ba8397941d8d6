//! The paper's figures 4 to 10 as tables.

use super::measured::Measured;
use super::{Place, VARIANTS, Variant, published};
use crate::study::figure::Published;
use crate::study::{Basis, Figure, Line, Table};
use crate::summary::{Delay, LinkMeans, Summary};

/// All of them, in the paper's order.
pub(super) fn tables(summary: &Summary) -> Vec<Table> {
    let measured = Measured(summary);
    let delays = [("Figure 4", Place::Umts), ("Figure 5", Place::Wifi)];
    let delays = delays.map(|(figure, place)| delays_of(measured, figure, place));
    let cycles = [
        ("Figure 8", "initiator", "ue"),
        ("Figure 9", "responder", "gw"),
        ("Figure 10", "AAA server", "aaa"),
    ];
    let cycles = cycles.map(|(figure, role, node)| cycles_of(measured, figure, role, node));
    delays.into_iter().chain([messages(measured), bytes(measured)]).chain(cycles).collect()
}

fn delays_of(measured: Measured<'_>, figure: &str, place: Place) -> Table {
    let cells = |variant: Variant| {
        let delay = measured.row(variant, place).and_then(|row| row.delay_ms);
        let of_run = |value: f64| Figure::of_run(Basis::Measured, value, None);
        vec![
            delay.map(|delay: Delay| Figure::of_run(Basis::Measured, delay.mean, delay.half_width())),
            delay.map(|delay| of_run(delay.p50)),
            delay.map(|delay| of_run(delay.p95)),
            published::delay_ms(variant, place).map(Figure::from),
        ]
    };
    table(
        format!("{figure}: delay of an authentication over {}", place.name()),
        "ms",
        &["mean ± 95 %", "median", "p95", "paper"],
        cells,
    )
}

fn messages(measured: Measured<'_>) -> Table {
    let title = "Figure 6: messages of an authentication, without retransmissions";
    links(measured, title, "messages", |means| means.messages, published::messages)
}

fn bytes(measured: Measured<'_>) -> Table {
    let title = "Figure 7: bytes of an authentication, IP headers included";
    links(measured, title, "bytes", |means| means.bytes, published::bytes)
}

/// For each link that was used, what was measured and what the paper has to say.
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
    table(title, "Mcycles", &["measured", "equation (1)", "paper"], cells)
}

/// A line for every variant of which something is known.
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
