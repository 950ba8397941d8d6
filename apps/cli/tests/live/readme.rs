//! README's four terminals: its files are started as they stand in `scenarios/live`, but for ports that may be taken, and what
//! README shows of the device is what it prints. `UPDATE_README=1` takes over what it prints: of several authentications of the
//! release build, where there is one (`cargo build --release`), the one that took as long as most.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::support::{Dir, Node, PROGRAM, keytoll_at};

/// The first line of what README shows.
const FIRST: &str = "connected to the gateway at ";
/// What of it differs from one authentication to the next: pseudonyms and signatures have not always as many bytes.
const BYTES_MORE_OR_LESS: u64 = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The examples, their keys just made; none where there is no openssl, which makes them.
fn examples() -> Option<Dir> {
    let dir = Dir::new();
    for entry in fs::read_dir(root().join("scenarios/live")).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            fs::copy(entry.path(), dir.path(entry.file_name().to_str().unwrap())).unwrap();
        }
    }
    let made = Command::new("sh").arg(dir.path("keys.sh")).output().unwrap();
    if Command::new("openssl").arg("version").output().is_err() {
        return None;
    }
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(dir)
}

/// The path of an example in which some words are others: each must be there.
fn changed(dir: &Dir, name: &str, changes: &[(&str, String)]) -> String {
    let text = fs::read_to_string(dir.path(name)).unwrap();
    let change = |text: String, (old, new): &(&str, String)| {
        assert!(text.contains(old), "{name} has no {old}");
        text.replace(old, new)
    };
    dir.write(name, &changes.iter().fold(text, change))
}

/// What the device of README's last terminal prints each of so many times, with the ports of the examples.
fn connected(program: &Path, dir: &Dir, times: usize) -> Vec<String> {
    let any = || "port = 0".to_owned();
    let at = |port: u16| format!("\"127.0.0.1:{port}\"");
    let hss = Node::start_at(program, dir, &["hss", &changed(dir, "hss.toml", &[("port = 13868", any())])]);
    let server = at(hss.port(0));
    let ports = [("port = 15812", any()), ("port = 15813", any()), ("\"127.0.0.1:13868\"", server)];
    let aaa = Node::start_at(program, dir, &["aaa", &changed(dir, "aaa.toml", &ports)]);
    let ports = [
        ("port = 15500", any()),
        ("port = 15501", any()),
        ("\"127.0.0.1:15812\"", at(aaa.port(0))),
        ("accounting_port = 15813", format!("accounting_port = {}", aaa.port(1))),
    ];
    let gateway = Node::start_at(program, dir, &["gateway", &changed(dir, "gateway-eap.toml", &ports)]);
    let [ike, nat] = [0, 1].map(|socket| gateway.port(socket));
    let ports =
        [("\"127.0.0.1:15500\"", at(ike)), ("gateway_nat_port = 15501", format!("gateway_nat_port = {nat}"))];
    let file = changed(dir, "device-aka.toml", &ports);
    let connect = |_| {
        let device = keytoll_at(program, &["connect", &file]);
        assert!(device.status.success(), "{}", String::from_utf8_lossy(&device.stderr));
        let said = String::from_utf8(device.stdout).unwrap();
        said.replace(&format!(":{ike}"), ":15500").replace(&format!(":{nat}"), ":15501")
    };
    (0..times).map(connect).collect()
}

fn is_update() -> bool {
    std::env::var_os("UPDATE_README").is_some()
}

/// What it prints of the authentication whose time is the median of several. Of them the first takes longest, for every program
/// has to begin with its cryptography.
fn usual(dir: &Dir) -> String {
    const AUTHENTICATIONS: usize = 9;
    let builds = Path::new(PROGRAM).ancestors().nth(2).expect("it stands in a directory of its build");
    let release = builds.join("release/keytoll");
    let program = if release.is_file() { &release } else { Path::new(PROGRAM) };
    let mut said = connected(program, dir, AUTHENTICATIONS);
    said.sort_by(|one, other| usable_after_ms(one).total_cmp(&usable_after_ms(other)));
    said.swap_remove(AUTHENTICATIONS / 2)
}

fn usable_after_ms(said: &str) -> f64 {
    let (_, from) = said.split_once("usable after ").unwrap();
    from.split_once(" ms").unwrap().0.parse().unwrap()
}

/// What README has room for: who is who, the first messages, the end.
fn shown(said: &str) -> String {
    let is_told =
        |line: &&str| !line.contains("SPIs") && !line.contains("ESP suite") && !line.contains("traffic");
    let (about, messages) = said.split_once("\n\n").unwrap();
    let (messages, end) = messages.split_once("\n\n").unwrap();
    let about: Vec<&str> = about.lines().filter(is_told).collect();
    let messages: Vec<&str> = messages.lines().take(5).collect();
    [about.join("\n").as_str(), "  …", messages.join("\n").as_str(), "  …", end.trim_end()].join("\n")
}

/// What of a line is the same each time, and how many bytes it tells.
fn lasting(line: &str) -> (String, Option<u64>) {
    if let Some(arrow) = line.find(['→', '←']) {
        let bytes = line[..arrow].split_whitespace().last().unwrap();
        return (line[arrow..].to_owned(), Some(bytes.parse().unwrap()));
    }
    match line.split_once("; ") {
        Some((_, sums)) => {
            let [messages, bytes, again] = sums.split(", ").collect::<Vec<_>>().try_into().unwrap();
            let bytes = bytes.trim_end_matches(" bytes").parse().unwrap();
            (format!("{messages}, {again}"), Some(bytes))
        }
        None => (line.to_owned(), None),
    }
}

#[test]
fn readmes_four_terminals_connect_and_print_what_it_shows() {
    let Some(dir) = examples() else { return };
    let now =
        shown(&if is_update() { usual(&dir) } else { connected(Path::new(PROGRAM), &dir, 1).remove(0) });
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let begin = readme.find(FIRST).unwrap();
    let end = begin + readme[begin..].find("\n```").unwrap();
    if is_update() {
        return fs::write(path, [&readme[..begin], &now, &readme[end..]].concat()).unwrap();
    }
    let [then, found] = [&readme[begin..end], &now].map(|text| text.lines().map(lasting).collect::<Vec<_>>());
    assert_eq!(then.len(), found.len(), "{now}");
    for ((then, bytes_then), (found, bytes)) in then.into_iter().zip(found) {
        assert_eq!(then, found, "{now}");
        let is_near =
            bytes_then.zip(bytes).is_none_or(|(then, now)| then.abs_diff(now) <= BYTES_MORE_OR_LESS);
        assert!(is_near, "{bytes_then:?} and not {bytes:?} bytes of {found}");
    }
}
