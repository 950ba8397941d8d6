//! The responder's computation for the EAP methods, and how closely it follows the bytes.
//!
//! A gateway that authenticates with a shared secret does nearly the same for all of them, and a few per cent are less than
//! a machine's variation from one row to the next. No interval within a row shows that, but a method's two rows do:
//! the gateway's computation does not depend on the network.

use super::measured::Measured;
use super::{PSK, Place, VARIANTS, Variant};
use crate::doubtful::Doubtful;
use keytoll_analysis::stats::correlation;

/// The EAP methods with rows of both networks. PSK is not among them: for it the gateway relays nothing, and
/// a single method far from all others correlates with anything.
pub(super) struct Responder(Vec<Cost>);

/// A method, its numbers of cycles in millions.
struct Cost {
    bytes: f64,
    cycles: f64,
    /// By how much they may be off, either way.
    doubt: f64,
}

impl Responder {
    pub(super) fn of(measured: Measured<'_>) -> Self {
        let methods = VARIANTS.into_iter().filter(|&variant| variant != PSK);
        Self(methods.filter_map(|variant| Cost::of(measured, variant)).collect())
    }

    /// The correlation of cycles and bytes with its interval; `None` below three methods.
    ///
    /// Each method's doubt moves the coefficient when its cycles are as many more or fewer; the movements of all methods add up in
    /// squares, downwards and upwards.
    pub(super) fn correlation(&self) -> Option<Doubtful> {
        let value = self.coefficient(None)?;
        let moved =
            |index| [-1.0, 1.0].map(|way| self.coefficient(Some((index, way))).map_or(0.0, |to| to - value));
        let moved = (0..self.0.len()).map(moved).collect::<Vec<_>>();
        let arm = |pick: fn(f64, f64) -> f64| {
            moved.iter().map(|ways| ways.iter().copied().fold(0.0, pick).powi(2)).sum::<f64>().sqrt()
        };
        Some(Doubtful::between((value - arm(f64::min)).max(-1.0), value, (value + arm(f64::max)).min(1.0)))
    }

    /// The coefficient, if the method at an index has its doubt more (1) or fewer (−1) cycles.
    fn coefficient(&self, moved: Option<(usize, f64)>) -> Option<f64> {
        let cost = |(index, cost): (usize, &Cost)| {
            let more = moved.filter(|(of, _)| *of == index).map_or(0.0, |(_, way)| way * cost.doubt);
            (cost.bytes, cost.cycles + more)
        };
        let points = self.0.iter().enumerate().map(cost).collect::<Vec<_>>();
        if points.len() < 3 { None } else { correlation(&points) }
    }
}

impl Cost {
    fn of(measured: Measured<'_>, variant: Variant) -> Option<Self> {
        let pooled = measured.megacycles(variant, "gw")?;
        let [wifi, umts] = Place::ALL.map(|place| measured.megacycles_at(variant, place, "gw"));
        let networks = (wifi?.value - umts?.value).abs() / 2.0;
        Some(Self {
            bytes: measured.link(variant, "ue-gw", |means| means.bytes)?.value,
            cycles: pooled.value,
            doubt: pooled.half_width()?.max(networks),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{Cell, summary};
    use super::*;
    use keytoll_analysis::summary::{Cpu, Summary};

    /// PSK as far below as it is, and four methods with these cycles in millions.
    fn run(cycles: [f64; 4]) -> Summary {
        let cell = |label, messages, cycles| Cell(label, messages, [40.0, 1900.0], [1.0, cycles, 1.0]);
        let [few, some, more, most] = cycles;
        summary(&[
            cell("PSK", 4.0, 2.0),
            cell("MD5", 10.0, few),
            cell("SIM", 12.0, some),
            cell("TLS-2-2", 18.0, more),
            cell("TLS-4-4", 24.0, most),
        ])
    }

    /// At the gateway, in the rows of one network or of all.
    fn change(summary: &mut Summary, place: Option<Place>, change: impl Fn(&mut Cpu)) {
        let rows = summary.rows.iter_mut();
        let rows = rows.filter(|row| place.is_none_or(|place| row.network == place.network()));
        let nodes = rows.map(|row| row.cpu.values_mut().nth(1).expect("the gateway is the second node"));
        nodes.for_each(change);
    }

    fn judged(summary: &Summary) -> Option<Doubtful> {
        Responder::of(Measured(summary)).correlation()
    }

    #[test]
    fn methods_that_differ_clearly_are_correlated() {
        let correlation = judged(&run([10.0, 12.0, 18.0, 24.0])).unwrap();
        assert!(correlation.value > 0.999, "{correlation:?}");
        // ± 10 % of up to 24 in two rows each is much less than 14.
        assert_eq!(correlation.is_at_least(0.9), Some(true), "{correlation:?}");
    }

    #[test]
    fn methods_within_the_intervals_are_not() {
        let mut summary = run([4.0, 4.1, 4.2, 4.3]);
        assert_eq!(judged(&summary).unwrap().is_at_least(0.5), None);
        change(&mut summary, None, |cpu| {
            (cpu.ns_p50_ci95_low, cpu.ns_p50_ci95_high) =
                (Some(cpu.ns_p50 * 0.999), Some(cpu.ns_p50 * 1.001));
        });
        assert_eq!(judged(&summary).unwrap().is_at_least(0.9), Some(true), "narrow intervals separate them");
        change(&mut summary, None, |cpu| cpu.ns_p50_ci95_low = None);
        assert_eq!(judged(&summary), None, "a single authentication has no interval");
    }

    #[test]
    fn methods_whose_two_rows_differ_as_much_are_not_either() {
        let mut summary = run([10.0, 12.0, 18.0, 24.0]);
        change(&mut summary, Some(Place::Umts), |cpu| {
            cpu.cycles_p50 = cpu.cycles_p50.map(|cycles| 3.0 * cycles);
        });
        assert_eq!(judged(&summary).unwrap().is_at_least(0.9), None);
        summary.rows.retain(|row| row.network == Place::Wifi.network());
        assert_eq!(judged(&summary), None, "without a second row nothing shows how far it would be off");
    }
}
