//! Callers: thousands of devices as one engine, for load on real targets. They share sockets and tables; none has a thread, and
//! none an engine of its own.
//!
//! ```text
//!   Command::Begin(call, device) --> messages to the target --> Event::Usable(call) --Command::Leave--> Event::Ended(call)
//!                                                           |-> Event::Failed(call, why)
//!                                                           '-> Event::Refused(call, why, until): nothing was sent
//! ```
//!
//! Who tells them when to begin, and how long to stay, is their driver's business: they know no schedule.

pub mod ike;
pub mod radius;

use std::fmt;

use keytoll_crypto_api::Rng;
use keytoll_engine::{Engine, Time};

/// One authentication of one device, from its beginning to the end of its session. The owner chooses it, and never twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call(pub u64);

/// The number of a device among those that the callers have credentials of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceIndex(pub u32);

/// A request of the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// A device begins to authenticate.
    Begin(Call, DeviceIndex),
    /// It leaves: a session is closed, an attempt given up.
    Leave(Call),
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It is authenticated, and everything that it asked for is there.
    Usable(Call),
    /// It is not, and over; the reason is a name to count by.
    Failed(Call, &'static str),
    /// It did not begin and is over, for a reason of ours: nothing was sent, and the target had no part in it. None begins before this
    /// time, unless another one ends earlier.
    Refused(Call, &'static str, Time),
    /// Its session is over: with `None` because it was asked to leave, else because the target closed it or went silent.
    Ended(Call, Option<&'static str>),
}

/// Devices as one engine.
pub trait Callers: Engine<Command = Command, Event = Event> + fmt::Debug + Send {
    /// What they call their sessions, in the plural; `None` if there are none: a device that is authenticated has nothing to close.
    fn sessions(&self) -> Option<&'static str>;

    /// What somebody has told in the target's name of a call without outcome, unproved: a reason to count, if it gets none in time.
    fn hearsay(&self, _call: Call) -> Option<&'static str> {
        None
    }
}

/// A random stream of one conversation.
fn stream(of: &mut Rng) -> Rng {
    of.seed().stream("conversation")
}

/// Makes the credentials of a device.
pub type Credentials<T> = Box<dyn FnMut(DeviceIndex) -> T + Send>;
