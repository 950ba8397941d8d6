//! The process of one of our nodes: takes what the launcher asks from stdin, drives its host, and tells on stdout. It ends
//! when stdin does, so it never outlives its parent.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use keytoll_crypto::{Metered, Provider};
use keytoll_engine::trace::{Fact, Part, Trace};
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_hosts::{Event, Host, Order, SessionId};
use keytoll_lab::{ECHO_BYTES, ECHO_PATIENCE, metered};
use keytoll_live::{Clock, Driver, Emulator, Waker};
use keytoll_native::{awslc, clock, heap};
use keytoll_rig::{Goal, Setup};
use keytoll_rigs::{self as rigs, Credentials};
use keytoll_scenario::Plan;
use keytoll_scenario::plan::RowPlan;

use super::capture::NodeCapture;
use super::line::Log;
use super::links;
use super::message::{Ask, Operation, Spent, Start, Tell};
use super::testbed::sockets;

/// The heap role of the node; role 0 is everything around it.
const ROLE: u8 = 1;
/// Between two looks at whether the answer has come.
const LOOK: Duration = Duration::from_millis(1);
/// Somebody will wake us.
const LONG: Duration = Duration::from_secs(3600);

/// Is a node until stdin ends: what the hidden verb `keytoll node` does.
///
/// # Errors
/// If the launcher cannot be heard or told.
pub fn serve() -> io::Result<()> {
    let mut first = String::new();
    io::stdin().lock().read_line(&mut first)?;
    let start: Start = serde_json::from_str(&first)?;
    let line = Line::open();
    match keytoll_scenario::parse("plan", &start.plan) {
        Ok(plan) => Process { credentials: Credentials::prepare(&plan), plan, start, line }.run(),
        Err(why) => tell(&Tell::Trouble(why.to_string())),
    }
}

/// What the parent says, and a way to be woken by it.
struct Line {
    asks: Receiver<Ask>,
    waker: Arc<Mutex<Option<Waker>>>,
}

impl Line {
    fn open() -> Self {
        let (sender, asks) = channel();
        let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
        let bell = Arc::clone(&waker);
        let wake = move || {
            if let Some(waker) = &*bell.lock().unwrap_or_else(PoisonError::into_inner) {
                waker.wake();
            }
        };
        thread::spawn(move || {
            let lines = io::stdin().lock().lines().map_while(Result::ok);
            let asks = lines.map_while(|line| serde_json::from_str(&line).ok());
            for ask in asks {
                if sender.send(ask).is_err() {
                    break;
                }
                wake();
            }
            drop(sender);
            wake();
        });
        Self { asks, waker }
    }

    fn ring(&self, waker: Option<Waker>) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = waker;
    }
}

fn tell(what: &Tell) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, what)?;
    writeln!(out)?;
    out.flush()
}

/// The process between rows.
struct Process {
    plan: Plan,
    start: Start,
    credentials: Credentials,
    line: Line,
}

impl Process {
    fn run(&self) -> io::Result<()> {
        while let Ok(ask) = self.line.asks.recv() {
            // Between rows everything else is late.
            let Ask::Row(index) = ask else { continue };
            match self.start(index) {
                Ok(mut node) => {
                    self.line.ring(Some(node.driver.waker()));
                    tell(&Tell::Ready)?;
                    node.serve(&self.line)?;
                    self.line.ring(None);
                }
                Err(why) => tell(&Tell::Trouble(format!("{}: {why}", self.start.node.name())))?,
            }
        }
        Ok(())
    }

    /// The node of a row on its sockets.
    fn start(&self, index: usize) -> Result<Running, Box<dyn std::error::Error>> {
        let Start { node, ref placement, ref dir, origin_ns, .. } = self.start;
        let row = self.plan.rows.get(index).ok_or("there is no such row")?;
        let (layout, clock) = (rigs::layout(row, placement), Clock::at(origin_ns));
        let spec = layout.node(node).ok_or("the row has no such node")?;
        let (paths, seed) = (links::paths(node, &layout), self.plan.seed_of(row));
        let emulator = Emulator::new(&paths, &seed);
        let file = dir.join(format!("{index:03}.lines"));
        let log = Log::create(&file, node, layout.clone(), paths)?;
        keytoll_crypto::allocate_shared();
        awslc::prepare_thread();
        heap::reset_peak(ROLE);
        let heap_before = heap::live(ROLE);
        let role = heap::enter(ROLE);
        let mut setup = self.credentials.set_up(row, placement, &seed);
        let host = setup.host(node);
        let crypto = metered(&self.plan);
        drop(role);
        let capture = self.capture(index, row, &clock)?;
        let tap = (log.clone(), capture.as_ref().map(NodeCapture::tap));
        let watched = Watched { host, facts: Vec::new(), log: log.clone(), clock, capture };
        let driver = Driver::new(watched, crypto, sockets(spec)?);
        let driver = driver.with_clock(clock).with_tap(tap).with_emulator(emulator);
        Ok(Running {
            driver,
            log,
            setup,
            goal: layout.goal,
            closing_max: layout.closing_max,
            heap_before,
            heap_begun: heap_before,
            cpu_begun_ns: 0,
            crypto_begun_ticks: 0,
            session: None,
            wait: Wait::Nothing,
        })
    }
}

impl Process {
    /// The capture of a row, if there is to be one.
    fn capture(&self, index: usize, row: &RowPlan, clock: &Clock) -> io::Result<Option<NodeCapture>> {
        let of = |(directory, samples_max): &(PathBuf, u32)| {
            let capture = NodeCapture::create(directory, (&self.plan, row, index), self.start.node, clock);
            capture.map(|capture| capture.of_samples(*samples_max))
        };
        self.start.captures.as_ref().map(of).transpose()
    }
}

/// A host whose facts are noted with the moment at which they were known, and whose computation is noted, too.
struct Watched {
    host: Box<dyn Host>,
    facts: Vec<Fact>,
    log: Log,
    clock: Clock,
    capture: Option<NodeCapture>,
}

impl Engine for Watched {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        self.log.handles(matches!(input, Input::Datagram { .. }));
        self.watch(cx, |host, cx| host.handle(input, cx));
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        let _role = heap::enter(ROLE);
        self.host.poll()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.host.deadline()
    }
}

impl Watched {
    /// Lets the host do something, and notes what came of it.
    fn watch(&mut self, cx: &mut Ctx<'_>, act: impl FnOnce(&mut dyn Host, &mut Ctx<'_>)) {
        let begun = self.clock.now();
        let role = heap::enter(ROLE);
        let mut beside = self.capture.as_ref().map(|capture| capture.beside(&mut self.facts));
        let trace: &mut dyn Trace = match &mut beside {
            Some(beside) => beside,
            None => &mut self.facts,
        };
        act(&mut *self.host, &mut Ctx { now: cx.now, crypto: &mut *cx.crypto, trace });
        drop(role);
        let ended = self.clock.now();
        let busy_ns = u64::try_from(ended.since(begun).as_nanos()).unwrap_or(u64::MAX);
        self.log.facts(ended, std::iter::once(Fact::Computed { busy_ns }));
        // As in the simulator: from the trigger on somebody waits.
        let at = |fact: &Fact| if *fact == Fact::Triggered { begun } else { ended };
        self.facts.drain(..).for_each(|fact| self.log.facts(at(&fact), std::iter::once(fact)));
    }
}

/// What the driver itself notes: datagrams that could not be sent.
struct DriverNotes<'a>(&'a Log, Clock);

impl Trace for DriverNotes<'_> {
    fn record(&mut self, fact: Fact) {
        self.0.driven(self.1.now(), fact);
    }
}

/// What the device waits for, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Nothing,
    Authentication {
        until: Time,
        usable: bool,
    },
    /// Until the host has taken in more datagrams than these: the answer is the end of an SA, whatever is told before.
    Closing {
        until: Time,
        handled: u64,
    },
}

/// A node in a row.
struct Running {
    driver: Driver<Watched, Metered<Provider>>,
    log: Log,
    setup: Box<dyn Setup>,
    goal: Goal,
    /// How long the end of an SA takes at most.
    closing_max: Duration,
    heap_before: i64,
    heap_begun: i64,
    cpu_begun_ns: u64,
    crypto_begun_ticks: u64,
    session: Option<SessionId>,
    wait: Wait,
}

impl Running {
    /// Until the row ends, or the parent does.
    fn serve(&mut self, line: &Line) -> io::Result<()> {
        loop {
            match line.asks.try_recv() {
                Ok(Ask::End) => return self.end(),
                Ok(ask) => self.asked(ask)?,
                Err(TryRecvError::Disconnected) => return Ok(()),
                Err(TryRecvError::Empty) => self.live()?,
            }
        }
    }

    /// Drives the host until something happens.
    fn live(&mut self) -> io::Result<()> {
        let now = self.driver.now();
        match self.wait {
            Wait::Nothing => {
                self.next(LONG);
                Ok(())
            }
            Wait::Authentication { until, usable } => match self.next(until.since(now)) {
                Some(event) => self.happened(&event),
                // A lost echo is not repeated.
                None if self.driver.now() >= until => {
                    self.done(if usable { &Tell::Done } else { &Tell::Failed })
                }
                None => Ok(()),
            },
            Wait::Closing { until, handled } => {
                self.next(LOOK);
                let answered = self.log.handled_count() > handled;
                if answered || now >= until { self.done(&Tell::Ready) } else { Ok(()) }
            }
        }
    }

    fn next(&mut self, limit: Duration) -> Option<Event> {
        let clock = self.driver.engine().clock;
        let event = self.driver.next_event(limit, &mut DriverNotes(&self.log, clock));
        match &event {
            Some(Event::Established(established)) => self.session = Some(established.session),
            Some(Event::Rekeyed { new, .. }) => self.session = Some(*new),
            Some(Event::Closed { session, .. }) => self.session = self.session.filter(|own| own != session),
            _ => {}
        }
        event
    }

    fn happened(&mut self, event: &Event) -> io::Result<()> {
        match (self.wait, event) {
            (Wait::Authentication { .. }, Event::EchoReply) => self.done(&Tell::Done),
            (Wait::Authentication { .. }, Event::Usable) if self.goal == Goal::Sa => self.done(&Tell::Done),
            (Wait::Authentication { .. }, Event::Usable) => {
                self.wait = Wait::Authentication { until: self.driver.now() + ECHO_PATIENCE, usable: true };
                Ok(())
            }
            (Wait::Authentication { .. }, event) if event.is_failure() => self.done(&Tell::Failed),
            _ => Ok(()),
        }
    }

    fn done(&mut self, told: &Tell) -> io::Result<()> {
        self.wait = Wait::Nothing;
        tell(told)
    }

    fn asked(&mut self, ask: Ask) -> io::Result<()> {
        match ask {
            Ask::Begin(sample) => self.begin(sample),
            Ask::Go => {
                self.setup.before_authentication();
                self.wait = Wait::Authentication { until: self.driver.now() + LONG, usable: false };
                self.order(Order::Echo { payload_bytes: ECHO_BYTES });
                Ok(())
            }
            Ask::Spent => tell(&Tell::Spent(self.spent())),
            Ask::Close => self.close(),
            Ask::Forget => self.forget(),
            // The rest is for between rows.
            Ask::Row(_) | Ask::End => Ok(()),
        }
    }

    fn order(&mut self, order: Order) {
        let clock = self.driver.engine().clock;
        self.driver.command(order, &mut DriverNotes(&self.log, clock));
    }

    fn begin(&mut self, sample: Option<u32>) -> io::Result<()> {
        self.log.begin(sample)?;
        if let Some(capture) = &self.driver.engine().capture {
            capture.begin(sample);
        }
        self.heap_begun = heap::live(ROLE);
        self.driver.crypto_mut().set_part(Part::Authentication);
        self.crypto_begun_ticks = self.driver.crypto_mut().crypto_ticks_total();
        tell(&Tell::Ready)?;
        self.cpu_begun_ns = clock::thread_cpu_ns();
        Ok(())
    }

    fn spent(&mut self) -> Spent {
        let cpu_ns = clock::thread_cpu_ns().saturating_sub(self.cpu_begun_ns);
        let crypto_ticks = self.driver.crypto_mut().crypto_ticks_total() - self.crypto_begun_ticks;
        self.driver.crypto_mut().set_part(Part::After);
        Spent {
            cpu_ns,
            crypto_ns: clock::ticks_to_ns(crypto_ticks) as u64,
            heap_peak_bytes: u64::try_from(heap::peak(ROLE) - self.heap_before).unwrap_or(0),
            heap_grown_bytes: heap::live(ROLE) - self.heap_begun,
        }
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(session) = self.session else { return tell(&Tell::Ready) };
        let until = self.driver.now() + self.closing_max;
        self.wait = Wait::Closing { until, handled: self.log.handled_count() };
        self.order(Order::Close(session));
        Ok(())
    }

    /// The first authentication on record is a whole one.
    fn forget(&mut self) -> io::Result<()> {
        self.setup.forget();
        self.driver.engine_mut().host.forget();
        self.driver.crypto_mut().reset();
        tell(&Tell::Ready)
    }

    fn end(&mut self) -> io::Result<()> {
        self.log.finish()?;
        let rows = self.driver.crypto_mut().snapshot();
        let operations = rows.into_iter().map(|row| Operation {
            is_after: row.part == Part::After,
            phase: row.phase.name().to_owned(),
            operation: row.operation.to_owned(),
            algorithm: row.algorithm.into_owned(),
            count: row.count,
            ns: clock::ticks_to_ns(row.ticks) as u64,
            bytes: row.bytes,
        });
        let captured = self.driver.engine().capture.as_ref().map(NodeCapture::finish).transpose()?;
        tell(&Tell::Ended(operations.collect(), captured))
    }
}
