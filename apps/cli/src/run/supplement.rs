//! What a study wants besides its run.

use std::sync::atomic::AtomicBool;

use keytoll_analysis::study::{Supplement, Wants};
use keytoll_scenario::plan::Plan;
use keytoll_trace::Node;
use miette::Report;

use crate::crypto;
use crate::profile::{Plans, packets};

/// Measures it. Without cryptography that costs something there is nothing to profile.
pub(super) fn measure(wants: Wants, plan: &Plan, stop: &AtomicBool) -> Result<Supplement, Report> {
    let mut supplement = Supplement::default();
    if !plan.crypto.computes() {
        return Ok(supplement);
    }
    if wants.profiles {
        let plans = Plans::new(plan.clone());
        let measured = plans.measure(plan.samples, true, stop)?;
        supplement.profiles = plans.profiles(Node::Gw, &measured);
    }
    if !wants.esp_suites.is_empty() {
        let suites =
            wants.esp_suites.iter().map(|name| packets::suite(name)).collect::<Result<Vec<_>, _>>()?;
        supplement.packets = Some(packets::measure(packets::PACKET, &suites, packets::PACKETS, stop)?);
    }
    if wants.exchanges > 0 {
        supplement.exchanges = crypto::exchanges(plan.crypto, wants.exchanges, stop)?;
    }
    Ok(supplement)
}
