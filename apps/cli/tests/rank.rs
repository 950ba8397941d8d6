//! `keytoll rank` with a run of its own, and what it refuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::schema;

fn keytoll(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_keytoll"));
    command.args(arguments).current_dir(root).env_remove("COLUMNS").output().unwrap()
}

/// A folder that is removed in the end, with a run and criteria for it.
struct Scratch(PathBuf);

/// Which of two methods has fewer messages, and which somebody likes better.
const CRITERIA: &str = r#"title = "small"
[[alternative]]
name = "psk"
method = "ikev2-psk"
[[alternative]]
name = "tls"
method = "ikev2-eap-tls"
[[criterion]]
name = "messages"
measure = "messages"
reference = "tls"
better_max = 3
worse_max = 2
[[criterion]]
name = "liking"
grades = { psk = 1, tls = 3 }
[[expert]]
name = "one"
compare = [["messages", "liking", 2]]
[[expert]]
name = "other"
compare = [["messages", "liking", -1]]
"#;

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-rank-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        let scratch = Self(path);
        fs::write(scratch.path("criteria.toml"), CRITERIA).unwrap();
        let methods = "methods=[\"ikev2-psk\", \"ikev2-eap-tls\"]";
        let run = ["run", "quickstart", "--samples", "2", "--crypto", "null", "--set", methods];
        let done =
            keytoll(&[&run[..], &["--set", "networks=wifi-11g", "--out", &scratch.text("run")]].concat());
        assert!(done.status.success(), "{done:?}");
        scratch
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn rank(&self, more: &[&str]) -> Output {
        let (run, criteria) = (self.text("run"), self.text("criteria.toml"));
        keytoll(&[&["rank", &run, "--criteria", &criteria, "--draws", "1000"], more].concat())
    }

    /// Why it is refused, wherever that is, and the exit code.
    fn refused(&self, more: &[&str]) -> (String, Option<i32>) {
        let Output { status, stdout, stderr } = self.rank(more);
        assert!(stdout.is_empty(), "{}", String::from_utf8_lossy(&stdout));
        let told = String::from_utf8(stderr).unwrap().replace(&self.text(""), "");
        // The sentence alone, without the line and the hint, as one line.
        let words: Vec<&str> = told.split_whitespace().filter(|word| *word != "│" && *word != "×").collect();
        (words.join(" "), status.code())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_run_is_ranked_in_words_and_in_json() {
    let scratch = Scratch::new("words");
    let Output { status, stdout, stderr } = scratch.rank(&[]);
    assert!(status.success() && stderr.is_empty(), "{}", String::from_utf8_lossy(&stderr));
    insta::assert_snapshot!(String::from_utf8(stdout).unwrap());
    let ranking = schema::read("ranking", scratch.rank(&["--json"]).stdout);
    assert_eq!(ranking["alternatives"][0]["name"], "psk");
    assert_eq!(ranking["criteria"][0]["grades"]["psk"], 3.0);
    assert_eq!(scratch.rank(&["--json"]).stdout, scratch.rank(&["--json"]).stdout);
    let other = schema::read("ranking", scratch.rank(&["--json", "--weights", "equal,liking=1"]).stdout);
    assert_eq!(other["alternatives"][0]["name"], "tls");
    for method in ["wsm", "wpm", "topsis"] {
        let ranking = schema::read("ranking", scratch.rank(&["--json", "--method", method]).stdout);
        assert_eq!(ranking["method"], method);
    }
}

/// A name and a number, or several with commas: `psk 0.0000, tls -1.2345`.
fn numbers(line: &str) -> Vec<(&str, f64)> {
    let pairs = line.split(',').filter_map(|pair| pair.trim().rsplit_once(' '));
    pairs.map(|(name, number)| (name.trim(), number.parse().unwrap())).collect()
}

#[test]
fn printed_grades_and_weights_give_the_scores() {
    let scratch = Scratch::new("recomputed");
    let ranked = |more: &[&str]| {
        let run = scratch.text("run");
        keytoll(&[&["rank", &run, "--criteria", "measured", "--draws", "10"], more].concat()).stdout
    };
    let json: Value = serde_json::from_slice(&ranked(&["--json"])).unwrap();
    let text = String::from_utf8(ranked(&[])).unwrap();
    let grades = text.split("\ngrades\n").nth(1).unwrap();
    let mut steps = std::collections::BTreeMap::<&str, f64>::new();
    for criterion in json["criteria"].as_array().unwrap() {
        let (name, share) = (criterion["name"].as_str().unwrap(), criterion["share"].as_f64().unwrap());
        let line =
            grades.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix("  ")).unwrap();
        numbers(line).into_iter().for_each(|(name, grade)| *steps.entry(name).or_default() += share * grade);
    }
    let all: f64 = steps.values().map(|steps| steps.exp2()).sum();
    for it in json["alternatives"].as_array().unwrap() {
        let computed = steps[it["name"].as_str().unwrap()].exp2() / all;
        assert!((computed - it["score"].as_f64().unwrap()).abs() < 1e-4, "{computed} {it} {text}");
    }
}

/// The data of a figure in the page of a run.
fn figure(page: &str, id: &str) -> Value {
    let (_, figure) = page.split_once(&format!(r#"id="{id}""#)).unwrap();
    let (_, data) = figure.split_once(r#"<script type="application/json">"#).unwrap();
    serde_json::from_str(data.split("</script>").next().unwrap()).unwrap()
}

#[test]
fn the_page_of_a_run_has_the_scores_of_its_ranking() {
    let scratch = Scratch::new("page");
    let ranked =
        keytoll(&["rank", &scratch.text("run"), "--criteria", "measured", "--draws", "10", "--json"]);
    assert!(ranked.status.success(), "{}", String::from_utf8_lossy(&ranked.stderr));
    let ranked: Value = serde_json::from_slice(&ranked.stdout).unwrap();
    let page = fs::read_to_string(scratch.path("run/report.html")).unwrap();
    let page = figure(&page, "ranking-weights");
    let scores = |alternatives: &Value| -> Vec<(String, f64)> {
        let of = |it: &Value| (it["name"].as_str().unwrap().to_owned(), it["score"].as_f64().unwrap());
        alternatives.as_array().unwrap().iter().map(of).collect()
    };
    assert_eq!(scores(&page["alternatives"]), scores(&ranked["alternatives"]));
    assert_eq!(page["criteria"].as_array().unwrap().len(), 6);
    assert_eq!(scores(&page["alternatives"])[0].0, "ikev2-psk");
}

/// The parts of the draws in which each alternative has each rank, in percent, with weights near to the given ones.
fn ranks_of(ranking: &Value) -> Vec<f64> {
    let alternatives = ranking["acceptability"][0]["alternatives"].as_array().unwrap().iter();
    let ranks = alternatives.flat_map(|it| it["ranks"].as_array().unwrap());
    ranks.map(|share| 100.0 * share.as_f64().unwrap()).collect()
}

#[test]
fn measured_values_are_drawn_from_the_samples_if_there_are_any() {
    let scratch = Scratch::new("samples");
    let rank = |more: &[&str]| {
        let (run, criteria) = (scratch.text("run"), scratch.text("p95.toml"));
        let arguments = ["rank", &run, "--criteria", &criteria, "--draws", "4000"];
        keytoll(&[&arguments[..], more].concat())
    };
    let p95 = "measure = \"delay-p95\"\nreference = \"tls\"\nrounding = \"none\"";
    let criteria = CRITERIA.replace("measure = \"messages\"\nreference = \"tls\"", p95);
    fs::write(scratch.path("p95.toml"), criteria).unwrap();
    let of_samples = schema::read("ranking", rank(&["--json"]).stdout);
    assert_eq!(of_samples["measurements"]["drawn_from"], "samples");
    assert_eq!(of_samples["measurements"]["resamples"], 1000);
    assert_eq!(of_samples["criteria"][0]["drawn_from"], "samples");
    assert_eq!(of_samples["criteria"][1].get("drawn_from"), None);

    let samples = scratch.path("run/samples.csv");
    let text = fs::read_to_string(&samples).unwrap();
    fs::write(&samples, text.replacen("established", "unfinished!", 1)).unwrap();
    let damaged = String::from_utf8(rank(&[]).stderr).unwrap();
    assert!(damaged.contains("samples.csv: it is damaged"), "{damaged}");

    fs::remove_file(&samples).unwrap();
    let of_intervals = schema::read("ranking", rank(&["--json"]).stdout);
    assert_eq!(of_intervals["measurements"]["drawn_from"], "intervals");
    assert_eq!(of_intervals["measurements"].get("resamples"), None);
    assert_eq!(of_intervals["criteria"][0]["drawn_from"], "nothing", "a percentile has no interval");
    let told = String::from_utf8(rank(&[]).stdout).unwrap();
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "stay as they are, for the run has no samples.csv.";
    assert!(
        told.contains(why) && of_intervals["measurements"]["told"].as_str().unwrap().ends_with(why),
        "{told}"
    );
}

#[test]
fn the_page_of_a_run_has_the_acceptability_of_its_ranking() {
    let scratch = Scratch::new("acceptability");
    let rank = ["rank", &scratch.text("run"), "--criteria", "measured", "--draws", "4000", "--json"];
    let ranked: Value = serde_json::from_slice(&keytoll(&rank).stdout).unwrap();
    let page = fs::read_to_string(scratch.path("run/report.html")).unwrap();
    let told = ranked["measurements"]["told"].as_str().unwrap();
    assert!(told.contains("resamples") && page.contains(&told.replace('\'', "&#39;")), "{told}");
    let lines = figure(&page, "ranking-near")["lines"].clone();
    let values = lines.as_array().unwrap().iter().map(|line| line[2].as_f64().unwrap());
    assert_eq!(values.collect::<Vec<_>>(), ranks_of(&ranked), "{lines}");
}

#[test]
fn what_cannot_be_ranked_is_told_in_a_sentence() {
    let scratch = Scratch::new("refused");
    let refused = |more: &[&str], sentence: &str, code: i32| {
        let (told, found) = scratch.refused(more);
        assert!(told.contains(sentence), "{told}");
        assert_eq!(found, Some(code), "{told}");
    };
    refused(&["--weights", "half"], "unknown weights `half`", 2);
    refused(&["--weights", "liking=2"], "the weight of `liking` must be from 0 to 1, not `2`", 2);
    refused(&["--weights", "looks=1"], "unknown criterion `looks`", 2);
    let measured = CRITERIA.replace("\"messages\"\nreference", "\"cpu-time\"\nnode = \"hss\"\nreference");
    fs::write(scratch.path("criteria.toml"), measured).unwrap();
    refused(&[], "`messages` cannot be graded: the run has no `cpu-time` of node `hss`", 2);
    fs::write(scratch.path("criteria.toml"), CRITERIA.replace("ikev2-psk", "hip-bex")).unwrap();
    refused(&[], "the run has no row of `hip-bex`, which is the alternative `psk`", 2);
    fs::write(scratch.path("criteria.toml"), CRITERIA).unwrap();

    let summary = scratch.path("run/summary.json");
    let text = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, text.replacen("\"n\": 2", "\"n\": 3", 1)).unwrap();
    refused(&[], "summary.json: it is damaged: its CRC-32 is", 3);
    fs::write(&summary, &text[..text.len() / 2]).unwrap();
    refused(&[], "it is damaged: it has", 3);
    fs::remove_file(&summary).unwrap();
    refused(&[], "cannot use run/summary.json", 3);
    fs::write(scratch.path("run/manifest.json"), "{ \"kind\": \"of somebody\" }").unwrap();
    refused(&[], "is no run directory: keytoll did not write its manifest.json", 2);
    fs::remove_file(scratch.path("run/manifest.json")).unwrap();
    refused(&[], "`run` has files of a run but no manifest.json", 2);
}
