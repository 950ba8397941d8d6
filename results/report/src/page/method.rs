//! How it was measured and what it cannot say, the machine, and the plan that repeats it.

use keytoll_analysis::Findings;
use keytoll_analysis::beside::Beside;
use keytoll_analysis::comparable::{Subject, Variant};
use keytoll_analysis::summary::SummaryRow;
use keytoll_page::{Block, Section, Table};

use super::delay::SPLIT;
use super::tables::{cell, column, plain, text};
use crate::columns::beside::BESIDE;
use crate::notes::notes;
use crate::provenance;

/// The section.
pub(super) fn section(findings: &Findings) -> Section {
    let notes = notes(&findings.summary).into_iter().chain([SPLIT.to_owned()]);
    let limits = limits(findings).into_iter().map(str::to_owned);
    let machine = provenance::lines(&findings.manifest.provenance).into_iter();
    let machine = machine.map(|(name, value)| (name.to_owned(), value));
    let seed = ("seed".to_owned(), findings.manifest.seed.clone());
    let plan = Block::Code(findings.manifest.plan.clone());
    let blocks = beside(findings).map(Block::Table).into_iter();
    Section {
        id: "method".to_owned(),
        title: "Method and limits".to_owned(),
        blocks: blocks.chain(notes.chain(limits).map(Block::Note)).collect(),
        sections: vec![Section {
            id: "machine".to_owned(),
            title: "Machine and plan".to_owned(),
            blocks: vec![
                Block::Meanings(machine.chain([seed]).collect()),
                Block::Details("The resolved plan, which repeats this run".to_owned(), vec![plan]),
            ],
            sections: Vec::new(),
        }],
    }
}

/// Our nodes beside foreign daemons.
fn beside(findings: &Findings) -> Option<Table> {
    let all = &findings.summary.beside;
    let line = |pair: &Beside| {
        let subject = Subject { method: &pair.method, variant: Variant(&pair.variant) };
        let cells = BESIDE.iter().map(|column| cell(&(column.of)(pair)));
        std::iter::once(text(&subject.to_string())).chain(cells).collect()
    };
    (!all.is_empty()).then(|| Table {
        id: "beside".to_owned(),
        caption: "Beside foreign daemons: the same node in the same setting, ours ÷ theirs".to_owned(),
        columns: std::iter::once(plain("method", "", "")).chain(BESIDE.iter().map(column)).collect(),
        lines: all.iter().map(line).collect(),
    })
}

/// A sentence about what figures of such a run cannot say, and the runs of which it is true.
type Limit = (&'static str, fn(&SummaryRow) -> bool);

const LIMITS: [Limit; 6] = [
    (
        "Links are emulated: delay, rate, loss and queues are those of the plan, and no radio and no other traffic is there unless the plan says so.",
        |row| row.world == "sim",
    ),
    (
        "CPU times are those of one machine, whose other work and clock they contain; between machines only ratios carry over, and these with care.",
        |row| row.cpu.names().next().is_some(),
    ),
    (
        "Without cryptography (null) messages and bytes are true and CPU times are those of the skeleton alone.",
        |row| row.crypto == "null",
    ),
    (
        "Costs of operations are from a table: CPU times are as good as the table, and have no spread of their own.",
        |row| row.crypto == "table",
    ),
    (
        "The cost table has no price of a message: busy, cpu and cores are cryptography only, and nodes need more.",
        SummaryRow::is_cryptography_only,
    ),
    (
        "Below six values a median has no distribution-free 95 % interval, so that nothing can be told apart.",
        |row| row.n < 6 && row.population.is_none(),
    ),
];

fn limits(findings: &Findings) -> Vec<&'static str> {
    let rows = &findings.summary.rows;
    let is_true = |(_, of): &&Limit| rows.iter().any(*of);
    LIMITS.iter().filter(is_true).map(|(sentence, _)| *sentence).collect()
}
