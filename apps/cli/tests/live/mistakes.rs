//! What people get wrong: one sentence, where, what to do, and the right exit code.

use std::net::UdpSocket;
use std::process::Command;

use super::support::{Dir, Node, PROGRAM, PSK, aaa, device, gateway, keytoll};
use super::text;
use crate::schema;

/// What a command says, and its exit code.
pub(super) fn screen(dir: &Dir, verb: &str, name: &str, file: &str, more: &[&str]) -> String {
    let path = dir.write(name, file);
    let output = keytoll(&[&[verb, &path], more].concat());
    assert_eq!(text(&output.stdout), "", "nothing but the mistake");
    let shown = [&[verb, name], more].concat().join(" ");
    format!(
        "$ keytoll {shown}\n{}\n--- exit {}\n",
        dir.anywhere(&output.stderr),
        output.status.code().unwrap()
    )
}

#[test]
fn wrong_node_files_are_refused() {
    let dir = Dir::new();
    let gateway = gateway();
    let gw = |from: &str, to: &str| {
        assert!(gateway.contains(from), "{from}");
        screen(&dir, "gateway", "gw.toml", &gateway.replace(from, to), &[])
    };
    let psk = format!("{{ psk = {PSK:?} }}");
    let screens = [
        gw(&psk, "{ certificate = \"gw.crt\", key = \"gw.key\" }\npeer_auth = { roots = \"root.crt\" }"),
        gw(&psk, "{ psk = { file = \"missing\" } }"),
        gw(&psk, "{ psk = { env = \"KEYTOLL_NO_SUCH_VARIABLE\" } }"),
        gw(&psk, "{ psk = \"\" }"),
        gw(&psk, "\"eap\""),
        gw("pool =", "poll ="),
        gw("10.98.3.0/24", "10.98.3.1/24"),
        gw("pool =", "remote = \"10.98.0.0/16\"\npool ="),
        gw("identity = \"gw.test\"\n", ""),
        gw("gw.test", "C=XX, CN=gw"),
        gw("role = \"gateway\"", "role = \"gatway\""),
        gw("role = \"gateway\"\n", ""),
        gw("nat_port = 0", "nat_port = 0\nlisten = \"192.0.2.1\""),
        screen(&dir, "connect", "gw.toml", &gateway, &[]),
        screen(&dir, "gateway", "gw.toml", &format!("{gateway}peer_auth = \"eap\"\n"), &[]),
        screen(&dir, "aaa", "aaa.toml", &aaa("tls", ""), &[]),
        screen(&dir, "aaa", "aaa.toml", &aaa("aka", ""), &[]),
        screen(&dir, "check", "gw.toml", &gateway, &["--samples", "3"]),
    ];
    let screens = screens.join("\n");
    assert!(!screens.contains(PSK), "a mistake is shown, a secret is not");
    insta::assert_snapshot!(screens);
}

/// What a file says of loopback does not hold for the address that a command line names.
#[test]
fn an_hss_is_not_shown_to_others_without_peers() {
    let dir = Dir::new();
    let file = format!("role = \"hss\"\n{}", super::support::subscriber("[[subscriber]]"));
    let said = screen(&dir, "hss", "hss.toml", &file, &["--listen", "192.0.2.1"]);
    assert!(said.contains("an HSS on 192.0.2.1 needs `peers`") && said.ends_with("--- exit 2\n"), "{said}");
}

#[test]
fn a_missing_node_file_is_not_looked_for_among_scenarios() {
    let output = keytoll(&["gateway", "no-such-gateway.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("no file `no-such-gateway.toml`") && said.contains("scenarios/live"), "{said}");
    assert!(!said.contains("list scenarios"), "{said}");
}

#[test]
fn wrong_command_lines_are_refused() {
    let dir = Dir::new();
    let gateway = gateway();
    let screens = [
        screen(&dir, "gateway", "gw.toml", &gateway, &["--listen", "everywhere"]),
        screen(&dir, "gateway", "gw.toml", &gateway, &["--listen", "0.0.0.0"]),
        screen(&dir, "check", "gw.toml", &gateway, &["--world", "live"]),
        screen(&dir, "check", "gw.toml", "role = \"gateway\"\npsk = hunter2\n", &[]),
        screen(&dir, "gateway", "gw.toml", &gateway, &["--log", "very=much=so"]),
        screen(&dir, "connect", "ue.toml", "", &["--interval", "10"]),
        screen(&dir, "connect", "ue.toml", "", &["--interval", "10ms"]),
        screen(&dir, "connect", "ue.toml", "", &["--within", "0s"]),
        screen(&dir, "connect", "ue.toml", "", &["--stay", "--count", "2"]),
    ];
    insta::assert_snapshot!(screens.join("\n"));
}

/// A message without its line breaks.
fn plain(said: &str) -> String {
    said.split_whitespace().filter(|word| *word != "│" && *word != "×").collect::<Vec<_>>().join(" ")
}

/// The outputs of a node replace no other file.
#[test]
fn outputs_of_a_node_replace_nothing() {
    let dir = Dir::new();
    std::fs::create_dir_all(dir.path("run/capture")).unwrap();
    dir.write("run/manifest.json", "{ \"kind\": \"keytoll run\" }");
    let capture = dir.write("run/capture/000.pcapng", "\n\r\r\nof a run");
    let notes = dir.write("notes.txt", "precious");
    for (verb, name, file) in [("gateway", "gw.toml", gateway()), ("connect", "ue.toml", LONELY.to_owned())] {
        let own = dir.path(name);
        let own = own.to_str().unwrap();
        for (path, sentence) in [
            (capture.as_str(), "is the name of a file of the run in"),
            (&notes, "exists and is not a pcapng file"),
            (own, "would replace the node file"),
        ] {
            let said = plain(&screen(&dir, verb, name, &file, &["--pcap", path]));
            assert!(said.contains(sentence) && said.ends_with("--- exit 2"), "{said}");
        }
        assert_eq!(std::fs::read_to_string(own).unwrap(), file);
    }
    let said = plain(&screen(&dir, "gateway", "gw.toml", &gateway(), &["--prometheus-file", &notes]));
    assert!(said.contains("exists and is not a metrics file of keytoll"), "{said}");
    assert_eq!(std::fs::read(&notes).unwrap(), b"precious");
    assert_eq!(std::fs::read(&capture).unwrap(), b"\n\r\r\nof a run");
    let (page, earlier) = (dir.path("page.prom"), dir.write("earlier.pcapng", "\n\r\r\nan earlier one"));
    let outputs = ["--prometheus-file", page.to_str().unwrap(), "--pcap", &earlier];
    for _ in 0..2 {
        drop(Node::start(&dir, &[&["gateway", &dir.write("gw.toml", &gateway())], &outputs[..]].concat()));
    }
    assert!(std::fs::read_to_string(&page).unwrap().contains("# TYPE keytoll_"));
    assert_eq!(std::fs::read(dir.path("earlier.1.pcapng")).unwrap(), b"\n\r\r\nan earlier one");
}

/// A device without a gateway that answers.
const LONELY: &str = "role = \"device\"\ngateway = \"127.0.0.1:9\"\nping = \"10.98.2.1\"\n[connection]\nidentity = \"ue@test\"\npeer = \"gw.test\"\n\
     auth = { psk = \"0123456789abcdef\" }\n";

#[test]
fn a_scenario_is_not_taken_for_a_node_file() {
    let dir = Dir::new();
    let said = screen(&dir, "connect", "mine.toml", "methods = 'ikev2-psk'\nnetworks = 'lte'\n", &[]);
    assert!(said.contains("`mine.toml` is a scenario, not the file of a node"), "{said}");
}

#[test]
fn a_gateway_may_have_a_name() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let device = device(&gw, PSK);
    let named = device.replacen("gateway = \"127.0.0.1", "gateway = \"localhost", 1);
    assert_ne!(named, device);
    let connected = keytoll(&["connect", &dir.write("ue.toml", &named)]);
    assert_eq!(connected.status.code(), Some(0), "{}", text(&connected.stderr));
    let unknown = device.replacen("gateway = \"127.0.0.1", "gateway = \"no_such.invalid", 1);
    let said = screen(&dir, "connect", "ue.toml", &unknown, &[]);
    assert!(said.contains("is no IP address, and no name that this machine knows"), "{said}");
    assert!(said.ends_with("--- exit 2\n"), "{said}");
}

#[test]
fn a_port_in_use_is_the_environments_fault() {
    let dir = Dir::new();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let file = dir.write("gw.toml", &gateway());
    let output = keytoll(&["gateway", &file, "--listen", &format!("127.0.0.1:{port}")]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("the port is in use"), "{said}");
}

#[test]
fn an_address_of_somebody_else_is_the_environments_fault() {
    let dir = Dir::new();
    let output = keytoll(&["gateway", &dir.write("gw.toml", &gateway()), "--listen", "192.0.2.1"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("no interface of this machine has 192.0.2.1"), "{said}");
}

/// Root may take any port; what root has no longer, nobody has.
#[test]
fn a_port_below_1024_needs_a_permission() {
    let open = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap_or_default();
    if open.trim() == "0" {
        return;
    }
    let dir = Dir::new();
    let file = dir.write("gw.toml", &gateway());
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let mut command = Command::new(if is_root { "setpriv" } else { PROGRAM });
    if is_root {
        command.args(["--bounding-set=-net_bind_service", "--inh-caps=-net_bind_service", PROGRAM]);
    }
    let output = command.args(["gateway", &file, "--listen", "127.0.0.1:500"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("no permission for a port below 1024"), "{said}");
}

#[test]
fn a_wrong_key_fails_and_is_named() {
    let dir = Dir::new();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let refused = keytoll(&["connect", &dir.write("ue.toml", &device(&gw, "another key"))]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));
    let told = text(&refused.stdout);
    let likely = "(most likely the pre-shared keys differ, or the peer has none for our identity)";
    let sentence = format!("the gateway refused us: AUTHENTICATION_FAILED {likely}");
    assert!(told.contains(&sentence), "{told}");
    let failed = gw.expect("failed");
    assert_eq!((&failed["why"], &failed["claimed"]), (&"AUTHENTICATION_FAILED".into(), &"ue@test".into()));
    assert_eq!(failed["likely"], "the pre-shared keys differ");
    assert!(failed["remote"].as_str().unwrap().starts_with("127.0.0.1:"), "{failed}");
    assert!(gw.log().contains(" claimed=ue@test likely=\"the pre-shared keys differ\""), "{}", gw.log());
}

/// The key opens messages of main mode, so that nobody reads who it was; the device is told in the clear.
#[test]
fn a_wrong_key_of_ikev1_is_named_though_nobody_can_read_anything() {
    let dir = Dir::new();
    let old = |text: String| text.replace("[connection]\n", "[connection]\nversion = 1\n");
    let gateway = old(gateway()).replace("pool = \"10.98.3.0/24\"\n", "");
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway)]);
    let device = old(device(&gw, "another key")).replace("virtual_address = true\n", "");
    let refused = keytoll(&["connect", &dir.write("ue.toml", &device), "--json"]);
    let told = schema::read("connect", &refused.stdout);
    let attempt = &told["attempts"][0];
    assert_eq!(attempt["likely"], "the pre-shared keys differ", "{told}\n{}", text(&refused.stderr));
    let sentence = attempt["sentence"].as_str().unwrap();
    assert!(sentence.ends_with("PAYLOAD_MALFORMED (most likely the pre-shared keys differ)"), "{sentence}");
}

/// As often as it may be asked for, it stands in the log once, with what to do about it.
#[test]
fn a_refused_proposal_is_told_once_with_what_would_do() {
    let dir = Dir::new();
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let suites = "[connection]\nsuites = [\"aes256gcm16-prfsha384-ecp384\"]\n";
    let file = device(&gw, PSK).replace("[connection]\n", suites);
    let file = dir.write("ue.toml", &file);
    for _ in 0..2 {
        assert_eq!(keytoll(&["connect", &file, "--within", "100ms"]).status.code(), Some(1));
    }
    let refused = gw.expect("proposal-refused");
    assert_eq!(refused["offered"], "aes256gcm16-prfsha384-ecp384");
    assert_eq!(refused["acceptable"], "aes128gcm16-prfsha256-x25519");
    assert!(refused["remote"].as_str().unwrap().starts_with("127.0.0.1:"), "{refused}");
    // The others are counted, for a minute or until the end.
    assert_eq!(gw.stop(), Some(0));
    let more = gw.told.iter().filter(|event| event["event"] == "proposal-refused").nth(1).unwrap();
    assert_eq!((&more["remote"], &more["more"]), (&"127.0.0.1".into(), &1.into()));
    assert!(
        gw.log().contains("WARN keytoll: proposal-refused why=NO_PROPOSAL_CHOSEN remote="),
        "{}",
        gw.log()
    );
}

#[test]
fn a_refused_child_is_not_a_refused_device() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let file = device(&gw, PSK).replace("[connection]\n", "[connection]\nesp_suites = [\"aes256-sha512\"]\n");
    assert!(file.contains("esp_suites"), "{file}");
    let refused = keytoll(&["connect", &dir.write("ue.toml", &file)]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    let told = text(&refused.stdout);
    let sentence = "the gateway refused the SA for traffic: NO_PROPOSAL_CHOSEN (we offered aes256-sha512; what is acceptable";
    assert!(told.contains(sentence), "{told}");
}

#[test]
fn after_an_attempt_that_takes_too_long_there_is_no_other() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let file = dir.write("ue.toml", &device(&gw, PSK));
    drop(gw);
    let refused = keytoll(&["connect", &file, "--within", "200ms", "--count", "3", "--json"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = schema::read("connect", &refused.stdout);
    assert_eq!(told["attempts"].as_array().map(Vec::len), Some(1), "{told}");
}

#[test]
fn a_gateway_that_is_not_there_is_named() {
    let dir = Dir::new();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let file = dir.write("ue.toml", &device(&gw, PSK));
    drop(gw);
    let refused = keytoll(&["connect", &file, "--within", "300ms"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = text(&refused.stdout);
    assert!(told.contains("not connected within 300ms"), "{told}");
}

#[test]
fn check_says_what_a_node_would_be() {
    let dir = Dir::new();
    let file = gateway().replace("nat_port = 0", "nat_port = 5501").replace("port = 0", "port = 5500");
    let output = keytoll(&["check", &dir.write("gw.toml", &file)]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    insta::assert_snapshot!(dir.anywhere(&output.stdout));
}

#[test]
fn a_closed_port_of_the_gateway_is_told_once() {
    let dir = Dir::new();
    // Nobody has it for the time being.
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let file = format!(
        "role = \"device\"\ngateway = \"127.0.0.1:{port}\"\n[connection]\nidentity = \"ue@test\"\n\
         peer = \"gw.test\"\nauth = {{ psk = {PSK:?} }}\n"
    );
    let path = dir.write("ue.toml", &file);
    let output = keytoll(&["connect", &path, "--within", "4s"]);
    let told = text(&output.stderr);
    let warning = closed(port);
    assert_eq!((told.matches(&warning).count(), output.status.code()), (1, Some(1)), "{told}");
}

/// The warning of a closed port.
fn closed(port: u16) -> String {
    format!("UDP port {port} of 127.0.0.1 is closed; still trying")
}

/// The gateway answers at its port 500, and its other port is closed.
#[test]
fn a_closed_nat_port_of_the_gateway_is_told() {
    let dir = Dir::new();
    let node = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway())]);
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let right = device(&node, PSK);
    let wrong = right.replace(&node.port(1).to_string(), &port.to_string());
    let told = |name: &str, file: &str| {
        text(&keytoll(&["connect", &dir.write(name, file), "--within", "4s"]).stderr).to_owned()
    };
    let warning = closed(port);
    assert!(told("wrong.toml", &wrong).contains(&warning));
    assert!(!told("right.toml", &right).contains(&warning));
}
