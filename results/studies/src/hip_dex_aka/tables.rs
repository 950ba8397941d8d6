//! The slides' tables and figures.

use super::measured::Measured;
use super::published::{self, Quantity};
use super::{Access, Architecture, DEX_AKA, EAP_AKA, METHODS, Method, Part, Speed, shares};
use crate::published::Published;
use crate::{Basis, Figure, Line, Table};
use keytoll_analysis::summary::LinkMeans;

/// All of them, in the order of the slides.
pub(super) fn tables(measured: Measured<'_>) -> Vec<Table> {
    let nodes = [("ue", "UE"), ("gw", "GW"), ("aaa", "AAA server")];
    let cycles =
        nodes.map(|(node, role)| cycles(measured, node, role)).into_iter().chain([hss_cycles(measured)]);
    let times = [times(measured), computation(measured)];
    let [shares, delays, budgets] =
        [shares, delays, budgets].map(|table| Access::ALL.map(|at| table(measured, at)));
    let counted = [messages(measured), packets(measured), bytes(measured)];
    let tables = [proportions(measured)].into_iter().chain(cycles).chain(times).chain(shares);
    let tables = tables.chain([shares::table(measured)]);
    let tables = tables.chain([memory(measured)]).chain(delays).chain(budgets).chain(counted);
    tables.filter(|table| !table.lines.is_empty()).collect()
}

/// DEX-AKA's part of EAP-AKA's, in per cent.
pub(super) fn proportion(measured: Measured<'_>, quantity: Quantity) -> Option<Figure> {
    let of = |method| of(measured, method, quantity);
    let (ours, theirs) = (of(DEX_AKA)?, of(EAP_AKA)?);
    let percent = |one: f64, other: f64| 100.0 * one / other;
    let interval = ours.low.zip(ours.high).zip(theirs.low.zip(theirs.high));
    let (low, high) =
        interval.map(|((low, high), (least, most))| (percent(low, most), percent(high, least))).unzip();
    Some(Figure { low, high, ..Figure::of_run(Basis::Measured, percent(ours.value, theirs.value), None) })
}

fn of(measured: Measured<'_>, method: Method, quantity: Quantity) -> Option<Figure> {
    match quantity {
        Quantity::CpuUe => measured.megacycles(method, "ue"),
        Quantity::CpuGw => measured.megacycles(method, "gw"),
        Quantity::MemoryUe => measured.memory_kb(method, "ue"),
        Quantity::MemoryGw => measured.memory_kb(method, "gw"),
        Quantity::Messages => measured.counted_in_all(method, |means| means.messages),
        Quantity::Packets => measured.counted_in_all(method, |means| means.packets),
        Quantity::Bytes => measured.counted_in_all(method, |means| means.bytes),
    }
}

fn proportions(measured: Measured<'_>) -> Table {
    let line = |quantity: Quantity| Line {
        label: quantity.label().to_owned(),
        cells: vec![proportion(measured, quantity), Some(quantity.printed_percent().into())],
    };
    let lines = Quantity::ALL.map(line).into_iter().filter(|line| line.cells[0].is_some());
    let title = "DEX-AKA in proportion to EAP-AKA";
    assembled(title.to_owned(), "%", &["measured", "paper"], lines.collect())
}

fn cycles(measured: Measured<'_>, node: &str, role: &str) -> Table {
    let cells = |method| {
        vec![measured.megacycles(method, node), published::megacycles(method, node).map(Figure::from)]
    };
    let title = format!("CPU cycles of an authentication at the {role}");
    of_methods(measured, title, "Mcycles", &["measured", "paper"], cells)
}

/// Few authentications with vectors in stock ask the HSS, so its median tells nothing.
fn hss_cycles(measured: Measured<'_>) -> Table {
    let cells = |method| vec![measured.mean_megacycles(method, "hss")];
    let title = "CPU cycles of an authentication at the HSS, mean";
    of_methods(measured, title.to_owned(), "Mcycles", &["measured"], cells)
}

fn times(measured: Measured<'_>) -> Table {
    let cells = |method| {
        let nodes = ["ue", "gw", "aaa"].into_iter();
        let of_node =
            |node| [measured.node_ms(method, node), published::node_ms(method, node).map(Figure::from)];
        nodes.flat_map(of_node).collect()
    };
    let columns = ["UE", "paper", "GW", "paper", "AAA", "paper"];
    let title = "Computational times of the nodes, at the testbed clock";
    of_methods(measured, title.to_owned(), "ms", &columns, cells)
}

fn computation(measured: Measured<'_>) -> Table {
    let cells = |method| {
        let ours = Speed::ALL.map(|speed| measured.computation_ms(method, speed));
        let theirs = Access::ALL.map(|access| published::computation_ms(method, access).map(Figure::from));
        ours.into_iter().chain(theirs).collect()
    };
    let columns = ["testbed clock", "fitted", "here", "paper WiFi", "paper HSPA"];
    let title =
        "Computational times: computation in the delay of an authentication (fitted, here: see below)";
    of_methods(measured, title.to_owned(), "ms", &columns, cells)
}

fn shares(measured: Measured<'_>, access: Access) -> Table {
    let title = format!("Proportion of computation in the delay over {}", access.name());
    let published = |method, at| published::share_percent(method, at).map(Figure::from);
    let ours = |method, speed, at| measured.share_percent(method, speed, at);
    by_architecture(measured, &title, "%", access, ours, published)
}

fn delays(measured: Measured<'_>, access: Access) -> Table {
    let title = format!("Delay of an authentication over {}", access.name());
    let published = |method, at| published::delay_ms(method, at).map(Figure::from);
    let ours = |method, speed, at| measured.delay_ms(method, speed, at);
    by_architecture(measured, &title, "ms", access, ours, published)
}

fn budgets(measured: Measured<'_>, access: Access) -> Table {
    let kept = |delay: &Figure| {
        let (value, bound) = published::budget_ms(delay.value);
        Figure { value, bound: Some(bound), low: None, high: None, ..delay.clone() }
    };
    let ours = |method, speed, at| measured.charged_delay_ms(method, speed, at).as_ref().map(kept);
    let theirs = |method, at| published::delay_ms(method, at).map(|delay| kept(&delay.into()));
    let title = format!("The least delay budget of TS 23.203 that the median keeps over {}", access.name());
    by_architecture(measured, &title, "ms", access, ours, theirs)
}

fn memory(measured: Measured<'_>) -> Table {
    let nodes = ["ue", "gw", "aaa", "hss"];
    let cells = |method| {
        let of_node = |node| {
            let ours = [measured.heap_kb(method, node), measured.stack_kb(method, node)];
            let theirs = (node != "hss").then(|| published::memory_kb(method, node).map(Figure::from));
            ours.into_iter().chain(theirs)
        };
        nodes.into_iter().flat_map(of_node).collect()
    };
    let columns = [
        "UE, heap",
        "UE, stack",
        "UE, paper",
        "GW, heap",
        "GW, stack",
        "GW, paper",
        "AAA, heap",
        "AAA, stack",
        "AAA, paper",
        "HSS, heap",
        "HSS, stack",
    ];
    let title = "Peak memory during start and one authentication: heap and stack, the paper's together";
    of_methods(measured, title.to_owned(), "kB", &columns, cells)
}

fn messages(measured: Measured<'_>) -> Table {
    let title = "Number of messages of an authentication, without retransmissions: RAN and backhaul, aggregation and core";
    by_part(measured, title, "messages", |means| means.messages, published::messages)
}

fn packets(measured: Measured<'_>) -> Table {
    let title = "IP packets of an authentication, with fragments and retransmissions";
    by_part(measured, title, "packets", |means| means.packets, published::packets)
}

fn by_part(
    measured: Measured<'_>,
    title: &str,
    unit: &str,
    of: fn(&LinkMeans) -> f64,
    published: fn(Method, Part) -> Option<Published>,
) -> Table {
    let cells = |method| {
        let of_part = |part| [measured.counted(method, part, of), published(method, part).map(Figure::from)];
        Part::ALL.into_iter().flat_map(of_part).collect()
    };
    of_methods(measured, title.to_owned(), unit, &["RAN", "paper", "core", "paper"], cells)
}

fn bytes(measured: Measured<'_>) -> Table {
    let cells = |method| {
        let of = |means: &LinkMeans| means.bytes;
        let parts = Part::ALL.map(|part| measured.counted(method, part, of));
        [measured.counted_in_all(method, of)].into_iter().chain(parts).collect()
    };
    let columns: Vec<&str> = std::iter::once("all").chain(Part::ALL.map(Part::name)).collect();
    let title = "Bytes of an authentication, with all headers from IP on";
    of_methods(measured, title.to_owned(), "bytes", &columns, cells)
}

/// For each method a line for each speed and one for the paper, with a column for each architecture.
fn by_architecture(
    measured: Measured<'_>,
    title: &str,
    unit: &str,
    access: Access,
    ours: impl Fn(Method, Speed, (Access, Architecture)) -> Option<Figure>,
    theirs: impl Fn(Method, (Access, Architecture)) -> Option<Figure>,
) -> Table {
    let at = Architecture::ALL.map(|architecture| (access, architecture));
    let of_method = |method: Method| {
        let of_speed = |speed: Speed| Line {
            label: format!("{}{}", method.label, speed.suffix()),
            cells: at.map(|at| ours(method, speed, at)).to_vec(),
        };
        let paper = Line {
            label: format!("{}, paper", method.label),
            cells: at.map(|at| theirs(method, at)).to_vec(),
        };
        Speed::ALL.map(of_speed).into_iter().chain([paper])
    };
    let lines = METHODS.into_iter().filter(|&method| measured.has(method)).flat_map(of_method);
    let lines = lines.filter(|line| line.cells.iter().any(Option::is_some)).collect();
    let title = format!("{title} (fitted, here: see below)");
    assembled(title, unit, &Architecture::ALL.map(Architecture::name), lines)
}

/// A line for every method with a known number.
fn of_methods(
    measured: Measured<'_>,
    title: String,
    unit: &str,
    columns: &[&str],
    cells: impl Fn(Method) -> Vec<Option<Figure>>,
) -> Table {
    let known = METHODS.into_iter().filter(|&method| measured.has(method));
    let lines = known.map(|method| Line { label: method.label.to_owned(), cells: cells(method) });
    assembled(title, unit, columns, lines.filter(|line| line.cells.iter().any(Option::is_some)).collect())
}

fn assembled(title: String, unit: &str, columns: &[&str], lines: Vec<Line>) -> Table {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Table { title, unit: unit.to_owned(), columns, lines }
}

#[cfg(test)]
mod tests {
    use super::super::example::Example;
    use super::*;
    use crate::Bound;

    fn table<'a>(tables: &'a [Table], title: &str) -> &'a Table {
        tables.iter().find(|table| table.title.contains(title)).unwrap_or_else(|| panic!("no {title}"))
    }

    fn cells<'a>(tables: &'a [Table], title: &str, label: &str) -> Vec<Option<&'a Figure>> {
        let table = table(tables, title);
        let line =
            table.lines.iter().find(|line| line.label == label).unwrap_or_else(|| panic!("no {label}"));
        assert_eq!(line.cells.len(), table.columns.len());
        line.cells.iter().map(Option::as_ref).collect()
    }

    fn values(tables: &[Table], title: &str, label: &str) -> Vec<Option<f64>> {
        let rounded = |figure: &Figure| (figure.value * 1e6).round() / 1e6;
        cells(tables, title, label).into_iter().map(|cell| cell.map(rounded)).collect()
    }

    #[test]
    fn measured_is_beside_published() {
        let example = Example::as_printed();
        let tables = tables(Measured(&example.material()));
        let titles = tables.iter().filter(|table| table.lines.is_empty()).map(|table| &table.title);
        assert_eq!(titles.collect::<Vec<_>>(), [""; 0]);
        assert_eq!(values(&tables, "in proportion", "CPU cycles, GW"), [Some(2.0), Some(2.0)]);
        assert_eq!(values(&tables, "at the UE", "EAP-AKA"), [Some(248.0), Some(248.0)]);
        let derived = values(&tables, "Delay of an authentication over WiFi", "DEX-AKA, paper");
        assert_eq!(derived, [290.0, 220.0, 220.0, 100.0].map(Some));
        assert_eq!(values(&tables, "Delay of an authentication over WiFi", "DEX-AKA, fitted"), derived);
        let printed = values(&tables, "Proportion of computation in the delay over HSPA", "PSK, paper");
        assert_eq!(printed, [Some(33.3), Some(37.5), Some(38.8), None]);
        assert_eq!(values(&tables, "Number of messages", "EAP-AKA"), [10.0, 10.0, 4.0, 4.0].map(Some));
        assert_eq!(values(&tables, "IP packets", "DEX-AKA"), [6.0, 6.0, 2.0, 3.0].map(Some));
        assert_eq!(values(&tables, "Number of messages", "PSK"), [Some(4.0), Some(4.0), None, None]);
        let peaks = values(&tables, "Peak memory", "EAP-AKA");
        assert_eq!(peaks[..6], [108.0, 10.0, 117.8, 111.0, 10.0, 121.2].map(Some));
    }

    #[test]
    fn budgets_are_bounds() {
        let example = Example::as_printed();
        let tables = tables(Measured(&example.material()));
        let bounds = |label: &str| {
            let cells = cells(&tables, "budget of TS 23.203 that the median keeps over WiFi", label);
            cells
                .into_iter()
                .map(|cell| cell.map(|figure| (figure.value, figure.bound.unwrap())))
                .collect::<Vec<_>>()
        };
        let at_most = |ms| Some((ms, Bound::AtMost));
        assert_eq!(bounds("DEX, fitted"), [150.0, 100.0, 100.0, 50.0].map(at_most));
        assert_eq!(bounds("DEX, paper"), bounds("DEX, fitted"));
        assert_eq!(bounds("EAP-AKA, here")[0], Some((300.0, Bound::Above)));
    }

    #[test]
    fn only_published_numbers_have_a_source() {
        let example = Example::as_printed();
        let lines = tables(Measured(&example.material())).into_iter().flat_map(|table| table.lines);
        let figures = lines.flat_map(|line| line.cells).flatten().collect::<Vec<_>>();
        assert!(figures.iter().all(|figure| figure.source.is_some() == figure.basis.is_published()));
        assert!(figures.iter().filter(|figure| figure.basis.is_published()).count() > 100);
    }
}
