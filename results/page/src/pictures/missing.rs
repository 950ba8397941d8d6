//! The painter of builds without the feature `svg`: there is none.

use super::PictureError;
use crate::model::{Chart, Ladder, Ranking};

/// Draws pictures in builds with the feature `svg`. In this build no value of it exists.
#[derive(Debug)]
pub enum Painter {}

impl Painter {
    /// Fails always.
    ///
    /// # Errors
    /// This build lacks the feature `svg`.
    pub fn new() -> Result<Self, PictureError> {
        Err(PictureError("this keytoll was built without the feature `svg`".to_owned()))
    }

    /// A chart as SVG.
    ///
    /// # Errors
    /// Never: there is no painter.
    pub fn chart(&self, _: &Chart) -> Result<String, PictureError> {
        match *self {}
    }

    /// A ladder as SVG.
    ///
    /// # Errors
    /// Never: there is no painter.
    pub fn ladder(&self, _: &Ladder) -> Result<String, PictureError> {
        match *self {}
    }

    /// The scores of a ranking as SVG.
    ///
    /// # Errors
    /// Never: there is no painter.
    pub fn ranking(&self, _: &Ranking) -> Result<String, PictureError> {
        match *self {}
    }
}
