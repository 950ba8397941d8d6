//! Our own side of the comparison: the product's verbs `gateway` and `aaa` with node files, run by this very binary, so
//! that one build measures and is measured.

use std::fs;
use std::path::Path;

use keytoll_daemons::Process;
use keytoll_interop::eap::RADIUS_SECRET;
use keytoll_interop::lab::GW_TOWARDS_AAA;
use keytoll_interop::swanctl::SECRET;
use keytoll_interop::{Lab, Node};

use crate::cases::{Case, Proof};
use crate::contestants::start;
use crate::trouble::Result;

/// The verbs that are the product's own.
pub(crate) const VERBS: [&str; 3] = ["gateway", "connect", "aaa"];

/// How much it says of what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// What it says unless told otherwise: a line for every SA that comes or goes.
    Usual,
    /// Warnings only.
    Quiet,
}

/// `keytoll gateway` with the terms of a case.
pub(crate) fn gateway(lab: &Lab, case: &Case, pki: &Path, log: Log) -> Result<Process> {
    run(lab, Node::Gw, "gateway", &gateway_file(case, pki), log)
}

/// `keytoll aaa` for EAP-TLS with TLS 1.2 and nothing else.
pub(crate) fn aaa(lab: &Lab, pki: &Path) -> Result<Process> {
    run(lab, Node::Aaa, "aaa", &aaa_file(pki), Log::Quiet)
}

fn run(lab: &Lab, node: Node, verb: &'static str, file: &str, log: Log) -> Result<Process> {
    let dir = lab.dir(node);
    let path = dir.join("node.toml");
    fs::write(&path, file)?;
    let mut command = lab.command(node, &std::env::current_exe()?.to_string_lossy());
    command.arg(verb).arg(&path).args(["--listen", &node.outer().to_string()]);
    if log == Log::Quiet {
        command.args(["--log", "warn"]);
    }
    let port = if node == Node::Gw { 500 } else { 1812 };
    start(verb, command, &dir, |_| is_bound(lab, node, port))
}

/// A quiet program does not say when it listens; the system does.
fn is_bound(lab: &Lab, node: Node, port: u16) -> bool {
    let asked: std::io::Result<_> =
        lab.command(node, "ss").args(["-Hlnu", "sport", "=", &port.to_string()]).output();
    asked.is_ok_and(|found| !found.stdout.is_empty())
}

fn gateway_file(case: &Case, pki: &Path) -> String {
    let pki = pki.display();
    let auth = match case.proof {
        Proof::Psk => format!("auth = {{ psk = \"{SECRET}\" }}"),
        Proof::Rsa2048 => format!(
            "auth = {{ certificate = \"{pki}/gw.crt\", key = \"{pki}/gw.key\" }}\n\
             peer_auth = {{ roots = \"{pki}/root.crt\" }}"
        ),
    };
    let child = match case.esp {
        Some(esp) => format!("esp_suites = [\"{esp}\"]"),
        None => "childless = true".into(),
    };
    format!(
        "role = \"gateway\"
port = 500
nat_port = 4500
encapsulation = \"auto\"

[connection]
identity = \"{gw}\"
peer = \"{ue}\"
suites = [\"{ike}\"]
{auth}
{child}
",
        gw = Node::Gw.id(),
        ue = Node::Ue.id(),
        ike = case.ike,
    )
}

fn aaa_file(pki: &Path) -> String {
    format!(
        "role = \"aaa\"
port = 1812
methods = [\"tls\"]

[clients]
\"{GW_TOWARDS_AAA}\" = \"{RADIUS_SECRET}\"

[tls]
certificate = \"{pki}/aaa.crt\"
key = \"{pki}/aaa.key\"
roots = \"{pki}/root.crt\"
versions = [\"1.2\"]
fragment = \"1024 B\"
resumption = false
",
        pki = pki.display(),
    )
}
