//! What the target needs meanwhile: CPU and memory of a process here by its number (proc_pid_stat(5)), or of one elsewhere by what
//! it exposes for Prometheus, as servers and node_exporter do.

use std::io::{self, Read as _, Write as _};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use keytoll_crypto::Work;
use keytoll_engine::Time;
use keytoll_live::{Clock, Wakes};

mod operations;
mod wakes;

pub use operations::{BYTES, LABELS, OPERATIONS};
pub use wakes::{WAKES, labels};

#[expect(
    clippy::disallowed_types,
    reason = "a page is fetched, beside the load and in a thread of its own"
)]
use std::net::TcpStream;

/// What is used in a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// CPU time since the last reading.
    pub cpu: Duration,
    /// The part of it in operations of cryptography, if the target tells.
    pub crypto: Option<Duration>,
    /// Resident memory, in bytes.
    pub memory_bytes: Option<u64>,
}

/// Where readings come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A process of this machine.
    Process(u32),
    /// A page of Prometheus's text format: host and port, and path.
    Page(String, String),
}

/// Reads once a second.
#[derive(Debug)]
pub struct Meter {
    clock: Clock,
    /// None while there is nothing to read.
    readings: Receiver<Option<Timed>>,
    before: Timed,
    /// What had been done when it began; none if what is read now has begun later.
    begun: Option<Told>,
    is_gone: bool,
}

/// A reading: counters since some time.
#[derive(Debug, Clone, PartialEq)]
struct Reading {
    cpu_s: f64,
    crypto_s: Option<f64>,
    told: Told,
    /// How many cores it may use at once.
    cores: u32,
    memory_bytes: Option<u64>,
}

/// What only nodes of ours tell, as far as they do.
#[derive(Debug, Clone, Default, PartialEq)]
struct Told {
    /// The operations of cryptography.
    work: Option<Work>,
    /// What it took to be woken by messages.
    wakes: Option<Wakes>,
}

impl Told {
    fn of_page(page: &str) -> Self {
        Self { work: operations::of_page(page), wakes: wakes::of_page(page) }
    }

    /// Of what has done nothing yet nothing is told.
    fn or_nothing(&self) -> Self {
        Self {
            work: Some(self.work.clone().unwrap_or_default()),
            wakes: Some(self.wakes.clone().unwrap_or_default()),
        }
    }
}

/// A reading, and when it was there.
#[derive(Debug, Clone, PartialEq)]
struct Timed {
    at: Time,
    reading: Reading,
}

/// On the page of a node of ours: how long its operations of cryptography took, in seconds.
pub const CRYPTO: &str = "keytoll_crypto_seconds_total";
/// How often is read.
const EVERY: Duration = Duration::from_millis(500);
/// How long a page may take, from the call to its last byte.
const PATIENCE: Duration = Duration::from_millis(400);
/// How much older than its arrival a reading may be: whoever shows it may have made it earlier.
const AGE_MAX: Duration = Duration::from_secs(1);
/// The cores of a machine that does not tell: as many as Linux is built for at most (NR_CPUS).
const CORES_MAX: u32 = 8192;
/// More CPU time no counter has: a century of so many cores. Above it numbers have no milliseconds any more.
const CPU_S_MAX: f64 = 3.2e9 * CORES_MAX as f64;
/// More memory no machine has: what five levels of page tables reach.
const MEMORY_BYTES_MAX: f64 = (1_u64 << 52) as f64;
/// The longest page that is read.
const PAGE_BYTES_MAX: usize = 4 << 20;
/// How much is told of an answer that is no page.
const TOLD_MAX: usize = 80;
/// What cores do in these modes is nothing, waiting, or somebody else's work.
const NOT_BUSY: [&str; 3] = ["mode=\"idle\"", "mode=\"iowait\"", "mode=\"steal\""];

impl Meter {
    /// Begins to read.
    ///
    /// # Errors
    /// When there is nothing to read, with a sentence.
    pub fn start(source: Source) -> Result<Self, String> {
        let clock = Clock::start();
        let timed = move |reading| Timed { at: clock.now(), reading };
        let before = timed(read(&source)?);
        let (sender, readings) = mpsc::sync_channel(4);
        thread::spawn(move || {
            loop {
                #[expect(clippy::disallowed_methods, reason = "a thread of its own, beside the load")]
                thread::sleep(EVERY);
                // A target that is gone has no readings, and may come back.
                let sent = sender.try_send(read(&source).ok().map(timed));
                if matches!(sent, Err(mpsc::TrySendError::Disconnected(_))) {
                    return;
                }
            }
        });
        let begun = Some(before.reading.told.or_nothing());
        Ok(Self { clock, readings, before, begun, is_gone: false })
    }

    /// What was used since the last time; none if there is no new reading that can be true.
    pub fn read(&mut self) -> Option<Usage> {
        let mut latest = None;
        for reading in self.readings.try_iter() {
            self.is_gone = reading.is_none();
            latest = reading.or(latest);
        }
        self.take(latest?)
    }

    /// What was used since the last time, all that until now included: waits until no reading can be older than that. None if the
    /// target is gone meanwhile.
    pub fn read_to_end(&mut self) -> Option<Usage> {
        let end = self.clock.now() + AGE_MAX;
        loop {
            match self.readings.recv_timeout(EVERY + PATIENCE * 2).ok()? {
                Some(reading) if reading.at >= end => return self.take(reading),
                None if self.clock.now() >= end => return None,
                _ => {}
            }
        }
    }

    fn take(&mut self, now: Timed) -> Option<Usage> {
        let usage = now.since(&self.before);
        self.is_gone |= usage.is_none();
        // One that went back was begun anew, and counts from now on; one that is too large may have been a mistake.
        let is_anew = now.reading.cpu_s < self.before.reading.cpu_s;
        self.begun.take_if(|_| is_anew);
        if usage.is_some() || is_anew {
            self.before = now;
        }
        usage
    }

    /// The operations of cryptography in all CPU time that was read; none if they are not told, or if something was begun anew.
    pub fn work(&self) -> Option<Work> {
        self.before.reading.told.work.as_ref()?.since(self.begun.as_ref()?.work.as_ref()?)
    }

    /// What it took the target in all that time to be woken by messages; none if it is not told, or if something was begun anew.
    pub fn wakes(&self) -> Option<Wakes> {
        self.before.reading.told.wakes.as_ref()?.since(self.begun.as_ref()?.wakes.as_ref()?)
    }

    /// Whether there was nothing to read the last time.
    pub const fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Whether something was begun anew: nobody knows what it had used before, since it was read last.
    pub const fn has_lost(&self) -> bool {
        self.begun.is_none()
    }
}

impl Timed {
    /// What was used since another one; none if it is more than all cores have time, or less than nothing: then there is another
    /// process, and nobody knows what either has used.
    fn since(&self, before: &Self) -> Option<Usage> {
        let cpu = Duration::try_from_secs_f64(self.reading.cpu_s - before.reading.cpu_s).ok()?;
        let time = self.at.since(before.at) + AGE_MAX;
        let is_possible = cpu <= time.saturating_mul(self.reading.cores);
        let crypto = self.reading.crypto_s.zip(before.reading.crypto_s);
        let crypto =
            crypto.and_then(|(now, before)| Duration::try_from_secs_f64((now - before).max(0.0)).ok());
        is_possible.then_some(Usage { cpu, crypto, memory_bytes: self.reading.memory_bytes })
    }
}

/// The CPU time and memory of this process until now.
pub fn here() -> Option<Usage> {
    let Reading { cpu_s, memory_bytes, .. } = process(std::process::id(), CORES_MAX).ok()?;
    Some(Usage { cpu: Duration::try_from_secs_f64(cpu_s).ok()?, crypto: None, memory_bytes })
}

fn read(source: &Source) -> Result<Reading, String> {
    match source {
        Source::Process(pid) => process(*pid, cores_here()),
        Source::Page(host, path) => {
            let page = fetch(host, path).map_err(|why| format!("cannot read http://{host}{path}: {why}"))?;
            let lacks = || {
                format!(
                    "http://{host}{path} tells neither `process_cpu_seconds_total` nor `node_cpu_seconds_total`"
                )
            };
            of_page(&page).ok_or_else(lacks)
        }
    }
}

/// proc_pid_stat(5): utime and stime are the 14th and 15th field, in ticks of a hundredth of a second.
fn process(pid: u32, cores: u32) -> Result<Reading, String> {
    let file = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
    let stat = file("stat").map_err(|why| format!("no process {pid} to measure: {why}"))?;
    let status = file("status").unwrap_or_default();
    of_stat(&stat, &status, cores).ok_or_else(|| format!("/proc/{pid}/stat is not understood"))
}

/// The cores of this machine, whichever of them we may use. proc_stat(5): each has a line.
fn cores_here() -> u32 {
    let is_core = |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| !rest.starts_with(' '));
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let count = stat.lines().filter(is_core).count();
    if count == 0 { CORES_MAX } else { u32::try_from(count).unwrap_or(CORES_MAX) }
}

fn of_stat(stat: &str, status: &str, cores: u32) -> Option<Reading> {
    // The name in parentheses may contain anything.
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // One that has ended remains until its parent has asked how.
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let ticks = |n: usize| fields.get(n)?.parse::<u64>().ok();
    let cpu_s = (ticks(11)? + ticks(12)?) as f64 / 100.0;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = resident.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    Some(Reading {
        cpu_s,
        crypto_s: None,
        told: Told::default(),
        cores,
        memory_bytes: kib.map(|kib| kib.saturating_mul(1024)),
    })
}

fn fetch(host: &str, path: &str) -> io::Result<String> {
    let clock = Clock::start();
    let mut stream = connect(host, &clock)?;
    stream.set_write_timeout(Some(left(&clock)?))?;
    // In one piece: some servers answer, and hang up, as soon as they have read something.
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: text/plain\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let answer = receive(&mut stream, &clock)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.ok_or_else(|| io::Error::other("no answer of HTTP"))?;
    let head = String::from_utf8_lossy(&answer[..end]);
    let is_ok = head.split_whitespace().nth(1) == Some("200");
    if !is_ok {
        return Err(io::Error::other(first_line(&head)));
    }
    let body = whole_lines(&head, &answer[end + 4..])?;
    Ok(String::from_utf8_lossy(body).into_owned())
}

/// A name may have several addresses, of which nobody listens on some.
#[expect(clippy::disallowed_types, reason = "a page is fetched, beside the load and in a thread of its own")]
fn connect(host: &str, clock: &Clock) -> io::Result<TcpStream> {
    let mut failed = io::Error::other("the name has no address");
    for address in std::net::ToSocketAddrs::to_socket_addrs(host)? {
        match TcpStream::connect_timeout(&address, left(clock)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// The lines of a body that came to their end: a number that breaks off is another number.
fn whole_lines<'a>(head: &str, body: &'a [u8]) -> io::Result<&'a [u8]> {
    let lengths = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    match lengths.find_map(|(_, length)| length.trim().parse::<usize>().ok()) {
        Some(length) if body.len() < length => Err(io::Error::other("the page breaks off")),
        Some(length) => Ok(&body[..length]),
        None => Ok(&body[..body.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)]),
    }
}

/// All that comes, however many pieces it comes in.
#[expect(clippy::disallowed_types, reason = "a page is fetched, beside the load and in a thread of its own")]
fn receive(stream: &mut TcpStream, clock: &Clock) -> io::Result<Vec<u8>> {
    let (mut page, mut piece) = (Vec::new(), [0; 16 << 10]);
    while page.len() <= PAGE_BYTES_MAX {
        stream.set_read_timeout(Some(left(clock)?))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(page),
            Ok(count) => page.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(late()),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("the page has more than {} MiB", PAGE_BYTES_MAX >> 20)))
}

/// How long what is fetched since this clock began may still take.
fn left(clock: &Clock) -> io::Result<Duration> {
    let left = PATIENCE.saturating_sub(clock.now().since(Time::ZERO));
    (!left.is_zero()).then_some(left).ok_or_else(late)
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("no whole page within {PATIENCE:?}"))
}

/// What a server says first, as far as it can be shown.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().filter(|letter| !letter.is_control()).take(TOLD_MAX).collect()
}

/// A process's own metrics, or those of a whole machine.
fn of_page(page: &str) -> Option<Reading> {
    let sum = |name: &str, skip: &[&str]| {
        let values = page
            .lines()
            .filter_map(|line| sample(line, name))
            .filter(|(labels, _)| !skip.iter().any(|skip| labels.contains(skip)));
        values.map(|(_, value)| value).reduce(|a, b| a + b)
    };
    let is_time = |cpu_s: &f64| *cpu_s <= CPU_S_MAX;
    if let Some(cpu_s) = sum("process_cpu_seconds_total", &[]).filter(is_time) {
        let memory_bytes = sum("process_resident_memory_bytes", &[]).and_then(bytes);
        let (crypto_s, told) = (sum(CRYPTO, &[]), Told::of_page(page));
        return Some(Reading { cpu_s, crypto_s, told, cores: CORES_MAX, memory_bytes });
    }
    let cpu_s = sum("node_cpu_seconds_total", &NOT_BUSY).filter(is_time)?;
    let used = sum("node_memory_MemTotal_bytes", &[]).zip(sum("node_memory_MemAvailable_bytes", &[]));
    let memory_bytes = used.and_then(|(total, free)| bytes(total - free));
    Some(Reading { cpu_s, crypto_s: None, told: Told::default(), cores: CORES_MAX, memory_bytes })
}

/// Memory that a machine can have.
fn bytes(value: f64) -> Option<u64> {
    (0.0..=MEMORY_BYTES_MAX).contains(&value).then_some(value as u64)
}

/// Larger numbers are no whole numbers any more.
const WHOLE_MAX: f64 = (1_u64 << 53) as f64;

/// The labels and the value of a sample that counts something.
fn whole<'a>(line: &'a str, name: &str) -> Option<(&'a str, u64)> {
    let (labels, value) = sample(line, name)?;
    (value <= WHOLE_MAX).then_some((labels, value as u64))
}

/// The value of a label. None of ours contains a comma or a quotation mark.
fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let value = |label: &'a str| label.trim().strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"');
    labels.split(',').find_map(value)
}

/// `name{labels} value`, of a value that a counter can have.
fn sample<'a>(line: &'a str, name: &str) -> Option<(&'a str, f64)> {
    let rest = line.strip_prefix(name)?;
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => rest.rsplit_once('}')?,
        None if rest.starts_with(' ') => ("", rest),
        None => return None,
    };
    let value: f64 = value.split_whitespace().next()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some((labels, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 1 0 1 1 1";
        let reading = of_stat(stat, "Name:\tx\nVmRSS:\t    2048 kB\n", 2).unwrap();
        let memory_bytes = Some(2 << 20);
        assert_eq!(
            reading,
            Reading { cpu_s: 3.0, crypto_s: None, told: Told::default(), cores: 2, memory_bytes }
        );
        let gone = stat.replace(" S ", " Z ");
        assert_eq!((of_stat("nonsense", "", 2), of_stat(&gone, "", 2)), (None, None));
        assert!(process(std::process::id(), 1).unwrap().memory_bytes.is_some());
        assert!(process(u32::MAX, 1).unwrap_err().starts_with("no process 4294967295 to measure"));
    }

    #[test]
    fn a_page_is_that_of_a_process_or_of_a_machine() {
        let process = "# TYPE x counter\nprocess_cpu_seconds_total 1.5\nprocess_resident_memory_bytes 1e6\n";
        let read = |cpu_s, memory| {
            Some(Reading {
                cpu_s,
                crypto_s: None,
                told: Told::default(),
                cores: CORES_MAX,
                memory_bytes: Some(memory),
            })
        };
        assert_eq!(of_page(process), read(1.5, 1_000_000));
        let machine = "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 100\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 2\n\
                       node_cpu_seconds_total{cpu=\"0\",mode=\"iowait\"} 7\nnode_cpu_seconds_total{cpu=\"0\",mode=\"steal\"} 8\n\
                       node_cpu_seconds_total{cpu=\"1\",mode=\"system\"} 3\nnode_memory_MemTotal_bytes 100\nnode_memory_MemAvailable_bytes 40\n";
        assert_eq!(of_page(machine), read(5.0, 60));
        assert_eq!(of_page("up 1\n"), None);
        let ours = of_page(&format!("{process}keytoll_crypto_seconds_total 0.75\n")).unwrap();
        assert_eq!((ours.cpu_s, ours.crypto_s), (1.5, Some(0.75)));
    }

    #[test]
    fn a_meter_says_that_its_process_is_gone() {
        let mut process = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut meter = Meter::start(Source::Process(process.id())).unwrap();
        assert!(!meter.is_gone());
        process.kill().unwrap();
        process.wait().unwrap();
        while !meter.is_gone() {
            meter.read();
            thread::yield_now();
        }
    }

    #[test]
    fn a_meter_says_what_was_used_since() {
        let mut meter = Meter::start(Source::Process(std::process::id())).unwrap();
        let reading = meter.readings.recv().unwrap().unwrap();
        meter.before.reading.cpu_s = reading.reading.cpu_s - 1.0;
        meter.before.at = Time::ZERO;
        let usage = loop {
            if let Some(usage) = meter.read() {
                break usage;
            }
            thread::yield_now();
        };
        assert!(usage.cpu >= Duration::from_millis(990) && usage.memory_bytes.is_some(), "{usage:?}");
    }

    #[test]
    fn a_meter_reads_to_the_end() {
        let (sender, readings) = mpsc::sync_channel(4);
        let of = |at: Time, cpu_s| {
            let reading =
                Reading { cpu_s, crypto_s: None, told: Told::default(), cores: 2, memory_bytes: None };
            Timed { at, reading }
        };
        let clock = Clock::start();
        let mut meter = Meter { clock, readings, before: of(Time::ZERO, 1.0), begun: None, is_gone: false };
        let late = clock.now() + Duration::from_secs(60);
        for (at, cpu_s) in [(Time::ZERO, 1.25), (clock.now(), 1.5), (late, 2.0)] {
            sender.send(Some(of(at, cpu_s))).unwrap();
        }
        assert_eq!(meter.read_to_end().map(|usage| usage.cpu), Some(Duration::from_secs(1)));
        sender.send(None).unwrap();
        assert_eq!(meter.read_to_end(), None, "it is gone");
        drop(sender);
        assert_eq!(meter.read_to_end(), None, "nobody reads any more");
    }

    #[test]
    fn what_no_machine_can_have_used_is_no_reading() {
        let (sender, readings) = mpsc::sync_channel(4);
        let of = |seconds, cpu_s| {
            let reading =
                Reading { cpu_s, crypto_s: None, told: Told::default(), cores: 2, memory_bytes: None };
            Timed { at: Time::ZERO + Duration::from_secs(seconds), reading }
        };
        let mut meter =
            Meter { clock: Clock::start(), readings, before: of(0, 1.0), begun: None, is_gone: false };
        for impossible in [1e30, f64::INFINITY, 5e9, 5.5] {
            sender.send(Some(of(1, impossible))).unwrap();
            assert_eq!((meter.read(), meter.is_gone()), (None, true), "{impossible}");
        }
        sender.send(Some(of(2, 5.5))).unwrap();
        let usage = meter.read().map(|usage| usage.cpu);
        assert_eq!((usage, meter.is_gone()), (Some(Duration::from_millis(4500)), false));
        // One that goes back is another process's, of which nobody knows yet what it has used.
        for (seconds, cpu_s, used) in [(3, 0.5, None), (4, 0.75, Some(Duration::from_millis(250)))] {
            sender.send(Some(of(seconds, cpu_s))).unwrap();
            let usage = meter.read().map(|usage| usage.cpu);
            assert_eq!((usage, meter.is_gone()), (used, used.is_none()));
        }
    }

    #[test]
    fn work_is_that_of_all_cpu_time_of_one_process() {
        let (sender, readings) = mpsc::sync_channel(4);
        let of = |cpu_s: f64, count: Option<u64>| {
            let told =
                count.map(|count| format!("{OPERATIONS}{{operation=\"hash\",algorithm=\"md5\"}} {count}\n"));
            let page = format!("process_cpu_seconds_total {cpu_s}\n{}", told.unwrap_or_default());
            Timed { at: Time::ZERO, reading: of_page(&page).unwrap() }
        };
        let hashes =
            |work: Option<Work>| work.map(|work| work.amounts().map(|(_, amount)| amount.count).sum::<u64>());
        let begun = Some(of(1.0, Some(5)).reading.told);
        let mut meter =
            Meter { clock: Clock::start(), readings, before: of(1.0, Some(5)), begun, is_gone: false };
        assert_eq!(hashes(meter.work()), Some(0));
        // The last one has started anew, and it does not matter how much it does.
        for (now, worked) in [
            (of(2.0, Some(25)), Some(20)),
            (of(1e9, Some(99)), Some(20)),
            (of(3.0, None), None),
            (of(4.0, Some(4)), None),
            (of(5.0, Some(35)), Some(30)),
            (of(0.5, Some(40)), None),
            (of(9.0, Some(400)), None),
        ] {
            sender.send(Some(now)).unwrap();
            meter.read();
            assert_eq!(hashes(meter.work()), worked, "{:?}", meter.before.reading.cpu_s);
        }
        let silent = of(1.0, None);
        let mut meter = Meter { begun: Some(Told::default().or_nothing()), before: silent.clone(), ..meter };
        assert_eq!(meter.work(), None, "nothing was told");
        sender.send(Some(of(2.0, Some(3)))).unwrap();
        meter.read();
        assert_eq!(hashes(meter.work()), Some(3));
    }

    #[test]
    fn a_page_of_nonsense_has_no_reading() {
        for value in ["inf", "+Inf", "NaN", "-1", "1e30"] {
            assert_eq!(of_page(&format!("process_cpu_seconds_total {value}\n")), None, "{value}");
        }
        let page = of_page("process_cpu_seconds_total 1\nprocess_resident_memory_bytes 1e300\n");
        assert_eq!(page.and_then(|reading| reading.memory_bytes), None);
    }

    /// What becomes of this answer.
    #[expect(clippy::disallowed_types, reason = "somebody who serves a page")]
    fn fetched(answer: Vec<u8>) -> Result<String, String> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            // Whoever has enough hangs up.
            let _ = stream.write_all(&answer);
        });
        let fetched = fetch(&host, "/metrics").map_err(|error| error.to_string());
        server.join().unwrap();
        fetched
    }

    #[test]
    fn what_breaks_off_is_not_read() {
        let of =
            |head: &str, body: &str| fetched(format!("HTTP/1.0 200 OK\r\n{head}\r\n{body}").into_bytes());
        assert_eq!(of("", "a 1\nb 1234"), Ok("a 1\n".to_owned()));
        assert_eq!(of("Content-Length: 10\r\n", "a 1\nb 1234"), Ok("a 1\nb 1234".to_owned()));
        assert_eq!(of("content-length: 11\r\n", "a 1\nb 1234").unwrap_err(), "the page breaks off");
        let long = "a 1\n".repeat(PAGE_BYTES_MAX / 4);
        assert_eq!(of("", &long).unwrap_err(), "the page has more than 4 MiB");
    }

    #[test]
    fn what_a_server_says_instead_is_told_in_short() {
        let told =
            fetched(format!("HTTP/1.0 500 \x1b[8m{}\r\n\r\n", "no".repeat(9000)).into_bytes()).unwrap_err();
        assert!(told.starts_with("HTTP/1.0 500 [8mno") && told.len() == TOLD_MAX, "{told}");
    }

    #[test]
    #[expect(clippy::disallowed_types, reason = "somebody who serves a page")]
    fn a_page_that_drips_has_an_end() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let dripping = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // Until the other side hangs up.
            while stream.write_all(b"x").is_ok() {
                #[expect(clippy::disallowed_methods, reason = "a slow server")]
                thread::sleep(PATIENCE / 4);
            }
        });
        let clock = Clock::start();
        assert_eq!(fetch(&host, "/metrics").unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(clock.now().since(Time::ZERO) < PATIENCE * 8);
        dripping.join().unwrap();
    }
}
