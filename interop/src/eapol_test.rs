//! wpa_supplicant's `eapol_test`: an EAP peer with its own RADIUS client, run once from the gateway's place.

use std::fs;

use crate::eap::{CARD_KEY, CARD_OPC, Inside, Login, Method, RADIUS_SECRET, Version};
use crate::lab::{Lab, Node};
use crate::pki::Pki;
use crate::run::{Trouble, finish};

/// Authenticates once; gives all that it printed. It fails unless the server accepts it and the keys that RADIUS brings
/// are its own, where the method makes keys.
pub fn eapol_test(lab: &Lab, login: &Login, pki: &Pki) -> Result<String, Trouble> {
    let file = lab.dir(Node::Gw).join("eapol_test.conf");
    fs::write(&file, network(login, pki))
        .map_err(|source| Trouble::File { what: format!("write {}", file.display()), source })?;
    let mut command = lab.command(Node::Gw, "/usr/bin/eapol_test");
    command.arg("-c").arg(&file).arg("-a").arg(Node::Aaa.outer().to_string());
    command.args(["-s", RADIUS_SECRET, "-t", "10"]);
    if !login.method.makes_key() {
        command.arg("-n");
    }
    finish(&mut command)
}

/// The configuration: a `network` block as wpa_supplicant reads it.
fn network(login: &Login, pki: &Pki) -> String {
    format!(
        "network={{\n  key_mgmt=IEEE8021X\n  eapol_flags=0\n  fragment_size=1024\n  identity=\"{}\"\n  \
         password=\"{}\"\n  {}}}\n",
        login.user(),
        password(login),
        method(login.method, pki)
    )
}

/// Its card simulators want K, OPc and, for AKA, the highest sequence number seen.
fn password(login: &Login) -> String {
    match login.method.card() {
        Some(_) => format!("{CARD_KEY:032x}:{CARD_OPC:032x}:000000000000"),
        None => login.password.into(),
    }
}

fn method(method: Method, pki: &Pki) -> String {
    match method {
        Method::Md5 => "eap=MD5\n".into(),
        Method::MschapV2 => "eap=MSCHAPV2\n".into(),
        Method::Gtc => "eap=GTC\n".into(),
        Method::Sim => "eap=SIM\n".into(),
        Method::Aka => "eap=AKA\n".into(),
        Method::AkaPrime => "eap=AKA'\n".into(),
        Method::Tls(version) => format!(
            "eap=TLS\n  client_cert=\"{}\"\n  private_key=\"{}\"\n  {}",
            pki.certificate(Node::Ue).display(),
            pki.key(Node::Ue).display(),
            tunnel(version, pki)
        ),
        Method::Ttls(inside, version) => {
            format!("eap=TTLS\n  phase2=\"{}\"\n  {}", phase2(inside), tunnel(version, pki))
        }
    }
}

const fn phase2(inside: Inside) -> &'static str {
    match inside {
        Inside::Pap => "auth=PAP",
        Inside::MschapV2 => "auth=MSCHAPV2",
        Inside::EapMd5 => "autheap=MD5",
        Inside::EapMschapV2 => "autheap=MSCHAPV2",
    }
}

/// wpa_supplicant 2.10 leaves TLS 1.3 out unless asked for.
fn tunnel(version: Version, pki: &Pki) -> String {
    let out = if version == Version::Tls12 { 1 } else { 0 };
    format!(
        "ca_cert=\"{}\"\n  domain_match=\"{}\"\n  phase1=\"tls_disable_tlsv1_3={out}\"\n",
        pki.root_certificate().display(),
        Node::Aaa.id()
    )
}
