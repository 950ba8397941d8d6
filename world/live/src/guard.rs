//! A mistake in an engine that one datagram finds is not to end the daemon: the panic is caught, the engine lets go of what it
//! was about ([`Input::Recover`]), and whoever drives it is told where the mistake is.
//!
//! What a panic says is not kept: it may quote what it was given, keys and passwords among it. Where it happened is enough to
//! find it. What was half changed is not looked at again: an IKE SA is out of the tables of its endpoint while it handles a
//! message, an EAP conversation is refused, a stream whose bytes it was over is closed, and everything else is as it was before
//! the input.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use keytoll_engine::{Ctx, Engine, Input};
use keytoll_net::Addr;

/// Panics of an engine since somebody asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panics {
    /// How many there were.
    pub count: u64,
    /// Where the first was: a file of this program, and a line.
    pub place: String,
    /// Who sent what the engine handled then; none if it was no datagram.
    pub from: Option<Addr>,
}

/// Whether panics are caught, and those that were.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    is_up: bool,
    panics: Option<Panics>,
}

impl Guard {
    pub(crate) fn raise(&mut self) {
        self.is_up = true;
    }

    pub(crate) const fn take(&mut self) -> Option<Panics> {
        self.panics.take()
    }

    /// Gives the engine an input; false if it panicked, and has let go of what it was about.
    pub(crate) fn run<E: Engine>(
        &mut self,
        engine: &mut E,
        input: Input<'_, E::Command>,
        cx: &mut Ctx<'_>,
    ) -> bool {
        if !self.is_up {
            engine.handle(input, cx);
            return true;
        }
        let from = sender(&input);
        let outcome = watch(|| engine.handle(input, cx));
        let is_done = outcome.is_ok();
        if let Err(place) = outcome {
            self.note(place, from);
            if let Err(place) = watch(|| engine.handle(Input::Recover, cx)) {
                self.note(place, from);
            }
        }
        is_done
    }

    /// Lets something else than the engine act for a peer; none if it panicked.
    pub(crate) fn shield<T>(&mut self, from: Addr, act: impl FnOnce() -> T) -> Option<T> {
        if !self.is_up {
            return Some(act());
        }
        watch(act).map_err(|place| self.note(place, Some(from))).ok()
    }

    fn note(&mut self, place: String, from: Option<Addr>) {
        self.panics.get_or_insert(Panics { count: 0, place, from }).count += 1;
    }
}

/// Who caused an input, if it was not this machine.
const fn sender<C>(input: &Input<'_, C>) -> Option<Addr> {
    match input {
        Input::Datagram { from: peer, .. } | Input::Secured { peer, .. } | Input::Lost { peer, .. } => {
            Some(*peer)
        }
        Input::Inner(_) | Input::Recover | Input::Command(_) | Input::Tick => None,
    }
}

thread_local! {
    /// Where the panic was that this thread watches for; nowhere as yet.
    static WATCHED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does something; if it panics, gives the place.
fn watch<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !is_watched(info) {
                usual(info);
            }
        }));
    });
    WATCHED.set(Some(String::new()));
    let outcome = panic::catch_unwind(AssertUnwindSafe(act));
    let place = WATCHED.take().unwrap_or_default();
    outcome.map_err(|_| place)
}

fn is_watched(info: &PanicHookInfo<'_>) -> bool {
    WATCHED.with_borrow_mut(|watched| {
        let Some(place) = watched else { return false };
        if let Some(location) = info.location() {
            *place = format!("{}:{}", location.file(), location.line());
        }
        true
    })
}
