//! Clean-up after a panic: while an SA handles a message it is out of the tables, and a panic destroys it. This records what
//! the endpoint must then remove and report.

use std::collections::{BTreeSet, VecDeque};

use keytoll_engine::Output;

use crate::event::{Event, Reason, SaId};
use crate::half_open::Place;

/// The SA that is out of the tables, as it was when it left them; the memory is reused for the next one.
#[derive(Debug, Default)]
pub(crate) struct Lent {
    sa: Option<SaId>,
    half_open: Option<Place>,
    is_up: bool,
    is_nameless: bool,
    children: Vec<u32>,
}

impl Lent {
    /// An SA leaves the tables. `half_open` is its place among the half-open ones, `is_up` whether its owner knows it as
    /// established, `children` are its inbound SPIs.
    pub(crate) fn leaves(
        &mut self,
        sa: SaId,
        half_open: Option<Place>,
        is_up: bool,
        children: impl Iterator<Item = u32>,
    ) {
        (self.sa, self.half_open, self.is_up, self.is_nameless) = (Some(sa), half_open, is_up, false);
        self.children.clear();
        self.children.extend(children);
    }

    /// Its owner knows it by the id of another SA, which it replaces or is replaced by.
    pub(crate) const fn is_nameless(&mut self) {
        self.is_nameless = true;
    }

    /// Children are being moved into it.
    pub(crate) fn receives(&mut self, children: impl Iterator<Item = u32>) {
        self.is_up = true;
        self.children.extend(children);
    }

    /// It is back in the tables.
    pub(crate) const fn is_back(&mut self) {
        self.sa = None;
    }

    /// The SA that is missing, and its place among the half-open ones.
    pub(crate) fn missing(&self) -> Option<(SaId, Option<Place>)> {
        self.sa.map(|sa| (sa, self.half_open))
    }

    /// The events that report the end of the missing SA; `said` are events that the owner has not received yet.
    pub(crate) fn events(&mut self, said: &VecDeque<Output<Event>>) -> Vec<Event> {
        let Some(lost) = self.sa.take() else { return Vec::new() };
        let mut left: BTreeSet<u32> = self.children.drain(..).collect();
        let (mut is_up, mut is_told) = (self.is_up, self.is_nameless && !self.is_up);
        for event in said.iter().filter_map(event_of) {
            match event {
                Event::Established(established) => is_up |= established.sa == lost,
                Event::ChildUp(sa, new) | Event::ChildRekeyed { sa, new, .. } if *sa == lost => {
                    left.insert(new.pair.inbound_spi);
                }
                Event::ChildDown(_, spi) => {
                    left.remove(spi);
                }
                Event::Closed(sa, _) | Event::Failed(sa, ..) => is_told |= *sa == lost,
                Event::Rekeyed { old, .. } => is_told |= *old == lost,
                _ => {}
            }
        }
        let why = Reason::Internal;
        let end = if is_up { Event::Closed(lost, why) } else { Event::Failed(lost, why, None) };
        let children = left.into_iter().map(|spi| Event::ChildDown(lost, spi));
        children.chain((!is_told).then_some(end)).collect()
    }
}

const fn event_of(output: &Output<Event>) -> Option<&Event> {
    match output {
        Output::Event(event) => Some(event),
        Output::Datagram(_) | Output::Inner(_) | Output::Close { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sa_that_the_owner_knows_by_another_id_is_not_reported() {
        let (mut lent, sa) = (Lent::default(), SaId(7));
        let mut ends = |prepare: fn(&mut Lent)| {
            lent.leaves(sa, None, false, std::iter::empty());
            prepare(&mut lent);
            lent.events(&VecDeque::new())
        };
        assert_eq!(ends(|_| {}), [Event::Failed(sa, Reason::Internal, None)]);
        assert_eq!(ends(Lent::is_nameless), []);
        let receives = |lent: &mut Lent| {
            lent.is_nameless();
            lent.receives([3].into_iter());
        };
        assert_eq!(ends(receives), [Event::ChildDown(sa, 3), Event::Closed(sa, Reason::Internal)]);
    }
}
