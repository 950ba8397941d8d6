//! From the bytes of a message to a description in the terms of its standard: its family dissects it, and values that only the
//! capture lacks are added.

use std::fmt;

use keytoll_crypto::Real;
use keytoll_engine::trace::Protocol;
use keytoll_family::{Analyser, Book, Cut, Dissected, Families, Passed};

use crate::icmp;
use crate::tables::Keys;

/// Dissects messages. It keeps the state that spans several: fragments, replay windows.
pub struct Dissector {
    families: Families,
    analysers: Vec<Option<Box<dyn Analyser>>>,
    crypto: Real,
}

impl fmt::Debug for Dissector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dissector({} families)", self.families.len())
    }
}

impl Dissector {
    /// A dissector with these keys.
    pub fn new(keys: Keys) -> Self {
        let (families, analysers) = keys.into_parts();
        Self { families, analysers, crypto: Real::default() }
    }

    /// Dissects a datagram; `None` if it is of no interest.
    pub fn dissect(&mut self, passed: &Passed) -> Option<Dissected> {
        let mut dissected = match self.place(passed.datagram.protocol) {
            Some(place) => self.analysers[place].as_mut()?.dissect(passed, &mut self.crypto),
            None => icmp::dissect(self.families, passed)?,
        };
        dissected.remarks.extend(passed.cut.map(|cut| why_cut(cut, passed.packets)));
        Some(dissected)
    }

    /// Adds a message to its conversation.
    pub(crate) fn file(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        repeats: Option<u64>,
        book: &mut Book,
    ) {
        let place = self.place(passed.datagram.protocol);
        if let Some((place, analyser)) =
            place.and_then(|place| Some((place, self.analysers[place].as_mut()?)))
        {
            book.open_for(place);
            analyser.file(passed, dissected, repeats, book, &mut self.crypto);
        }
    }

    /// The families that it supports.
    pub(crate) const fn families(&self) -> Families {
        self.families
    }

    /// The analysers of the families, by their position in the list.
    pub(crate) fn analysers(&mut self) -> &mut [Option<Box<dyn Analyser>>] {
        &mut self.analysers
    }

    /// The same, to be asked.
    pub(crate) fn analyser(&self, place: usize) -> Option<&dyn Analyser> {
        self.analysers[place].as_deref()
    }

    fn place(&self, protocol: Protocol) -> Option<usize> {
        self.families.iter().position(|family| family.protocols().contains(&protocol))
    }
}

fn why_cut(cut: Cut, packets: u16) -> String {
    match cut {
        Cut::Captured => "cut short by the capture's snap length".to_owned(),
        Cut::FragmentMissing => {
            let what = if packets == 1 { "one IP fragment" } else { "IP fragments" };
            format!("INCOMPLETE: {packets} {what} of it passed, not all")
        }
    }
}

#[cfg(test)]
mod tests;
