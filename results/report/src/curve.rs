//! The course of a population over time: what is drawn of it, and lines of blocks for the screen.

use std::io::{self, Write};
use std::ops::Range;

use keytoll_analysis::Findings;
use keytoll_analysis::census::Point;
use keytoll_analysis::stats::{greatest, stretches};

use crate::layout::{WIDTH_MIN, wrapped};
use crate::number::plain;

/// What is drawn of a population, in the order of the screen.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// One value a second.
    values: Vec<f64>,
}

impl Curve {
    /// The greatest value.
    pub(crate) fn greatest(&self) -> f64 {
        greatest(self.values.iter().copied())
    }

    /// The greatest value of some seconds.
    pub(crate) fn greatest_within(&self, seconds: Range<usize>) -> f64 {
        greatest(self.values[seconds].iter().copied())
    }
}

/// So many gateways have a curve each; of more there are the least busy one, the mean, and the busiest.
const GATEWAYS_MAX: usize = 4;

/// The curves of a population.
pub(crate) fn curves(points: &[Point]) -> Vec<Curve> {
    let curve = |name: &str, unit, of: &dyn Fn(&Point) -> f64| {
        let values = points.iter().map(of).collect();
        Curve { name: name.to_owned(), unit, values }
    };
    let delay = |place: usize| move |point: &Point| point.delay_ms.map_or(0.0, |delays| delays[place]);
    let mut curves = vec![
        curve("offered", "/s", &|point| point.offered as f64),
        curve("established", "/s", &|point| point.established as f64),
        curve("failed", "/s", &|point| point.failed as f64),
        curve("in progress", "", &|point| point.in_flight as f64),
        curve("delay p50", "ms", &delay(0)),
        curve("delay p99", "ms", &delay(1)),
        curve("sent again", "/s", &|point| point.retransmissions as f64),
        curve("cookies", "/s", &|point| point.cookies_shown as f64),
    ];
    let several = points.first().map_or(0, |point| point.several().count());
    let nodes = points.first().into_iter().flat_map(|point| &point.nodes).enumerate();
    for (place, node) in nodes.filter(|(_, node)| node.established.is_none() || several <= GATEWAYS_MAX) {
        let of = |point: &Point| point.nodes.get(place).map_or(0.0, |node| 100.0 * node.utilisation);
        curves.push(curve(&format!("{} busy", node.node), "%", &of));
    }
    if several > GATEWAYS_MAX {
        let of = |reduce: fn(f64, f64) -> f64| {
            move |point: &Point| {
                100.0 * point.several().map(|it| it.utilisation).reduce(reduce).unwrap_or(0.0)
            }
        };
        let mean = |point: &Point| point.node("gw").map_or(0.0, |all| 100.0 * all.utilisation);
        curves.push(curve("gw least busy", "%", &of(f64::min)));
        curves.push(curve("gw mean busy", "%", &mean));
        curves.push(curve("gw most busy", "%", &of(f64::max)));
    }
    curves.retain(|curve| curve.values.iter().any(|value| *value > 0.0));
    curves
}

/// Blocks of eight heights.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

fn line_of(values: &[f64], room: usize) -> String {
    let highest = greatest(values.iter().copied());
    let block = |value: f64| match value {
        value if value <= 0.0 || highest <= 0.0 => ' ',
        value => BLOCKS[((value / highest * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    stretches(values.len(), room).map(|stretch| block(greatest(values[stretch].iter().copied()))).collect()
}

/// The width of the names of curves, and of their greatest values.
const NAME: usize = 13;
const GREATEST: usize = 14;

/// Writes the curves of all populations for a screen of so many columns; nothing without populations.
///
/// # Errors
/// When they cannot be written.
pub fn write(findings: &Findings, width: usize, mut out: impl Write) -> io::Result<()> {
    let width = width.clamp(WIDTH_MIN, crate::terminal::WIDTH_MAX);
    for (place, population) in findings.populations.iter().enumerate() {
        let Some(row) = findings.summary.rows.get(place) else { continue };
        let points = &population.account.points;
        writeln!(out)?;
        let head =
            format!("{}, {} from left to right; to the right the highest", row.subject(), seconds(points));
        wrapped(&head, width, &mut out)?;
        for curve in curves(points) {
            let line = line_of(&curve.values, width.saturating_sub(NAME + GREATEST + 2));
            let (Curve { name, unit, .. }, greatest) = (&curve, plain(curve.greatest()));
            writeln!(out, "  {name:<NAME$}{line} {greatest} {unit}")?;
        }
    }
    Ok(())
}

fn seconds(points: &[Point]) -> String {
    match points.len() {
        1 => "one second".to_owned(),
        count => format!("{count} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_gateways_the_least_the_mean_and_the_most_busy_are_drawn() {
        let names = |count: u32| {
            let mut census = keytoll_analysis::census::Census::new();
            (1..=count).for_each(|number| census.add_gateway(&format!("gw-{number}"), 1));
            let second = std::time::Duration::from_secs(1);
            (1..=count).for_each(|number| census.busy(&format!("gw-{number}"), second, second * number / 10));
            census.end(second);
            let curves = curves(&census.points());
            curves.iter().map(|curve| format!("{} {:.0}", curve.name, curve.greatest())).collect::<Vec<_>>()
        };
        assert_eq!(names(2), ["gw-1 busy 10", "gw-2 busy 20"]);
        assert_eq!(names(5), ["gw least busy 10", "gw mean busy 30", "gw most busy 50"]);
    }

    #[test]
    fn a_line_is_as_high_as_its_highest_value() {
        assert_eq!(line_of(&[0.0, 1.0, 4.0, 8.0], 10), " ▁▄█");
        assert_eq!(line_of(&[1.0, 8.0, 2.0, 4.0], 2), "█▄");
        assert_eq!(line_of(&[0.0, 0.0], 10), "  ");
    }
}
