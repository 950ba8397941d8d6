//! Messages in the words of their standard: a name, the parts they carry, and what of it somebody who looks for a fault would
//! want to see.

use std::fmt;
use std::sync::Arc;

use keytoll_trace::Message;

use crate::entry::Content;

/// A message in words.
#[derive(Debug)]
pub struct Dissected {
    /// `IKE_AUTH request 1`.
    pub name: String,
    /// What it carries, in order.
    pub parts: Vec<Part>,
    /// What in it says that something failed.
    pub failure: Option<String>,
    /// What else a reader should know: damage, missing keys, NAT.
    pub remarks: Vec<String>,
    /// As the records of a run would have it; none for what is no message.
    pub sent: Option<Message>,
    /// What its family has to know of it to file it, and to judge the conversation.
    pub content: Box<dyn Content>,
}

impl Dissected {
    /// A message of which only the name and the content are there.
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

/// The content of a message that cannot be read; its ports say what it should be.
#[derive(Debug)]
pub struct Unreadable;

impl Content for Unreadable {}

/// A message of `protocol`, as people write it, that cannot be read.
pub fn unreadable(protocol: &str, error: &impl fmt::Display) -> Dissected {
    let remarks = vec![format!("MALFORMED: {error}")];
    Dissected { remarks, ..Dissected::bare(format!("unreadable {protocol}"), Unreadable) }
}

/// One payload, attribute or the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is for the conversation.
    pub kind: PartKind,
    /// What it is called. The same words of many messages are kept once, as those of `detail`.
    pub name: Arc<str>,
    /// What it says; may be empty.
    pub detail: Arc<str>,
}

/// What a part is for the conversation that its message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// A packet of another protocol, as EAP. The conversation puts it into words, because its messages may span packets.
    Carried,
    /// Anything else, which is only shown.
    Other,
}

impl Part {
    /// A part that says something.
    pub fn new(name: impl Into<Arc<str>>, detail: impl Into<Arc<str>>) -> Self {
        Self { kind: PartKind::Other, name: name.into(), detail: detail.into() }
    }

    /// A packet of the protocol `name` that the message carries; empty until the conversation has put it into words.
    pub fn carried(name: impl Into<Arc<str>>, words: impl Into<Arc<str>>) -> Self {
        Self { kind: PartKind::Carried, ..Self::new(name, words) }
    }

    /// A part whose presence says it all.
    pub fn bare(name: impl Into<Arc<str>>) -> Self {
        Self::new(name, "")
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, detail } = self;
        match kind {
            _ if detail.is_empty() => f.write_str(name),
            // The words of a packet say themselves of which protocol it is.
            PartKind::Carried => f.write_str(detail),
            PartKind::Other => write!(f, "{name}({detail})"),
        }
    }
}

/// Text that somebody on the network chose, safe and short enough for a terminal.
pub fn printable(bytes: &[u8]) -> String {
    printable_within(bytes, 64)
}

/// The same, of which so many characters are short enough.
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

/// Neither joins nor reverses what stands beside it.
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
    fn names_on_the_network_cannot_write_to_the_terminal() {
        assert_eq!(printable(b"a\x1b[2J\n\xff\xe2\x80\xaeb"), "a?[2J???b");
        assert_eq!(printable(&[b'x'; 100]), format!("{}...", "x".repeat(64)));
    }
}
