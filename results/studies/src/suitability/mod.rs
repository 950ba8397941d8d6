//! Paper 003's second half: which of its six methods suits the EPC, by multiplicative AHP. The criteria, with everything that the slides
//! print of them, are `criteria/epc-2012.toml`; performance is graded by the run of the first half. Its results, the order and three
//! figures of sensitivity, are not at hand: `reference/protocols.md` §1 has the arithmetic, and §2.1 what follows of performance.

mod findings;
mod notes;
mod order;
mod published;
mod ranked;
mod tables;

use crate::Study;
use crate::hip_dex_aka::{SCENARIO, WANTS};
use ranked::Rankings;

pub use order::against_the_slides;

/// The study.
pub(super) const STUDY: Study = Study {
    name: "suitability",
    title: "Suitability of DEX-AKA, EAP-AKA, DEX, BEX, PSK and EAP-TLS for the EPC: weights, grades, order and sensitivity",
    source: "Z. Faigl, J. Pellikka, L. Bokor, A. Gurtov: Performance and suitability analysis of HIP-based lightweight user \
             authentication method (2012), slides, second half: weights, rules and grades are printed, the order and the figures of \
             sensitivity are not at hand",
    scenario: SCENARIO,
    wants: WANTS,
    tables: |material| tables::tables(&Rankings::of(material)),
    findings: |material| findings::findings(&Rankings::of(material)),
    notes: |material| notes::notes(&Rankings::of(material)),
};

/// Weights are printed with four digits, and so they are shown.
const WEIGHTS_OF: f64 = 10_000.0;

/// The main criteria, in the order of the slides.
const MAINS: [&str; 4] = ["security", "performance", "deployment", "extra"];

/// Those whose weight the slides vary, in the order of their figures.
const VARIED: [&str; 3] = ["performance", "deployment", "security"];
