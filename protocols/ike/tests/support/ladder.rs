//! Exchanges drawn as ladders: one line per datagram, event or discard.
//!
//! ```text
//!   i -> r  IKE_SA_INIT request  SA KE Nonce N N N N
//!   r x> i  IKE_SA_INIT response  SA KE Nonce N N N N  lost
//!   i -> r  IKE_SA_INIT request  SA KE Nonce N N N N  again
//!   r       established by i
//! ```

use std::fmt;

use keytoll_engine::Time;
use keytoll_engine::trace::Message;
use keytoll_ike::Event;

use super::bench::{Bench, Fault, Side};

/// The lines so far.
#[derive(Debug, Default)]
pub(crate) struct Ladder {
    lines: Vec<String>,
    /// Draw nothing: for thousands of runs.
    pub(crate) silent: bool,
    /// Show when each datagram left.
    pub(crate) clock: bool,
    /// Print every line at once.
    pub(crate) loud: bool,
}

impl Ladder {
    fn draw(&mut self, line: impl FnOnce() -> String) {
        if self.silent {
            return;
        }
        let line = line();
        if self.loud {
            println!("    {line}");
        }
        self.lines.push(line);
    }

    /// Clears what was drawn so far.
    pub(crate) fn clear(&mut self) {
        self.lines.clear();
    }

    pub(crate) fn sent(
        &mut self,
        side: Side,
        message: &Message,
        fault: Option<Fault>,
        lost: bool,
        now: Time,
    ) {
        let clock = self.clock;
        self.draw(|| {
            let (from, to) = (side.name(), side.peer().name());
            let arrow = if lost { "x>" } else { "->" };
            let mut line = format!("{from} {arrow} {to}  {}  {}", message.name, message.parts);
            if message.fragment > 0 {
                line += &format!("  #{}", message.fragment);
            }
            if message.retransmission {
                line += "  again";
            }
            line += match fault {
                _ if lost => "  lost",
                Some(Fault::Twice) => "  twice",
                Some(Fault::Corrupt(_)) => "  corrupted",
                Some(Fault::Late(_)) => "  late",
                Some(Fault::Lost) | None => "",
            };
            if clock {
                line += &format!("  {now}");
            }
            line
        });
    }

    pub(crate) fn discarded(&mut self, side: Side, why: &str) {
        self.draw(|| format!("{}  discards: {why}", side.name()));
    }

    pub(crate) fn event(&mut self, side: Side, event: &Event) {
        self.draw(|| format!("{}  {}", side.name(), describe(event)));
    }
}

/// An event without random names.
fn describe(event: &Event) -> String {
    match event {
        Event::Established(up) => match &up.peer {
            Some(peer) => format!("established with {peer}"),
            None => "established with nobody named".to_owned(),
        },
        Event::ChildUp(_, child) => format!("child up: {}", child.pair.suite),
        Event::ChildRekeyed { new, .. } => format!("child rekeyed: {}", new.pair.suite),
        Event::ChildDown(..) => "child down".to_owned(),
        Event::ChildFailed(_, reason) => format!("child failed: {reason}"),
        Event::Rekeyed { .. } => "rekeyed".to_owned(),
        Event::EapStart { identity, .. } => format!("EAP begins with {identity}"),
        Event::EapPacket(..) => "EAP packet".to_owned(),
        Event::ReauthenticationDue(_) => "reauthentication due".to_owned(),
        Event::Closed(_, reason) => format!("closed: {reason}"),
        Event::ProposalRefused(_) => "proposal refused".to_owned(),
        Event::Failed(_, reason, _) => format!("failed: {reason}"),
    }
}

impl fmt::Display for Ladder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

/// Compares the whole ladder with the expected one; leading and trailing blanks are ignored.
#[track_caller]
pub(crate) fn check(bench: &Bench, drawn: &str) {
    let lines = |text: &str| -> Vec<String> {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().map(words).filter(|line| !line.is_empty()).collect()
    };
    let happened = bench.ladder.to_string();
    assert!(
        lines(&happened) == lines(drawn),
        "it happened like this:\n{happened}\nand not like this:{drawn}"
    );
}
