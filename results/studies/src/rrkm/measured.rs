//! The run's measurements in the paper's terms.

use super::{Kind, METHODS, Method, Side, Speed};
use crate::Processors;
use crate::doubtful::Doubtful;
use crate::{Basis, Figure, Material};
use keytoll_analysis::summary::{LinkMeans, OperationMean, Summary, SummaryRow};

/// Phases that are no part of an authentication: data, new keys later, and the farewell, which WPA3 encrypts.
const NOT_AUTHENTICATION: [&str; 5] = ["setup", "traffic", "rekeying", "group-key", "association"];

/// The run and what was measured besides it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured<'a>(pub(super) &'a Material<'a>);

impl<'a> Measured<'a> {
    fn summary(self, speed: Speed) -> Option<&'a Summary> {
        match speed {
            Speed::Mips => Some(self.0.summary),
            Speed::Host => self.0.repeated(Processors::Host),
        }
    }

    /// The row of a method.
    fn row(self, method: Method, speed: Speed) -> Option<&'a SummaryRow> {
        self.summary(speed)?.rows.iter().find(|row| row.method == method.method)
    }

    /// Whether the run has a row of a method.
    pub(super) fn has(self, method: Method) -> bool {
        self.row(method, Speed::Mips).is_some()
    }

    /// Whether computation takes time in no row.
    pub(super) fn is_uncharged(self) -> bool {
        METHODS.iter().all(|&method| self.row(method, Speed::Mips).is_none_or(|row| !row.charged))
    }

    /// The operations of an authentication at a side.
    fn operations(
        self,
        method: Method,
        speed: Speed,
        side: Side,
    ) -> Option<impl Iterator<Item = &'a OperationMean>> {
        let operations = self.row(method, speed)?.operations.get(side.node())?;
        Some(operations.iter().filter(|operation| !NOT_AUTHENTICATION.contains(&&*operation.phase)))
    }

    /// How many operations of a kind an authentication has at a side.
    pub(super) fn count(self, method: Method, side: Side, kind: Kind) -> Option<f64> {
        let operations = self.operations(method, Speed::Mips, side)?;
        let of_kind = operations.filter(|operation| Kind::of(&operation.operation) == Some(kind));
        Some(of_kind.fold(0.0, |sum, operation| sum + operation.count))
    }

    /// The part that kinds of operations have of the time of all at a side, in per cent; `None` if they were only counted.
    pub(super) fn share_percent(
        self,
        method: Method,
        speed: Speed,
        side: Side,
        kinds: &[Kind],
    ) -> Option<f64> {
        let ns = |wanted: &dyn Fn(&OperationMean) -> bool| {
            let wanted = self.operations(method, speed, side)?.filter(|operation| wanted(operation));
            Some(wanted.map(|operation| operation.ns).sum::<f64>())
        };
        let all = ns(&|_| true).filter(|&all| all > 0.0)?;
        let of_kinds =
            ns(&|operation| Kind::of(&operation.operation).is_some_and(|kind| kinds.contains(&kind)))?;
        Some(100.0 * of_kinds / all)
    }

    /// The median of the delay.
    pub(super) fn delay_ms(self, method: Method, speed: Speed) -> Option<Figure> {
        Some(Figure::of_median(self.row(method, speed)?.delay_ms?.median_of_blocks()))
    }

    /// The part of the delay in which nodes compute and no frame is on its way.
    pub(super) fn computation_ms(self, method: Method, speed: Speed) -> Option<Figure> {
        let row = self.row(method, speed).filter(|row| row.charged)?;
        Some(Figure::of_run(Basis::Measured, row.delay_split_p50_ms?.computation, None))
    }

    /// Something counted on the air.
    pub(super) fn on_air(self, method: Method, of: fn(&LinkMeans) -> f64) -> Option<f64> {
        let row = self.row(method, Speed::Mips)?;
        row.links.get("ue-ap").map(of)
    }

    /// Thousands of cycles of an authentication at a side, if cryptography was computed.
    pub(super) fn kilocycles(self, method: Method, side: Side) -> Option<Figure> {
        let row = self.row(method, Speed::Mips).filter(|row| row.charged)?;
        let cpu = row.cpu.get(side.node())?;
        Figure::megacycles([cpu]).filter(|figure| figure.value > 0.0).map(|figure| figure.times(1e3))
    }

    /// The same, to be judged.
    pub(super) fn cycles(self, method: Method, side: Side) -> Option<Doubtful> {
        self.kilocycles(method, side).as_ref().map(Doubtful::from)
    }
}
