//! `summary.json`, as `keytoll_analysis::summary` defines it.

use std::io::{self, Write};

use keytoll_analysis::Summary;

/// Writes it as indented JSON with a final newline.
pub fn write(summary: &Summary, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, summary)?;
    writeln!(out)
}
