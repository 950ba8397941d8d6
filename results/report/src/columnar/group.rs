//! Row groups: the lines of a table are gathered column by column, and so many of them are written at a time.

use std::io::{self, Write};
use std::sync::Arc;

use csv::StringRecord;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result as Written};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};

use super::lines::Unfit;
use super::{Fault, layout};
use crate::columns::field::{flag_of, number_of, whole_of};
use crate::csv::{FileColumn, Holds};

/// The most rows of a group: of the widest table it then has some fifty megabytes.
pub(super) const ROWS_MAX: usize = 1 << 16;

/// A group of longer lines ends when it has as many bytes of text.
const BYTES_MAX: usize = 1 << 26;

/// A Parquet file that is being written.
pub(super) struct Rows<W: Write> {
    columns: Vec<FileColumn>,
    /// The cells of the group, column by column.
    cells: Vec<Cells>,
    /// How many rows it has.
    count: usize,
    /// How much text was in their lines.
    bytes: usize,
    out: SerializedFileWriter<W>,
}

impl<W: Write + Send> Rows<W> {
    /// Begins the file of a table with these columns.
    pub(super) fn new(
        table: &str,
        columns: Vec<FileColumn>,
        facts: &[layout::Fact],
        out: W,
    ) -> io::Result<Self> {
        let properties = Arc::new(layout::properties(table, &columns, facts));
        let schema = Arc::new(layout::schema(table, &columns).map_err(failed)?);
        let out = SerializedFileWriter::new(out, schema, properties).map_err(failed)?;
        let cells = columns.iter().map(|column| Cells::of(column.holds)).collect();
        Ok(Self { columns, cells, count: 0, bytes: 0, out })
    }

    /// Adds a line, which has as many cells as there are columns.
    pub(super) fn push(&mut self, line: &StringRecord) -> Result<(), Fault> {
        for ((column, cells), cell) in self.columns.iter().zip(&mut self.cells).zip(line) {
            cells.push(cell).ok_or_else(|| Unfit::cell(line, column, cell))?;
        }
        self.count += 1;
        self.bytes += line.as_slice().len();
        if self.count == ROWS_MAX || self.bytes >= BYTES_MAX {
            self.write_group().map_err(failed)?;
        }
        Ok(())
    }

    /// Ends the file.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.count > 0 {
            self.write_group().map_err(failed)?;
        }
        self.out.close().map(drop).map_err(failed)
    }

    fn write_group(&mut self) -> Written<()> {
        let mut group = self.out.next_row_group()?;
        for cells in &mut self.cells {
            if let Some(mut column) = group.next_column()? {
                cells.write(&mut column)?;
                column.close()?;
            }
            cells.clear();
        }
        (self.count, self.bytes) = (0, 0);
        group.close().map(drop)
    }
}

/// An error of the file rather than of its format, if it is one.
fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        error => io::Error::other(error),
    }
}

/// The cells of a column.
struct Cells {
    /// Those that are not null.
    values: Values,
    /// Of each cell 1, or 0 if it is null; of a column that has no nulls there are none.
    levels: Option<Vec<i16>>,
}

enum Values {
    Texts(Vec<ByteArray>),
    Wholes(Vec<i64>),
    Numbers(Vec<f64>),
    Flags(Vec<bool>),
}

impl Cells {
    fn of(holds: Holds) -> Self {
        let values = match holds {
            Holds::Name | Holds::Text => Values::Texts(Vec::new()),
            Holds::Whole => Values::Wholes(Vec::new()),
            Holds::Number => Values::Numbers(Vec::new()),
            Holds::Flag => Values::Flags(Vec::new()),
        };
        Self { values, levels: layout::may_be_null(holds).then(Vec::new) }
    }

    /// Adds a cell; nothing if it holds something else than the column.
    fn push(&mut self, cell: &str) -> Option<()> {
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(!cell.is_empty()));
            if cell.is_empty() {
                return Some(());
            }
        }
        match &mut self.values {
            Values::Texts(all) => all.push(text(cell, all.last())),
            Values::Wholes(all) => all.push(whole_of(cell)?),
            Values::Numbers(all) => all.push(number_of(cell)?),
            Values::Flags(all) => all.push(flag_of(cell)?),
        }
        Some(())
    }

    fn write(&self, column: &mut SerializedColumnWriter<'_>) -> Written<usize> {
        let levels = self.levels.as_deref();
        match &self.values {
            Values::Texts(all) => column.typed::<ByteArrayType>().write_batch(all, levels, None),
            Values::Wholes(all) => column.typed::<Int64Type>().write_batch(all, levels, None),
            Values::Numbers(all) => column.typed::<DoubleType>().write_batch(all, levels, None),
            Values::Flags(all) => column.typed::<BoolType>().write_batch(all, levels, None),
        }
    }

    fn clear(&mut self) {
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        match &mut self.values {
            Values::Texts(all) => all.clear(),
            Values::Wholes(all) => all.clear(),
            Values::Numbers(all) => all.clear(),
            Values::Flags(all) => all.clear(),
        }
    }
}

/// A text, which shares its memory with the one before it if they are equal: most are.
fn text(cell: &str, before: Option<&ByteArray>) -> ByteArray {
    before.filter(|before| before.data() == cell.as_bytes()).cloned().unwrap_or_else(|| cell.into())
}
