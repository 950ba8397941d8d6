//! Which SAs there are, from what a host tells.

use keytoll_hosts::{Child, Event};
use keytoll_ike::v2::{self, SaId};

/// IKE SAs and their children, newest last.
#[derive(Debug, Default)]
pub(crate) struct Books {
    sas: Vec<SaId>,
    children: Vec<Child>,
}

impl Books {
    /// Takes note of an event.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Ike(v2::Event::Established(established)) => self.sas.push(established.sa),
            Event::Ike(v2::Event::Rekeyed { old, new }) => self.rekeyed(*old, *new),
            Event::Ike(v2::Event::Closed(sa, _)) => {
                self.sas.retain(|known| known != sa);
                self.children.retain(|child| child.sa != *sa);
            }
            Event::ChildUp(child) => self.children.push(*child),
            Event::ChildRekeyed { old, new } => {
                self.children.retain(|child| child.inbound_spi != *old);
                self.children.push(*new);
            }
            Event::ChildDown(spi) => self.children.retain(|child| child.inbound_spi != *spi),
            _ => {}
        }
    }

    fn rekeyed(&mut self, old: SaId, new: SaId) {
        self.sas.retain(|known| *known != old);
        self.sas.push(new);
        for child in self.children.iter_mut().filter(|child| child.sa == old) {
            child.sa = new;
        }
    }

    /// Every IKE SA.
    pub(crate) fn sas(&self) -> &[SaId] {
        &self.sas
    }

    /// The newest IKE SA.
    pub(crate) fn newest(&self) -> Option<SaId> {
        self.sas.last().copied()
    }

    /// The newest child SA.
    pub(crate) fn newest_child(&self) -> Option<Child> {
        self.children.last().copied()
    }
}
