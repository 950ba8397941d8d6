//! HIP between nodes: who is admitted and believed, subscriptions in the diet exchange, what captures tell, and raw sockets.

use std::process::Command;

use keytoll_crypto::keys;
use keytoll_crypto_api::Seed;
use keytoll_crypto_api::algorithm::KeyKind;
use keytoll_pki::pem;

use super::support::{CARD_K, CARD_OPC, Dir, Node, chmod, keytoll, shows, subscriber};
use super::text;
use crate::schema;

/// A key of Ed25519 of this name, and of X25519 as OpenSSL writes it.
fn keys_of(dir: &Dir, name: &str) {
    let key = keys::generate(KeyKind::Ed25519, &mut Seed::from(1).stream(name));
    pem::write_private_key(&dir.path(&format!("{name}.key")), &keys::to_pkcs8(&key).unwrap()).unwrap();
    std::fs::write(dir.path(&format!("{name}.pub")), &key.spki).unwrap();
    let head = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x6e\x04\x22\x04\x20";
    let x25519 = [&head[..], &Seed::from(2).stream(name).bytes::<32>()].concat();
    pem::write_private_key(&dir.path(&format!("{name}-x25519.key")), &x25519).unwrap();
}

/// Departures from RFC 7401 and the hash of signatures with P-256: nodes with the same key in their files agree, and a device without it
/// does not agree with a gateway that has it.
#[test]
fn departures_from_the_rfc_are_keys_of_both_node_files() {
    let dir = Dir::new();
    for name in ["gw", "ue"] {
        let key = keys::generate(KeyKind::EcdsaP256, &mut Seed::from(1).stream(name));
        pem::write_private_key(&dir.path(&format!("{name}.key")), &keys::to_pkcs8(&key).unwrap()).unwrap();
    }
    for key in [
        "ecdsa_p256_hash = \"sha384\"",
        "leniency = { swapped_integrity_keys = true }",
        "leniency = { r2_with_signature_2 = true }",
        "leniency = { swapped_puzzle = true }",
    ] {
        let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway("hip-bex", key))]);
        for (own, code) in [(key, 0), ("", 1)] {
            let file = device(&gw, "hip-bex", own).replace("retransmit_tries = 3", "retransmit_tries = 1");
            let connected = keytoll(&["connect", &dir.write("ue.toml", &file)]);
            assert_eq!(connected.status.code(), Some(code), "{key}: {}", text(&connected.stdout));
        }
    }
    let file = gateway("hip-bex", "leniency = { any_order = true, no_r1_counter = true, short_kij = true }");
    let checked = keytoll(&["check", &dir.write("gw.toml", &file)]);
    let shown = text(&checked.stdout);
    assert!(shown.contains("any_order, no_r1_counter, short_kij"), "{shown}");
}

pub(super) fn with_keys() -> Dir {
    let dir = Dir::new();
    ["gw", "ue", "other"].into_iter().for_each(|name| keys_of(&dir, name));
    dir
}

/// A gateway with a method; more is of its connection, or behind it.
pub(super) fn gateway(method: &str, more: &str) -> String {
    let key = if method == "hip-bex" { "gw.key" } else { "gw-x25519.key" };
    format!(
        "role = \"gateway\"\nport = 0\n[connection]\nmethod = {method:?}\nauth = {{ key = {key:?} }}\n{more}\n"
    )
}

/// A device for a running gateway, whose HIT it knows.
fn device(gateway: &Node, method: &str, more: &str) -> String {
    let key = if method == "hip-bex" { "ue.key" } else { "ue-x25519.key" };
    let hit = gateway.told[0]["identity"].as_str().unwrap();
    format!(
        "role = \"device\"\ngateway = \"127.0.0.1:{}\"\nretransmit_first = \"100 ms\"\nretransmit_tries = 3\n[connection]\n\
         method = {method:?}\nauth = {{ key = {key:?} }}\npeer = {hit:?}\n{more}\n",
        gateway.port(0)
    )
}

pub(super) fn hss(dir: &Dir) -> Node {
    let head = "role = \"hss\"\nport = 0\nrealm = \"test\"\npeers = \"127.0.0.1\"\n".to_owned();
    Node::start(dir, &["hss", &dir.write("hss.toml", &(head + &subscriber("[[subscriber]]")))])
}

pub(super) fn asking(hss: &Node) -> String {
    format!("[hss]\nserver = \"127.0.0.1:{}\"\nrealm = \"test\"\n", hss.port(0))
}

fn card() -> String {
    format!("[card]\nrealm = \"test\"\nstate = \"card\"\n{}", subscriber(""))
}

#[test]
fn a_device_connects_and_says_with_whom() {
    for method in ["hip-bex", "hip-dex"] {
        let dir = with_keys();
        let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway(method, ""))]);
        let file = dir.write("ue.toml", &device(&gw, method, ""));
        let pcap = dir.path("ue.pcapng");
        let pcap = pcap.to_str().unwrap();
        let connected = keytoll(&["connect", &file, "--json", "--pcap", pcap]);
        assert_eq!(connected.status.code(), Some(0), "{}", text(&connected.stderr));
        let document = schema::read("connect", &connected.stdout);
        let attempt = &document["attempts"][0];
        assert_eq!(
            (&attempt["outcome"], &attempt["messages"]),
            (&"connected".into(), &4.into()),
            "{attempt}"
        );
        assert!(attempt["first_packet_ms"].as_f64().unwrap() > 0.0, "{attempt}");
        assert_eq!(attempt["peer"], gw.told[0]["identity"]);
        let up = gw.expect("established");
        assert_eq!((&up["peer"], &up["identity"]), (&attempt["identity"], &attempt["peer"]), "{up}");
        assert_eq!(gw.expect("child-up")["encapsulated"], true);
        assert_eq!(gw.expect("closed")["why"], "deleted");
        assert_eq!(gw.stop(), Some(0));
        let ladder = String::from_utf8(keytoll(&["decode", pcap]).stdout).unwrap();
        for words in ["I1", "CLOSE_ACK", "ESP", "== established", "1 succeeded"] {
            assert!(ladder.contains(words), "no {words:?} in\n{ladder}");
        }
        assert!(text(&keytoll(&["measure", pcap]).stdout).contains(method));
        let ports = std::fs::read_to_string(dir.path("ue.keys/decode_as_entries")).unwrap();
        assert!(ports.contains(",(none),HIP"), "{ports}");
    }
}

#[test]
fn check_shows_the_hit_of_a_node() {
    let dir = with_keys();
    let file = dir.write("gw.toml", &gateway("hip-bex", "admits = { public_key = \"ue.pub\" }"));
    let said = keytoll(&["check", &file]);
    let gw = Node::start(&dir, &["gateway", &file]);
    let hit = gw.told[0]["identity"].as_str().unwrap().to_owned();
    assert!(
        hit.starts_with("2001:25:") && text(&said.stdout).contains(&format!("HIT      {hit}")),
        "{hit}\n{}",
        text(&said.stdout)
    );
    assert!(gw.log().contains(&format!("identity={hit}")), "{}", gw.log());
}

#[test]
fn whoever_is_not_admitted_is_told_so() {
    let dir = with_keys();
    let file = dir.write("gw.toml", &gateway("hip-bex", "admits = { public_key = \"other.pub\" }"));
    let gw = Node::start(&dir, &["gateway", &file]);
    let refused = keytoll(&["connect", &dir.write("ue.toml", &device(&gw, "hip-bex", ""))]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));
    let told = text(&refused.stdout);
    assert!(told.contains("the gateway refused us: BLOCKED_BY_POLICY"), "{told}");
}

#[test]
fn a_gateway_with_another_key_is_not_believed() {
    let dir = with_keys();
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway("hip-bex", ""))]);
    let other = dir.write("other.toml", &gateway("hip-bex", "").replace("gw.key", "other.key"));
    let other = Node::start(&dir, &["gateway", &other]);
    let file = device(&gw, "hip-bex", "")
        .replace(&format!("127.0.0.1:{}", gw.port(0)), &format!("127.0.0.1:{}", other.port(0)));
    let refused = keytoll(&["connect", &dir.write("ue.toml", &file), "--within", "3s"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));
    assert!(text(&refused.stdout).contains("not connected: timeout"), "{}", text(&refused.stdout));
    let whoever = file.lines().filter(|line| !line.starts_with("peer =")).collect::<Vec<_>>().join("\n");
    let believed = keytoll(&["connect", &dir.write("any.toml", &whoever)]);
    assert_eq!(believed.status.code(), Some(0), "{}", text(&believed.stdout));
    assert!(
        text(&believed.stderr).contains("the device believes whoever answers"),
        "{}",
        text(&believed.stderr)
    );
}

#[test]
fn a_subscription_is_proved_and_nobody_tells_a_secret() {
    for aka in ["eps", "umts"] {
        let dir = with_keys();
        let mut hss = hss(&dir);
        let more = format!("aka = {aka:?}\n{}", asking(&hss));
        let file = dir.write("gw.toml", &gateway("hip-dex-aka", &more));
        let mut gw = Node::start(&dir, &["gateway", &file, "--log", "trace"]);
        let file = device(&gw, "hip-dex-aka", &format!("aka = {aka:?}\n{}", card()));
        let file = dir.write("ue.toml", &file);
        let connected = keytoll(&["connect", &file, "--log", "trace", "--count", "2"]);
        let (told, logged) = (text(&connected.stdout), text(&connected.stderr));
        assert_eq!(connected.status.code(), Some(0), "{aka}: {told}{logged}\n{}", gw.log());
        assert!(told.contains("6 messages"), "{told}");
        assert_eq!(hss.expect("answered")["imsi"], "001010000000001");
        let up = gw.expect("established");
        assert_eq!(up.get("subscriber"), None, "a right RES alone proves nobody");
        let proved = gw.expect("subscriber-proved");
        assert_eq!(
            (&proved["subscriber"], &proved["association"]),
            (&"001010000000001".into(), &up["association"])
        );
        let everything = [told, logged, &gw.log(), &hss.log()].concat();
        for secret in [CARD_K, CARD_OPC] {
            assert!(!shows(&everything, secret.as_bytes()), "{secret} in\n{everything}");
        }
    }
}

#[test]
fn a_card_with_another_key_and_a_silent_hss_are_named() {
    let dir = with_keys();
    let hss = hss(&dir);
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway("hip-dex-aka", &asking(&hss)))]);
    let connect = |card: &str| {
        let file = dir.write("ue.toml", &device(&gw, "hip-dex-aka", card));
        let refused = keytoll(&["connect", &file]);
        assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));
        text(&refused.stdout).to_owned()
    };
    let other = card().replace(CARD_K, CARD_OPC).replace("\"card\"", "\"other-card\"");
    let told = connect(&other);
    assert!(told.contains("not connected") || told.contains("the gateway refused us"), "{told}");
    drop(hss);
    let told = connect(&card());
    assert!(told.contains("not connected") || told.contains("the gateway refused us"), "{told}");
}

/// What is not at its place is told, and nothing panics.
#[test]
fn wrong_files_of_hip_are_refused() {
    let dir = with_keys();
    std::fs::write(dir.path("noise.key"), [7; 100]).unwrap();
    chmod(&dir.path("ue.key"), 0o644);
    let gw = |method: &str, more: &str, from: &str, to: &str| {
        let file = gateway(method, more);
        assert!(file.contains(from), "{from}");
        let said = keytoll(&["check", &dir.write("gw.toml", &file.replace(from, to))]);
        (said.status.code(), dir.anywhere(&said.stderr))
    };
    let hit_of_diet = "admits = \"2001:24:18bb:916c:ef66:475:a853:498d\"";
    for ((code, said), sentence) in [
        (gw("hip-bex", "", "gw.key", "gw-x25519.key"), "the base exchange needs a key that signs"),
        (gw("hip-dex", "", "gw-x25519.key", "gw.key"), "the diet exchange needs a key of X25519"),
        (gw("hip-bex", "", "gw.key", "missing.key"), "cannot read a private key from missing.key"),
        (gw("hip-bex", "", "gw.key", "noise.key"), "cannot read a private key from noise.key"),
        (gw("hip-bex", "", "gw.key", "gw.pub"), "cannot read a private key from gw.pub"),
        (gw("hip-bex", hit_of_diet, "", ""), "is one for the diet exchange"),
        (gw("hip-dex", "admits = { public_key = \"ue.pub\" }", "", ""), "is one for the base exchange"),
        (gw("hip-bex", "admits = \"2001:2f::1\"", "", ""), "nobody knows the suite of the HIT"),
        (gw("hip-bex", "admits = { public_key = \"noise.key\" }", "", ""), "a public key from noise.key"),
    ] {
        assert_eq!(code, Some(2), "{said}");
        let said = said.replace("\n  │ ", " ");
        assert!(said.contains(sentence), "no {sentence:?} in\n{said}");
    }
    let (code, said) = gw("hip-bex", "", "gw.key", "ue.key");
    assert!(code == Some(0) && said.contains("holds a secret and others may read it"), "{said}");
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

/// Two addresses of the loopback interface, each with raw sockets of its own.
#[test]
fn raw_sockets_carry_hip_where_they_are_permitted() {
    let dir = with_keys();
    let raw = |file: String| file.replace("port = 0\n", "").replacen("role", "transport = \"raw\"\nrole", 1);
    let file = dir.write("gw.toml", &raw(gateway("hip-bex", "")));
    let program = super::support::PROGRAM;
    if !is_root() {
        let said = keytoll(&["gateway", &file]);
        assert_eq!(said.status.code(), Some(3));
        let sentence = "no permission for a raw socket; run as root or grant CAP_NET_RAW";
        assert!(text(&said.stderr).contains(sentence), "{}", text(&said.stderr));
        return;
    }
    let stripped = ["--bounding-set=-net_raw", "--inh-caps=-net_raw", program, "gateway", &file];
    let said = Command::new("setpriv").args(stripped).output().unwrap();
    assert_eq!(said.status.code(), Some(3), "{}", text(&said.stderr));
    assert!(text(&said.stderr).contains("no permission for a raw socket"), "{}", text(&said.stderr));
    let mut gw = Node::start(&dir, &["gateway", &file, "--listen", "127.0.7.1"]);
    assert_eq!(gw.told[0]["addresses"], serde_json::json!(["127.0.7.1", "127.0.7.1"]));
    let hit = gw.told[0]["identity"].as_str().unwrap();
    let file = format!(
        "role = \"device\"\ntransport = \"raw\"\ngateway = \"127.0.7.1\"\nlocal = \"127.0.7.2\"\n[connection]\n\
         method = \"hip-bex\"\nauth = {{ key = \"ue.key\" }}\npeer = {hit:?}\n"
    );
    let connected = keytoll(&["connect", &dir.write("ue.toml", &file)]);
    assert_eq!(connected.status.code(), Some(0), "{}", text(&connected.stdout));
    assert_eq!(gw.expect("child-up")["encapsulated"], false);
    let said =
        keytoll(&["gateway", &dir.path("gw.toml").display().to_string(), "--listen", "127.0.7.1:10500"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(text(&said.stderr).contains("directly on IP listens on no port"), "{}", text(&said.stderr));
}
