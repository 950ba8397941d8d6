//! The measurements of a study besides its run.

use std::sync::atomic::{AtomicBool, Ordering};

use keytoll_analysis::study::{Processors, Repetition, Supplement, Wants};
use keytoll_scenario::plan::{CpuProfile, Plan};
use keytoll_trace::Node;
use miette::Report;

use super::{streaming, told};
use crate::crypto;
use crate::profile::{Plans, packets};
use crate::progress::{Counted, Progress};

/// Measures them, or as many as are possible before an interruption. Without real cryptography there is nothing to profile.
pub(super) fn measure(
    wants: Wants,
    plan: &Plan,
    threads: usize,
    stop: &AtomicBool,
) -> Result<Supplement, Report> {
    let mut supplement = Supplement::default();
    let goes_on = || plan.crypto.computes() && !stop.load(Ordering::Relaxed);
    if wants.profiles && goes_on() {
        let plans = Plans::new(plan.clone());
        let measured = plans.measure(plan.samples, true, stop)?;
        supplement.profiles = plans.profiles(Node::Gw, &measured);
    }
    if !wants.esp_suites.is_empty() && goes_on() {
        let suites =
            wants.esp_suites.iter().map(|name| packets::suite(name)).collect::<Result<Vec<_>, _>>()?;
        let measured = packets::measure(packets::PACKET, &suites, packets::PACKETS, stop);
        supplement.packets = measured.map(Some).or_else(|why| if goes_on() { Err(why) } else { Ok(None) })?;
    }
    if wants.exchanges > 0 && goes_on() {
        supplement.exchanges = crypto::exchanges(plan.crypto, wants.exchanges, stop)?;
    }
    if wants.rsa_rc4_sha1 > 0 && goes_on() {
        supplement.primitives = crypto::rsa_rc4_sha1(plan.crypto, wants.rsa_rc4_sha1, stop)?;
    }
    for &processors in wants.processors {
        let clocks = processors.clocks_hz(&supplement.repetitions).filter(|_| goes_on());
        if let Some(clocks) = clocks {
            supplement.repetitions.push(repetition(processors, &clocks, plan, threads, stop)?);
        }
    }
    Ok(supplement)
}

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
