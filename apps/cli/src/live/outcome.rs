//! The output of `keytoll connect`: the negotiated parameters, every message with its time, and the outcome.

use std::borrow::Cow;
use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;

use keytoll_census::Delays;
use keytoll_engine::Time;
use keytoll_hosts::event::Established;
use keytoll_hosts::{Child, Selector, SessionId};
use keytoll_scenario::node::Call;

use super::document::{ChildSa, Described, Document, Passed, Told};
use super::log::Milestones;
use super::steps::Step;
use crate::screen;

/// Why an attempt failed.
#[derive(Debug, Clone)]
pub(crate) enum Trouble {
    /// Authentication failed or was refused, or the child SA was refused.
    Failed {
        why: Cow<'static, str>,
        refused: bool,
        child: bool,
        /// Our proposal, if nothing in it was acceptable.
        offered: Option<String>,
    },
    /// It timed out.
    Late(Duration),
    /// The SA is established, but no echo request got an answer; with the reason if none could be sent.
    NoEcho(Duration, Option<Cow<'static, str>>),
    /// It was interrupted.
    Interrupted,
}

impl Trouble {
    /// The gateway reports what it accepts only in its own log.
    fn sentence(&self) -> String {
        let offered = match self {
            Self::Failed { offered: Some(offered), .. } => {
                format!(" (we offered {offered}; what is acceptable is in the gateway's log)")
            }
            _ => String::new(),
        };
        self.what() + &offered
    }

    fn what(&self) -> String {
        match self {
            Self::Failed { why, refused: true, child: false, .. } => format!("the gateway refused us: {why}"),
            Self::Failed { why, refused: true, .. } => {
                format!("the gateway refused the SA for traffic: {why}")
            }
            Self::Failed { why, child: true, .. } => format!("no SA for traffic: {why}"),
            Self::Failed { why, .. } => format!("not connected: {why}"),
            Self::Late(within) => format!("not connected within {within:?}"),
            Self::NoEcho(_, Some(why)) => format!("the SA is up, but no packet could be sent {why}"),
            Self::NoEcho(within, None) => format!("the SA is up, but no echo reply came within {within:?}"),
            Self::Interrupted => "interrupted".to_owned(),
        }
    }

    fn why(&self) -> &str {
        match self {
            Self::Failed { why, .. } => why,
            Self::Late(_) => "timeout",
            Self::NoEcho(_, Some(_)) => "no packet could be sent",
            Self::NoEcho(_, None) => "no echo reply",
            Self::Interrupted => "interrupted",
        }
    }
}

/// One attempt to connect.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    /// When it was meant to begin, if there is a schedule.
    pub(crate) intended: Option<Time>,
    pub(crate) begun: Time,
    pub(crate) established: Option<Established>,
    pub(crate) child: Option<Child>,
    pub(crate) milestones: Milestones,
    pub(crate) steps: Vec<Step>,
    /// When the next echo request is due, once there is an SA.
    pub(crate) next_echo: Option<Time>,
    /// Echo requests after the first.
    pub(crate) echoes_repeated: u32,
    pub(crate) done: bool,
    pub(crate) trouble: Option<Trouble>,
    /// The likely cause.
    pub(crate) likely: Option<&'static str>,
}

/// The 50th, 90th, 95th and 99th percentile of delays in milliseconds; `None` without any. They are counted by the thousandth of their
/// length, which may be above the longest.
fn percentiles(delays_ms: &[f64]) -> Option<[f64; 4]> {
    let mut delays = Delays::default();
    delays_ms.iter().for_each(|ms| delays.record(Duration::from_secs_f64(ms / 1000.0)));
    let (of, most) = (delays.percentiles()?, delays_ms.iter().copied().fold(0.0, f64::max));
    Some([of.p50, of.p90, of.p95, of.p99].map(|delay| delay.min(most)))
}

impl Attempt {
    /// Whether it resulted in this session.
    pub(crate) fn is_under(&self, session: SessionId) -> bool {
        self.established.as_ref().is_some_and(|established| established.session == session)
    }

    /// A session has another name now.
    pub(crate) fn renamed(&mut self, old: SessionId, new: SessionId) {
        self.established.iter_mut().filter(|own| own.session == old).for_each(|own| own.session = new);
    }

    /// A description of the failure with its likely cause.
    fn sentence(&self) -> Option<String> {
        let trouble = self.trouble.as_ref()?.sentence();
        Some(self.likely.map_or(trouble.clone(), |likely| format!("{trouble} (most likely {likely})")))
    }

    fn delay_ms(&self, until: Option<Time>) -> Option<f64> {
        until.map(|until| millis(until.since(self.triggered())) + self.late_ms().unwrap_or(0.0))
    }

    fn triggered(&self) -> Time {
        self.milestones.triggered.unwrap_or(self.begun)
    }

    /// How much later it began than it was meant to.
    fn late_ms(&self) -> Option<f64> {
        self.intended.map(|intended| millis(self.triggered().since(intended)))
    }

    fn usable_ms(&self) -> Option<f64> {
        self.delay_ms(self.milestones.usable)
    }

    fn first_packet_ms(&self) -> Option<f64> {
        self.delay_ms(self.milestones.first_packet)
    }

    fn retransmissions(&self) -> usize {
        self.steps.iter().filter(|step| step.again && step.sent).count()
    }

    /// Messages of the key exchange, without retransmissions.
    fn messages(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.id.is_some() && !step.again)
    }

    fn bytes(&self) -> usize {
        self.messages().map(|step| step.bytes).sum()
    }
}

/// With three decimals.
fn millis(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}

/// All attempts of a device.
pub(crate) struct Outcome {
    gateway: String,
    auth: String,
    peer_auth: &'static str,
    attempts: Vec<Attempt>,
}

impl Outcome {
    pub(crate) fn of(call: &Call) -> Self {
        let (ip, port) = call.gateway;
        Self {
            gateway: port.map_or_else(|| ip.to_string(), |port| SocketAddr::new(ip, port).to_string()),
            auth: call.auth.clone(),
            peer_auth: call.peer_auth,
            attempts: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, attempt: Attempt) {
        self.attempts.push(attempt);
    }

    /// Whether every attempt resulted in a working SA, and there was at least one.
    pub(crate) fn is_good(&self) -> bool {
        !self.attempts.is_empty() && self.attempts.iter().all(|attempt| attempt.done)
    }

    /// The last attempt; with `many` only the first one in full.
    pub(crate) fn text_of_last(&self, many: bool) -> String {
        let Some(attempt) = self.attempts.last() else { return String::new() };
        if many && self.attempts.len() > 1 {
            return format!("{}: {}\n", self.attempts.len(), end_of(attempt));
        }
        let full = [self.negotiated(attempt), steps(attempt), format!("{}\n", end_of(attempt))].concat();
        if many { format!("{full}\n1: {}\n", end_of(attempt)) } else { full }
    }

    /// All attempts together, if there were several.
    pub(crate) fn text_of_all(&self) -> String {
        if self.attempts.len() < 2 {
            return String::new();
        }
        let delays: Vec<_> = self.attempts.iter().filter_map(Attempt::usable_ms).collect();
        let connected = self.attempts.iter().filter(|attempt| attempt.done).count();
        let mut text = format!("\n{connected} of {} connected", self.attempts.len());
        if let Some((min, mean, max)) = spread(&delays) {
            let _ =
                write!(text, "; usable after {min:.3} ms at least, {mean:.3} on average, {max:.3} at most");
        }
        if let Some([p50, p90, p95, p99]) = percentiles(&delays) {
            let _ = write!(text, "\np50 {p50:.3} ms, p90 {p90:.3}, p95 {p95:.3}, p99 {p99:.3}");
        }
        if let Some(latest) = self.attempts.iter().filter_map(Attempt::late_ms).reduce(f64::max) {
            let _ = write!(text, "\ndelays count from the intended start; begun {latest:.3} ms late at most");
        }
        text + "\n"
    }

    fn negotiated(&self, attempt: &Attempt) -> String {
        let Some(established) = &attempt.established else { return String::new() };
        let mut rows: Vec<_> =
            established.details.rows().into_iter().map(|(what, how)| [what.to_owned(), how]).collect();
        rows.push(["we proved".to_owned(), self.auth.clone()]);
        rows.push(["it proved".to_owned(), self.peer_auth.to_owned()]);
        rows.extend(established.address.map(|address| ["inner address".to_owned(), address.to_string()]));
        rows.extend(
            established
                .authenticated_for
                .map(|lifetime| ["authenticated for".to_owned(), format!("{} s", lifetime.as_secs())]),
        );
        if let Some(child) = attempt.child {
            let side =
                |selector: Option<Selector>| selector.map_or_else(|| "–".to_owned(), |side| side.to_string());
            rows.push(["ESP suite".to_owned(), child.suite.to_string()]);
            rows.push([
                "ESP SPIs".to_owned(),
                format!("{:08x} {:08x}", child.inbound_spi, child.outbound_spi),
            ]);
            rows.push(["traffic".to_owned(), format!("{} to {}", side(child.local), side(child.remote))]);
        }
        let rows: Vec<_> = rows.into_iter().map(|row| row.to_vec()).collect();
        format!("connected to the gateway at {}\n{}\n", self.gateway, screen::table(&rows))
    }

    /// The JSON document.
    pub(crate) fn document(&self) -> Document<'_> {
        Document {
            format: 1,
            gateway: &self.gateway,
            auth: &self.auth,
            peer_auth: self.peer_auth,
            succeeded: self.attempts.iter().filter(|attempt| attempt.done).count(),
            attempts: self.attempts.iter().map(told).collect(),
        }
    }
}

fn spread(values: &[f64]) -> Option<(f64, f64, f64)> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (min, max) = (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
    Some((min, mean, max))
}

/// Each message with its time and its distance to the previous one.
fn steps(attempt: &Attempt) -> String {
    let heading = ["at ms", "after ms", "bytes", "", "message", ""].map(str::to_owned).to_vec();
    let begun = attempt.triggered();
    let mut before = begun;
    let lines = attempt.steps.iter().map(|step| {
        let after = millis(step.at.since(before));
        before = step.at;
        let name = step.id.map_or_else(|| step.name.to_owned(), |id| format!("{} {id}", step.name));
        vec![
            format!("{:>9.3}", millis(step.at.since(begun))),
            format!("{after:>9.3}"),
            format!("{:>5}", step.bytes),
            if step.sent { "→" } else { "←" }.to_owned(),
            name,
            if step.again { "again" } else { "" }.to_owned(),
        ]
    });
    screen::table(&std::iter::once(heading).chain(lines).collect::<Vec<_>>()) + "\n"
}

/// The outcome, in one line.
fn end_of(attempt: &Attempt) -> String {
    let counts = format!(
        "{} messages, {} bytes, {} retransmissions",
        attempt.messages().count(),
        attempt.bytes(),
        attempt.retransmissions()
    );
    let usable = attempt.usable_ms().map(|ms| format!("usable after {ms:.3} ms"));
    let packet = attempt.first_packet_ms().map(|ms| format!("first echo reply after {ms:.3} ms"));
    let repeated = attempt.echoes_repeated;
    let repeated = (repeated > 0).then(|| format!("{repeated} echo requests repeated"));
    let late = attempt.late_ms().map(|ms| format!("begun {ms:.3} ms late"));
    let trouble = attempt.sentence();
    let parts = [trouble, late, usable, packet, repeated].into_iter().flatten().collect::<Vec<_>>();
    format!("{}; {counts}", parts.join(", "))
}

fn told(attempt: &Attempt) -> Told {
    let begun = attempt.triggered();
    Told {
        outcome: if attempt.done { "connected" } else { "failed" },
        failure: attempt.trouble.as_ref().map(|trouble| trouble.why().to_owned()),
        likely: attempt.likely.map(str::to_owned),
        sentence: attempt.sentence(),
        session: attempt.established.as_ref().map(|established| Described(established.details.document())),
        child: attempt.child.map(child_sa),
        late_ms: attempt.late_ms(),
        delay_ms: attempt.usable_ms(),
        first_packet_ms: attempt.first_packet_ms(),
        echo_requests_repeated_count: attempt.echoes_repeated,
        messages: attempt.messages().count(),
        bytes: attempt.bytes(),
        retransmissions: attempt.retransmissions(),
        steps: attempt.steps.iter().map(|step| passed(step, begun)).collect(),
    }
}

fn child_sa(child: Child) -> ChildSa {
    ChildSa {
        esp_suite: child.suite.to_string(),
        esp_spis: [child.inbound_spi, child.outbound_spi].map(|spi| format!("{spi:08x}")),
        local: child.local.map(|local| local.to_string()),
        remote_traffic: child.remote.map(|remote| remote.to_string()),
    }
}

fn passed(step: &Step, begun: Time) -> Passed {
    Passed {
        at_ms: millis(step.at.since(begun)),
        direction: if step.sent { "out" } else { "in" },
        message: step.name.to_owned(),
        id: step.id,
        bytes: step.bytes,
        retransmission: step.again,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_percentile_is_above_the_longest() {
        assert_eq!(percentiles(&[4097.0, 4098.001]).unwrap()[3], 4098.001);
        assert_eq!(percentiles(&[]), None);
    }
}
