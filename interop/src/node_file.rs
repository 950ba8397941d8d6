//! What keytoll is told on a node: the same terms that strongSwan is told, as a node file.

use std::fmt::Write;
use std::net::IpAddr;

use crate::eap::{
    Binding, CARD_KEY, CARD_OPC, IMSI, Inside, Login, Method, PASSWORD, RADIUS_SECRET, REALM, Version,
};
use crate::lab::{GW_TOWARDS_AAA, Node, POOL};
use crate::pki::Pki;
use crate::swanctl::{Auth, Terms};

/// The file of a node at this address.
pub fn text(node: Node, address: &IpAddr, terms: &Terms, pki: Option<&Pki>) -> String {
    let mut text = match node {
        Node::Ue => device(address, terms, pki),
        Node::Gw => gateway(terms, pki),
        Node::Aaa => String::new(),
    };
    if let Auth::Eap(login) = terms.auth {
        text += &eap(node, &login, pki);
    }
    text
}

fn device(address: &IpAddr, terms: &Terms, pki: Option<&Pki>) -> String {
    let auth = match terms.auth {
        Auth::Psk => format!("connection.auth = {{ psk = {:?} }}\n", terms.secret),
        Auth::Certificate => format!(
            "connection.auth = {{ {} }}\nconnection.peer_auth = {{ {} }}\n",
            credential(Node::Ue, pki),
            roots(pki)
        ),
        Auth::Eap(_) => format!("connection.auth = \"eap\"\nconnection.peer_auth = {{ {} }}\n", roots(pki)),
    };
    format!(
        "role = \"device\"\nport = 500\nnat_port = 4500\nlocal = \"{address}\"\ngateway = \"{}\"\n\
         ping = \"{}\"\nconnection.virtual_address = true\nconnection.remote = {:?}\n{auth}{}",
        terms.outer(Node::Gw),
        Node::Gw.inner(),
        Node::Gw.inner_net(),
        common(Node::Ue, terms)
    )
}

fn gateway(terms: &Terms, pki: Option<&Pki>) -> String {
    let auth = match terms.auth {
        Auth::Psk => format!("connection.auth = {{ psk = {:?} }}\n", terms.secret),
        Auth::Certificate => format!(
            "connection.auth = {{ {} }}\nconnection.peer_auth = {{ {} }}\n",
            credential(Node::Gw, pki),
            roots(pki)
        ),
        Auth::Eap(_) => {
            format!("connection.auth = {{ {} }}\nconnection.peer_auth = \"eap\"\n", credential(Node::Gw, pki))
        }
    };
    format!(
        "role = \"gateway\"\ninner = \"{}\"\nconnection.pool = {POOL:?}\nconnection.local = {:?}\n{auth}{}",
        Node::Gw.inner(),
        Node::Gw.inner_net(),
        common(Node::Gw, terms)
    )
}

/// What device and gateway are told alike.
fn common(node: Node, terms: &Terms) -> String {
    let peer = if node == Node::Ue { Node::Gw } else { Node::Ue };
    format!(
        "connection.identity = {:?}\nconnection.peer = {:?}\nconnection.suites = {:?}\n\
         connection.esp_suites = {:?}\n{}\n",
        node.id(),
        peer.id(),
        terms.ike.split(',').collect::<Vec<_>>(),
        terms.esp.split(',').collect::<Vec<_>>(),
        terms.keytoll
    )
}

fn credential(node: Node, pki: Option<&Pki>) -> String {
    let files =
        pki.map(|pki| format!("certificate = {:?}, key = {:?}", pki.certificate(node), pki.key(node)));
    files.unwrap_or_default()
}

fn roots(pki: Option<&Pki>) -> String {
    pki.map(|pki| format!("roots = {:?}", pki.root_certificate())).unwrap_or_default()
}

/// Each node's part in EAP. The AAA server always knows the right password.
fn eap(node: Node, login: &Login, pki: Option<&Pki>) -> String {
    match node {
        Node::Ue => device_eap(login, pki),
        Node::Gw => format!(
            "[radius]\nserver = \"{}\"\nlocal = \"{GW_TOWARDS_AAA}\"\nsecret = {RADIUS_SECRET:?}\n\
             identifier = {:?}\nasks_identity = {}\n",
            Node::Aaa.outer(),
            Node::Gw.id(),
            login.asks_identity
        ),
        Node::Aaa => server_eap(login, pki),
    }
}

fn device_eap(login: &Login, pki: Option<&Pki>) -> String {
    let mut text = format!("[eap]\nmethods = {:?}\n", name(login.method));
    if login.method.card().is_some() {
        let _ = write!(text, "[card]\nrealm = {REALM:?}\nsqn = {}\n{}", login.sqn, subscriber());
    } else {
        let _ = writeln!(text, "identity = {:?}\npassword = {:?}", login.user(), login.password);
    }
    if login.method.tls().is_some() {
        text += &tls(Node::Ue, &[login.method], login, pki);
        let _ = writeln!(text, "server_name = {:?}", Node::Aaa.id());
    }
    text
}

fn server_eap(login: &Login, pki: Option<&Pki>) -> String {
    let methods = [login.proposed, login.method];
    let mut names = methods.map(name).to_vec();
    names.dedup();
    let mut text = format!(
        "role = \"aaa\"\nname = {:?}\nmethods = {names:?}\n[clients]\n\"{GW_TOWARDS_AAA}\" = {RADIUS_SECRET:?}\n\
         [users]\n{:?} = {PASSWORD:?}\n",
        Node::Aaa.id(),
        login.user()
    );
    if methods.iter().any(|method| method.tls().is_some()) {
        text += &tls(Node::Aaa, &methods, login, pki);
    }
    if methods.iter().any(|method| method.card().is_some()) {
        let _ = write!(text, "[[subscriber]]\n{}", subscriber());
    }
    text
}

fn subscriber() -> String {
    format!("imsi = {IMSI:?}\nk = \"{CARD_KEY:032x}\"\nopc = \"{CARD_OPC:032x}\"\n")
}

/// One version and no other, so that it is known which one was spoken.
fn tls(node: Node, methods: &[Method], login: &Login, pki: Option<&Pki>) -> String {
    let version = match methods.iter().find_map(|method| method.tls()) {
        Some(Version::Tls12) => "1.2",
        _ => "1.3",
    };
    let binding = methods.iter().find_map(|method| match method {
        Method::Peap(binding, _) => Some(*binding),
        _ => None,
    });
    let credential = credential(node, pki).replace(", key", "\nkey");
    format!(
        "[tls]\nversions = {version:?}\nresumption = {}\ncryptobinding = {:?}\n{credential}\n{}\n",
        login.resumption,
        match binding {
            Some(Binding::Off) => "off",
            Some(Binding::Required) => "required",
            Some(Binding::Optional) | None => "optional",
        },
        roots(pki)
    )
}

/// What node files call a method.
const fn name(method: Method) -> &'static str {
    match method {
        Method::Md5 => "md5",
        Method::MschapV2 => "mschapv2",
        Method::Gtc => "gtc",
        Method::Sim => "sim",
        Method::Aka => "aka",
        Method::AkaPrime => "aka-prime",
        Method::Tls(_) => "tls",
        Method::Ttls(Inside::Pap, _) => "ttls-pap",
        Method::Ttls(Inside::MschapV2, _) => "ttls-mschapv2",
        Method::Ttls(Inside::EapMd5, _) => "ttls-md5",
        Method::Ttls(Inside::EapMschapV2, _) => "ttls-eap-mschapv2",
        Method::Peap(..) => "peap-mschapv2",
    }
}
