//! The same again with something changed: a site lost, everybody back at once, another method.

use keytoll_analysis::Named;

use crate::doubt::{self, PATIENCE_S};
use crate::outcome::{Drained, Replacement, SiteLost};
use crate::question::{Arrivals, Question};
use crate::sized::{Row, name};
use crate::storm::Flow;
use crate::work::Work;

/// Sites of which the others carry the load of one that is lost.
pub(crate) fn site_lost(row: &Row<'_>) -> SiteLost {
    let sites = row.question.sites;
    let cores = row.enough(1.0 / f64::from(sites - 1), |_| None);
    let names = row.works.iter().map(|work| work.node.clone());
    SiteLost { sites_count: sites, cores_per_site: names.zip(cores).collect() }
}

/// All devices come back at once.
pub(crate) fn outage(row: &Row<'_>, cores: &[u32]) -> Drained {
    let devices = row.question.devices_at_once;
    let of_node = |(work, &cores): (&Work, &u32)| {
        work.saturated_cores(devices as f64, 0.0, row.asked_when_busy()) / f64::from(cores)
    };
    let times: Vec<f64> = row.works.iter().zip(cores).map(of_node).collect();
    let (bottleneck, wait_max_s) = longest(row, &times);
    let notes = doubt::resending(wait_max_s).into_iter().chain(doubt::giving_up(wait_max_s)).collect();
    Drained {
        devices,
        last_in_after_s: Some(wait_max_s),
        wait_max_s,
        bottleneck,
        gives_up_after_s: gives_up(wait_max_s),
        notes,
    }
}

/// The patience of devices that wait longer.
fn gives_up(wait_max_s: f64) -> Option<f64> {
    (wait_max_s > PATIENCE_S).then_some(PATIENCE_S)
}

/// The storm of the question.
pub(crate) fn storm(row: &Row<'_>, cores: &[u32]) -> Option<Drained> {
    let Arrivals::Storm { devices, .. } = row.question.arrivals else { return None };
    let flows: Vec<Flow> = row.flows(cores, 1.0).collect();
    let waits: Vec<f64> = flows.iter().map(Flow::wait_max_s).collect();
    let (bottleneck, wait_max_s) = longest(row, &waits);
    let drained_s = flows.iter().map(Flow::drained_after_s).fold(0.0, f64::max);
    Some(Drained {
        devices,
        last_in_after_s: drained_s.is_finite().then_some(drained_s),
        wait_max_s,
        bottleneck,
        gives_up_after_s: gives_up(wait_max_s),
        notes: doubt::giving_up(wait_max_s).into_iter().collect(),
    })
}

fn longest(row: &Row<'_>, times_s: &[f64]) -> (String, f64) {
    let named = row.works.iter().zip(times_s).map(|(work, time_s)| (work.node.clone(), *time_s));
    let longest = named.max_by(|(_, one), (_, other)| one.total_cmp(other));
    longest.expect("a row that is sized has a serving node")
}

/// What devices save with the cheapest method of the same network and topology.
pub(crate) fn replacements(rows: &[Row<'_>], question: &Question) -> Vec<Replacement> {
    let place = |row: &Row<'_>| (row.row.network.clone(), row.row.topology.clone());
    // A daemon is no method.
    let rows: Vec<&Row<'_>> = rows.iter().filter(|row| row.daemons.is_empty()).collect();
    let cheapest = |of: &Row<'_>| {
        let alike = rows.iter().copied().filter(|row| place(row) == place(of));
        alike.min_by(|one, other| total_s(one).total_cmp(&total_s(other)))
    };
    let others = rows.iter().copied().filter_map(|row| Some((row, cheapest(row)?)));
    others
        .filter(|(row, cheapest)| total_s(row) > total_s(cheapest))
        .map(|(row, cheapest)| replacement(row, cheapest, question))
        .collect()
}

fn total_s(row: &Row<'_>) -> f64 {
    row.works.iter().map(|work| work.busy_s).sum()
}

fn replacement(row: &Row<'_>, other: &Row<'_>, question: &Question) -> Replacement {
    let share = question.devices_moved as f64 / question.devices_at_once as f64;
    let per_s = question.steady_per_s() * share;
    let rekeys = question.rekeys_per_s().unwrap_or(0.0) * share;
    let busy = |work: &Work| work.busy_cores(per_s, rekeys);
    let idle = |work: &Work| work.idle_bytes.unwrap_or(0.0) * question.devices_moved as f64;
    let saved = |of: &dyn Fn(&Work) -> f64| {
        nodes(row, other)
            .map(|node| {
                let at = |row: &Row<'_>| row.works.iter().find(|work| work.node == *node).map_or(0.0, of);
                (node.clone(), at(row) - at(other))
            })
            .collect::<Named<f64>>()
    };
    Replacement {
        network: row.row.network.clone(),
        topology: row.row.topology.clone(),
        from: name(row.row),
        to: name(other.row),
        devices: question.devices_moved,
        saved_busy_cores: saved(&busy),
        saved_bytes: saved(&idle),
    }
}

/// The nodes of two rows, each once.
fn nodes<'a>(row: &'a Row<'_>, other: &'a Row<'_>) -> impl Iterator<Item = &'a String> {
    let names = |row: &'a Row<'_>| row.works.iter().map(|work| &work.node);
    names(row).chain(names(other).filter(move |name| row.works.iter().all(|work| work.node != **name)))
}
