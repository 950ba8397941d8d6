//! Tests that no secret of the laboratory is in the files of a run, nor in the debug output of its hosts.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use keytoll_crypto_api::{Secret, Seed};
use keytoll_rigs::RIGS;
use keytoll_scenario::catalogue::Method;
use keytoll_scenario::plan::{Plan, RowPlan};
use keytoll_scenario::{Overrides, Source};
use memchr::memmem;

use crate::{Captures, Credentials, Directory, Memory, Program, Row, Stop, manifest, run};

/// The likely textual forms of a secret.
fn spellings(secret: &[u8]) -> Vec<Vec<u8>> {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let debug = format!("{secret:?}");
    let list = debug.trim_matches(['[', ']']).to_owned();
    let hex_list = format!("{secret:x?}").trim_matches(['[', ']']).to_owned();
    let texts = [hex.to_uppercase(), hex, list, hex_list];
    std::iter::once(secret.to_vec()).chain(texts.map(String::into_bytes)).collect()
}

fn holds(haystack: &[u8], secret: &[u8]) -> bool {
    let found = |needle: &Vec<u8>| memmem::find(haystack, needle).is_some();
    spellings(secret).iter().any(found)
}

/// The secrets of a row.
fn secrets(seed: &Seed) -> Vec<(&'static str, Secret)> {
    RIGS.iter().flat_map(|rig| rig.secrets(seed)).collect()
}

/// The name that rigs use for the password of a row.
const PASSWORD: &str = "password";

fn check(place: &str, haystack: &[u8], plan: &Plan, row: &RowPlan) {
    check_but(&|_| false, place, haystack, plan, row);
}

fn check_but(may_show: &dyn Fn(&str) -> bool, place: &str, haystack: &[u8], plan: &Plan, row: &RowPlan) {
    for (name, secret) in secrets(&plan.seed_of(row)).into_iter().filter(|(name, _)| !may_show(name)) {
        assert!(!holds(haystack, &secret), "{place} shows the {name} of {}", row.method.name());
    }
}

/// Every method with a secret; null crypto would not use it.
fn plan() -> Plan {
    let named = |method: &Method| method.eap().is_some() || method.is_psk();
    let methods: Vec<_> = Method::all().filter(|method| named(method)).map(Method::name).collect();
    let methods = format!("methods={methods:?}");
    let overrides = ["samples=1", "networks=loopback", &methods];
    let overrides = Overrides::parse(&overrides).expect("literal overrides");
    let source = Source::builtin("quickstart").expect("it is built in");
    source.plan(&overrides).expect("every method runs over loopback")
}

fn shows_password(row: &RowPlan) -> bool {
    row.method.eap().is_some_and(|eap| eap.shows_password)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the run made it");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn no_file_of_a_run_contains_a_secret() {
    let plan = plan();
    let path = std::env::temp_dir().join(format!("keytoll-secrets-{}", std::process::id()));
    let directory = Directory::create(&path.join("run"), manifest(&plan, &Program::default()), false)
        .expect("a fresh directory");
    let captures = Captures::new(&directory, &plan, directory.path(), u32::MAX).expect("it can be written");
    run(&plan, 1, &captures, &|| {}, &AtomicBool::new(false)).expect("it runs");
    directory.complete().expect("it can be written");
    keytoll_report::directory::render(directory.path(), |_| keytoll_report::page::OfPlan::default())
        .expect("it can be measured");
    let files = files(&directory.publish().expect("it can be moved").home);
    let has = |name: &str| files.iter().any(|file| file.ends_with(name));
    for name in [
        "manifest.json",
        "trace/000.trace",
        "costs/000.costs",
        "summary.json",
        "samples.csv",
        "report.html",
        "capture/000.pcapng",
        "capture/000.keys/esp_sa",
    ] {
        assert!(has(name), "{name} is among {files:?}");
    }
    // A capture with keys has the keys of its sessions and the RADIUS secret, in separate files.
    let is_key_table =
        |file: &&PathBuf| file.parent().is_some_and(|parent| parent.extension() == Some("keys".as_ref()));
    let is_capture = |file: &PathBuf| file.extension() == Some("pcapng".as_ref());
    for file in files.iter().filter(|file| !is_key_table(file)) {
        let bytes = std::fs::read(file).expect("it was just written");
        for row in &plan.rows {
            // A capture of RADIUS has the password of methods that send it in the clear, and no other secret.
            let may_show = |name: &str| name == PASSWORD && is_capture(file) && shows_password(row);
            check_but(&may_show, &file.display().to_string(), &bytes, &plan, row);
        }
    }
    std::fs::remove_dir_all(&path).expect("it is ours");
}

#[test]
fn no_host_prints_a_secret_in_a_log() {
    let plan = plan();
    let credentials = Credentials::prepare(&plan);
    for planned in &plan.rows {
        let mut row = Row::new(&plan, planned, &credentials, 3e9);
        let mut memory = Memory::default();
        let before = format!("{:?}", row.hosts().collect::<Vec<_>>());
        let end = row.run(&mut memory, &|| {}, &Stop::new(false));
        assert_eq!(end.failed, 0, "{}: the secrets are the right ones", planned.method.name());
        let after = format!("{:?} {:?} {plan:?}", row.hosts().collect::<Vec<_>>(), memory.records);
        for text in [before, after] {
            assert!(text.contains("Gateway") || text.contains("AccessPoint"), "{text}");
            check("a log", text.as_bytes(), &plan, planned);
        }
    }
}

#[test]
fn the_search_finds_what_is_there() {
    let secret = [1_u8, 0xab, 3, 0xcd];
    for text in ["key=01abcd", "01AB03CD", "Key([1, 171, 3, 205])", "[1, ab, 3, cd]", "\x01\u{ab}"] {
        let is_there = text != "key=01abcd" && !text.starts_with('\x01');
        assert_eq!(holds(text.as_bytes(), &secret), is_there, "{text}");
    }
    assert!(holds(&[0, 1, 0xab, 3, 0xcd, 9], &secret));
}
