//! `keytoll decode` and `keytoll measure` on captures of charon with FreeRADIUS, and on captures of our own runs, whose
//! counts are known.
//!
//! `world/decode/tests/captures` was recorded with tcpdump at the gateway of /interop's chain: charon 5.9.8 (its
//! save-keys plugin wrote the tables), charon with eap-radius, FreeRADIUS 3.2.1. The keys are those of these SAs alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::schema;

pub(crate) const CAPTURES: &str = "world/decode/tests/captures";

/// Runs `keytoll` in the root of the repository.
fn keytoll(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_keytoll")).args(arguments).current_dir(root).output().unwrap()
}

/// What a command writes to stdout, and its exit code.
fn stdout(line: &str) -> (String, i32) {
    let arguments = line.split(' ').collect::<Vec<_>>();
    let output = keytoll(&arguments);
    (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
}

pub(crate) fn json(line: &str) -> Value {
    let (text, _) = stdout(line);
    schema::read(if line.starts_with("decode ") { "decode" } else { "summary" }, text)
}

#[test]
fn a_handshake_of_charon_as_a_ladder() {
    let (ladder, code) = stdout(&format!("decode {CAPTURES}/charon-psk.pcapng --keys {CAPTURES}/keys"));
    insta::assert_snapshot!(ladder);
    assert_eq!(code, 0);
}

#[test]
fn a_capture_is_a_page_of_ladders() {
    let page = std::env::temp_dir().join(format!("keytoll-decode-{}.html", std::process::id()));
    let line =
        format!("decode {CAPTURES}/charon-psk.pcapng --keys {CAPTURES}/keys --html {}", page.display());
    assert_eq!(stdout(&line).1, 0);
    let html = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(page).unwrap();
    let (_, data) = html.split_once(r#"id="ladder-1""#).unwrap();
    for told in ["IKE_SA_INIT request", "IKE_AUTH response", r#""nodes":["ue","gw"]"#] {
        assert!(data.contains(told), "{told}");
    }
}

#[test]
fn eap_through_radius_is_one_conversation_also_without_keys() {
    let with_keys = stdout(&format!("decode {CAPTURES}/charon-ttls-md5.pcapng --keys {CAPTURES}/keys")).0;
    let without = stdout(&format!("decode {CAPTURES}/charon-ttls-md5.pcapng")).0;
    insta::assert_snapshot!("eap_with_keys", with_keys);
    insta::assert_snapshot!("eap_without_keys", without);
    for line in with_keys.lines().chain(without.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

/// `interop.md` §3 counted these flows with tshark: IKE and RADIUS messages, and bytes with IP headers.
#[test]
fn captures_of_charon_have_the_counts_that_tshark_found() {
    for (name, link, messages, bytes) in [
        ("charon-psk", "ue-gw", 4.0, 1641.0),
        ("charon-ttls-md5", "ue-gw", 16.0, 6025.0),
        ("charon-ttls-md5", "gw-aaa", 12.0, 3544.0),
    ] {
        for keys in ["", &format!(" --keys {CAPTURES}/keys")] {
            let summary = json(&format!("measure {CAPTURES}/{name}.pcapng --json{keys}"));
            let row = &summary["rows"][0];
            assert_eq!((&row["succeeded"], &row["world"]), (&1.into(), &"captured".into()), "{name}");
            let link = &row["links"][link];
            assert_eq!(
                (&link["messages"], &link["bytes"]),
                (&messages.into(), &bytes.into()),
                "{name}{keys}"
            );
            assert!(row["delay_ms"]["mean"].as_f64().unwrap() > 0.0 && row["cpu"] == serde_json::json!({}));
        }
    }
}

#[test]
fn the_document_names_every_message() {
    let document = json(&format!("decode {CAPTURES}/charon-ttls-md5.pcapng --keys {CAPTURES}/keys --json"));
    let conversation = &document["conversations"][0];
    assert_eq!(conversation["outcome"]["name"], "established");
    assert_eq!(conversation["messages"].as_array().unwrap().len(), 28);
    assert_eq!(conversation["messages"][2]["name"], "IKE_AUTH request 1");
    assert_eq!(
        conversation["messages"][2]["parts"][0],
        serde_json::json!({ "name": "IDi", "detail": "ue@lab" })
    );
}

/// A directory that is removed in the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-decode-{:07}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a scenario with captures; each of its rows as the run counted it and as its capture tells it.
fn run_and_measure(scenario: &str, samples: u32, check: impl Fn(&Value, &Value, &str)) {
    run_and_measure_at(scenario, scenario, samples, check);
}

pub(crate) fn run_and_measure_at(
    scenario: &str,
    name: &str,
    samples: u32,
    check: impl Fn(&Value, &Value, &str),
) {
    let scratch = Scratch::new(name);
    let out = scratch.path("run");
    let run = json(&format!("run {scenario} --samples {samples} --pcap --out {out} --json"));
    for (index, row) in run["rows"].as_array().unwrap().iter().enumerate() {
        let capture = format!("{out}/capture/{index:03}");
        for keys in [String::new(), format!(" --keys {capture}.keys")] {
            let measured = json(&format!("measure {capture}.pcapng --json{keys}"));
            let rows = measured["rows"].as_array().unwrap();
            let name = format!("{} {} {}{keys}", row["method"], row["variant"], row["network"]);
            assert_eq!(rows.len(), 1, "{name}: {rows:?}");
            check(row, &rows[0], &name);
        }
    }
}

/// Messages, packets, bytes and retransmissions are the run's own, on every link and after the authentication.
pub(crate) fn same_counts(run: &Value, measured: &Value, name: &str) {
    for field in ["n", "succeeded", "links", "after"] {
        assert_eq!(run[field], measured[field], "{name}: {field}");
    }
}

#[test]
fn a_capture_of_a_run_gives_the_runs_own_counts_where_links_lose_packets() {
    run_and_measure("lossy", 6, |run, measured, name| {
        same_counts(run, measured, name);
        // The capture lacks what the device computes before its first packet.
        let mean = |row: &Value| row["delay_ms"]["mean"].as_f64().unwrap();
        let missing_ms = mean(run) - mean(measured);
        assert!((0.0..1.0).contains(&missing_ms), "{name}: {missing_ms} ms");
    });
}

#[test]
fn a_capture_of_a_run_gives_the_runs_own_counts_where_authentications_fail() {
    run_and_measure("failures", 1, |run, measured, name| {
        same_counts(run, measured, name);
        let failed = |row: &Value| row["failures"].as_object().unwrap().len();
        assert_eq!(failed(run), failed(measured), "{name}");
    });
}

#[test]
fn a_capture_of_a_run_gives_the_runs_own_counts_with_every_eap_method() {
    run_and_measure("eap", 1, same_counts);
}

/// Captures of wireless LANs are read from the authentication on: probes are no part of one conversation.
#[test]
fn a_capture_of_a_wireless_lan_gives_the_runs_own_counts_but_for_the_two_probes() {
    run_and_measure("wlan", 2, |run, measured, name| {
        for field in ["n", "succeeded"] {
            assert_eq!(run[field], measured[field], "{name}: {field}");
        }
        let links = |row: &Value| row["links"].as_object().unwrap().clone();
        let (mut ours, mut theirs) = (links(run), links(measured));
        let [ran, seen] = [&mut ours, &mut theirs].map(|links| links.remove("ue-ap").unwrap());
        let messages = |link: &Value| link["messages"].as_f64().unwrap();
        assert!((messages(&ran) - messages(&seen) - 2.0).abs() < 1e-9, "{name}: {ran} {seen}");
        assert_eq!(ours, theirs, "{name}");
    });
}

/// With the keys that the run wrote beside it, every encrypted frame of its capture can be read: WEP, CCMP, and with RRKM the frames of
/// the first epoch.
#[test]
fn a_capture_of_a_wireless_lan_is_decrypted_with_the_keys_of_the_run() {
    let scratch = Scratch::new("wlan-keys");
    let out = scratch.path("run");
    let run = json(&format!("run wlan --samples 2 --pcap --out {out} --json"));
    let mut opened = 0;
    for index in 0..run["rows"].as_array().unwrap().len() {
        let capture = format!("{out}/capture/{index:03}");
        let document = json(&format!("decode {capture}.pcapng --keys {capture}.keys --json"));
        let sealed = document["conversations"].as_array().unwrap().iter().map(|it| &it["sealed"]);
        for sealed in sealed.filter(|sealed| sealed.is_object()) {
            assert_eq!(sealed["open"], sealed["frames"], "{}", run["rows"][index]["method"]);
            opened += sealed["open"].as_u64().unwrap();
        }
    }
    // An echo and its reply in each protected network, and a protected farewell where management frames are.
    assert!(opened > 80, "{opened} frames");
}

#[test]
fn what_measure_keeps_can_be_reported_again() {
    let scratch = Scratch::new("kept");
    let out = scratch.path("kept");
    let (table, code) = stdout(&format!("measure {CAPTURES}/charon-psk.pcapng --out {out}"));
    assert_eq!(code, 0);
    assert_eq!(stdout(&format!("report {out}")).0, table);
    insta::assert_snapshot!(table);
}

#[test]
fn mistakes_are_told_in_a_sentence() {
    let told = |line: &str| {
        let arguments = line.split(' ').collect::<Vec<_>>();
        let output = keytoll(&arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        format!("$ keytoll {line}\n{}--- exit {}\n", text, output.status.code().unwrap())
    };
    let lines = [
        "decode nowhere.pcap",
        "decode Cargo.toml",
        &format!("decode {CAPTURES}/charon-psk.pcapng --keys scenarios"),
        &format!("decode {CAPTURES}/charon-psk.pcapng --conversation 2"),
        &format!("measure {CAPTURES}/keys/esp_sa"),
    ];
    insta::assert_snapshot!(lines.iter().map(|line| told(line)).collect::<Vec<_>>().join("\n"));
}

/// What a command that reads a file from its standard input writes to both.
fn piped(line: &str, file: &str) -> (String, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let input = std::fs::File::open(root.join(file)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_keytoll"));
    let output = command.args(line.split(' ')).current_dir(root).stdin(input).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn a_capture_comes_from_standard_input_too() {
    let capture = format!("{CAPTURES}/charon-psk.pcapng");
    for verb in ["decode", "decode --json", "measure"] {
        let named = stdout(&format!("{verb} {capture}")).0;
        assert_eq!(
            piped(&format!("{verb} -"), &capture).0,
            named.replace("charon-psk.pcapng:", "-:"),
            "{verb}"
        );
    }
}

#[test]
fn keys_of_another_capture_are_told_from_keys_that_open() {
    let scratch = Scratch::new("other-keys");
    std::fs::write(scratch.path("esp_sa"), "").unwrap();
    let other = format!(
        "0000000000000001,0000000000000002,{0},{0},\"AES-CBC-128 [RFC3602]\",{1},{1},\"HMAC_SHA1_96 [RFC2404]\"\n",
        "11".repeat(16),
        "22".repeat(20)
    );
    std::fs::write(scratch.path("ikev2_decryption_table"), other).unwrap();
    let said = |keys: &str| {
        piped(&format!("decode - --list --keys {keys}"), &format!("{CAPTURES}/charon-psk.pcapng")).1
    };
    let told = "opens anything in -: they may be of another capture";
    let other = said(&scratch.path(""));
    assert!(other.contains(told), "{other}");
    let right = said(&format!("{CAPTURES}/keys"));
    assert!(!right.contains(told), "{right}");
}

/// How many messages a long capture has: a hundred thousand in `.ci/full`, a quarter of them otherwise.
fn messages_max() -> u64 {
    std::env::var("KEYTOLL_LONG_CAPTURE").map_or(25_000, |messages| messages.parse().unwrap())
}

/// A hundred thousand may take 200 MB, and a tenth of that is room: 50 MB are what an unoptimized program has whatever it
/// reads.
const fn peak_kb_max(messages: u64) -> u64 {
    50_000 + 130_000 * messages / 100_000
}

/// However long a capture is, the JSON of one message at a time is made, and what is kept of a message is small.
#[test]
fn a_hundred_thousand_messages_decode_in_less_than_200_mb() {
    let messages_max = messages_max();
    let scratch = Scratch::new("long");
    let out = scratch.path("run");
    // Four messages of IKE before the SA is usable and two when it ends, two of ESP.
    let samples = messages_max / 6;
    let scenario = scratch.path("long.toml");
    let text = format!(
        "title = \"long\"\nsamples = {samples}\ncrypto = \"null\"\nmethods = [\"ikev2-psk\"]\n\
         networks = [{{ name = \"short\", delay = \"1 ms\" }}]\n"
    );
    std::fs::write(&scenario, text).unwrap();
    let run = format!("run {scenario} --no-trace --pcap --out {out}");
    assert_eq!(stdout(&run).1, 0, "{run}");
    for line in ["--json", "--list", ""] {
        let (messages, peak_kb) = peak(&format!("decode {out}/capture/000.pcapng {line}"));
        println!("decode {line}: {peak_kb} kB at its peak");
        assert!(peak_kb < peak_kb_max(messages_max), "decode {line}: {peak_kb} kB");
        assert!(line != "--json" || messages >= messages_max, "{messages}");
    }
}

/// How many messages a command's JSON has, and the most memory that it had.
fn peak(line: &str) -> (u64, u64) {
    use std::io::{BufRead, BufReader};
    let mut command = Command::new(env!("CARGO_BIN_EXE_keytoll"));
    let mut child =
        command.args(line.split_whitespace()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let (mut messages, mut peak_kb) = (0, 0);
    for (number, text) in (0_u64..).zip(BufReader::new(child.stdout.take().unwrap()).lines()) {
        messages += u64::from(text.unwrap().contains("\"from_address\""));
        if number % 4096 == 0 {
            let status = std::fs::read_to_string(&status).unwrap();
            let high = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let high = high.map(|high| high.trim().trim_end_matches(" kB").parse().unwrap());
            peak_kb = high.unwrap_or(peak_kb).max(peak_kb);
        }
    }
    assert!(child.wait().unwrap().success());
    (messages, peak_kb)
}

/// One rule for the files of every verb: 2 says that it is not there or is something else, 3 that it is damaged.
#[test]
fn a_missing_capture_and_a_damaged_one_have_their_exit_codes() {
    let scratch = Scratch::new("codes");
    let whole = std::fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(CAPTURES).join("charon-psk.pcapng"),
    );
    let whole = whole.unwrap();
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(scratch.path(name), bytes).unwrap();
        scratch.path(name)
    };
    let mut damaged = whole.clone();
    let last = damaged.len() - 4;
    damaged[last..].fill(0xff);
    let cases = [
        (scratch.path("nowhere.pcap"), 2),
        (file("text", b"no capture"), 2),
        (file("whole", &whole), 0),
        (file("cut", &whole[..whole.len() - 10]), 3),
        (file("damaged", &damaged), 3),
    ];
    for (path, code) in cases {
        for verb in ["decode", "measure"] {
            assert_eq!(stdout(&format!("{verb} {path}")).1, code, "{verb} {path}");
        }
    }
}

#[test]
fn a_directory_is_no_capture() {
    let scratch = Scratch::new("directory");
    let run = scratch.path("run");
    let says = |line: &str| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_keytoll")).args(line.split_whitespace()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let words: Vec<&str> = said.split_whitespace().filter(|word| *word != "│" && *word != "×").collect();
        (output.status.code(), words.join(" "))
    };
    for verb in ["decode", "measure"] {
        let (code, said) = says(&format!("{verb} {run}"));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("does not exist"), "{said}");
    }
    std::fs::create_dir_all(format!("{run}/capture")).unwrap();
    for (file, hint) in
        [(None, "name a pcap or pcapng file"), (Some("000.pcapng"), "this run has captures, such as")]
    {
        file.iter().for_each(|file| std::fs::write(format!("{run}/capture/{file}"), "").unwrap());
        let (code, said) = says(&format!("decode {run}"));
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("is a directory, not a capture") && said.contains(hint), "{said}");
    }
    let capture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(CAPTURES).join("charon-psk.pcapng");
    let (code, said) = says(&format!("decode {} --keys {run}/nowhere", capture.display()));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("there is no directory") && !said.contains("os error"), "{said}");
}
