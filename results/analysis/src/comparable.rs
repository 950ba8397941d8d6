//! Which rows of a run are comparable: those with the same [`Setting`], which differ only in their [`Subject`]s.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use keytoll_trace::manifest::CRYPTOGRAPHY_ONLY;

use crate::summary::{CAPTURED, SummaryRow};

/// Where and how a row was measured. Rows are comparable if all of it is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting<'a> {
    /// The network's name.
    pub network: &'a str,
    /// The topology's name.
    pub topology: &'a str,
    /// `sim`, `live` or `captured`.
    pub world: &'a str,
    /// `real`, `openssl`, `null`, `table` or `captured`.
    pub crypto: &'a str,
}

/// `wifi-11g, raw, sim, real crypto`; the setting of a capture is unknown.
impl fmt::Display for Setting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { network, topology, world, crypto } = self;
        match *world {
            CAPTURED => f.write_str(CAPTURED),
            // A load knows the address of its target alone.
            _ if topology.is_empty() => write!(f, "{network}, {world}, {crypto} crypto"),
            _ => write!(f, "{network}, {topology}, {world}, {crypto} crypto"),
        }
    }
}

/// What is compared within a setting: a method, and its options that differ from the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject<'a> {
    /// The method's name in the catalogue.
    pub method: &'a str,
    /// The options that differ from the method's default.
    pub variant: Variant<'a>,
}

/// `ikev2-rsa2048 chain=4,4`.
impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.variant {
            Variant("") => f.write_str(self.method),
            Variant(variant) => write!(f, "{} {variant}", self.method),
        }
    }
}

impl Subject<'_> {
    /// Its name without some options of its variant that are given elsewhere.
    pub fn without(self, words: &[&str]) -> String {
        let variant = self.variant.without(|word| words.contains(&word));
        Subject { variant: Variant(&variant), ..self }.to_string()
    }
}

/// The options that differ from a method's default, like `chain=4,4 mode=transport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variant<'a>(pub &'a str);

impl<'a> Variant<'a> {
    /// The words, in order.
    pub fn words(self) -> impl Iterator<Item = &'a str> {
        self.0.split(' ').filter(|word| !word.is_empty())
    }

    /// Whether a word is among them.
    pub fn has(self, word: &str) -> bool {
        self.words().any(|other| other == word)
    }

    /// The other words.
    pub fn without(self, is_left_out: impl Fn(&str) -> bool) -> String {
        self.words().filter(|word| !is_left_out(word)).collect::<Vec<_>>().join(" ")
    }
}

impl SummaryRow {
    /// Whether CPU time is that of cryptography only, because a cost table without messages was charged.
    pub fn is_cryptography_only(&self) -> bool {
        self.notes.iter().any(|note| note == CRYPTOGRAPHY_ONLY)
    }

    /// Where and how it was measured.
    pub fn setting(&self) -> Setting<'_> {
        let Self { network, topology, world, crypto, .. } = self;
        Setting { network, topology, world, crypto }
    }

    /// What was measured.
    pub fn subject(&self) -> Subject<'_> {
        Subject { method: &self.method, variant: Variant(&self.variant) }
    }
}

/// Rows that may be compared.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// Their common setting.
    pub setting: Setting<'a>,
    /// In the order of the run.
    pub rows: Vec<&'a SummaryRow>,
}

/// The rows of a run by their settings, in order of first appearance.
pub fn groups(rows: &[SummaryRow]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places = BTreeMap::new();
    for row in rows {
        let setting = row.setting();
        let place = *places.entry(setting).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { setting, rows: vec![row] }),
        }
    }
    groups
}

/// Names that a sentence lists: more than these nobody reads.
const NAMES_MAX: usize = 20;

/// Names as a sentence lists them, each once, and how many there are besides: the run of somebody else may have any number.
pub fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut seen = BTreeSet::new();
    let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
    let shown: Vec<String> = names.iter().take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(NAMES_MAX) {
        _ if names.is_empty() => "no rows".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The options that are in the variants of all rows; a single row shares none.
pub fn shared(rows: &[SummaryRow]) -> Vec<&str> {
    shared_words(rows.iter().map(|row| row.subject().variant))
}

/// The options that are in all of these variants; a single one shares none.
pub fn shared_words<'a>(variants: impl IntoIterator<Item = Variant<'a>>) -> Vec<&'a str> {
    let variants: Vec<_> = variants.into_iter().collect();
    let [first, others @ ..] = &variants[..] else { return Vec::new() };
    if others.is_empty() {
        return Vec::new();
    }
    first.words().filter(|word| others.iter().all(|variant| variant.has(word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(method: &str, variant: &str, network: &str, crypto: &str) -> SummaryRow {
        let text = str::to_owned;
        SummaryRow {
            method: text(method),
            variant: text(variant),
            network: text(network),
            topology: text("raw"),
            world: text("sim"),
            crypto: text(crypto),
            ..SummaryRow::default()
        }
    }

    #[test]
    fn of_many_names_the_first_are_listed() {
        assert_eq!(listed(["a", "b", "a"].into_iter()), "`a`, `b`");
        assert_eq!(listed(std::iter::empty()), "no rows");
        let many: Vec<String> = (0..20_000).map(|number| format!("m{number}")).collect();
        let told = listed(many.iter().map(String::as_str));
        assert!(told.starts_with("`m0`, `m1`, ") && told.ends_with("`m19` and 19980 more"), "{told}");
    }

    #[test]
    fn rows_of_one_setting_are_a_group_wherever_they_stand() {
        let rows = [
            row("psk", "", "wifi-11g", "real"),
            row("psk", "", "umts-r99-64", "real"),
            row("md5", "", "wifi-11g", "real"),
            row("md5", "", "wifi-11g", "null"),
        ];
        let found = groups(&rows);
        let shown = found.iter().map(|group| (group.setting.to_string(), group.rows.len()));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                ("wifi-11g, raw, sim, real crypto".to_owned(), 2),
                ("umts-r99-64, raw, sim, real crypto".to_owned(), 1),
                ("wifi-11g, raw, sim, null crypto".to_owned(), 1)
            ]
        );
        let captured = SummaryRow { world: CAPTURED.to_owned(), ..row("psk", "", "", "") };
        assert_eq!(captured.setting().to_string(), "captured");
    }

    #[test]
    fn shared_options_are_left_out_of_row_names() {
        let rows = [
            row("rsa", "chain=4,4 mode=tunnel", "n", "c"),
            row("psk", "mode=tunnel", "n", "c"),
            row("psk", "mode=tunnel x", "m", "c"),
        ];
        assert_eq!(shared(&rows), ["mode=tunnel"]);
        let short = rows.iter().map(|row| row.subject().without(&shared(&rows)));
        assert_eq!(short.collect::<Vec<_>>(), ["rsa chain=4,4", "psk", "psk x"]);
        assert_eq!(rows[0].subject().to_string(), "rsa chain=4,4 mode=tunnel");
        assert_eq!((shared(&rows[..1]), shared(&[])), (vec![], vec![]), "one row shares nothing");
    }
}
