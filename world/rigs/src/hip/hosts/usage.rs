//! What traffic has to do with associations: SAs that are used up want new keys, and an association that is used is not closed.
//! RFC 7401 §4.4.3, RFC 7402 §6.8.

use std::collections::BTreeMap;
use std::time::Duration;

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

/// When the endpoint was last told that an association is used.
#[derive(Debug, Default)]
pub(super) struct Usage(BTreeMap<SessionId, Time>);

impl Usage {
    /// A packet has come through the SA with this inbound SPI: what to tell the endpoint, if anything.
    pub(super) fn heard(&mut self, sas: &SaTable, inbound_spi: u32, now: Time) -> Option<Command> {
        let owner = sas.owner(inbound_spi)?;
        let last = self.0.get_mut(&owner)?;
        if now.since(*last) < TOLD_EVERY {
            return None;
        }
        *last = now;
        Some(Command::Heard(AssociationId(owner.0)))
    }
}

/// Installs, redirects and removes what an event of the endpoint is about.
pub(super) fn follow(sas: &mut SaTable, usage: &mut Usage, event: &Event, cx: &mut Ctx<'_>) {
    match event {
        Event::ChildUp(id, child) => {
            // RFC 7401 §4.4.3: the first packet is news, for it ends R2-SENT.
            usage.0.insert(session(*id), Time::ZERO);
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
        Event::ChildDown(id, spi) => sas.remove(session(*id), *spi, cx.now),
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
