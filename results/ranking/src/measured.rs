//! What a criterion measures, looked up in the summary of a run.

use keytoll_analysis::Summary;
use keytoll_analysis::samples::Counts;
use keytoll_analysis::summary::{LinkMeans, SummaryRow};
use keytoll_analysis::trace::{Link, Node};
use keytoll_document::quantity::Kind;

use crate::file::{BYTES, MILLISECONDS, NANOSECONDS};
use crate::graded::{Doubt, Valued};
use crate::resampling::{Estimate, Number, RESAMPLES, Resamples, Statistic};

/// Something that a row of a summary has.
#[derive(Debug)]
pub struct Measure {
    /// Its name in criteria files.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Where it is measured.
    pub place: Place,
    /// How quantities of it are written, and how many base units of that kind its unit has.
    pub quantity: Option<(Kind, f64)>,
    /// The value of a row at a node, if there is one.
    read: fn(&SummaryRow, &str) -> Option<Reading>,
    /// What is counted on a link.
    count: fn(&LinkMeans) -> f64,
    /// How it follows from single authentications, if it does.
    sampled: Option<Sampled>,
}

/// How a measure follows from single authentications.
#[derive(Debug, Clone, Copy)]
struct Sampled {
    statistic: Statistic,
    /// The column of `samples.csv`, without the name of the node or link; empty for whether they succeeded.
    column: &'static str,
    counts: Counts,
}

const MEDIAN: Statistic = Statistic::Quantile(0.5);

const fn sampled(statistic: Statistic, column: &'static str, counts: Counts) -> Option<Sampled> {
    Some(Sampled { statistic, column, counts })
}

/// Where something is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Of an authentication as a whole.
    Whole,
    /// At a node.
    Node,
    /// On links, in sum.
    Links,
}

/// A value and its 95 % interval.
#[derive(Debug, Clone, Copy)]
struct Reading {
    value: f64,
    interval: Option<(f64, f64)>,
}

const fn at(place: Place, name: &'static str, unit: &'static str, about: &'static str) -> Measure {
    Measure { name, unit, about, place, quantity: None, read: |_, _| None, count: |_| 0.0, sampled: None }
}

/// Every one.
pub const MEASURES: &[Measure] = &[
    Measure {
        quantity: Some(MILLISECONDS),
        read: |row, _| Some(row.delay_ms?.median().into()),
        sampled: sampled(MEDIAN, "delay_ns", Counts::Sound),
        ..at(Place::Whole, "delay", "ms", "median delay of an authentication")
    },
    Measure {
        quantity: Some(MILLISECONDS),
        read: |row, _| Some(certain(row.delay_ms?.p95)),
        sampled: sampled(Statistic::Quantile(0.95), "delay_ns", Counts::Sound),
        ..at(Place::Whole, "delay-p95", "ms", "delay that 95 % of the authentications do not exceed")
    },
    Measure {
        quantity: Some(MILLISECONDS),
        read: |row, _| Some(row.first_packet_ms?.median().into()),
        sampled: sampled(MEDIAN, "first_packet_ns", Counts::Sound),
        ..at(Place::Whole, "first-packet", "ms", "median time until the first packet came back")
    },
    Measure {
        read: |row, _| (row.n > 0).then(|| certain(row.succeeded as f64 / row.n as f64)),
        sampled: sampled(Statistic::Mean, "", Counts::All),
        ..at(Place::Whole, "success", "", "part of the authentications that succeeded")
    },
    Measure {
        quantity: Some(NANOSECONDS),
        read: |row, node| Some(row.cpu.get(node)?.median().into()),
        sampled: sampled(MEDIAN, "cpu_ns", Counts::Undisturbed),
        ..at(Place::Node, "cpu-time", "ns", "median CPU time of this machine")
    },
    Measure {
        read: |row, node| {
            let cpu = row.cpu.get(node)?;
            let (value, half) = (cpu.cycles_p50?, cpu.cycles_p50_half_width());
            Some(Reading { value, interval: half.map(|half| (value - half, value + half)) })
        },
        sampled: sampled(MEDIAN, "cpu_ns", Counts::Undisturbed),
        ..at(Place::Node, "cpu-cycles", "cycles", "median CPU cycles of the node's processor")
    },
    Measure {
        quantity: Some(BYTES),
        read: |row, node| Some(certain(row.memory_bytes.get(node)?.peak? as f64)),
        ..at(Place::Node, "memory", "B", "most heap during the start and the first authentication")
    },
    Measure {
        quantity: Some(BYTES),
        read: |row, node| Some(certain(row.memory_bytes.get(node)?.idle_sa?)),
        sampled: sampled(MEDIAN, "idle_sa_bytes", Counts::All),
        ..at(Place::Node, "idle-memory", "B", "heap of an idle SA pair")
    },
    Measure {
        count: |means| means.messages,
        sampled: sampled(Statistic::Mean, "messages", Counts::All),
        ..at(Place::Links, "messages", "", "mean number of messages of an authentication")
    },
    Measure {
        count: |means| means.packets,
        sampled: sampled(Statistic::Mean, "packets", Counts::All),
        ..at(Place::Links, "packets", "", "mean number of IP packets of an authentication")
    },
    Measure {
        quantity: Some(BYTES),
        count: |means| means.bytes,
        sampled: sampled(Statistic::Mean, "bytes", Counts::All),
        ..at(Place::Links, "bytes", "B", "mean bytes of an authentication, headers included")
    },
];

fn certain(value: f64) -> Reading {
    Reading { value, interval: None }
}

impl From<keytoll_analysis::summary::Median> for Reading {
    fn from(median: keytoll_analysis::summary::Median) -> Self {
        Self { value: median.value, interval: median.interval }
    }
}

/// What is measured of every alternative.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// What.
    pub measure: &'static Measure,
    /// At which node, if at one: the first of these that a method has.
    pub nodes: Vec<String>,
    /// On which links, if on some.
    pub links: Links,
    /// Over which networks; over all, if empty.
    pub networks: Vec<String>,
    /// In which topologies; in all, if empty.
    pub topologies: Vec<String>,
    /// How several rows become one value.
    pub over: Over,
    /// The value of a method that has no such node.
    pub absent: Option<f64>,
}

impl PartialEq for Measurement {
    fn eq(&self, other: &Self) -> bool {
        self.measure.name == other.measure.name
            && self.nodes == other.nodes
            && self.links == other.links
            && self.networks == other.networks
            && self.topologies == other.topologies
            && self.over == other.over
            && self.absent == other.absent
    }
}

/// Links of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Links {
    /// These.
    Only(Vec<String>),
    /// All but these.
    OtherThan(Vec<String>),
}

impl Links {
    fn has(&self, link: &str) -> bool {
        match self {
            Self::Only(links) => links.iter().any(|one| one == link),
            Self::OtherThan(links) => links.iter().all(|one| one != link),
        }
    }
}

/// How several rows become one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Their median; the mean of the two in the middle.
    Median,
    /// Their mean.
    Mean,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

impl Over {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Median, Self::Mean, Self::Min, Self::Max];

    /// Its name in criteria files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
        }
    }

    /// The value of some rows. Where any was resampled, each resample has a value of its own; otherwise the deviation is that of the row
    /// which is taken, or the mean of all: rows of a run are not independent.
    fn of(self, rows: &[Valued]) -> Option<Valued> {
        let at = |resample| self.number(rows.iter().map(|row| row.resampled(resample)).collect());
        let value = self.number(rows.iter().map(|row| row.value).collect())?;
        let is_within = |row: &Valued| matches!(row.doubt, Doubt::Interval { .. });
        let is_resampled = |row: &Valued| matches!(row.doubt, Doubt::Resampled(_));
        let doubt = if !rows.iter().any(is_within) && rows.iter().any(is_resampled) {
            Doubt::Resampled((0..RESAMPLES).filter_map(at).collect())
        } else {
            self.within(rows, value)
        };
        Some(Valued { value, doubt })
    }

    fn number(self, mut values: Vec<f64>) -> Option<f64> {
        values.sort_by(f64::total_cmp);
        let middle = |at: usize| values.get(at).copied();
        match self {
            Self::Min => values.first().copied(),
            Self::Max => values.last().copied(),
            Self::Mean => (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
            Self::Median => {
                Some((middle(values.len() / 2)? + middle(values.len().checked_sub(1)? / 2)?) / 2.0)
            }
        }
    }

    fn within(self, rows: &[Valued], value: f64) -> Doubt {
        let deviation = |row: &Valued| match row.doubt {
            Doubt::Interval { log2_stddev } => log2_stddev,
            _ => 0.0,
        };
        let taken = || rows.iter().find(|row| row.value.total_cmp(&value).is_eq());
        Doubt::within(match self {
            Self::Min | Self::Max => taken().map_or(0.0, deviation),
            Self::Mean | Self::Median => rows.iter().map(deviation).sum::<f64>() / rows.len() as f64,
        })
    }
}

/// Why there is no value: half a sentence after "the run has".
pub(crate) type Missing = String;

impl Measurement {
    /// Its value for a method and, if given, a variant of it.
    ///
    /// # Errors
    /// The run has no such row, or such a row has no such measurement.
    pub(crate) fn of(
        &self,
        summary: &Summary,
        method: &str,
        variant: &str,
        resamples: &Resamples,
    ) -> Result<Valued, Missing> {
        let of_method = summary.rows.iter().filter(|row| row.method == method && row.variant == variant);
        let chosen = |name: &str, of: &[String]| of.is_empty() || of.iter().any(|one| one == name);
        let rows: Vec<&SummaryRow> = of_method
            .filter(|row| chosen(&row.network, &self.networks) && chosen(&row.topology, &self.topologies))
            .collect();
        self.check_places(&rows, method)?;
        let values = rows.iter().map(|row| self.value(row, resamples)).collect::<Result<Vec<_>, _>>()?;
        self.over.of(&values).ok_or_else(|| format!("no row of `{method}`"))
    }

    /// What and where, in words.
    pub fn described(&self) -> String {
        let at =
            if self.nodes.is_empty() { String::new() } else { format!(" of {}", self.nodes.join(" or ")) };
        let links = match &self.links {
            Links::Only(links) => format!(" on {}", links.join(", ")),
            Links::OtherThan(links) if links.is_empty() => String::new(),
            Links::OtherThan(links) => format!(" on links other than {}", links.join(", ")),
        };
        let over = |names: &[String], word: &str| {
            if names.is_empty() { String::new() } else { format!(" {word} {}", names.join(", ")) }
        };
        let (networks, topologies) = (over(&self.networks, "over"), over(&self.topologies, "in"));
        format!("{}{at}{links}{networks}{topologies}, {} of rows", self.measure.name, self.over.name())
    }

    /// Every network and topology that is named must be there: a maximum over two of three is another one.
    fn check_places(&self, rows: &[&SummaryRow], method: &str) -> Result<(), Missing> {
        let lacks = |names: &[String], of: fn(&SummaryRow) -> &String| {
            names.iter().find(|name| rows.iter().all(|row| of(row) != *name)).cloned()
        };
        let network = lacks(&self.networks, |row| &row.network).map(|name| ("over network", name));
        let topology = lacks(&self.topologies, |row| &row.topology).map(|name| ("in topology", name));
        network
            .or(topology)
            .map_or(Ok(()), |(where_, name)| Err(format!("no row of `{method}` {where_} `{name}`")))
    }

    fn value(&self, row: &SummaryRow, resamples: &Resamples) -> Result<Valued, Missing> {
        let node = self.node(row);
        let reading = match self.measure.place {
            Place::Links => self.counted(row),
            Place::Node if self.lacks_node(row, node) => self.absent.map(certain),
            Place::Node | Place::Whole => (self.measure.read)(row, node),
        };
        reading.filter(|reading| reading.value.is_finite() && reading.value >= 0.0).map_or_else(
            || Err(self.missing(row, node)),
            |reading| {
                Ok(reading.valued(self.estimate(node).and_then(|estimate| resamples.of(row, &estimate))))
            },
        )
    }

    /// The node of a row at which it is measured: the first that there is.
    fn node(&self, row: &SummaryRow) -> &str {
        let node = self.nodes.iter().find(|node| !self.lacks_node(row, node)).or(self.nodes.first());
        node.map(String::as_str).unwrap_or_default()
    }

    /// How values follow from single authentications; one for each of its nodes.
    pub(crate) fn estimates(&self) -> Vec<Estimate> {
        let none = String::new();
        let nodes = if self.nodes.is_empty() { std::slice::from_ref(&none) } else { &self.nodes };
        nodes.iter().filter_map(|node| self.estimate(node)).collect()
    }

    fn estimate(&self, node: &str) -> Option<Estimate> {
        let Sampled { statistic, column, counts } = self.measure.sampled?;
        let number = match self.measure.place {
            Place::Whole if column.is_empty() => Number::Success,
            Place::Whole => Number::Column(column.to_owned()),
            Place::Node => Number::Column(format!("{node}_{column}")),
            Place::Links => {
                let all = Node::ALL.iter().flat_map(|one| Node::ALL.map(|other| Link(*one, other).name()));
                let links = all.filter(|link| self.links.has(link));
                Number::Sum(links.map(|link| format!("{}_{column}", link.replace('-', "_"))).collect())
            }
        };
        Some(Estimate { statistic, number, counts })
    }

    /// The sum of a row's links; a row without links counted nothing at all.
    fn counted(&self, row: &SummaryRow) -> Option<Reading> {
        let links = row.links.iter().filter(|(link, _)| self.links.has(link));
        (row.n > 0).then(|| certain(links.fold(0.0, |sum, (_, means)| sum + (self.measure.count)(means))))
    }

    fn lacks_node(&self, row: &SummaryRow, node: &str) -> bool {
        row.cpu.get(node).is_none() && row.memory_bytes.get(node).is_none()
    }

    fn missing(&self, row: &SummaryRow, node: &str) -> Missing {
        let at = if node.is_empty() { String::new() } else { format!(" of node `{node}`") };
        let (measure, method) = (self.measure.name, &row.method);
        format!("no `{measure}`{at} for `{method}` over `{}`, `{}`", row.network, row.topology)
    }
}

impl Reading {
    /// With what its resamples have of it, if there are any.
    fn valued(self, resampled: Option<&[f64]>) -> Valued {
        let value = self.value;
        let doubt = match resampled {
            Some(parts) => Doubt::Resampled(parts.iter().map(|part| part * value).collect()),
            None => Doubt::within(self.log2_stddev()),
        };
        Valued { value, doubt }
    }

    /// Of the logarithm, as if it were normal.
    fn log2_stddev(self) -> f64 {
        const Z_95: f64 = 1.959_964;
        match self.interval {
            Some((low, high)) if low > 0.0 && high > low => (high.log2() - low.log2()) / (2.0 * Z_95),
            _ => 0.0,
        }
    }
}
