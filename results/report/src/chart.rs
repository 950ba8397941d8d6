//! Stacked horizontal bars with whiskers, as a list that a browser lays out: labels wrap, and text keeps its size however
//! narrow the page is. Colours and patterns are classes of the page's style sheet; every part has both, so that the chart
//! can be read without colour.

use std::io::{self, Write};

use crate::html::escaped;
use crate::number::plain;

/// A bar chart: all bars share one scale that begins at zero.
pub(crate) struct Chart<'a> {
    /// The title, with the unit.
    pub(crate) title: &'a str,
    /// The unit of all values.
    pub(crate) unit: &'a str,
    /// The classes of the parts, each with its meaning.
    pub(crate) key: &'a [(&'a str, &'a str)],
    /// The meaning of the whiskers.
    pub(crate) whiskers: &'a str,
    /// From top to bottom.
    pub(crate) bars: Vec<Bar<'a>>,
}

/// One bar.
pub(crate) struct Bar<'a> {
    /// The label, left of the bar, or above it on a narrow page.
    pub(crate) label: String,
    /// Its parts from left to right: class, name and value.
    pub(crate) parts: Vec<(&'static str, &'a str, f64)>,
    /// The ends of the whisker.
    pub(crate) interval: Option<(f64, f64)>,
    /// The text right of the bar.
    pub(crate) text: String,
}

impl Bar<'_> {
    fn sum(&self) -> f64 {
        self.parts.iter().map(|(_, _, value)| value).sum()
    }
}

/// A whisker longer than this many times the longest bar is cut off at the edge, lest it make all bars short.
const BEYOND: f64 = 2.0;

impl Chart<'_> {
    /// Writes the `<figure>` element; nothing if there are no bars.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let longest = self.bars.iter().map(Bar::sum).fold(0.0, f64::max);
        if longest <= 0.0 {
            return Ok(());
        }
        let highest = self.bars.iter().filter_map(|bar| Some(bar.interval?.1)).fold(0.0, f64::max);
        let scale = Scale { end: highest.clamp(longest, BEYOND * longest) };
        let step = scale.percent(scale.step());
        writeln!(out, r#"<figure class="chart" style="--step:{step:.3}%">"#)?;
        self.caption(out)?;
        writeln!(out, "<ul>")?;
        self.bars.iter().try_for_each(|bar| bar.write(&scale, self.unit, out))?;
        self.axis(&scale, out)?;
        writeln!(out, "</ul></figure>")
    }

    fn caption(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "<figcaption><b>{}</b>", escaped(self.title))?;
        for (class, name) in self.key {
            write!(out, r#" <span class="key"><i class="{class}"></i> {}</span>"#, escaped(name))?;
        }
        if self.bars.iter().any(|bar| bar.interval.is_some()) {
            let whiskers = escaped(self.whiskers);
            write!(out, r#" <span class="key"><i class="whisker"></i> {whiskers} (open: goes on)</span>"#)?;
        }
        writeln!(out, "</figcaption>")
    }

    fn axis(&self, scale: &Scale, out: &mut impl Write) -> io::Result<()> {
        write!(out, r#"<li class="axis" aria-hidden="true"><span class="plot">"#)?;
        for tick in scale.ticks() {
            let left = scale.percent(tick);
            // A number at the right edge stands left of its tick, lest it leave the page.
            let before = if left > 96.0 { ";translate:-100%" } else { "" };
            write!(out, r#"<i style="left:{left:.3}%{before}">{}</i>"#, plain(tick))?;
        }
        writeln!(out, r#"</span><span class="value">{}</span></li>"#, escaped(self.unit))
    }
}

impl Bar<'_> {
    fn write(&self, scale: &Scale, unit: &str, out: &mut impl Write) -> io::Result<()> {
        let spoken = self.parts.iter().map(|(_, name, value)| format!("{name} {} {unit}", plain(*value)));
        let spoken = escaped(&spoken.collect::<Vec<_>>().join(", "));
        write!(
            out,
            r#"<li><span class="label">{}</span><span class="plot" role="img" aria-label="{spoken}">"#,
            escaped(&self.label)
        )?;
        for (class, name, value) in &self.parts {
            let name = escaped(&format!("{name} {} {unit}", plain(*value)));
            let width = scale.percent(*value);
            write!(out, r#"<i class="{class}" style="width:{width:.3}%" title="{name}"></i>"#)?;
        }
        if let Some((low, high)) = self.interval {
            let (left, right) = (scale.percent(low.max(0.0)).min(100.0), scale.percent(high));
            let (width, beyond) = (right.min(100.0) - left, if right > 100.0 { " beyond" } else { "" });
            write!(out, r#"<i class="interval{beyond}" style="left:{left:.3}%;width:{width:.3}%"></i>"#)?;
        }
        writeln!(out, r#"</span><span class="value">{}</span></li>"#, escaped(&self.text))
    }
}

/// From values to places.
struct Scale {
    end: f64,
}

impl Scale {
    /// The position or the length of a value, in per cent of the plot.
    fn percent(&self, value: f64) -> f64 {
        100.0 * value / self.end
    }

    /// The distance of two ticks: a round value, four to nine of which are within the scale.
    fn step(&self) -> f64 {
        let decade = 10_f64.powf((self.end / 4.0).log10().floor());
        let step = [5.0, 2.0, 1.0].map(|step| step * decade).into_iter().find(|step| step * 4.0 <= self.end);
        step.unwrap_or(decade)
    }

    /// Round values from zero.
    fn ticks(&self) -> impl Iterator<Item = f64> {
        let step = self.step();
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
        assert_eq!(Scale { end: 9.3 }.ticks().collect::<Vec<_>>(), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(Scale { end: 400.0 }.ticks().collect::<Vec<_>>(), [0.0, 100.0, 200.0, 300.0, 400.0]);
    }

    fn shown(bars: Vec<Bar<'_>>) -> String {
        let mut out = Vec::new();
        let key: &[(&str, &str)] = &[("network", "under way")];
        Chart { title: "Delay, ms", unit: "ms", key, whiskers: "95 % interval", bars }
            .write(&mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    fn bar(label: &str, value: f64) -> Bar<'static> {
        let parts = vec![("network", "under way", value)];
        Bar { label: label.to_owned(), parts, interval: Some((value, value * 2.0)), text: plain(value) }
    }

    #[test]
    fn a_label_is_never_cut_and_its_bar_has_a_text() {
        let label = "ikev2-eap-tls suite=aes256gcm16-prfsha512-ecp521 chain=4,4 rekey_every=2s".repeat(3);
        let text = shown(vec![bar(&label, 2.0)]);
        assert!(text.contains(&format!(r#"<span class="label">{label}</span>"#)), "{text}");
        assert!(text.contains(r#"aria-label="under way 2 ms""#) && text.contains("width:50.000%"), "{text}");
    }

    #[test]
    fn one_long_whisker_does_not_make_all_bars_short() {
        let waited = Bar { interval: Some((1.0, 4000.0)), ..bar("waited", 2.0) };
        let text = shown(vec![waited, bar("quick", 1.0)]);
        // Twice the longest bar is the end: 2 of 4, and the whisker is open there.
        assert!(text.contains("width:50.000%"), "{text}");
        assert_eq!(
            text.matches(r#"class="interval beyond" style="left:25.000%;width:75.000%""#).count(),
            1,
            "{text}"
        );
    }

    #[test]
    fn a_chart_without_bars_writes_nothing() {
        assert_eq!(shown(Vec::new()), "");
        assert_eq!(shown(vec![Bar { interval: None, ..bar("none", 0.0) }]), "");
    }

    proptest! {
        #[test]
        fn an_axis_is_neither_empty_nor_crowded(end in 1e-6..1e12f64) {
            let scale = Scale { end };
            let count = scale.ticks().count();
            prop_assert!((4..=11).contains(&count), "{} ticks", count);
            prop_assert!(scale.ticks().all(|tick| tick <= end));
        }
    }
}
