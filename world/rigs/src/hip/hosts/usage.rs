//! What traffic has to do with associations: SAs that are used up want new keys, and an association that is used is not closed.
//! RFC 7401 §4.4.3, RFC 7402 §6.8.

use std::time::Duration;

use keytoll_engine::map::FastMap;
use keytoll_engine::trace::Fact;
use keytoll_engine::{Ctx, Time};
use keytoll_esp::sad::{Moved, Start};
use keytoll_esp::{Event as OfSa, PairConfig};
use keytoll_hip::event::{AssociationId, ChildSa, Command, Event};
use keytoll_hosts::SessionId;
use keytoll_hosts::ipsec::{SaTable, bound};

use super::session;

/// The endpoint is told at most so often that an association is used.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// When the endpoint was last told that an association is used, if it was.
#[derive(Debug, Default)]
pub(super) struct Usage(FastMap<SessionId, Option<Time>>);

impl Usage {
    /// A packet has come through the SA with this inbound SPI: what to tell the endpoint, if anything.
    pub(super) fn heard(&mut self, sas: &SaTable, inbound_spi: u32, now: Time) -> Option<Command> {
        let owner = sas.owner(inbound_spi)?;
        let last = self.0.get_mut(&owner)?;
        if last.is_some_and(|last| now.since(last) < TOLD_EVERY) {
            return None;
        }
        *last = Some(now);
        Some(Command::Heard(AssociationId(owner.0)))
    }
}

/// Installs, redirects and removes what an event of the endpoint is about.
pub(super) fn follow(sas: &mut SaTable, usage: &mut Usage, event: &Event, cx: &mut Ctx<'_>) {
    match event {
        Event::ChildUp(id, child) => {
            // RFC 7401 §4.4.3: the first packet is news, for it ends R2-SENT, and proves a subscription.
            usage.0.insert(session(*id), None);
            sas.install(session(*id), pair(child));
        }
        Event::ChildRekeyed { association, new, .. } => {
            sas.install(session(*association), pair(new));
            cx.trace.record(Fact::Rekeyed { what: "child".into() });
        }
        // RFC 8046 §3.2.1: only now, for until it was verified the address may be anybody's.
        Event::PeerMoved(id, at) => {
            sas.redirect(session(*id), Moved::Remote(*at));
            cx.trace.record(Fact::MoveVerified);
        }
        Event::ChildDown(_, spi) => sas.remove(*spi, cx.now),
        Event::Closed(id, _) => {
            usage.0.remove(&session(*id));
        }
        _ => {}
    }
}

fn pair(child: &ChildSa) -> PairConfig {
    let hits = (child.local.0.into(), child.remote.0.into());
    let start = if child.is_peer_ready { Start::Now } else { Start::WhenHeard };
    PairConfig { start, ..bound(child.pair.clone(), hits, (child.local_at, child.remote_at)) }
}

/// The endpoint's command for the next event of the SAs.
pub(super) fn next_command(sas: &mut SaTable) -> Option<Command> {
    loop {
        let (owner, event) = sas.poll()?;
        // The pair of an association is replaced as a whole, before it ends and after.
        if let OfSa::RekeyWanted(_) | OfSa::Expired(_) = event {
            return Some(Command::Rekey(AssociationId(owner.0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Null;
    use keytoll_crypto_api::Secret;
    use keytoll_engine::sa::{SaKeys, SaPair};
    use keytoll_hip::Hit;
    use keytoll_hip::number::EspSuite;
    use keytoll_net::Addr;

    use super::*;

    fn child() -> ChildSa {
        let suite = EspSuite::AES_GCM_16.suite().unwrap();
        let keys = |octet| SaKeys {
            encryption: Secret::new(vec![octet; suite.encryption.key_len()]),
            integrity: Secret::default(),
        };
        let at = |last| Addr::Ip { ip: [192, 0, 2, last].into(), protocol: 50 };
        ChildSa {
            pair: SaPair { inbound_spi: 300, outbound_spi: 301, suite, inbound: keys(1), outbound: keys(2) },
            local: Hit([1; 16]),
            remote: Hit([2; 16]),
            local_at: at(1),
            remote_at: at(2),
            is_peer_ready: true,
        }
    }

    /// However soon after the start it comes.
    #[test]
    fn the_first_packet_is_news_and_later_ones_now_and_then() {
        let (mut sas, mut usage) = (SaTable::default(), Usage::default());
        let (mut crypto, mut facts) = (Null, Vec::<Fact>::new());
        let mut cx = Ctx { now: Time::ZERO, crypto: &mut crypto, trace: &mut facts };
        let id = AssociationId(7);
        follow(&mut sas, &mut usage, &Event::ChildUp(id, Box::new(child())), &mut cx);
        let mut heard = |after_ms| {
            usage.heard(&sas, 300, Time::ZERO + Duration::from_millis(after_ms)) == Some(Command::Heard(id))
        };
        assert_eq!([20, 40, 1019, 1020, 1040, 2020].map(&mut heard), [true, false, false, true, false, true]);
    }
}
