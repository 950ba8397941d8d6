//! The measurements of a study besides its run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keytoll_analysis::primitives;
use keytoll_analysis::profile::{Packets, Profile};
use keytoll_analysis::study::{
    Cell, CellWant, OperationSum, Processors, ProfileWant, Repetition, Supplement, Wants,
};
use keytoll_lab::CellPlan;
use keytoll_scenario::plan::{CpuProfile, Plan};
use keytoll_trace::Node;
use keytoll_trace::primitive::Timings;
use miette::Report;

use super::{streaming, told};
use crate::profile::Plans;
use crate::profile::packets::{self, Tunnels};
use crate::progress::{Counted, Progress};
use crate::{crypto, size};

/// Measures them, or as many as are possible before an interruption. Without real cryptography there is nothing to profile.
pub(super) fn measure(
    wants: Wants,
    plan: &Plan,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Supplement, Report> {
    let mut supplement = Supplement::default();
    let goes_on = || plan.crypto.computes() && !stop.load(Ordering::Relaxed);
    if let Some(want) = wants.profile.filter(|_| goes_on()) {
        (supplement.profiles, supplement.packets) = profiles(want, plan, stop)?;
    }
    if wants.exchanges > 0 && goes_on() {
        supplement.exchanges = crypto::exchanges(plan.crypto, wants.exchanges, stop)?;
    }
    if wants.rsa_rc4_sha1 > 0 && goes_on() {
        supplement.primitives = crypto::rsa_rc4_sha1(plan.crypto, wants.rsa_rc4_sha1, stop)?;
    }
    for &want in wants.cells {
        supplement.cells.extend(cell(want, plan, supplement.primitives.as_ref(), stop));
    }
    if let Some(load) = wants.load.filter(|_| goes_on()) {
        let simulated = size::simulated(&load, plan, threads, stop);
        supplement.simulations =
            simulated.or_else(|why| if goes_on() { Err(why) } else { Ok(Vec::new()) })?;
    }
    for &processors in wants.processors {
        let clocks = processors.clocks_hz(&supplement.repetitions).filter(|_| goes_on());
        let Some(clocks) = clocks else { continue };
        let mut made = repetition(processors, &clocks, plan, threads, stop)?;
        for _ in 0..CORRECTIONS_MAX {
            let corrected = processors.corrected_hz(&supplement.repetitions, &made).filter(|_| goes_on());
            let Some(clocks) = corrected else { break };
            made = repetition(processors, &clocks, plan, threads, stop)?;
        }
        supplement.repetitions.push(made);
    }
    Ok(supplement)
}

/// A profile of each method, and of packets through tunnels in between: the blocks of both are spread over the same time. No packets if
/// it was interrupted before any.
fn profiles(
    want: ProfileWant,
    plan: &Plan,
    stop: &AtomicBool,
) -> Result<(Vec<Profile>, Option<Packets>), Report> {
    let count = plan.samples.saturating_mul(want.times);
    let suites = want.esp_suites.iter().map(|name| packets::suite(name)).collect::<Result<Vec<_>, _>>()?;
    let packet_count = packets::PACKETS.saturating_mul(want.times);
    let mut tunnels = Tunnels::new(packets::PACKET, &suites, packet_count, keytoll_lab::blocks(count));
    let plans = Plans::new(plan.clone());
    let measured = plans.measure(count, true, &mut |block| tunnels.measure(block, &|| {}, stop), stop)?;
    let packets = tunnels.end();
    let packets = if stop.load(Ordering::Relaxed) { packets.ok() } else { Some(packets?) };
    Ok((plans.profiles(Node::Gw, &measured), packets))
}

/// A fit that misses its number so often is kept as it is: the machine's speed changes faster than it is measured.
const CORRECTIONS_MAX: usize = 3;

/// The run again, on processors with these clocks; on this machine's where none is given.
fn repetition(
    processors: Processors,
    clocks_hz: &[(Node, f64)],
    plan: &Plan,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Repetition, Report> {
    let mut plan = plan.clone();
    for (node, cpu) in &mut plan.cpus {
        let clock = clocks_hz.iter().find(|(of, _)| of == node).map(|&(_, hz)| hz);
        *cpu = CpuProfile { name: processors.name().to_owned(), hz: clock, ..cpu.clone() };
    }
    let length = plan.authentications();
    let progress = Progress::begin(Counted { length, of: "authentications", switch: "--samples" });
    let summary = streaming::summary(&plan, threads, &|| progress.tick(), stop).map_err(told)?;
    let clocks_hz = clocks_hz.iter().map(|&(node, hz)| (node.name().to_owned(), hz)).collect();
    Ok(Repetition { processors: processors.name().to_owned(), clocks_hz, summary })
}

/// A cell of a row of the plan; `None` if the plan has no such row, or one with an AAA server, or the cell was interrupted at once.
/// Operations cost what the measured primitives do, where the study says so.
fn cell(want: CellWant, plan: &Plan, timings: Option<&Timings>, stop: &AtomicBool) -> Option<Cell> {
    let row = plan.rows.iter().find(|row| row.method.name == want.method);
    let row = row.filter(|row| keytoll_rigs::has_no_servers(row))?;
    let periods = want.periods(plan.samples);
    let planned =
        CellPlan { stations: want.stations, periods, period: Duration::from_secs(want.period_s.into()) };
    let costs = timings.filter(|_| want.is_charged).map(primitives::costs);
    let progress =
        Progress::begin(Counted { length: periods.into(), of: "periods of a cell", switch: "--samples" });
    let run = keytoll_lab::cell((plan, row), planned, costs.as_ref(), &|| progress.tick(), stop);
    (run.periods > 0).then(|| Cell {
        method: want.method.to_owned(),
        station_count: run.joined.into(),
        period_s: want.period_s.into(),
        period_count: run.periods.into(),
        data_frames: run.frames.data,
        arrived_packets: run.frames.arrived,
        eapol_frames: run.frames.eapol,
        management_frames: run.frames.management,
        lost_frames: run.frames.lost,
        discards: run.frames.discarded,
        access_point: sums(run.access_point),
        all_stations: sums(run.stations),
        simulated_in_s: run.simulated_in.as_secs_f64(),
    })
}

fn sums(counted: Vec<keytoll_lab::Counted>) -> Vec<OperationSum> {
    let sum = |counted: keytoll_lab::Counted| OperationSum {
        phase: counted.phase.to_owned(),
        operation: counted.operation.to_owned(),
        algorithm: counted.algorithm,
        count: counted.count,
        ns: counted.ns,
    };
    counted.into_iter().map(sum).collect()
}
