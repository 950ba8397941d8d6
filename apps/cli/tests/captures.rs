//! `--pcap`: what is left behind, what is said of it, and what happens where nothing can be written.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use keytoll_trace::listing::is_of_a_run;

fn keytoll(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keytoll")).args(arguments).output().expect("the program is there")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A directory of its own, removed when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keytoll-captures-{:07}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory can be made");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(out: &Path, more: &[&str]) -> Output {
    let methods = r#"methods=["ikev2-psk", "ikev2-eap-tls"]"#;
    let line = ["run", "quickstart", "--samples", "2", "--set", "networks=loopback", "--set", methods];
    keytoll(&[&line, more, &["--out", out.to_str().expect("a path in UTF-8")]].concat())
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).len()
}

#[test]
fn a_run_leaves_a_capture_for_every_row_and_says_how_to_open_it() {
    let scratch = Scratch::new("run");
    let out = scratch.0.join("run");
    let output = run(&out, &["--pcap"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let capture = out.join("capture");
    let how = format!("WIRESHARK_CONFIG_DIR={0}/000.keys wireshark {0}/000.pcapng", capture.display());
    assert!(
        stderr(&output).contains("2 captures in") && stderr(&output).contains(&how),
        "{}",
        stderr(&output)
    );
    for file in ["000.pcapng", "000.keys/ikev2_decryption_table", "000.keys/esp_sa", "001.keys/tls.keys"] {
        assert!(length(&capture.join(file)) > 0, "{file}");
    }
    // With fewer authentications there is less to keep; without --pcap there is nothing.
    let whole = length(&capture.join("001.pcapng"));
    assert!(run(&out, &["--pcap", "--pcap-samples", "1", "--no-trace"]).status.success());
    let part = length(&capture.join("001.pcapng"));
    assert!(part < whole * 2 / 3 && part > whole / 3, "{part} of {whole} bytes");
    assert!(run(&out, &[]).status.success());
    assert!(!capture.exists());
}

#[test]
fn in_a_live_run_every_node_captures_its_own_sockets() {
    let scratch = Scratch::new("live");
    let out = scratch.0.join("run");
    let output = run(&out, &["--world", "live", "--pcap", "--pcap-samples", "1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("5 captures in"), "{}", stderr(&output));
    for node in ["000.ue", "000.gw", "001.ue", "001.gw", "001.aaa"] {
        assert!(length(&out.join(format!("capture/{node}.pcapng"))) > 1000, "{node}");
    }
    // Of one authentication; neither the warm-up nor the second one is in it.
    let decoded = keytoll(&["decode", out.join("capture/000.ue.pcapng").to_str().expect("UTF-8")]);
    let ladder = String::from_utf8_lossy(&decoded.stdout).into_owned();
    assert_eq!(ladder.matches("IKE_SA_INIT request").count(), 1, "{ladder}");
}

#[test]
fn a_limit_without_a_capture_is_a_mistake() {
    let output = keytoll(&["run", "quickstart", "--pcap-samples", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--pcap"), "{}", stderr(&output));
}

#[test]
fn where_nothing_can_be_written_the_environment_is_blamed() {
    let scratch = Scratch::new("device");
    let device = scratch.0.join("device.toml");
    let text = include_str!("../../../scenarios/live/device-psk.toml");
    std::fs::write(&device, text).expect("it can be written");
    let nowhere = scratch.0.join("nowhere/device.pcapng");
    let output =
        keytoll(&["connect", device.to_str().expect("UTF-8"), "--pcap", nowhere.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let flat = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("cannot write the capture"), "{flat}");
}

/// `--force` replaces a run only if keytoll wrote all of its files, key tables of captures among them.
#[test]
fn every_key_table_of_a_family_is_a_file_of_a_run() {
    let tables: Vec<&str> = keytoll_rigs::FAMILIES
        .iter()
        .flat_map(|family| family.key_tables())
        .map(|table| table.file)
        .collect();
    assert!(tables.contains(&"80211_keys") && tables.contains(&"esp_sa"), "{tables:?}");
    let is_of_a_run = |table: &&str| is_of_a_run(Path::new(&format!("capture/000.keys/{table}")));
    assert_eq!(tables.iter().filter(|table| !is_of_a_run(table)).collect::<Vec<_>>(), [&""; 0]);
    assert!(!is_of_a_run(&"of-another"));
}

#[test]
fn a_run_of_a_wireless_lan_is_replaced_with_its_keys() {
    let scratch = Scratch::new("wlan");
    let out = scratch.0.join("run");
    let line = ["run", "wlan", "--samples", "1", "--set", r#"methods=["wpa2-psk"]"#, "--pcap", "--force"];
    for _ in 0..2 {
        let output = keytoll(&[&line[..], &["--out", out.to_str().expect("a path in UTF-8")]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(!stderr(&output).contains("was kept"), "{}", stderr(&output));
    }
    assert!(length(&out.join("capture/000.keys/80211_keys")) > 0);
    let left = std::fs::read_dir(&scratch.0).expect("a directory").count();
    assert_eq!(left, 2, "a name and the run that it leads to");
}

/// The README of the captures of others has commands and lines of their output.
#[test]
fn captures_of_others_are_decoded_as_their_readme_says() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../world/decode/tests/captures/others");
    let readme = std::fs::read_to_string(directory.join("README.md")).unwrap();
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut commands = 0;
    for block in readme.split("$ keytoll ").skip(1) {
        let mut lines = block.lines();
        let arguments: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_keytoll"));
        let output = command.args(&arguments).current_dir(&directory).output().unwrap();
        let shown = squeezed(&String::from_utf8(output.stdout).unwrap());
        let wanted = lines.take_while(|line| !line.is_empty() && *line != "```");
        assert!(wanted.clone().count() > 0, "{arguments:?} has no line");
        wanted.for_each(|line| assert!(shown.contains(line), "{arguments:?}: no `{line}` in\n{shown}"));
        commands += 1;
    }
    assert_eq!(commands, 24);
}
