//! Everything that is printed with `--json` is as its schema says, and the schemas in `docs/schema` are those of the program.
//! The other tests read what they look at with [`read`], so that real output of every kind is judged.
//!
//! After a change: `UPDATE_SCHEMAS=1 cargo test -p keytoll --test suite schema`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use keytoll_analysis::summary;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema")
}

/// Every schema, and where each is among them.
static SCHEMAS: LazyLock<(Schemas, BTreeMap<String, SchemaIndex>)> = LazyLock::new(|| {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let compile = |name: String| {
        let place = format!("{name}.json");
        compiler.add_resource(&place, serde_json::from_str(&printed(&name)).unwrap()).unwrap();
        let index = compiler.compile(&place, &mut schemas).unwrap();
        (name, index)
    };
    let indices = names().into_iter().map(compile).collect();
    (schemas, indices)
});

/// What does not agree with the schema of this name.
fn complaints(name: &str, value: &Value) -> Vec<String> {
    let (schemas, indices) = &*SCHEMAS;
    let judged = schemas.validate(value, indices[name]);
    let causes = judged.map_or_else(|error| error.causes, |()| Vec::new());
    causes.iter().map(|cause| format!("{name}: {cause:#}")).collect()
}

/// Judges a document by the schema of this name.
pub(crate) fn check(name: &str, value: &Value) {
    let complaints = complaints(name, value);
    assert!(complaints.is_empty(), "{}\n{value}", complaints.join("\n"));
}

/// Reads a document of which there is a schema of this name, and judges it.
pub(crate) fn read(name: &str, text: impl AsRef<[u8]>) -> Value {
    let text = text.as_ref();
    let value = serde_json::from_slice(text);
    let value = value.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)));
    check(name, &value);
    value
}

/// Reads a file of a run; there is a schema with the name of each.
pub(crate) fn file(path: &Path) -> Value {
    read(path.file_stem().unwrap().to_str().unwrap(), fs::read(path).unwrap())
}

fn keytoll(line: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_keytoll"))
        .args(line.split(' '))
        .current_dir(folder().join("../.."))
        .output();
    let Output { status, stdout, stderr } = output.unwrap();
    assert!(status.success(), "{line}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// The schema of this name as the program prints it.
fn printed(name: &str) -> String {
    keytoll(&format!("schema {name}"))
}

fn names() -> Vec<String> {
    let lists: Value = serde_json::from_str(&keytoll("list schemas --json")).unwrap();
    let schemas = lists["schemas"].as_array().unwrap();
    schemas.iter().map(|schema| schema["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_published_schemas_are_those_of_the_program() {
    let update = std::env::var_os("UPDATE_SCHEMAS").is_some();
    for name in names() {
        let path = folder().join(format!("{name}.json"));
        if update {
            fs::write(&path, printed(&name)).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), printed(&name), "{}", path.display());
    }
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> =
        files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    files.sort();
    assert_eq!(files, names());
}

#[test]
fn every_file_of_a_run_is_as_its_schema_says() {
    let scratch = std::env::temp_dir().join(format!("keytoll-schema-{}", std::process::id()));
    let out = scratch.join("run");
    let run = |line: &str| read("summary", keytoll(&format!("{line} --out {}", out.display())));
    for line in [
        "run quickstart --samples 7 --set networks=wifi-11g --json",
        "run failures --samples 1 --json",
        "run traffic --samples 1 --json",
        "run eap --samples 1 --no-trace --json",
        "run lossy --samples 3 --crypto null --json",
    ] {
        let summary = run(line);
        assert_eq!(file(&out.join("summary.json")), summary);
        assert_eq!(file(&out.join("manifest.json"))["seed"], summary["seed"]);
        assert_columns(&out);
    }
    read("summary", keytoll(&format!("report {} --json", out.display())));
    fs::remove_dir_all(&scratch).unwrap();
}

/// Of every built-in scenario that runs without cryptography and without other makers' programs.
#[test]
fn the_summary_of_a_run_is_read_as_it_was_written() {
    let scratch = std::env::temp_dir().join(format!("keytoll-summaries-{}", std::process::id()));
    let scenarios =
        ["quickstart", "lossy", "suites", "ikev1", "fragmentation", "eap", "eap-aka-topologies", "traffic"];
    for scenario in scenarios {
        let out = scratch.join(scenario);
        keytoll(&format!("run {scenario} --samples 2 --crypto null --no-trace --out {}", out.display()));
        let path = out.join("summary.json");
        let mut again = Vec::new();
        summary::write(&summary::read(&path).unwrap(), &mut again).unwrap();
        assert_eq!(String::from_utf8(again).unwrap(), fs::read_to_string(&path).unwrap(), "{scenario}");
    }
    fs::remove_dir_all(&scratch).unwrap();
}

/// The columns that `docs/columns.md` has below a heading that names a table, `LINK` and `NODE` being what they stand for.
fn documented(table: &str) -> Vec<String> {
    let text = fs::read_to_string(folder().join("../columns.md")).unwrap();
    let of = |part: &str| part.starts_with("Every file") || part.starts_with(&format!("`{table}`"));
    let lines = text.split("\n## ").skip(1).filter(|part| of(part)).flat_map(str::lines);
    let names = lines.filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let links = ["ue_gw", "gw_aaa", "aaa_hss", "gw_hss", "ue_ap", "ap_aaa"].map(|link| ("LINK", link));
    let nodes = ["ue", "gw", "aaa", "hss", "ap"].map(|node| ("NODE", node));
    let any = links.into_iter().chain(nodes);
    let expanded = |name: &str| -> Vec<String> {
        let of_each = any.clone().filter(|(word, _)| name.starts_with(&format!("{word}_")));
        let all: Vec<String> = of_each.map(|(word, one)| name.replacen(word, one, 1)).collect();
        if all.is_empty() { vec![name.to_owned()] } else { all }
    };
    names.flat_map(expanded).collect()
}

/// Every column of every table of a run is documented, and there are no others.
fn assert_columns(run: &Path) {
    let tables = fs::read_dir(run).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let tables: Vec<String> = tables.filter(|name| name.ends_with(".csv")).collect();
    assert!(tables.len() >= 2, "{tables:?}");
    for table in tables {
        let text = fs::read_to_string(run.join(&table)).unwrap();
        let mut columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let mut documented = documented(&table);
        columns.sort_unstable();
        documented.sort();
        assert_eq!(columns, documented, "{table}");
        assert_lines(&table, &text);
    }
}

/// Every line of a table is as its schema says.
fn assert_lines(table: &str, text: &str) {
    let mut lines = csv::Reader::from_reader(text.as_bytes());
    let columns = lines.headers().unwrap().clone();
    for line in lines.records() {
        let line = line.unwrap();
        let told = columns.iter().zip(&line).filter(|(_, cell)| !cell.is_empty());
        let object = told.map(|(column, cell)| (column.to_owned(), cell.into())).collect();
        check(table.trim_end_matches(".csv"), &Value::Object(object));
    }
}

#[test]
fn what_is_printed_without_a_run_is_as_its_schema_says() {
    read("list", keytoll("list --json"));
    read("check", keytoll("check traffic --json"));
    read("node", keytoll("check scenarios/live/device-psk.toml --json"));
}

/// The events in the table of `scenarios/live/README.md` and those of the schema are the same.
#[test]
fn the_events_of_the_guide_are_those_of_the_schema() {
    let guide = fs::read_to_string(folder().join("../../scenarios/live/README.md")).unwrap();
    let table =
        guide.split("\n| event | fields |\n|---|---|\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = table.lines().flat_map(|line| line.split('|').nth(1).unwrap().split(','));
    let mut told: Vec<String> = names.map(|name| name.trim().trim_matches('`').to_owned()).collect();
    let schema: Value = serde_json::from_str(&printed("events")).unwrap();
    let events = schema["oneOf"].as_array().unwrap().iter();
    let mut known: Vec<&str> =
        events.map(|event| event["properties"]["event"]["const"].as_str().unwrap()).collect();
    told.sort();
    known.sort_unstable();
    assert_eq!(told, known);
}

/// A schema that lets everything through proves nothing.
#[test]
fn what_no_schema_has_is_refused() {
    let whole = read("check", keytoll("check quickstart --json"));
    let mut more = whole.clone();
    more["rows"][0]["surprise"] = 1.into();
    assert_eq!(complaints("check", &more).len(), 1, "a member of its own");
    let mut less = whole.clone();
    less.as_object_mut().unwrap().remove("title").unwrap();
    assert_eq!(complaints("check", &less).len(), 1, "a member less");
    let mut other = whole;
    other["samples"] = "many".into();
    assert_eq!(complaints("check", &other).len(), 1, "another type");
    for (event, is_told) in [("refused", true), ("invented", false)] {
        let event = serde_json::json!({ "event": event, "node": "gateway", "at_ms": 1.5, "why": "x" });
        assert_eq!(complaints("events", &event).is_empty(), is_told, "{event}");
    }
}

/// A number without a unit is read wrongly. Its name has the unit, or that of the object around it does (`delay_ms.mean`),
/// unless it is a number of things, a share, or the name of something.
#[test]
fn every_number_has_its_unit_in_its_name() {
    let mut found = Vec::new();
    for name in names() {
        let root: Value = serde_json::from_str(&printed(&name)).unwrap();
        let mut walk = Walk { root: &root, found: &mut found };
        walk.look(&root, &name, Told::Nothing);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The words of which one is in the name of a number that has a unit.
const UNITS: [&str; 11] = ["ns", "us", "ms", "s", "hz", "bytes", "bits", "mbit", "cycles", "per", "percent"];

/// Words for numbers of things.
const COUNTS: [&str; 43] = [
    "again",
    "authentications",
    "batch",
    "begun",
    "blocks",
    "cores",
    "count",
    "decimals",
    "devices",
    "disturbed",
    "established",
    "failed",
    "flight",
    "frames",
    "hits",
    "lost",
    "messages",
    "more",
    "n",
    "offered",
    "open",
    "packets",
    "planned",
    "present",
    "queue",
    "rekeys",
    "repeated",
    "retransmissions",
    "rows",
    "samples",
    "sent",
    "succeeded",
    "timeouts",
    "vectors",
    "discards",
    "failures",
    "links",
    "refused",
    "discarded",
    "identities",
    "workers",
    "draws",
    "resamples",
];

/// Words for shares and ratios, for what rankings have (weights, grades and steps between them, scores), for load averages, for
/// numbers that are names, for numbers whose unit stands beside them, and for objects of counts.
const OTHERS: [&str; 29] = [
    "weight",
    "weights",
    "rank",
    "ranks",
    "score",
    "scores",
    "utility",
    "grades",
    "importance",
    "steps",
    "amplification",
    "share",
    "ratio",
    "spread",
    "utilisation",
    "difference",
    "over",
    "crc32",
    "format",
    "frame",
    "id",
    "index",
    "message",
    "number",
    "value",
    "low",
    "high",
    "exchanges",
    "looked",
];

/// The way through a schema and what it refers to.
struct Walk<'a> {
    root: &'a Value,
    found: &'a mut Vec<String>,
}

/// What names have told of a number.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    Nothing,
    /// Its own name says that it has none.
    NoUnit,
    /// Its name or one around it has the unit.
    Unit,
}

impl Told {
    fn by(self, name: &str) -> Self {
        let has = |words: &[&str]| name.split('_').any(|word| words.contains(&word));
        match self {
            Self::Unit => Self::Unit,
            _ if has(&UNITS) => Self::Unit,
            _ if has(&COUNTS) || has(&OTHERS) => Self::NoUnit,
            _ => Self::Nothing,
        }
    }
}

impl Walk<'_> {
    fn look(&mut self, schema: &Value, path: &str, told: Told) {
        if let Some(name) = schema["$ref"].as_str() {
            let definition = &self.root["$defs"][name.rsplit('/').next().unwrap()];
            self.look(definition, path, told);
        }
        for several in ["anyOf", "oneOf"] {
            schema[several].as_array().into_iter().flatten().for_each(|one| self.look(one, path, told));
        }
        let of_each = ["items", "additionalProperties"].map(|each| &schema[each]);
        of_each.into_iter().filter(|of| of.is_object()).for_each(|of| self.look(of, path, told));
        let types = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
        if told == Told::Nothing && types.iter().any(|kind| kind == "number" || kind == "integer") {
            self.found.push(path.to_owned());
        }
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            self.look(member, &format!("{path}.{name}"), told.by(name));
        }
    }
}
