//! Populations on the command line: run, reported, checked and refused.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs `keytoll` in the root of the repository.
fn keytoll(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_keytoll")).args(arguments).current_dir(root).output().unwrap()
}

/// A directory that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Refused as a mistake of the user, in a sentence with these words.
fn assert_refused(output: &Output, words: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    let told = told.replace('│', " ");
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.status.code() == Some(2) && told.contains(words), "{told}");
}

/// A file of times stands beside the scenario that names it; one on the command line is relative to the working directory.
#[test]
fn times_of_arrivals_are_read_beside_the_scenario() {
    let scratch = Scratch::new("times");
    let times = ["--set", "population.devices=3", "--set", "population.arrivals=times none.csv"];
    for verb in ["check", "run"] {
        assert_refused(&keytoll(&[&[verb, "storm"], &times[..]].concat()), "there is no such file");
    }
    let beside = scratch.0.join("beside.toml");
    let text = "title = \"t\"\nmethods = \"ikev2-psk\"\nnetworks = \"lte\"\n[population]\ndevices = 2\narrivals = \"times when.csv\"\n";
    std::fs::write(&beside, text).unwrap();
    let beside = ["check", beside.to_str().unwrap()];
    assert_refused(&keytoll(&beside), "when.csv` cannot be read: there is no such file");
    std::fs::write(scratch.0.join("when.csv"), "at_s\n0\n1.5\n").unwrap();
    let found = keytoll(&beside);
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
}

/// A population leaves its counts, a line for each second and a summary with the attempts of every row, and can be reported again.
#[test]
fn a_population_is_run_reported_and_checked() {
    let scratch = Scratch::new("population");
    let devices = ["--set", "population.devices=300", "--set", "population.arrivals=storm 300 in 2 s"];
    let out = scratch.0.join("run");
    let run = |verb: &[&str]| {
        let of = [verb, &devices[..], &["--out", out.to_str().unwrap()]].concat();
        keytoll(&of)
    };
    assert_eq!(run(&["check", "storm"]).status.code(), Some(0));
    let ran = run(&["run", "storm"]);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let screen = String::from_utf8(ran.stdout).unwrap();
    assert!(screen.contains("Serving nodes") && screen.contains("delay p99"), "{screen}");
    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["complete"], true);
    for row in summary["rows"].as_array().unwrap() {
        assert_eq!((&row["n"], &row["succeeded"]), (&300.into(), &300.into()), "{row}");
        assert!(row["population"]["delay_ms"]["p99_99"].as_f64().unwrap() > 0.0);
    }
    let series = std::fs::read_to_string(out.join("series.csv")).unwrap();
    assert!(series.lines().count() > 9 && series.starts_with("method,"), "{series}");
    assert_eq!(keytoll(&["report", out.to_str().unwrap()]).status.code(), Some(0));
    let sized = ["--subscribers", "300", "--reauth", "1h", "--p99", "1s"];
    for (verb, more) in [("rank", &[][..]), ("size", &sized)] {
        assert_refused(&keytoll(&[&[verb, out.to_str().unwrap()], more].concat()), "no single");
    }
    let same =
        keytoll(&["compare", out.to_str().unwrap(), out.to_str().unwrap(), "--fail-if", "delay.p99 > +1%"]);
    let told = String::from_utf8_lossy(&same.stdout);
    assert!(same.status.success() && told.contains("the same values"), "{told}");
    let rows = keytoll(&["compare", out.to_str().unwrap(), "--fail-if", "delay.p99 > +1%"]);
    let told = String::from_utf8_lossy(&rows.stdout);
    assert!(rows.status.code() == Some(1) && told.contains("utilisation_share.gw"), "{told}");
    let kept = out.join("population.json");
    let text = std::fs::read_to_string(&kept).unwrap();
    assert!(text.contains("\"established\":300"), "{text}");
    std::fs::write(&kept, text.replacen("\"established\":300", "\"established\":999", 1)).unwrap();
    let damaged = keytoll(&["report", out.to_str().unwrap()]);
    assert_eq!(damaged.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&damaged.stderr).contains("it is damaged: its CRC-32 is"));
    std::fs::remove_file(&kept).unwrap();
    assert_eq!(keytoll(&["report", out.to_str().unwrap()]).status.code(), Some(3));
    let missing = keytoll(&["compare", out.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&missing.stderr);
    assert!(missing.status.code() == Some(3) && told.contains("population.json: it is missing"), "{told}");
    assert_refused(&run(&["run", "storm", "--pcap"]), "population");
    let wrong = run(&["run", "storm", "--set", "population.wrong=100 %"]);
    assert_eq!(
        wrong.status.code(),
        Some(0),
        "nobody was to be let in: {}",
        String::from_utf8_lossy(&wrong.stderr)
    );
    let other = scratch.0.join("other.toml");
    let text = "title = \"t\"\nmethods = \"hip-bex\"\nnetworks = \"lte\"\n[population]\ndevices = 5\narrivals = \"1 at a time\"\n";
    std::fs::write(&other, text).unwrap();
    assert_refused(
        &keytoll(&["check", other.to_str().unwrap()]),
        "`hip-bex` cannot have this population: every device has a Host Identity of its own, and RSA keys",
    );
}

/// With retransmissions as they are a device asks for 165 s: nobody is back before the end, and it is told why, before and after.
#[test]
fn why_nobody_is_back_from_a_lost_gateway_is_told() {
    let scratch = Scratch::new("back");
    let file = scratch.0.join("lost.toml");
    let text = "title = \"t\"\nmethods = \"ikev2-psk\"\nnetworks = \"lte\"\ncrypto = \"null\"\n\
                [population]\ndevices = 40\narrivals = \"storm 40 in 5 s\"\ngateways = 2\ngateway_lost = \"1 at 20 s\"\n\
                liveness = \"10 s\"\nduration = \"60 s\"\n";
    std::fs::write(&file, text).unwrap();
    let out = scratch.0.join("run");
    let words = |text: &[u8]| String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "no device can be back from the loss of gateway 1: one that is not answered gives it up after all retransmissions, 165 s \
               (`retransmit_first`, `retransmit_base`, `retransmit_tries`), and the population ends 40 s after the loss";
    let [file, out] = [&file, &out].map(|path| path.to_str().unwrap());
    assert!(words(&keytoll(&["check", file]).stderr).contains(&format!("warning: {why}")));
    let ran = keytoll(&["run", file, "--out", out]);
    assert!(words(&ran.stderr).contains(&format!("warning: {why}")), "{ran:?}");
    for screen in [ran, keytoll(&["report", out])] {
        assert!(words(&screen.stdout).ends_with(&format!("Loss of a gateway: {why}.")), "{screen:?}");
    }
    let page = std::fs::read_to_string(scratch.0.join("run/report.html")).unwrap();
    assert!(page.contains(&format!("Loss of a gateway: {why}.")), "the page tells it, too");
}

/// Several gateways have a line for each second each, and one that is lost is told on the screen, in the summary and on the page.
#[test]
fn several_gateways_are_told_apart_and_the_loss_of_one() {
    let scratch = Scratch::new("gateways");
    let file = scratch.0.join("two.toml");
    let text = "title = \"t\"\nmethods = \"ikev2-psk\"\nnetworks = \"lte\"\ncrypto = \"null\"\n\
                [options]\ncookies = \"always\"\nretransmit_first = \"1 s\"\nretransmit_base = 2.0\nretransmit_tries = 2\n\
                [population]\ndevices = 60\narrivals = \"storm 60 in 5 s\"\ngateways = 2\ngateway_lost = \"1 at 20 s\"\n\
                liveness = \"10 s\"\nduration = \"60 s\"\n";
    std::fs::write(&file, text).unwrap();
    let out = scratch.0.join("run");
    let run = |verb: &str| keytoll(&[verb, file.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let checked = String::from_utf8(run("check").stdout).unwrap();
    let told = checked.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("2 gateways, of which number 1 is lost after 20 s"), "{checked}");
    let ran = run("run");
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let screen = String::from_utf8(ran.stdout).unwrap();
    for words in ["gw-1", "gw-2", "Loss of a gateway", "outage p50", "cookies"] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    let summary: serde_json::Value =
        serde_json::from_slice(&std::fs::read(out.join("summary.json")).unwrap()).unwrap();
    let population = &summary["rows"][0]["population"];
    let (loss, nodes) = (&population["loss"], &population["nodes"]);
    assert_eq!((&loss["devices"], &loss["gateway"]), (&loss["devices_back"], &"gw-1".into()), "{population}");
    let established = |name: &str| nodes[name]["established"].as_u64().unwrap();
    assert_eq!(established("gw-1") + established("gw-2"), 60 + loss["devices"].as_u64().unwrap());
    assert_eq!(population["cookies"]["repeated"], population["begun"], "everybody is asked for one");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let (series, gateways) = (read("series.csv"), read("gateways.csv"));
    assert_eq!(gateways.lines().count() - 1, 2 * (series.lines().count() - 1));
    let page = read("report.html");
    assert!(page.contains("Loss of a gateway") && page.contains("gw-1 was lost after 20 s"));
    let manifest = read("manifest.json");
    assert!(manifest.contains("gateways.csv"), "{manifest}");
    std::fs::remove_file(out.join("gateways.csv")).unwrap();
    assert_eq!(keytoll(&["report", out.to_str().unwrap()]).status.code(), Some(0));
    assert_eq!(read("gateways.csv"), gateways);
}
