//! The measurements of a study besides its run.

use std::sync::atomic::{AtomicBool, Ordering};

use keytoll_analysis::study::{Supplement, Wants};
use keytoll_scenario::plan::Plan;
use keytoll_trace::Node;
use miette::Report;

use crate::crypto;
use crate::profile::{Plans, packets};

/// Measures them, or as many as are possible before an interruption. Without real cryptography there is nothing to profile.
pub(super) fn measure(wants: Wants, plan: &Plan, stop: &AtomicBool) -> Result<Supplement, Report> {
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
    Ok(supplement)
}
