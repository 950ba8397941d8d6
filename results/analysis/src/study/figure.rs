//! A number with its origin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::summary::{Cpu, LinkMeans, Median, SummaryRow};

/// A number of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The number, in the unit of its table.
    pub value: f64,
    /// Decimals of a printed number, if it may end with zeros: 1 of 20.0. Without them it has those that its value needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimals: Option<u8>,
    /// Lower end of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// How the true number relates to it, if it is not the number itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Its origin.
    pub basis: Basis,
    /// Where it was published, or how it was derived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The origin of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Measured by this run.
    Measured,
    /// An estimate of a coarser instrument for this run.
    Estimated,
    /// Printed in the paper.
    Printed,
    /// It follows from printed numbers, or from a standard.
    Derived,
    /// It follows with assumptions that were not printed.
    Reconstructed,
}

impl Basis {
    /// The word used on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Estimated => "estimated",
            Self::Printed => "printed",
            Self::Derived => "derived",
            Self::Reconstructed => "reconstructed",
        }
    }

    /// Whether it existed before this run.
    pub const fn is_published(self) -> bool {
        matches!(self, Self::Printed | Self::Derived | Self::Reconstructed)
    }
}

/// How a true number relates to the given one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// It is close to it.
    About,
    /// It is greater.
    Above,
    /// It is not greater.
    AtMost,
}

impl Figure {
    /// A number of this run, with half the width of its interval if known.
    pub fn of_run(basis: Basis, value: f64, half_width: Option<f64>) -> Self {
        let (low, high) = (half_width.map(|half| value - half), half_width.map(|half| value + half));
        Self { value, decimals: None, low, high, bound: None, basis, source: None }
    }

    /// A median of this run.
    pub fn of_median(median: Median) -> Self {
        let (low, high) = median.interval.unzip();
        Self { low, high, ..Self::of_run(Basis::Measured, median.value, None) }
    }

    /// In another unit.
    pub fn times(self, factor: f64) -> Self {
        let [low, high] = [self.low, self.high].map(|end| end.map(|end| end * factor));
        Self { value: self.value * factor, decimals: None, low, high, ..self }
    }

    /// Half the width of the interval: the number after ±.
    pub fn half_width(&self) -> Option<f64> {
        Some((self.high? - self.low?) / 2.0)
    }

    /// The mean of independent measurements of one quantity, weighted by their numbers of authentications: mean, half the width
    /// of its interval, n.
    pub fn pooled(basis: Basis, parts: &[(f64, Option<f64>, u64)]) -> Option<Self> {
        let n = parts.iter().map(|part| part.2).sum::<u64>();
        if n == 0 {
            return None;
        }
        let weight = |part: u64| part as f64 / n as f64;
        let value = parts.iter().map(|&(mean, _, n)| mean * weight(n)).sum();
        let square = |&(_, half, n): &(f64, Option<f64>, u64)| Some((half? * weight(n)).powi(2));
        let half = parts.iter().map(square).sum::<Option<f64>>().map(f64::sqrt);
        Some(Self::of_run(basis, value, half))
    }
}

impl Figure {
    /// Millions of cycles of an authentication at a node: the medians of several rows, pooled.
    pub fn megacycles<'a>(cpus: impl IntoIterator<Item = &'a Cpu>) -> Option<Self> {
        let of = |cpu: &Cpu| {
            Some((cpu.cycles_p50? / 1e6, cpu.cycles_p50_half_width().map(|half| half / 1e6), cpu.n))
        };
        Self::pooled(Basis::Measured, &cpus.into_iter().filter_map(of).collect::<Vec<_>>())
    }

    /// The mean of something on a link in several rows, pooled.
    pub fn of_link<'a>(
        rows: impl IntoIterator<Item = &'a SummaryRow>,
        link: &str,
        of: fn(&LinkMeans) -> f64,
    ) -> Option<Self> {
        let parts = rows.into_iter().filter_map(|row| Some((of(row.links.get(link)?), None, row.n)));
        Self::pooled(Basis::Measured, &parts.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooling_weighs_by_n_and_narrows_the_interval() {
        let pooled = Figure::pooled(Basis::Measured, &[(10.0, Some(3.0), 100), (20.0, Some(4.0), 100)]);
        let pooled = pooled.unwrap();
        assert_eq!((pooled.value, pooled.half_width()), (15.0, Some(2.5)));
        let one = Figure::pooled(Basis::Measured, &[(10.0, None, 30), (30.0, Some(1.0), 10)]).unwrap();
        assert_eq!((one.value, one.half_width()), (15.0, None));
        assert_eq!(Figure::pooled(Basis::Measured, &[]), None);
    }
}
