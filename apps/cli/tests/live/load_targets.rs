//! `keytoll load` against each kind of target of ours: EAP through a gateway, certificates, IKEv1; and targets that die, that
//! show a wrong certificate, or that need more sockets than there may be.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use keytoll_pki::Validity;
use serde_json::Value;

use super::load::{arrivals, count, failures, ike, radius, run};
use super::mistakes::screen;
use super::office::{DAY, Office, dns, email, now};
use super::support::{Dir, Node, PASSWORD, PROGRAM, PSK, aaa, device_of, eap_gateway, gateway, keytoll};
use super::text;
use crate::schema;

/// A load whose devices prove themselves with EAP-MSCHAPv2 to a gateway.
fn eap_load(gw: &Node, password: &str) -> String {
    let connection = "[connection]\npeer = \"gw.test\"\nauth = \"eap\"\n";
    let head = device_of(gw).replace("role = \"device\"\ngateway = ", "role = \"load\"\ntarget = ");
    let head = head.replace("ping = \"10.98.2.1\"\n", "method = \"mschapv2\"\nwithin = \"5 s\"\n");
    format!(
        "{head}{connection}peer_auth = {{ psk = {PSK:?} }}\nvirtual_address = true\n[identities]\npattern = \"ue@test\"\ncount = 20\n\
         password = {password:?}\n"
    )
}

#[test]
fn devices_with_eap_are_let_in_by_a_gateway_and_its_aaa_server() {
    let dir = Dir::new();
    let server = Node::start(&dir, &["aaa", &dir.write("aaa.toml", &aaa("mschapv2", ""))]);
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &eap_gateway(&server))]);
    let arrive = arrivals(20, "constant 50/s") + "stay = \"300 ms\"\n";
    let (_, document) = run(&dir, &(eap_load(&gw, PASSWORD) + &arrive), &[]);
    assert_eq!((count(&document, "established"), count(&document, "failed")), (20, 0), "{document}");
    assert_eq!(document["left_open"], 0, "{document}");
    let (_, document) = run(&dir, &(eap_load(&gw, "another password") + &arrivals(4, "constant 50/s")), &[]);
    assert_eq!(failures(&document)["EAP wrong password"], 4, "{document}");
    assert_eq!(gw.stop(), Some(0));
    assert_eq!(gw.told.last().unwrap()["open"], 0);
}

/// A gateway that shows a certificate and wants one.
fn certified(file: &str, name: &str, root: &str) -> String {
    let psk = format!("auth = {{ psk = {PSK:?} }}");
    assert!(file.contains(&psk), "{file}");
    let auth = format!(
        "auth = {{ certificate = \"{name}.crt\", key = \"{name}.key\" }}\npeer_auth = {{ roots = \"{root}\" }}"
    );
    file.replace(&psk, &auth)
}

/// A load whose devices have certificates of their own.
fn of_certificates(gw: &Node, root: &str) -> String {
    let pattern = "pattern = \"ue%03d@test\"\ncount = 40\n";
    let file = certified(&ike((gw.port(0), gw.port(1)), PSK), "ue0@test", root);
    assert!(file.contains(pattern), "{file}");
    file.replace(pattern, "csv = \"devices.csv\"\n")
}

#[test]
fn devices_show_certificates_of_their_own_and_refuse_a_gateway_with_a_strange_one() {
    let dir = Dir::new();
    let mut office = Office::of_today(&dir);
    office.root("root.crt");
    office.issue("gw", dns("gw.test"));
    let names: Vec<String> = (0..4).map(|number| format!("ue{number}@test")).collect();
    names.iter().for_each(|name| drop(office.issue(name, email(name))));
    let lines: String = names.iter().map(|name| format!("{name},{name}.crt,{name}.key\n")).collect();
    dir.write("devices.csv", &format!("user,certificate,key\n{lines}"));
    let stranger = Dir::new();
    let today = Validity { from_unix_seconds: now() - DAY, until_unix_seconds: now() + DAY };
    Office::new(&stranger, 2, today).root("root.crt");
    fs::copy(stranger.path("root.crt"), dir.path("stranger.crt")).unwrap();
    let gw_file = certified(&gateway(), "gw", "root.crt");
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gw_file)]);
    let (_, document) = run(&dir, &(of_certificates(&gw, "root.crt") + &arrivals(4, "constant 50/s")), &[]);
    assert_eq!((count(&document, "established"), count(&document, "failed")), (4, 0), "{document}");
    let told = (0..4).map(|_| gw.expect("established")["peer"].as_str().unwrap().to_owned());
    let mut peers: Vec<_> = told.collect();
    peers.sort();
    assert_eq!(peers, names);
    let (_, document) =
        run(&dir, &(of_certificates(&gw, "stranger.crt") + &arrivals(4, "constant 50/s")), &[]);
    assert_eq!((count(&document, "established"), count(&document, "failed")), (0, 4), "{document}");
    assert_eq!(failures(&document)["certificate with bad signature"], 4, "{document}");
}

#[test]
fn ikev1_sets_up_many_sas_and_deletes_them() {
    let dir = Dir::new();
    let old = |text: String| text.replace("[connection]\n", "[connection]\nversion = 1\n");
    let gw_file = old(gateway()).replace("pool = \"10.98.3.0/24\"\n", "");
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gw_file)]);
    let text = old(ike((gw.port(0), gw.port(1)), PSK)).replace("virtual_address = true\n", "");
    let (_, document) = run(&dir, &(text.clone() + &arrivals(10, "constant 20/s")), &[]);
    assert_eq!((count(&document, "established"), count(&document, "failed")), (10, 0), "{document}");
    assert_eq!(document["left_open"], 0, "{document}");
    let (_, document) = run(&dir, &(text.replace(PSK, "another key") + &arrivals(2, "constant 20/s")), &[]);
    assert_eq!((count(&document, "established"), count(&document, "failed")), (0, 2), "{document}");
    assert_eq!(gw.stop(), Some(0));
    assert_eq!(gw.told.last().unwrap()["open"], 0);
}

/// A gateway that shows a page, and the page's address.
fn shown(dir: &Dir, file: &str, arguments: &[&str]) -> (Node, String) {
    let told = ["--prometheus", "127.0.0.1:0"];
    let gw = Node::start(dir, &[&["gateway", &dir.write("gw.toml", file)][..], &told, arguments].concat());
    let page = gw.log().lines().find_map(|line| line.strip_prefix("metrics on ")).unwrap().to_owned();
    (gw, page)
}

fn measure(page: &str) -> String {
    format!("measure = {{ metrics = \"{page}\" }}\n")
}

/// What a gateway shows to Prometheus is what a load asks for.
#[test]
fn a_gateway_tells_a_load_how_long_its_cryptography_takes_and_which_it_is() {
    let dir = Dir::new();
    let kept = dir.path("gw.prom");
    let (mut gw, page) = shown(&dir, &gateway(), &["--prometheus-file", kept.to_str().unwrap()]);
    let devices = arrivals(40, "constant 40/s");
    let (_, document) = run(&dir, &(measure(&page) + &ike((gw.port(0), gw.port(1)), PSK) + &devices), &[]);
    assert_eq!(count(&document, "established"), 40, "{document}");
    let of = |name: &str| document["target_usage"][name].as_f64().unwrap();
    let (cpu_us, crypto_us) = (of("cpu_us_per_established"), of("crypto_us_per_established"));
    assert!(crypto_us > 10.0 && crypto_us < cpu_us, "{document}");
    let operations = document["target_usage"]["operations"].as_array().unwrap();
    for (operation, bytes) in [("generate", 32), ("agree", 32)] {
        let counted = serde_json::json!({ "operation": operation, "algorithm": "x25519", "count": 40, "bytes": 40 * bytes });
        assert!(operations.contains(&counted), "{counted}: {document}");
    }
    messages_have_woken_it(&document["target_usage"]);
    // All have gone, and the target's share of that is read, too.
    let decrypted = operations.iter().find(|it| it["operation"] == "decrypt").unwrap();
    assert_eq!(decrypted["count"], 80, "IKE_AUTH and DELETE: {document}");
    assert_eq!(gw.stop(), Some(0));
    let page = fs::read_to_string(kept).unwrap();
    assert!(page.contains("\nkeytoll_established_total 40\n"), "{page}");
    let agreed = "\nkeytoll_crypto_operations_total{operation=\"agree\",algorithm=\"x25519\"} 40\n";
    assert!(page.contains(agreed), "{page}");
}

/// Three messages of each of forty devices and their answers.
fn messages_have_woken_it(usage: &Value) {
    let sum = |name: &str| {
        let each = usage["wakes"].as_array().unwrap().iter().map(|wakes| wakes[name].as_u64().unwrap());
        each.sum::<u64>()
    };
    let (wakes, cpu_ns, latency_ns) = (sum("count"), sum("cpu_ns"), sum("latency_ns"));
    assert_eq!(sum("messages"), 240, "{usage}");
    assert!((1..=120).contains(&wakes), "{usage}");
    assert!(sum("crypto_ns") < sum("answered_ns") && sum("answered_ns") < cpu_ns, "{usage}");
    assert!(latency_ns > 1000 * wakes && latency_ns < 500_000_000 * wakes, "{usage}");
    // The process's own time comes in hundredths of a second.
    assert!(cpu_ns as f64 / 1e9 < usage["cpu_s"].as_f64().unwrap() + 0.02, "{usage}");
}

/// Of a slow load and a fast one: what a table charges for operations and for messages is what the target has used.
#[test]
fn operations_and_messages_cost_what_a_gateway_has_used() {
    let dir = Dir::new();
    let (mut gw, page) = shown(&dir, &gateway().replace("10.98.3.0/24", "10.98.0.0/16"), &[]);
    let devices = ike((gw.port(0), gw.port(1)), PSK).replace("count = 40", "count = 600");
    let loads = [("slow", 40, "constant 20/s", 4.0), ("fast", 600, "constant 200/s", 3.6)];
    let runs = loads.map(|(name, count, how, beside_ms)| {
        let load = measure(&page_of_two(&page, beside_ms)) + &devices + &arrivals(count, how);
        let (file, out) = (dir.write("load.toml", &load), dir.path(name).to_str().unwrap().to_owned());
        let ended = keytoll(&["load", &file, "--fail-if", "failed > 0", "--out", &out]);
        assert!(matches!(ended.status.code(), Some(0 | 4)), "{}", text(&ended.stderr));
        out
    });
    assert_eq!(gw.stop(), Some(0));
    let path = dir.path("costs.json").to_str().unwrap().to_owned();
    let calibrate =
        ["crypto", "--count", "5", "--calibrate", &path, "--messages", &runs[0], "--messages", &runs[1]];
    let told = keytoll(&calibrate);
    assert!(
        text(&told.stderr).contains("operations and messages cost together about what"),
        "{}",
        text(&told.stderr)
    );
    let read = |path: &str| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap();
    let table = read(&path);
    schema::check("costs", &table);
    assert_eq!(table["message"]["cryptography"], "priced");
    for run in runs {
        let document = read(&format!("{run}/load.json"));
        let (charged_s, used_s) =
            (charged_s(&table, &document), document["target_usage"]["cpu_s"].as_f64().unwrap());
        assert!(
            (charged_s / used_s - 1.0).abs() < 1e-6,
            "{charged_s} {used_s} {} {document}",
            table["message"]
        );
    }
}

/// The page of a gateway, and of another process that takes so many milliseconds of CPU time for each device: how busy both are does not
/// depend on what else this machine does.
fn page_of_two(page: &str, each_ms: f64) -> String {
    let gateway = page.strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap().to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for reader in listener.incoming() {
            // A reader that is gone has its loss.
            let _ = reader.and_then(|reader| answer_with_two(reader, &gateway, each_ms));
        }
    });
    format!("http://{address}/metrics")
}

fn answer_with_two(mut reader: TcpStream, gateway: &str, each_ms: f64) -> io::Result<()> {
    if reader.read(&mut [0; 4096])? == 0 {
        return Ok(());
    }
    let (mut stream, mut answer) = (TcpStream::connect(gateway)?, String::new());
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    stream.read_to_string(&mut answer)?;
    let page = answer.split_once("\r\n\r\n").unwrap().1;
    // Of two processes nobody knows what wakes them.
    let lines = page.lines().filter(|line| !line.contains("keytoll_wake"));
    let page: String = lines.flat_map(|line| [line, "\n"]).collect();
    let devices = page.lines().find_map(|line| line.strip_prefix("keytoll_established_total ")).unwrap();
    let beside_s = devices.parse::<f64>().unwrap() * each_ms / 1000.0;
    write!(reader, "HTTP/1.0 200 OK\r\n\r\n{page}process_cpu_seconds_total{{of=\"another\"}} {beside_s}\n")
}

/// What a table charges for the operations that a target has run and for the messages of all devices, of which those have waited that
/// have found the target busy or waking up.
fn charged_s(table: &Value, document: &Value) -> f64 {
    let number =
        |of: &Value, name: &str| of[name].as_f64().unwrap_or_else(|| panic!("{name}: {document} {table}"));
    let (price, usage) = (&table["message"], &document["target_usage"]);
    let crypto_ns: f64 = usage["operations"].as_array().unwrap().iter().map(|it| charged_ns(table, it)).sum();
    let messages = &document["population"]["messages"];
    let received = number(messages, "sent") - number(messages, "again");
    let starting_s = number(&document["generator"], "starting_s");
    let waking = received / starting_s * price["wake_us"].as_f64().unwrap_or(0.0) / 1e6;
    let asleep = (1.0 - number(usage, "cpu_s") / starting_s) / (1.0 + waking);
    let queued_ns = number(price, "queued_ns");
    (crypto_ns + 2.0 * received * (queued_ns + asleep * (number(price, "ns") - queued_ns))) / 1e9
}

/// What a table charges for all runs of an operation.
fn charged_ns(table: &Value, counted: &Value) -> f64 {
    let is_it = |cost: &&Value| {
        cost["operation"] == counted["operation"]
            && cost["algorithm"] == counted["algorithm"]
            && cost["exponents"] != "full"
    };
    let cost = table["costs"].as_array().unwrap().iter().find(is_it).unwrap();
    let [fixed_ns, ns_per_byte] = ["fixed_ns", "ns_per_byte"].map(|name| cost[name].as_f64().unwrap());
    let [count, bytes] = ["count", "bytes"].map(|name| counted[name].as_f64().unwrap());
    fixed_ns * count + ns_per_byte * bytes
}

/// What a gateway says unproved is why, if nothing better comes in the time that a device has.
#[test]
fn a_refused_proposal_is_the_reason_and_not_a_silence() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let text = ike((gw.port(0), gw.port(1)), PSK) + &arrivals(4, "constant 50/s");
    let text = text.replace("virtual_address", "suites = \"aes256gcm16-prfsha384-ecp384\"\nvirtual_address");
    let (_, document) = run(&dir, &text.replace("within = \"2 s\"", "within = \"1 s\""), &[]);
    assert_eq!(failures(&document), &serde_json::json!({ "NO_PROPOSAL_CHOSEN": 4 }), "{document}");
}

/// A target that is killed in the middle: what it had let in counts, what it had not has a reason, the end is on time, and the
/// results are whole.
#[test]
fn a_target_that_dies_ends_nothing_but_itself() {
    let dir = Dir::new();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let out = dir.path("results");
    let measured = format!("measure = {{ pid = {} }}\n", gw.id());
    let file = dir.write(
        "load.toml",
        &(measured + &ike((gw.port(0), gw.port(1)), PSK) + &arrivals(40, "constant 20/s")),
    );
    let began = Instant::now();
    let load = Command::new(PROGRAM)
        .args(["load", &file, "--json", "--out", out.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    gw.expect("established");
    gw.signal("KILL");
    let output = load.wait_with_output().unwrap();
    // Two seconds of arrivals, two until the last has failed, and five to close what nobody answers for.
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (established, failed) = (count(&document, "established"), count(&document, "failed"));
    assert!(established >= 1 && failed >= 1, "{document}");
    assert_eq!(established + failed, 40, "{document}");
    assert_eq!(document["left_open"], established, "nobody has answered: {document}");
    let hint = document["hints"][0].as_str().unwrap();
    assert!(hint.starts_with("The target stopped answering by second"), "{document}");
    assert!(document["target_usage"]["gone_from_s"].is_u64(), "{document}");
    let shown = keytoll(&["report", out.to_str().unwrap()]);
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
}

#[test]
fn a_load_that_needs_more_sockets_than_it_may_have_says_so_before_it_begins() {
    let dir = Dir::new();
    let users = "ports = 1000\n[identities]\npattern = \"ue@test\"\ncount = 20\npassword = \"of nobody\"\n";
    let file = dir.write("load.toml", &(radius(9, "md5", users) + &arrivals(4, "constant 50/s")));
    let out = dir.path("results");
    let line = format!("ulimit -Sn 256 && exec {PROGRAM} load {file} --out {}", out.display());
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let told = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("1064 sockets and files are needed, and this process may have 256"), "{told}");
    assert!(told.contains("ulimit -n 1064"), "{told}");
    assert!(!out.exists(), "nothing is written");
}

/// What a load file and a command line have for nothing, and files that nobody can read to their end: told before anything begins, by
/// `check`, too, and nothing remains.
#[test]
fn what_has_no_effect_in_a_load_is_refused() {
    let dir = Dir::new();
    let users = "[identities]\npattern = \"user%d@test\"\ncount = 5\npassword = \"of nobody\"\n";
    let good = radius(9, "md5", users) + &arrivals(5, "constant 50/s");
    let psk = ike((9, 9), PSK) + &arrivals(5, "constant 50/s");
    let brief = format!("{psk}duration = \"30 s\"\nstay = \"5 s\"\n");
    dir.write("times.csv", "at_s\n0\n0.1\n0.2\n0.3\n0.4\n");
    let listed = users
        .replace("pattern = \"user%d@test\"\ncount = 5\npassword = \"of nobody\"", "csv = \"/dev/zero\"");
    let in_file = [
        (&good, "127.0.0.1:9", "127.0.0.1:0"),
        (&good, "within", "local = \"::1\"\nwithin"),
        (&good, "within", "local = [\"127.0.0.1\", \"127.0.0.2\", \"127.0.0.1\"]\nwithin"),
        (&good, "constant 50/s", "times /nowhere/missing.csv"),
        (&good, users, &listed),
        (&good, "constant 50/s\"", "constant 50/s\"\nstay = \"1 s\""),
        (&good, "within", &format!("identifier = {:?}\nwithin", "n".repeat(254))),
        (&good, "user%d@test", &"u".repeat(254)),
        (&good, "within", "fail_if = \"failed > 101%\"\nwithin"),
        (&good, "count = 5", "count = 5\npsk = \"of nobody\""),
        (&psk, "count = 40", "count = 40\npassword = \"of nobody\""),
        (&psk, "peer = ", "identity = \"ue@test\"\npeer = "),
        (&psk, "within", "port = 5000\nwithin"),
        (&psk, "within", "cookies = \"always\"\nwithin"),
        (&psk, "within", "half_open_max = 9\nwithin"),
        (&psk, "within", "ike_sas_max = 9\nwithin"),
        (&psk, "within", "prot = 9\nwithin"),
        (&brief, "virtual_address", "rekey_child = \"1 h\"\nvirtual_address"),
        (&brief, "virtual_address", "rekey_ike = \"10 s\"\nvirtual_address"),
        (&brief, "within", "nat_keepalive = \"33 s\"\nwithin"),
        (&good, "user%d@test\"", "user@test\"\nfirst = 5"),
    ];
    let mut screens = Vec::new();
    for (text, from, to) in in_file {
        assert!(text.contains(from), "{from}");
        let text = text.replacen(from, to, 1);
        let [check, load] = ["check", "load"].map(|verb| screen(&dir, verb, "load.toml", &text, &[]));
        assert_eq!(check.replacen("check", "load", 1), load);
        screens.push(load);
    }
    let here = dir.path("load.xml").display().to_string();
    let there = "/nowhere/load.xml".to_owned();
    let itself = dir.path("load.toml").display().to_string();
    let out = dir.path("results").display().to_string();
    for more in [
        vec!["--fail-if", "failed > 0", "--junit", &here, "--prometheus-file", &here],
        vec!["--fail-if", "failed > 0", "--junit", &there, "--out", &out],
        vec!["--prometheus-file", &there, "--out", &out],
        vec!["--prometheus-file", &itself],
        vec!["--prometheus", "9400"],
    ] {
        screens.push(dir.anywhere(screen(&dir, "load", "load.toml", &good, &more).as_bytes()));
    }
    screens.push(screen(&dir, "run", "load.toml", &good, &[]));
    let left = fs::read_dir(dir.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with("results")), "nothing remains");
    insta::assert_snapshot!(screens.join("\n"));
    let beside = good.replace("constant 50/s", "times times.csv");
    assert_eq!(keytoll(&["check", &dir.write("load.toml", &beside)]).status.code(), Some(0));
}

#[test]
fn more_workers_than_there_is_a_share_for_end_and_are_told() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let of = |identities: &str| ike((gw.port(0), gw.port(1)), PSK).replace("count = 40", identities);
    for (text, workers) in [
        (of("count = 40") + &arrivals(3, "constant 50/s"), 3),
        (of("count = 2") + &arrivals(4, "constant 4/s") + "stay = \"1 ms\"\n", 2),
        (of("count = 40") + &arrivals(4, "1 at a time"), 1),
    ] {
        let (output, document) = run(&dir, &text, &["--workers", "8"]);
        assert_eq!((count(&document, "failed"), &document["workers"]), (0, &workers.into()), "{document}");
        assert_eq!(count(&document, "established"), count(&document, "devices"), "{document}");
        assert!(super::text(&output.stderr).contains(&format!("note: {workers} of 8 workers begin")));
    }
}
