//! `keytoll load` against our own AAA server and gateway, and every mistake that a load file or a command line can have.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::process::Output;

use serde_json::Value;

use super::mistakes::screen;
use super::office::{Office, dns};
use super::support::{CARD_K, CARD_OPC, Dir, Node, PASSWORD, PSK, RADIUS_SECRET, gateway, keytoll};
use super::text;
use crate::schema;

/// An AAA server with a few users and one card.
fn aaa(dir: &Dir) -> Node {
    let users: String = (0..20).map(|n| format!("\"user{n}@test\" = {PASSWORD:?}\n")).collect();
    let file = format!(
        "role = \"aaa\"\nport = 0\naccounting_port = 0\nmethods = [\"mschapv2\", \"md5\", \"aka\"]\n\
         [clients]\n\"127.0.0.1\" = {RADIUS_SECRET:?}\n[users]\n{users}\
         [[subscriber]]\nimsi = \"001010000000001\"\nk = {CARD_K:?}\nopc = {CARD_OPC:?}\n"
    );
    Node::start(dir, &["aaa", &dir.write("aaa.toml", &file)])
}

/// A load of EAP on a RADIUS server at this port.
pub(super) fn radius(port: u16, method: &str, more: &str) -> String {
    format!(
        "role = \"load\"\ntarget = \"127.0.0.1:{port}\"\nsecret = {RADIUS_SECRET:?}\nmethod = {method:?}\nwithin = \"2 s\"\n{more}"
    )
}

pub(super) const USERS: &str =
    "[identities]\npattern = \"user%d@test\"\ncount = 20\npassword = \"a password of the test\"\n";

pub(super) fn arrivals(devices: u32, arrivals: &str) -> String {
    format!("[population]\ndevices = {devices}\narrivals = {arrivals:?}\n")
}

/// A load on a gateway at these ports.
pub(super) fn ike(ports: (u16, u16), psk: &str) -> String {
    format!(
        "role = \"load\"\ntarget = \"127.0.0.1:{}\"\ngateway_nat_port = {}\nwithin = \"2 s\"\n[connection]\npeer = \"gw.test\"\n\
         auth = {{ psk = {psk:?} }}\nvirtual_address = true\n[identities]\npattern = \"ue%03d@test\"\ncount = 40\n",
        ports.0, ports.1
    )
}

/// Runs a load with `--json`; the document, checked against its schema.
pub(super) fn run(dir: &Dir, text: &str, more: &[&str]) -> (Output, Value) {
    let (file, out) = (dir.write("load.toml", text), dir.path("results"));
    let arguments = [&["load", &file, "--json", "--force", "--out", out.to_str().unwrap()], more].concat();
    let output = keytoll(&arguments);
    let shown = String::from_utf8_lossy(&output.stdout);
    let document: Value = serde_json::from_str(&shown)
        .unwrap_or_else(|_| panic!("{shown}\n{}", String::from_utf8_lossy(&output.stderr)));
    schema::check("load", &document);
    (output, document)
}

pub(super) fn count(document: &Value, of: &str) -> u64 {
    document["population"][of].as_u64().unwrap()
}

/// The exit code of a load, if this machine did not start devices late.
pub(super) fn unless_late(document: &Value, code: i32) -> i32 {
    if document["verdict"] == "inconclusive" { 4 } else { code }
}

/// How many have failed, by their reasons.
pub(super) fn failures(document: &Value) -> &Value {
    &document["population"]["failures"]
}

#[test]
fn devices_authenticate_to_an_aaa_server_and_results_are_kept() {
    let dir = Dir::new();
    let server = aaa(&dir);
    for method in ["md5", "mschapv2"] {
        let text = radius(server.port(0), method, USERS) + &arrivals(20, "constant 100/s");
        let (output, document) =
            run(&dir, &text, &["--workers", "2", "--seed", "1", "--fail-if", "failed > 0"]);
        assert_eq!((count(&document, "established"), count(&document, "failed")), (20, 0), "{document}");
        assert_eq!(output.status.code(), Some(unless_late(&document, 0)), "{document}");
        assert_eq!(document["conditions"][0]["failed"], false);
        assert_eq!((count(&document, "devices"), &document["asked_per_s"]), (20, &100.0.into()));
    }
    let results = dir.path("results");
    let series = fs::read_to_string(results.join("series.csv")).unwrap();
    let head = series.lines().next().unwrap();
    let place = head.split(',').position(|name| name == "established_attempts").unwrap();
    let established: u64 =
        series.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(established, 20, "{series}");
    let shown = keytoll(&["report", results.to_str().unwrap()]);
    assert!(text(&shown.stdout).contains("20 established"), "{}", text(&shown.stdout));
    let manifest = fs::read_to_string(results.join("manifest.json")).unwrap();
    assert!(manifest.contains("load.json") && manifest.contains("series.csv"), "{manifest}");
    let written =
        ["manifest.json", "load.json", "population.json", "series.csv", "summary.json", "report.html"];
    for name in written {
        let kept = fs::read_to_string(results.join(name)).unwrap();
        assert!(!kept.contains(PASSWORD) && !kept.contains(RADIUS_SECRET), "{name}");
    }
    what_is_kept_is_exported_and_compared(&dir);
    only_what_was_written_is_shown(&dir, &manifest);
}

#[cfg(feature = "svg")]
fn has_pictures(results: &str, pictures: &std::path::Path) {
    let drawn = keytoll(&["export", results, "--format", "svg", "--out", pictures.to_str().unwrap()]);
    assert!(drawn.status.success() && fs::read_dir(pictures).unwrap().count() > 0, "{}", text(&drawn.stderr));
}

/// The rows of a load are in every format, it has pictures (with the feature `svg`), and it can be compared with an earlier one.
fn what_is_kept_is_exported_and_compared(dir: &Dir) {
    let results = dir.path("results");
    let results = results.to_str().unwrap();
    let exported = |format: &str| {
        let output = keytoll(&["export", results, "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let csv = exported("csv");
    assert!(csv.contains("asked/s") && csv.contains("late p99") && csv.contains("generator"), "{csv}");
    let metrics = exported("prometheus");
    assert!(
        metrics.contains("keytoll_load_asked_per_second")
            && metrics.contains("keytoll_cpu_of_a_load_cpu_per_device_seconds{"),
        "{metrics}"
    );
    assert!(exported("markdown").contains("CPU of a load"));
    #[cfg(feature = "svg")]
    has_pictures(results, &dir.path("pictures"));
    let earlier =
        keytoll(&["compare", results, results, "--fail-if", "failed > 0%", "--fail-if", "rate < 1/s"]);
    let told = text(&earlier.stdout);
    assert_eq!(earlier.status.code(), Some(0), "{told}{}", text(&earlier.stderr));
    for words in ["rate_per_s", "delay_ms.p95", "cpu_us.generator", "the same values"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

/// Neither a link out of the directory nor a file that the manifest does not list is taken for the results.
fn only_what_was_written_is_shown(dir: &Dir, manifest: &str) {
    let results = dir.path("results");
    let report = || {
        let shown = keytoll(&["report", results.to_str().unwrap()]);
        (shown.status.code(), text(&shown.stderr).to_owned())
    };
    let unlisted = manifest.replace("\"load.json\"", "\"supplement.json\"");
    fs::write(results.join("manifest.json"), unlisted).unwrap();
    let (code, told) = report();
    assert!(code != Some(0) && told.contains("does not say that the run has load.json"), "{told}");
    fs::write(results.join("manifest.json"), manifest).unwrap();
    fs::rename(results.join("load.json"), dir.path("elsewhere.json")).unwrap();
    std::os::unix::fs::symlink("../elsewhere.json", results.join("load.json")).unwrap();
    let (code, told) = report();
    assert!(code != Some(0) && told.contains("load.json"), "{told}");
}

#[test]
fn cards_of_a_file_authenticate_again_and_again() {
    let dir = Dir::new();
    let server = aaa(&dir);
    dir.write("cards.csv", &format!("imsi,k,opc\n001010000000001,{CARD_K},{CARD_OPC}\n"));
    let text = radius(server.port(0), "aka", "[card]\nrealm = \"test\"\n[identities]\ncsv = \"cards.csv\"\n")
        + &arrivals(6, "1 at a time");
    let (_, document) = run(&dir, &text, &[]);
    assert_eq!((count(&document, "established"), count(&document, "failed")), (6, 0), "{document}");
}

#[test]
fn devices_set_up_sas_stay_and_leave() {
    let dir = Dir::new();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let text = ike((gw.port(0), gw.port(1)), PSK) + &arrivals(40, "storm 40 in 500 ms");
    let (_, document) = run(&dir, &text, &[]);
    assert_eq!((count(&document, "established"), count(&document, "failed")), (40, 0), "{document}");
    assert_eq!((count(&document, "present_max"), &document["left_open"]), (40, &0.into()), "{document}");
    assert_eq!(gw.stop(), Some(0));
    assert_eq!(gw.told.last().unwrap()["open"], 0);
    let closed = gw.told.iter().filter(|event| event["event"] == "closed").count();
    assert_eq!(closed, 40);
}

#[test]
fn sessions_are_held_until_the_end() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let text =
        ike((gw.port(0), gw.port(1)), PSK) + &arrivals(4, "constant 50/s") + "duration = \"1200 ms\"\n";
    let (_, document) = run(&dir, &text, &[]);
    assert_eq!((count(&document, "established"), &document["left_open"]), (4, &0.into()), "{document}");
    assert_eq!(document["population"]["duration_s"], 2.0, "{document}");
}

#[test]
fn a_wrong_key_is_counted_by_its_reason() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let text = ike((gw.port(0), gw.port(1)), "another key") + &arrivals(5, "constant 50/s");
    let (output, document) = run(&dir, &text, &["--fail-if", "failed > 10%"]);
    assert_eq!(document["population"]["failures"]["AUTHENTICATION_FAILED"], 5, "{document}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_wrong_password_and_a_wrong_secret_are_told_apart() {
    let dir = Dir::new();
    let server = aaa(&dir);
    let wrong = USERS.replace("a password of the test", "another one");
    let (_, document) =
        run(&dir, &(radius(server.port(0), "md5", &wrong) + &arrivals(3, "constant 50/s")), &[]);
    assert_eq!(document["population"]["failures"]["EAP Failure"], 3, "{document}");
    let text = radius(server.port(0), "md5", USERS).replace(RADIUS_SECRET, "not this one")
        + &arrivals(3, "constant 50/s");
    let (_, document) = run(&dir, &text, &[]);
    assert_eq!(document["population"]["failures"]["no outcome in time"], 3, "{document}");
    assert!(document["hints"][0].as_str().unwrap().contains("`secret`"), "{document}");
}

#[test]
fn a_silent_target_and_a_closed_port_are_told_apart_and_the_run_ends() {
    let dir = Dir::new();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let text = |port| radius(port, "md5", USERS) + &arrivals(4, "constant 4/s");
    let (_, document) = run(&dir, &text(port), &[]);
    assert_eq!(document["population"]["failures"]["no outcome in time"], 4, "{document}");
    assert!(document["hints"].to_string().contains("The target never answered"), "{document}");
    drop(silent);
    let junit = dir.path("junit.xml");
    let (output, document) = run(&dir, &text(port), &["--junit", junit.to_str().unwrap()]);
    assert_eq!(document["population"]["failures"]["port closed (ICMP)"], 4, "{document}");
    assert!(document["hints"][0].as_str().unwrap().starts_with("Nobody listens on UDP port"), "{document}");
    assert_eq!((output.status.code(), &document["verdict"]), (Some(1), &"failed".into()), "{document}");
    the_verdict_is_everywhere(&dir, &junit, port);
}

/// The terminal, the page, the summary and JUnit's XML show that no authentication succeeded, and the reason.
fn the_verdict_is_everywhere(dir: &Dir, junit: &std::path::Path, port: u16) {
    let results = dir.path("results");
    let read = |path: &std::path::Path| fs::read_to_string(path).unwrap();
    let [page, summary] = ["report.html", "summary.json"].map(|name| read(&results.join(name)));
    let shown = keytoll(&["report", results.to_str().unwrap()]);
    let exported = keytoll(&["export", results.to_str().unwrap(), "--format", "junit"]);
    let [shown, exported] = [&shown, &exported].map(|output| text(&output.stdout).to_owned());
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [&page, &read(junit), &exported, &shown] {
        let told = one_line(told);
        for words in [
            "FAILED: no authentication succeeded: 4 of 4 failed (port closed (ICMP): 4).",
            &format!("UDP port {port} of 127.0.0.1: start the target, or correct `target`."),
            "at most 1 % of a second&#39;s starts later than 10.000 ms",
        ] {
            let plain = words.replace("&#39;", "'");
            assert!(told.contains(words) || told.contains(&plain), "{words}: {told}");
        }
    }
    assert!(summary.contains("\"verdict\": \"failed\""), "{summary}");
    assert!(exported.contains("tests=\"1\" failures=\"1\""), "{exported}");
}

/// A gateway answers at its first port, and nobody listens where devices go on.
#[test]
fn a_closed_port_behind_an_answer_is_named() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (_, document) = run(&dir, &(ike((gw.port(0), closed), PSK) + &arrivals(4, "constant 4/s")), &[]);
    assert_eq!(failures(&document)["port closed (ICMP)"], 4, "{document}");
    let hints = document["hints"].to_string();
    assert!(hints.contains(&format!("Nobody listens on UDP port {closed}")), "{hints}");
    assert!(hints.contains("`gateway_nat_port`") && !hints.contains("never answered"), "{hints}");
}

#[test]
fn who_has_too_few_identities_is_advised_what_the_file_may_say() {
    let dir = Dir::new();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let text = radius(silent.local_addr().unwrap().port(), "md5", &USERS.replace("count = 20", "count = 1"));
    let (_, document) = run(&dir, &(text + &arrivals(3, "constant 50/s")), &[]);
    assert_eq!(failures(&document)["every identity is in use"], 2, "{document}");
    let hints = document["hints"].to_string();
    assert!(hints.contains("more identities, or a lower rate."), "{hints}");
}

const RADIUS_TLS: &str = "[radius_tls]\nroots = \"root.crt\"\nserver_name = \"aaa.test\"\ncertificate = \"nas.crt\"\nkey = \"nas.key\"\n";

/// The same load over TLS.
fn over_tls(text: &str) -> String {
    let text = text.replace("within", "transport = \"tls\"\nports = 1\nwithin");
    text.replace("[identities]", &format!("{RADIUS_TLS}[identities]"))
}

#[test]
fn over_tls_a_closed_port_is_told_and_requests_fail_by_name() {
    let dir = Dir::new();
    let mut office = Office::of_today(&dir);
    office.root("root.crt");
    office.issue("nas", dns("nas.test"));
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = over_tls(&(radius(port, "md5", USERS) + &arrivals(5, "constant 50/s")));
    let (_, document) = run(&dir, &text, &[]);
    let failed = failures(&document).as_object().unwrap();
    let names: Vec<&String> = failed.keys().collect();
    assert_eq!(names, ["RADIUS connection lost", "RADIUS server not connected"], "{document}");
    assert_eq!((count(&document, "established"), count(&document, "failed")), (0, 5));
    assert_eq!(document["access"], "RADIUS/TLS md5");
    let discarded = format!("live: connection with 127.0.0.1:{port} lost: Connection refused (os error 111)");
    assert_eq!(document["discarded"][&discarded], failed["RADIUS connection lost"], "{document}");
    let hints = document["hints"].to_string();
    assert!(hints.contains(&format!("Nobody listens on TCP port {port}")), "{hints}");
}

#[test]
fn more_devices_than_identities_are_counted() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let text =
        ike((gw.port(0), gw.port(1)), PSK).replace("count = 40", "count = 3") + &arrivals(5, "constant 50/s");
    let (output, document) = run(&dir, &text, &[]);
    assert_eq!(document["population"]["failures"]["every identity is in use"], 2, "{document}");
    assert!(document["hints"].to_string().contains("or a shorter `stay`."), "{document}");
    assert!(text_of(&output).contains("5 devices arrive and stay, and there are 3 identities"));
}

fn text_of(output: &Output) -> &str {
    text(&output.stderr)
}

#[test]
fn junit_and_metrics_are_written_beside() {
    let dir = Dir::new();
    let server = aaa(&dir);
    let text = radius(server.port(0), "md5", USERS) + &arrivals(5, "constant 50/s");
    let (junit, page) = (dir.path("junit.xml"), dir.path("page.prom"));
    let (output, _) = run(
        &dir,
        &text,
        &[
            "--junit",
            junit.to_str().unwrap(),
            "--prometheus-file",
            page.to_str().unwrap(),
            "--prometheus",
            "127.0.0.1:0",
            "--fail-if",
            "usable > 4",
            "--fail-if",
            "failed > 0",
        ],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(text_of(&output).contains("metrics on http://127.0.0.1:"), "{}", text_of(&output));
    let junit = fs::read_to_string(junit).unwrap();
    assert!(junit.contains("tests=\"3\" failures=\"2\"") && junit.contains("usable &gt; 4: 5"), "{junit}");
    assert!(junit.contains("FAILED: the condition usable &gt; 4 is met (5)."), "{junit}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("keytoll_load_established_total 5\n"), "{page}");
    let results = dir.path("results");
    let (file, results) = (dir.write("load.toml", &text), results.to_str().unwrap());
    let same = keytoll(&["load", &file, "--out", results, "--junit", results]);
    assert!(text_of(&same).contains("`--out` and `--junit` both write"), "{}", text_of(&same));
}

#[test]
fn ctrl_c_closes_what_is_open_and_keeps_the_results() {
    let dir = Dir::new();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let file = dir.write("load.toml", &(ike((gw.port(0), gw.port(1)), PSK) + &arrivals(40, "constant 10/s")));
    let out = dir.path("results");
    let mut load = std::process::Command::new(super::support::PROGRAM)
        .args(["load", &file, "--json", "--out", out.to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    gw.expect("established");
    let id = load.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let code = load.wait().unwrap().code();
    assert_eq!(code, Some(130));
    gw.expect("closed");
    let document: Value = serde_json::from_str(&fs::read_to_string(out.join("load.json")).unwrap()).unwrap();
    assert_eq!((&document["was_stopped"], &document["left_open"]), (&true.into(), &0.into()), "{document}");
    let shown = keytoll(&["report", out.to_str().unwrap()]);
    let shown = text(&shown.stdout);
    assert!(
        shown.starts_with("stopped after ") && shown.lines().next().unwrap().ends_with(" of 4 s"),
        "{shown}"
    );
}

#[test]
fn mistakes_of_load_files_are_told_with_their_place() {
    let dir = Dir::new();
    let good = radius(1812, "md5", USERS) + &arrivals(5, "constant 50/s");
    dir.write("twice.csv", "user,password\nann,x\nbob,y\nann,z\n");
    let load = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        screen(&dir, "load", "load.toml", &good.replacen(from, to, 1), &["--out", "never"])
    };
    let secured = over_tls(&good);
    let tls =
        |from, to| screen(&dir, "load", "load.toml", &secured.replacen(from, to, 1), &["--out", "never"]);
    let cards = |to: &str| load("method = \"md5\"", to);
    let screens = [
        load("role = \"load\"", "role = \"laod\""),
        load("target = \"127.0.0.1:1812\"\n", ""),
        load("secret = \"a secret of RADIUS\"\n", ""),
        load("method = \"md5\"", "method = \"md6\""),
        load("within = \"2 s\"", "transport = \"tcp\""),
        load("within = \"2 s\"", "transport = \"tls\""),
        load("[identities]", &format!("{RADIUS_TLS}[identities]")),
        tls("server_name = \"aaa.test\"\n", ""),
        tls("roots = \"root.crt\"\n", ""),
        tls("certificate = \"nas.crt\"\n", ""),
        tls("aaa.test", "*.test"),
        tls("aaa.test", "aaa.test\"\ncryptobinding = \"off"),
        tls("aaa.test", "aaa.test"),
        cards("method = \"aka\""),
        cards("method = \"tls\""),
        load("within = \"2 s\"", "within = \"2 h\""),
        load("within = \"2 s\"", "fail_if = \"delay.p98 > 1s\""),
        load("within = \"2 s\"", "measure = { pid = 1, metrics = \"http://a\" }"),
        load("within = \"2 s\"", "measure = { metrics = \"https://a\" }"),
        load("within = \"2 s\"", "measure = { pid = 4294967295 }"),
        load("count = 20\n", ""),
        load("user%d@test", "user%x@test"),
        load("password = \"a password of the test\"\n", ""),
        load(
            "pattern = \"user%d@test\"\ncount = 20\npassword = \"a password of the test\"\n",
            "csv = \"none.csv\"\n",
        ),
        load(
            "pattern = \"user%d@test\"\ncount = 20\npassword = \"a password of the test\"\n",
            "csv = \"twice.csv\"\n",
        ),
        load("constant 50/s", "constantly"),
        load("devices = 5", "devices = 5\nmix = { \"ikev2-psk\" = 1 }"),
        screen(&dir, "load", "load.toml", &good, &["--fail-if", "delay.p99 > 300"]),
        screen(&dir, "load", "load.toml", &good, &["--prometheus", "192.0.2.1:9100", "--out", "never"]),
        screen(&dir, "gateway", "load.toml", &good, &[]),
        screen(&dir, "check", "load.toml", &good, &["--samples", "3"]),
    ];
    let screens = screens.join("\n");
    assert!(
        !screens.contains(RADIUS_SECRET) && !screens.contains(PASSWORD),
        "a mistake is shown, a secret is not"
    );
    insta::assert_snapshot!(screens);
}
