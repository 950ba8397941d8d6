//! A running node: a host on its sockets, its events, and its commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use keytoll_crypto::{Metered, Real};
use keytoll_crypto_api::Seed;
use keytoll_engine::Time;
use keytoll_hosts::{Event, Host, Order, SessionId};
use keytoll_live::{Capture, Clock, Driver, Panics, Tap};
use keytoll_native::clock::{thread_cpu_ns, unix_seconds};
use keytoll_rigs::node::{Blueprint, Trusts};
use keytoll_scenario::NodePlan;
use keytoll_scenario::node::Role;
use miette::{Report, miette};
use serde_json::Value;
use tracing::{error, info, warn};

use super::control::{self, Request};
use super::happening::{CLIENT_REFUSED, Happening, PROPOSAL_REFUSED, shown};
use super::log::Facts;
use super::metrics::{Metrics, Now, crypto_ns};
use super::open;
use super::repeats::Repeats;
use super::sessions::Sessions;
use super::tun::Tun;
use crate::args::NodeArgs;
use crate::{capture, interrupt, printable, screen};

/// The longest wait for sockets alone.
const LOOK_UP: Duration = Duration::from_secs(1);
/// How often a terminating node checks whether everything is answered.
const ANSWER_LOOK_UP: Duration = Duration::from_millis(5);
/// How often the clock of this machine and the revocation lists are checked.
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// Timeout of the deletion of SAs at the end.
const FAREWELL: Duration = Duration::from_secs(3);

/// A node at work.
pub(crate) struct Node {
    pub(crate) driver: Driver<Box<dyn Host>, Metered<Real>>,
    pub(crate) facts: Facts,
    pub(crate) sessions: Sessions,
    refusals: Repeats,
    /// Failures that are not logged.
    complaints: Repeats,
    metrics: Metrics,
    role: Role,
    /// Whether every event is printed on stdout.
    tells: bool,
    stop: Arc<AtomicBool>,
    lines: Option<Receiver<String>>,
    quit: bool,
    /// The trust anchors, and when they are checked again.
    trusts: Trusts,
    renew_at: Time,
    /// The TUN interface, if there is one.
    tun: Option<Tun>,
    /// The capture of all sockets, and its file.
    capture: Option<(Capture, PathBuf)>,
}

impl Node {
    /// Opens the files of the plan, binds the sockets, and registers signals.
    pub(crate) fn start(
        plan: &NodePlan,
        args: &NodeArgs,
        metrics: Metrics,
        tap: impl Tap + 'static,
    ) -> Result<Self, Report> {
        let blueprint = Blueprint::draw(plan)?;
        let seed = Seed::system().map_err(|error| miette!("the system gives no random numbers: {error}"))?;
        let (sockets, locals) = open::bind(&blueprint, &seed)?;
        let trusts = blueprint.trusts();
        let listening = sockets.addresses();
        let clock = Clock::start();
        let identity = blueprint.identity();
        let mut host = blueprint.build(&locals, &seed);
        let (tun, sockets) = match Tun::open(plan)? {
            Some((tun, interface)) => {
                host.attach_interface();
                (Some(tun), sockets.with_interface(interface))
            }
            None => (None, sockets),
        };
        let capture = args.pcap.as_deref().map(|path| begin_capture(path, plan, args, &clock)).transpose()?;
        let tap = (tap, capture.clone());
        let driver =
            Driver::new(host, metrics.metered(Real::default()), sockets).with_clock(clock).with_tap(tap);
        let driver = metrics.watched(driver).surviving_panics();
        let waker = driver.waker();
        let mut node = Self {
            stop: interrupt::watch(move || waker.wake())?,
            lines: args.control.then(|| control::lines(driver.waker())),
            driver,
            facts: Facts::new(clock, plan, capture.clone()),
            capture: capture.zip(args.pcap.clone()),
            sessions: Sessions::new(args.control),
            refusals: Repeats::default(),
            complaints: Repeats::default(),
            metrics,
            role: plan.role(),
            tells: args.control || (args.json && plan.role() != Role::Device),
            quit: false,
            trusts,
            renew_at: Time::ZERO,
            tun,
        };
        let listening = listening.iter().map(|local| shown(*local)).collect::<Value>();
        let identity = identity.map(|(_, name)| Value::from(name));
        let unix_s = Value::from(unix_seconds());
        node.show_metrics(node.now());
        let begun = Happening::new("listening").with("addresses", listening).with("identity", identity);
        node.tell(&begun.with("unix_s", unix_s));
        Ok(node)
    }

    /// Whether it shall end.
    pub(crate) fn is_to_end(&self) -> bool {
        self.quit || self.stop.load(Ordering::Relaxed)
    }

    /// Serves until it is stopped.
    pub(crate) fn serve(&mut self) {
        while !self.is_to_end() {
            // All events are printed before the next command, which may refer to an SA that has just come up.
            if self.next_event(self.metrics.look_up(LOOK_UP)).is_none() {
                self.obey();
            }
        }
    }

    /// The next event, logged and recorded; `None` after the time limit, or when woken up.
    pub(crate) fn next_event(&mut self, limit: Duration) -> Option<Event> {
        self.renew_trusts();
        let event = self.driver.next_event(limit, &mut self.facts);
        self.facts.flush();
        let now = self.now();
        self.show_metrics(now);
        self.refusals.flush(now).iter().for_each(|happening| self.tell(happening));
        self.complaints.flush(now).iter().for_each(Happening::log);
        if let Some(panics) = self.driver.take_panics() {
            mistaken(&panics);
        }
        if let Some(why) = self.driver.take_interface_loss() {
            let why = why.to_string();
            let why = printable::line(&why);
            warn!(target: "keytoll", "this machine's interface is gone, and carries nothing any more: {why}");
        }
        let Some(event) = event else {
            self.capture.iter().for_each(|(capture, _)| capture.flush());
            return None;
        };
        self.sessions.note(&event);
        self.metrics.note(&event);
        if let Some(Err(why)) = self.tun.as_mut().map(|tun| tun.note(&event)) {
            // The SAs work nevertheless; the warning explains why the interface has no address.
            warn!(target: "keytoll", "{}", printable::line(&why.to_string()));
        }
        // A busy gateway at `--log warn` must not format unused events; bad ones are warnings.
        let is_heard = self.tells
            || tracing::enabled!(target: "keytoll", tracing::Level::INFO)
            || Happening::is_bad_news(&event);
        if let Some(happening) = is_heard.then(|| self.happening(&event)).flatten() {
            self.tell(&happening);
        }
        Some(event)
    }

    /// Updates the metrics for the last time, with everything until now.
    pub(crate) fn show_final_metrics(&mut self) {
        self.metrics.end();
        self.show_metrics(self.now());
    }

    /// Tells whoever reads metrics what there is; no message is charged with that.
    fn show_metrics(&mut self, now: Time) {
        let Self { metrics, sessions, driver, .. } = self;
        let mut begun_ns = 0;
        let is_shown = metrics.update(now, || {
            begun_ns = thread_cpu_ns();
            Now {
                sessions: sessions.sessions().len(),
                under_way: driver.engine().under_way_count(),
                crypto: Duration::from_nanos(crypto_ns(driver.crypto())),
                work: driver.crypto().work(),
                wakes: driver.wakes(),
            }
        });
        if is_shown {
            driver.set_apart(thread_cpu_ns().saturating_sub(begun_ns));
        }
    }

    /// The printed form of an event, if it has one.
    fn happening(&mut self, event: &Event) -> Option<Happening> {
        let (now, naming) = (self.driver.now(), self.driver.engine().naming());
        let refused = match event {
            Event::ProposalRefused { remote, why, .. } => Some((remote.host(), (PROPOSAL_REFUSED, why.name))),
            Event::ClientRefused { client, why } => Some(((*client).into(), (CLIENT_REFUSED, *why))),
            _ => None,
        };
        // A flood of refused proposals must not be formatted.
        let is_told = refused.is_none_or(|(from, what)| self.refusals.admits(now, from, what));
        if is_told { Happening::of(event, naming) } else { None }
    }

    /// Whether an event is logged: failures that strangers can cause are, once for each of them and minute.
    fn is_logged(&mut self, happening: &Happening) -> bool {
        let now = self.now();
        let of_stranger = happening.complaint().filter(|_| self.role != Role::Device);
        of_stranger.is_none_or(|(from, what)| self.complaints.admits(now, from, what))
    }

    /// Sets the time of certificate checks by this machine's clock, and reloads changed revocation lists.
    fn renew_trusts(&mut self) {
        let now = self.driver.now();
        if now < self.renew_at {
            return;
        }
        self.renew_at = now + RENEW_EVERY;
        for renewed in self.trusts.renew(now) {
            match renewed {
                Ok(what) => info!(target: "keytoll", "{what}"),
                Err(why) => warn!(target: "keytoll", "{why}"),
            }
        }
    }

    /// Asks the host for something.
    pub(crate) fn ask(&mut self, order: Order) {
        self.driver.command(order, &mut self.facts);
    }

    pub(crate) fn now(&self) -> Time {
        self.driver.now()
    }

    /// Executes a command of stdin, if there is one.
    fn obey(&mut self) {
        let Some(lines) = &self.lines else { return };
        match lines.try_recv() {
            Ok(line) => match control::request(&line, &self.sessions) {
                Request::Host(order) => self.ask(order),
                Request::Quit => self.quit = true,
                Request::Refused(why) => self.tell(&Happening::new("refused").with("why", Value::from(why))),
            },
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.quit = true,
        }
    }

    /// Ends gracefully: refuses new peers, deletes every SA, lets conversations end, all within a time limit.
    pub(crate) fn drain(&mut self) {
        let open = self.open_count();
        self.tell(&Happening::new("draining").with("open", Value::from(open)));
        self.ask(Order::Drain);
        self.close_all();
        self.facts.rest();
        self.refusals.rest().iter().for_each(|happening| self.tell(happening));
        self.complaints.rest().iter().for_each(Happening::log);
        self.show_final_metrics();
        self.tell(&Happening::new("stopped").with("open", Value::from(self.open_count())));
    }

    /// Ends the capture, if there is one, and prints how to decrypt it.
    pub(crate) fn end_capture(&self) -> Result<(), Report> {
        let Some((capture, path)) = &self.capture else { return Ok(()) };
        capture::end(capture, path)
    }

    /// Deletes every SA, including those established meanwhile; waits for the answers within a time limit.
    pub(crate) fn close_all(&mut self) {
        for session in self.sessions.sessions().collect::<Vec<_>>() {
            self.close(session);
        }
        let end = self.now() + FAREWELL;
        while self.open_count() > 0 && self.now() < end {
            // An answer is not an event.
            if let Some(Event::Established(established)) = self.next_event(ANSWER_LOOK_UP) {
                self.close(established.session);
            }
        }
    }

    fn close(&mut self, session: SessionId) {
        self.ask(Order::Close(session));
    }

    /// Established sessions and unfinished conversations.
    fn open_count(&self) -> usize {
        self.sessions.sessions().len() + self.driver.engine().under_way_count()
    }

    /// Logs an event, and prints it on request.
    fn tell(&mut self, happening: &Happening) {
        if self.is_logged(happening) {
            happening.log();
        }
        if self.tells {
            let line = happening.json(self.role, self.now());
            // The reader has closed the pipe; the log remains.
            let _ = screen::print(&printable::json(&format!("{line}\n")));
        }
    }
}

/// Logs the place of a panic. Its message may contain secrets and is left out.
fn mistaken(Panics { count, place, from }: &Panics) {
    let about = from.map_or_else(String::new, |from| format!(" over a datagram from {from}"));
    error!(
        target: "keytoll",
        "keytoll made a mistake at {place}{about}, {count} since the last line: what the input was for was given up, all \
         else goes on; please report this line"
    );
}

/// Starts a capture, with the RADIUS secret. Wireshark accepts only one: for an AAA server that of its first client.
fn begin_capture(path: &Path, plan: &NodePlan, args: &NodeArgs, clock: &Clock) -> Result<Capture, Report> {
    let comment = format!("keytoll {} {}", plan.role().verb(), args.file.display());
    let capture = capture::begin(path, clock, plan.role().name(), &comment)?;
    plan.radius_secret().into_iter().for_each(|secret| capture.share(secret));
    Ok(capture)
}
