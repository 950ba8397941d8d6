//! Cores, capacity and times from the costs of an authentication, beside those that follow from the paper's, and beside the simulator.

use keytoll_analysis::simulation::{Side, Simulation};

use super::sized::{Server, Sized, cores, followed, rate_per_s};
use super::{CLOCK_HZ, LOAD};
use crate::ikev2_wireless::{VARIANTS, Variant};
use crate::published::Published;
use crate::{Basis, Figure, Line, Table};

/// All of them.
pub(super) fn tables(sized: &Sized<'_>) -> Vec<Table> {
    let all = [busy(sized), needed(sized), capacity(sized), times(sized), utilisation(sized), delays(sized)];
    all.into_iter().filter(|table| !table.lines.is_empty()).collect()
}

const RATE: &str = "the printed cycles (§IV-C) at 3 GHz and this rate";
const CLOCK: &str = "the printed cycles (§IV-C) at 3 GHz";

/// What was computed of this run.
fn computed(value: f64) -> Figure {
    Figure::of_run(Basis::Estimated, value, None)
}

fn measured(value: f64) -> Figure {
    Figure::of_run(Basis::Measured, value, None)
}

fn busy(sized: &Sized<'_>) -> Table {
    let theirs = |variant, server| followed(variant, server, |work_s| rate_per_s() * work_s, RATE);
    let title = format!("Required capacity {}: busy cores", asked());
    by_server(title, "cores", |variant, server| Some(sized.node(variant, server)?.busy_cores), theirs)
}

fn needed(sized: &Sized<'_>) -> Table {
    let title = format!("Cores {}, busy at most 80 %", asked());
    let theirs = |variant, server| followed(variant, server, cores, RATE);
    by_server(title, "cores", |variant, server| Some(f64::from(sized.node(variant, server)?.cores)), theirs)
}

fn asked() -> String {
    format!(
        "for {} devices that re-authenticate every {} s, {:.1} a second",
        LOAD.devices_at_once,
        LOAD.reauthenticate_s,
        rate_per_s()
    )
}

fn capacity(sized: &Sized<'_>) -> Table {
    let per_s = |variant, server| Some(1e6 / sized.node(variant, server)?.work_per_authentication_us);
    let title = format!("Authentications a second that keep a core of {} GHz busy", CLOCK_HZ / 1e9);
    by_server(title, "1/s", per_s, |variant, server| followed(variant, server, f64::recip, CLOCK))
}

/// A column for each server, the AAA server's with the paper's beside it.
fn by_server(
    title: String,
    unit: &str,
    ours: impl Fn(Variant, Server) -> Option<f64>,
    theirs: impl Fn(Variant, Server) -> Option<Published>,
) -> Table {
    let cells = |variant: Variant| {
        let of_run = Server::ALL.map(|server| ours(variant, server).map(computed));
        of_run.into_iter().chain([theirs(variant, Server::Aaa).map(Figure::from)]).collect()
    };
    let columns = Server::ALL.map(Server::name).into_iter().chain(["paper"]);
    table(title, unit, columns.collect(), cells)
}

/// "Dividing the cost by f_CPU" (§IV-C), and what was in the delay.
fn times(sized: &Sized<'_>) -> Table {
    let nodes = ["ue", "gw", "aaa"];
    let cells = |variant: Variant| {
        let of_nodes = nodes.map(|node| sized.computed_ms(variant, node));
        let sum = of_nodes.iter().flatten().copied().reduce(|one, other| one + other);
        let theirs = followed(variant, Server::Aaa, |work_s| work_s * 1e3, CLOCK).map(Figure::from);
        let in_delay = sized.computation_ms(variant).map(measured);
        let ours = of_nodes.into_iter().chain([sum]).map(|ms| ms.map(computed));
        ours.chain([in_delay, theirs]).collect()
    };
    let title =
        "Computational time of an authentication over WiFi: cycles by clock, and what was in the delay";
    table(title.to_owned(), "ms", vec!["UE", "GW", "AAA", "sum", "in the delay", "paper, AAA"], cells)
}

fn utilisation(sized: &Sized<'_>) -> Table {
    let of = |side: &Side, server: Server| side.utilisation.get(server.node()).map(|share| 100.0 * share);
    let cells = |simulation: &Simulation| {
        let of_server = |server| {
            [of(&simulation.predicted, server).map(computed), of(&simulation.simulated, server).map(measured)]
        };
        Server::ALL.into_iter().flat_map(of_server).collect()
    };
    let columns = vec!["GW, formula", "GW, simulated", "AAA, formula", "AAA, simulated"];
    simulated(sized, "How busy the nodes are, by cost and rate and in the simulator", "%", columns, cells)
}

fn delays(sized: &Sized<'_>) -> Table {
    let cells = |simulation: &Simulation| {
        let [ours, theirs] = [simulation.predicted.delay_ms, simulation.simulated.delay_ms];
        let pair = |of: fn(&keytoll_analysis::simulation::Percentiles) -> f64| {
            [ours.as_ref().map(of).map(computed), theirs.as_ref().map(of).map(measured)]
        };
        let pairs = [pair(|delay| delay.p50), pair(|delay| delay.p95)];
        pairs.into_iter().flatten().collect()
    };
    let columns = vec!["p50, formula", "p50, simulated", "p95, formula", "p95, simulated"];
    simulated(
        sized,
        "Delay of an authentication at that load, by formulas and in the simulator",
        "ms",
        columns,
        cells,
    )
}

/// A line for every variant that was simulated.
fn simulated(
    sized: &Sized<'_>,
    title: &str,
    unit: &str,
    columns: Vec<&str>,
    cells: impl Fn(&Simulation) -> Vec<Option<Figure>>,
) -> Table {
    let count = columns.len();
    let of = |variant| sized.simulation(variant).map_or_else(|| vec![None; count], &cells);
    table(title.to_owned(), unit, columns, of)
}

/// A line for every variant with known numbers.
fn table(
    title: String,
    unit: &str,
    columns: Vec<&str>,
    cells: impl Fn(Variant) -> Vec<Option<Figure>>,
) -> Table {
    let lines = VARIANTS.map(|variant| Line { label: variant.label.to_owned(), cells: cells(variant) });
    Table {
        title,
        unit: unit.to_owned(),
        columns: columns.into_iter().map(str::to_owned).collect(),
        lines: lines.into_iter().filter(|line| line.cells.iter().any(Option::is_some)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sized::tests::{Example, cells};
    use super::*;

    fn values(tables: &[Table], title: &str, label: &str) -> Vec<Option<f64>> {
        let table = tables.iter().find(|table| table.title.contains(title)).unwrap();
        let line = table.lines.iter().find(|line| line.label == label).unwrap();
        assert_eq!(line.cells.len(), table.columns.len());
        let rounded = |figure: &Figure| (figure.value * 1e3).round() / 1e3;
        line.cells.iter().map(|cell| cell.as_ref().map(rounded)).collect()
    }

    /// 100 000 devices every 600 s are 166.667 a second; 100 million cycles take 33.333 ms at 3 GHz, so 5.556 cores are busy, and 7 are at
    /// most 80 % busy.
    #[test]
    fn cores_follow_from_cycles_and_rate() {
        let example = Example::of(&cells());
        let tables = tables(&example.sized());
        assert_eq!(values(&tables, "busy cores", "TLS-2-2"), [Some(1.0), Some(5.556), Some(5.556)]);
        assert_eq!(values(&tables, "busy at most 80 %", "TLS-2-2"), [2.0, 7.0, 7.0].map(Some));
        assert_eq!(values(&tables, "keep a core", "MD5"), [250.0, 3000.0, 3000.0].map(Some));
        assert_eq!(values(&tables, "keep a core", "PSK"), [Some(300.0), None, None]);
    }

    #[test]
    fn only_published_numbers_have_a_source() {
        let example = Example::of(&cells());
        let lines = tables(&example.sized()).into_iter().flat_map(|table| table.lines);
        let figures = lines.flat_map(|line| line.cells).flatten().collect::<Vec<_>>();
        assert!(figures.iter().all(|figure| figure.source.is_some() == figure.basis.is_published()));
        assert!(figures.iter().any(|figure| figure.basis.is_published()));
    }
}
