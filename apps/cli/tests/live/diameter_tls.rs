//! Diameter in TLS between an AAA server and an HSS, each a process: who is let in, and who is not. RFC 6733 §13.1.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use keytoll_pki::Validity;

use super::office::{DAY, Office, dns, now};
use super::support::{
    CARD_K, Dir, Node, aaa, eap_device, eap_gateway, keytoll, subscriber, wait_for, wait_for_again,
};
use super::text;

const IMSI: &str = "001010000000001";

/// `[tls]` with the certificate of this name; `more` follows.
fn tls(table: &str, own: &str, peer: &str, more: &str) -> String {
    format!(
        "[{table}]\ncertificate = \"{own}.crt\"\nkey = \"{own}.key\"\nroots = \"root.crt\"\n\
         peer_names = \"{peer}\"\n{more}"
    )
}

fn hss(port: u16, tls: &str) -> String {
    format!(
        "role = \"hss\"\nport = {port}\nname = \"hss.test\"\nrealm = \"test\"\npeers = \"127.0.0.1\"\n{}{tls}",
        subscriber("[[subscriber]]")
    )
}

fn asking(hss: &Node, tls: &str) -> String {
    aaa("aka", &format!("[hss]\nserver = \"127.0.0.1:{}\"\nrealm = \"test\"\n{tls}", hss.port(0)))
}

/// Certificates of both sides in a directory.
fn certificates(dir: &Dir) {
    let mut office = Office::of_today(dir);
    office.root("root.crt");
    office.issue("hss", dns("hss.test"));
    office.issue("aaa", dns("aaa.test"));
}

/// Starts a node that logs everything.
fn start(dir: &Dir, verb: &str, file: &str, more: &[&str]) -> Node {
    let name = format!("{verb}.toml");
    let path = dir.write(&name, file);
    Node::start(dir, &[&[verb, &path, "--log", "debug"], more].concat())
}

/// A device that proves its card.
fn connect(dir: &Dir, gw: &Node) -> std::process::Output {
    let card = format!("[card]\nrealm = \"test\"\nstate = \"card\"\n{}", subscriber(""));
    keytoll(&["connect", &dir.write("ue.toml", &eap_device(gw, "aka", &card))])
}

#[test]
fn vectors_come_by_way_of_tls_and_again_when_the_hss_was_away() {
    for versions in ["1.2", "1.3"] {
        let dir = Dir::new();
        certificates(&dir);
        let more = format!("versions = \"{versions}\"\n");
        let hss_tls = tls("tls", "hss", "AAA.test", "");
        let capture = dir.path("hss.pcapng");
        let pcap = ["--pcap", capture.to_str().unwrap()];
        let mut center = start(&dir, "hss", &hss(0, &hss_tls), &pcap);
        let port = center.port(0);
        let mut server = start(&dir, "aaa", &asking(&center, &tls("hss.tls", "aaa", "hss.test", &more)), &[]);
        let gw = start(&dir, "gateway", &eap_gateway(&server), &[]);
        let connected = connect(&dir, &gw);
        assert_eq!(connected.status.code(), Some(0), "{}{}", text(&connected.stdout), server.log());
        assert_eq!(center.expect("answered")["imsi"], IMSI);
        assert_eq!(center.stop(), Some(0));
        sealed(&dir, &capture);
        let center = start(&dir, "hss", &hss(port, &hss_tls), &[]);
        let connected = connect(&dir, &gw);
        let logs = || format!("{}{}{}", text(&connected.stdout), server.log(), center.log());
        assert_eq!(connected.status.code(), Some(0), "{}", logs());
        assert!(server.expect("accepted")["user"].as_str().unwrap().contains(IMSI));
    }
}

/// A capture of TLS shows nothing of the subscriber, and nobody takes it for Diameter; beside it lie the keys.
fn sealed(dir: &Dir, capture: &std::path::Path) {
    let bytes = std::fs::read(capture).unwrap();
    assert!(!bytes.windows(IMSI.len()).any(|window| window == IMSI.as_bytes()));
    let decoded = keytoll(&["decode", capture.to_str().unwrap()]);
    let said = format!("{}{}", text(&decoded.stdout), text(&decoded.stderr));
    assert!(said.contains("TLS"), "{said}");
    assert!(said.contains("0 conversations") && !said.contains("Diameter"), "{said}");
    let keys = std::fs::read_to_string(dir.path("hss.keys").join("tls.keys")).unwrap();
    assert!(keys.lines().count() >= 1 && !keys.contains(CARD_K), "{keys}");
}

/// What each side says when they do not come together.
fn refused(dir: &Dir, hss_tls: &str, aaa_tls: &str, by_hss: &str, by_aaa: &str) {
    let center = start(dir, "hss", &hss(0, hss_tls), &[]);
    let server = start(dir, "aaa", &asking(&center, aaa_tls), &[]);
    for (node, words) in [(&center, by_hss), (&server, by_aaa)] {
        wait_for(node, words);
        assert!(!node.log().contains("sent Diameter MAA"), "{}", node.log());
    }
}

#[test]
fn who_does_not_prove_a_name_that_is_expected_is_refused_by_name() {
    let dir = Dir::new();
    certificates(&dir);
    let good = tls("tls", "hss", "aaa.test", "");
    let asks = tls("hss.tls", "aaa", "hss.test", "");
    let other = tls("tls", "hss", "another.test", "");
    refused(&dir, &other, &asks, "refused: TLS wrong name", "refused: TLS alert bad_certificate");
    let other = tls("hss.tls", "aaa", "another.test", "");
    refused(&dir, &good, &other, "refused: TLS alert bad_certificate", "refused: TLS wrong name");
}

#[test]
fn a_peer_is_whom_its_certificate_proves_not_whom_it_says() {
    let dir = Dir::new();
    let mut office = Office::of_today(&dir);
    office.root("root.crt");
    office.issue("hss", dns("hss.test"));
    office.issue_for("aaa", &[dns("aaa.test"), dns("other.test")]);
    let (hss_tls, aaa_tls) = (tls("tls", "hss", "other.test", ""), tls("hss.tls", "aaa", "hss.test", ""));
    refused(&dir, &hss_tls, &aaa_tls, "Diameter peer not admitted", "sent CER");
    office.issue("aaa", dns("aaa.test"));
    office.issue_for("hss", &[dns("hss.test"), dns("other.test")]);
    let (hss_tls, aaa_tls) = (tls("tls", "hss", "aaa.test", ""), tls("hss.tls", "aaa", "other.test", ""));
    refused(&dir, &hss_tls, &aaa_tls, "sent CEA", "Diameter peer with a name that it has not proved");
}

#[test]
fn an_authority_that_is_not_trusted_proves_nothing() {
    let dir = Dir::new();
    certificates(&dir);
    let validity = Validity { from_unix_seconds: now() - DAY, until_unix_seconds: now() + DAY };
    Office::new(&dir, 2, validity).root("stranger.crt");
    let (good, asks) = (tls("tls", "hss", "aaa.test", ""), tls("hss.tls", "aaa", "hss.test", ""));
    let stranger = |tls: &str| tls.replace("root.crt", "stranger.crt");
    refused(&dir, &stranger(&good), &asks, "refused: TLS bad certificate", "TLS alert bad_certificate");
    refused(&dir, &good, &stranger(&asks), "TLS alert bad_certificate", "refused: TLS bad certificate");
}

#[test]
fn what_is_revoked_or_expires_closes_streams_that_are_open() {
    let dir = Dir::new();
    let mut office = Office::of_today(&dir);
    office.root("root.crt");
    office.issue("hss", dns("hss.test"));
    let client = office.issue("aaa", dns("aaa.test"));
    office.list("list.crl", &[], DAY);
    let hss_tls = tls("tls", "hss", "aaa.test", "crls = \"list.crl\"\n");
    let center = start(&dir, "hss", &hss(0, &hss_tls), &[]);
    let server = start(&dir, "aaa", &asking(&center, &tls("hss.tls", "aaa", "hss.test", "")), &[]);
    wait_for(&center, "sent CEA");
    office.list("list.crl", &[&client], DAY);
    // That which was open, and that which was to take its place.
    wait_for_again(&center, "refused: TLS certificate revoked", 2);
    wait_for(&server, "TLS alert certificate_revoked");
    office.list("list.crl", &[], 0);
    wait_for(&center, "refused: TLS revocation list expired");
    office.list("list.crl", &[], DAY);
    wait_for_again(&center, "sent CEA", 2);
}

#[test]
fn an_expired_certificate_is_refused() {
    let dir = Dir::new();
    certificates(&dir);
    let validity = Validity { from_unix_seconds: now() - 2 * DAY, until_unix_seconds: now() - DAY };
    let mut office = Office::new(&dir, 1, validity);
    office.issue("aaa", dns("aaa.test"));
    let asks = tls("hss.tls", "aaa", "hss.test", "");
    let (by_hss, by_aaa) = ("refused: TLS certificate expired", "TLS alert certificate_expired");
    refused(&dir, &tls("tls", "hss", "aaa.test", ""), &asks, by_hss, by_aaa);
}

/// What an HSS says to bytes, until it hangs up.
fn answer(center: &Node, bytes: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(("127.0.0.1", center.port(0))).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // Whoever is hung up on at once may be told so by a reset.
    let end = socket.read_to_end(&mut answer);
    assert!(!matches!(end, Err(why) if why.kind() != std::io::ErrorKind::ConnectionReset));
    answer
}

#[test]
fn whoever_speaks_no_tls_gets_no_diameter() {
    let dir = Dir::new();
    certificates(&dir);
    let center = start(&dir, "hss", &hss(0, &tls("tls", "hss", "aaa.test", "")), &[]);
    // A CER as it is said in the clear.
    let cer = [&[1, 0, 0, 20, 0x80, 0, 1, 1][..], &[0; 12]].concat();
    let answered = answer(&center, &cer);
    // RFC 8446 §5.1: at most an alert.
    assert!(answered.first().is_none_or(|first| *first == 21), "{answered:?}");
    wait_for(&center, "refused: TLS");
    // Who begins and does not go on is hung up on in time, and has a place like everybody else.
    let begun = Instant::now();
    let idle: Vec<_> = (0..16).map(|_| TcpStream::connect(("127.0.0.1", center.port(0))).unwrap()).collect();
    assert!(answer(&center, &[22, 3, 1]).is_empty());
    wait_for(&center, "16 are the most of one address");
    for mut socket in idle {
        socket.read_to_end(&mut Vec::new()).unwrap();
    }
    assert!(begun.elapsed() > Duration::from_secs(5) && begun.elapsed() < Duration::from_secs(25));
    wait_for(&center, "lost: the handshake is not over");
    assert!(!center.log().contains("sent CEA"));
}

#[test]
fn check_says_yes_only_to_what_would_run() {
    let dir = Dir::new();
    certificates(&dir);
    let check = |file: &str| {
        let output = keytoll(&["check", &dir.write("hss.toml", file)]);
        (output.status.code(), dir.anywhere(&[output.stdout, output.stderr].concat()))
    };
    let good = tls("tls", "hss", "aaa.test", "");
    let (code, said) = check(&hss(0, &good));
    assert!(code == Some(0) && said.contains("in TLS"), "{said}");
    for (from, to, words) in [
        ("peer_names = \"aaa.test\"", "", "TLS between Diameter peers without `peer_names`"),
        ("roots = \"root.crt\"", "", "TLS between Diameter peers without `roots`"),
        ("certificate = \"hss.crt\"", "", "without `certificate`"),
        ("\"aaa.test\"", "\"*.test\"", "`*.test` is no Diameter identity"),
        ("hss.crt", "aaa.crt", "is not the one of the certificate"),
        ("peer_names", "fragment = 1000\npeer_names", "`fragment`"),
    ] {
        let (code, said) = check(&hss(0, &good.replace(from, to)));
        assert!(code == Some(2) && said.contains(words), "{words}: {said}");
    }
    let (code, said) = check(&hss(0, &good).replace("name = \"hss.test\"", "name = \"an.hss.test\""));
    assert!(code == Some(2) && said.contains("hss.crt does not prove that this node is"), "{said}");
}
