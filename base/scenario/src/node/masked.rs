//! A node file as it may be shown when something is wrong with it: what could be a secret is asterisks.

use std::sync::Arc;

use crate::diagnostic::Text;
use crate::tree::{self, Item, Table, Value};

/// Keys whose value is a secret, or a table of secrets.
const SECRET_KEYS: &[&str] =
    &["psk", "psks", "secret", "password", "clients", "users", "k", "op", "opc", "hex"];
/// Keys under which something stands that leads to a secret and is none.
const REFERENCES: &[&str] = &["file", "env"];

/// The text with asterisks in the place of its secrets, for whoever shows it. Of a document that cannot be read no string
/// is shown.
pub(super) fn without_secrets(text: &Arc<Text>) -> Arc<Text> {
    let mut shown = text.text.to_string().into_bytes();
    match tree::document(text) {
        Ok(document) => mask_table(&document, false, &mut shown),
        Err(_) => mask_strings(&mut shown),
    }
    let shown = String::from_utf8_lossy(&shown).into_owned();
    Arc::new(Text { name: text.name.clone(), text: Arc::clone(&text.text), shown: shown.into() })
}

fn mask_table(table: &Table, is_secret: bool, shown: &mut [u8]) {
    for entry in &table.entries {
        let key = entry.key.as_str();
        let is_secret = (is_secret || SECRET_KEYS.contains(&key)) && !REFERENCES.contains(&key);
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

/// Everything but the quotes; the length stays, so that places stay where they are.
fn asterisks(place: Option<&mut [u8]>) {
    for byte in place.into_iter().flatten().filter(|byte| !matches!(byte, b'"' | b'\'' | b'\n' | b'\r')) {
        *byte = b'*';
    }
}

/// Whatever stands between quotes on a line, whether they are closed or not.
fn mask_strings(shown: &mut [u8]) {
    let mut open = None;
    for byte in shown {
        match (*byte, open) {
            (b'\n', _) => open = None,
            (quote @ (b'"' | b'\''), None) => open = Some(quote),
            (quote, Some(opened)) if quote == opened => open = None,
            (_, Some(_)) => *byte = b'*',
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        without_secrets(&Arc::new(Text::new("a", text))).shown.to_string()
    }

    #[test]
    fn secrets_are_asterisks_and_the_rest_stays() {
        let text =
            "a = 'b'\n[x]\nauth = { psk = \"sec'ret\" }\nk = { file = 'f' }\n[users]\n'ue' = \"päss\"\n";
        let expected =
            "a = 'b'\n[x]\nauth = { psk = \"***'***\" }\nk = { file = 'f' }\n[users]\n'ue' = \"*****\"\n";
        assert_eq!(shown(text), expected);
        assert_eq!(shown(text).len(), text.len());
    }

    #[test]
    fn of_what_cannot_be_read_no_string_is_shown() {
        assert_eq!(shown("psk = \"secret\nb = 'c' d\n"), "psk = \"******\nb = '*' d\n");
    }
}
