//! The responder's computation for the EAP methods, and whether the methods differ in it at all.
//!
//! A gateway that authenticates with a shared secret does nearly the same for all of them, and a few per cent are less than
//! a machine's variation from one row to the next. No interval within a row shows that, but a method's two rows do:
//! the gateway's computation does not depend on the network.

use super::measured::Measured;
use super::{PSK, Place, VARIANTS, Variant};
use crate::Evidence;
use keytoll_analysis::stats::correlation;

/// The methods differ clearly if their spread is this many times the uncertainty.
const CLEARLY: f64 = 2.0;

/// The EAP methods with rows of both networks. PSK is not among them: for it the gateway relays nothing, and
/// a single method far from all others correlates with anything.
pub(super) struct Responder(Vec<Cost>);

/// A method, its numbers of cycles in millions.
struct Cost {
    bytes: f64,
    cycles: f64,
    /// Width of the 95 % interval.
    interval: f64,
    /// The difference between the rows of the two networks.
    networks: f64,
}

impl Responder {
    pub(super) fn of(measured: Measured<'_>) -> Self {
        let methods = VARIANTS.into_iter().filter(|&variant| variant != PSK);
        Self(methods.filter_map(|variant| Cost::of(measured, variant)).collect())
    }

    /// The correlation of cycles and bytes, if the methods differ clearly in cycles.
    pub(super) fn correlation(&self) -> Option<f64> {
        let points = self.0.iter().map(|cost| (cost.bytes, cost.cycles)).collect::<Vec<_>>();
        let doubt = self.greatest(|cost| cost.interval.max(cost.networks));
        let clear = points.len() >= 3 && self.spread() >= CLEARLY * doubt;
        if clear { correlation(&points) } else { None }
    }

    /// The numbers behind the uncertainty, in per cent of the mean.
    pub(super) fn evidence(&self) -> Vec<Evidence> {
        let mean = self.0.iter().map(|cost| cost.cycles).sum::<f64>() / self.0.len() as f64;
        let of = |what, cycles: f64| Evidence::new(what, 100.0 * cycles / mean, "%");
        let correlation =
            self.correlation().map(|value| Evidence::new("coefficient of correlation", value, ""));
        let doubt = [
            of("the methods differ by", self.spread()),
            of("width of the widest 95 % interval", self.greatest(|cost| cost.interval)),
            of("the networks' rows of one method differ by up to", self.greatest(|cost| cost.networks)),
        ];
        let known = if self.0.is_empty() { None } else { Some(doubt) };
        correlation.into_iter().chain(known.into_iter().flatten()).collect()
    }

    /// The difference between the methods with the fewest and the most cycles.
    fn spread(&self) -> f64 {
        self.greatest(|cost| cost.cycles) + self.greatest(|cost| -cost.cycles)
    }

    fn greatest(&self, of: impl Fn(&Cost) -> f64) -> f64 {
        self.0.iter().map(of).fold(f64::NEG_INFINITY, f64::max)
    }
}

impl Cost {
    fn of(measured: Measured<'_>, variant: Variant) -> Option<Self> {
        let pooled = measured.megacycles(variant, "gw")?;
        let [wifi, umts] = Place::ALL.map(|place| measured.megacycles_at(variant, place, "gw"));
        Some(Self {
            bytes: measured.link(variant, "ue-gw", |means| means.bytes)?.value,
            cycles: pooled.value,
            interval: 2.0 * pooled.half_width()?,
            networks: (wifi?.value - umts?.value).abs(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{Cell, summary};
    use super::*;
    use keytoll_analysis::summary::{Cpu, Summary};

    /// PSK as far below as it is, and three methods with these cycles in millions.
    fn run(cycles: [f64; 3]) -> Summary {
        let cell = |label, messages, cycles| Cell(label, messages, [40.0, 1900.0], [1.0, cycles, 1.0]);
        let [few, more, most] = cycles;
        summary(&[
            cell("PSK", 4.0, 2.0),
            cell("MD5", 10.0, few),
            cell("SIM", 12.0, more),
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

    fn judged(summary: &Summary) -> (Option<f64>, Vec<f64>) {
        let responder = Responder::of(Measured(summary));
        let evidence = responder.evidence().into_iter().map(|evidence| evidence.value.round());
        (responder.correlation(), evidence.collect())
    }

    #[test]
    fn methods_that_differ_clearly_are_correlated() {
        let (correlation, evidence) = judged(&run([10.0, 12.0, 24.0]));
        assert!(correlation.is_some_and(|coefficient| coefficient > 0.999));
        // 14 of a mean of 15.33; ± 10 % of 24 in each of two rows.
        assert_eq!(evidence, [1.0, 91.0, 22.0, 0.0]);
    }

    #[test]
    fn methods_within_the_intervals_are_not() {
        let mut summary = run([4.0, 4.1, 4.3]);
        assert_eq!(judged(&summary), (None, vec![7.0, 15.0, 0.0]));
        change(&mut summary, None, |cpu| {
            (cpu.ns_p50_ci95_low, cpu.ns_p50_ci95_high) = (Some(cpu.ns_p50 * 0.99), Some(cpu.ns_p50 * 1.01));
        });
        assert!(judged(&summary).0.is_some(), "narrow intervals tell them apart");
        change(&mut summary, None, |cpu| cpu.ns_p50_ci95_low = None);
        assert_eq!(judged(&summary), (None, Vec::new()), "a single authentication has no interval");
    }

    #[test]
    fn methods_whose_two_rows_differ_as_much_are_not_either() {
        let mut summary = run([10.0, 12.0, 24.0]);
        change(&mut summary, Some(Place::Umts), |cpu| {
            cpu.cycles_p50 = cpu.cycles_p50.map(|cycles| 1.5 * cycles);
        });
        let (correlation, evidence) = judged(&summary);
        assert_eq!((correlation, evidence[2]), (None, 63.0));
        summary.rows.retain(|row| row.network == Place::Wifi.network());
        assert_eq!(judged(&summary), (None, Vec::new()), "nobody knows how far a second row would be off");
    }
}
