//! Frames of data that the link encrypts: what is known of them, and how many of a conversation could be decrypted.

use keytoll_family::{Content, Conversation, Dissected, Entry, LinkSeal, Part, Sealed, unreadable};
use keytoll_net::wire::{DecodeError, Problem, Reader};

use super::air::keys::TABLE;
use super::eapol::{Body, Eapol, Handshake, Key};
use super::management::Managed;
use crate::frame::{Addresses, Frame, Header, Qos, llc};

/// EtherTypes, by the names of their protocols.
const ETHER_TYPES: [(u16, &str); 3] = [(0x0800, "IPv4"), (0x0806, "ARP"), (0x86dd, "IPv6")];

/// A frame of data as its conversation sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) from_access_point: bool,
    seal: LinkSeal,
}

impl Content for Data {
    fn sets_up(&self) -> bool {
        false
    }
}

impl Data {
    /// What frames of this kind are called together.
    pub(super) const fn name(&self) -> &'static str {
        match self.seal {
            LinkSeal::None => "data",
            LinkSeal::Opened => "data, decrypted",
            LinkSeal::Closed => "data, encrypted",
        }
    }
}

pub(super) fn dissect(bytes: &[u8], seal: LinkSeal) -> Dissected {
    read(bytes, seal).unwrap_or_else(|error| unreadable("802.11", &error))
}

fn read(bytes: &[u8], seal: LinkSeal) -> Result<Dissected, DecodeError> {
    let frame = Frame::read(bytes)?;
    let Header::Data(header) = frame.header else {
        return Err(Reader::new(bytes).error("802.11 data", Problem::Missing));
    };
    let from_access_point = matches!(header.addresses, Addresses::FromAccessPoint { .. });
    let data = Data { from_access_point, seal };
    let part = match seal {
        LinkSeal::Closed => Part::new("encrypted", bytes_of(frame.body.len())),
        _ if header.qos.is_some_and(Qos::is_aggregate) => Part::new("A-MSDU", bytes_of(frame.body.len())),
        _ => told(frame.body),
    };
    Ok(Dissected { parts: vec![part], ..Dissected::bare(data.name(), data) })
}

/// `ARP(28 bytes)`.
fn told(body: &[u8]) -> Part {
    let mut r = Reader::new(body);
    let Ok(ether_type) = llc::read(&mut r) else { return Part::new("LLC", bytes_of(body.len())) };
    let known = ETHER_TYPES.iter().find(|(number, _)| *number == ether_type);
    let name = known.map_or_else(|| format!("EtherType {ether_type:#06x}"), |(_, name)| (*name).to_owned());
    Part::new(name, bytes_of(r.len()))
}

fn bytes_of(len: usize) -> String {
    format!("{len} bytes")
}

fn seal_of(entry: &Entry) -> LinkSeal {
    let content = &*entry.content;
    let of_data = content.of::<Data>().map(|data| data.seal);
    let of_eapol = || content.of::<Eapol>().map(|eapol| eapol.seal);
    let of_management = || content.of::<Managed>().map(|managed| managed.seal);
    of_data.or_else(of_eapol).or_else(of_management).unwrap_or_default()
}

/// How many encrypted frames a conversation has, and why none could be decrypted; nothing without such frames.
pub(super) fn sealed(conversation: &Conversation, has_table: bool) -> Option<Sealed> {
    let mut sealed = Sealed::default();
    for entry in &conversation.entries {
        let frames = entry.more.max(1);
        match seal_of(entry) {
            LinkSeal::None => {}
            LinkSeal::Opened => sealed.opened += frames,
            LinkSeal::Closed => sealed.closed += frames,
        }
    }
    if sealed.opened == 0 && sealed.closed > 0 {
        sealed.why = Some(why_closed(conversation, has_table));
    }
    (sealed.opened + sealed.closed > 0).then_some(sealed)
}

fn why_closed(conversation: &Conversation, has_table: bool) -> String {
    let passed = |number| {
        let is_it = |eapol: &Eapol| matches!(&eapol.body, Body::Key(Key { handshake: Some(Handshake::FourWay(n)), .. }) if *n == number);
        conversation.entries.iter().any(|entry| entry.content.of::<Eapol>().is_some_and(is_it))
    };
    if !has_table {
        return format!("no {TABLE} was given");
    }
    if passed(2) && (passed(1) || passed(3)) {
        format!("no key of {TABLE} is the one of their 4-way handshake")
    } else {
        format!("no key of {TABLE} opens them; of WPA, their 4-way handshake is not in the capture")
    }
}
