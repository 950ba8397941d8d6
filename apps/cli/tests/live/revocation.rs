//! Certificates that stop counting while programs run: revoked, expired, or with a revocation list that did.

use std::time::Duration;

use keytoll_pki::Validity;

use super::office::{DAY, Office, dns, email, now};
use super::support::{Dir, Node, aaa, eap_device, eap_gateway, gateway, keytoll, wait_for, wait_for_again};
use super::text;

/// A gateway with a certificate that demands one of devices, and the same for a device.
fn by_certificate(file: &str, name: &str, more: &str) -> String {
    let psk = format!("auth = {{ psk = {:?} }}", super::support::PSK);
    assert!(file.contains(&psk), "{file}");
    let auth = format!(
        "auth = {{ certificate = \"{name}.crt\", key = \"{name}.key\" }}\n\
         peer_auth = {{ roots = \"root.crt\", crls = [{more}] }}"
    );
    file.replace(&psk, &auth).replace(", crls = []", "")
}

fn device_file(gw: &Node, more: &str) -> String {
    by_certificate(&super::support::device(gw, super::support::PSK), "ue", more)
}

#[test]
fn a_certificate_of_ike_that_is_revoked_while_the_gateway_runs_opens_nothing_any_more() {
    let dir = Dir::new();
    let mut office = Office::of_today(&dir);
    office.root("root.crt");
    let gw_credential = office.issue("gw", dns("gw.test"));
    let ue_credential = office.issue("ue", email("ue@test"));
    office.list("of-gw.crl", &[], DAY);
    office.list("of-ue.crl", &[], DAY);
    let gw_file = dir.write("gw.toml", &by_certificate(&gateway(), "gw", "\"of-gw.crl\""));
    let mut gw = Node::start(&dir, &["gateway", &gw_file]);
    let file = device_file(&gw, "\"of-ue.crl\"");
    let connect = || keytoll(&["connect", &dir.write("ue.toml", &file)]);
    let connected = connect();
    assert_eq!(connected.status.code(), Some(0), "{}{}", text(&connected.stdout), gw.log());
    // The gateway is asked to read its list again by nobody but the file.
    office.list("of-gw.crl", &[&ue_credential], DAY);
    wait_for(&gw, "read 1 revocation lists again");
    let refused = connect();
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stdout));
    office.list("of-gw.crl", &[], DAY);
    office.list("of-ue.crl", &[&gw_credential], DAY);
    wait_for_again(&gw, "read 1 revocation lists again", 2);
    let refuses = connect();
    assert!(text(&refuses.stdout).contains("certificate revoked"), "{}", text(&refuses.stdout));
    // A list that cannot be read leaves the one before in force.
    dir.write("of-gw.crl", "nothing");
    wait_for(&gw, "the revocation lists stay as they were");
    assert_eq!(gw.expect("failed")["why"], "certificate revoked");
    gw.stop();
}

#[test]
fn what_expires_while_the_gateway_runs_counts_no_more() {
    let dir = Dir::new();
    let office_of_gw = &mut Office::of_today(&dir);
    office_of_gw.issue("gw", dns("gw.test"));
    office_of_gw.root("of-gw.crt");
    // Long enough for a busy machine to come up, short enough to be waited for.
    let until = now() + 12;
    let brief = Validity { from_unix_seconds: now() - DAY, until_unix_seconds: until };
    let mut office = Office::new(&dir, 2, brief);
    office.root("root.crt");
    office.issue("ue", email("ue@test"));
    let gw_file = dir.write("gw.toml", &by_certificate(&gateway(), "gw", ""));
    let mut gw = Node::start(&dir, &["gateway", &gw_file]);
    let file = device_file(&gw, "").replace("root.crt", "of-gw.crt");
    let connect = || keytoll(&["connect", &dir.write("ue.toml", &file)]);
    let connected = connect();
    assert_eq!(connected.status.code(), Some(0), "{}{}", text(&connected.stdout), gw.log());
    while now() <= until + 1 {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(connect().status.code(), Some(1));
    assert_eq!(gw.expect("failed")["why"], "certificate expired");
}

#[test]
fn eap_tls_asks_the_lists_on_both_sides() {
    let dir = Dir::new();
    let mut office = Office::of_today(&dir);
    office.root("root.crt");
    let (server, device) = (office.issue("aaa", dns("aaa.test")), office.issue("ue", email("ue@test")));
    office.list("none.crl", &[], DAY);
    office.list("server.crl", &[&server], DAY);
    office.list("device.crl", &[&device], DAY);
    office.list("expired.crl", &[], 0);
    let stranger = Office::new(&dir, 9, Validity { from_unix_seconds: 0, until_unix_seconds: now() + DAY });
    stranger.list("stranger.crl", &[], DAY);
    let tls = |name: &str, list: &str| {
        format!(
            "[tls]\ncertificate = \"{name}.crt\"\nkey = \"{name}.key\"\nroots = \"root.crt\"\ncrls = {list:?}\n"
        )
    };
    for (of_server, of_device, rejected) in [
        ("none.crl", "none.crl", None),
        ("device.crl", "none.crl", Some("TLS certificate revoked")),
        ("none.crl", "server.crl", Some("TLS alert certificate_revoked")),
        ("expired.crl", "none.crl", Some("TLS revocation list expired")),
        ("none.crl", "expired.crl", Some("TLS alert unknown_ca")),
        ("stranger.crl", "none.crl", Some("TLS no revocation list")),
    ] {
        let aaa_file = dir.write("aaa.toml", &aaa("tls", &tls("aaa", of_server)));
        let mut server = Node::start(&dir, &["aaa", &aaa_file]);
        let gw = Node::start(&dir, &["gateway", &dir.write("gw.toml", &eap_gateway(&server))]);
        let more = tls("ue", of_device) + "server_name = \"aaa.test\"\n";
        let connected = keytoll(&["connect", &dir.write("ue.toml", &eap_device(&gw, "tls", &more))]);
        let told = text(&connected.stdout);
        let case = format!("{of_server} and {of_device}: {told}{}", server.log());
        assert_eq!(connected.status.code(), Some(i32::from(rejected.is_some())), "{case}");
        if let Some(why) = rejected {
            assert_eq!(server.expect("rejected")["why"], why, "{case}");
        }
    }
}

#[test]
fn lists_that_cannot_be_used_are_refused_with_their_place() {
    let dir = Dir::new();
    let mut office = Office::of_today(&dir);
    office.root("root.crt");
    office.issue("gw", dns("gw.test"));
    let check = |lists: &str| {
        let file = dir.write("gw.toml", &by_certificate(&gateway(), "gw", lists));
        let output = keytoll(&["check", &file]);
        (output.status.code(), dir.anywhere(&[output.stdout, output.stderr].concat()))
    };
    dir.write("empty.crl", "");
    office.list("good.crl", &[], DAY);
    assert_eq!(check("\"good.crl\"").0, Some(0));
    let (code, said) = check("\"good.crl\", \"empty.crl\"");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("cannot read revocation lists from empty.crl: holds no revocation"), "{said}");
    let (code, said) = check("\"missing.crl\"");
    assert!(code == Some(2) && said.contains("cannot read revocation lists from missing.crl"), "{said}");
    let without_roots =
        by_certificate(&gateway(), "gw", "\"good.crl\"").replace("roots = \"root.crt\", ", "");
    let output = keytoll(&["check", &dir.write("gw.toml", &without_roots)]);
    assert!(text(&output.stderr).contains("`crls` needs `roots`"), "{}", text(&output.stderr));
}
