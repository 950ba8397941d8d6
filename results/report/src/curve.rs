//! The course of a population over time: lines of blocks on the screen, and drawn on the page.

use std::io::{self, Write};

use keytoll_analysis::census::Point;
use keytoll_analysis::directory::Population;
use keytoll_analysis::{Findings, Summary};

use crate::html::escaped;
use crate::layout::{WIDTH_MIN, wrapped};
use crate::number::plain;

/// What is drawn of a population, in the order of the screen.
struct Curve {
    name: String,
    unit: &'static str,
    /// One value a second.
    values: Vec<f64>,
}

/// The curves of a population.
fn curves(points: &[Point]) -> Vec<Curve> {
    let curve = |name: &str, unit, of: &dyn Fn(&Point) -> f64| {
        let values = points.iter().map(of).collect();
        Curve { name: name.to_owned(), unit, values }
    };
    let delay = |place: usize| move |point: &Point| point.delay_ms.map_or(0.0, |delays| delays[place]);
    let mut curves = vec![
        curve("offered", "/s", &|point| point.offered as f64),
        curve("established", "/s", &|point| point.established as f64),
        curve("failed", "/s", &|point| point.failed as f64),
        curve("under way", "", &|point| point.in_flight as f64),
        curve("delay p50", "ms", &delay(0)),
        curve("delay p99", "ms", &delay(1)),
        curve("sent again", "/s", &|point| point.retransmissions as f64),
    ];
    let names = points.first().into_iter().flat_map(|point| &point.nodes).map(|node| &node.node).enumerate();
    for (place, name) in names {
        let of = |point: &Point| point.nodes.get(place).map_or(0.0, |node| 100.0 * node.utilisation);
        curves.push(curve(&format!("{name} busy"), "%", &of));
    }
    curves.retain(|curve| curve.values.iter().any(|value| *value > 0.0));
    curves
}

/// Blocks of eight heights.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The greatest values of as many stretches as there is room for, or of each second if there is more.
fn stretched(values: &[f64], room: usize) -> Vec<f64> {
    let count = values.len().min(room.max(1));
    let greatest = |place: usize| {
        let (from, to) = (place * values.len() / count, (place + 1) * values.len() / count);
        values[from..to.max(from + 1)].iter().copied().fold(0.0, f64::max)
    };
    (0..count).map(greatest).collect()
}

fn line_of(values: &[f64], room: usize) -> String {
    let highest = values.iter().copied().fold(0.0, f64::max);
    let block = |value: f64| match value {
        value if value <= 0.0 || highest <= 0.0 => ' ',
        value => BLOCKS[((value / highest * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    stretched(values, room).into_iter().map(block).collect()
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
            let greatest = curve.values.iter().copied().fold(0.0, f64::max);
            let Curve { name, unit, .. } = &curve;
            writeln!(out, "  {name:<NAME$}{line} {} {unit}", plain(greatest))?;
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

/// The size of a drawing in its own units.
const DRAWN: (f64, f64) = (600.0, 60.0);

/// Writes the curves of a population for the page.
pub(crate) fn draw(
    population: &Population,
    summary: &Summary,
    place: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some(row) = summary.rows.get(place) else { return Ok(()) };
    let points = &population.account.points;
    writeln!(out, "<h2>{}, {}</h2>", escaped(&row.subject().to_string()), seconds(points))?;
    curves(points).iter().try_for_each(|curve| drawn(curve, out))
}

fn drawn(curve: &Curve, out: &mut impl Write) -> io::Result<()> {
    let (width, height) = DRAWN;
    let values = stretched(&curve.values, 300);
    let highest = values.iter().copied().fold(0.0, f64::max);
    let step = width / (values.len().max(2) - 1) as f64;
    let at = |(place, value): (usize, &f64)| {
        format!("{:.1},{:.1}", place as f64 * step, height - value / highest * (height - 2.0))
    };
    let line: Vec<_> = values.iter().enumerate().map(at).collect();
    let Curve { name, unit, .. } = curve;
    let told = escaped(&format!("{name}: at most {} {unit}", plain(highest)));
    writeln!(
        out,
        r#"<figure class="curve"><figcaption>{told}</figcaption><svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" aria-label="{told}"><polyline points="{}"/></svg></figure>"#,
        line.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_as_high_as_its_highest_value() {
        assert_eq!(line_of(&[0.0, 1.0, 4.0, 8.0], 10), " ▁▄█");
        assert_eq!(line_of(&[1.0, 8.0, 2.0, 4.0], 2), "█▄");
        assert_eq!(line_of(&[0.0, 0.0], 10), "  ");
        assert_eq!(stretched(&[1.0, 2.0, 3.0], 2), [1.0, 3.0]);
    }
}
