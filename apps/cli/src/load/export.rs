//! What others read of a load while it runs and afterwards: Prometheus's text format on a port and in a file, and JUnit's XML.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use keytoll_load::{Second, Totals};
use keytoll_report::export::junit::{Case, Outcome, Suite};
use keytoll_report::export::prometheus::{Kind, Metrics, Sample};
use keytoll_trace::output;
use miette::{Report, miette};

use super::document::{Document, Verdict};
use crate::screen::{self, Usage};

/// The metrics of a running load.
#[derive(Debug, Default)]
pub(crate) struct Exported {
    page: Arc<Mutex<String>>,
    file: Option<PathBuf>,
}

/// How long a reader may take for its request, and to take what is sent.
const PATIENCE: Duration = Duration::from_millis(200);
/// How many readers are answered at a time: whoever calls and says nothing holds up one of them.
const READERS: usize = 8;

impl Exported {
    /// Serves a page on a loopback port, and writes a file, if they are wanted.
    pub(crate) fn open(port: Option<SocketAddr>, file: Option<&Path>) -> Result<Self, Report> {
        let unwritable = |error: std::io::Error| screen::unwritable(file.unwrap_or(Path::new("")), &error);
        let place = file.map(output::place).transpose().map_err(unwritable)?;
        let exported = Self { page: Arc::default(), file: place };
        exported.write_file().map_err(unwritable)?;
        if let Some(address) = port {
            if !address.ip().is_loopback() {
                let message =
                    format!("metrics are shown on this machine alone, and {} is not it", address.ip());
                return Err(
                    Usage::because(message, format!("`--prometheus 127.0.0.1:{}`", address.port())).into()
                );
            }
            serve(address, &exported.page)?;
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
        let page = self.page.lock().unwrap_or_else(PoisonError::into_inner).clone();
        output::replace_in_run(path, |out| out.write_all(page.as_bytes()))
    }
}

#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the load")]
fn serve(address: SocketAddr, page: &Arc<Mutex<String>>) -> Result<(), Report> {
    let listener = std::net::TcpListener::bind(address)
        .map_err(|error| miette!("cannot show metrics on TCP {address}: {error}"))?;
    let address = listener.local_addr().unwrap_or(address);
    screen::note(&format!("metrics on http://{address}/metrics\n"));
    answer_all(listener, page);
    Ok(())
}

/// Answers whoever calls, in a few threads.
#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the load")]
fn answer_all(listener: std::net::TcpListener, page: &Arc<Mutex<String>>) {
    let listener = Arc::new(listener);
    for _ in 0..READERS {
        let (listener, page) = (Arc::clone(&listener), Arc::clone(page));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let text = page.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // A reader that is gone has its loss.
                let _ = answer(stream, &text);
            }
        });
    }
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
    let mut metrics = Metrics::default();
    for (name, about, value) in [
        ("offered_total", "Starts that the schedule wanted.", counts.offered),
        ("begun_total", "Starts that were made.", counts.begun),
        ("established_total", "Devices that were authenticated.", counts.usable),
        ("retransmissions_total", "Messages sent again.", counts.retransmissions),
        ("messages_total", "Messages sent.", counts.messages),
        ("limited_seconds_total", "Seconds that the generator limited.", totals.limited_seconds),
    ] {
        metrics.family(&named(name), about, Kind::Counter, [Sample::plain(value as f64)]);
    }
    for (name, about, reasons) in [
        ("failed_total", "Calls that failed.", &counts.failed),
        ("lost_total", "Sessions that the target ended.", &counts.lost),
    ] {
        let samples = reasons.iter().map(|(why, count)| Sample::labelled("reason", why, *count as f64));
        metrics.family(&named(name), about, Kind::Counter, samples);
    }
    for (name, about, value) in [
        ("under_way", "Calls without outcome.", second.under_way as f64),
        ("sessions", "Sessions that are open.", second.standing as f64),
        ("cpu_share", "The share of a core that the busiest worker needs.", second.cpu_share),
    ] {
        metrics.family(&named(name), about, Kind::Gauge, [Sample::plain(value)]);
    }
    let about = "From the intended start until authenticated.";
    metrics.family(&named("delay_seconds"), about, Kind::Summary, delays(totals));
    metrics.text()
}

fn named(name: &str) -> String {
    format!("keytoll_load_{name}")
}

fn delays(totals: &Totals) -> impl Iterator<Item = Sample> {
    let delays = &totals.tally.delays;
    let quantiles = [0.5, 0.9, 0.99, 0.999].into_iter().filter_map(|quantile| {
        let delay = delays.quantile(quantile)?.as_secs_f64();
        Some(Sample::labelled("quantile", &quantile.to_string(), delay))
    });
    quantiles.chain([Sample { suffix: "_count", ..Sample::plain(delays.count() as f64) }])
}

/// JUnit's XML: a case for each condition.
pub(crate) fn junit(name: &str, document: &Document) -> String {
    let case = |verdict: &Verdict| {
        let measured = verdict.measured.as_deref().unwrap_or("nothing to measure");
        let failed = || Outcome::Failed(format!("{}: {measured}", verdict.condition));
        Case {
            class: "load".to_owned(),
            name: format!("not {}", verdict.condition),
            outcome: if verdict.failed { failed() } else { Outcome::Passed },
            told: String::new(),
        }
    };
    let cases = document.conditions.iter().map(case).collect();
    let stopped = document.stopped().map_or_else(String::new, |stopped| format!(", {stopped}"));
    let name = format!("keytoll load {name}{stopped}");
    Suite { name, time_s: Some(document.population.duration_s), cases }.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use keytoll_load::{Course, Tally};

    #[test]
    #[expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "readers of the page")]
    fn who_says_nothing_holds_up_nobody_for_long() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        answer_all(listener, &Arc::new(Mutex::new("up 1\n".to_owned())));
        let call = || std::net::TcpStream::connect(address).unwrap();
        let idle: Vec<_> = (0..40).map(|_| call()).collect();
        let begun = std::time::Instant::now();
        let mut reader = call();
        reader.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut told = String::new();
        reader.read_to_string(&mut told).unwrap();
        assert!(told.ends_with("\r\n\r\nup 1\n"), "{told}");
        // One at a time they would hold it up for 40 times as long.
        assert!(begun.elapsed() < PATIENCE * 20, "{:?}", begun.elapsed());
        drop(idle);
    }

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
