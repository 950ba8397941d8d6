//! What it takes a thread to be woken by a message, by how long it had slept: its caches are cold, and the processor may sleep, too.
//!
//! From one sleep to the next a thread handles whatever has come. Of those times with one received message each is known what that message
//! costs; of those with several, what a message costs that has waited.
//!
//! ```text
//!   asleep ------message------> awake: receives, computes | sends, looks whether more has come, falls asleep, and wakes up
//!          |<----pause---->|   |<--until the last answer-->|<-------- CPU time that delays no answer -------->|
//! ```
//!
//! An answer leaves while the call that sends it lasts: through the loopback interface it is with the receiver before that has
//! woken up. To fall asleep takes CPU time before the message is there. How long it takes to wake up, from the arrival of the message, is a
//! delay, most of it no CPU time of the thread.

use std::time::Duration;

/// The pauses at which the classes begin, in microseconds.
pub const PAUSES_US: [u32; 10] = [0, 25, 50, 100, 200, 400, 800, 1600, 3200, 6400];

/// Whoever waits for less has not slept: what it waited for was there already.
const NO_PAUSE: Duration = Duration::from_micros(4);

/// It takes no longer to wake up: somebody has set the clock.
const LATENCY_MAX: Duration = Duration::from_secs(1);

/// Which wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeClass {
    /// After at least so many microseconds of sleep, one of [`PAUSES_US`].
    pub pause_us: u32,
    /// Whether several messages were received, not one.
    pub is_several: bool,
}

/// Sums over wakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WakeSums {
    /// How many.
    pub wakes: u64,
    /// Those of them whose first message told when it had arrived.
    pub timed: u64,
    /// The messages that were received and sent.
    pub messages: u64,
    /// CPU time of the thread, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it in operations of cryptography.
    pub crypto_ns: u64,
    /// The part of it from being awake until the last message is about to be sent; until the next sleep if none was.
    pub answered_ns: u64,
    /// Time from the arrival of the first message, or of the last that came with it, until the thread was awake: of those that are timed.
    pub latency_ns: u64,
}

/// The wakes of a thread, by class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wakes([[WakeSums; 2]; PAUSES_US.len()]);

impl WakeClass {
    /// All, the shortest pauses first.
    pub fn all() -> impl Iterator<Item = Self> {
        let both = |pause_us| [false, true].map(|is_several| Self { pause_us, is_several });
        PAUSES_US.into_iter().flat_map(both)
    }

    /// Where its pause is among the classes'.
    fn place(self) -> usize {
        PAUSES_US.partition_point(|least| *least <= self.pause_us).saturating_sub(1)
    }
}

impl WakeSums {
    /// The numbers, in the order of the fields.
    pub const fn numbers(self) -> [u64; 7] {
        let Self { wakes, timed, messages, cpu_ns, crypto_ns, answered_ns, latency_ns } = self;
        [wakes, timed, messages, cpu_ns, crypto_ns, answered_ns, latency_ns]
    }

    /// Of these numbers.
    pub const fn of([wakes, timed, messages, cpu_ns, crypto_ns, answered_ns, latency_ns]: [u64; 7]) -> Self {
        Self { wakes, timed, messages, cpu_ns, crypto_ns, answered_ns, latency_ns }
    }

    /// The sums of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (ours, others) = (self.numbers(), other.numbers());
        Self::of(std::array::from_fn(|index| ours[index].saturating_add(others[index])))
    }

    fn since(self, before: Self) -> Option<Self> {
        let (now, before) = (self.numbers(), before.numbers());
        let is_later = now.iter().zip(&before).all(|(now, before)| now >= before);
        is_later.then(|| Self::of(std::array::from_fn(|index| now[index] - before[index])))
    }
}

impl Wakes {
    /// Adds to a class.
    pub fn add(&mut self, class: WakeClass, sums: WakeSums) {
        let sum = &mut self.0[class.place()][usize::from(class.is_several)];
        *sum = sum.and(sums);
    }

    /// Those classes that have any.
    pub fn classes(&self) -> impl Iterator<Item = (WakeClass, WakeSums)> + '_ {
        let each = WakeClass::all().zip(self.0.iter().flatten().copied());
        each.filter(|(_, sums)| *sums != WakeSums::default())
    }

    /// What has been added since an earlier time; none if less was counted than then.
    pub fn since(&self, before: &Self) -> Option<Self> {
        let mut added = Self::default();
        for (class, (now, before)) in
            WakeClass::all().zip(self.0.iter().flatten().zip(before.0.iter().flatten()))
        {
            added.add(class, now.since(*before)?);
        }
        Some(added)
    }
}

/// Watches the thread of a driver.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    wakes: Wakes,
    /// When the thread went to sleep last: its CPU time and that of its cryptography, in nanoseconds.
    slept: Spent,
    /// The same when it went to sleep before it woke up.
    begun: Spent,
    /// When it was awake: its CPU time, and the time since 1970.
    awake: Awake,
    /// From the arrival of the first message until it was awake, if that is known.
    latency: Option<Duration>,
    /// How long it had slept; none before the first sleep.
    pause: Option<Duration>,
    received: u64,
    messages: u64,
    answered_ns: Option<u64>,
}

/// Of a thread that has just woken up, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Awake {
    pub(crate) cpu_ns: u64,
    pub(crate) unix_ns: u64,
}

/// CPU time until now, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) cpu_ns: u64,
    pub(crate) crypto_ns: u64,
}

impl Watch {
    pub(crate) const fn wakes(&self) -> &Wakes {
        &self.wakes
    }

    /// Whether the next message is the first since it woke up.
    pub(crate) const fn is_first(&self) -> bool {
        self.received == 0
    }

    /// A message was received. The first one since it woke up had reached this machine then, since 1970, if that is known.
    pub(crate) fn received(&mut self, arrived: Option<Duration>) {
        if let Some(arrived) = arrived {
            let latency = Duration::from_nanos(self.awake.unix_ns).saturating_sub(arrived);
            self.latency = (latency < LATENCY_MAX).then_some(latency);
        }
        self.received += 1;
        self.messages += 1;
    }

    /// So many messages are about to be sent, and the thread has spent this CPU time.
    pub(crate) const fn sends(&mut self, messages: usize, cpu_ns: u64) {
        self.messages += messages as u64;
        self.answered_ns = Some(cpu_ns);
    }

    /// Some of what it has computed since it woke up was for no message.
    pub(crate) const fn apart(&mut self, cpu_ns: u64) {
        self.begun.cpu_ns += cpu_ns;
        self.awake.cpu_ns += cpu_ns;
        if let Some(answered_ns) = &mut self.answered_ns {
            *answered_ns += cpu_ns;
        }
    }

    /// The thread is about to wait.
    pub(crate) const fn sleeps(&mut self, spent: Spent) {
        self.slept = spent;
    }

    /// The thread has waited for so long.
    pub(crate) fn waited(&mut self, pause: Duration, awake: Awake) {
        if pause < NO_PAUSE {
            return;
        }
        if let Some(pause) = self.pause.filter(|_| self.received > 0) {
            let pause_us = u32::try_from(pause.as_micros()).unwrap_or(u32::MAX);
            self.wakes.add(WakeClass { pause_us, is_several: self.received > 1 }, self.sums());
        }
        let Self { wakes, slept, .. } = std::mem::take(self);
        *self = Self { wakes, slept, begun: slept, awake, pause: Some(pause), ..Self::default() };
    }

    /// From one sleep to the next.
    fn sums(&self) -> WakeSums {
        let Self { slept, begun, messages, awake, latency, .. } = *self;
        WakeSums {
            wakes: 1,
            timed: u64::from(latency.is_some()),
            messages,
            cpu_ns: slept.cpu_ns.saturating_sub(begun.cpu_ns),
            crypto_ns: slept.crypto_ns.saturating_sub(begun.crypto_ns),
            answered_ns: self.answered_ns.unwrap_or(slept.cpu_ns).saturating_sub(awake.cpu_ns),
            latency_ns: latency.unwrap_or_default().as_nanos() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(pause_us: u32, is_several: bool) -> WakeClass {
        WakeClass { pause_us, is_several }
    }

    fn slept(watch: &mut Watch, cpu_ns: u64, crypto_ns: u64, pause_us: u64) {
        watch.sleeps(Spent { cpu_ns, crypto_ns });
        watch.waited(Duration::from_micros(pause_us), Awake { cpu_ns: cpu_ns + 2000, unix_ns: 9_000_000 });
    }

    #[test]
    fn a_wake_ends_with_the_next_sleep_and_has_the_pause_before_it() {
        let mut watch = Watch::default();
        watch.received(None);
        slept(&mut watch, 1000, 100, 250);
        watch.received(Some(Duration::from_micros(8960)));
        watch.sends(1, 31_000);
        // What it waited for was there already.
        slept(&mut watch, 36_000, 20_100, 1);
        slept(&mut watch, 41_000, 20_100, 7000);
        let one = WakeSums {
            wakes: 1,
            timed: 1,
            messages: 2,
            cpu_ns: 40_000,
            crypto_ns: 20_000,
            answered_ns: 28_000,
            latency_ns: 40_000,
        };
        assert_eq!(watch.wakes().classes().collect::<Vec<_>>(), [(class(200, false), one)]);
        // A timer is no message.
        slept(&mut watch, 45_000, 20_100, 30);
        watch.received(Some(Duration::from_secs(1)));
        watch.received(None);
        slept(&mut watch, 55_000, 20_100, 30);
        let two = WakeSums {
            wakes: 1,
            timed: 1,
            messages: 2,
            cpu_ns: 10_000,
            crypto_ns: 0,
            answered_ns: 8_000,
            latency_ns: 0,
        };
        let all = [(class(25, true), two), (class(200, false), one)];
        assert_eq!(watch.wakes().classes().collect::<Vec<_>>(), all);
    }

    #[test]
    fn what_is_for_no_message_belongs_to_none() {
        let woken = |apart_ns: [u64; 2]| {
            let mut watch = Watch::default();
            slept(&mut watch, 1000, 0, 250);
            watch.received(None);
            watch.apart(apart_ns[0]);
            watch.sends(1, 31_000 + apart_ns[0]);
            watch.apart(apart_ns[1]);
            slept(&mut watch, 36_000 + apart_ns[0] + apart_ns[1], 0, 30);
            watch.wakes().clone()
        };
        assert_eq!(woken([700_000, 0]), woken([0, 0]));
        assert_eq!(woken([0, 700_000]), woken([0, 0]));
    }

    #[test]
    fn a_clock_that_was_set_tells_no_delay() {
        let mut watch = Watch::default();
        slept(&mut watch, 1000, 0, 250);
        watch.awake.unix_ns = 5_000_000_000;
        watch.received(Some(Duration::from_secs(3)));
        slept(&mut watch, 36_000, 0, 30);
        let (_, sums) = watch.wakes().classes().next().unwrap();
        assert_eq!((sums.timed, sums.latency_ns), (0, 0));
    }

    #[test]
    fn classes_have_the_pauses_from_theirs_to_the_next_and_nothing_goes_back() {
        let mut wakes = Wakes::default();
        let one = WakeSums::of([1, 1, 2, 30, 20, 10, 5]);
        for pause_us in [0, 24, 25, 6400, u32::MAX] {
            wakes.add(class(pause_us, false), one);
        }
        let counted: Vec<_> = wakes.classes().map(|(class, sums)| (class.pause_us, sums.numbers())).collect();
        assert_eq!(
            counted,
            [
                (0, [2, 2, 4, 60, 40, 20, 10]),
                (25, [1, 1, 2, 30, 20, 10, 5]),
                (6400, [2, 2, 4, 60, 40, 20, 10])
            ]
        );
        let before = wakes.clone();
        wakes.add(class(25, false), one);
        let since = wakes.since(&before).unwrap();
        assert_eq!(since.classes().collect::<Vec<_>>(), [(class(25, false), one)]);
        assert_eq!((before.since(&wakes), wakes.since(&wakes)), (None, Some(Wakes::default())));
    }
}
