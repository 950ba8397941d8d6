//! Columns of CSV files. Each says what its cells hold, so that whoever reads the file again need not guess.

/// A column of a CSV file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<Of> {
    /// The name, or what follows that of a link or a node.
    pub(crate) name: &'static str,
    /// What a cell holds.
    pub(crate) holds: Holds,
    /// The unit; empty for names and numbers without unit.
    pub(crate) unit: &'static str,
    /// The meaning.
    pub(crate) meaning: &'static str,
    /// Computes a cell.
    pub(crate) of: Of,
}

/// What a cell of a column holds, unless it is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// A text that is always known; an empty one is one, too.
    Name,
    /// A text.
    Text,
    /// A whole number from 0 to 2⁶³ - 1.
    Whole,
    /// A number, as near as 64 bits can have it.
    Number,
    /// `true` or `false`.
    Flag,
}

impl Holds {
    /// As documentation and errors call it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Name | Self::Text => "a text",
            Self::Whole => "a whole number",
            Self::Number => "a number",
            Self::Flag => "`true` or `false`",
        }
    }

    /// The form of a cell that is not empty, as a regular expression; none if it may have any.
    pub fn pattern(self) -> Option<&'static str> {
        match self {
            Self::Name | Self::Text => None,
            Self::Whole => Some("^[0-9]+$"),
            Self::Number => Some(r"^[0-9]+(\.[0-9]+)?$"),
            Self::Flag => Some("^(true|false)$"),
        }
    }

    /// Whether this can be a cell.
    pub(crate) fn takes(self, cell: &str) -> bool {
        cell.is_empty()
            || match self {
                Self::Name | Self::Text => true,
                Self::Whole => whole_of(cell).is_some(),
                Self::Number => number_of(cell).is_some(),
                Self::Flag => flag_of(cell).is_some(),
            }
    }
}

/// The whole number in a cell.
pub(crate) fn whole_of(cell: &str) -> Option<i64> {
    cell.parse().ok().filter(|_| cell.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The number in a cell, which is never infinite and no error of arithmetic.
pub(crate) fn number_of(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The truth in a cell.
pub(crate) fn flag_of(cell: &str) -> Option<bool> {
    cell.parse().ok()
}

pub(super) const fn name<Of: Copy>(name: &'static str, meaning: &'static str, of: Of) -> Field<Of> {
    Field { name, holds: Holds::Name, unit: "", meaning, of }
}

pub(super) const fn text<Of: Copy>(name: &'static str, meaning: &'static str, of: Of) -> Field<Of> {
    Field { name, holds: Holds::Text, unit: "", meaning, of }
}

pub(super) const fn whole<Of: Copy>(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    of: Of,
) -> Field<Of> {
    Field { name, holds: Holds::Whole, unit, meaning, of }
}

pub(super) const fn number<Of: Copy>(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    of: Of,
) -> Field<Of> {
    Field { name, holds: Holds::Number, unit, meaning, of }
}

pub(super) const fn flag<Of: Copy>(name: &'static str, meaning: &'static str, of: Of) -> Field<Of> {
    Field { name, holds: Holds::Flag, unit: "", meaning, of }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_what_its_column_holds() {
        let check = |holds: Holds, fit: &[&str], unfit: &[&str]| {
            fit.iter().for_each(|cell| assert!(holds.takes(cell), "{holds:?} {cell}"));
            unfit.iter().for_each(|cell| assert!(!holds.takes(cell), "{holds:?} {cell}"));
        };
        check(Holds::Name, &["", "7", "a,b"], &[]);
        check(Holds::Text, &["", "7", "a,b"], &[]);
        check(
            Holds::Whole,
            &["", "0", "9223372036854775807"],
            &["9223372036854775808", "-1", "+1", "1.0", " 1", "one"],
        );
        check(Holds::Number, &["", "0", "0.1", "12.0"], &["inf", "NaN", "1,5", "1e999"]);
        check(Holds::Flag, &["", "true", "false"], &["True", "1", "yes"]);
    }
}
