//! The run's measurements of the paper's variants. Messages, bytes and cycles do not depend on the network, so both count.

use super::{Place, Variant};
use crate::doubtful::Doubtful;
use crate::{Basis, Figure};
use keytoll_analysis::summary::{Cpu, Delay, LinkMeans, Summary, SummaryRow};

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

    /// The paper's delay: from the trigger until the echo reply, "the duration of the authentication flow, and the round-trip time
    /// of the ping" (§IV-A). Computation may have taken no time: use it for claims about the network.
    pub(crate) fn ping(self, variant: Variant, place: Place) -> Option<Delay> {
        self.row(variant, place)?.first_packet_ms
    }

    /// Its median in milliseconds. Unlike the mean it is robust against an occasional lost packet, for which IKE waits four seconds.
    pub(crate) fn ping_ms(self, variant: Variant, place: Place) -> Option<Doubtful> {
        Some(self.ping(variant, place)?.median_of_blocks().into())
    }

    /// The same if computation is included.
    pub(crate) fn charged_ping_ms(self, variant: Variant, place: Place) -> Option<Doubtful> {
        Some(self.charged_row(variant, place)?.first_packet_ms?.median_of_blocks().into())
    }

    /// The part of the delay to a usable SA in which nodes compute and nothing is on its way.
    pub(crate) fn computation_share(self, variant: Variant, place: Place) -> Option<Doubtful> {
        let row = self.charged_row(variant, place)?;
        let split = row.delay_split_p50_ms?;
        let elsewhere = Doubtful::from(split.network + split.waiting);
        Some(Doubtful::from(1.0).less(elsewhere.per(row.delay_ms?.median_of_blocks().into())))
    }

    /// The mean of something on a link.
    pub(crate) fn link(self, variant: Variant, link: &str, of: fn(&LinkMeans) -> f64) -> Option<Figure> {
        Figure::of_link(self.rows(variant), link, of)
    }

    /// Messages between device and gateway.
    pub(crate) fn ike_messages(self, variant: Variant) -> Option<f64> {
        Some(self.link(variant, "ue-gw", |means| means.messages)?.value)
    }

    /// Millions of cycles of an authentication at a node, as they are judged.
    pub(crate) fn cycles(self, variant: Variant, node: &str) -> Option<Doubtful> {
        self.megacycles(variant, node).as_ref().map(Doubtful::of_varying)
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
