//! Pages: one self-contained HTML file of texts, tables, charts, message ladders and rankings. It knows nothing of
//! authentication: what is on a page is decided by those who build its [`Page`].
//!
//! All text, every table and the figures behind every chart are in the HTML itself and can be read without scripts. What moves is
//! done by `assets/page.js`, built of `web/` by `web/build.sh`: it draws charts and ladders, sorts and filters tables, and ranks again
//! when a weight is moved. A page loads nothing, and its content security policy forbids it to.

mod blocks;
mod frame;
pub mod model;
pub mod pictures;
mod table;
mod text;

pub use frame::{is_page, write};
pub use model::{
    Block, Cell, Chart, Column, Criterion, Hop, Ladder, Page, Ranking, Rule, Section, Table, Weighed,
};
pub use text::is_invisible;
