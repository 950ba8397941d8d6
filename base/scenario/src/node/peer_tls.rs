//! TLS around the messages of two peers, both with certificates: `[tls]` of an HSS and `[hss.tls]` of an AAA server, of Diameter
//! (RFC 6733 §13.1), and `[radius_tls]` of a load's access server (RFC 6614 §2.3).

use super::Placed;
use super::connection::{CertificatePlan, RootsPlan, certificate, roots};
use super::eap::versions;
use super::files::Files;
use crate::diagnostic::ScenarioError;
use crate::plan::TlsVersion;
use crate::tree::{Item, Table};

// RFC 6733 §2.1: the port of Diameter over TLS.
pub(super) const PORT: u16 = 5658;

/// TLS between peers.
#[derive(Debug, Clone)]
pub struct PeerTlsPlan {
    /// Our certificate and key.
    pub credential: CertificatePlan,
    /// The trust anchors.
    pub roots: RootsPlan,
    /// The Diameter identities of our peers, or the name of the RADIUS server: host names in their certificates.
    pub peer_names: Vec<String>,
    /// The versions spoken, from and to.
    pub versions: (TlsVersion, TlsVersion),
}

const KEYS: &[&str] = &["certificate", "key", "roots", "crls", "peer_names", "versions"];
const RADIUS_KEYS: &[&str] = &["certificate", "key", "roots", "crls", "server_name", "versions"];

/// `tls` in this table, if present.
pub(super) fn peer_tls(
    table: &Table,
    files: &mut Files,
) -> Result<Option<Placed<PeerTlsPlan>>, ScenarioError> {
    let Some(item) = table.get("tls") else { return Ok(None) };
    read(item.table()?, files).map(|plan| Some(Placed::new(plan, item)))
}

fn read(table: &Table, files: &mut Files) -> Result<PeerTlsPlan, ScenarioError> {
    const WHAT: &str = "TLS between Diameter peers";
    table.only("`tls` between Diameter peers", KEYS)?;
    read_common(table, names(table.need("peer_names", WHAT)?)?, WHAT, files)
}

/// `radius_tls` of whoever calls a RADIUS server.
pub(super) fn radius_tls(item: &Item, files: &mut Files) -> Result<Placed<PeerTlsPlan>, ScenarioError> {
    const WHAT: &str = "RADIUS over TLS";
    let table = item.table()?;
    table.only("`radius_tls`", RADIUS_KEYS)?;
    let peer_names = vec![name(table.need("server_name", WHAT)?, "name of a host")?];
    Ok(Placed::new(read_common(table, peer_names, WHAT, files)?, item))
}

fn read_common(
    table: &Table,
    peer_names: Vec<String>,
    what: &str,
    files: &mut Files,
) -> Result<PeerTlsPlan, ScenarioError> {
    table.need("roots", what)?;
    Ok(PeerTlsPlan {
        credential: certificate(table, files)?,
        roots: roots(table, files)?.expect("they were just looked for"),
        peer_names,
        versions: table.or("versions", (TlsVersion::Tls12, TlsVersion::Tls13), versions)?,
    })
}

fn names(item: &Item) -> Result<Vec<String>, ScenarioError> {
    item.some_elements("name")?.iter().map(|item| name(item, "Diameter identity")).collect()
}

fn name(item: &Item, what: &str) -> Result<String, ScenarioError> {
    let text = item.text("a name")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if text.is_empty() || !text.chars().all(fits) {
        let message = format!("`{text}` is no {what}");
        return Err(item.spot.error(message, "the name of a host, whole, as it stands in its certificate"));
    }
    Ok(text.to_owned())
}
