//! The run's measurements of the paper's variants. Messages, bytes and cycles do not depend on the network, so both count.

use super::{Place, Variant};
use crate::{Basis, Figure};
use keytoll_analysis::summary::{Cpu, LinkMeans, Summary, SummaryRow};

/// A summary, queried in the paper's terms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured<'a>(pub(crate) &'a Summary);

impl<'a> Measured<'a> {
    /// The row of a variant over a network.
    pub(crate) fn row(self, variant: Variant, place: Place) -> Option<&'a SummaryRow> {
        self.0.rows.iter().find(|row| row.variant == variant.label && row.network == place.network())
    }

    /// The same if computation took time there: otherwise a delay does not include it.
    pub(crate) fn charged_row(self, variant: Variant, place: Place) -> Option<&'a SummaryRow> {
        self.row(variant, place).filter(|row| row.charged)
    }

    fn rows(self, variant: Variant) -> impl Iterator<Item = &'a SummaryRow> {
        Place::ALL.into_iter().filter_map(move |place| self.row(variant, place))
    }

    /// The median. Unlike the mean it is robust against an occasional lost packet, for which IKE waits four seconds. Computation may
    /// have taken no time: this is for what the network decides.
    pub(crate) fn median_ms(self, variant: Variant, place: Place) -> Option<f64> {
        Some(self.row(variant, place)?.delay_ms?.p50)
    }

    /// The same if computation is included.
    pub(crate) fn charged_median_ms(self, variant: Variant, place: Place) -> Option<f64> {
        Some(self.charged_row(variant, place)?.delay_ms?.p50)
    }

    /// The mean of something on a link.
    pub(crate) fn link(self, variant: Variant, link: &str, of: fn(&LinkMeans) -> f64) -> Option<Figure> {
        Figure::of_link(self.rows(variant), link, of)
    }

    /// Messages between device and gateway.
    pub(crate) fn ike_messages(self, variant: Variant) -> Option<f64> {
        Some(self.link(variant, "ue-gw", |means| means.messages)?.value)
    }

    /// Millions of cycles of an authentication at a node, median, if cryptography was computed.
    pub(crate) fn megacycles(self, variant: Variant, node: &str) -> Option<Figure> {
        Figure::megacycles(self.cpus(variant, node))
    }

    /// The same over one network.
    pub(crate) fn megacycles_at(self, variant: Variant, place: Place, node: &str) -> Option<Figure> {
        Figure::megacycles(self.charged_row(variant, place)?.cpu.get(node))
    }

    /// Those of both networks as the paper's profiler would have estimated them with equation (1).
    pub(crate) fn sampled_megacycles(self, variant: Variant, node: &str) -> Option<Figure> {
        let of = |cpu: &Cpu| {
            let sampled = cpu.sampled?;
            Some((sampled.cycles / 1e6, sampled.half_width().map(|half| half / 1e6), sampled.n))
        };
        Figure::pooled(Basis::Estimated, &self.cpus(variant, node).filter_map(of).collect::<Vec<_>>())
    }

    fn cpus(self, variant: Variant, node: &str) -> impl Iterator<Item = &'a Cpu> {
        let node = node.to_owned();
        let rows = Place::ALL.into_iter().filter_map(move |place| self.charged_row(variant, place));
        rows.filter_map(move |row| row.cpu.get(&node))
    }
}
