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

/// What an SA has carried, against what it may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Usage {
    /// None: nothing that it carries ends it. Most SAs end by time, and keep no limits.
    lifetime: Option<Box<Lifetime>>,
    used: Limit,
    /// Before this is reached there is nothing to ask: the first of the limits that have not passed.
    next: Limit,
    is_soft_told: bool,
    is_over: bool,
}

/// What a packet did to an SA's lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    /// Nothing to tell.
    Within,
    /// It was the one that reached the soft limit, or half of what was left when a successor was last asked for.
    Soft,
}

impl Usage {
    pub(crate) fn new(lifetime: Lifetime) -> Self {
        let used = Limit { bytes: 0, packets: 0 };
        let next = lifetime.soft.first(lifetime.hard);
        let is_over = lifetime.hard.is_reached(used);
        let lifetime = (lifetime != Lifetime::NONE).then(|| Box::new(lifetime));
        Self { lifetime, used, next, is_soft_told: false, is_over }
    }

    pub(crate) const fn used(&self) -> Limit {
        self.used
    }

    /// Whether nothing may pass any more.
    #[inline]
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Books a packet.
    #[inline]
    pub(crate) fn spend(&mut self, bytes: usize) -> Spent {
        self.used.bytes = self.used.bytes.saturating_add(bytes as u64);
        self.used.packets += 1;
        if self.next.is_reached(self.used) { self.pass() } else { Spent::Within }
    }

    #[cold]
    fn pass(&mut self) -> Spent {
        let lifetime = self.lifetime.as_deref().unwrap_or(&Lifetime::NONE);
        self.is_over = lifetime.hard.is_reached(self.used);
        if self.is_over && self.is_soft_told || !lifetime.soft.is_reached(self.used) {
            return Spent::Within;
        }
        self.is_soft_told = true;
        self.next = self.used.halfway(lifetime.hard);
        Spent::Soft
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_is_asked_for_at_the_soft_limit_and_the_hard_one_ends() {
        let lifetime = Lifetime {
            soft: Limit { bytes: 250, packets: u64::MAX },
            hard: Limit { bytes: u64::MAX, packets: 4 },
        };
        let mut usage = Usage::new(lifetime);
        let told = [100, 100, 100, 100].map(|bytes| (usage.is_over(), usage.spend(bytes)));
        let within = (false, Spent::Within);
        assert_eq!(told, [within, within, (false, Spent::Soft), within]);
        assert!(usage.is_over());
        assert_eq!(usage.used(), Limit { bytes: 400, packets: 4 });
    }

    /// Whoever was asked may have been refused: more seldom than the traffic needs it would be too late.
    #[test]
    fn a_successor_that_does_not_come_is_asked_for_again_and_again() {
        let asked = |lifetime, bytes: usize| -> Vec<u64> {
            let mut usage = Usage::new(lifetime);
            let packets = 1..=20;
            packets.filter(|_| !usage.is_over() && usage.spend(bytes) == Spent::Soft).collect()
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
