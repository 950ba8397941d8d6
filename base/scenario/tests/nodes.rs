//! Node files: the examples are valid, and no text makes the reader panic or print a secret.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use keytoll_scenario::catalogue::EAP_METHODS;
use keytoll_scenario::families::hip::P256Hash;
use keytoll_scenario::node::{Departure, HipSide, HostPlan, NodePlan, Role, Transport};
use keytoll_scenario::{NodeFile, Source};
use miette::{GraphicalReportHandler, GraphicalTheme};
use proptest::prelude::*;

fn examples() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/live");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

fn read(text: &str) -> NodeFile {
    Source::text("node.toml", text).node().unwrap()
}

/// The warnings that do not depend on the mode of a file, which a checkout decides.
fn advice(warnings: &[String]) -> Vec<&String> {
    warnings.iter().filter(|warning| !warning.contains("others may read it")).collect()
}

#[test]
fn the_examples_are_good_and_every_role_has_one() {
    let sources = examples().into_iter().map(|(path, _)| Source::file(&path).unwrap());
    let (loads, nodes): (Vec<_>, Vec<_>) = sources.partition(Source::is_load);
    assert!(loads.len() >= 2 && loads.iter().all(|load| advice(&load.load().unwrap().warnings).is_empty()));
    let plans: Vec<_> = nodes.iter().map(|node| node.node().unwrap()).collect();
    for role in Role::ALL {
        assert!(plans.iter().any(|file| file.plan.role() == role), "{role:?}");
    }
    assert!(plans.iter().all(|file| advice(&file.warnings).is_empty()), "{plans:?}");
}

/// A device with EAP, by its methods and how the gateway proves itself.
fn eap_device(methods: &str, peer_auth: &str, more: &str) -> String {
    format!(
        "role = \"device\"\ngateway = \"127.0.0.1\"\n[connection]\nauth = \"eap\"\npeer_auth = {peer_auth}\n[eap]\n\
         identity = \"ue@lab\"\npassword = \"p\"\nmethods = {methods}\n{more}"
    )
}

const TLS: &str = "[tls]\nroots = \"root.crt\"\nserver_name = \"aaa\"\ncertificate = \"a\"\nkey = \"b\"\n";
const CARD: &str = "[card]\nimsi = \"001010000000001\"\nrealm = \"lab\"\nk = \"00112233445566778899aabbccddeeff\"\n\
                    opc = \"00112233445566778899aabbccddeeff\"\n";

// RFC 5998 §4: with EAP alone the method must authenticate the gateway.
#[test]
fn no_password_is_shown_to_a_gateway_that_proves_nothing() {
    let more = format!("{TLS}{CARD}state = \"card\"\n");
    for method in EAP_METHODS {
        let text = eap_device(&format!("[\"tls\", {:?}]", method.name), "\"eap-only\"", &more);
        let is_bare_password = ["md5", "mschapv2", "gtc"].contains(&method.name);
        match Source::text("node.toml", &text).node() {
            Ok(file) => assert!(!is_bare_password && file.warnings.is_empty(), "{method:?}: {file:?}"),
            Err(error) => {
                let expected = format!(
                    "EAP method `{}` would show the password to a gateway that nothing has proved",
                    method.name
                );
                assert!(is_bare_password, "{method:?}: {error}");
                assert_eq!(error.to_string(), expected);
            }
        }
    }
}

#[test]
fn a_shared_key_before_a_password_and_a_forgetful_card_deserve_a_warning() {
    let (shared, certified) = ("{ psk = \"a key of a certain length\" }", "{ roots = \"root.crt\" }");
    let more = format!("{TLS}{CARD}");
    let warnings = |methods: &str, peer_auth: &str| read(&eap_device(methods, peer_auth, &more)).warnings;
    let [shown] = &warnings("\"md5\"", shared)[..] else { panic!("one warning") };
    assert!(
        shown.starts_with("EAP method `md5` shows the password to whoever knows the shared key"),
        "{shown}"
    );
    let [forgets] = &warnings("\"aka\"", certified)[..] else { panic!("one warning") };
    assert!(forgets.starts_with("the card forgets"), "{forgets}");
    for (methods, peer_auth) in [("\"md5\"", certified), ("\"ttls-pap\"", shared), ("\"sim\"", shared)] {
        assert_eq!(warnings(methods, peer_auth), Vec::<String>::new(), "{methods}");
    }
    let gateway = |auth: &str| {
        let head = "role = \"gateway\"\n[connection]\nidentity = \"gw\"\npeer_auth = \"eap\"\nauth = ";
        let radius = "[radius]\nserver = \"127.0.0.1\"\nsecret = \"a secret of a certain length\"\n";
        read(&format!("{head}{auth}\n{radius}")).warnings
    };
    let [open] = &gateway(shared)[..] else { panic!("one warning") };
    assert!(open.starts_with("connection `gateway` proves the gateway with a shared key"), "{open}");
    assert_eq!(gateway("{ certificate = \"a\", key = \"b\" }"), Vec::<String>::new());
}

#[test]
fn what_nobody_says_has_a_safe_default() {
    let file = read("role = \"gateway\"\n[connection]\nidentity = \"gw\"\nauth = { psk = \"k\" }\n");
    let NodePlan::Gateway(plan) = file.plan else { panic!("{file:?}") };
    assert!(plan.listen.is_loopback());
    assert_eq!(plan.endpoint.ports, (500, 4500));
    assert_eq!(plan.connections[0].suites[0].to_string(), "aes128gcm16-prfsha256-x25519");
}

#[test]
fn an_hss_that_others_can_reach_says_who_may_ask() {
    let hss = |more: &str| {
        let card = "imsi = \"001010000000001\"\nk = \"5122250214c33e723a5dd523fc145fc0\"\nopc = \"981d464c7c52eb6e5036234984ad0bcf\"\n";
        let text = format!("role = \"hss\"\n{more}\n[[subscriber]]\n{card}");
        Source::text("hss.toml", &text).node().map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(hss(""), Ok(()));
    assert_eq!(hss("listen = \"::1\""), Ok(()));
    assert_eq!(hss("listen = \"192.0.2.1\"\npeers = \"192.0.2.2\""), Ok(()));
    let error = hss("listen = \"192.0.2.1\"").unwrap_err();
    assert!(error.contains("an HSS on 192.0.2.1 needs `peers`"), "{error}");
}

#[test]
fn the_pool_is_what_a_network_has_for_hosts() {
    let head = "role = \"gateway\"\n[connection]\nidentity = \"gw\"\nauth = { psk = \"k\" }\npool = ";
    let pool = |network: &str| {
        let file = read(&format!("{head}{network:?}\n"));
        let NodePlan::Gateway(plan) = file.plan else { panic!("{file:?}") };
        plan.connections[0].pool.map(|pool| (pool.first.to_string(), pool.size)).unwrap()
    };
    assert_eq!(pool("10.98.3.0/24"), ("10.98.3.1".to_owned(), 254));
    assert_eq!(pool("10.98.3.7/32"), ("10.98.3.7".to_owned(), 1));
    assert_eq!(pool("10.98.3.6/31"), ("10.98.3.6".to_owned(), 2));
    assert_eq!(pool("2001:db8::/64"), ("2001:db8::1".to_owned(), u32::MAX));
    assert_eq!(pool("0.0.0.0/0"), ("0.0.0.1".to_owned(), u32::MAX - 1));
    let error = Source::text("node.toml", &format!("{head}\"10.98.3.0\"\n")).node().unwrap_err();
    assert_eq!(error.to_string(), "`10.98.3.0` is one address");
}

/// The error message for a device's connection with these additional lines.
fn mistake(lines: &str) -> String {
    let head = "role = \"device\"\ngateway = \"127.0.0.1\"\n[connection]\nidentity = \"ue\"\n";
    let error = Source::text("node.toml", &format!("{head}{lines}\n")).node().unwrap_err();
    let mut drawn = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none());
    handler.render_report(&mut drawn, &error).unwrap();
    drawn
}

#[test]
fn a_public_key_needs_an_owner() {
    let lines = "auth = { key = \"/dev/null\" }\npeer_auth = { public_key = \"/dev/null\" }";
    let drawn = mistake(lines);
    assert!(drawn.contains("a public key does not say whose it is"), "{drawn}");
    assert!(drawn.contains("peer = "), "{drawn}");
}

#[test]
fn signatures_need_a_key_of_ikev2() {
    let psk = mistake("auth = { psk = \"k\" }\nsignatures = \"rsa-pss-sha256\"");
    assert!(psk.contains("`signatures` needs a key of our own that makes them"), "{psk}");
    let key = "auth = { key = \"/dev/null\" }\npeer_auth = { public_key = \"/dev/null\" }\npeer = \"gw\"";
    let v1 = mistake(&format!("{key}\nversion = 1\nsignatures = \"rsa-pss-sha256\""));
    assert!(v1.contains("`signatures` is IKEv2's"), "{v1}");
    let unknown = mistake(&format!("{key}\nsignatures = [\"rsa-pss-sha25\"]"));
    assert!(unknown.contains("did you mean `rsa-pss-sha256`?"), "{unknown}");
}

#[test]
fn an_sa_that_ends_has_a_successor() {
    let gateway = |limits: &str| {
        let text = format!(
            "role = \"gateway\"\n{limits}\n[connection]\nidentity = \"gw\"\nauth = {{ psk = \"secret\" }}\n"
        );
        Source::text("node.toml", &text).node()
    };
    for good in [
        "rekey_bytes = \"1 MB\"",
        "rekey_packets = 1000\nlife_packets = 2000",
        "rekey_bytes = \"never\"\nreplay_window = 4096",
    ] {
        assert!(gateway(good).is_ok(), "{good}");
    }
    for (bad, why) in [
        ("life_bytes = \"1 MB\"", "without a successor"),
        ("rekey_bytes = \"1 MB\"\nlife_packets = 300", "without a successor"),
        ("rekey_packets = 300\nlife_packets = 300", "without a successor"),
        ("rekey_bytes = \"1 kB\"", "must be from 10 kB"),
        ("replay_window = 31", "must be from 32 to 4096"),
    ] {
        let error = gateway(bad).expect_err(bad);
        assert!(error.to_string().contains(why), "{bad}: {error}");
    }
}

#[test]
fn a_device_of_ikev1_asks_for_one_network_on_each_side() {
    let lines = "version = 1\nauth = { psk = \"k\" }\nremote = [\"10.1.0.0/16\", \"10.2.0.0/16\"]";
    let drawn = mistake(lines);
    assert!(drawn.contains("asks for one network on each side"), "{drawn}");
}

/// Every secret of the examples.
const SECRETS: [&str; 5] = [
    "an example is no secret",
    "a radius example is none either",
    "nor is this",
    "5122250214c33e723a5dd523fc145fc0",
    "981d464c7c52eb6e5036234984ad0bcf",
];

/// Parses, and checks what an error message would show.
fn check(text: &str) {
    let Err(error) = Source::text("node.toml", text).node() else { return };
    let mut shown = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    handler.render_report(&mut shown, &error).unwrap();
    assert!(!shown.is_empty());
}

#[test]
fn neither_a_missing_quote_nor_a_mistyped_key_shows_a_secret() {
    let wrong = [
        "psk = hunter2",
        "psk = \"hunter2",
        "pasword = \"hunter2\"",
        "[userz]\nue = \"hunter2\"",
        "k = \"\"\"\nhunter2",
        "secret = 'hunter2' x",
    ];
    for line in wrong {
        let source = Source::text("node.toml", &format!("role = \"gateway\"\n{line}\n"));
        assert!(source.is_node(), "{line}");
        let error = source.node().unwrap_err();
        let mut shown = String::new();
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
        handler.render_report(&mut shown, &error).unwrap();
        assert!(!shown.contains("hunter2"), "{line}: {shown}");
    }
}

/// The nearest offset at or before `at` that is a character boundary: the comments of examples have a `§`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).expect("0 is one")
}

#[test]
fn no_cut_is_inside_a_character() {
    let ends: Vec<_> = (0..6).map(|at| boundary("a§b", at)).collect();
    assert_eq!(ends, [0, 1, 1, 3, 4, 4]);
}

proptest! {
    #[test]
    fn damaged_files_are_read_or_refused(index in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>(), len in 0_usize..40, with in "[ -~\n]{0,12}") {
        let examples = examples();
        let text = &index.get(&examples).1;
        let start = boundary(text, cut.index(text.len()));
        let end = boundary(text, start + len);
        check(&format!("{}{with}{}", &text[..start], &text[end..]));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        check(&format!("role = \"aaa\"\n{text}"));
    }
}

/// A mistake anywhere in a file is shown with the lines around it, without their secrets.
#[test]
fn no_mistake_shows_a_secret() {
    for (path, text) in examples() {
        for (number, line) in
            text.lines().enumerate().filter(|(_, line)| line.contains('=') && !line.starts_with('#'))
        {
            let key = line.split('=').next().unwrap().trim();
            let wrong = text.replacen(line, &format!("{line}\nnonsense{number} = 1"), 1);
            let Err(error) = Source::text("node.toml", &wrong).node() else { continue };
            let mut shown = String::new();
            let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
            handler.render_report(&mut shown, &error).unwrap();
            let told = SECRETS.iter().find(|secret| shown.contains(*secret));
            assert_eq!(told, None, "{} at {key}:\n{shown}", path.display());
        }
    }
}

/// A node of HIP: the gateway's lines in front of its connection, what is in it, and what comes behind.
fn hip_gateway(head: &str, connection: &str, more: &str) -> Result<NodeFile, miette::Report> {
    let text = format!(
        "role = \"gateway\"\n{head}\n[connection]\nmethod = \"hip-bex\"\nauth = {{ key = \"gw.key\" }}\n{connection}\n{more}"
    );
    Ok(Source::text("node.toml", &text).node()?)
}

fn hip_device(head: &str, connection: &str, more: &str) -> Result<NodeFile, miette::Report> {
    let text = format!(
        "role = \"device\"\n{head}\n[connection]\nauth = {{ key = \"ue.key\" }}\n{connection}\n{more}"
    );
    Ok(Source::text("node.toml", &text).node()?)
}

#[test]
fn what_nobody_says_of_hip_has_a_safe_default() {
    let file = hip_gateway("", "", "").unwrap();
    let NodePlan::Hip(plan) = file.plan else { panic!("{file:?}") };
    let HipSide::Gateway { listen, admits: None, puzzle_difficulty_bits: 10, hss: None } = plan.side else {
        panic!("{plan:?}")
    };
    assert!(listen.is_loopback() && file.warnings.is_empty());
    assert_eq!(
        (plan.terms.transport, plan.terms.nat_keepalive),
        (Transport::Udp(10_500), Some(Duration::from_secs(15)))
    );
    let file = hip_device("gateway = \"127.0.0.1\"", "method = \"hip-dex\"", "").unwrap();
    let [opportunistic] = &file.warnings[..] else { panic!("{file:?}") };
    assert!(opportunistic.starts_with("the device believes whoever answers"), "{opportunistic}");
    let call = file.plan.call().unwrap();
    assert_eq!((call.gateway, call.pings), (("127.0.0.1".parse().unwrap(), Some(10_500)), false));
}

#[test]
fn whom_hip_admits_and_whom_it_expects_is_a_hit_or_a_key() {
    let hit = "2001:25:cc70:3a14:fa27:9a21:80d6:93c7";
    let admits = format!("admits = [{hit:?}, {{ public_key = \"ue.pub\" }}]");
    let file = hip_gateway("listen = \"192.0.2.1\"", &admits, "").unwrap();
    assert_eq!(file.warnings, Vec::<String>::new());
    let NodePlan::Hip(plan) = file.plan else { panic!("{file:?}") };
    let HipSide::Gateway { admits: Some(admits), .. } = plan.side else { panic!("{plan:?}") };
    assert!(
        matches!(&admits[..], [HostPlan::Hit(known), HostPlan::PublicKey(_)] if known.value.to_string() == hit)
    );
    let open = hip_gateway("listen = \"192.0.2.1\"", "", "").unwrap();
    assert!(open.warnings[0].starts_with("whoever reaches 192.0.2.1 is admitted"), "{:?}", open.warnings);
    for peer in [format!("peer = {hit:?}"), "peer_auth = { public_key = \"gw.pub\" }".to_owned()] {
        let file =
            hip_device("gateway = \"127.0.0.1\"", &format!("method = \"hip-bex\"\n{peer}"), "").unwrap();
        assert_eq!(file.warnings, Vec::<String>::new());
    }
}

#[test]
fn directly_on_ip_there_are_no_ports() {
    let mut raw = hip_gateway("transport = \"raw\"", "", "").unwrap().plan;
    assert!(matches!(raw.listening(), Some((_, None))));
    let device =
        hip_device("transport = \"raw\"\ngateway = \"192.0.2.1\"", "method = \"hip-bex\"", "").unwrap();
    assert_eq!(device.plan.call().unwrap().gateway, ("192.0.2.1".parse().unwrap(), None));
}

/// What is drawn of a mistake says this, and no secret.
fn assert_says(error: &dyn miette::Diagnostic, sentence: &str) {
    let mut drawn = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none());
    handler.render_report(&mut drawn, error).unwrap();
    let unwrapped = drawn.replace("\n  │ ", " ");
    assert!(unwrapped.contains(sentence) && !drawn.contains("hunter2"), "no {sentence:?} in\n{drawn}");
}

#[test]
fn leniency_of_hip_is_a_table_of_departures() {
    let terms = |connection: &str| match hip_gateway("", connection, "").unwrap().plan {
        NodePlan::Hip(plan) => plan.terms,
        other => panic!("{other:?}"),
    };
    let strict = terms("");
    assert_eq!((strict.p256_hash, strict.leniency), (P256Hash::Sha256, Vec::new()));
    for departure in Departure::ALL {
        let name = departure.name();
        let lenient = terms(&format!("ecdsa_p256_hash = \"sha384\"\nleniency = {{ {name} = true }}"));
        assert_eq!((lenient.p256_hash, lenient.leniency), (P256Hash::Sha384, vec![departure]));
        assert_eq!(terms(&format!("leniency = {{ {name} = false }}")).leniency, Vec::new());
    }
    let swapped = "method = \"hip-dex\"\nleniency = { swapped_puzzle = true }";
    assert!(hip_device("gateway = \"127.0.0.1\"", swapped, "").is_ok(), "diet exchanges have puzzles, too");
}

#[test]
fn mistakes_about_departures_of_hip_are_one_sentence_each() {
    let device = |connection: &str, more: &str| hip_device("gateway = \"127.0.0.1\"", connection, more);
    for (file, sentence) in [
        (hip_gateway("", "ecdsa_p256_hash = \"sha1\"", ""), "unknown hash of signatures with P-256 `sha1`"),
        (hip_gateway("", "leniency = true", ""), "`leniency` must be a table, not a boolean"),
        (hip_gateway("", "leniency = { any_oder = true }", ""), "unknown key `any_oder` in `leniency`"),
        (
            hip_gateway("", "leniency = { any_order = 1 }", ""),
            "`any_order` must be `true` or `false`, not an integer",
        ),
        (
            device("method = \"hip-dex\"\necdsa_p256_hash = \"sha384\"", ""),
            "`ecdsa_p256_hash` is for `hip-bex`",
        ),
        (device("method = \"hip-dex\"\nleniency = { short_kij = true }", ""), "`short_kij` is for `hip-bex`"),
    ] {
        assert_says(&*file.expect_err(sentence), sentence);
    }
}

#[test]
fn mistakes_about_a_host_of_hip_are_one_sentence_each() {
    let device = |connection: &str, more: &str| hip_device("gateway = \"127.0.0.1\"", connection, more);
    let bex = |more: &str| device(&format!("method = \"hip-bex\"\n{more}"), "");
    let hss = "[hss]\nserver = \"127.0.0.1\"\n";
    for (file, sentence) in [
        (hip_gateway("", "psk = \"hunter2\"", ""), "unknown key `psk` in a connection of HIP"),
        (hip_gateway("cookies = \"never\"", "", ""), "unknown key `cookies` in a gateway of HIP"),
        (hip_gateway("", "peer = \"2001:25::1\"", ""), "unknown key `peer` in a connection of HIP"),
        (hip_gateway("", "admits = []", ""), "`admits` is an empty list"),
        (hip_gateway("", "admits = [7]", ""), "`admits` must be `{ public_key = \"FILE\" }`, not an integer"),
        (hip_gateway("", "admits = [\"gw.example.org\"]", ""), "`gw.example.org` is no HIT"),
        (hip_gateway("", "admits = [\"2001:db8::1\"]", ""), "`2001:db8::1` is no HIT"),
        (hip_gateway("", "admits = [{ key = \"f\" }]", ""), "unknown key `key` in `admits` of HIP"),
        (hip_gateway("puzzle_difficulty = 25", "", ""), "`puzzle_difficulty` must be from 0 to 24, not 25"),
        (hip_gateway("transport = \"tcp\"", "", ""), "unknown transport `tcp`"),
        (hip_gateway("transport = \"raw\"\nport = 10500", "", ""), "directly on IP there are no ports"),
        (
            hip_gateway("nat_keepalive = \"5 s\"", "", ""),
            "`nat_keepalive` must be from 15 s to 3600 s, not 5 s",
        ),
        (hip_gateway("", "aka = \"umts\"", ""), "`aka` is for `hip-dex-aka`"),
        (hip_gateway("", "esp_suites = \"3des-md5\"", ""), "HIP has no number for the ESP suite `3des-md5`"),
        (hip_gateway("", "", hss), "`[hss]` is for `hip-dex-aka`"),
        (hip_gateway("life_bytes = \"1 MB\"", "", ""), "without a successor"),
        (device("method = \"hip-dex-aka\"", ""), "method `hip-dex-aka` needs a table `[card]`"),
        (device("method = \"hip-dex\"", CARD), "`[card]` is for `hip-dex-aka`"),
        (device("method = \"hip-bix\"", ""), "unknown method of HIP `hip-bix`"),
        (device("method = \"ikev2-psk\"", ""), "`ikev2-psk` is no method of HIP"),
        (device("method = 2", ""), "`method` must be the name of a method of HIP, not an integer"),
        (
            bex("peer = \"2001:25::1\"\npeer_auth = { public_key = \"f\" }"),
            "`peer` says already who the gateway is",
        ),
        (bex("peer = \"2001:db8::1\""), "`2001:db8::1` is no HIT"),
        (bex("peer_auth = \"eap\""), "`peer_auth` must be `{ public_key = \"FILE\" }`, not a string"),
        (bex("peer_auth = { roots = \"f\" }"), "unknown key `roots` in `peer_auth` of HIP"),
        (
            hip_device("gateway = \"127.0.0.1\"\nping = true", "method = \"hip-bex\"", ""),
            "goes to the HIT of the gateway",
        ),
        (bex("peer_auth = {}"), "`public_key` is missing"),
        (device("method = \"hip-dex-aka\"", CARD), "would tell its IMSI to whoever answers first"),
        (hip_device("", "method = \"hip-bex\"", ""), "`gateway` is missing"),
        (
            hip_device("gateway = \"127.0.0.1\"\nping = \"10.0.0.1\"", "method = \"hip-bex\"", ""),
            "`ping` must be `true` or `false`",
        ),
        (
            hip_device("transport = \"raw\"\ngateway = \"127.0.0.1:10500\"", "method = \"hip-bex\"", ""),
            "directly on IP a gateway has no port",
        ),
    ] {
        assert_says(&*file.expect_err(sentence), sentence);
    }
}

#[test]
fn a_host_of_hip_has_one_connection_and_one_identity() {
    let two = "role = \"gateway\"\n[[connection]]\nmethod = \"hip-bex\"\nauth = { key = \"f\" }\n[[connection]]\nauth = { psk = \"k\" }\n";
    let error = Source::text("node.toml", two).node().unwrap_err();
    assert_eq!(error.to_string(), "a host of HIP has one `[connection]`");
    let bare = "role = \"gateway\"\n[connection]\nmethod = \"hip-bex\"\n";
    let error = Source::text("node.toml", bare).node().unwrap_err();
    assert!(error.to_string().contains("`auth`"), "{error}");
    let psk = "role = \"gateway\"\n[connection]\nmethod = \"hip-bex\"\nauth = { psk = \"hunter2\" }\n";
    let error = Source::text("node.toml", psk).node().unwrap_err();
    assert_eq!(error.to_string(), "unknown key `psk` in `auth` of HIP");
}

#[test]
fn weak_settings_deserve_a_warning() {
    let gateway = |psk: &str, suites: &str| {
        let connection = format!("identity = \"gw\"\nauth = {{ psk = {psk:?} }}\nsuites = {suites:?}\n");
        read(&format!("role = \"gateway\"\n[connection]\n{connection}")).warnings
    };
    let long = "sixteen bytes, or";
    assert_eq!(gateway(long, "aes128gcm16-prfsha256-x25519"), Vec::<String>::new());
    let [short] = &gateway("a", "aes128gcm16-prfsha256-x25519")[..] else { panic!("one warning") };
    assert!(short.starts_with("`psk` has 1 bytes"), "{short}");
    let [broken] = &gateway(long, "3des-md5-modp768")[..] else { panic!("one warning") };
    assert!(broken.contains("takes 3des-md5-prfmd5-modp768: an attacker"), "{broken}");
}

#[test]
fn a_node_file_with_a_secret_that_others_may_read_deserves_a_warning() {
    let path = std::env::temp_dir().join(format!("keytoll-open-{}.toml", std::process::id()));
    let head = "role = \"gateway\"\n[connection]\nidentity = \"gw\"\nauth = ";
    let warnings = |auth: &str, mode: u32| {
        std::fs::write(&path, format!("{head}{auth}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        Source::file(&path).unwrap().node().unwrap().warnings
    };
    let inside = "{ psk = \"sixteen bytes, or\" }";
    assert!(warnings(inside, 0o644)[0].ends_with(&format!("chmod 600 {}", path.display())));
    assert_eq!(warnings(inside, 0o660).len(), 1);
    assert_eq!(warnings(inside, 0o600), Vec::<String>::new());
    let is_of_root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&path).unwrap()) == 0;
    assert_eq!(warnings(inside, 0o640).is_empty(), is_of_root);
    std::fs::remove_file(&path).unwrap();
}
