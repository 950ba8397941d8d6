//! The page as a whole: head, title, contents, sections and foot.

use std::io::{self, Write};

use crate::blocks;
use crate::model::{Page, Section};
use crate::text::{Escaped, anchor};

/// The style sheet, built by `web/build.sh`.
const STYLE: &str = include_str!("../assets/page.css");
/// The script, built by `web/build.sh`.
pub(crate) const SCRIPT: &str = include_str!("../assets/page.js");
/// The licences of what the script contains, built by `web/build.sh`.
const LICENCES: &str = include_str!("../assets/licences.txt");
/// What may run and how it may look, by digest, and nothing else: built by `web/build.sh`.
const POLICY: &str = include_str!("../assets/policy.txt");
/// The element by which a page of keytoll is recognized.
const GENERATOR: &str = r#"<meta name="generator" content="keytoll">"#;

/// Whether a file that begins like this is a page of keytoll.
pub fn is_page(beginning: &[u8]) -> bool {
    beginning.starts_with(b"<!DOCTYPE html>") && has(beginning, GENERATOR)
}

fn has(text: &[u8], part: &str) -> bool {
    text.windows(part.len()).any(|window| window == part.as_bytes())
}

/// Writes a page.
///
/// # Errors
/// When it cannot be written.
pub fn write(page: &Page, mut out: impl Write) -> io::Result<()> {
    let out: &mut dyn Write = &mut out;
    head(page, out)?;
    title(page, out)?;
    contents(page, out)?;
    writeln!(out, r#"<main id="content" tabindex="-1">"#)?;
    page.sections.iter().try_for_each(|one| section(one, 2, out))?;
    writeln!(out, "</main>")?;
    foot(out)
}

/// Everything that is not seen, and what leads past the contents.
fn head(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let title = Escaped(&page.title);
    let policy = POLICY.trim();
    writeln!(
        out,
        r##"<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
{GENERATOR}
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{STYLE}</style></head>
<body><a class="skip" href="#content">To the content</a>"##
    )
}

fn title(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<header>")?;
    for warning in &page.warnings {
        writeln!(out, r#"<p class="warning">{}</p>"#, Escaped(warning))?;
    }
    writeln!(out, "<h1>{}</h1>", Escaped(&page.title))?;
    if !page.verdict.is_empty() {
        writeln!(out, r#"<div class="verdict">"#)?;
        for sentence in &page.verdict {
            writeln!(out, "<p>{}</p>", Escaped(sentence))?;
        }
        writeln!(out, "</div>")?;
    }
    blocks::meanings("facts", &page.facts, out)?;
    writeln!(out, "</header>")
}

/// The table of contents, two levels deep.
fn contents(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    if page.sections.is_empty() {
        return Ok(());
    }
    writeln!(out, r#"<nav aria-label="Contents"><h2>Contents</h2>"#)?;
    list(&page.sections, 2, out)?;
    writeln!(out, "</nav>")
}

fn list(sections: &[Section], levels: u8, out: &mut dyn Write) -> io::Result<()> {
    if sections.is_empty() || levels == 0 {
        return Ok(());
    }
    writeln!(out, "<ol>")?;
    for section in sections {
        write!(out, "<li><a href=\"#{}\">{}</a>", anchor(&section.id), Escaped(&section.title))?;
        list(&section.sections, levels - 1, out)?;
        writeln!(out, "</li>")?;
    }
    writeln!(out, "</ol>")
}

/// A section; HTML has headings of six levels.
fn section(section: &Section, level: u8, out: &mut dyn Write) -> io::Result<()> {
    let (id, level) = (anchor(&section.id), level.min(6));
    let title = Escaped(&section.title);
    writeln!(out, r#"<section><h{level} id="{id}">{title}</h{level}>"#)?;
    section.blocks.iter().try_for_each(|block| blocks::write(block, out))?;
    section.sections.iter().try_for_each(|one| self::section(one, level + 1, out))?;
    writeln!(out, "</section>")
}

fn foot(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<footer><p>Written by keytoll. This page is complete in itself: it loads nothing and sends nothing.</p>\n\
         <details><summary>Licences of the software in this page</summary><pre tabindex=\"0\">{}</pre></details></footer>\n\
         <script>{SCRIPT}</script>\n</body></html>",
        Escaped(LICENCES)
    )
}
