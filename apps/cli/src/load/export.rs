//! What others read of a load while it runs and afterwards: Prometheus's text format on a port and in a file, and JUnit's XML.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use keytoll_load::{Second, Totals};
use keytoll_trace::output::Output;
use miette::{Report, miette};

use super::document::Document;
use crate::screen::{self, Usage};

/// The metrics of a running load.
#[derive(Debug, Default)]
pub(crate) struct Exported {
    page: Arc<Mutex<String>>,
    file: Option<PathBuf>,
}

/// How long a reader may take.
const PATIENCE: Duration = Duration::from_secs(1);

impl Exported {
    /// Serves a page on a loopback port, and writes a file, if they are wanted.
    pub(crate) fn open(port: Option<SocketAddr>, file: Option<&Path>) -> Result<Self, Report> {
        let exported = Self { page: Arc::default(), file: file.map(Path::to_owned) };
        exported.write_file().map_err(|error| screen::unwritable(file.unwrap_or(Path::new("")), &error))?;
        if let Some(address) = port {
            if !address.ip().is_loopback() {
                let message =
                    format!("metrics are shown on this machine alone, and {} is not it", address.ip());
                return Err(
                    Usage::because(message, format!("`--prometheus 127.0.0.1:{}`", address.port())).into()
                );
            }
            serve(address, Arc::clone(&exported.page))?;
        }
        Ok(exported)
    }

    /// A second is over. A file that cannot be written any more is left as it is.
    pub(crate) fn update(&self, second: &Second, totals: &Totals) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = page(second, totals);
        if let Err(error) = self.write_file() {
            let shown = self.file.as_deref().unwrap_or(Path::new("")).display();
            screen::note(&format!("warning: cannot write `{shown}`: {error}\n"));
        }
    }

    fn write_file(&self) -> std::io::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let mut output = Output::create(path)?;
        output.write_all(self.page.lock().unwrap_or_else(PoisonError::into_inner).as_bytes())?;
        output.finish()
    }
}

#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the load")]
fn serve(address: SocketAddr, page: Arc<Mutex<String>>) -> Result<(), Report> {
    let listener = std::net::TcpListener::bind(address)
        .map_err(|error| miette!("cannot show metrics on TCP {address}: {error}"))?;
    let address = listener.local_addr().unwrap_or(address);
    screen::note(&format!("metrics on http://{address}/metrics\n"));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let text = page.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // A reader that is gone has its loss.
            let _ = answer(stream, &text);
        }
    });
    Ok(())
}

#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the load")]
fn answer(mut stream: std::net::TcpStream, text: &str) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = [0; 4096];
    let _ = stream.read(&mut request)?;
    write!(
        stream,
        "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}

/// The page of a second.
fn page(second: &Second, totals: &Totals) -> String {
    let counts = &totals.tally.counts;
    let mut text = String::new();
    let mut counter = |name: &str, about: &str, value: u64| {
        let _ = write!(
            text,
            "# HELP keytoll_load_{name} {about}\n# TYPE keytoll_load_{name} counter\nkeytoll_load_{name} {value}\n"
        );
    };
    counter("offered_total", "Starts that the schedule wanted.", counts.offered);
    counter("begun_total", "Starts that were made.", counts.begun);
    counter("established_total", "Devices that were authenticated.", counts.usable);
    counter("retransmissions_total", "Messages sent again.", counts.retransmissions);
    counter("messages_total", "Messages sent.", counts.messages);
    counter("limited_seconds_total", "Seconds that the generator limited.", totals.limited_seconds);
    let failed = counts.failed.iter().map(|(why, count)| (*why, *count));
    labelled(&mut text, "failed_total", "Calls that failed.", failed);
    labelled(
        &mut text,
        "lost_total",
        "Sessions that the target ended.",
        counts.lost.iter().map(|(why, count)| (*why, *count)),
    );
    for (name, about, value) in [
        ("under_way", "Calls without outcome.", second.under_way as f64),
        ("sessions", "Sessions that are open.", second.standing as f64),
        ("cpu_share", "The share of a core that the busiest worker needs.", second.cpu_share),
    ] {
        let _ = write!(
            text,
            "# HELP keytoll_load_{name} {about}\n# TYPE keytoll_load_{name} gauge\nkeytoll_load_{name} {value}\n"
        );
    }
    let _ = write!(
        text,
        "# HELP keytoll_load_delay_seconds From the intended start until authenticated.\n# TYPE keytoll_load_delay_seconds summary\n"
    );
    for quantile in [0.5, 0.9, 0.99, 0.999] {
        if let Some(delay) = totals.tally.delays.quantile(quantile) {
            let _ = writeln!(
                text,
                "keytoll_load_delay_seconds{{quantile=\"{quantile}\"}} {}",
                delay.as_secs_f64()
            );
        }
    }
    let _ = writeln!(text, "keytoll_load_delay_seconds_count {}", totals.tally.delays.count());
    text
}

fn labelled<'a>(text: &mut String, name: &str, about: &str, values: impl Iterator<Item = (&'a str, u64)>) {
    let _ = write!(text, "# HELP keytoll_load_{name} {about}\n# TYPE keytoll_load_{name} counter\n");
    for (why, count) in values {
        let why = why.replace('\\', "\\\\").replace('"', "\\\"");
        let _ = writeln!(text, "keytoll_load_{name}{{reason=\"{why}\"}} {count}");
    }
}

/// JUnit's XML: a case for each condition.
pub(crate) fn junit(name: &str, document: &Document) -> String {
    let failures = document.conditions.iter().filter(|verdict| verdict.failed).count();
    let (tests, time) = (document.conditions.len(), document.population.duration_s);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"keytoll load {}\" tests=\"{tests}\" failures=\"{failures}\" time=\"{time}\">\n",
        escaped(name)
    );
    for verdict in &document.conditions {
        let condition = escaped(&verdict.condition);
        let measured = escaped(verdict.measured.as_deref().unwrap_or("nothing to measure"));
        let _ = match verdict.failed {
            true => writeln!(
                text,
                "  <testcase classname=\"load\" name=\"not {condition}\">\n    <failure message=\"{condition}: {measured}\"/>\n  </testcase>"
            ),
            false => writeln!(text, "  <testcase classname=\"load\" name=\"not {condition}\"/>"),
        };
    }
    text + "</testsuite>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use keytoll_load::{Course, Tally};

    #[test]
    fn the_page_has_help_types_and_escaped_labels() {
        let mut totals = Totals::default();
        totals.tally.counts.failed.insert("a \"b\"", 2);
        totals.tally.delays.record(Duration::from_millis(5));
        let second = Second {
            number: 0,
            tally: Tally::default(),
            under_way: 3,
            standing: 0,
            standing_max: 0,
            cpu_share: 0.5,
            is_limited: false,
            target: None,
            course: Course::Starting,
        };
        let page = page(&second, &totals);
        assert!(page.contains("keytoll_load_failed_total{reason=\"a \\\"b\\\"\"} 2\n"), "{page}");
        assert!(
            page.contains("keytoll_load_under_way 3\n") && page.contains("{quantile=\"0.99\"} 0.00"),
            "{page}"
        );
        assert!(page.lines().all(|line| line.starts_with('#') || line.split(' ').count() >= 2), "{page}");
    }
}
