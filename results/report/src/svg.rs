//! Stacked horizontal bars with whiskers, as inline SVG. Colours are classes of the page's style sheet.

use std::io::{self, Write};

use crate::html::escaped;
use crate::number::plain;

/// A bar chart: all bars share one scale that begins at zero.
pub(crate) struct Chart<'a> {
    /// What a screen reader says first.
    pub(crate) title: &'a str,
    /// The unit of all values.
    pub(crate) unit: &'a str,
    /// From top to bottom.
    pub(crate) bars: Vec<Bar<'a>>,
}

/// One bar.
pub(crate) struct Bar<'a> {
    /// Left of it.
    pub(crate) label: String,
    /// Its parts from left to right: class, name and value.
    pub(crate) parts: Vec<(&'static str, &'a str, f64)>,
    /// What the whisker spans.
    pub(crate) interval: Option<(f64, f64)>,
    /// Right of it.
    pub(crate) text: String,
}

impl Bar<'_> {
    fn end(&self) -> f64 {
        let sum: f64 = self.parts.iter().map(|(_, _, value)| value).sum();
        self.interval.map_or(sum, |(_, high)| high.max(sum))
    }
}

const WIDTH: f64 = 900.0;
/// Room for labels: what the longest needs at about this much a character, within bounds.
const CHARACTER: f64 = 9.0;
const LABELS_MIN: f64 = 120.0;
const LABELS_MAX: f64 = 480.0;
const RIGHT: f64 = 150.0;
const BAR: f64 = 18.0;
const ROW: f64 = 30.0;
const AXIS: f64 = 34.0;

impl Chart<'_> {
    /// Writes the `<svg>` element; nothing if there is nothing to show.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let end = self.bars.iter().map(Bar::end).fold(0.0, f64::max);
        if end <= 0.0 {
            return Ok(());
        }
        let longest = self.bars.iter().map(|bar| bar.label.chars().count()).max().unwrap_or(0);
        let left = (longest as f64 * CHARACTER + 10.0).clamp(LABELS_MIN, LABELS_MAX);
        let scale = Scale { end, left };
        let height = ROW * self.bars.len() as f64 + AXIS;
        let title = escaped(self.title);
        writeln!(out, r#"<svg viewBox="0 0 {WIDTH} {height}" role="img"><title>{title}</title>"#)?;
        self.axis(&scale, height - AXIS, out)?;
        for (place, bar) in self.bars.iter().enumerate() {
            bar.write(&scale, ROW * place as f64 + (ROW - BAR) / 2.0, self.unit, out)?;
        }
        writeln!(out, "</svg>")
    }

    fn axis(&self, scale: &Scale, bottom: f64, out: &mut impl Write) -> io::Result<()> {
        for tick in scale.ticks() {
            let x = scale.x(tick);
            writeln!(out, r#"<line class="grid" x1="{x:.1}" y1="0" x2="{x:.1}" y2="{bottom:.1}"/>"#)?;
            let (y, label) = (bottom + 15.0, plain(tick));
            writeln!(out, r#"<text class="tick" x="{x:.1}" y="{y:.1}" text-anchor="middle">{label}</text>"#)?;
        }
        let (x, y, unit) = (WIDTH - RIGHT + 24.0, bottom + 15.0, escaped(self.unit));
        writeln!(out, r#"<text class="tick" x="{x:.1}" y="{y:.1}">{unit}</text>"#)
    }
}

impl Bar<'_> {
    fn write(&self, scale: &Scale, top: f64, unit: &str, out: &mut impl Write) -> io::Result<()> {
        let middle = top + BAR / 2.0 + 4.5;
        let (x, label) = (scale.left - 10.0, escaped(&self.label));
        writeln!(out, r#"<text x="{x:.1}" y="{middle:.1}" text-anchor="end">{label}</text>"#)?;
        let mut from = 0.0;
        for (class, name, value) in &self.parts {
            let (x, width) = (scale.x(from), scale.x(from + value) - scale.x(from));
            let name = escaped(&format!("{name} {} {unit}", plain(*value)));
            writeln!(
                out,
                r#"<rect class="{class}" x="{x:.1}" y="{top:.1}" width="{width:.1}" height="{BAR}"><title>{name}</title></rect>"#
            )?;
            from += value;
        }
        self.whisker(scale, top, out)?;
        let (x, text) = (scale.x(self.end()) + 8.0, escaped(&self.text));
        writeln!(out, r#"<text x="{x:.1}" y="{middle:.1}">{text}</text>"#)
    }

    fn whisker(&self, scale: &Scale, top: f64, out: &mut impl Write) -> io::Result<()> {
        let Some((low, high)) = self.interval else { return Ok(()) };
        let (low, high, y) = (scale.x(low.max(0.0)), scale.x(high), top + BAR / 2.0);
        let (up, down) = (y - 5.0, y + 5.0);
        writeln!(
            out,
            r#"<path class="interval" d="M{low:.1} {y:.1}H{high:.1}M{low:.1} {up:.1}V{down:.1}M{high:.1} {up:.1}V{down:.1}"/>"#
        )
    }
}

/// From values to places.
struct Scale {
    end: f64,
    /// Where the bars begin.
    left: f64,
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        self.left + (WIDTH - self.left - RIGHT) * value / self.end
    }

    /// Four to nine round values from zero.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let decade = 10_f64.powf((self.end / 4.0).log10().floor());
        let step = [5.0, 2.0, 1.0].map(|step| step * decade).into_iter().find(|step| step * 4.0 <= self.end);
        let step = step.unwrap_or(decade);
        let count = (self.end / step).floor() as u32;
        (0..=count).map(move |tick| f64::from(tick) * step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(Scale { end: 9.3, left: 230.0 }.ticks().collect::<Vec<_>>(), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(
            Scale { end: 400.0, left: 230.0 }.ticks().collect::<Vec<_>>(),
            [0.0, 100.0, 200.0, 300.0, 400.0]
        );
    }

    proptest! {
        #[test]
        fn an_axis_is_neither_empty_nor_crowded(end in 1e-6..1e12f64) {
            let scale = Scale { end, left: 230.0 };
            let count = scale.ticks().count();
            prop_assert!((4..=11).contains(&count), "{} ticks", count);
            prop_assert!(scale.ticks().all(|tick| tick <= end));
        }
    }
}
