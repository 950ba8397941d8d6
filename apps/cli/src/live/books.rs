//! Which SAs there are, from what a host tells.

use std::collections::BTreeMap;

use keytoll_hosts::{Child, Event};
use keytoll_ike::v2::{self, SaId};

/// IKE SAs, and for whoever gives commands their children, newest last. A gateway has thousands.
#[derive(Debug)]
pub(crate) struct Books {
    /// Each with a number, the newest with the greatest.
    sas: BTreeMap<SaId, u64>,
    next: u64,
    /// None if nobody asks for them.
    children: Option<Vec<Child>>,
}

impl Books {
    /// Empty ones, with or without room for children.
    pub(crate) fn new(with_children: bool) -> Self {
        Self { sas: BTreeMap::new(), next: 0, children: with_children.then(Vec::new) }
    }

    /// Takes note of an event.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Ike(v2::Event::Established(established)) => self.add(established.sa),
            Event::Ike(v2::Event::Rekeyed { old, new }) => {
                self.sas.remove(old);
                self.add(*new);
            }
            Event::Ike(v2::Event::Closed(sa, _)) => {
                self.sas.remove(sa);
            }
            _ => {}
        }
        if let Some(children) = &mut self.children {
            note_child(children, event);
        }
    }

    fn add(&mut self, sa: SaId) {
        self.sas.insert(sa, self.next);
        self.next += 1;
    }

    /// Every IKE SA.
    pub(crate) fn sas(&self) -> impl ExactSizeIterator<Item = SaId> {
        self.sas.keys().copied()
    }

    /// The newest IKE SA.
    pub(crate) fn newest(&self) -> Option<SaId> {
        self.sas.iter().max_by_key(|(_, number)| **number).map(|(sa, _)| *sa)
    }

    /// The newest child SA.
    pub(crate) fn newest_child(&self) -> Option<Child> {
        self.children.as_ref()?.last().copied()
    }
}

fn note_child(children: &mut Vec<Child>, event: &Event) {
    match event {
        Event::Ike(v2::Event::Rekeyed { old, new }) => {
            children.iter_mut().filter(|child| child.sa == *old).for_each(|child| child.sa = *new);
        }
        Event::Ike(v2::Event::Closed(sa, _)) => children.retain(|child| child.sa != *sa),
        Event::ChildUp(child) => children.push(*child),
        Event::ChildRekeyed { old, new } => {
            children.retain(|child| child.inbound_spi != *old);
            children.push(*new);
        }
        Event::ChildDown(spi) => children.retain(|child| child.inbound_spi != *spi),
        _ => {}
    }
}
