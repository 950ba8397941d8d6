//! Diameter as captures and observers know it: RFC 6733.

mod connections;
mod framing;
mod words;

use std::hash::{Hash, Hasher};

use keytoll_crypto_api::Crypto;
use keytoll_engine::Datagram;
use keytoll_engine::trace::{self, Node, Protocol};
use keytoll_family::{Analyser, Book, Chunks, Dissected, Family, Framing, Passed, Tables};
use keytoll_net::wire::DecodeError;

use crate::wire::Message;
use crate::wire::message::{MESSAGE_BYTES_MAX, RETRANSMITTED};
use crate::{DIAMETER, names};

pub use words::Diameter;

/// Diameter over TCP and SCTP, in the clear.
#[derive(Debug)]
pub struct DiameterFamily;

/// RFC 6733 §11.4: Diameter in clear text, and in DTLS.
const PPID: u32 = 46;
const PPID_DTLS: u32 = 47;
/// Where the flags of a message are.
const FLAGS_AT: usize = 4;

impl Family for DiameterFamily {
    fn protocols(&self) -> &'static [Protocol] {
        &[DIAMETER]
    }

    fn framing(&self) -> Option<Framing> {
        Some(framing::FRAMING)
    }

    fn chunks(&self) -> Option<Chunks> {
        let sealed = Some((PPID_DTLS, "Diameter in DTLS over SCTP"));
        Some(Chunks { protocol: DIAMETER, ppid: PPID, port: 3868, sealed, bytes_max: MESSAGE_BYTES_MAX })
    }

    fn message(&self, _: Protocol, bytes: &[u8]) -> Result<trace::Message, DecodeError> {
        message(bytes)
    }

    fn hash(&self, datagram: &Datagram, mut hasher: &mut dyn Hasher) {
        let Datagram { from, to, bytes, .. } = datagram;
        (from, to).hash(&mut hasher);
        let Some(flags) = bytes.get(FLAGS_AT) else { return bytes.hash(&mut hasher) };
        // RFC 6733 §3: the T flag is set on a request that is sent again, nothing else changes.
        bytes[..FLAGS_AT].hash(&mut hasher);
        (flags & !RETRANSMITTED).hash(&mut hasher);
        bytes[FLAGS_AT + 1..].hash(&mut hasher);
    }

    fn analyser(&self, _: &mut Tables) -> Option<Box<dyn Analyser>> {
        Some(Box::new(DiameterAnalyser::default()))
    }

    fn wireshark(&self, _: Protocol, _: &[u8]) -> Option<(&'static str, &'static [u16])> {
        Some(("Diameter", &[3868]))
    }
}

fn message(bytes: &[u8]) -> Result<trace::Message, DecodeError> {
    let header = Message::read(bytes)?.header;
    Ok(names::message(&header, bytes.len()))
}

/// Follows Diameter.
#[derive(Default)]
struct DiameterAnalyser(connections::Connections);

impl Analyser for DiameterAnalyser {
    fn dissect(&mut self, passed: &Passed, _: &mut dyn Crypto) -> Dissected {
        words::dissect(&passed.datagram.bytes)
    }

    fn file(
        &mut self,
        passed: &Passed,
        dissected: Dissected,
        repeats: Option<u64>,
        book: &mut Book,
        _: &mut dyn Crypto,
    ) {
        match dissected.content.of::<Diameter>().cloned() {
            Some(diameter) => self.0.file(passed, dissected, &diameter, repeats, book),
            None => book.push_unreadable(passed, dissected, (Node::Aaa, Node::Hss), None),
        }
    }

    fn join(&mut self, book: &mut Book) {
        self.0.join(book);
    }
}
