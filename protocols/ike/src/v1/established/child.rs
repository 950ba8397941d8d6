//! IPsec SAs negotiated by quick mode. Read RFC 2409 §5.5 (KEYMAT), RFC 2407 §4.5 (lifetimes), RFC 3948 first.

use std::time::Duration;

use keytoll_crypto_api::Secret;
use keytoll_crypto_api::suite::Suite;
use keytoll_engine::sa::{SaKeys, SaPair};
use keytoll_engine::{Deadline, Time};

use super::super::endpoint::Env;
use super::super::keys::{self, ChildSeeds, Keys};
use super::super::proposal::Lifespan;
use super::super::sa::Core;
use super::lifetime::{REKEY_PERCENT, REKEY_PERCENT_OF_RESPONDER, percent, retry_at};
use crate::config::{ChildConfig, Mode};
use crate::event::ChildSa;
use crate::number::ProtocolId;
use crate::wire::TrafficSelector;

/// How long replaced IPsec SAs still receive once both sides know that they are replaced: time for packets in flight to
/// arrive.
const OVERLAP: Duration = Duration::from_secs(5);

/// A pair of IPsec SAs, as far as IKE needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::v1) struct Child {
    inbound_spi: u32,
    outbound_spi: u32,
    traffic: Traffic,
    expires_at: Time,
    turn: Turn,
}

/// The state of a child among those for the same traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// It carries the traffic. `rekey_at` is `None` while it is being rekeyed, or if that failed.
    Now { rekey_at: Option<Time> },
    /// Another child has replaced it. It still receives until then.
    Over { until: Time },
    /// The same, and the peer has used its replacement.
    Unused { until: Time },
}

/// The two sides of the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Traffic {
    pub(super) mode: Mode,
    pub(super) local: TrafficSelector,
    pub(super) remote: TrafficSelector,
}

/// A negotiated pair of IPsec SAs, without keys yet.
#[derive(Debug)]
pub(super) struct Agreed {
    pub(super) inbound_spi: u32,
    pub(super) outbound_spi: u32,
    pub(super) suite: Suite,
    pub(super) traffic: Traffic,
    pub(super) lifespan: Lifespan,
    /// Whether we initiated it.
    pub(super) ours: bool,
    pub(super) place: Place,
}

/// Which child a new one replaces; children are identified by inbound SPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// None.
    New,
    /// This one.
    Of(u32),
    /// It was to replace this one, but a child negotiated later has done so already.
    Lost(u32),
}

impl Place {
    /// From the child that is rekeyed, if there is one.
    pub(super) fn of(rekeys: Option<u32>) -> Self {
        rekeys.map_or(Self::New, Self::Of)
    }

    /// The child for whose rekeying it was negotiated.
    pub(super) const fn rekeys(self) -> Option<u32> {
        match self {
            Self::New => None,
            Self::Of(spi) | Self::Lost(spi) => Some(spi),
        }
    }
}

impl Child {
    pub(super) fn up(agreed: &Agreed, config: &ChildConfig, now: Time) -> Self {
        let share = if agreed.ours { REKEY_PERCENT } else { REKEY_PERCENT_OF_RESPONDER };
        // The responder of the exchange always waits longer, or both would start at once.
        let wanted = config.rekey_after.map(|after| percent(after, share * 100 / REKEY_PERCENT));
        let latest = percent(agreed.lifespan.time, share);
        let rekey_after = wanted.map_or(latest, |wanted| wanted.min(latest));
        Self {
            inbound_spi: agreed.inbound_spi,
            outbound_spi: agreed.outbound_spi,
            traffic: agreed.traffic,
            expires_at: now + agreed.lifespan.time,
            turn: Turn::Now { rekey_at: Some(now + rekey_after) },
        }
    }

    pub(in crate::v1) const fn inbound_spi(&self) -> u32 {
        self.inbound_spi
    }

    pub(super) const fn outbound_spi(&self) -> u32 {
        self.outbound_spi
    }

    pub(super) const fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(super) const fn is_replaced(&self) -> bool {
        !matches!(self.turn, Turn::Now { .. })
    }

    /// Another child has replaced it; this one still receives for a while. The initiator of the other deletes this one when the
    /// peer is known to have the other, or has given up asking for the last message of quick mode, after `unconfirmed`. The
    /// responder does so later, if the initiator has not.
    pub(super) fn replace(&mut self, ours: bool, unconfirmed: Duration, now: Time) {
        self.turn = Turn::Over { until: now + if ours { unconfirmed } else { 2 * OVERLAP } };
    }

    /// The peer uses the replacement.
    pub(super) fn is_out_of_use(&mut self, now: Time) {
        if let Turn::Over { until } = self.turn {
            self.turn = Turn::Unused { until: until.min(now + OVERLAP) };
        }
    }

    /// The peer does not know yet that another child has replaced it, and may ask for the last message of quick mode until then.
    pub(super) fn is_in_use(&mut self, until_given_up: Time) {
        if let Turn::Over { until } = &mut self.turn {
            *until = (*until).max(until_given_up);
        }
    }

    /// A replacement is about to start: until then we do not start one.
    pub(super) fn wait_until(&mut self, at: Time) {
        if let Turn::Now { rekey_at: Some(due) } = &mut self.turn {
            *due = (*due).max(at);
        }
    }

    /// The replacement has failed: tries again while there is time. False if it is replaced already.
    pub(super) fn is_not_replaced(&mut self, now: Time) -> bool {
        let Turn::Now { rekey_at } = &mut self.turn else { return false };
        *rekey_at = rekey_at.or_else(|| retry_at(now, self.expires_at));
        true
    }

    pub(super) fn is_over(&self, now: Time) -> bool {
        self.ends_at() <= now
    }

    fn ends_at(&self) -> Time {
        match self.turn {
            Turn::Now { .. } => self.expires_at,
            Turn::Over { until } | Turn::Unused { until } => until.min(self.expires_at),
        }
    }

    /// Its SPI, once, if it is due for rekeying.
    pub(super) fn take_due(&mut self, now: Time) -> Option<u32> {
        let Turn::Now { rekey_at } = &mut self.turn else { return None };
        rekey_at.take_if(|at| *at <= now).map(|_| self.inbound_spi)
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let rekey_at = match self.turn {
            Turn::Now { rekey_at } => rekey_at,
            Turn::Over { .. } | Turn::Unused { .. } => None,
        };
        let rekey = rekey_at.map(|at| Deadline { at, why: "child rekey" });
        Deadline::earlier(rekey, Some(Deadline { at: self.ends_at(), why: "child lifetime" }))
    }
}

impl Agreed {
    /// RFC 2409 §5.5: derives the keys of both directions, each from the SPI of its receiver.
    pub(super) fn keyed(
        &self,
        keys: &Keys,
        nonces: [&[u8]; 2],
        shared: Option<&Secret>,
        core: &Core,
        env: &mut Env<'_, '_>,
    ) -> ChildSa {
        let shared = shared.map(|secret| &**secret);
        let mut of = |spi| {
            let seeds = ChildSeeds { shared, protocol: ProtocolId::ESP.0, spi, nonces };
            let (encryption, integrity) = keys::child_keys(env.cx.crypto, keys, &self.suite, &seeds);
            SaKeys { encryption, integrity }
        };
        let child = ChildSa {
            pair: SaPair {
                inbound_spi: self.inbound_spi,
                outbound_spi: self.outbound_spi,
                suite: self.suite,
                inbound: of(self.inbound_spi),
                outbound: of(self.outbound_spi),
            },
            mode: self.traffic.mode,
            local: vec![self.traffic.local],
            remote: vec![self.traffic.remote],
            encapsulation: core.nat.found().then_some((core.route.local, core.route.remote)),
            peer_may_move: core.nat.there,
            // RFC 2409 §5.5: the responder has the third message before it may send; the initiator does not learn whether that arrived.
            // Until the peer uses the new child, outbound packets use the old one.
            peer_ready: !self.ours || self.place == Place::New,
            bytes_max: self.lifespan.bytes_max(),
        };
        child.reveal(core.route, env.cx.trace);
        child
    }
}
