//! Decoded messages in the terms of their standard: a name, payloads, and remarks that help to find a fault.

use std::fmt;
use std::sync::Arc;

use keytoll_trace::Message;

use crate::entry::Content;

/// A decoded message.
#[derive(Debug)]
pub struct Dissected {
    /// `IKE_AUTH request 1`.
    pub name: String,
    /// Its payloads, in order.
    pub parts: Vec<Part>,
    /// The part of it that reports a failure.
    pub failure: Option<String>,
    /// Remarks for the reader: damage, missing keys, NAT.
    pub remarks: Vec<String>,
    /// As a run records it; `None` if it is not a message.
    pub sent: Option<Message>,
    /// The state with which its family files it and judges the conversation.
    pub content: Box<dyn Content>,
}

impl Dissected {
    /// A message with only a name and a content.
    pub fn bare(name: impl Into<String>, content: impl Content) -> Self {
        Self {
            name: name.into(),
            parts: Vec::new(),
            failure: None,
            remarks: Vec::new(),
            sent: None,
            content: Box::new(content),
        }
    }
}

/// The content of an undecodable message, whose protocol follows from its ports.
#[derive(Debug)]
pub struct Unreadable;

impl Content for Unreadable {}

/// An undecodable message of a protocol with this name.
pub fn unreadable(protocol: &str, error: &impl fmt::Display) -> Dissected {
    let remarks = vec![format!("MALFORMED: {error}")];
    Dissected { remarks, ..Dissected::bare(format!("unreadable {protocol}"), Unreadable) }
}

/// One payload, attribute or the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its function in the conversation.
    pub kind: PartKind,
    /// Its name. Equal texts of many messages are stored once, also in `detail`.
    pub name: Arc<str>,
    /// Its contents; may be empty.
    pub detail: Arc<str>,
}

/// The function of a part in its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// A packet of another protocol, such as EAP. The conversation decodes it, because its messages may span packets.
    Carried,
    /// Anything else, which is only shown.
    Other,
}

impl Part {
    /// A part with contents.
    pub fn new(name: impl Into<Arc<str>>, detail: impl Into<Arc<str>>) -> Self {
        Self { kind: PartKind::Other, name: name.into(), detail: detail.into() }
    }

    /// A packet of the protocol `name` that the message carries; empty until the conversation has decoded it.
    pub fn carried(name: impl Into<Arc<str>>, words: impl Into<Arc<str>>) -> Self {
        Self { kind: PartKind::Carried, ..Self::new(name, words) }
    }

    /// A part without contents.
    pub fn bare(name: impl Into<Arc<str>>) -> Self {
        Self::new(name, "")
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, detail } = self;
        match kind {
            _ if detail.is_empty() => f.write_str(name),
            // The description of a packet includes its protocol.
            PartKind::Carried => f.write_str(detail),
            PartKind::Other => write!(f, "{name}({detail})"),
        }
    }
}

/// Untrusted text, made safe and short enough for a terminal.
pub fn printable(bytes: &[u8]) -> String {
    printable_within(bytes, 64)
}

/// The same with this limit on its characters.
pub fn printable_within(bytes: &[u8], len_max: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text
        .chars()
        .take(len_max)
        .map(|char| if char.is_control() || !is_plain(char) { '?' } else { char })
        .collect();
    if text.chars().count() > len_max {
        shown.push_str("...");
    }
    shown
}

/// Whether a character neither joins nor reverses the text around it.
const fn is_plain(char: char) -> bool {
    !matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffd}')
}

/// Bytes in hexadecimal, the first eight of them.
pub fn short_hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 8;
    let hex: String = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > SHOWN { hex + ".." } else { hex }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_names_cannot_control_the_terminal() {
        assert_eq!(printable(b"a\x1b[2J\n\xff\xe2\x80\xaeb"), "a?[2J???b");
        assert_eq!(printable(&[b'x'; 100]), format!("{}...", "x".repeat(64)));
    }
}
