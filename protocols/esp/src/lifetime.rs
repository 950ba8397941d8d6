//! How long an SA may serve, in bytes and packets: RFC 4301 §4.4.2.1. Time is the key exchange's business.

/// Bytes of plaintext and packets; `u64::MAX` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Bytes that ESP was given or gave.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

impl Limit {
    /// No limit.
    pub const NONE: Self = Self { bytes: u64::MAX, packets: u64::MAX };

    /// What either of two limits allows.
    fn first(self, other: Self) -> Self {
        Self { bytes: self.bytes.min(other.bytes), packets: self.packets.min(other.packets) }
    }

    /// Halfway from here to another limit, and at least one further.
    const fn halfway(self, end: Self) -> Self {
        let bytes = self.bytes + end.bytes.saturating_sub(self.bytes).div_ceil(2);
        Self { bytes, packets: self.packets + end.packets.saturating_sub(self.packets).div_ceil(2) }
    }

    const fn is_reached(self, used: Self) -> bool {
        used.bytes >= self.bytes || used.packets >= self.packets
    }
}

/// RFC 4301 §4.4.2.1: at the soft limit the SA is to be replaced, at the hard one it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// When a successor is wanted; if none comes, again at half of what is left, and so on.
    pub soft: Limit,
    /// When nothing passes any more.
    pub hard: Limit,
}

impl Lifetime {
    /// No limit.
    pub const NONE: Self = Self { soft: Limit::NONE, hard: Limit::NONE };

    /// No more than both allow.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self { soft: self.soft.first(other.soft), hard: self.hard.first(other.hard) }
    }

    /// The same, but no more bytes than this; a successor is wanted when nine tenths are used, if not before.
    #[must_use]
    pub fn within_bytes(self, bytes: u64) -> Self {
        let within = |limit: Limit, bytes: u64| Limit { bytes: limit.bytes.min(bytes), ..limit };
        Self { soft: within(self.soft, bytes - bytes / 10), hard: within(self.hard, bytes) }
    }
}

impl Default for Lifetime {
    fn default() -> Self {
        Self::NONE
    }
}

/// How many packets the sequence numbers of an SA are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// 64 bits: nobody counts to their end.
    Extended,
    /// RFC 4303 §3.3.3: 32 bits, which must not cycle.
    Short,
    /// The peer's 32 bits, which it must not let cycle.
    Theirs,
}

impl Numbers {
    const SHORT_LAST: u64 = u32::MAX as u64;
    // RFC 4303 §3.3.3: the sender sets up a new SA before the numbers are used up.
    const SHORT_SOFT: u64 = Self::SHORT_LAST - Self::SHORT_LAST / 8;

    /// The last one that we may send.
    #[inline]
    pub(crate) const fn last(self) -> u64 {
        match self {
            Self::Extended | Self::Theirs => u64::MAX,
            Self::Short => Self::SHORT_LAST,
        }
    }

    /// After how many packets there is something to ask.
    #[inline]
    const fn soft(self) -> u64 {
        match self {
            Self::Extended | Self::Theirs => u64::MAX,
            Self::Short => Self::SHORT_SOFT,
        }
    }

    /// A lifetime that ends with the numbers at the latest.
    fn within(self, lifetime: Lifetime) -> Lifetime {
        let within = |limit: Limit, packets: u64| Limit { packets: limit.packets.min(packets), ..limit };
        Lifetime { soft: within(lifetime.soft, self.soft()), hard: within(lifetime.hard, self.last()) }
    }
}

/// What an SA has carried, against what it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Usage {
    used: Limit,
    /// None: only the numbers end it, and they are far from it. Most SAs end by time, and never have limits; 32-bit numbers
    /// become one when a successor is first wanted.
    limits: Option<Box<Limits>>,
    numbers: Numbers,
    is_soft_told: bool,
    /// Somebody should be told that a successor is wanted.
    is_soft: bool,
    is_over: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Limits {
    lifetime: Lifetime,
    /// Before this is reached there is nothing to ask: the first of the limits that have not passed.
    next: Limit,
}

impl Limits {
    fn of(lifetime: Lifetime) -> Box<Self> {
        Box::new(Self { lifetime, next: lifetime.soft.first(lifetime.hard) })
    }
}

impl Usage {
    pub(crate) fn new(lifetime: Lifetime, numbers: Numbers) -> Self {
        let used = Limit { bytes: 0, packets: 0 };
        let is_over = lifetime.hard.is_reached(used);
        let limits = (lifetime != Lifetime::NONE).then(|| Limits::of(numbers.within(lifetime)));
        Self { used, limits, numbers, is_soft_told: false, is_soft: false, is_over }
    }

    /// How many packets it may number.
    #[inline]
    pub(crate) const fn numbers(&self) -> Numbers {
        self.numbers
    }

    pub(crate) const fn used(&self) -> Limit {
        self.used
    }

    /// Whether nothing may pass any more.
    #[inline]
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether since this was asked last the soft limit was reached, or half of what was left when a successor was last asked
    /// for.
    pub(crate) const fn take_soft(&mut self) -> bool {
        std::mem::replace(&mut self.is_soft, false)
    }

    /// Books a packet.
    #[inline]
    pub(crate) fn spend(&mut self, bytes: usize) {
        self.used.bytes = self.used.bytes.saturating_add(bytes as u64);
        self.used.packets += 1;
        if self.is_due() {
            self.pass();
        }
    }

    #[inline]
    fn is_due(&self) -> bool {
        match &self.limits {
            None => self.used.packets >= self.numbers.soft(),
            Some(limits) => limits.next.is_reached(self.used),
        }
    }

    #[cold]
    fn pass(&mut self) {
        let of_numbers = || Limits::of(self.numbers.within(Lifetime::NONE));
        let Limits { lifetime, next } = &mut **self.limits.get_or_insert_with(of_numbers);
        self.is_over = lifetime.hard.is_reached(self.used);
        if self.is_over && self.is_soft_told || !lifetime.soft.is_reached(self.used) {
            return;
        }
        (self.is_soft_told, self.is_soft) = (true, true);
        *next = self.used.halfway(lifetime.hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a packet of so many bytes makes somebody ask for a successor.
    fn asks(usage: &mut Usage, bytes: usize) -> bool {
        usage.spend(bytes);
        usage.take_soft()
    }

    /// RFC 4303 §3.3.3: 32 bits end without any limit, and a successor is asked for in time; until then there is nothing to keep.
    #[test]
    fn numbers_that_end_are_a_lifetime() {
        let mut usage = Usage::new(Lifetime::NONE, Numbers::Short);
        usage.used.packets = Numbers::Short.soft() - 2;
        assert!(!asks(&mut usage, 1) && usage.limits.is_none());
        assert!(asks(&mut usage, 1) && !asks(&mut usage, 1) && !usage.is_over());
        usage.used.packets = u64::from(u32::MAX) - 1;
        assert!(!asks(&mut usage, 1) && usage.is_over());
        for endless in [Numbers::Extended, Numbers::Theirs] {
            let mut usage = Usage::new(Lifetime::NONE, endless);
            usage.used.packets = u64::from(u32::MAX);
            assert!(!asks(&mut usage, 1) && !usage.is_over(), "{endless:?}");
        }
    }

    #[test]
    fn a_successor_is_asked_for_at_the_soft_limit_and_the_hard_one_ends() {
        let lifetime = Lifetime {
            soft: Limit { bytes: 250, packets: u64::MAX },
            hard: Limit { bytes: u64::MAX, packets: 4 },
        };
        let mut usage = Usage::new(lifetime, Numbers::Extended);
        let told = [100, 100, 100, 100].map(|bytes| (usage.is_over(), asks(&mut usage, bytes)));
        assert_eq!(told, [(false, false), (false, false), (false, true), (false, false)]);
        assert!(usage.is_over());
        assert_eq!(usage.used(), Limit { bytes: 400, packets: 4 });
    }

    /// Whoever was asked may have been refused: more seldom than the traffic needs it would be too late.
    #[test]
    fn a_successor_that_does_not_come_is_asked_for_again_and_again() {
        let asked = |lifetime, bytes: usize| -> Vec<u64> {
            let mut usage = Usage::new(lifetime, Numbers::Extended);
            let packets = 1..=20;
            packets.filter(|_| !usage.is_over() && asks(&mut usage, bytes)).collect()
        };
        let limit = |bytes, packets| Limit { bytes, packets };
        let packets = Lifetime { soft: limit(u64::MAX, 8), hard: limit(u64::MAX, 16) };
        assert_eq!(asked(packets, 1000), [8, 12, 14, 15]);
        let bytes = Lifetime { soft: limit(800, u64::MAX), hard: limit(1600, u64::MAX) };
        assert_eq!(asked(bytes, 100), [8, 12, 14, 15]);
        let endless = Lifetime { soft: limit(800, 9), hard: Limit::NONE };
        assert_eq!(
            asked(endless, 100),
            [8],
            "what does not end by what it carries is replaced in its own time"
        );
        let both_at_once = Lifetime { soft: limit(800, u64::MAX), hard: limit(801, u64::MAX) };
        assert_eq!(asked(both_at_once, 500), [2]);
    }

    #[test]
    fn what_the_peer_allows_shortens_and_never_lengthens() {
        let within = Lifetime::NONE.within_bytes(1000);
        assert_eq!((within.soft.bytes, within.hard.bytes), (900, 1000));
        assert_eq!((within.soft.packets, within.hard.packets), (u64::MAX, u64::MAX));
        let own = Lifetime { soft: Limit { bytes: 100, packets: 5 }, hard: Limit { bytes: 200, packets: 9 } };
        assert_eq!(own.within_bytes(1000), own);
        assert_eq!(own.within_bytes(u64::MAX), own);
        assert_eq!((own.within_bytes(50).soft.bytes, own.within_bytes(50).hard.bytes), (45, 50));
    }
}
