//! Notes for readers: what was asked, and what stands behind the numbers.

use super::sized::Sized;
use super::{CLOCK_HZ, LOAD};
use crate::ikev2_wireless::VARIANTS;

/// All notes.
pub(super) fn notes(sized: &Sized<'_>) -> Vec<String> {
    let asked = format!(
        "Asked: {} devices, each of which re-authenticates every {} s at any time; the paper names no such load, and says that \
         re-authentications are in the order of minutes (§V).",
        LOAD.devices_at_once, LOAD.reauthenticate_s
    );
    std::iter::once(asked).chain(NOTES.map(str::to_owned)).chain(cheaper(sized)).collect()
}

/// How much cheaper authentications have become at the AAA server, with public keys and without.
fn cheaper(sized: &Sized<'_>) -> Option<String> {
    let mean = |is_tls_based: bool| {
        let variants = VARIANTS.into_iter().filter(|variant| variant.is_tls_based() == is_tls_based);
        let ms: Vec<f64> = variants.filter_map(|variant| sized.computed_ms(variant, "aaa")).collect();
        (!ms.is_empty()).then(|| ms.iter().sum::<f64>() / ms.len() as f64 / 1e3 * CLOCK_HZ / 1e6)
    };
    let (with, without) = (mean(true)?, mean(false)?);
    Some(format!(
        "At the AAA server TLS-based methods take {with:.1} million cycles here and about 100 in the paper, MD5 and SIM {without:.2} and \
         about 1: public-key operations became {:.0} times cheaper, and everything else {:.1} times, so that TLS needs {:.0} times as \
         much and not 100 times.",
        100.0 / with,
        1.0 / without,
        with / without
    ))
}

const NOTES: [&str; 4] = [
    "Computed: from the CPU time of this run's authentications, scaled to the clocks of the paper's testbed as `keytoll size` does. The \
     paper's processors took more cycles for the same work, so its cores are more; it prints the costs of the AAA server alone.",
    "Cores: busy cores are cost times rate; a node gets so many that it is busy at most 80 % of the time, for above small mistakes make \
     long waits.",
    "Simulated: the simulation has 100 devices per sample, with real engines and queues and the costs of the table `reference`. \
     Devices arrive so often that the busiest node is as busy as computed for the paper's load. Formulas and simulator use the same \
     load and cost table.",
    "The paper estimates computation by cost and clock, and says nothing of waiting: its \"otherwise idle\" processor has no queue. The \
     waits here are those of M/G/c.",
];
