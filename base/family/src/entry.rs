//! A message in its conversation.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use keytoll_net::Addr;
use keytoll_trace::{Fate, Message, Name, Node, Parts, Protocol};

use crate::conversation::About;
use crate::family::{InnerMethod, Words};
use crate::passed::{Passed, arrives};
use crate::words::{Dissected, Part, PartKind};

/// The state that a family keeps of a message, and its properties for other families.
pub trait Content: Any + fmt::Debug {
    /// Whether it was decrypted.
    fn is_opened(&self) -> bool {
        false
    }

    /// Whether it belongs to a set-up: a device times out some time after the last such message.
    fn sets_up(&self) -> bool {
        true
    }

    /// Its meaning in a conversation with an access server.
    fn access(&self) -> Option<Access> {
        None
    }

    /// The SPI of traffic under an SA.
    fn spi(&self) -> Option<u32> {
        None
    }

    /// Adds its information about the conversation. Called in order of time.
    fn tell(&self, _entry: &Entry, _about: &mut About) {}
}

impl dyn Content {
    /// The content of a family, if it is of that family.
    pub fn of<T: Content>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// The steps between a client and the server that decides about a user's access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Somebody asks.
    Requested,
    /// The server accepts.
    Accepted,
    /// The server rejects, with this term of its standard.
    Rejected(&'static str),
}

/// A message as a run records it. What many messages have in common is stored once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    shape: Arc<Shape>,
    id: u32,
    bytes: u32,
    fragment: u16,
    retransmission: bool,
}

/// What many messages have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    protocol: Protocol,
    name: Name,
    series: Option<Name>,
    response: bool,
    accounting: bool,
    parts: Box<[Name]>,
}

impl Sent {
    /// Keeps a message.
    pub fn new(message: &Message) -> Self {
        let Message {
            protocol,
            name,
            series,
            response,
            accounting,
            id,
            bytes,
            retransmission,
            fragment,
            parts,
        } = *message;
        let parts = parts.as_slice().into();
        let shape = Arc::new(Shape { protocol, name, series, response, accounting, parts });
        Self { shape, id, bytes, fragment, retransmission }
    }

    /// The message.
    pub fn message(&self) -> Message {
        let Shape { protocol, name, series, response, accounting, ref parts } = *self.shape;
        let (id, bytes, retransmission, fragment) = (self.id, self.bytes, self.retransmission, self.fragment);
        let parts: Parts = parts.iter().copied().collect();
        Message { protocol, name, series, response, accounting, id, bytes, retransmission, fragment, parts }
    }

    /// Its length without transport and IP headers.
    pub const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The number of the fragment, from 1; 0 for a whole message.
    pub const fn fragment(&self) -> u16 {
        self.fragment
    }

    /// Whether it is a retransmission.
    pub const fn is_retransmission(&self) -> bool {
        self.retransmission
    }

    /// Sets whether it is a retransmission.
    pub const fn set_retransmission(&mut self, retransmission: bool) {
        self.retransmission = retransmission;
    }

    pub(crate) const fn shape_mut(&mut self) -> &mut Arc<Shape> {
        &mut self.shape
    }
}

/// A message in its conversation.
#[derive(Debug)]
pub struct Entry {
    /// When its first packet was captured, in nanoseconds.
    pub first_ns: u64,
    /// When its last packet was captured.
    pub at_ns: u64,
    /// The frame of its last packet.
    pub frame: u64,
    /// IP packets, or frames of a LAN.
    pub packets: u64,
    /// Their bytes, with IP headers.
    pub wire_bytes: u64,
    /// The roles of its ends.
    pub ends: (Node, Node),
    /// Their addresses; cooked captures of a LAN lack the receiver.
    pub addrs: (Addr, Option<Addr>),
    /// Its protocol.
    pub protocol: Protocol,
    /// `IKE_AUTH request 1`; equal names are stored once.
    pub name: Arc<str>,
    /// Its payloads.
    pub parts: Vec<Part>,
    /// The method of the packet in it, if the server of that method sends it.
    pub method: Option<Arc<InnerMethod>>,
    /// The part of it that reports a failure.
    pub failure: Option<String>,
    /// Remarks for the reader.
    pub remarks: Vec<String>,
    /// As a run records it.
    pub sent: Option<Sent>,
    /// The state of its family.
    pub content: Box<dyn Content>,
    /// The frame of the message that it retransmits.
    pub repeats: Option<u64>,
    /// For an answer: its delay after the first transmission of the question.
    pub answers_after_ns: Option<u64>,
    /// A question without an answer.
    pub unanswered: bool,
    /// For a run of traffic: how many more packets there were.
    pub more: u64,
    /// Its fate and transit time, if the capture has them.
    pub fate: Option<(Fate, Duration)>,
}

impl Entry {
    /// A message between these roles.
    pub fn new(passed: &Passed, dissected: Dissected, ends: (Node, Node)) -> Self {
        let Dissected { name, parts, failure, remarks, sent, content } = dissected;
        Self {
            first_ns: passed.first_ns,
            at_ns: passed.at_ns,
            frame: passed.frame,
            packets: passed.packets.into(),
            wire_bytes: passed.wire_bytes.into(),
            ends,
            addrs: (passed.datagram.from, passed.to()),
            protocol: passed.datagram.protocol,
            name: name.into(),
            parts,
            method: None,
            failure,
            remarks,
            sent: sent.as_ref().map(Sent::new),
            content,
            repeats: None,
            answers_after_ns: None,
            unanswered: false,
            more: 0,
            fate: passed.fate,
        }
    }

    /// Whether it is a copy made by the network.
    pub const fn is_copy(&self) -> bool {
        matches!(self.fate, Some((Fate::Duplicate, _)))
    }

    /// Whether it is lost, as far as the capture shows.
    pub const fn is_lost(&self) -> bool {
        matches!(self.fate, Some((Fate::Lost | Fate::QueueFull, _)))
    }

    /// Whether it arrives unchanged, as far as the capture shows.
    pub const fn arrives(&self) -> bool {
        arrives(self.fate)
    }

    /// Whether it is user traffic of the SAs.
    pub fn is_traffic(&self) -> bool {
        self.content.spi().is_some()
    }

    /// Fills the part that represents a carried packet.
    pub(crate) fn put_words(&mut self, words: Words) {
        let Words { protocol, line, failure, method } = words;
        self.method = method;
        self.failure = self.failure.take().or(failure);
        match self.parts.iter_mut().find(|part| part.kind == PartKind::Carried) {
            Some(part) => part.detail = line.into(),
            None => self.parts.push(Part::carried(protocol, line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_kept_comes_back_whole() {
        let message = Message {
            id: 7,
            bytes: 300,
            retransmission: true,
            fragment: 2,
            series: Some(Name::new(&"P1")),
            parts: [Name::new(&"SA"), Name::new(&"KE")].into_iter().collect(),
            ..Message::new(Protocol::new(&"x"), Name::new(&"hello"))
        };
        let mut sent = Sent::new(&message);
        assert_eq!(sent.message(), message);
        sent.set_retransmission(false);
        assert_eq!(sent.message(), Message { retransmission: false, ..message });
    }
}
