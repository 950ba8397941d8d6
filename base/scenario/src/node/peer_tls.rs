//! `[tls]` of an HSS and `[hss.tls]` of an AAA server: TLS around Diameter, both sides with certificates. RFC 6733 §13.1.

use super::Placed;
use super::connection::{CertificatePlan, RootsPlan, certificate, roots};
use super::eap::versions;
use super::files::Files;
use crate::diagnostic::ScenarioError;
use crate::plan::TlsVersion;
use crate::tree::{Item, Table};

// RFC 6733 §2.1: the port of Diameter over TLS.
pub(super) const PORT: u16 = 5658;

/// TLS between Diameter peers.
#[derive(Debug, Clone)]
pub struct PeerTlsPlan {
    /// Our certificate and key.
    pub credential: CertificatePlan,
    /// The trust anchors.
    pub roots: RootsPlan,
    /// The Diameter identities of our peers, which are host names in their certificates.
    pub peer_names: Vec<String>,
    /// The versions spoken, from and to.
    pub versions: (TlsVersion, TlsVersion),
}

const KEYS: &[&str] = &["certificate", "key", "roots", "crls", "peer_names", "versions"];

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
    table.need("roots", WHAT)?;
    Ok(PeerTlsPlan {
        credential: certificate(table, files)?,
        roots: roots(table, files)?.expect("they were just looked for"),
        peer_names: names(table.need("peer_names", WHAT)?)?,
        versions: table.or("versions", (TlsVersion::Tls12, TlsVersion::Tls13), versions)?,
    })
}

fn names(item: &Item) -> Result<Vec<String>, ScenarioError> {
    item.some_elements("name")?.iter().map(name).collect()
}

fn name(item: &Item) -> Result<String, ScenarioError> {
    let text = item.text("a name")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if text.is_empty() || !text.chars().all(fits) {
        let message = format!("`{text}` is no Diameter identity");
        return Err(item.spot.error(message, "the name of a host, whole, as it stands in its certificate"));
    }
    Ok(text.to_owned())
}
