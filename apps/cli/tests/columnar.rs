//! `keytoll export --format parquet`: what a reader of Parquet files finds is what the CSV files of the run say. A program of its own,
//! because only builds with the feature `parquet` have it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod scratch;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

use keytoll_trace::manifest::Manifest;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

use scratch::{Scratch, keytoll, refused};

impl Scratch {
    fn tables(&self) -> Output {
        keytoll(&["export", &self.text("run"), "--format", "parquet", "--out", &self.text("tables")])
    }

    /// Names in a folder, in order.
    fn names(&self, folder: &str) -> Vec<String> {
        let files = fs::read_dir(self.path(folder)).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn refused_tables(&self, sentence: &str, code: i32) {
        let arguments = ["export", &self.text("run"), "--format", "parquet", "--out", &self.text("tables")];
        refused(&arguments, sentence, code);
    }
}

/// Whether a value is what a cell says: a number by its value, a null only where the cell is empty.
fn says(value: &Field, cell: &str) -> bool {
    match value {
        Field::Null => cell.is_empty(),
        Field::Str(text) => text == cell,
        Field::Long(whole) => cell.parse() == Ok(*whole),
        Field::Double(number) => cell.parse() == Ok(*number),
        Field::Bool(flag) => cell.parse() == Ok(*flag),
        other => panic!("a table has no {other:?}"),
    }
}

/// Compares a table with its CSV file, cell by cell, and says how many of them hold a value.
fn assert_equal(csv: &Path, table: &Path) -> usize {
    let read = SerializedFileReader::new(File::open(table).unwrap()).unwrap();
    let mut rows = read.get_row_iter(None).unwrap();
    let mut lines = csv::Reader::from_path(csv).unwrap();
    let head = lines.headers().unwrap().clone();
    let mut told = 0;
    for line in lines.records() {
        let (line, row) = (line.unwrap(), rows.next().unwrap().unwrap());
        assert!(row.get_column_iter().map(|(name, _)| name.as_str()).eq(&head), "{}", table.display());
        for ((name, value), cell) in row.get_column_iter().zip(&line) {
            assert!(says(value, cell), "{name}: {value:?} of {}, {cell:?} of the CSV file", table.display());
            told += usize::from(*value != Field::Null);
        }
    }
    assert!(rows.next().is_none());
    told
}

/// Exports a run and compares every table.
fn assert_exported(scratch: &Scratch, wanted: &[&str]) {
    let done = scratch.tables();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let tables = scratch.names("tables");
    assert_eq!(tables, wanted);
    for table in &tables {
        let csv = scratch.path("run").join(table).with_extension("csv");
        assert!(assert_equal(&csv, &scratch.path("tables").join(table)) > 20, "{table}");
    }
}

const OF_A_RUN: [&str; 3] = ["messages.parquet", "operations.parquet", "samples.parquet"];

#[test]
fn every_value_of_a_run_is_read_back() {
    let scratch = Scratch::of("columnar", &["run", "lossy", "--samples", "3", "--set", "methods=ikev2-psk"]);
    assert_exported(&scratch, &OF_A_RUN);
    let first = fs::read(scratch.path("tables/samples.parquet")).unwrap();
    assert_exported(&scratch, &OF_A_RUN);
    assert_eq!(
        fs::read(scratch.path("tables/samples.parquet")).unwrap(),
        first,
        "an earlier one is replaced"
    );
}

#[test]
fn every_value_of_a_population_is_read_back() {
    let few = ["--set", "population.devices=200", "--set", "population.arrivals=storm 200 in 2 s"];
    let more = ["--set", "methods=ikev2-psk", "--set", "networks=wifi-11g", "--set", "population.gateways=2"];
    let scratch = Scratch::of("columnar-population", &[&["run", "storm"], &few[..], &more[..]].concat());
    assert_exported(&scratch, &["gateways.parquet", "series.parquet"]);
}

/// Where it is from, and what its columns are, is in the file.
#[test]
fn a_table_says_what_it_is_of() {
    let scratch = Scratch::run("columnar-facts", &["--set", "methods=ikev2-psk", "--set", "seed=11"]);
    assert_exported(&scratch, &OF_A_RUN);
    let table = File::open(scratch.path("tables/samples.parquet")).unwrap();
    let read = SerializedFileReader::new(table).unwrap();
    let of_file = read.metadata().file_metadata();
    let facts: BTreeMap<&str, &str> = of_file
        .key_value_metadata()
        .unwrap()
        .iter()
        .map(|fact| (fact.key.as_str(), fact.value.as_deref().unwrap()))
        .collect();
    let manifest = Manifest::read(File::open(scratch.path("run/manifest.json")).unwrap()).unwrap();
    assert_eq!(facts["keytoll.seed"], "11");
    assert_eq!(facts["keytoll.plan"], manifest.plan);
    assert_eq!(facts["keytoll.table"], "samples.csv");
    let provenance: Value = serde_json::from_str(facts["keytoll.provenance"]).unwrap();
    assert_eq!(provenance["keytoll_version"], manifest.provenance.keytoll_version);
    let columns: Vec<Value> = serde_json::from_str(facts["keytoll.columns"]).unwrap();
    let delay = columns.iter().find(|column| column["name"] == "delay_ns").unwrap();
    assert_eq!(delay["unit"], "ns");
    assert_eq!(delay["description"], "from the trigger to a usable SA at the device");
    assert_eq!(columns.len(), of_file.schema().get_fields().len());
}

#[test]
fn what_cannot_be_a_table_is_told_in_a_sentence_and_leaves_none() {
    let scratch = Scratch::run("columnar-refused", &["--set", "methods=ikev2-psk"]);
    let samples = scratch.path("run/samples.csv");
    let whole = fs::read_to_string(&samples).unwrap();
    fs::write(&samples, whole.replacen("established", "Established", 1)).unwrap();
    scratch.refused_tables("samples.csv: it is damaged: its CRC-32 is", 3);
    // A run that was killed: its manifest does not say what its files are.
    let manifest = scratch.path("run/manifest.json");
    let listed = Manifest::read(File::open(&manifest).unwrap()).unwrap();
    Manifest { files: Vec::new(), ..listed }.write(File::create(&manifest).unwrap()).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let columns = lines[0].split(',').count();
    let place = lines[0].split(',').position(|name| name == "delay_ns").unwrap();
    let mut cells: Vec<&str> = lines[2].split(',').collect();
    cells[place] = "soon";
    let check = |lines: &[&str], sentence: &str| {
        fs::write(&samples, lines.join("\n")).unwrap();
        scratch.refused_tables(sentence, 3);
        assert_eq!(scratch.names("tables"), [""; 0]);
    };
    let another = cells.join(",");
    check(
        &[lines[0], lines[1], &another],
        "samples.csv: line 3, column `delay_ns`: `soon` stands where a whole number belongs",
    );
    let short = lines[1].rsplit_once(',').unwrap().0;
    let told = format!("samples.csv: line 2 has {} cells, and there are {columns} columns", columns - 1);
    check(&[lines[0], short], &told);
    let unknown = lines[0].replacen("delay_ns", "delay_us", 1);
    check(&[&unknown, lines[1]], "samples.csv: line 1: this keytoll knows no column `delay_us`");
    check(&[], "samples.csv: it has no line with the names of its columns");
    fs::remove_file(&samples).unwrap();
    for name in ["operations.csv", "messages.csv"] {
        fs::remove_file(scratch.path("run").join(name)).unwrap();
    }
    scratch.refused_tables("has no tables", 2);
}

#[test]
fn a_file_of_somebody_else_stays() {
    let scratch = Scratch::run("columnar-foreign", &["--set", "methods=ikev2-psk"]);
    refused(&["export", &scratch.text("run"), "--format", "parquet"], "there is no directory for them", 2);
    fs::create_dir(scratch.path("tables")).unwrap();
    let (place, target) = (scratch.path("tables/samples.parquet"), scratch.path("target"));
    fs::write(&place, "precious").unwrap();
    scratch.refused_tables("is there already, and keytoll has not written it", 2);
    assert_eq!((fs::read(&place).unwrap(), scratch.names("tables").len()), (b"precious".into(), 1));
    fs::rename(&place, &target).unwrap();
    std::os::unix::fs::symlink(&target, &place).unwrap();
    scratch.refused_tables("it is no regular file", 3);
    assert_eq!(fs::read(&target).unwrap(), b"precious");
}

/// A limit of the process does what a full disk would.
#[test]
fn what_cannot_be_written_whole_is_not_there() {
    let scratch = Scratch::run("columnar-full", &["--set", "methods=ikev2-psk"]);
    assert!(scratch.tables().status.success());
    let before = fs::read(scratch.path("tables/messages.parquet")).unwrap();
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" export \"$1\" --format parquet --out \"$2\"";
    let (run, tables) = (scratch.text("run"), scratch.text("tables"));
    let arguments = ["-c", limited, env!("CARGO_BIN_EXE_keytoll"), &run, &tables];
    let done = Command::new("sh").args(arguments).output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(told.contains("samples.parquet") && told.contains("File too large"), "{told}");
    assert_eq!(done.status.code(), Some(3));
    assert_eq!(scratch.names("tables"), OF_A_RUN);
    assert_eq!(fs::read(scratch.path("tables/messages.parquet")).unwrap(), before);
}
