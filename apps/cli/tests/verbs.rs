//! Whole commands as people type them: what they print, where, and their exit codes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs::DirEntry;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::schema;

/// Runs `keytoll` in the root of the repository, where the scenarios are.
fn keytoll(arguments: &[&str]) -> Output {
    command(arguments).env_remove("COLUMNS").output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_keytoll"));
    command.args(arguments).current_dir(root);
    command
}

/// Everything a command does that can be seen.
fn screen(line: &str) -> String {
    let arguments = line.split(' ').skip(1).collect::<Vec<_>>();
    let Output { status, stdout, stderr } = keytoll(&arguments);
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    let section = |name: &str, text: &str| {
        // An estimate is another one every time.
        let lines = text.lines().filter(|line| !line.starts_with("about ")).map(str::trim_end);
        let text = lines.collect::<Vec<_>>().join("\n");
        if text.trim().is_empty() { String::new() } else { format!("--- {name}\n{text}\n") }
    };
    let code = status.code().unwrap();
    format!("$ {line}\n{}{}--- exit {code}\n", section("stdout", &stdout), section("stderr", &stderr))
}

fn screens(lines: &[&str]) -> String {
    lines.iter().map(|line| screen(line)).collect::<Vec<_>>().join("\n")
}

/// A scenario file that is removed in the end.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-{:07}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    /// What checking it looks like, wherever it stands.
    fn check(&self) -> String {
        let path = self.0.to_str().unwrap();
        screen(&format!("keytoll check {path}")).replace(path, "mine.toml")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a command prints on a screen of so many columns; the commands of a shell have no word longer than that.
fn lines_on(columns: usize, line: &str) -> Vec<String> {
    let arguments = line.split(' ').collect::<Vec<_>>();
    let Output { stdout, .. } = command(&arguments).env("COLUMNS", columns.to_string()).output().unwrap();
    String::from_utf8(stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn no_table_is_wider_than_the_screen() {
    let commands = [
        "list",
        "check",
        "check lossy",
        "profile ikev2-rsa2048 --count 2 --skeleton",
        "profile ikev1-main-rsa --count 2",
        "profile esp --packet 736 --count 8",
        "crypto x25519 sha256 --count 8",
        "crypto --table dh-groups --count 6",
    ];
    for line in commands {
        for columns in [80, 60] {
            let lines = lines_on(columns, line);
            assert!(lines.len() > 10, "{line}: {lines:?}");
            for shown in lines {
                assert!(
                    shown.chars().count() <= columns && !shown.ends_with('…'),
                    "{line} at {columns}: {shown}"
                );
            }
        }
    }
}

#[test]
fn list_shows_the_catalogue() {
    insta::assert_snapshot!(screen("keytoll list"));
}

#[test]
fn list_gives_json_for_every_list() {
    let Output { stdout, status, .. } = keytoll(&["list", "--json"]);
    assert!(status.success());
    let lists = schema::read("list", stdout);
    let names = lists.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(
        names,
        [
            "cpus",
            "criteria",
            "faults",
            "groups",
            "methods",
            "networks",
            "options",
            "papers",
            "scenarios",
            "schemas",
            "signatures",
            "studies",
            "suites",
            "topologies"
        ]
    );
    assert_eq!(lists["networks"][7]["name"], "umts-r99-64");
    assert_eq!(lists["networks"][7]["standing"], "calibrated");
    assert_eq!(lists["groups"][0]["standing"], "broken");
}

#[test]
fn options_are_listed_with_values_defaults_and_methods() {
    let Output { stdout, status, .. } = keytoll(&["list", "options", "--json"]);
    assert!(status.success());
    let lists = schema::read("list", stdout);
    let options = lists["options"].as_array().unwrap();
    let named = |name: &str| options.iter().find(|option| option["name"] == name).unwrap();
    assert_eq!(named("mode")["default"], "transport");
    assert_eq!(
        named("triplets")["methods"],
        serde_json::json!(["ikev2-eap-sim", "wpa2-eap-sim", "wpa3-eap-sim"])
    );
    assert_eq!(
        (&named("samples")["default"], &named("samples")["source"]),
        (&"30".into(), &"--set samples=VALUE".into())
    );
    // Every default can be set where it counts, and makes the rows that there were; lists of suites would need quotes.
    let rows = |arguments: &[&str]| {
        let Output { stdout, stderr, .. } = keytoll(&[&["check", "--json"], arguments].concat());
        assert!(!stdout.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
        schema::read("check", stdout)["rows"].clone()
    };
    let scenarios = ["quickstart", "ikev1", "hip", "wlan"].map(|scenario| (scenario, rows(&[scenario])));
    let is_simple = |option: &&serde_json::Value| {
        let source = option["source"].as_str().unwrap();
        source.starts_with("--set options.")
            && !source.contains("suite=")
            && !source.contains("traffic_")
            && !source.contains("ipsec")
            && !source.contains("hip_group")
            && !source.contains("hip_cipher")
            && !source.contains("rekey_with_new_keys")
            && !source.contains("options.roaming=")
    };
    for option in options.iter().filter(is_simple) {
        let (name, default) = (option["name"].as_str().unwrap(), option["default"].as_str().unwrap());
        let methods = option["methods"].as_array().unwrap();
        let concerns = |row: &serde_json::Value| methods.contains(&row["method"]);
        let (scenario, unset) =
            scenarios.iter().find(|(_, rows)| rows.as_array().unwrap().iter().any(concerns)).unwrap();
        let set = format!("options.{name}={default}");
        assert_eq!(rows(&[scenario, "--set", &set]), *unset, "{set}");
    }
}

#[test]
fn a_long_run_says_every_ten_seconds_how_far_it_is_and_that_it_takes_long() {
    let out = std::env::temp_dir().join(format!("keytoll-long-{}", std::process::id()));
    // It computes for as long as the test waits: only when no other test does.
    let mut run = Command::new("nice")
        .args(["-n", "19", env!("CARGO_BIN_EXE_keytoll"), "run", "quickstart", "--samples", "1000000000"])
        .args(["--threads", "1", "--no-trace", "--out"])
        .arg(out.join("run"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    // On a busy machine either may come first, and more than once.
    let (mut is_warned, mut is_told, mut said) = (false, false, Vec::new());
    for line in lines.take(20) {
        is_warned |= line.starts_with("warning: ") && line.ends_with("; `--samples` asks for fewer");
        is_told |= line.contains(" authentications, about ") && line.ends_with(" left");
        said.push(line);
        if is_warned && is_told {
            break;
        }
    }
    run.kill().unwrap();
    run.wait().unwrap();
    std::fs::remove_dir_all(&out).unwrap();
    assert!(is_warned && is_told, "{said:#?}");
}

/// Whatever a verb reads: 2 for what is missing, cannot be read, or is something else.
#[test]
fn files_that_cannot_be_used_have_one_exit_code_in_every_verb() {
    let other = File::new("other", "neither a scenario nor a capture\n");
    let out = std::env::temp_dir().join(format!("keytoll-unused-{}", std::process::id()));
    let out = out.to_str().unwrap();
    let verbs: [&[&str]; 11] = [
        &["run"],
        &["check"],
        &["gateway"],
        &["aaa"],
        &["hss"],
        &["connect"],
        &["report"],
        &["rank"],
        &["decode"],
        &["measure"],
        &["run", "quickstart", "--samples", "1", "--out", out, "--crypto", "table", "--costs"],
    ];
    for verb in verbs {
        for file in ["no/such/file", "scenarios", other.0.to_str().unwrap()] {
            let Output { status, stderr, .. } = keytoll(&[verb, &[file]].concat());
            assert_eq!(status.code(), Some(2), "{verb:?} {file}: {}", String::from_utf8_lossy(&stderr));
        }
    }
}

#[test]
fn check_shows_what_would_run() {
    insta::assert_snapshot!(screens(&[
        "keytoll check scenarios/quickstart.toml",
        "keytoll check fragmentation --samples 1 --crypto null",
        "keytoll check suites --set cpus.ue=mips-125",
    ]));
}

#[test]
fn check_gives_json_whose_plan_is_a_scenario() {
    let first = keytoll(&["check", "lossy", "--json", "--seed", "18446744073709551615"]).stdout;
    let report = schema::read("check", &first);
    assert_eq!(report["authentications"], 400);
    assert_eq!(report["rows"].as_array().unwrap().len(), 4);
    let file = File::new("resolved.toml", report["plan"].as_str().unwrap());
    let second = keytoll(&["check", file.0.to_str().unwrap(), "--json"]).stdout;
    assert_eq!(String::from_utf8(first).unwrap(), String::from_utf8(second).unwrap());
}

#[test]
fn check_refuses_bad_scenarios() {
    let typo = File::new("typo.toml", "methods = [\"ikev2-pks\"]\nnetworks = [\"lte\"]\n");
    let unit =
        File::new("unit.toml", "methods = \"ikev2-psk\"\nnetworks = { name = \"a\", delay = \"20 sec\" }\n");
    let commands = [
        "keytoll check missing.toml",
        "keytoll check scenarios",
        "keytoll check quikstart",
        "keytoll check quickstart --set networks=wify-11g",
        "keytoll check quickstart --samples 0",
    ];
    insta::assert_snapshot!([typo.check(), unit.check(), screens(&commands)].join("\n"));
}

#[test]
fn a_bad_command_line_is_refused() {
    insta::assert_snapshot!(screens(&[
        "keytoll chekc",
        "keytoll list method",
        "keytoll study ikev3",
        "keytoll run --crypto none",
        "keytoll run --samples many",
        "keytoll run --threads 0",
        "keytoll run --samples -1",
        "keytoll run --samples 99999999999",
        "keytoll run --threads 99999999999999999999",
        "keytoll gateway missing.toml --log loud",
        "keytoll connect missing.toml --log fact=loud",
        "keytoll connect missing.toml --log fact[span]=info",
        "keytoll run quikstart",
        "keytoll report scenarios",
        "keytoll compare scenarios",
        "keytoll compare runs/none --fail-if delay_ms.p95",
        "keytoll compare runs/none runs/other --baseline ikev2-psk",
        "keytoll rank scenarios",
        "keytoll rank runs/first --method electre",
    ]));
}

#[test]
fn every_verb_explains_itself() {
    insta::assert_snapshot!(screens(&[
        "keytoll --help",
        "keytoll run --help",
        "keytoll study --help",
        "keytoll profile --help",
        "keytoll gateway --help",
        "keytoll aaa --help",
        "keytoll hss --help",
        "keytoll connect --help",
        "keytoll load --help",
        "keytoll check --help",
        "keytoll list --help",
        "keytoll report --help",
        "keytoll export --help",
        "keytoll compare --help",
        "keytoll rank --help",
        "keytoll size --help",
        "keytoll schema --help",
        "keytoll crypto --help",
        "keytoll completions --help",
        "keytoll man --help",
    ]));
}

#[test]
fn help_is_a_verb_too() {
    for verb in ["load", "run", "decode"] {
        let [help, option] = [["help", verb], [verb, "--help"]].map(|line| keytoll(&line));
        assert!(help.status.success() && !help.stdout.is_empty(), "{verb}: {help:?}");
        assert_eq!(help.stdout, option.stdout, "{verb}");
    }
    assert_eq!(keytoll(&["help"]).stdout, keytoll(&["--help"]).stdout);
    assert_eq!(keytoll(&["help", "laod"]).status.code(), Some(2));
}

#[test]
fn the_examples_in_the_help_work() {
    for verb in ["check", "list", "schema", "completions"] {
        let help = String::from_utf8(keytoll(&[verb, "--help"]).stdout).unwrap();
        let example = help.lines().find_map(|line| line.trim().strip_prefix("keytoll ")).unwrap();
        let output = keytoll(&example.split(' ').collect::<Vec<_>>());
        assert!(output.status.success() && !output.stdout.is_empty(), "keytoll {example}: {output:?}");
    }
}

/// Without cryptography delays are the same on every machine, and so is what their comparison says.
#[test]
fn runs_are_compared_with_each_other_and_row_by_row() {
    let scratch = std::env::temp_dir().join(format!("keytoll-compare-{:07}", std::process::id()));
    let [first, second] = ["first", "second"].map(|name| scratch.join(name).to_str().unwrap().to_owned());
    let fixed = ["run", "quickstart", "--crypto", "null", "--samples", "20", "--set", "networks=wifi-11g"];
    for (out, network) in [(&first, "wifi-11g"), (&second, "{ name = \"wifi-11g\", delay = \"9 ms\" }")] {
        let set = format!("networks={network}");
        let output = keytoll(&[&fixed[..6], &["--set", &set, "--out", out]].concat());
        assert!(output.status.success(), "{output:?}");
    }
    let compared = |arguments: &[&str]| {
        let output = keytoll(&[&["compare"], arguments].concat());
        let text =
            String::from_utf8(output.stdout).unwrap().replace(&first, "FIRST").replace(&second, "SECOND");
        (output.status.code(), text, String::from_utf8(output.stderr).unwrap())
    };
    let (code, text, _) =
        compared(&[&first, &second, "--measure", "delay_ms", "--fail-if", "delay_ms.p50 > +50%"]);
    assert_eq!(code, Some(1), "{text}");
    let (alone, rows, _) = compared(&[&first, "--measure", "delay_ms", "--baseline", "ikev2-eap-tls"]);
    assert_eq!(alone, Some(0), "{rows}");
    insta::assert_snapshot!(format!("{text}\n{rows}"));
    let (code, json, told) = compared(&[&first, &second, "--json", "--fail-if", "delay_ms.p95 > +50%"]);
    schema::read("compare", json);
    assert!(code == Some(1) && told.contains("delay_ms.p95 > +50 %: ikev2-psk, wifi-11g, raw"), "{told}");
    let (code, _, told) = compared(&[&first, &second, "--fail-if", "delay.p99 > 1 us"]);
    assert!(code == Some(1) && !told.contains("error"), "the second run's delay is longer: {told}");
    for (condition, why) in [
        ("delay_ms.p42 > +10%", "nothing measured is called `delay_ms.p42`"),
        ("delay_ms.p95 > 10%", "a change has its"),
        ("delay_ms.max > +10%", "two extremes differ by chance"),
    ] {
        let (code, _, told) = compared(&[&first, &second, "--fail-if", condition]);
        assert!(code == Some(2) && told.contains(why), "{told}");
    }
    let third = scratch.join("third").to_str().unwrap().to_owned();
    let one = ["--samples", "1", "--set", "methods=ikev2-psk", "--set", "networks=lte", "--out", &third];
    assert!(keytoll(&[&fixed[..4], &one].concat()).status.success());
    for (runs, why) in [
        (&[&*first, &third][..], "has its like in"),
        (&[&third], "has no two rows of one network to compare"),
        (&[&first, "--baseline", "ikev2"], "the run has no row `ikev2`"),
    ] {
        let (code, _, told) = compared(&[runs, &["--fail-if", "delay.p99 > 1 us"]].concat());
        let told = told.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(code == Some(2) && told.contains(why), "nothing that could be met is no success: {told}");
    }
    let page = scratch.join("page.html");
    let (code, ..) = compared(&[&first, &second, "--measure", "delay_ms", "--html", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        code == Some(0)
            && page.contains("can be told apart")
            && page.contains("delay_ms: median of B over that of A")
    );
    let samples = Path::new(&second).join("samples.csv");
    std::fs::write(&samples, "method\n").unwrap();
    let (code, _, told) = compared(&[&first, &second]);
    assert!(code == Some(3) && told.contains("it is damaged"), "{told}");
    std::fs::remove_dir_all(scratch).unwrap();
}

/// Authentications that fail because the scenario wants them to are what the run is for; others are not.
#[test]
fn a_run_says_in_its_exit_code_whether_something_failed_that_should_not_have() {
    let scratch = std::env::temp_dir().join(format!("keytoll-exit-{:07}", std::process::id()));
    let run = |arguments: &[&str]| {
        let out = scratch.join("run");
        let out = out.to_str().unwrap();
        let output = keytoll(&[&["run"], arguments, &["--samples", "1", "--out", out]].concat());
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (planned, table) = run(&["failures"]);
    assert_eq!(planned, Some(0), "{table}");
    assert!(table.contains("1 of 1 aaa: EAP wrong password"), "{table}");
    let dead = "networks={ name = \"dead\", loss = \"100 %\" }";
    let (unplanned, table) = run(&["quickstart", "--crypto", "null", "--set", dead]);
    assert_eq!(unplanned, Some(1), "{table}");
    assert!(table.contains("1 of 1 ue: timeout"), "{table}");
    std::fs::remove_dir_all(&scratch).unwrap();
}

#[test]
fn a_profile_names_the_operations_and_agrees_with_its_json() {
    let arguments = ["profile", "ikev2-psk", "--count", "2", "--suite", "aes128-sha1-modp1024", "--skeleton"];
    let Output { stdout, stderr, status } = keytoll(&arguments);
    let table = String::from_utf8(stdout).unwrap();
    assert!(status.success() && stderr.is_empty(), "{table}\n{}", String::from_utf8_lossy(&stderr));
    for words in [
        "IKE_SA_INIT response\n  D-H generation",
        "PRF: SKEYSEED",
        "(weak)",
        "crypto by subtraction",
        "share of the skeleton",
    ] {
        assert!(table.contains(words), "no {words} in\n{table}");
    }
    let Output { stdout, .. } = keytoll(&[&arguments[..], &["--json", "--node", "ue"]].concat());
    let json = schema::read("profile", stdout);
    assert_eq!((&json["node"], &json["columns"][0]["mark"]), (&"ue".into(), &"weak".into()));
    assert_eq!(json["lines"][0]["cells"][0]["algorithm"], "modp1024");
    assert_eq!(json["columns"][0]["nodes"][1]["total_ms"]["n"], 2);
}

#[test]
fn a_packet_is_profiled_stage_by_stage() {
    let arguments = ["profile", "esp", "--packet", "736", "--count", "3", "--suite", "3des-md5"];
    let Output { stdout, status, .. } = keytoll(&arguments);
    let table = String::from_utf8(stdout).unwrap();
    assert!(status.success(), "{table}");
    for words in ["3des-md5 (broken)", "selector check", "policy lookup", "encapsulate", "echo"] {
        assert!(table.contains(words), "no {words} in\n{table}");
    }
    let Output { stdout, .. } = keytoll(&[&arguments[..], &["--json"]].concat());
    let json = schema::read("packets", stdout);
    assert_eq!((&json["packet_bytes"], &json["native_us"]["n"]), (&736.into(), &3.into()));
}

#[test]
fn mistakes_in_a_profile_are_told() {
    insta::assert_snapshot!(screens(&[
        "keytoll profile ikev2-pks",
        "keytoll profile ikev2-psk --suite aes128-sha1",
        "keytoll profile ikev2-psk --network wfi-11g",
        "keytoll profile ikev2-psk --node hss",
        "keytoll profile ikev2-psk --node radius",
        "keytoll profile wpa2-eap-tls --set options.eap_server=access-point --node aaa",
        "keytoll profile ikev2-psk --count 0",
        "keytoll profile ikev2-psk --packet 736",
        "keytoll profile esp --node ue",
        "keytoll profile esp --packet 20",
        "keytoll profile esp --suite aes128gcm17",
    ]));
}

#[test]
fn completions_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = String::from_utf8(keytoll(&["completions", shell]).stdout).unwrap();
        for verb in ["run", "study", "profile", "check", "list", "report", "rank", "completions"] {
            assert!(script.contains(verb), "{shell}: {verb}");
        }
    }
}

/// The generators for the other shells leave out the values of positional arguments.
#[test]
fn completions_know_the_studies() {
    for shell in ["bash", "zsh"] {
        let script = String::from_utf8(keytoll(&["completions", shell]).stdout).unwrap();
        assert!(script.contains("ikev2-wireless"), "{shell}");
    }
}

#[test]
fn every_verb_has_a_manual_page() {
    let dir = std::env::temp_dir().join(format!("keytoll-man-{}", std::process::id()));
    let made = keytoll(&["man", dir.to_str().unwrap()]);
    assert!(made.status.success() && made.stdout.is_empty(), "{made:?}");
    let help = String::from_utf8(keytoll(&["--help"]).stdout).unwrap();
    let verbs =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let verbs = verbs.map(|line| format!("keytoll-{}.1", line.split(' ').next().unwrap()));
    let expected: BTreeSet<String> = std::iter::once("keytoll.1".to_owned()).chain(verbs).collect();
    let name = |entry: std::io::Result<DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let found: BTreeSet<String> = std::fs::read_dir(&dir).unwrap().map(name).collect();
    assert!(found.contains("keytoll-run.1") && found == expected, "{found:?} instead of {expected:?}");
    let page = std::fs::read_to_string(dir.join("keytoll-run.1")).unwrap();
    for words in
        ["keytoll\\-run \\- Run a scenario", "\\-\\-samples", "EXIT STATUS", "keytoll run quickstart"]
    {
        assert!(page.contains(words), "no {words} in {page}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn colour_is_never_where_nobody_asked_for_it() {
    let output = keytoll(&["check", "quikstart", "--color", "auto"]);
    assert!(!output.stderr.contains(&0x1b));
}
