//! Every chart, ladder and ranking of a page as a picture of its own, without a browser.

pub use keytoll_page::pictures::AVAILABLE as CAN_DRAW;
use keytoll_page::pictures::{Painter, PictureError};
use keytoll_page::{Block, Page, Section};

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The anchor of its figure on the page.
    pub id: String,
    /// SVG.
    pub svg: String,
}

/// Draws all of a page, in its order; a tenth of a second each. `drawn` is called after each.
///
/// # Errors
/// When one cannot be drawn.
pub fn pictures(page: &Page, drawn: &dyn Fn()) -> Result<Vec<Picture>, PictureError> {
    let painter = Painter::new()?;
    let figures = figures(page).into_iter().filter_map(|block| {
        let (id, svg) = match block {
            Block::Chart(chart) => (&chart.id, painter.chart(chart)),
            Block::Ladder(ladder) => (&ladder.id, painter.ladder(ladder)),
            Block::Ranking(ranking) => (&ranking.id, painter.ranking(ranking)),
            _ => return None,
        };
        drawn();
        Some(svg.map(|svg| Picture { id: id.clone(), svg }))
    });
    figures.collect()
}

/// How many pictures a page has.
pub fn count(page: &Page) -> usize {
    let is_picture = |block: &&Block| matches!(block, Block::Chart(_) | Block::Ladder(_) | Block::Ranking(_));
    figures(page).into_iter().filter(is_picture).count()
}

/// All blocks of a page, those shown on request included.
fn figures(page: &Page) -> Vec<&Block> {
    let mut blocks = Vec::new();
    page.sections.iter().for_each(|section| of_section(section, &mut blocks));
    blocks
}

fn of_section<'a>(section: &'a Section, blocks: &mut Vec<&'a Block>) {
    section.blocks.iter().for_each(|block| of_block(block, blocks));
    section.sections.iter().for_each(|section| of_section(section, blocks));
}

fn of_block<'a>(block: &'a Block, blocks: &mut Vec<&'a Block>) {
    match block {
        Block::Details(_, inner) => inner.iter().for_each(|block| of_block(block, blocks)),
        other => blocks.push(other),
    }
}
