//! Tables with every type of column, longer than a row group, and such as are none.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../src/example.rs"]
#[allow(dead_code, reason = "the records of the example are for other tests")]
mod example;

use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use keytoll_report::columnar;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// The most rows of a group.
const GROUP_ROWS: usize = 65_536;

/// A fresh directory under `target/tmp`, where the files can be looked at afterwards.
fn fresh(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("columnar-{name}"));
    _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// Converts a table of a run that has not been sealed, or says why not.
fn written(directory: &Path, table: &str, text: &[u8]) -> Result<PathBuf, String> {
    fs::write(directory.join(table), text).unwrap();
    let manifest = example::findings().manifest;
    let files = columnar::write(directory, &manifest, &directory.join("tables"));
    files.map(|files| files[0].clone()).map_err(|error| error.to_string())
}

fn opened(directory: &Path, table: &str, text: &str) -> SerializedFileReader<File> {
    let path = written(directory, table, text.as_bytes()).unwrap();
    SerializedFileReader::new(File::open(path).unwrap()).unwrap()
}

fn rows(read: &SerializedFileReader<File>) -> impl Iterator<Item = Vec<Field>> {
    let rows = read.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().into_columns().into_iter().map(|(_, value)| value).collect())
}

fn text(text: &str) -> Field {
    Field::Str(text.to_owned())
}

#[test]
fn a_cell_is_a_value_of_its_columns_type_and_an_empty_one_a_null() {
    let directory = fresh("types");
    let messages =
        "bytes_mean,count,variant,message\n0.1,9223372036854775807,a,\"x, \"\"y\"\"\"\n,,,\n12.0,0,ä,\n";
    assert_eq!(
        rows(&opened(&directory, "messages.csv", messages)).collect::<Vec<_>>(),
        [
            [Field::Double(0.1), Field::Long(i64::MAX), text("a"), text("x, \"y\"")],
            [Field::Null, Field::Null, text(""), Field::Null],
            [Field::Double(12.0), Field::Long(0), text("ä"), Field::Null],
        ]
    );
    let directory = fresh("flags");
    assert_eq!(
        rows(&opened(&directory, "samples.csv", "sample,charged\n7,true\n,false\n8,\n")).collect::<Vec<_>>(),
        [
            [Field::Long(7), Field::Bool(true)],
            [Field::Null, Field::Bool(false)],
            [Field::Long(8), Field::Null]
        ]
    );
}

#[test]
fn a_long_table_has_several_row_groups() {
    let count = 2 * GROUP_ROWS + 3;
    let whole = |row: usize| if row.is_multiple_of(5) { None } else { Some(row * row) };
    let lines = (0..count).fold(String::from("method,start_s,delay_p50_ms\n"), |mut text, row| {
        let cell = whole(row).map_or(String::new(), |whole| whole.to_string());
        writeln!(text, "method {},{cell},{}", row / 1000, row as f64 / 7.0).unwrap();
        text
    });
    let read = opened(&fresh("long"), "series.csv", &lines);
    let groups = read.metadata().row_groups().iter().map(|group| group.num_rows() as usize);
    assert_eq!(groups.collect::<Vec<_>>(), [GROUP_ROWS, GROUP_ROWS, 3]);
    assert_eq!(rows(&read).count(), count);
    for (row, found) in rows(&read).enumerate() {
        let start = whole(row).map_or(Field::Null, |whole| Field::Long(whole as i64));
        assert_eq!(found, [text(&format!("method {}", row / 1000)), start, Field::Double(row as f64 / 7.0)]);
    }
}

/// So that the memory of a foreign table is limited by bytes as well as by rows.
#[test]
fn long_lines_make_short_row_groups() {
    let cell = "x".repeat(1_000_000);
    let lines =
        (0..70).fold(String::from("sample,failure\n"), |text, row| text + &format!("{row},{row}{cell}\n"));
    let read = opened(&fresh("wide"), "samples.csv", &lines);
    let groups: Vec<_> = read.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    assert_eq!(groups, [68, 2]);
    assert_eq!(rows(&read).last().unwrap(), [Field::Long(69), text(&format!("69{cell}"))]);
}

#[test]
fn a_line_without_end_is_not_read() {
    let directory = fresh("endless");
    for endless in ["x".repeat(2 << 20), format!("sample,failure\n1,a\n2,\"{}", "x".repeat(2 << 20))] {
        let told = written(&directory, "samples.csv", endless.as_bytes()).unwrap_err();
        assert!(told.ends_with("cannot read it: a line is longer than 1048576 bytes"), "{told}");
    }
    let wrong = format!("sample\n{}\n", "x".repeat(1000));
    let told = written(&directory, "samples.csv", wrong.as_bytes()).unwrap_err();
    assert!(told.contains(&format!("`{}` stands", "x".repeat(80))), "{told}");
}

#[test]
fn a_table_without_lines_has_its_columns() {
    let read = opened(&fresh("empty"), "samples.csv", "sample,charged\n");
    let of_file = read.metadata().file_metadata();
    assert_eq!((of_file.num_rows(), of_file.schema().get_fields().len()), (0, 2));
}

#[test]
fn what_is_no_table_is_told_with_its_place() {
    let directory = fresh("unfit");
    let check = |table: &str, lines: &[u8], why: &str| {
        let told = written(&directory, table, lines).unwrap_err();
        assert_eq!(told, format!("cannot use {}: {why}", directory.join(table).display()));
        assert_eq!(fs::read_dir(directory.join("tables")).unwrap().count(), 0, "{why}");
    };
    let of_samples = |lines: &[u8], why: &str| check("samples.csv", lines, why);
    of_samples(b"", "it has no line with the names of its columns");
    of_samples(b"sample,who\xc3\xa9\n", "line 1: this keytoll knows no column `who\\u{e9}`");
    of_samples(b"sample,sample\n", "line 1: there are two columns `sample`");
    of_samples(b"sample,charged\n1,true\n2\n", "line 3 has 1 cells, and there are 2 columns");
    of_samples(b"sample,charged\n1\n2,true\n", "line 2 has 1 cells, and there are 2 columns");
    of_samples(
        b"sample,failure\n1,\"a\nb\"\n-1,c\n",
        "line 4, column `sample`: `-1` stands where a whole number belongs",
    );
    of_samples(
        b"sample\n9223372036854775808\n",
        "line 2, column `sample`: `9223372036854775808` stands where a whole number belongs",
    );
    of_samples(b"charged\nyes\n", "line 2, column `charged`: `yes` stands where `true` or `false` belongs");
    of_samples(b"sample,failure\n1,a\n2,\xff\n", "line 3, cell 2: it is not in UTF-8");
    fs::remove_file(directory.join("samples.csv")).unwrap();
    check(
        "messages.csv",
        b"bytes_mean\n1\nNaN\n",
        "line 3, column `bytes_mean`: `NaN` stands where a number belongs",
    );
}
