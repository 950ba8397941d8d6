//! A published number as the data of a study has it.

use crate::{Basis, Bound, Figure};

/// A published number in a study's data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Published {
    pub(crate) value: f64,
    pub(crate) bound: Option<Bound>,
    pub(crate) basis: Basis,
    pub(crate) source: &'static str,
}

impl From<Published> for Figure {
    fn from(published: Published) -> Self {
        let Published { value, bound, basis, source } = published;
        Self { value, low: None, high: None, bound, basis, source: Some(source.to_owned()) }
    }
}
