//! The SAs of a side, as reported by its events.

use std::collections::BTreeMap;

use keytoll_crypto_api::algorithm::Integrity;
use keytoll_ike::{ChildSa, Event, SaId};

/// IKE SAs and their children.
#[derive(Debug, Default)]
pub(crate) struct Books {
    sas: BTreeMap<SaId, Vec<ChildSa>>,
}

impl Books {
    /// Applies an event; panics if it contradicts earlier ones.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Established(up) => {
                assert!(self.sas.insert(up.sa, Vec::new()).is_none(), "{:?} comes up once", up.sa);
            }
            Event::ChildUp(sa, child) | Event::ChildRekeyed { sa, new: child, .. } => self.enter(*sa, child),
            Event::ChildDown(sa, spi) => {
                let children = self.children(*sa);
                let before = children.len();
                children.retain(|child| child.pair.inbound_spi != *spi);
                assert_eq!(children.len() + 1, before, "child {spi:08x} of {sa:?} goes down once");
            }
            Event::Rekeyed { old, new } => {
                let children =
                    self.sas.remove(old).unwrap_or_else(|| panic!("{old:?} is there to be replaced"));
                // Both may have existed side by side before.
                self.sas.entry(*new).or_default().extend(children);
            }
            Event::Closed(sa, _) => {
                let children = self.sas.remove(sa).unwrap_or_else(|| panic!("{sa:?} is there to be closed"));
                assert!(children.is_empty(), "the children of {sa:?} went down before: {children:?}");
            }
            Event::Failed(sa, ..) => assert!(!self.sas.contains_key(sa), "{sa:?} did not come up"),
            Event::ChildFailed(..)
            | Event::ProposalRefused(_)
            | Event::EapStart { .. }
            | Event::EapPacket(..)
            | Event::ReauthenticationDue(_) => {}
        }
    }

    fn enter(&mut self, sa: SaId, child: &ChildSa) {
        let spi = child.pair.inbound_spi;
        let known = self.all_children().iter().any(|(_, known)| known.pair.inbound_spi == spi);
        assert!(!known, "{spi:08x} is the SPI of one child");
        self.children(sa).push(child.clone());
    }

    fn children(&mut self, sa: SaId) -> &mut Vec<ChildSa> {
        self.sas.get_mut(&sa).unwrap_or_else(|| panic!("{sa:?} is up"))
    }

    pub(crate) fn sa_count(&self) -> usize {
        self.sas.len()
    }

    pub(crate) fn sas(&self) -> Vec<SaId> {
        self.sas.keys().copied().collect()
    }

    /// Every child of every SA.
    pub(crate) fn all_children(&self) -> Vec<(SaId, &ChildSa)> {
        self.sas.iter().flat_map(|(sa, children)| children.iter().map(|child| (*sa, child))).collect()
    }

    /// The only IKE SA.
    pub(crate) fn only_sa(&self) -> SaId {
        let sas = self.sas();
        assert_eq!(sas.len(), 1, "exactly one IKE SA: {sas:?}");
        sas[0]
    }

    /// The only child of the only IKE SA.
    pub(crate) fn only_child(&self) -> &ChildSa {
        self.only_sa();
        let children = self.all_children();
        assert_eq!(children.len(), 1, "exactly one child: {children:?}");
        children[0].1
    }
}

/// Asserts that what one side sends with is what the other receives with: SPIs, keys and traffic.
pub(crate) fn assert_crosswise(i: &ChildSa, r: &ChildSa) {
    assert_eq!(
        (i.pair.inbound_spi, i.pair.outbound_spi),
        (r.pair.outbound_spi, r.pair.inbound_spi),
        "SPIs are crosswise"
    );
    assert!(i.pair.outbound == r.pair.inbound && i.pair.inbound == r.pair.outbound, "keys are crosswise");
    assert_eq!((&i.local, &i.remote), (&r.remote, &r.local), "traffic is crosswise");
    assert_eq!((i.pair.suite, i.mode), (r.pair.suite, r.mode), "algorithms and mode are the same");
    assert_eq!(i.encapsulation.is_some(), r.encapsulation.is_some(), "both know of the NAT, or neither");
    let lengths = |keys: &keytoll_engine::sa::SaKeys| (keys.encryption.len(), keys.integrity.len());
    let wanted = (i.pair.suite.encryption.key_len(), i.pair.suite.integrity.map_or(0, Integrity::key_len));
    assert_eq!(
        (lengths(&i.pair.inbound), lengths(&i.pair.outbound)),
        (wanted, wanted),
        "keys have their lengths"
    );
}
