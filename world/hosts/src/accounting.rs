//! Accounting of an authenticator: it reports the start and stop of the sessions it has admitted. RFC 2866 §2.

use std::collections::BTreeMap;

use keytoll_engine::Time;
use keytoll_radius::client::{Account, ConversationId};
use keytoll_radius::number::{AcctStatus, AttributeType};
use keytoll_radius::wire::Attributes;

use crate::eap::Conversation;

/// The sessions that were accepted and have not stopped.
#[derive(Debug)]
pub(crate) struct Ledger<C> {
    sessions: BTreeMap<C, Session>,
}

#[derive(Debug)]
struct Session {
    /// Acct-Session-Id: the number of the conversation with which the session started.
    id: String,
    user_name: Vec<u8>,
    /// The Class attributes that every report must carry (RFC 2865 §5.25).
    class: Attributes,
    since: Option<Time>,
}

impl<C: Conversation> Ledger<C> {
    pub(crate) const fn new() -> Self {
        Self { sessions: BTreeMap::new() }
    }

    // RFC 2865 §5.1: the User-Name of the Access-Accept, if there is one, is the one to report.
    /// The AAA server granted access to a peer that called itself `claimed`.
    pub(crate) fn accepted(&mut self, conversation: C, claimed: Vec<u8>, granted: &Attributes) {
        let user_name = granted.get(AttributeType::USER_NAME).map_or(claimed, <[u8]>::to_vec);
        let is_class = |kind| kind == AttributeType::CLASS;
        let class = granted.iter().filter(|attribute| is_class(attribute.kind())).collect();
        // Who proves itself again goes on with its session.
        let running = self.sessions.remove(&conversation);
        let (id, since) = match running {
            Some(running) if running.since.is_some() => (running.id, running.since),
            _ => (format!("{:016x}", conversation.number()), None),
        };
        self.sessions.insert(conversation, Session { id, user_name, class, since });
    }

    /// The session is usable; returns its Start report, unless no AAA server granted it.
    pub(crate) fn started(&mut self, conversation: C, now: Time) -> Option<Account> {
        let session = self.sessions.get_mut(&conversation)?;
        session.since = Some(now);
        Some(session.report(conversation, AcctStatus::Start, session.class.clone()))
    }

    /// The session is over; returns its Stop report, if its start was reported.
    pub(crate) fn stopped(&mut self, conversation: C, now: Time) -> Option<Account> {
        let session = self.sessions.remove(&conversation)?;
        let mut attributes = session.class.clone();
        let seconds = now.since(session.since?).as_secs();
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        attributes.push_u32(AttributeType::ACCT_SESSION_TIME, seconds);
        Some(session.report(conversation, AcctStatus::Stop, attributes))
    }

    /// The conversation has another name, as after rekeying an IKE SA; the session is the same.
    pub(crate) fn rekeyed(&mut self, old: C, new: C) {
        if let Some(session) = self.sessions.remove(&old) {
            self.sessions.insert(new, session);
        }
    }
}

impl Session {
    fn report<C: Conversation>(
        &self,
        conversation: C,
        status: AcctStatus,
        attributes: Attributes,
    ) -> Account {
        Account {
            conversation: ConversationId(conversation.number()),
            status,
            session_id: self.id.clone(),
            user_name: self.user_name.clone(),
            attributes,
        }
    }
}

#[cfg(test)]
mod tests {
    use keytoll_ike::SaId;
    use keytoll_radius::wire::Attribute;

    use super::*;

    const SA: SaId = SaId(7);

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn who_proves_itself_again_goes_on_with_its_session() {
        let mut ledger = accepted();
        assert!(ledger.started(SA, at(1)).is_some());
        ledger.accepted(SA, b"ue@lab".to_vec(), &Attributes::default());
        let stop = ledger.stopped(SA, at(61)).expect("its start was reported");
        let seconds = stop.attributes.get(AttributeType::ACCT_SESSION_TIME);
        assert_eq!((stop.status, seconds), (AcctStatus::Stop, Some(&[0, 0, 0, 60][..])));
    }

    fn accepted() -> Ledger<SaId> {
        let class = Attribute::fixed(AttributeType::CLASS, b"gold");
        let timeout = Attribute::fixed(AttributeType::SESSION_TIMEOUT, &[0, 0, 0, 9]);
        let mut ledger = Ledger::new();
        ledger.accepted(SA, b"ue@lab".to_vec(), &[class, timeout].into_iter().collect());
        ledger
    }

    #[test]
    fn start_and_stop_name_the_session_and_carry_the_class() {
        let mut ledger = accepted();
        let start = ledger.started(SA, at(3)).unwrap();
        ledger.rekeyed(SA, SaId(8));
        let stop = ledger.stopped(SaId(8), at(11)).unwrap();
        assert_eq!((start.status, stop.status), (AcctStatus::Start, AcctStatus::Stop));
        assert_eq!(start.session_id, stop.session_id);
        assert_eq!(stop.attributes.get_u32(AttributeType::ACCT_SESSION_TIME), Some(8));
        for report in [&start, &stop] {
            assert_eq!(report.attributes.get(AttributeType::CLASS), Some(&b"gold"[..]));
            assert_eq!(report.attributes.get(AttributeType::SESSION_TIMEOUT), None);
        }
    }

    #[test]
    fn reports_carry_the_name_the_server_gives() {
        let mallory = Attribute::fixed(AttributeType::USER_NAME, b"mallory@lab");
        let mut ledger = Ledger::new();
        ledger.accepted(SA, b"alice@lab".to_vec(), &[mallory].into_iter().collect());
        let reports = [ledger.started(SA, at(3)).unwrap(), ledger.stopped(SA, at(4)).unwrap()];
        assert_eq!(reports.map(|report| report.user_name), [b"mallory@lab"; 2]);
    }

    #[test]
    fn a_session_that_never_started_does_not_stop_and_nothing_is_kept() {
        let mut ledger = accepted();
        assert_eq!(ledger.stopped(SA, at(5)), None);
        assert_eq!(ledger.started(SA, at(6)), None);
        assert!(ledger.sessions.is_empty());
    }
}
