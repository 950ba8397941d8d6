//! Metrics of what runs, for Prometheus: a page on a port of the loopback interface, and a file.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_live::Clock;
use keytoll_trace::output;
use miette::{Report, miette};

use crate::args::MetricsArgs;
use crate::screen::{self, Usage};

/// The metrics of what runs.
#[derive(Debug, Default)]
pub(crate) struct Exported {
    page: Arc<Mutex<String>>,
    file: Option<PathBuf>,
}

/// How long a reader may take for its request, and to take what is sent.
const PATIENCE: Duration = Duration::from_millis(200);
/// The longest request that is read.
const REQUEST_BYTES_MAX: usize = 4096;
/// How many readers are answered at a time: whoever calls and says nothing holds up one of them.
const READERS: usize = 8;

impl Exported {
    /// Serves a page on a loopback port, and writes a file, if they are wanted.
    pub(crate) fn open(args: &MetricsArgs) -> Result<Self, Report> {
        let (port, file) = (args.prometheus, args.prometheus_file.as_deref());
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

    /// Shows this page from now on. A file that cannot be written any more is left as it is.
    pub(crate) fn show(&self, page: String) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = page;
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

#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the work")]
fn serve(address: SocketAddr, page: &Arc<Mutex<String>>) -> Result<(), Report> {
    let listener = std::net::TcpListener::bind(address)
        .map_err(|error| miette!("cannot show metrics on TCP {address}: {error}"))?;
    let address = listener.local_addr().unwrap_or(address);
    screen::note(&format!("metrics on http://{address}/metrics\n"));
    answer_all(listener, page);
    Ok(())
}

/// Answers whoever calls, in a few threads.
#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the work")]
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

#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the work")]
fn answer(mut stream: std::net::TcpStream, text: &str) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    take_request(&mut stream)?;
    write!(
        stream,
        "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}

/// Reads the request to its end, whatever it asks for: who hangs up before takes the answer away with it.
#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the work")]
fn take_request(stream: &mut std::net::TcpStream) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    let clock = Clock::start();
    let is_in_time = || clock.now().since(Time::ZERO) < PATIENCE;
    while is_in_time() && request.len() < REQUEST_BYTES_MAX && !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => break,
            count => request.extend_from_slice(&piece[..count]),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
    #[expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a reader of the page")]
    fn a_request_may_come_in_pieces() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        answer_all(listener, &Arc::new(Mutex::new("up 1\n".to_owned())));
        let mut reader = std::net::TcpStream::connect(address).unwrap();
        for piece in ["GET ", "/metrics HTTP/1.0\r\n", "\r\n"] {
            reader.write_all(piece.as_bytes()).unwrap();
            thread::sleep(PATIENCE / 10);
        }
        let mut told = String::new();
        reader.read_to_string(&mut told).unwrap();
        assert!(told.ends_with("\r\n\r\nup 1\n"), "{told}");
    }
}
