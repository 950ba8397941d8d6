//! `keytoll connect`: one device that connects once or several times, and the outcome.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_hosts::event::Reason;
use keytoll_hosts::{Event, Order};
use keytoll_scenario::node::{Call, Role};
use keytoll_scenario::population::Rate;
use miette::Report;

use super::control::ECHO_BYTES;
use super::metrics::Metrics;
use super::node::Node;
use super::open;
use super::outcome::{Attempt, Outcome, Trouble};
use super::steps::Steps;
use crate::args::ConnectArgs;
use crate::screen;

/// Exit code if an attempt did not result in a working SA.
const FAILED: u8 = 1;
/// RFC 7296 §3.10.1: no proposal of ours is acceptable.
const NO_PROPOSAL_CHOSEN: &str = "NO_PROPOSAL_CHOSEN";
/// After so long without any echo reply the SA counts as useless.
const ECHO_PATIENCE: Duration = Duration::from_secs(5);
/// Echo requests are sent so often, as by ping: one packet may be lost.
const ECHO_INTERVAL: Duration = Duration::from_secs(1);
/// After so long without success, check whether the gateway's port is closed.
const SILENCE: Duration = Duration::from_secs(1);

/// Connects, shows how long it took, and disconnects.
pub(crate) fn connect(args: &ConnectArgs) -> Result<ExitCode, Report> {
    let outputs = [args.metrics.output(), ("--pcap", args.node.pcap.as_deref())];
    screen::apart(&outputs, ("node file", &args.node.file))?;
    let plan = open::read(&args.node.file, Role::Device, None)?;
    let call = plan.call().expect("the role was just checked");
    let steps = Steps::default();
    let metrics = Metrics::open(&args.metrics)?;
    let mut node = Node::start(&plan, &args.node, metrics, steps.clone())?;
    if args.node.control {
        node.serve();
        node.drain();
        node.end_capture()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut caller = Caller { node, steps, call, within: args.within, has_probed: false };
    let outcome = if args.stay { caller.stay(args)? } else { caller.repeat(args)? };
    caller.node.show_final_metrics();
    caller.node.end_capture()?;
    Ok(if outcome.is_good() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// RFC 7296 §2.4: ICMP alone can be forged and does not prove that the peer has failed: the attempt continues.
fn tell_if_closed(gateway: SocketAddr) {
    if keytoll_live::is_closed(gateway).unwrap_or(false) {
        screen::note(&format!(
            "warning: UDP port {} of {} is closed; still trying\n",
            gateway.port(),
            gateway.ip()
        ));
    }
}

/// When the connection of this number, from 0, is meant to begin.
fn nth(first: Time, rate: Rate, number: u32) -> Time {
    first + rate.nth_ns(number.into()).map_or(Duration::MAX, Duration::from_nanos)
}

/// A device about to connect.
struct Caller {
    node: Node,
    steps: Steps,
    call: Call,
    within: Duration,
    /// Whether the gateway's port was checked.
    has_probed: bool,
}

impl Caller {
    /// Connects and disconnects as often as requested.
    fn repeat(&mut self, args: &ConnectArgs) -> Result<Outcome, Report> {
        let mut outcome = Outcome::of(&self.call);
        let first = self.node.now();
        for number in 0..args.count.get() {
            let intended = args.rate.map(|rate| nth(first, rate, number));
            if number > 0 {
                self.rest(intended.unwrap_or(self.node.now() + args.interval));
            }
            if self.node.is_to_end() {
                break;
            }
            let attempt = Attempt { intended, ..self.attempt() };
            let goes_on = matches!(attempt.trouble, Some(Trouble::Late(_)));
            outcome.add(attempt);
            self.node.close_all();
            if !args.node.json {
                screen::print(&outcome.text_of_last(args.count.get() > 1))?;
            }
            if goes_on {
                // The device still tries: the next outcome would belong to this attempt.
                break;
            }
        }
        self.end(&outcome, args)?;
        Ok(outcome)
    }

    /// Connects once and stays until it is stopped.
    fn stay(&mut self, args: &ConnectArgs) -> Result<Outcome, Report> {
        let mut outcome = Outcome::of(&self.call);
        outcome.add(self.attempt());
        if !args.node.json {
            screen::print(&outcome.text_of_last(false))?;
        }
        self.end(&outcome, args)?;
        if outcome.is_good() {
            self.node.serve();
            self.node.drain();
        }
        Ok(outcome)
    }

    fn end(&self, outcome: &Outcome, args: &ConnectArgs) -> Result<(), Report> {
        if args.node.json {
            screen::print_json(&outcome.document())
        } else {
            screen::print(&outcome.text_of_all())
        }
    }

    /// Triggers an SA with an echo request, and follows the attempt.
    fn attempt(&mut self) -> Attempt {
        self.steps.take();
        self.node.facts.begin();
        let mut attempt = Attempt { begun: self.node.now(), ..Attempt::default() };
        self.node.ask(Order::Echo { payload_bytes: ECHO_BYTES });
        let mut end = self.node.now() + self.within;
        let silent_until = attempt.begun + SILENCE;
        while !self.is_over(&mut attempt, end) {
            let limit = if self.has_probed { end } else { end.min(silent_until) };
            let limit = attempt.next_echo.map_or(limit, |next| limit.min(next));
            let event = self.node.next_event(limit.since(self.node.now()));
            self.probe(silent_until);
            self.ask_again(&mut attempt);
            if let Some(event) = event {
                self.follow(event, &mut attempt, &mut end);
            }
        }
        attempt.milestones = self.node.facts.milestones;
        attempt.steps = self.steps.take();
        attempt
    }

    /// Repeats the echo request through the SA.
    fn ask_again(&mut self, attempt: &mut Attempt) {
        let now = self.node.now();
        if let Some(next) = attempt.next_echo.filter(|next| *next <= now) {
            self.node.ask(Order::Echo { payload_bytes: ECHO_BYTES });
            attempt.echoes_repeated += 1;
            attempt.next_echo = Some(next + ECHO_INTERVAL);
        }
    }

    /// Checks once, after a while, whether the port of the gateway from which an answer is missing is closed.
    fn probe(&mut self, silent_until: Time) {
        if self.has_probed || self.node.now() < silent_until {
            return;
        }
        self.has_probed = true;
        let (ip, first_port) = self.call.gateway;
        let port = if self.steps.has_answer() { self.call.later_port } else { first_port };
        // The check blocks, and packets must be handled meanwhile.
        port.map(|port| thread::spawn(move || tell_if_closed(SocketAddr::new(ip, port))));
    }

    fn is_over(&self, attempt: &mut Attempt, end: Time) -> bool {
        if attempt.done || attempt.trouble.is_some() {
            return true;
        }
        if self.node.is_to_end() {
            attempt.trouble = Some(Trouble::Interrupted);
        } else if self.node.now() >= end {
            attempt.trouble = Some(if attempt.child.is_some() {
                let (unsent_count, why) = self.node.facts.unsent.clone();
                // Of the first request and its repetitions.
                let is_none_sent = unsent_count > attempt.echoes_repeated;
                Trouble::NoEcho(ECHO_PATIENCE, is_none_sent.then_some(why))
            } else {
                Trouble::Late(self.within)
            });
        }
        attempt.trouble.is_some()
    }

    fn follow(&self, event: Event, attempt: &mut Attempt, end: &mut Time) {
        match event {
            Event::Established(established) => attempt.established = Some(established),
            Event::ChildUp(child) => attempt.child = Some(child),
            Event::Usable => {
                attempt.done = !self.call.pings;
                attempt.next_echo = Some(self.node.now() + ECHO_INTERVAL);
                *end = self.node.now() + ECHO_PATIENCE;
            }
            Event::EchoReply => attempt.done = true,
            Event::GaveUp(failure) => attempt.trouble = Some(self.failure(&failure.why, false)),
            Event::Failed(failure) => {
                attempt.trouble = Some(self.failure(&failure.why, false));
                attempt.likely = failure.likely;
            }
            Event::ChildFailed { why, .. } => attempt.trouble = Some(self.failure(&why, true)),
            Event::Rekeyed { old, new } => attempt.renamed(old, new),
            Event::Closed { session, why } if attempt.is_under(session) => {
                attempt.trouble = Some(self.failure(&why, false));
            }
            _ => {}
        }
    }

    /// EAP knows the reason of a failure better than its carrier.
    fn failure(&self, why: &Reason, child: bool) -> Trouble {
        let known = self.node.facts.failure.clone();
        let (why, refused) =
            known.map_or_else(|| (why.name.into(), why.is_hearsay), |failure| (failure.why, failure.refused));
        let offered = &self.call.offers[usize::from(child)];
        let offered = (why == NO_PROPOSAL_CHOSEN).then(|| offered.clone());
        Trouble::Failed { offered, why, refused, child }
    }

    /// Lets time pass.
    fn rest(&mut self, end: Time) {
        while self.node.now() < end && !self.node.is_to_end() {
            self.node.next_event(end.since(self.node.now()));
        }
    }
}
