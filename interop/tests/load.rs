//! `keytoll load` against FreeRADIUS and strongSwan, for short: what authenticates, and what becomes of a wrong secret.

use std::process::Command;

use keytoll_interop::eap::{Login, Method, PASSWORD, RADIUS_SECRET, USER, Version};
use keytoll_interop::freeradius::FreeRadius;
use keytoll_interop::swanctl::SECRET;
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
    format!(
        "role = \"load\"\ntarget = \"{}\"\nsecret = {secret:?}\nmethod = {method:?}\nwithin = \"5 s\"\n{more}\
         [identities]\npattern = {USER:?}\ncount = {DEVICES}\npassword = {PASSWORD:?}\n{ARRIVALS}",
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
        let told = of_freeradius(&lab, method, RADIUS_SECRET)
            .unwrap_or_else(|why| panic!("{method}: {why}\n{}", lab.last_words()));
        all_established(&told);
    }
}

/// RFC 3579 §3.2: FreeRADIUS drops what a wrong secret has made, and says nothing.
#[test]
fn freeradius_is_silent_to_a_wrong_secret() {
    let Some(lab) = lab_or_skip() else { return };
    let told = of_freeradius(&lab, Method::plain("md5"), "another").unwrap_or_else(|why| panic!("{why}"));
    assert!(told.contains(&format!("\"no outcome in time\": {DEVICES}")), "{told}");
}

fn of_freeradius(lab: &Lab, method: Method, secret: &str) -> Result<String, Trouble> {
    let pki = Pki::make(lab.shared_dir(), KeyKind::EcdsaP256)?;
    let _aaa = FreeRadius::start(lab, &Login::new(method), &pki)?;
    let path = |path: std::path::PathBuf| format!("{:?}", path.display().to_string());
    let tls = format!(
        "[tls]\nroots = {}\nserver_name = {:?}\ncertificate = {}\nkey = {}\nversions = \"1.2\"\n",
        path(pki.root_certificate()),
        Node::Aaa.id(),
        path(pki.certificate(Node::Ue)),
        path(pki.key(Node::Ue))
    );
    let tls = if method.tls.is_some() { tls } else { String::new() };
    load(lab, Node::Gw, &radius(method.eap.name, secret, &tls))
}

#[test]
fn charon_lets_a_load_in_and_out_again() {
    let Some(lab) = lab_or_skip() else { return };
    of_charon(&lab).unwrap_or_else(|why| panic!("{why}\n{}", lab.last_words()));
}

fn of_charon(lab: &Lab) -> Result<(), Trouble> {
    let terms = Terms::psk("aes128gcm16-prfsha256-x25519", "aes128gcm16");
    let gw = Charon::start(lab, Node::Gw, &terms, None)?;
    let text = format!(
        "role = \"load\"\ntarget = \"{}\"\nwithin = \"5 s\"\n[connection]\npeer = {:?}\nauth = {{ psk = {SECRET:?} }}\n\
         suites = \"aes128gcm16-prfsha256-x25519\"\nesp_suites = \"aes128gcm16\"\nvirtual_address = true\n\
         [identities]\npattern = {:?}\ncount = {DEVICES}\n{ARRIVALS}stay = \"500 ms\"\n",
        Node::Gw.outer(),
        Node::Gw.id(),
        Node::Ue.id()
    );
    let told = load(lab, Node::Ue, &text)?;
    all_established(&told);
    assert!(told.contains("\"left_open\": 0,"), "{told}");
    gw.await_sas("the deletes", <[_]>::is_empty).map(drop)
}
