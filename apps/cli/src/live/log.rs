//! Logs: facts and events through `tracing`, on stderr. A flood of useless datagrams becomes a few lines and a count; facts and
//! events contain no secrets.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::IsTerminal;

use keytoll_engine::Time;
use keytoll_live::{Capture, Clock};
use keytoll_rigs::RADIUS;
use keytoll_scenario::node::{NodePlan, Role};
use keytoll_trace::{Fact, Message, Protocol, Revealed, Trace};
use tracing::{debug, info, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::Color;

/// The driver begins the reason of a datagram that was not sent with these words.
const NOT_SENT: &str = "live: not sent ";

/// The log target of facts.
pub(crate) const FACT: &str = "fact";

/// Sends logs that pass the filter to stderr.
pub(crate) fn install(filter: Targets, color: Color) {
    let colored =
        color == Color::Auto && std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colored);
    // A second log in one process is not needed.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
}

/// The times by which an authentication is measured.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Milestones {
    /// Traffic wanted an SA.
    pub(crate) triggered: Option<Time>,
    /// A usable SA.
    pub(crate) usable: Option<Time>,
    /// The answer to the first packet through it.
    pub(crate) first_packet: Option<Time>,
}

/// Why an authentication failed, according to the innermost engine.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// A short reason, by which results are grouped.
    pub(crate) why: Cow<'static, str>,
    /// Whether the peer refused.
    pub(crate) refused: bool,
}

/// Receives facts, logs them, and remembers what the summary needs.
pub(crate) struct Facts {
    clock: Clock,
    role: Role,
    discards: Discards,
    silences: Silences,
    pub(crate) milestones: Milestones,
    pub(crate) failure: Option<Failure>,
    /// How many packets of a user could not be sent, and where the last was to go and why it could not: `to 192.0.2.1: …`.
    pub(crate) unsent: (u32, Cow<'static, str>),
    /// Hears everything, keys as well.
    capture: Option<Capture>,
}

impl Facts {
    pub(crate) fn new(clock: Clock, plan: &NodePlan, capture: Option<Capture>) -> Self {
        let role = plan.role();
        let server = plan.radius_server().map(|server| server.to_string());
        let discards = Discards { has_clients: role == Role::Aaa, server, ..Discards::default() };
        Self {
            clock,
            role,
            discards,
            silences: Silences::default(),
            milestones: Milestones::default(),
            failure: None,
            unsent: Default::default(),
            capture,
        }
    }

    /// Forgets the last authentication.
    pub(crate) fn begin(&mut self) {
        (self.milestones, self.failure, self.unsent) = Default::default();
    }

    /// Logs the number of suppressed discards, at the end of a minute.
    pub(crate) fn flush(&mut self) {
        self.discards.flush(self.clock.now());
    }

    /// The same at the end of the program.
    pub(crate) fn rest(&mut self) {
        self.discards.rest();
    }

    fn failed(&mut self, why: Cow<'static, str>, refused: bool) {
        let what = if refused { "refused" } else { "failed" };
        // Of a server an event says so, with the address.
        if self.role == Role::Device {
            warn!(target: FACT, why = &*why, "{what}");
        } else {
            debug!(target: FACT, why = &*why, "{what}");
        }
        self.silences.note(self.clock.now(), &why, self.discards.server.as_deref());
        self.failure = Some(Failure { why, refused });
    }
}

impl Trace for Facts {
    fn wants_keys(&self) -> bool {
        self.capture.is_some()
    }

    fn reveal(&mut self, revealed: Revealed) {
        self.capture.iter().for_each(|capture| capture.reveal(&revealed));
    }

    fn record(&mut self, fact: Fact) {
        self.capture.iter().for_each(|capture| capture.record(&fact));
        match fact {
            Fact::Sent(message) => sent(&message),
            Fact::Discarded { protocol, why } => {
                if protocol == Protocol::ESP
                    && let Some(unsent) = why.strip_prefix(NOT_SENT)
                {
                    self.unsent = (self.unsent.0 + 1, unsent.to_owned().into());
                }
                self.discards.note(self.clock.now(), protocol, why);
            }
            Fact::Failed { why } => self.failed(why, false),
            Fact::Refused { why } => self.failed(why, true),
            Fact::Triggered => {
                self.milestones.triggered = Some(self.clock.now());
                debug!(target: FACT, "triggered");
            }
            Fact::Usable => {
                self.milestones.usable = Some(self.clock.now());
                debug!(target: FACT, "usable");
            }
            Fact::FirstPacket => {
                self.milestones.first_packet.get_or_insert(self.clock.now());
                debug!(target: FACT, "first packet");
            }
            Fact::Rekeyed { what } => debug!(target: FACT, what = &*what, "rekeyed"),
            Fact::Closed { why } => debug!(target: FACT, why = &*why, "closed"),
            Fact::Moved => debug!(target: FACT, "moved"),
            Fact::MoveVerified => debug!(target: FACT, "new address verified"),
            Fact::Carried { .. } | Fact::Computed { .. } | Fact::Disturbed | Fact::Reached { .. } => {}
            Fact::TrafficBegan
            | Fact::Traffic(_)
            | Fact::TrafficCarried { .. }
            | Fact::TrafficComputed { .. }
            | Fact::TrafficDiscarded { .. } => {}
        }
    }
}

fn sent(message: &Message) {
    debug!(
        target: FACT,
        protocol = message.protocol.name(),
        id = message.id,
        bytes = message.bytes,
        fragment = message.fragment,
        retransmission = message.retransmission,
        "sent {}",
        message.name
    );
}

/// A failure for want of an answer of the RADIUS server.
// RFC 2865 §3: a server silently discards the requests of a client without a secret, or with a wrong one.
const SILENT: &str = "RADIUS timeout";
const MINUTE: std::time::Duration = std::time::Duration::from_secs(60);

/// Authentications that failed because the RADIUS server did not answer. The device learns only that it is refused.
#[derive(Debug, Default)]
struct Silences {
    /// The end of the minute in which no further one is logged.
    until: Time,
    /// The number of failures without a line.
    more: u64,
}

impl Silences {
    /// Logs it, and the number of those in the minute before; returns whether it did.
    fn note(&mut self, now: Time, why: &str, server: Option<&str>) -> bool {
        let Some(server) = server.filter(|_| why == SILENT) else { return false };
        if now < self.until {
            self.more += 1;
            return false;
        }
        let more = Some(std::mem::take(&mut self.more)).filter(|more| *more > 0);
        self.until = now + MINUTE;
        warn!(
            target: FACT, server, more,
            likely = "it is down, has another address, has another secret for this gateway in `clients`, or limits a device",
            "the RADIUS server does not answer, so devices are refused"
        );
        true
    }
}

/// Distinct reasons per minute. Of each one discard is logged, and the number of further ones: less than 100 lines.
const REASONS_MAX: usize = 40;

/// Discarded messages, and how many of them are not logged.
#[derive(Debug, Default)]
struct Discards {
    /// The end of the current minute.
    until: Time,
    counts: BTreeMap<(Protocol, Cow<'static, str>), u64>,
    /// Whether an event reports discarded requests of RADIUS clients.
    has_clients: bool,
    /// The RADIUS server of a gateway.
    server: Option<String>,
}

impl Discards {
    fn note(&mut self, now: Time, protocol: Protocol, why: Cow<'static, str>) {
        self.flush(now);
        if self.counts.is_empty() {
            self.until = now + MINUTE;
        }
        let is_new = self.counts.len() >= REASONS_MAX && !self.counts.contains_key(&(protocol, why.clone()));
        let why = if is_new { "further reasons".into() } else { why };
        let count = self.counts.entry((protocol, why.clone())).or_default();
        *count += 1;
        match likely(protocol, &why).filter(|_| !self.has_clients) {
            _ if *count > 1 => {}
            Some(likely) => {
                let server = self.server.as_deref();
                warn!(target: FACT, protocol = protocol.name(), why = &*why, likely, server, "discarded");
            }
            None => info!(target: FACT, protocol = protocol.name(), why = &*why, "discarded"),
        }
    }

    fn flush(&mut self, now: Time) {
        if now >= self.until {
            self.rest();
        }
    }

    /// Logs the number of those without a line.
    fn rest(&mut self) {
        for ((protocol, why), count) in std::mem::take(&mut self.counts) {
            if let Some(more @ 1..) = count.checked_sub(1) {
                warn!(target: FACT, protocol = protocol.name(), why = &*why, more, "discarded more within a minute");
            }
        }
    }
}

/// The likely cause where an administrator has to act. RFC 2865 §3 and RFC 3579 §3.2: a wrong authenticator means another
/// shared secret.
fn likely(protocol: Protocol, why: &str) -> Option<&'static str> {
    match why {
        _ if protocol != RADIUS => None,
        "wrong authenticator" | "wrong Message-Authenticator" => {
            Some("the RADIUS secrets of the gateway (`secret`) and of the AAA server (`clients`) differ")
        }
        // RFC 3579 §3.2; CVE-2024-3596: without it an attacker on the path changes an Access-Reject into an Access-Accept.
        "no Message-Authenticator" => {
            Some("the AAA server does not send it with each answer, or the answer is forged")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use keytoll_rigs::IKE;

    use super::*;

    #[test]
    fn a_flood_costs_no_memory_and_is_forgotten_after_a_minute() {
        let mut discards = Discards::default();
        for n in 0..100_000_u64 {
            discards.note(Time::from_nanos(n), IKE, format!("reason {n}").into());
        }
        assert_eq!(discards.counts.len(), REASONS_MAX + 1);
        assert_eq!(discards.counts.values().sum::<u64>(), 100_000);
        discards.flush(Time::ZERO + 2 * MINUTE);
        assert!(discards.counts.is_empty());
    }

    #[test]
    fn a_silent_server_is_logged_once_a_minute() {
        let mut silences = Silences::default();
        let mut note =
            |seconds: u64, why, server| silences.note(Time::from_nanos(seconds * 1_000_000_000), why, server);
        assert!(!note(0, "EAP wrong password", Some("192.0.2.1:1812")) && !note(0, SILENT, None));
        let logged = [1, 2, 60, 61, 62].map(|at| note(at, SILENT, Some("192.0.2.1:1812")));
        assert_eq!(logged, [true, false, false, true, false]);
        assert_eq!(silences.more, 1);
    }
}
