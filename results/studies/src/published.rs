//! A published number as the data of a study has it.

use crate::{Basis, Bound, Figure};

/// A published number in a study's data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Published {
    pub(crate) value: f64,
    /// Decimals of a printed number that may end with zeros.
    pub(crate) decimals: Option<u8>,
    pub(crate) bound: Option<Bound>,
    pub(crate) basis: Basis,
    pub(crate) source: &'static str,
}

impl Published {
    const fn of(basis: Basis, value: f64, source: &'static str) -> Self {
        Self { value, decimals: None, bound: None, basis, source }
    }

    /// The paper prints it.
    pub(crate) const fn printed(value: f64, source: &'static str) -> Self {
        Self::of(Basis::Printed, value, source)
    }

    /// It follows from printed numbers, or from a standard.
    pub(crate) const fn derived(value: f64, source: &'static str) -> Self {
        Self::of(Basis::Derived, value, source)
    }

    /// It follows with assumptions that the paper does not print.
    pub(crate) const fn reconstructed(value: f64, source: &'static str) -> Self {
        Self::of(Basis::Reconstructed, value, source)
    }

    /// Printed with so many decimals, zeros included.
    pub(crate) const fn with_decimals(self, decimals: u8) -> Self {
        Self { decimals: Some(decimals), ..self }
    }

    pub(crate) const fn bounded(self, bound: Bound) -> Self {
        Self { bound: Some(bound), ..self }
    }
}

impl From<Published> for Figure {
    fn from(published: Published) -> Self {
        let Published { value, decimals, bound, basis, source } = published;
        Self { value, decimals, low: None, high: None, bound, basis, source: Some(source.to_owned()) }
    }
}
