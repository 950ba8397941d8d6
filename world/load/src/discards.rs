//! Why datagrams could not be used, counted. Whoever sends them chooses the numbers and names in these texts; their count stays small.

use std::collections::BTreeMap;

/// How often each of a limited number of reasons was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discards(BTreeMap<String, u64>);

/// Texts that differ in their numbers only, counted apart; further ones are counted together.
const ALIKE_MAX: usize = 4;
/// All texts; further ones are counted together.
const TEXTS_MAX: usize = 48;
/// Characters of a text; the rest is cut off.
const CHARACTERS_MAX: usize = 160;
/// What is counted beyond all limits.
const OTHERS: &str = "others";
/// What stands in the place of numbers that are counted together.
const ANY: char = '#';

impl Discards {
    /// Counts one more.
    pub fn count(&mut self, why: &str) {
        self.add_some(why, 1);
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(why, count)| self.add_some(why, *count));
    }

    /// How many there were.
    pub fn sum(&self) -> u64 {
        self.0.values().sum()
    }

    /// By reason.
    pub const fn by_reason(&self) -> &BTreeMap<String, u64> {
        &self.0
    }

    pub(crate) fn add_some(&mut self, why: &str, count: u64) {
        if let Some(known) = self.0.get_mut(why) {
            *known += count;
        } else {
            *self.0.entry(self.name(why)).or_default() += count;
        }
    }

    /// Under which name a text that is not there is counted.
    fn name(&self, why: &str) -> String {
        let why: String = why.chars().take(CHARACTERS_MAX).collect();
        let kind = kind(&why);
        let alike = self.0.keys().filter(|known| self::kind(known) == kind).count();
        let name = if alike < ALIKE_MAX { why } else { kind };
        if self.0.len() < TEXTS_MAX || self.0.contains_key(&name) { name } else { OTHERS.to_owned() }
    }
}

/// A text without its numbers, decimal or hexadecimal.
fn kind(text: &str) -> String {
    let mut kind = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if digits.contains(|c: char| c.is_ascii_digit()) {
            kind.push(ANY);
            kind.push_str(&word[digits.len()..]);
        } else {
            kind.push_str(word);
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_a_peer_chooses_share_a_place() {
        let mut discards = Discards::default();
        (0..1000).for_each(|number| discards.count(&format!("SPI 0x{number:x} of 10.0.0.{number}: unknown")));
        discards.count("Connection refused (os error 111)");
        let names: Vec<_> = discards.by_reason().iter().map(|(why, count)| (why.as_str(), *count)).collect();
        assert_eq!(names[0], ("Connection refused (os error 111)", 1));
        assert_eq!(names[1], ("SPI # of #.#.#.#: unknown", 996));
        assert_eq!((names.len(), discards.sum()), (6, 1001));
    }

    #[test]
    fn texts_that_a_peer_chooses_are_few_and_short() {
        let mut discards = Discards::default();
        let word = |number: u32| -> String {
            number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
        };
        (0..1000).for_each(|number| discards.count(&format!("{}{}", word(number), "x".repeat(1000))));
        assert_eq!((discards.by_reason().len(), discards.sum()), (TEXTS_MAX + 1, 1000));
        assert!(discards.by_reason().keys().all(|why| why.len() <= CHARACTERS_MAX));
        let mut all = Discards::default();
        for _ in 0..3 {
            all.add(&discards);
        }
        assert_eq!((all.by_reason().len(), all.sum()), (TEXTS_MAX + 1, 3000));
    }
}
