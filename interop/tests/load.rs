//! `keytoll load` against FreeRADIUS, hostapd and strongSwan, for short: what authenticates, and what becomes of a wrong secret.

use std::path::Path;
use std::process::Command;

use keytoll_daemons::charon::IkeVersion;
use keytoll_interop::eap::{Login, Method, PASSWORD, RADIUS_SECRET, USER, Version};
use keytoll_interop::freeradius::FreeRadius;
use keytoll_interop::hostapd::Hostapd;
use keytoll_interop::swanctl::{Auth, SECRET};
use keytoll_interop::{Charon, KeyKind, Lab, Node, Pki, Terms, Trouble, lab_or_skip};

const PROGRAM: &str = env!("CARGO_BIN_EXE_keytoll-under-test");
const DEVICES: u32 = 20;
const ARRIVALS: &str = "[population]\ndevices = 20\narrivals = \"constant 40/s\"\n";

/// Runs a load at a node; what it prints.
fn load(lab: &Lab, node: Node, text: &str) -> Result<String, Trouble> {
    let (file, out) = (lab.shared_dir().join("load.toml"), lab.shared_dir().join("results"));
    let failed = |what: &str| {
        let what = format!("{what} {}", file.display());
        move |source| Trouble::File { what, source }
    };
    std::fs::write(&file, text).map_err(failed("write"))?;
    let mut command: Command = lab.command(node, PROGRAM);
    command.arg("load").arg(&file).args(["--json", "--force", "--out"]).arg(&out);
    let output = command.output().map_err(failed("run"))?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!told.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(told)
}

fn radius(method: &str, secret: &str, more: &str) -> String {
    // Who proves a certificate has no password to prove.
    let password = if method == "tls" { String::new() } else { format!("password = {PASSWORD:?}\n") };
    format!(
        "role = \"load\"\ntarget = \"{}\"\nsecret = {secret:?}\nmethod = {method:?}\nwithin = \"5 s\"\n{more}\
         [identities]\npattern = {USER:?}\ncount = {DEVICES}\n{password}{ARRIVALS}",
        Node::Aaa.outer()
    )
}

fn all_established(told: &str) {
    assert!(told.contains(&format!("\"established\": {DEVICES},")), "{told}");
    assert!(told.contains("\"failed\": 0,"), "{told}");
}

#[test]
fn freeradius_lets_a_load_in() {
    let methods = [
        Method::plain("md5"),
        Method::plain("mschapv2"),
        Method::over(Version::Tls12, "tls"),
        Method::over(Version::Tls12, "ttls-md5"),
    ];
    for method in methods {
        let Some(lab) = lab_or_skip() else { return };
        let told = of_freeradius(&lab, method, method.eap.name, RADIUS_SECRET)
            .unwrap_or_else(|why| panic!("{method}: {why}\n{}", lab.last_words()));
        all_established(&told);
    }
}

#[test]
fn freeradius_takes_passwords_without_eap() {
    for name in ["pap", "chap"] {
        let Some(lab) = lab_or_skip() else { return };
        let told = of_freeradius(&lab, Method::plain("md5"), name, RADIUS_SECRET)
            .unwrap_or_else(|why| panic!("{name}: {why}\n{}", lab.last_words()));
        all_established(&told);
    }
}

#[test]
fn hostapd_lets_a_load_in() {
    let methods =
        [Method::plain("md5"), Method::plain("mschapv2"), Method::over(Version::Tls12, "peap-mschapv2")];
    for method in methods {
        let Some(lab) = lab_or_skip() else { return };
        let told =
            of_hostapd(&lab, method).unwrap_or_else(|why| panic!("{method}: {why}\n{}", lab.last_words()));
        all_established(&told);
    }
}

/// RFC 3579 §3.2: FreeRADIUS drops what a wrong secret has made, and says nothing.
#[test]
fn freeradius_is_silent_to_a_wrong_secret() {
    let Some(lab) = lab_or_skip() else { return };
    let told =
        of_freeradius(&lab, Method::plain("md5"), "md5", "another").unwrap_or_else(|why| panic!("{why}"));
    assert!(told.contains(&format!("\"no outcome in time\": {DEVICES}")), "{told}");
}

/// A load of RADIUS over TLS (RFC 6614): the name expected of the server, and who issued the certificate of the access server.
fn in_tls(method: &str, version: Version, server_name: &str, [pki, own]: [&Pki; 2]) -> String {
    let around = format!(
        "transport = \"tls\"\nports = 2\n[radius_tls]\nroots = {}\nserver_name = {server_name:?}\ncertificate = {}\n\
         key = {}\nversions = {:?}\n",
        path(&pki.root_certificate()),
        path(&own.certificate(Node::Ue)),
        path(&own.key(Node::Ue)),
        if version == Version::Tls12 { "1.2" } else { "1.3" }
    );
    // RFC 6614 §2.3: the secret is `radsec`, and is not named.
    radius(method, "", &around).replace("secret = \"\"\n", "")
}

#[test]
fn freeradius_lets_a_load_in_over_tls() {
    let plain = Method::plain("md5");
    let rows = [
        ("md5", plain, Version::Tls12),
        ("mschapv2", Method::plain("mschapv2"), Version::Tls13),
        ("pap", plain, Version::Tls13),
        ("chap", plain, Version::Tls12),
    ];
    for (name, method, version) in rows {
        let Some(lab) = lab_or_skip() else { return };
        let run = || {
            let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
            let _aaa = FreeRadius::start_in_tls(&lab, &Login::new(method), &pki, version)?;
            load(&lab, Node::Gw, &in_tls(name, version, Node::Aaa.id(), [&pki; 2]))
        };
        let told = run().unwrap_or_else(|why| panic!("{name}: {why}\n{}", lab.last_words()));
        all_established(&told);
        assert!(told.contains("\"discarded\": {}") && told.contains("\"again\": 0"), "{told}");
    }
}

/// RFC 6614 §2.3: a trusted certificate of another server is refused here, one that nobody vouches for there; FreeRADIUS hangs up
/// on it without a word of why.
#[test]
fn wrong_certificates_are_counted_by_their_reason_over_tls() {
    let wrong_name = (false, "other.lab", "refused: TLS wrong name");
    let wrong_issuer = (true, Node::Aaa.id(), "lost: closed amid the handshake");
    for (is_strangers, server_name, why) in [wrong_name, wrong_issuer] {
        let Some(lab) = lab_or_skip() else { return };
        let run = || {
            let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
            let stranger = Pki::make(&lab.dir(Node::Gw), KeyKind::EcdsaP256)?;
            let own = if is_strangers { &stranger } else { &pki };
            let _aaa =
                FreeRadius::start_in_tls(&lab, &Login::new(Method::plain("md5")), &pki, Version::Tls12)?;
            load(&lab, Node::Gw, &in_tls("md5", Version::Tls12, server_name, [&pki, own]))
        };
        let told = run().unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
        assert!(told.contains("\"established\": 0,") && told.contains("RADIUS connection lost"), "{told}");
        assert!(told.contains(why), "{told}");
    }
}

fn of_freeradius(lab: &Lab, method: Method, name: &str, secret: &str) -> Result<String, Trouble> {
    let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
    let _aaa = FreeRadius::start(lab, &Login::new(method), &pki)?;
    load(lab, Node::Gw, &radius(name, secret, &tls(method, &pki)))
}

fn of_hostapd(lab: &Lab, method: Method) -> Result<String, Trouble> {
    let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
    let _aaa = Hostapd::start(lab, &Login::new(method), &pki)?;
    load(lab, Node::Gw, &radius(method.eap.name, RADIUS_SECRET, &tls(method, &pki)))
}

fn path(path: &Path) -> String {
    format!("{:?}", path.display().to_string())
}

/// What devices show and trust, if the method has TLS.
fn tls(method: Method, pki: &Pki) -> String {
    let Some(version) = method.tls else { return String::new() };
    format!(
        "[tls]\nroots = {}\nserver_name = {:?}\ncertificate = {}\nkey = {}\nversions = {:?}\n",
        path(&pki.root_certificate()),
        Node::Aaa.id(),
        path(&pki.certificate(Node::Ue)),
        path(&pki.key(Node::Ue)),
        if version == Version::Tls12 { "1.2" } else { "1.3" }
    )
}

/// A load on the gateway, behind whose address more keys may follow.
fn ike(more: &str, connection: &str, identities: &str) -> String {
    format!(
        "role = \"load\"\ntarget = \"{}\"\nwithin = \"5 s\"\n{more}[connection]\npeer = {:?}\n{connection}\
         [identities]\n{identities}\n{ARRIVALS}stay = \"500 ms\"\n",
        Node::Gw.outer(),
        Node::Gw.id()
    )
}

const GCM: &str = "aes128gcm16-prfsha256-x25519";
const SUITES: &str =
    "suites = \"aes128gcm16-prfsha256-x25519\"\nesp_suites = \"aes128gcm16\"\nvirtual_address = true\n";

/// One name for all, as strongSwan is told to expect one.
fn one_name() -> String {
    format!("pattern = {:?}\ncount = {DEVICES}", Node::Ue.id())
}

#[test]
fn charon_lets_a_load_in_and_out_again() {
    let Some(lab) = lab_or_skip() else { return };
    let auth = format!("auth = {{ psk = {SECRET:?} }}\n{SUITES}");
    of_charon(&lab, &Terms::psk(GCM, "aes128gcm16"), None, &ike("", &auth, &one_name()))
        .unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
}

#[test]
fn charon_takes_the_certificates_of_a_load() {
    let Some(lab) = lab_or_skip() else { return };
    let certified = || {
        let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
        let auth = format!(
            "auth = {{ certificate = {}, key = {} }}\npeer_auth = {{ roots = {} }}\n{SUITES}",
            path(&pki.certificate(Node::Ue)),
            path(&pki.key(Node::Ue)),
            path(&pki.root_certificate())
        );
        of_charon(&lab, &Terms::certificate(GCM, "aes128gcm16"), Some(&pki), &ike("", &auth, &one_name()))
    };
    certified().unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
}

/// strongSwan passes EAP on to FreeRADIUS, and knows devices by whatever name they give.
#[test]
fn charon_lets_a_load_with_eap_in() {
    let Some(lab) = lab_or_skip() else { return };
    let with_eap = || {
        let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
        let login = Login::new(Method::plain("mschapv2"));
        let _aaa = FreeRadius::start(&lab, &login, &pki)?;
        let auth = format!(
            "auth = \"eap\"\npeer_auth = {{ roots = {} }}\nsuites = \"aes128-sha256-x25519\"\nesp_suites = \"aes128gcm16\"\n\
             virtual_address = true\n",
            path(&pki.root_certificate())
        );
        let users = format!("pattern = {USER:?}\ncount = {DEVICES}\npassword = {PASSWORD:?}");
        of_charon(&lab, &Terms::eap(login), Some(&pki), &ike("method = \"mschapv2\"\n", &auth, &users))
    };
    with_eap().unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
}

#[test]
fn charon_lets_a_load_with_ikev1_in() {
    let Some(lab) = lab_or_skip() else { return };
    let terms = Terms::v1(IkeVersion::V1Main, Auth::Psk, "aes128-sha256-modp2048", "aes128-sha256");
    let auth = format!(
        "version = 1\nauth = {{ psk = {SECRET:?} }}\nsuites = \"aes128-sha256-modp2048\"\nesp_suites = \"aes128-sha256\"\n\
         local = \"10.98.1.0/24\"\nremote = \"10.98.2.0/24\"\n"
    );
    of_charon(&lab, &terms, None, &ike("", &auth, &one_name()))
        .unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
}

fn of_charon(lab: &Lab, terms: &Terms, pki: Option<&Pki>, text: &str) -> Result<(), Trouble> {
    // Devices have one name, and one of them is not to replace the others.
    let terms = Terms { charon: "unique = never", ..*terms };
    let gw = Charon::start(lab, Node::Gw, &terms, pki)?;
    let told = load(lab, Node::Ue, text)?;
    all_established(&told);
    assert!(told.contains("\"left_open\": 0,"), "{told}");
    gw.await_sas("the deletes", <[_]>::is_empty).map(drop)
}
