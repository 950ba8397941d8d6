//! Every message of a connection with its time, as seen at the sockets.

use std::sync::{Arc, Mutex, PoisonError};

use keytoll_capture::observe::Observer;
use keytoll_engine::{Datagram, Time};
use keytoll_live::{Seen, Tap};
use keytoll_rigs::FAMILIES;
use keytoll_trace::Protocol;

/// The greatest number of steps that are kept.
const STEPS_MAX: usize = 10_000;

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
}

impl Default for Book {
    fn default() -> Self {
        Self { observer: Observer::new(FAMILIES), steps: Vec::new() }
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
            book.steps.push(step);
        }
    }
}

impl Book {
    fn step(&mut self, seen: &Seen<'_>, sent: bool) -> Step {
        let Seen { at, from, to, protocol, bytes } = *seen;
        let protocol = protocol.unwrap_or(Protocol::ESP);
        let datagram = Datagram { protocol, from, to, bytes: bytes.to_vec() };
        let message = self.observer.sent(&datagram);
        Step {
            at,
            sent,
            name: message.as_ref().map_or_else(|| "ESP packet", |message| message.name.as_str()),
            id: message.as_ref().map(|message| message.id),
            bytes: message.as_ref().map_or(bytes.len(), |message| message.bytes as usize),
            again: message.is_some_and(|message| message.retransmission),
        }
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
