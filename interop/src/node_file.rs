//! What keytoll is told on a node: the same terms that strongSwan is told, as a node file.

use std::fmt::Write;
use std::net::IpAddr;

use keytoll_daemons::charon::IkeVersion;

use crate::eap::{Binding, CARD_KEY, CARD_OPC, IMSI, Login, Method, PASSWORD, RADIUS_SECRET, REALM, Version};
use crate::lab::{GW_TOWARDS_AAA, Node, POOL};
use crate::pki::Pki;
use crate::swanctl::{Auth, Inner, Terms, peer_of};

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
    let inner = match terms.inner {
        Inner::Virtual => "connection.virtual_address = true\n".to_owned(),
        Inner::Subnet => {
            format!("inner = \"{}\"\nconnection.local = {:?}\n", Node::Ue.inner(), Node::Ue.inner_net())
        }
    };
    format!(
        "role = \"device\"\nport = 500\nnat_port = 4500\nlocal = \"{address}\"\ngateway = \"{}\"\n\
         ping = \"{}\"\n{inner}connection.remote = {:?}\n{}{}",
        terms.outer(Node::Gw),
        Node::Gw.inner(),
        Node::Gw.inner_net(),
        proofs(Node::Ue, terms, pki),
        common(Node::Ue, terms)
    )
}

fn gateway(terms: &Terms, pki: Option<&Pki>) -> String {
    let inner = match terms.inner {
        Inner::Virtual => format!("connection.pool = {POOL:?}\n"),
        Inner::Subnet => format!("connection.remote = {:?}\n", Node::Ue.inner_net()),
    };
    format!(
        "role = \"gateway\"\ninner = \"{}\"\n{inner}connection.local = {:?}\n{}{}",
        Node::Gw.inner(),
        Node::Gw.inner_net(),
        proofs(Node::Gw, terms, pki),
        common(Node::Gw, terms)
    )
}

/// How a node proves itself, and how its peer must.
fn proofs(node: Node, terms: &Terms, pki: Option<&Pki>) -> String {
    let by_certificate = || (format!("{{ {} }}", credential(node, pki)), format!("{{ {} }}", roots(pki)));
    let eap = "\"eap\"".to_owned();
    let (own, peer) = match (terms.auth, node) {
        (Auth::Psk, _) => return format!("connection.auth = {{ psk = {:?} }}\n", terms.secret),
        (Auth::RawKey, _) => raw_keys(node, pki),
        (Auth::Eap(_), Node::Ue) => (eap, by_certificate().1),
        (Auth::Eap(_), _) => (by_certificate().0, eap),
        (Auth::Certificate, _) => by_certificate(),
    };
    let named = match terms.keytoll_signature {
        "" => String::new(),
        // Then the peer signs with SHA-1, too.
        scheme if scheme.ends_with("sha1") => {
            format!("connection.signatures = {scheme:?}\nconnection.peer_hash = \"sha1\"\n")
        }
        scheme => format!("connection.signatures = {scheme:?}\n"),
    };
    format!("connection.auth = {own}\nconnection.peer_auth = {peer}\n{named}")
}

fn raw_keys(node: Node, pki: Option<&Pki>) -> (String, String) {
    let files = pki.map(|pki| {
        let (key, public_key) = (pki.key(node), pki.public_key(peer_of(node)));
        (format!("{{ key = {key:?} }}"), format!("{{ public_key = {public_key:?} }}"))
    });
    files.unwrap_or_default()
}

/// What device and gateway are told alike.
fn common(node: Node, terms: &Terms) -> String {
    let version = match terms.version {
        IkeVersion::V2 => "",
        IkeVersion::V1Main => "connection.version = 1\n",
        IkeVersion::V1Aggressive => "connection.version = 1\nconnection.aggressive = true\n",
    };
    format!(
        "{version}{}connection.identity = {:?}\nconnection.suites = {:?}\n\
         connection.esp_suites = {:?}\n{}\n",
        expected(node, terms).map(|peer| format!("connection.peer = {peer:?}\n")).unwrap_or_default(),
        terms.own_id.unwrap_or(node.id()),
        terms.ike.split(',').collect::<Vec<_>>(),
        terms.esp.split(',').collect::<Vec<_>>(),
        terms.keytoll
    )
}

/// Whom a node expects: a gateway with EAP whom the AAA server has proved, if that says so.
fn expected(node: Node, terms: &Terms) -> Option<String> {
    match (terms.auth, node) {
        (Auth::Eap(login), Node::Gw) => login.names.then(|| login.user()),
        _ => Some(peer_of(node).id().to_owned()),
    }
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
    let mut text = format!("[eap]\nmethods = {:?}\n", login.method.eap.name);
    if login.method.card().is_some() {
        let _ = write!(text, "[card]\nrealm = {REALM:?}\nsqn = {}\n{}", login.sqn, subscriber());
    } else {
        let _ = writeln!(text, "identity = {:?}\npassword = {:?}", login.user(), login.password);
    }
    if login.method.tls.is_some() {
        text += &tls(Node::Ue, &[login.method], login, pki);
        let _ = writeln!(text, "server_name = {:?}", login.server.id());
    }
    text
}

fn server_eap(login: &Login, pki: Option<&Pki>) -> String {
    let methods = [login.proposed, login.method];
    let mut names = methods.map(|method| method.eap.name).to_vec();
    names.dedup();
    let mut text = format!(
        "role = \"aaa\"\nname = {:?}\nmethods = {names:?}\n[clients]\n\"{GW_TOWARDS_AAA}\" = {RADIUS_SECRET:?}\n\
         [users]\n{:?} = {PASSWORD:?}\n",
        Node::Aaa.id(),
        login.user()
    );
    if methods.iter().any(|method| method.tls.is_some()) {
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
    let version = match methods.iter().find_map(|method| method.tls) {
        Some(Version::Tls12) => "1.2",
        _ => "1.3",
    };
    let binding = methods.iter().find_map(|method| method.binding);
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
