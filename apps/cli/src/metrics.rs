//! Metrics of what runs, for Prometheus: a page on a port of the loopback interface, and a file.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_live::Clock;
use keytoll_trace::output;
use miette::{Report, miette};

use crate::args::MetricsArgs;
use crate::outputs::{METRICS, check_place, check_replaceable};
use crate::screen;

/// The metrics of what runs.
#[derive(Debug, Default)]
pub(crate) struct Exported {
    page: Arc<Mutex<String>>,
    file: Option<PathBuf>,
    /// Whether the file could not be written the last time.
    is_unwritable: bool,
}

/// How long a reader may take for its request, and to take what is sent.
const PATIENCE: Duration = Duration::from_millis(200);
/// The longest request that is read: proxies add cookies and tokens of many kilobytes.
const REQUEST_BYTES_MAX: usize = 64 << 10;
/// How many readers are answered at a time: whoever calls and says nothing holds up one of them.
const READERS: usize = 8;

impl Exported {
    /// Serves a page on a loopback port, and finds the place of a file, if they are wanted. Nothing is written yet.
    pub(crate) fn open(args: &MetricsArgs) -> Result<Self, Report> {
        let file = args.prometheus_file.as_deref();
        file.map_or(Ok(()), |file| check_replaceable(file, &METRICS).and_then(|()| check_place(file)))?;
        let place = file.map(writable).transpose();
        let file = place.map_err(|error| screen::unwritable(file.unwrap_or(Path::new("")), &error))?;
        let exported = Self { file, ..Self::default() };
        args.prometheus.map_or(Ok(()), |address| serve(address, &exported.page))?;
        Ok(exported)
    }

    /// Shows this page from now on. A file that cannot be written any more is left as it is, which is told once.
    pub(crate) fn show(&mut self, page: String) {
        let written = self
            .file
            .as_deref()
            .map_or(Ok(()), |file| output::refresh_in_run(file, |out| out.write_all(page.as_bytes())));
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = page;
        if let (Err(error), false) = (&written, self.is_unwritable) {
            let shown = self.file.as_deref().unwrap_or(Path::new("")).display();
            screen::note(&format!("warning: cannot write `{shown}`: {error}\n"));
        }
        self.is_unwritable = written.is_err();
    }
}

/// The place of a file beside which another one can be made, which will replace it.
fn writable(file: &Path) -> std::io::Result<PathBuf> {
    let place = output::place(file)?;
    output::Output::create_in_run(&place).map(|_unused| place)
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
            loop {
                answer_next(&listener, &page);
            }
        });
    }
}

#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the work")]
fn answer_next(listener: &std::net::TcpListener, page: &Mutex<String>) {
    let Ok((stream, _)) = listener.accept() else {
        // Without a free descriptor the next call would fail at once, and again.
        #[expect(clippy::disallowed_methods, reason = "a thread of its own, beside the work")]
        thread::sleep(PATIENCE);
        return;
    };
    let text = page.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // A reader that is gone has its loss.
    let _ = answer(stream, &text);
}

#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the work")]
fn answer(mut stream: std::net::TcpStream, text: &str) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = take_request(&mut stream)?;
    stream.write_all(response(&String::from_utf8_lossy(&request), text).as_bytes())
}

/// The response to a request for the page with this text.
fn response(request: &str, text: &str) -> String {
    let refused = |status: &str, more: &str| {
        format!("HTTP/1.0 {status}\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n")
    };
    match request.split(' ').next() {
        // The rest may have a name of a host.
        _ if !is_whole(request.as_bytes()) => refused("408 Request Timeout", ""),
        // A page of another site has a name of its own for this address, by which its scripts would read the answer (DNS rebinding).
        _ if !is_for_us(request) => refused("421 Misdirected Request", ""),
        Some(method @ ("GET" | "HEAD")) => {
            // RFC 9110 §9.3.2: HEAD gets the header without the page.
            let body = if method == "HEAD" { "" } else { text };
            let length = text.len();
            format!(
                "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )
        }
        _ => refused("405 Method Not Allowed", "Allow: GET, HEAD\r\n"),
    }
}

/// Whether all names of a host in a request are this machine's: an address of loopback, `localhost`, or none.
fn is_for_us(request: &str) -> bool {
    let is_host = |line: &&str| line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case("host:"));
    let is_ours = |line: &str| {
        let host = line[5..].trim();
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let name = name.map_or(host, |(name, _)| name).trim_matches(['[', ']']);
        name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    };
    request.lines().skip(1).filter(is_host).all(is_ours)
}

/// Reads the request to its end, whatever it asks for: who hangs up before takes the answer away with it.
#[expect(clippy::disallowed_types, reason = "a page for a scraper, on loopback, beside the work")]
fn take_request(stream: &mut std::net::TcpStream) -> std::io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    let clock = Clock::start();
    let is_in_time = || clock.now().since(Time::ZERO) < PATIENCE;
    while is_in_time() && request.len() < REQUEST_BYTES_MAX && !is_whole(&request) {
        match stream.read(&mut piece)? {
            0 => break,
            count => request.extend_from_slice(&piece[..count]),
        }
    }
    Ok(request)
}

// RFC 9112 §2.2: a line feed alone may end a line, too.
fn is_whole(request: &[u8]) -> bool {
    request.ends_with(b"\r\n\r\n") || request.ends_with(b"\n\n")
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

    /// What is told to whoever sends these pieces.
    #[expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a reader of the page")]
    fn told(pieces: &[&str]) -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        answer_all(listener, &Arc::new(Mutex::new("up 1\n".to_owned())));
        let mut reader = std::net::TcpStream::connect(address).unwrap();
        for piece in pieces {
            reader.write_all(piece.as_bytes()).unwrap();
            thread::sleep(PATIENCE / 10);
        }
        let mut told = String::new();
        reader.read_to_string(&mut told).unwrap();
        told
    }

    #[test]
    fn a_request_may_come_in_pieces_be_long_and_end_its_lines_by_line_feeds() {
        let long = format!("GET /metrics HTTP/1.0\r\nCookie: {}\r\n\r\n", "c".repeat(20_000));
        for pieces in
            [&["GET ", "/metrics HTTP/1.0\r\n", "\r\n"][..], &[long.as_str()], &["GET /metrics HTTP/1.0\n\n"]]
        {
            let told = told(pieces);
            assert!(told.ends_with("\r\n\r\nup 1\n"), "{told}");
        }
        let head = told(&["HEAD /metrics HTTP/1.0\r\n\r\n"]);
        assert!(head.contains("Content-Length: 5\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }

    #[test]
    fn neither_other_methods_nor_other_hosts_get_the_page() {
        let status = |request: &str| told(&[request]).lines().next().unwrap_or_default().to_owned();
        for ours in ["localhost:9400", "127.0.0.1:9400", "127.0.0.2", "[::1]:9400", "LOCALHOST"] {
            assert_eq!(
                status(&format!("GET / HTTP/1.1\r\nHost: {ours}\r\n\r\n")),
                "HTTP/1.0 200 OK",
                "{ours}"
            );
        }
        for foreign in
            ["evil.example.com", "evil.example.com:9400", "192.0.2.1", "localhost.evil.example.com", ""]
        {
            let told = told(&[&format!("GET / HTTP/1.1\r\nhost: {foreign}\r\n\r\n")]);
            assert!(told.starts_with("HTTP/1.0 421 ") && !told.contains("up 1"), "{foreign}: {told}");
        }
        let of = |request| response(request, "up 1\n").lines().next().map(ToOwned::to_owned);
        assert_eq!(of("GET / HTTP/1.1\r\nAccept: a\r\n"), Some("HTTP/1.0 408 Request Timeout".to_owned()));
        let posted = told(&["POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"]);
        assert!(posted.starts_with("HTTP/1.0 405 ") && posted.contains("Allow: GET, HEAD"), "{posted}");
    }

    #[test]
    fn nothing_is_written_before_there_is_something() {
        let file = std::env::temp_dir().join(format!("keytoll-metrics-{}.prom", std::process::id()));
        std::fs::write(&file, "# HELP keytoll_up Earlier.\n# TYPE keytoll_up gauge\n").unwrap();
        let args = MetricsArgs { prometheus_file: Some(file.clone()), ..MetricsArgs::default() };
        let read = || std::fs::read_to_string(&file).unwrap();
        let mut exported = Exported::open(&args).unwrap();
        assert_eq!(read(), "# HELP keytoll_up Earlier.\n# TYPE keytoll_up gauge\n");
        exported.show("up 1\n".to_owned());
        assert_eq!(read(), "up 1\n");
        // Somebody has put a directory there: that is told once, and over when it is gone.
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        exported.show("up 2\n".to_owned());
        assert!(exported.is_unwritable && exported.page.lock().unwrap().as_str() == "up 2\n");
        std::fs::remove_dir(&file).unwrap();
        exported.show("up 3\n".to_owned());
        assert_eq!((exported.is_unwritable, read().as_str()), (false, "up 3\n"));
        std::fs::remove_file(&file).unwrap();
    }
}
