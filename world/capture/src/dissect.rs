//! From the bytes of a message to what it says, in the words of its standard: a name, the parts it carries, and what of it
//! somebody who looks for a fault would want to see. One file a protocol.
//!
//! Nothing here decides what a conversation comes to: that is [`crate::conversation`]'s.

mod diameter;
pub mod eap;
pub mod eapol;
mod esp;
mod icmp;
mod ike;
mod ikev1;
mod payloads;
mod radius;
mod tls;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use keytoll_crypto::Real;
use keytoll_diameter::DIAMETER;
use keytoll_engine::trace::{Message, Protocol};
use keytoll_esp::Inbound;
use keytoll_ike::IKE;
use keytoll_ike::v1::overheard::Overheard;
use keytoll_ike::v2::fragment::Reassembly;
use keytoll_radius::RADIUS;

pub use diameter::Diameter;
pub use eapol::Eapol;
pub use esp::Esp;
pub use icmp::Icmp;
pub use ike::{Ike, Inside};
pub use payloads::{Deleted, Meaning};
pub use radius::Radius;

use crate::observe;
use crate::packets::{self, Cut, Passed};
use crate::tables::Keys;

/// A message in words.
#[derive(Debug, Clone, PartialEq)]
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
    /// What decides where it belongs and what it means there.
    pub content: Content,
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
    /// An EAP packet. The conversation puts it into words, because TLS messages span packets.
    Eap,
    /// Anything else, which is only shown.
    Other,
}

impl Part {
    /// A part that says something.
    pub fn new(name: impl Into<Arc<str>>, detail: impl Into<Arc<str>>) -> Self {
        Self { kind: PartKind::Other, name: name.into(), detail: detail.into() }
    }

    /// An EAP packet in words; empty until the conversation has put it into words.
    pub fn eap(words: impl Into<Arc<str>>) -> Self {
        Self { kind: PartKind::Eap, ..Self::new("EAP", words) }
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
            // The words of a packet say themselves that it is EAP.
            PartKind::Eap => f.write_str(detail),
            PartKind::Other => write!(f, "{name}({detail})"),
        }
    }
}

/// The fields that conversations are made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// IKE of either version.
    Ike(Box<Ike>),
    /// RADIUS.
    Radius(Box<Radius>),
    /// Diameter.
    Diameter(Box<Diameter>),
    /// EAPOL.
    Eapol(Box<Eapol>),
    /// ESP.
    Esp(Esp),
    /// An ICMP error about one of the others.
    Icmp(Box<Icmp>),
    /// A message that cannot be read; its ports say what it should be.
    Unreadable,
}

impl Content {
    /// Whether a key has opened it.
    pub(crate) fn is_opened(&self) -> bool {
        match self {
            Self::Ike(ike) => ike.inside == Inside::Opened,
            Self::Esp(esp) => esp.inner.is_some(),
            _ => false,
        }
    }
}

/// Puts messages into words. It remembers what spans several: fragments, replay windows.
#[derive(Debug, Default)]
pub struct Dissector {
    keys: Keys,
    crypto: Real,
    fragments: BTreeMap<ike::FragmentKey, Reassembly>,
    isakmp: BTreeMap<(u64, u64), Overheard>,
    inbound: BTreeMap<(std::net::IpAddr, u32), Inbound>,
}

/// More messages in IKE fragments, ISAKMP SAs or ESP SAs at once than this are not kept.
const OPEN_MAX: usize = 4096;

impl Dissector {
    /// One that opens what these keys open.
    pub fn new(keys: Keys) -> Self {
        Self { keys, ..Self::default() }
    }

    /// Dissects a datagram; none if it is of no interest.
    pub fn dissect(&mut self, passed: &Passed) -> Option<Dissected> {
        let bytes = &passed.datagram.bytes[..];
        let mut dissected = match passed.datagram.protocol {
            IKE => self.ike(passed),
            RADIUS => radius::dissect(bytes),
            DIAMETER => diameter::dissect(bytes),
            Protocol::ESP => self.esp(passed),
            _ => icmp::dissect(passed)?,
        };
        dissected.sent = observe::message(passed.datagram.protocol, bytes).ok();
        if let (Some(sent), Content::Ike(ike)) = (&mut dissected.sent, &dissected.content)
            && (ike.major == 2 || ike.inside == Inside::Opened)
        {
            sent.parts = ike.meaning.parts;
        }
        dissected.remarks.extend(passed.cut.map(|cut| why_cut(cut, passed.packets)));
        Some(dissected)
    }

    /// Dissects an EAPOL PDU.
    pub fn dissect_eapol(&self, passed: &packets::Eapol) -> Dissected {
        let mut dissected = eapol::dissect(&passed.bytes);
        dissected.remarks.extend(passed.cut.map(|cut| why_cut(cut, 1)));
        dissected
    }

    /// The keys it has.
    pub const fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The crypto it opens with.
    pub(crate) fn crypto(&mut self) -> &mut Real {
        &mut self.crypto
    }
}

fn why_cut(cut: Cut, packets: u16) -> String {
    match cut {
        Cut::Captured => "cut short by the capture's snap length".to_owned(),
        Cut::FragmentMissing => {
            let what = if packets == 1 { "one IP fragment" } else { "IP fragments" };
            format!("INCOMPLETE: {packets} {what} of it passed, not all")
        }
    }
}

/// A message that cannot be read.
fn unreadable(protocol: Protocol, error: &impl fmt::Display) -> Dissected {
    let name = match protocol {
        IKE => "unreadable IKE",
        RADIUS => "unreadable RADIUS",
        DIAMETER => "unreadable Diameter",
        eapol::WLAN => "unreadable EAPOL",
        _ => "unreadable",
    };
    Dissected {
        name: name.to_owned(),
        parts: Vec::new(),
        failure: None,
        remarks: vec![format!("MALFORMED: {error}")],
        sent: None,
        content: Content::Unreadable,
    }
}

/// Text that somebody on the network chose, safe and short enough for a terminal.
pub(crate) fn printable(bytes: &[u8]) -> String {
    printable_within(bytes, 64)
}

/// The same, of which so many characters are short enough.
fn printable_within(bytes: &[u8], len_max: usize) -> String {
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
pub(crate) fn short_hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 8;
    let hex: String = bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > SHOWN { hex + ".." } else { hex }
}

#[cfg(test)]
mod tests;
