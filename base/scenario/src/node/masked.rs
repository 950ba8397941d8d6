//! A node file for error messages, with possible secrets replaced by asterisks.

use std::sync::Arc;

use crate::diagnostic::Text;
use crate::tree::{self, Item, Table, Value};

/// Keys whose value is a secret, or a table of secrets.
const SECRET_KEYS: &[&str] =
    &["psk", "psks", "secret", "password", "clients", "users", "k", "op", "opc", "hex"];
/// Keys whose value may be shown. The value of any other key, in particular of a mistyped one, may be a secret.
const SHOWN_KEYS: &[&str] = &[
    "role",
    "listen",
    "port",
    "nat_port",
    "accounting_port",
    "ports",
    "name",
    "realm",
    "peers",
    "peer_names",
    "identifier",
    "connection",
    "radius",
    "eap",
    "tls",
    "radius_tls",
    "card",
    "hss",
    "subscriber",
    "inner",
    "gateway",
    "gateway_nat_port",
    "local",
    "remote",
    "ping",
    "server",
    "batch",
    "identity",
    "peer",
    "auth",
    "peer_auth",
    "suites",
    "esp_suites",
    "mode",
    "childless",
    "rekey_ike",
    "rekey_child",
    "rekey_bytes",
    "rekey_packets",
    "life_bytes",
    "life_packets",
    "replay_window",
    "liveness",
    "pool",
    "auth_lifetime",
    "virtual_address",
    "certificate",
    "key",
    "roots",
    "crls",
    "server_name",
    "versions",
    "fragment",
    "resumption",
    "cryptobinding",
    "methods",
    "user",
    "imsi",
    "sqn",
    "state",
    "access_network",
    "pseudonyms",
    "fast_reauth",
    "triplets",
    "asks_identity",
    "accounting",
    "cookies",
    "half_open_max",
    "children_max",
    "ike_sas_max",
    "fragmentation",
    "encapsulation",
    "retransmit_first",
    "retransmit_base",
    "retransmit_tries",
    "method",
    "transport",
    "admits",
    "puzzle_difficulty",
    "unused_after",
    "aka",
    "serving_network",
    "nat_keepalive",
    "public_key",
    "target",
    "identities",
    "csv",
    "pattern",
    "count",
    "first",
    "population",
    "devices",
    "arrivals",
    "stay",
    "duration",
    "within",
    "fail_if",
    "measure",
    "pid",
    "metrics",
    "file",
    "env",
];
/// Keys whose value refers to a secret without being one.
const REFERENCES: &[&str] = &["file", "env"];

/// The text with asterisks in place of its secrets. If the document cannot be parsed, only keys and headings are shown.
pub(super) fn without_secrets(text: &Arc<Text>) -> Arc<Text> {
    let mut shown = text.text.to_string().into_bytes();
    match tree::document(text) {
        Ok(document) => mask_table(&document, false, &mut shown),
        Err(_) => mask_values(&mut shown),
    }
    let shown = String::from_utf8_lossy(&shown).into_owned();
    Arc::new(Text { name: text.name.clone(), text: Arc::clone(&text.text), shown: shown.into() })
}

fn mask_table(table: &Table, is_secret: bool, shown: &mut [u8]) {
    for entry in &table.entries {
        let key = entry.key.as_str();
        let may_be_secret = SECRET_KEYS.contains(&key) || !SHOWN_KEYS.contains(&key);
        let is_secret = (is_secret || may_be_secret) && !REFERENCES.contains(&key);
        mask(&entry.item, is_secret, shown);
    }
}

fn mask(item: &Item, is_secret: bool, shown: &mut [u8]) {
    match &item.value {
        Value::Table(table) => mask_table(table, is_secret, shown),
        Value::List(list) => list.iter().for_each(|item| mask(item, is_secret, shown)),
        _ if is_secret => asterisks(shown.get_mut(item.spot.span.clone())),
        _ => {}
    }
}

/// Replaces everything but the quotes; the length stays the same, so that offsets remain valid.
fn asterisks(place: Option<&mut [u8]>) {
    for byte in place.into_iter().flatten().filter(|byte| !matches!(byte, b'"' | b'\'' | b'\n' | b'\r')) {
        *byte = b'*';
    }
}

/// Masks the text after the first `=` of a line, and every line that is neither an assignment nor a heading.
fn mask_values(shown: &mut [u8]) {
    for line in shown.split_mut(|byte| *byte == b'\n') {
        let from = match line.iter().position(|byte| *byte == b'=') {
            Some(equals) => equals + 1,
            None if is_heading(line) => line.len(),
            None => 0,
        };
        let values = line[from..].iter_mut().filter(|byte| !byte.is_ascii_whitespace());
        values.filter(|byte| !matches!(byte, b'"' | b'\'')).for_each(|byte| *byte = b'*');
    }
}

/// `[tls]`, `[[connection]]`.
fn is_heading(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"[]._-".contains(byte);
    line.starts_with(b"[") && line.ends_with(b"]") && line.iter().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        without_secrets(&Arc::new(Text::new("a", text))).shown.to_string()
    }

    #[test]
    fn only_secrets_are_masked() {
        let text = "role = 'b'\n[connection]\nauth = { psk = \"sec'ret\" }\nk = { file = 'f' }\n[users]\n'ue' = \"päss\"\n";
        let expected = "role = 'b'\n[connection]\nauth = { psk = \"***'***\" }\nk = { file = 'f' }\n[users]\n'ue' = \"*****\"\n";
        assert_eq!(shown(text), expected);
        assert_eq!(shown(text).len(), text.len());
    }

    #[test]
    fn the_value_of_a_mistyped_key_is_masked() {
        assert_eq!(shown("pasword = 'x1'\n[userz]\nue = 'y1'\n"), "pasword = '**'\n[userz]\nue = '**'\n");
    }

    #[test]
    fn no_value_of_an_unparsable_document_is_shown() {
        assert_eq!(shown("psk = \"secret\nb = 'c' d\n"), "psk = \"******\nb = '*' *\n");
        assert_eq!(shown("[a]\npsk = hunter2\n"), "[a]\npsk = *******\n");
        let lines = "k = \"\"\"\nse cret\n[sec ret]\n\"\"\" x\n";
        assert_eq!(shown(lines), "k = \"\"\"\n** ****\n**** ****\n\"\"\" *\n");
    }
}
