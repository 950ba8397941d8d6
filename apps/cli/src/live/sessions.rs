//! The sessions and SAs that exist, according to the events of a host.

use std::collections::BTreeMap;

use keytoll_hosts::{Child, Event, SessionId};

/// The sessions and, if there are commands, their child SAs, newest last. A gateway has thousands of sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// Each with a number; the newest has the greatest.
    sessions: BTreeMap<SessionId, u64>,
    next: u64,
    /// `None` if they are not needed.
    children: Option<Vec<Child>>,
}

impl Sessions {
    /// An empty table, with or without child SAs.
    pub(crate) fn new(with_children: bool) -> Self {
        Self { sessions: BTreeMap::new(), next: 0, children: with_children.then(Vec::new) }
    }

    /// Takes note of an event.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Established(established) => self.add(established.session),
            Event::Rekeyed { old, new } => {
                self.sessions.remove(old);
                self.add(*new);
            }
            Event::Closed { session, .. } => {
                self.sessions.remove(session);
            }
            _ => {}
        }
        if let Some(children) = &mut self.children {
            note_child(children, event);
        }
    }

    fn add(&mut self, session: SessionId) {
        self.sessions.insert(session, self.next);
        self.next += 1;
    }

    /// Every session.
    pub(crate) fn sessions(&self) -> impl ExactSizeIterator<Item = SessionId> {
        self.sessions.keys().copied()
    }

    /// The newest session.
    pub(crate) fn newest(&self) -> Option<SessionId> {
        self.sessions.iter().max_by_key(|(_, number)| **number).map(|(session, _)| *session)
    }

    /// The newest child SA.
    pub(crate) fn newest_child(&self) -> Option<Child> {
        self.children.as_ref()?.last().copied()
    }
}

fn note_child(children: &mut Vec<Child>, event: &Event) {
    match event {
        Event::Rekeyed { old, new } => {
            children.iter_mut().filter(|child| child.session == *old).for_each(|child| child.session = *new);
        }
        Event::Closed { session, .. } => children.retain(|child| child.session != *session),
        Event::ChildUp(child) => children.push(*child),
        Event::ChildRekeyed { old, new } => {
            children.retain(|child| child.inbound_spi != *old);
            children.push(*new);
        }
        Event::ChildDown(spi) => children.retain(|child| child.inbound_spi != *spi),
        _ => {}
    }
}
