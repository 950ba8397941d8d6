//! The pieces of a section.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::{Block, Chart, Hop, Ladder, Ranking};
use crate::table;
use crate::text::{Escaped, Number, anchor, data};

pub(crate) fn write(block: &Block, out: &mut dyn Write) -> io::Result<()> {
    match block {
        Block::Text(text) => writeln!(out, "<p>{}</p>", Escaped(text)),
        Block::Note(text) => note(text, out),
        Block::Meanings(meanings) => self::meanings("meanings", meanings, out),
        Block::Code(text) => writeln!(out, r#"<pre tabindex="0"><code>{}</code></pre>"#, Escaped(text)),
        Block::Details(summary, blocks) => details(summary, blocks, out),
        Block::Table(table) => table::write(table, out),
        Block::Chart(chart) => self::chart(chart, out),
        Block::Ladder(ladder) => self::ladder(ladder, out),
        Block::Ranking(ranking) => self::ranking(ranking, out),
    }
}

/// Names and what they mean or are.
pub(crate) fn meanings(class: &str, pairs: &[(String, String)], out: &mut dyn Write) -> io::Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    writeln!(out, r#"<dl class="{class}">"#)?;
    for (name, meaning) in pairs {
        writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", Escaped(name), Escaped(meaning))?;
    }
    writeln!(out, "</dl>")
}

fn note(text: &str, out: &mut dyn Write) -> io::Result<()> {
    if text.is_empty() { Ok(()) } else { writeln!(out, r#"<p class="note">{}</p>"#, Escaped(text)) }
}

fn details(summary: &str, blocks: &[Block], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<details><summary>{}</summary>", Escaped(summary))?;
    blocks.iter().try_for_each(|block| write(block, out))?;
    writeln!(out, "</details>")
}

/// The beginning of a figure: its caption, and the place where the script draws. What it draws replaces `instead`.
fn figure(class: &str, id: &str, title: &str, instead: &str, out: &mut dyn Write) -> io::Result<()> {
    let (id, title) = (anchor(id), Escaped(title));
    writeln!(
        out,
        r#"<figure class="{class}" id="{id}"><figcaption>{title}</figcaption><div class="plot"><p>{}</p></div>"#,
        Escaped(instead)
    )
}

/// What the script needs of a chart.
#[derive(Serialize)]
struct Drawn<'a> {
    description: &'a str,
    spec: &'a Map<String, Value>,
    columns: &'a [String],
    lines: &'a [Vec<Value>],
}

fn chart(chart: &Chart, out: &mut dyn Write) -> io::Result<()> {
    let Chart { id, title, description, note: below, spec, columns, lines, instead } = chart;
    figure("chart", id, title, if instead.is_empty() { description } else { instead }, out)?;
    note(below, out)?;
    data(&Drawn { description, spec, columns, lines }, out)?;
    writeln!(out, "</figure>")
}

fn ladder(ladder: &Ladder, out: &mut dyn Write) -> io::Result<()> {
    let between = ladder.nodes.join(", ");
    let instead = format!("{} messages between {between}; they are in the table below.", ladder.hops.len());
    figure("ladder", &ladder.id, &ladder.title, &instead, out)?;
    note(&ladder.note, out)?;
    writeln!(out, "<details><summary>The same as a table</summary>")?;
    table::write(&table::of_ladder(ladder), out)?;
    writeln!(out, "</details>")?;
    data(ladder, out)?;
    writeln!(out, "</figure>")
}

/// What a message of a ladder is, in words.
pub(crate) fn remark(hop: &Hop) -> &'static str {
    match (hop.arrived_ms, hop.is_repeated) {
        (None, false) => "lost",
        (None, true) => "repeated, lost",
        (Some(_), true) => "repeated",
        (Some(_), false) => "",
    }
}

fn ranking(ranking: &Ranking, out: &mut dyn Write) -> io::Result<()> {
    let (id, title) = (anchor(&ranking.id), Escaped(&ranking.title));
    writeln!(out, r#"<figure class="ranking" id="{id}"><figcaption>{title}</figcaption>"#)?;
    writeln!(out, r#"<ol class="scores">"#)?;
    for alternative in &ranking.alternatives {
        let (name, score) = (Escaped(&alternative.name), Number(alternative.score));
        writeln!(out, r#"<li><span>{name}</span> <span>{score}</span></li>"#)?;
    }
    writeln!(out, r#"</ol><ul class="weights">"#)?;
    for criterion in &ranking.criteria {
        let (name, title) = (Escaped(&criterion.name), Escaped(&criterion.title));
        writeln!(
            out,
            r#"<li title="{title}"><span>{name}</span> <span>{}</span></li>"#,
            Number(criterion.weight)
        )?;
    }
    writeln!(out, "</ul>")?;
    note(&ranking.note, out)?;
    data(ranking, out)?;
    writeln!(out, "</figure>")
}
