//! wpa_supplicant's `eapol_test`: an EAP peer with its own RADIUS client, run from the gateway's place. Debian's own, but
//! for cards the one that `interop/build-wpa.sh` builds, which has simulators of them.

use std::fmt::Write;
use std::fs;

use keytoll_scenario::catalogue::eap::Words;

use crate::eap::{Binding, CARD_KEY, CARD_OPC, Login, Method, RADIUS_SECRET, Version};
use crate::lab::{Lab, Node};
use crate::pki::Pki;
use crate::run::{Trouble, finish};

/// Debian's.
pub const PACKAGED: &str = "/usr/bin/eapol_test";
/// Built from Debian's source.
pub const BUILT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/wpa/eapol_test");

/// A device.
#[derive(Debug)]
pub struct Station<'a> {
    /// How it proves itself.
    pub login: Login,
    /// What it shows and trusts.
    pub pki: &'a Pki,
    /// How often it authenticates again.
    pub again: u32,
}

impl<'a> Station<'a> {
    /// A device that authenticates once.
    pub const fn new(login: Login, pki: &'a Pki) -> Self {
        Self { login, pki, again: 0 }
    }

    /// Runs it; gives all that it printed. It fails unless the server accepts it each time and the keys that RADIUS
    /// brings are its own, where the method makes keys.
    pub fn run(&self, lab: &Lab) -> Result<String, Trouble> {
        let file = lab.dir(Node::Gw).join("eapol_test.conf");
        fs::write(&file, self.network())
            .map_err(|source| Trouble::File { what: format!("write {}", file.display()), source })?;
        let program = if self.login.method.card().is_some() { BUILT } else { PACKAGED };
        let mut command = lab.command(Node::Gw, program);
        command.arg("-c").arg(&file).arg("-a").arg(Node::Aaa.outer().to_string());
        command.args(["-s", RADIUS_SECRET, "-t", "10", "-r", &self.again.to_string()]);
        if !self.login.method.makes_key() {
            command.arg("-n");
        }
        finish(&mut command)
    }

    /// The configuration: a `network` block as wpa_supplicant reads it.
    pub fn network(&self) -> String {
        format!(
            "network={{\n  key_mgmt=IEEE8021X\n  eapol_flags=0\n  fragment_size=1024\n  identity=\"{}\"\n  \
             password=\"{}\"\n  {}}}\n",
            self.login.user(),
            self.password(),
            method(self.login.method, self.pki)
        )
    }

    /// Its cards are K, OPc and, for AKA, a sequence number.
    fn password(&self) -> String {
        match self.login.method.card() {
            Some(_) => format!("{CARD_KEY:032x}:{CARD_OPC:032x}:{:012x}", self.login.sqn),
            None => self.login.password.into(),
        }
    }
}

/// wpa_supplicant is of one source with hostapd, and has its names.
fn method(method: Method, pki: &Pki) -> String {
    let Words { own, inside } = method.eap.hostapd.words().expect("hostapd has every method");
    let mut text = format!("eap={own}\n");
    if method.has_certificate() {
        let (certificate, key) = (pki.certificate(Node::Ue), pki.key(Node::Ue));
        let (certificate, key) = (certificate.display(), key.display());
        let _ = writeln!(text, "  client_cert=\"{certificate}\"\n  private_key=\"{key}\"");
    } else if method.tls.is_some() {
        let _ = writeln!(text, "  phase2=\"{}\"", phase2(method, inside));
    }
    let options =
        method.binding.map(|binding| format!(" peapver=0 crypto_binding={}", crypto_binding(binding)));
    let tls = method.tls.map(|version| format!("  {}", tunnel(version, &options.unwrap_or_default(), pki)));
    text + &tls.unwrap_or_default()
}

/// Inside PEAP is nothing but EAP; inside TTLS EAP is one of several ways.
fn phase2(method: Method, inside: &str) -> String {
    match inside.strip_prefix("TTLS-") {
        Some(attributes) => format!("auth={attributes}"),
        None if method.binding.is_some() => format!("auth={inside}"),
        None => format!("autheap={inside}"),
    }
}

const fn crypto_binding(binding: Binding) -> u8 {
    match binding {
        Binding::Off => 0,
        Binding::Optional => 1,
        Binding::Required => 2,
    }
}

/// wpa_supplicant 2.10 leaves TLS 1.3 out unless asked for.
fn tunnel(version: Version, options: &str, pki: &Pki) -> String {
    let out = if version == Version::Tls12 { 1 } else { 0 };
    format!(
        "ca_cert=\"{}\"\n  domain_match=\"{}\"\n  phase1=\"tls_disable_tlsv1_3={out}{options}\"\n",
        pki.root_certificate().display(),
        Node::Aaa.id()
    )
}
