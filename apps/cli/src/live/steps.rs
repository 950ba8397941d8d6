//! Every message of a connection with its time, as seen at the sockets.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use keytoll_capture::observe::{self, Observer};
use keytoll_engine::{Datagram, Time};
use keytoll_live::{Seen, Tap};
use keytoll_rigs::FAMILIES;
use keytoll_trace::Protocol;

/// The greatest number of steps that are kept.
const STEPS_MAX: usize = 10_000;
/// As many earlier attempts are remembered: each may still be deleting its SAs.
const EARLIER_MAX: usize = 64;

/// A message that passed.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// When.
    pub(crate) at: Time,
    /// From us, not to us.
    pub(crate) sent: bool,
    /// `IKE_AUTH request`, `ESP packet`.
    pub(crate) name: &'static str,
    /// IKE's message id.
    pub(crate) id: Option<u32>,
    /// Without UDP and IP headers.
    pub(crate) bytes: usize,
    /// Seen before, byte for byte.
    pub(crate) again: bool,
}

/// The steps since the start of the attempt.
#[derive(Debug)]
struct Book {
    observer: Observer,
    steps: Vec<Step>,
    /// The conversations of this attempt, and those of earlier attempts: their messages do not count.
    own: BTreeSet<u64>,
    earlier: VecDeque<u64>,
}

impl Default for Book {
    fn default() -> Self {
        let (own, earlier) = Default::default();
        Self { observer: Observer::new(FAMILIES), steps: Vec::new(), own, earlier }
    }
}

/// A tap that keeps steps; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steps(Arc<Mutex<Book>>);

impl Steps {
    /// The steps since this was last called.
    pub(crate) fn take(&self) -> Vec<Step> {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        book.observer = Observer::new(FAMILIES);
        let own = std::mem::take(&mut book.own);
        book.earlier.extend(own);
        let surplus = book.earlier.len().saturating_sub(EARLIER_MAX);
        book.earlier.drain(..surplus);
        std::mem::take(&mut book.steps)
    }

    /// Whether any message was received since.
    pub(crate) fn has_answer(&self) -> bool {
        let book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        book.steps.iter().any(|step| !step.sent)
    }

    fn note(&self, seen: &Seen<'_>, sent: bool) {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if book.steps.len() < STEPS_MAX {
            let step = book.step(seen, sent);
            book.steps.extend(step);
        }
    }
}

impl Book {
    /// `None` for a message of an earlier attempt: the deletion of its SAs may last into this one.
    fn step(&mut self, seen: &Seen<'_>, sent: bool) -> Option<Step> {
        let Seen { at, from, to, protocol, bytes } = *seen;
        let protocol = protocol.unwrap_or(Protocol::ESP);
        let datagram = Datagram { protocol, from, to, bytes: bytes.to_vec() };
        if let Some(conversation) = observe::conversation(FAMILIES, &datagram) {
            if self.earlier.contains(&conversation) {
                return None;
            }
            if self.own.len() < EARLIER_MAX {
                self.own.insert(conversation);
            }
        }
        let message = self.observer.sent(&datagram);
        Some(Step {
            at,
            sent,
            name: message.as_ref().map_or_else(|| "ESP packet", |message| message.name.as_str()),
            id: message.as_ref().map(|message| message.id),
            bytes: message.as_ref().map_or(bytes.len(), |message| message.bytes as usize),
            again: message.is_some_and(|message| message.retransmission),
        })
    }
}

impl Tap for Steps {
    fn sent(&mut self, seen: &Seen<'_>) {
        self.note(seen, true);
    }

    fn received(&mut self, seen: &Seen<'_>) {
        self.note(seen, false);
    }
}

#[cfg(test)]
mod tests {
    use keytoll_engine::trace::Protocol;
    use keytoll_net::Addr;
    use keytoll_rigs::IKE;

    use super::*;

    /// RFC 7296 §3.1: an INFORMATIONAL request of the SA with this SPI, empty.
    fn delete(spi: u64) -> Vec<u8> {
        let mut bytes = spi.to_be_bytes().to_vec();
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 9, 46, 0x20, 37, 8, 0, 0, 0, 2, 0, 0, 0, 32, 0, 0, 0, 4]);
        bytes
    }

    fn seen(protocol: Protocol, bytes: &[u8]) -> Seen<'_> {
        let [from, to] = [500, 501].map(|port| Addr::udp([127, 0, 0, 1].into(), port));
        Seen { at: Time::ZERO, from, to, protocol: Some(protocol), bytes }
    }

    #[test]
    fn the_end_of_an_earlier_attempt_is_no_step_of_the_next() {
        let mut steps = Steps::default();
        steps.sent(&seen(IKE, &delete(1)));
        assert_eq!(steps.take().len(), 1, "of its own");
        steps.sent(&seen(IKE, &delete(1)));
        steps.received(&seen(IKE, &delete(1)));
        assert!(!steps.has_answer());
        steps.received(&seen(IKE, &delete(2)));
        assert!(steps.has_answer());
        let names: Vec<_> = steps.take().iter().map(|step| (step.name, step.again)).collect();
        assert_eq!(names, [("INFORMATIONAL request", false)]);
    }
}
