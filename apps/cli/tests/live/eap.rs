//! Device, gateway, AAA server and HSS, each in a process of its own; and that none of them tells a secret.

use keytoll_pki::{Authority, Request, Validity, pem};
use keytoll_scenario::catalogue::EAP_METHODS;

use super::support::{
    CARD_K, CARD_OPC, Dir, Node, PASSWORD, PSK, RADIUS_SECRET, aaa, chmod, eap_device, eap_gateway, keytoll,
    shows, subscriber,
};
use super::text;
use crate::schema;

#[test]
fn a_card_is_proved_by_an_hss_over_diameter() {
    let dir = Dir::new();
    let hss_file = "role = \"hss\"\nport = 0\nrealm = \"test\"\npeers = \"127.0.0.1\"\n".to_owned();
    let mut hss =
        Node::start(&dir, &["hss", &dir.write("hss.toml", &(hss_file + &subscriber("[[subscriber]]")))]);
    let asks = format!("[hss]\nserver = \"127.0.0.1:{}\"\nrealm = \"test\"\n", hss.port(0));
    let mut server = Node::start(&dir, &["aaa", &dir.write("aaa.toml", &aaa("aka", &asks))]);
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &eap_gateway(&server))]);
    let card = format!("[card]\nrealm = \"test\"\n{}", subscriber(""));
    let connected = keytoll(&["connect", &dir.write("ue.toml", &eap_device(&gw, "aka", &card))]);
    assert_eq!(connected.status.code(), Some(0), "{}", text(&connected.stdout));
    assert_eq!(hss.expect("answered")["imsi"], "001010000000001");
    assert_eq!(server.expect("accepted")["user"], "0001010000000001@test");
    gw.expect("established");
    for node in [&mut gw, &mut server, &mut hss] {
        assert_eq!(node.stop(), Some(0));
    }
}

#[test]
fn a_wrong_password_is_named_on_both_sides() {
    let dir = Dir::new();
    let mut server = Node::start(&dir, &["aaa", &dir.write("aaa.toml", &aaa("mschapv2", ""))]);
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &eap_gateway(&server))]);
    let device = eap_device(&gw, "mschapv2", "").replace(PASSWORD, "another password");
    let refused = keytoll(&["connect", &dir.write("ue.toml", &device)]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));
    let told = text(&refused.stdout);
    assert!(told.contains("the gateway refused us: EAP wrong password"), "{told}");
    let rejected = server.expect("rejected");
    assert_eq!((&rejected["user"], &rejected["why"]), (&"ue@test".into(), &"EAP wrong password".into()));
}

#[test]
fn a_wrong_radius_secret_is_a_warning_with_its_likely_cause() {
    let dir = Dir::new();
    let server = Node::start(&dir, &["aaa", &dir.write("aaa.toml", &aaa("mschapv2", ""))]);
    let gateway = eap_gateway(&server).replace(RADIUS_SECRET, "another secret");
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway)]);
    let device = dir.write("ue.toml", &eap_device(&gw, "mschapv2", ""));
    assert_eq!(keytoll(&["connect", &device, "--within", "500ms"]).status.code(), Some(1));
    let told = server.log();
    let line = told.lines().find(|line| line.contains("client-refused")).unwrap_or_default();
    let words =
        [" WARN ", "why=\"wrong Message-Authenticator\"", "remote=127.0.0.1", "likely=\"its shared secret"];
    assert!(words.iter().all(|words| line.contains(words)), "{told}");
    assert_eq!(
        told.lines().filter(|line| line.contains(" WARN ")).count(),
        1,
        "once a minute: {}",
        server.log()
    );
}

/// Certificates of an authority of the test: `root.crt`, and `aaa` and `ue` with their keys.
fn certificates(dir: &Dir) {
    use keytoll_crypto::{Real, keys};
    use keytoll_crypto_api::Seed;
    use keytoll_crypto_api::algorithm::KeyKind;
    use keytoll_crypto_api::credentials::AlternativeName;
    let (kind, mut crypto, mut make_key) =
        (KeyKind::EcdsaP256, Real::default(), keys::generate as fn(_, &mut _) -> _);
    let validity = Validity { from_unix_seconds: 1_767_225_600, until_unix_seconds: 2_082_758_400 };
    let mut authority = Authority::new(kind, validity, &Seed::from(1), &mut make_key, &mut crypto);
    pem::write_certificates(&dir.path("root.crt"), &[authority.anchor()]).unwrap();
    let names =
        [("aaa", AlternativeName::Dns("aaa.test".into())), ("ue", AlternativeName::Email("ue@test".into()))];
    for (name, alternative) in names {
        let request = Request { name, alternatives: &[alternative], kind, chain_length: 2 };
        let credential = authority.issue(&request, &mut make_key, &mut crypto);
        pem::write_certificates(&dir.path(&format!("{name}.crt")), &credential.chain).unwrap();
        let pkcs8 = keys::to_pkcs8(&credential.key).unwrap();
        pem::write_private_key(&dir.path(&format!("{name}.key")), &pkcs8).unwrap();
    }
}

/// Every method, with everything logged that can be logged.
#[test]
fn every_method_connects_and_nobody_tells_a_secret() {
    let dir = Dir::new();
    certificates(&dir);
    for method in EAP_METHODS.iter().map(|method| method.name) {
        let tls = |name: &str| {
            format!("[tls]\ncertificate = \"{name}.crt\"\nkey = \"{name}.key\"\nroots = \"root.crt\"\n")
        };
        let server_more = tls("aaa") + &subscriber("[[subscriber]]");
        let device_more =
            format!("{}server_name = \"aaa.test\"\n[card]\nrealm = \"test\"\n{}", tls("ue"), subscriber(""));
        let aaa_file = dir.write("aaa.toml", &aaa(method, &server_more));
        let mut server = Node::start(&dir, &["aaa", &aaa_file, "--log", "trace"]);
        let gw_file = dir.write("gw.toml", &eap_gateway(&server));
        let mut gw = Node::start(&dir, &["gateway", &gw_file, "--log", "trace"]);
        let file = dir.write("ue.toml", &eap_device(&gw, method, &device_more));
        let connected = keytoll(&["connect", &file, "--json", "--log", "trace"]);
        let (told, logged) = (text(&connected.stdout), text(&connected.stderr));
        assert_eq!(
            connected.status.code(),
            Some(0),
            "{method}: {told}{logged}\n{}\n{}",
            gw.log(),
            server.log()
        );
        assert_eq!((gw.stop(), server.stop()), (Some(0), Some(0)));
        let events = format!("{:?} {:?}", gw.told, server.told);
        let everything = [told, logged, &gw.log(), &server.log(), &events].concat();
        assert!(everything.contains("sent IKE_AUTH request"), "everything was logged");
        for secret in [PSK, RADIUS_SECRET, PASSWORD, CARD_K, CARD_OPC] {
            assert!(!shows(&everything, secret.as_bytes()), "{method}: {secret} in\n{everything}");
        }
    }
}

#[test]
fn secrets_may_stand_elsewhere_and_open_files_deserve_a_warning() {
    let dir = Dir::new();
    let secret = dir.write("psk", &format!("{PSK}\n"));
    chmod(dir.path("psk").as_path(), 0o644);
    let file = super::support::gateway().replace(&format!("{PSK:?}"), "{ file = \"psk\" }");
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &file)]);
    let warning =
        format!("warning: `{secret}` holds a secret and others may read it (mode 644): chmod 600 {secret}");
    assert!(gw.log().contains(&warning), "{}", gw.log());
    let device =
        super::support::device(&gw, PSK).replace(&format!("{PSK:?}"), "{ env = \"KEYTOLL_TEST_PSK\" }");
    let connected = std::process::Command::new(super::support::PROGRAM)
        .args(["connect", &dir.write("ue.toml", &device)])
        .env("KEYTOLL_TEST_PSK", PSK)
        .output()
        .unwrap();
    assert_eq!(connected.status.code(), Some(0), "{}", text(&connected.stdout));
}

#[test]
fn the_search_for_secrets_finds_them() {
    for text in ["key a key of the test", "612068", "97, 32, 104", "612068".to_uppercase().as_str()] {
        assert!(shows(text, b"a h") || shows(text, PSK.as_bytes()), "{text}");
    }
    assert!(!shows("nothing", PSK.as_bytes()));
}

/// One attempt after the other, each with what the one before left: pseudonyms, fast re-authentication identities, sequence
/// numbers. The gateway passes on what IKE says of the device, or asks.
#[test]
fn a_card_connects_again_and_again() {
    let runs = [("aka", '0', false), ("aka", '0', true), ("aka-prime", '6', false), ("sim", '1', true)];
    for (method, prefix, asks) in runs {
        let dir = Dir::new();
        let server_file = dir.write("aaa.toml", &aaa(method, &subscriber("[[subscriber]]")));
        let server = Node::start(&dir, &["aaa", &server_file]);
        let gateway = eap_gateway(&server) + &format!("asks_identity = {asks}\n");
        // Whatever it is called by, it is one subscriber.
        let peer = format!("[connection]\npeer = \"{prefix}001010000000001@test\"");
        let gateway = gateway.replace("[connection]", &peer);
        let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &gateway)]);
        let card = format!("[card]\nrealm = \"test\"\n{}", subscriber(""));
        let file = dir.write("ue.toml", &eap_device(&gw, method, &card));
        let connected = keytoll(&["connect", &file, "--count", "4"]);
        let told = text(&connected.stdout);
        assert_eq!(connected.status.code(), Some(0), "{method}, asks {asks}: {told}\n{}", server.log());
    }
}

/// RFC 7296 §2.16: the device says in IKE that it is the boss; EAP finds that it is not.
#[test]
fn connection_and_pool_are_those_of_whom_eap_proved() {
    let dir = Dir::new();
    let server = Node::start(&dir, &["aaa", &dir.write("aaa.toml", &aaa("mschapv2", ""))]);
    let of_boss = eap_gateway(&server).replace("[connection]", "[[connection]]\npeer = \"boss@test\"");
    let [head, radius] = of_boss.split("[radius]").collect::<Vec<_>>()[..] else { panic!("{of_boss}") };
    let of_ue = head[head.find("[[connection]]").unwrap()..]
        .replace("boss@test", "ue@test")
        .replace("10.98.3", "10.98.4");
    let both = format!("{head}{of_ue}[radius]{radius}asks_identity = true\n");
    let mut gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &both)]);
    let device =
        eap_device(&gw, "mschapv2", "").replace("[connection]", "[connection]\nidentity = \"boss@test\"");
    let connected = keytoll(&["connect", &dir.write("ue.toml", &device)]);
    assert_eq!(connected.status.code(), Some(0), "{}", text(&connected.stdout));
    let up = gw.expect("established");
    assert_eq!((&up["peer"], &up["claimed"]), (&"ue@test".into(), &"boss@test".into()), "{up}");
    assert!(up["address"].as_str().unwrap().starts_with("10.98.4."), "{up}");
    assert_eq!(gw.stop(), Some(0));
    // The boss's connection alone is for nobody else.
    let mut gw = Node::start(
        &dir,
        &["gateway", &dir.write("gw.toml", &format!("{head}[radius]{radius}asks_identity = true\n"))],
    );
    let device = device.lines().map(|line| match line.split_once(" = ") {
        Some(("gateway", _)) => format!("gateway = \"127.0.0.1:{}\"\n", gw.port(0)),
        Some(("gateway_nat_port", _)) => format!("gateway_nat_port = {}\n", gw.port(1)),
        _ => format!("{line}\n"),
    });
    let refused = keytoll(&["connect", &dir.write("ue.toml", &device.collect::<String>())]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));
    assert_eq!(gw.expect("failed")["why"], "unexpected identity");
}

/// RFC 9048 §4: somebody who keeps EAP-AKA′ from both sides is found out, because the server says in EAP-AKA what it would
/// rather have run.
#[test]
fn a_device_that_can_do_better_is_not_bidden_down() {
    let dir = Dir::new();
    let methods = "methods = [\"aka-prime\", \"aka\"]";
    let server = aaa("aka", &subscriber("[[subscriber]]")).replace("methods = \"aka\"", methods);
    let server = Node::start(&dir, &["aaa", &dir.write("aaa.toml", &server)]);
    let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &eap_gateway(&server))]);
    let card = format!("[card]\nrealm = \"test\"\n{}", subscriber(""));
    // The identity of EAP-AKA, as if somebody had changed the first digit on the way.
    let plain = eap_device(&gw, "aka", &card);
    let both =
        plain.replace("methods = \"aka\"", &format!("{methods}\nidentity = \"0001010000000001@test\""));
    let refused = keytoll(&["connect", &dir.write("both.toml", &both)]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));
    assert!(text(&refused.stdout).contains("EAP bidding down"), "{}", text(&refused.stdout));
    let connected = keytoll(&["connect", &dir.write("plain.toml", &plain)]);
    assert_eq!(connected.status.code(), Some(0), "a device without EAP-AKA′: {}", text(&connected.stdout));
}

/// TS 33.102 §6.3.3: a challenge whose sequence number the card has seen is not answered, in the next run of the program
/// neither. An AAA server that begins anew repeats the numbers, as somebody would with recorded challenges.
#[test]
fn a_card_with_a_state_answers_no_challenge_twice() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    let server_file = dir.write("aaa.toml", &aaa("aka", &subscriber("[[subscriber]]")));
    let messages = |state: &str| {
        let server = Node::start(&dir, &["aaa", &server_file]);
        let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &eap_gateway(&server))]);
        let card = format!("[card]\nrealm = \"test\"\n{}{state}", subscriber(""));
        let file = dir.write("ue.toml", &eap_device(&gw, "aka", &card));
        let connected = keytoll(&["connect", &file, "--json"]);
        assert_eq!(connected.status.code(), Some(0), "{}", text(&connected.stderr));
        let outcome = schema::read("connect", &connected.stdout);
        (outcome["attempts"][0]["messages"].as_u64().unwrap(), text(&connected.stderr).to_owned())
    };
    let state = "state = \"card\"\n";
    let (first, again) = (messages(state).0, messages(state).0);
    assert_eq!(again, first + 2, "the card asks for another number");
    assert_eq!(dir.path("card").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let (forgetful, said) = messages("");
    assert!(forgetful == first && said.contains("the card forgets"), "{said}");
}
