//! Our own side of the comparison: the product's verbs `gateway` and `aaa` with node files, run by this very binary, so
//! that one build measures and is measured.

use std::fs;
use std::path::Path;

use keytoll_daemons::Process;
use keytoll_interop::eap::{CARD_KEY, CARD_OPC, IMSI, PASSWORD, RADIUS_SECRET, USER};
use keytoll_interop::lab::GW_TOWARDS_AAA;
use keytoll_interop::swanctl::SECRET;
use keytoll_interop::{Lab, Node};

use crate::cases::{Case, Proof};
use crate::contestants::start;
use crate::trouble::Result;

/// The verbs that are the product's own.
pub(crate) const VERBS: [&str; 4] = ["gateway", "connect", "aaa", "hss"];

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

/// The same with other limits: more lines of its node file.
pub(crate) fn strained_gateway(lab: &Lab, case: &Case, pki: &Path, limits: &str) -> Result<Process> {
    run(lab, Node::Gw, "gateway", &format!("{limits}{}", gateway_file(case, pki)), Log::Quiet)
}

/// `keytoll gateway` for devices with EAP, whom the AAA server knows; with so many places for half-open SAs.
pub(crate) fn eap_gateway(lab: &Lab, pki: &Path, half_open_max: u64) -> Result<Process> {
    run(lab, Node::Gw, "gateway", &eap_gateway_file(pki, half_open_max), Log::Quiet)
}

/// `keytoll aaa` with passwords, and with an HSS that is not there.
pub(crate) fn aaa_without_hss(lab: &Lab) -> Result<Process> {
    run(lab, Node::Aaa, "aaa", &aaa_without_hss_file(), Log::Quiet)
}

/// `keytoll hss` that admits the gateway's place.
pub(crate) fn hss(lab: &Lab) -> Result<Process> {
    run(lab, Node::Aaa, "hss", &hss_file(), Log::Quiet)
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
    let (sockets, port) = match verb {
        "gateway" => ("-Hlnu", "500"),
        "hss" => ("-Hlnt", "3868"),
        _ => ("-Hlnu", "1812"),
    };
    start(verb, command, &dir, |_| is_bound(lab, node, sockets, port))
}

/// A quiet program does not say when it listens; the system does.
fn is_bound(lab: &Lab, node: Node, sockets: &str, port: &str) -> bool {
    let asked: std::io::Result<_> = lab.command(node, "ss").args([sockets, "sport", "=", port]).output();
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
ike_sas_max = 10000000

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

fn eap_gateway_file(pki: &Path, half_open_max: u64) -> String {
    format!(
        "role = \"gateway\"
port = 500
nat_port = 4500
encapsulation = \"auto\"
half_open_max = {half_open_max}
ike_sas_max = 10000000

[connection]
identity = \"{gw}\"
suites = [\"{ike}\"]
auth = {{ certificate = \"{pki}/gw.crt\", key = \"{pki}/gw.key\" }}
peer_auth = \"eap\"
esp_suites = [\"{esp}\"]

[radius]
server = \"{aaa}\"
local = \"{GW_TOWARDS_AAA}\"
secret = \"{RADIUS_SECRET}\"
",
        gw = Node::Gw.id(),
        ike = Case::FLOODED.ike,
        esp = Case::FLOODED.esp.unwrap_or_default(),
        pki = pki.display(),
        aaa = Node::Aaa.outer(),
    )
}

/// A device with a password, for the gateway above.
pub(crate) fn eap_device_file(pki: &Path) -> String {
    format!(
        "role = \"device\"
port = 500
nat_port = 4500
encapsulation = \"auto\"
local = \"{ue}\"
gateway = \"{gw}\"

[connection]
peer = \"{gw_id}\"
suites = [\"{ike}\"]
auth = \"eap\"
peer_auth = {{ roots = \"{pki}/root.crt\" }}
esp_suites = [\"{esp}\"]

[eap]
methods = \"mschapv2\"
identity = \"{USER}\"
password = \"{PASSWORD}\"
",
        ue = Node::Ue.outer(),
        gw = Node::Gw.outer(),
        gw_id = Node::Gw.id(),
        ike = Case::FLOODED.ike,
        esp = Case::FLOODED.esp.unwrap_or_default(),
        pki = pki.display(),
    )
}

/// All attackers are one user here; the limit of a user would be met before that of identifiers.
fn aaa_without_hss_file() -> String {
    format!(
        "role = \"aaa\"
port = 1812
methods = [\"mschapv2\", \"aka\"]
at_once_per_user = 65535

[clients]
\"{GW_TOWARDS_AAA}\" = \"{RADIUS_SECRET}\"

[users]
\"{USER}\" = \"{PASSWORD}\"

[hss]
server = \"{aaa}:3868\"
",
        aaa = Node::Aaa.outer(),
    )
}

fn hss_file() -> String {
    format!(
        "role = \"hss\"
port = 3868
peers = [\"{GW_TOWARDS_AAA}\"]

[[subscriber]]
imsi = \"{IMSI}\"
k = \"{CARD_KEY:032x}\"
opc = \"{CARD_OPC:032x}\"
",
    )
}
