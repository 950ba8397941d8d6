//! Pages: one self-contained HTML file of texts, tables, charts, message ladders and rankings. It knows nothing of
//! authentication: what is on a page is decided by those who build its [`Page`].

pub mod model;

pub use model::{
    Block, Cell, Chart, Column, Criterion, Hop, Ladder, Page, Ranking, Rule, Section, Table, Weighed,
};
