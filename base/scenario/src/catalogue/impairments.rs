//! What can happen to packets on a link, as scenarios write it: an entry says everything about the key of an impairment.
//! Whoever emulates links knows an impairment by the same key and takes its numbers in the same order.

use std::collections::BTreeMap;

use crate::quantity::{Kind as Quantity, Probability, print};

/// An impairment.
pub(crate) struct Impairment {
    /// The key of a network.
    pub(crate) key: &'static str,
    /// The numbers of its table, if it may be given as one besides a single probability.
    pub(crate) parts: &'static [Part],
    /// How a table is told in words.
    words: fn(&[Probability]) -> String,
}

/// A probability in the table of an impairment.
pub(crate) struct Part {
    pub(crate) key: &'static str,
    /// What it is without being named; none: it must be.
    pub(crate) default: Option<Probability>,
}

/// Every impairment, in the order in which they are printed.
pub(crate) static IMPAIRMENTS: &[Impairment] = &[
    Impairment {
        key: LOSS,
        // The Gilbert–Elliott model, as `netem loss gemodel p r 1-h 1-k`: into the bad state, out of it, loss in the bad
        // state, loss in the good one.
        parts: &[
            Part { key: "p", default: None },
            Part { key: "r", default: None },
            Part { key: "1-h", default: Some(Probability::ONE) },
            Part { key: "1-k", default: Some(Probability::ZERO) },
        ],
        words: bursts,
    },
    single("reorder"),
    single("duplicate"),
    single(CORRUPT),
];

const LOSS: &str = "loss";
const CORRUPT: &str = "corrupt";

/// An impairment of one probability.
const fn single(key: &'static str) -> Impairment {
    Impairment { key, parts: &[], words: |_| String::new() }
}

/// `loss in bursts, 2 % into them, 25 % out of them, 100 % inside`.
fn bursts(parts: &[Probability]) -> String {
    let [p, r, in_bad, in_good] = parts else { return String::new() };
    let outside =
        if *in_good == Probability::ZERO { String::new() } else { format!(", {in_good} between them") };
    format!("in bursts, {p} into them, {r} out of them, {in_bad} inside{outside}")
}

/// What happens to the packets of one direction of a link: by key, one probability or those of a table. What never happens is
/// not in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Impairments(BTreeMap<&'static str, Vec<Probability>>);

impl Impairments {
    /// Nothing happens.
    pub const NONE: Self = Self(BTreeMap::new());

    /// The same with uniform loss.
    #[must_use]
    pub fn with_loss(mut self, loss: Probability) -> Self {
        self.set(LOSS, vec![loss]);
        self
    }

    /// The numbers under a key, in the order of the catalogue.
    pub fn get(&self, key: &str) -> &[Probability] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// The mean share of packets that do not arrive: lost, or damaged and dropped by the receiver.
    pub fn lost_share(&self) -> f64 {
        let share = |probability: &Probability| f64::from(probability.parts_per_billion()) / 1e9;
        let lost = match self.get(LOSS) {
            [] => 0.0,
            [uniform] => share(uniform),
            // The stationary share of the bad state is p ÷ (p + r).
            [p, r, in_bad, in_good] => {
                let bad = share(p) / (share(p) + share(r)).max(f64::MIN_POSITIVE);
                bad * share(in_bad) + (1.0 - bad) * share(in_good)
            }
            _ => 1.0,
        };
        let damaged = self.get(CORRUPT).first().map_or(0.0, share);
        1.0 - (1.0 - lost) * (1.0 - damaged)
    }

    /// Every impairment with its numbers.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &[Probability])> {
        self.0.iter().map(|(key, parts)| (*key, parts.as_slice()))
    }

    pub(crate) fn set(&mut self, key: &'static str, parts: Vec<Probability>) {
        match parts[..] {
            [Probability::ZERO] => drop(self.0.remove(key)),
            _ => drop(self.0.insert(key, parts)),
        }
    }

    /// How much is lost, in words: `0.1 %`.
    pub(crate) fn loss_in_words(&self) -> String {
        match self.get(LOSS) {
            [] => Probability::ZERO.to_string(),
            [uniform] => uniform.to_string(),
            parts => {
                let loss = IMPAIRMENTS.iter().find(|impairment| impairment.key == LOSS);
                loss.map_or_else(String::new, |loss| (loss.words)(parts))
            }
        }
    }

    /// The value of a key as TOML writes it.
    pub(crate) fn print(&self, impairment: &Impairment) -> String {
        let quoted = |chance: &Probability| {
            format!("\"{}\"", print(Quantity::Probability, chance.parts_per_billion().into()))
        };
        match self.get(impairment.key) {
            [] => quoted(&Probability::ZERO),
            [single] => quoted(single),
            parts => {
                let pair =
                    |(part, chance): (&Part, &Probability)| format!("{} = {}", part.key, quoted(chance));
                let pairs: Vec<_> = impairment.parts.iter().zip(parts).map(pair).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
        }
    }
}
