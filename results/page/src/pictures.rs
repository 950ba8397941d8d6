//! Pictures without a browser, in builds with the feature `svg`: the script of the page runs in QuickJS, which is linked in. A picture
//! is the one that the page's button saves, except for the width of texts, which is estimated without a browser.

use std::fmt;

#[cfg(feature = "svg")]
mod quickjs;
#[cfg(feature = "svg")]
pub use quickjs::Painter;

#[cfg(not(feature = "svg"))]
mod missing;
#[cfg(not(feature = "svg"))]
pub use missing::Painter;

/// Whether this build can draw pictures.
pub const AVAILABLE: bool = cfg!(feature = "svg");

/// Why there is no picture: the message of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureError(String);

impl fmt::Display for PictureError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "the picture cannot be drawn: {}", self.0)
    }
}

impl std::error::Error for PictureError {}
