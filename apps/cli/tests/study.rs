//! `keytoll study` as people type it: its files, its JSON, and that the messages are those of the arithmetic.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

use crate::schema;

fn keytoll(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keytoll")).args(arguments).output().unwrap()
}

/// A run directory that is removed in the end.
struct Runs(PathBuf);

impl Runs {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("keytoll-{:07}-{name}", std::process::id())))
    }

    /// Where the results are.
    fn out(&self) -> String {
        self.0.join("run").to_str().unwrap().to_owned()
    }

    /// What a study prints, with these arguments behind its name.
    fn study(&self, arguments: &[&str]) -> Output {
        let command = ["study", "ikev2-wireless", "--samples", "2", "--out", &self.out()];
        keytoll(&[&command[..], arguments].concat())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let Output { status, stdout, stderr } = self.study(&[arguments, &["--json"]].concat());
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        schema::read("study", stdout)
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join("run").join(name)).unwrap()
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The messages of a variant and those published: on the link of the device, on the link of the server.
fn messages(account: &Value) -> Vec<(String, [Option<f64>; 4])> {
    let tables = account["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["unit"] == "messages").unwrap();
    let line = |line: &Value| {
        let cell = |place: usize| line["cells"][place]["value"].as_f64();
        (line["label"].as_str().unwrap().to_owned(), [0, 1, 2, 3].map(cell))
    };
    table["lines"].as_array().unwrap().iter().map(line).filter(|(_, cells)| cells[0].is_some()).collect()
}

/// protocols.md §2.2: N_IKE = 2 + 2 (2 + R + i), N_RADIUS = 2 (R + 1), R round trips of the method, i = 1 if the identity
/// is asked over the air. R is fixed for MD5 and SIM; with TLS it is what the fragments make it, and must be the same on
/// both links. Accounting adds nothing to an authentication.
#[test]
fn the_messages_are_those_of_the_arithmetic() {
    let runs = Runs::new("arithmetic");
    for (option, asked) in [
        ("options.accounting=true", 1.0),
        ("options.eap_identity=true", 1.0),
        ("options.eap_identity=false", 0.0),
    ] {
        let account = runs.json(&["--crypto", "null", "--set", option]);
        let messages = messages(&account);
        assert!(messages.len() >= 7, "{messages:?}");
        for (label, [ike, published_ike, radius, published_radius]) in messages {
            let fixed = ["PSK", "MD5", "SIM"].contains(&label.as_str());
            let fewer = if label == "PSK" { 0.0 } else { 2.0 * (1.0 - asked) };
            if fixed {
                assert_eq!(
                    (ike, radius),
                    (published_ike.map(|ike| ike - fewer), published_radius),
                    "{label}"
                );
            }
            if let Some(radius) = radius {
                let rounds = radius / 2.0 - 1.0;
                assert_eq!(ike, Some(2.0 + 2.0 * (2.0 + rounds + asked)), "{label}");
            }
        }
    }
}

#[test]
fn a_study_leaves_what_it_prints_and_can_be_reported_again() {
    let runs = Runs::new("files");
    let shown = runs.study(&["--crypto", "null"]);
    assert!(shown.status.success());
    let account = schema::read("study", runs.file("study.json"));
    assert_eq!((&account["study"], &account["complete"]), (&"ikev2-wireless".into(), &true.into()));
    assert!(runs.file("report.html").contains("Figure 10"));
    let again = keytoll(&["report", &runs.out()]);
    assert_eq!(String::from_utf8(again.stdout).unwrap(), String::from_utf8(shown.stdout).unwrap());
    let summary = keytoll(&["report", "--json", &runs.out()]).stdout;
    assert_eq!(String::from_utf8(summary).unwrap(), runs.file("summary.json"));
}

#[test]
fn without_cryptography_cycles_are_not_judged() {
    let account = Runs::new("null").json(&["--crypto", "null", "--no-trace"]);
    let findings = account["findings"].as_array().unwrap();
    let verdict = |name: &str| {
        let finding = findings.iter().find(|finding| finding["name"] == name).unwrap();
        finding["verdict"].as_str().unwrap().to_owned()
    };
    for computed in
        ["tls-costs-the-server-a-hundredfold", "wifi-exceeds-150-ms", "tls-is-several-times-slower"]
    {
        assert_eq!(verdict(computed), "cannot_be_judged", "{computed}");
    }
}

/// Two samples have no interval, from which a verdict about a time could follow.
#[test]
fn two_samples_decide_nothing_that_varies() {
    let account = Runs::new("real").json(&[]);
    let findings = account["findings"].as_array().unwrap();
    let unjudged = findings.iter().filter(|finding| finding["verdict"] == "cannot_be_judged");
    let names: Vec<_> = unjudged.map(|finding| finding["name"].as_str().unwrap()).collect();
    for varies in ["tls-is-above-its-rank", "wifi-exceeds-150-ms", "longer-chains-cost-the-server-more"] {
        assert!(names.contains(&varies), "{varies}: {findings:?}");
    }
    assert!(names.len() < findings.len(), "messages are counted: {findings:?}");
}

#[test]
fn a_scenario_of_an_unknown_study_is_refused() {
    let Output { status, stderr, .. } = keytoll(&["check", "quickstart", "--set", "study=nobodys"]);
    assert_eq!(status.code(), Some(2));
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(
        stderr.contains("unknown study `nobodys`") && stderr.contains("keytoll list studies"),
        "{stderr}"
    );
}

/// Paper 004's study measures more than its run; that is kept, and the report is made from it again.
#[test]
fn a_study_keeps_what_it_measures_besides_its_run() {
    let runs = Runs::new("ipsec-overheads");
    let out = &runs.out();
    let Output { status, stdout, stderr } =
        keytoll(&["study", "ipsec-overheads", "--samples", "2", "--out", out, "--json"]);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let account = schema::read("study", stdout);
    let first = &account["tables"][0];
    let signature =
        first["lines"].as_array().unwrap().iter().find(|line| line["label"] == "P1 Signature gen.");
    let cells = &signature.unwrap()["cells"];
    assert!(cells[0]["value"].as_f64().unwrap() > 0.0, "{cells}");
    assert_eq!((&cells[0]["basis"], &cells[1]["value"]), (&"measured".into(), &78.82.into()));
    // Two samples decide only findings about operations that are timed in batches.
    let decided = |finding: &Value| finding["verdict"] != "cannot_be_judged";
    assert!(account["findings"].as_array().unwrap().iter().any(decided), "{account:#}");
    let supplement = schema::read("supplement", runs.file("supplement.json"));
    assert_eq!(supplement["profiles"].as_array().unwrap().len(), 4, "one for each method");
    assert!(keytoll(&["report", out]).status.success());
    let again = schema::read("study", runs.file("study.json"));
    assert_eq!(again["tables"][0], account["tables"][0]);
}

/// The cells of a table's line, by the beginning of the table's title.
fn cells(account: &Value, title: &str, label: &str) -> Vec<Option<f64>> {
    let titled = |table: &&Value| table["title"].as_str().unwrap().starts_with(title);
    let table = account["tables"].as_array().unwrap().iter().find(titled).unwrap();
    let line = table["lines"].as_array().unwrap().iter().find(|line| line["label"] == label).unwrap();
    line["cells"].as_array().unwrap().iter().map(|cell| cell["value"].as_f64()).collect()
}

/// The derived counts, in every row of the scenario run by itself: six messages and two, and none at the AAA server.
#[test]
fn dex_aka_sends_six_messages_and_two_and_asks_no_aaa_server() {
    let runs = Runs::new("dex-aka-alone");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/studies/hip-dex-aka.toml");
    let arguments = ["run", "--crypto", "null", "--samples", "2", "--json", "--out", &runs.out(), scenario];
    let Output { status, stdout, stderr } = keytoll(&arguments);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let summary = schema::read("summary", stdout);
    let rows = summary["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 6 * 2 * 4);
    for row in rows.iter().filter(|row| row["method"] == "hip-dex-aka") {
        let links = row["links"].as_object().unwrap();
        let messages = links.iter().map(|(link, means)| (link.as_str(), means["messages"].as_f64()));
        let messages = messages.collect::<BTreeMap<_, _>>();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert_eq!((messages["ue-gw"], messages["gw-hss"]), (Some(6.0), Some(2.0)), "{}", row["topology"]);
    }
}

/// Messages and judgements that need no computation are there with null crypto, and no repetition is.
#[test]
fn the_study_of_dex_aka_counts_what_follows_from_the_slides() {
    let runs = Runs::new("dex-aka-null");
    let arguments =
        ["study", "hip-dex-aka", "--crypto", "null", "--samples", "2", "--json", "--out", &runs.out()];
    let Output { status, stdout, stderr } = keytoll(&arguments);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let account = schema::read("study", stdout);
    for (label, ran, core) in
        [("DEX-AKA", 6.0, Some(2.0)), ("DEX", 4.0, None), ("BEX", 4.0, None), ("PSK", 4.0, None)]
    {
        let cells = cells(&account, "Number of messages", label);
        assert_eq!(cells, [Some(ran), Some(ran), core, core], "{label}");
    }
    assert_eq!(cells(&account, "Number of messages", "EAP-TLS"), [26.0, 26.0, 20.0, 20.0].map(Some));
    assert_eq!(cells(&account, "Number of messages", "EAP-AKA")[..2], [10.0, 10.0].map(Some));
    assert!(!runs.0.join("run/supplement.json").exists());
}

/// Paper 001's counts are what the engines do, with and without cryptography; EAP-TLS does more than it counts.
#[test]
fn the_study_of_rrkm_counts_operations_and_judges_every_claim() {
    let runs = Runs::new("rrkm");
    for crypto in ["null", "real"] {
        let arguments = [
            "study",
            "rrkm",
            "--crypto",
            crypto,
            "--samples",
            "2",
            "--force",
            "--json",
            "--out",
            &runs.out(),
        ];
        let Output { status, stdout, stderr } = keytoll(&arguments);
        assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        let account = schema::read("study", stdout);
        let count = |method: &str, label: &str| {
            cells(&account, &format!("Table 4-2: operations of an authentication, {method}"), label)
        };
        assert_eq!(count("IEEE 802.11", "WEP (RC4)"), [1.0; 4].map(Some));
        assert_eq!(count("RRKM", "WEP (RC4)"), [2.0; 4].map(Some));
        assert_eq!(count("RRKM", "hash"), [1.0; 4].map(Some));
        assert_eq!(count("EAP-TLS", "RSA, public key"), [2.0, 1.0, 2.0, 2.0].map(Some));
        assert_eq!(count("EAP-TLS", "RSA, private key"), [1.0, 1.0, 1.0, 0.0].map(Some));
        new_keys_are_counted(&account);
        let frames =
            ["IEEE 802.11", "RRKM"].map(|method| cells(&account, "Frames of an authentication", method)[0]);
        assert_eq!(frames, [Some(8.0); 2]);
        let findings = account["findings"].as_array().unwrap();
        let unjudged = findings.iter().filter(|finding| finding["verdict"] == "cannot_be_judged");
        let unjudged = unjudged.map(|finding| finding["name"].as_str().unwrap()).collect::<Vec<_>>();
        let computed = [
            "rrkm-takes-little-computation",
            "rsa-is-the-bottleneck-of-eap-tls",
            "a-day-of-hashes-takes-less-than-a-second",
        ];
        // Whether two samples say anything of CPU times depends on their blocks.
        let expected = if crypto == "null" { computed.len()..=computed.len() } else { 0..=1 };
        assert!(expected.contains(&unjudged.len()), "{unjudged:?}");
        assert!(unjudged.iter().all(|name| computed.contains(name)), "{unjudged:?}");
    }
    let account = schema::read("study", runs.file("study.json"));
    let supplement = schema::read("supplement", runs.file("supplement.json"));
    assert_eq!(supplement["repetitions"][0]["processors"], "host");
    assert_eq!(supplement["primitives"]["timings"].as_array().unwrap().len(), 6);
    assert_eq!(cells(&account, "Table 4-1", "RSA decrypt (private)")[2], Some(159_950.0));
    assert!(keytoll(&["report", &runs.out()]).status.success());
    assert_eq!(schema::read("study", runs.file("study.json")), account, "the report is the same again");
}

/// Two samples are 30 periods of the paper's day, in which an access point hashes once for each of its hundred stations.
fn new_keys_are_counted(account: &Value) {
    let rekey = |method: &str, label: &str| {
        cells(account, &format!("Table 4-2, Re-key: operations for each station and period, {method}"), label)
    };
    assert_eq!(rekey("RRKM", "hash"), [1.0; 4].map(Some));
    assert_eq!(rekey("EAP-TLS", "HMAC, PRF"), [1.0; 4].map(Some));
    assert_eq!(rekey("EAP-TLS", "WEP (RC4)"), [2.0, 1.0, 2.0, 1.0].map(Some));
    let hashes = cells(account, "Hashes of an access point", "30 periods");
    assert_eq!(hashes, [3000.0, 144_000.0, 144_000.0].map(Some));
    let day = |label: &str| cells(account, "Frames of 100 stations with RRKM", label)[0];
    assert_eq!(["data, sent", "data, arrived"].map(day), [Some(100.0 * 30.0 * 60.0); 2]);
    assert_eq!(["lost on the air", "discarded", "EAPOL"].map(day), [Some(0.0); 3]);
}

/// With cryptography the run is repeated on other processors, and everything is judged.
#[test]
fn the_study_of_dex_aka_judges_every_claim() {
    let runs = Runs::new("dex-aka");
    let out = &runs.out();
    let arguments =
        ["study", "hip-dex-aka", "--samples", "2", "--set", "exponents=short", "--json", "--out", out];
    let Output { status, stdout, stderr } = keytoll(&arguments);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let account = schema::read("study", stdout);
    let unjudged = |finding: &&Value| finding["verdict"] == "cannot_be_judged";
    let findings = account["findings"].as_array().unwrap();
    // Intervals of CPU time are wide on a busy machine.
    let of_cpu = |finding: &&Value| {
        let name = finding["name"].as_str().unwrap();
        ["dex-aka-saves-cycles", "computation-"].iter().any(|prefix| name.starts_with(prefix))
    };
    // From two samples nothing follows about times either.
    let decided = findings.iter().filter(|finding| !unjudged(finding) && !of_cpu(finding));
    assert!(decided.count() > 0, "{findings:#?}");
    let supplement = schema::read("supplement", runs.file("supplement.json"));
    let repetitions = supplement["repetitions"].as_array().unwrap();
    let names = repetitions.iter().map(|repetition| repetition["processors"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["host", "calibrated"]);
    processors_are_as_slow_as_printed(repetitions, &account);
    assert!(keytoll(&["report", out]).status.success());
    assert_eq!(schema::read("study", runs.file("study.json"))["tables"], account["tables"]);
    memory_is_the_same_in_every_row(&schema::read("summary", runs.file("summary.json")));
}

/// The device's clock is so low that the cycles of EAP-AKA on this machine take as long as the printed ones did; the repetition has
/// that clock, and the table shows its computation. How many cycles there are is for the machine to say.
fn processors_are_as_slow_as_printed(repetitions: &[Value], account: &Value) {
    let of_eap_aka = |repetition: &Value, figure: &str| {
        let rows = repetition["summary"]["rows"].as_array().unwrap().iter();
        let rows = rows.filter(|row| row["method"] == "ikev2-eap-aka");
        rows.map(|row| row.pointer(figure).and_then(Value::as_f64).unwrap()).collect::<Vec<_>>()
    };
    let mut cycles = of_eap_aka(&repetitions[0], "/cpu/ue/cycles_p50");
    cycles.sort_unstable_by(f64::total_cmp);
    let median = cycles[3].midpoint(cycles[4]);
    let clock_hz = repetitions[1]["clocks_hz"]["ue"].as_f64().unwrap();
    assert_eq!(cycles.len(), 8);
    assert!((clock_hz * 248e6 / 1.6e9 / median - 1.0).abs() < 1e-9, "{clock_hz} Hz, {cycles:?}");
    for sampled_hz in of_eap_aka(&repetitions[1], "/cpu/ue/sampled/cpu_hz") {
        assert!((sampled_hz / clock_hz - 1.0).abs() < 1e-3, "{sampled_hz} Hz, {clock_hz} Hz");
    }
    let mut computation = of_eap_aka(&repetitions[1], "/delay_split_p50_ms/computation");
    computation.sort_unstable_by(f64::total_cmp);
    let median = computation[3].midpoint(computation[4]);
    let shown = cells(account, "Computational times: computation in the delay", "EAP-AKA")[1].unwrap();
    assert!((shown / median - 1.0).abs() < 1e-9, "{shown} ms, {computation:?}");
}

/// Memory depends neither on the network nor on the rows that a thread ran before: memory that is allocated once for a process or thread is no node's. But
/// a second thread that signs with an RSA key at the same time makes the library keep a second pair of blinding factors with it, once in a
/// process: of two threads one row pays for it.
fn memory_is_the_same_in_every_row(summary: &Value) {
    let mut peaks: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for row in summary["rows"].as_array().unwrap() {
        for (node, memory) in row["memory_bytes"].as_object().unwrap() {
            let key = (row["method"].to_string(), node.clone());
            peaks.entry(key).or_default().push(memory["peak"].as_f64().unwrap());
        }
    }
    for (of, mut all) in peaks {
        all.sort_unstable_by(f64::total_cmp);
        let median = all[all.len() / 2];
        let far = all.iter().filter(|peak| (**peak / median - 1.0).abs() >= 0.05).count();
        assert!(far <= 1, "{of:?}: {all:?}");
    }
}

/// The methods in the order of a column of a table: that of places.
fn ordered(account: &Value, column: usize) -> Vec<String> {
    let tables = account["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["title"] == "Order of the methods").unwrap();
    let line = |line: &Value| {
        (line["cells"][column]["value"].as_f64().unwrap() as u64, line["label"].as_str().unwrap().to_owned())
    };
    let mut lines: Vec<_> = table["lines"].as_array().unwrap().iter().map(line).collect();
    lines.sort();
    lines.into_iter().map(|(_, label)| label).collect()
}

/// Paper 003's second half: the ranking of the run is that of `keytoll rank`, beside what follows from the slides.
#[test]
fn the_study_of_suitability_ranks_its_run() {
    let runs = Runs::new("suitability");
    let out = &runs.out();
    let arguments =
        ["study", "suitability", "--samples", "2", "--set", "exponents=short", "--json", "--out", out];
    let Output { status, stdout, stderr } = keytoll(&arguments);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let account = schema::read("study", stdout);
    let unjudged = |finding: &&Value| finding["verdict"] == "cannot_be_judged";
    assert_eq!(account["findings"].as_array().unwrap().iter().filter(unjudged).count(), 0, "{account:#}");
    let printed =
        ["security", "performance", "deployment", "extra"].map(|main| cells(&account, "Weights", main)[2]);
    assert_eq!(printed, [3075.0, 2070.0, 2785.0, 2070.0].map(Some));
    assert_eq!(ordered(&account, 3), ["DEX-AKA", "DEX", "BEX", "PSK", "EAP-AKA", "EAP-TLS"]);
    let ranking = schema::read("ranking", keytoll(&["rank", out, "--draws", "1", "--json"]).stdout);
    let ranked = ranking["alternatives"].as_array().unwrap().iter();
    let ranked: Vec<_> = ranked.map(|one| one["name"].as_str().unwrap().to_uppercase()).collect();
    assert_eq!(ordered(&account, 1), ranked, "the second column has the processors of the scenario");
    assert!(keytoll(&["report", out]).status.success());
    assert_eq!(schema::read("study", runs.file("study.json")), account, "the report is the same again");
}

/// Without cryptography nothing can be ranked, and it says why.
#[test]
fn a_run_without_cryptography_is_not_ranked_by_its_study() {
    let runs = Runs::new("suitability-null");
    let arguments =
        ["study", "suitability", "--crypto", "null", "--samples", "1", "--json", "--out", &runs.out()];
    let account = schema::read("study", keytoll(&arguments).stdout);
    let notes = account["notes"].as_array().unwrap();
    let is_told = |note: &Value| {
        note.as_str().unwrap().starts_with("This run cannot be ranked: computation takes no time")
    };
    assert!(notes.iter().any(is_told), "{notes:#?}");
}

/// Paper 000's dimensioning: cores follow from costs, and the simulator is as busy as computed. Its costs are those of a table and the
/// seed is the scenario's, so that the shares are the same on every machine; of 200 devices they are within a tenth.
#[test]
fn the_study_of_dimensioning_asks_the_simulator() {
    let runs = Runs::new("dimensioning");
    let out = &runs.out();
    let Output { status, stdout, stderr } =
        keytoll(&["study", "dimensioning", "--samples", "2", "--json", "--out", out]);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let account = schema::read("study", stdout);
    // 200 devices are too few to decide within 5 %, but every finding has its numbers.
    let evidence = |finding: &Value| finding["evidence"].as_array().unwrap().len();
    let findings = account["findings"].as_array().unwrap();
    assert!(findings.len() == 4 && findings.iter().all(|finding| evidence(finding) >= 9), "{account:#}");
    assert_eq!(cells(&account, "Authentications a second", "TLS-2-2")[2], Some(30.0));
    let supplement = schema::read("supplement", runs.file("supplement.json"));
    let simulations = supplement["simulations"].as_array().unwrap();
    assert_eq!(simulations.len(), 9);
    for simulation in simulations {
        let busy = |side: &str| simulation[side]["utilisation"]["gw"].as_f64().unwrap();
        assert!((busy("simulated") / busy("predicted") - 1.0).abs() < 0.1, "{simulation:#}");
    }
    assert!(keytoll(&["report", out]).status.success());
    assert_eq!(schema::read("study", runs.file("study.json")), account, "the report is the same again");
}

/// Every study in a directory of its own, and a page with all of them.
#[test]
fn all_studies_leave_their_runs_and_one_report() {
    let runs = Runs::new("all");
    let out = &runs.out();
    let all = ["study", "all", "--samples", "1", "--crypto", "null", "--out", out];
    let Output { status, stdout, stderr } = keytoll(&[&all[..], &["--json"]].concat());
    let told = String::from_utf8(stderr).unwrap();
    assert!(status.success(), "{told}");
    let accounts = schema::read("studies", stdout);
    let names: Vec<_> = accounts["studies"].as_array().unwrap().iter().map(|study| &study["study"]).collect();
    assert_eq!(names.len(), 7);
    for name in names {
        let name = name.as_str().unwrap();
        assert!(runs.0.join("run").join(name).join("study.json").is_file(), "{name}");
        assert!(told.contains(&format!(" of 7: {name}\n")), "{told}");
    }
    assert!(accounts["missing"].as_array().unwrap().is_empty() && told.starts_with("7 studies: "), "{told}");
    let page = runs.file("report.html");
    assert!(page.contains("dex-aka-saves-memory") || page.contains("20 % of the memory"), "{page}");
    let shown = String::from_utf8(keytoll(&all).stdout).unwrap();
    assert!(shown.contains("findings of 7 studies") && shown.contains("dex-aka-saves-memory"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    let of_all = String::from_utf8(keytoll(&["compare", out]).stderr).unwrap();
    assert!(of_all.contains("holds run directories") && of_all.contains("run/ikev2-wireless`"), "{of_all}");
}

#[test]
fn mistakes_are_told_before_any_study_runs() {
    let runs = Runs::new("all-mistakes");
    std::fs::create_dir_all(runs.0.join("run")).unwrap();
    std::fs::write(runs.0.join("run/rrkm"), "mine").unwrap();
    let refused = keytoll(&["study", "all", "--samples", "1", "--crypto", "null", "--out", &runs.out()]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && !told.contains("study 1 of"), "{told}");
    assert!(!runs.0.join("run/ikev2-wireless").exists());
    let wrong = keytoll(&["study", "all", "--set", "interval=never", "--out", &runs.out()]);
    assert_eq!(wrong.status.code(), Some(2));
    // The kernel makes no directories there.
    let nowhere = keytoll(&["study", "all", "--samples", "1", "--crypto", "null", "--out", "/proc/keytoll"]);
    let told = String::from_utf8(nowhere.stderr).unwrap();
    assert!(told.matches("cannot be used").count() == 1 && !told.contains("study 1 of"), "{told}");
}
