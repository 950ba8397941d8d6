//! What a family is.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use keytoll_crypto_api::Crypto;
use keytoll_engine::Datagram;
use keytoll_net::Addr;
use keytoll_net::wire::{DecodeError, Problem, Reader};
use keytoll_trace::{Message, Node, Protocol, Revealed};

use crate::book::Book;
use crate::conversation::{Conversation, Judgement};
use crate::keys::{KeyLine, KeyTable, Tables};
use crate::on_air::OnAir;
use crate::passed::Passed;
use crate::recognise::{Chunks, Framing, OnLan, Recogniser};
use crate::words::Dissected;

/// A list of families. Where two could know a packet, the first one does.
pub type Families = &'static [&'static dyn Family];

/// The family that tells messages of a protocol.
pub fn of(families: Families, protocol: Protocol) -> Option<&'static dyn Family> {
    families.iter().copied().find(|family| family.protocols().contains(&protocol))
}

/// What captures and observers know of a protocol, or of several that belong together. Everything but [`Self::protocols`] may be
/// left out by a family that has none of it.
pub trait Family: Sync {
    /// The protocols whose datagrams are this family's.
    fn protocols(&self) -> &'static [Protocol];

    /// What tells its UDP datagrams from others.
    fn recogniser(&self) -> Option<Box<dyn Recogniser>> {
        None
    }

    /// Its messages in TCP streams.
    fn framing(&self) -> Option<Framing> {
        None
    }

    /// Its messages in SCTP associations.
    fn chunks(&self) -> Option<Chunks> {
        None
    }

    /// Its IP protocol numbers.
    fn ip_protocols(&self) -> &'static [(u8, Protocol)] {
        &[]
    }

    /// Its PDUs in frames of a LAN.
    fn on_lan(&self) -> Option<OnLan> {
        None
    }

    /// What takes frames of a wireless LAN apart, with the keys that these tables hold.
    fn on_air(&self, _tables: &mut Tables) -> Option<Box<dyn OnAir>> {
        None
    }

    /// What the records say of a message on the wire, as far as its outside tells it: the same that its sender records.
    /// Protocols without messages of their own, as ESP, have none.
    ///
    /// # Errors
    /// What in the bytes is no message.
    fn message(&self, _protocol: Protocol, bytes: &[u8]) -> Result<Message, DecodeError> {
        Err(Reader::new(bytes).error("protocol", Problem::Missing))
    }

    /// What tells a message from others, and not from the same one sent again. Unless the family says otherwise, the same bytes
    /// on the same way are the same message.
    fn hash(&self, datagram: &Datagram, mut hasher: &mut dyn Hasher) {
        (datagram.from, datagram.to, &datagram.bytes).hash(&mut hasher);
    }

    /// The number that all messages of a conversation have, and those of another do not; `None` if messages have none.
    fn conversation(&self, _bytes: &[u8]) -> Option<u64> {
        None
    }

    /// What follows its packets through a capture, with the keys that these tables hold; none of a family without packets.
    fn analyser(&self, _tables: &mut Tables) -> Option<Box<dyn Analyser>> {
        None
    }

    /// Of a protocol whose packets others carry, as EAP: what follows one of its conversations.
    fn flow(&self) -> Option<Box<dyn Flow>> {
        None
    }

    /// Its tables of keys as Wireshark reads them.
    fn key_tables(&self) -> &'static [KeyTable] {
        &[]
    }

    /// What Wireshark needs to be told so that it decrypts and checks, lines of its preferences.
    fn preferences(&self) -> &'static [&'static str] {
        &[]
    }

    /// The preferences that hold a secret which clients and servers of this family share, or, if Wireshark cannot be told it, what
    /// that leaves closed; none of a family without such secrets.
    fn shared_secret(&self, _secret: &[u8]) -> Option<Result<Vec<String>, String>> {
        None
    }

    /// How a key is written down; none if it is not this family's.
    fn key_line(&self, _revealed: &Revealed) -> Option<KeyLine> {
        None
    }

    /// Wireshark's dissector of a datagram, and the ports at which it looks for such.
    fn wireshark(&self, _protocol: Protocol, _bytes: &[u8]) -> Option<(&'static str, &'static [u16])> {
        None
    }
}

/// Follows the packets of one family through a capture. It remembers what spans several: fragments, replay windows, who asked
/// what.
pub trait Analyser {
    /// How many keys it has that open something.
    fn keys(&self) -> usize {
        0
    }

    /// Puts a message into words.
    fn dissect(&mut self, passed: &Passed, crypto: &mut dyn Crypto) -> Dissected;

    /// Puts it where it belongs. `repeats` is the frame in which the same message passed before.
    fn file(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        repeats: Option<u64>,
        book: &mut Book,
        crypto: &mut dyn Crypto,
    );

    /// The conversation of the latest packet between two ends, and whom an error about it comes from and is told, where the
    /// [`Book`] does not know the hosts.
    fn whose(&self, _from: Addr, _to: Addr) -> Option<(usize, (Node, Node))> {
        None
    }

    /// Joins conversations that turn out to belong to others, when everything has passed.
    fn join(&mut self, _book: &mut Book) {}

    /// What a conversation that this family has begun came to. What others have said in it is among its messages.
    fn judge(&self, _number: usize, _conversation: &Conversation) -> Judgement {
        Judgement::default()
    }
}

/// Follows one conversation of a protocol that has no packets of its own on a wire: others carry them, as IKE, RADIUS and EAPOL
/// carry EAP.
pub trait Flow {
    /// Puts the next packet into words.
    fn take(&mut self, packet: &[u8]) -> Words;
}

/// A carried packet in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The protocol, as people write it.
    pub protocol: &'static str,
    /// All of it in one line.
    pub line: String,
    /// What in it says that something failed.
    pub failure: Option<String>,
    /// The method that it runs, if the server speaks.
    pub method: Option<Arc<InnerMethod>>,
}

/// A method of a carried protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InnerMethod {
    /// `EAP-TTLS`, for people.
    pub title: String,
    /// `TTLS`, within the protocol.
    pub shown: String,
    /// `ttls-mschapv2`, in the catalogue.
    pub name: String,
}
