//! Building outbound messages and decrypting inbound ones: combines headers, protection and fragmentation.

use keytoll_engine::Ctx;
use keytoll_net::Addr;
use keytoll_net::wire::{DecodeError, Reader};

use super::endpoint::Env;
use super::fragment::{self, Progress, Reassembly, Whole};
use super::protect::{OpenError, Opened, Protection};
use super::sa::Core;
use super::window::{Packets, Sealed};
use crate::number::{ExchangeType, PayloadType};
use crate::wire::payload::read_chain;
use crate::wire::{Flags, Header, MessageBuilder, Payload};

/// An unencrypted message: IKE_SA_INIT and its refusals.
pub(super) fn plain(header: &Header, payloads: impl FnOnce(&mut MessageBuilder)) -> Packets {
    let mut message = MessageBuilder::plain(header);
    payloads(&mut message);
    Packets {
        exchange: header.exchange,
        response: header.flags.is_response(),
        id: header.message_id,
        payloads: message.payloads(),
        sealed: Sealed::Whole(message.finish()),
    }
}

/// Kind and id of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) exchange: ExchangeType,
    pub(super) response: bool,
    pub(super) id: u32,
}

/// A message under the SA's keys, fragmented if both sides support it and it would not fit (RFC 7383).
pub(super) fn protected(
    core: &Core,
    kind: Kind,
    payloads: impl FnOnce(&mut MessageBuilder),
    protection: &mut Protection,
    env: &mut Env<'_, '_>,
) -> Packets {
    let Kind { exchange, response, id } = kind;
    let header = Header::new(core.spis(), exchange, Flags::new(core.initiator, response), id);
    let mut message = protection.begin(&header);
    payloads(&mut message);
    let kinds = message.payloads();
    let bytes_max = core
        .packet_bytes_max
        .map_or(usize::MAX, |bytes| usize::from(bytes.get()).saturating_sub(overhead(core)));
    let (rng, crypto) = (&mut env.shared.rng, &mut *env.cx.crypto);
    let sealed = fragment::seal(protection, message, bytes_max, rng, crypto).into();
    Packets { exchange, response, id, payloads: kinds, sealed }
}

/// Length of IP and UDP headers and the non-ESP marker around a message of this SA.
fn overhead(core: &Core) -> usize {
    let headers = Addr::Udp(core.route.remote).header_bytes();
    let marker = if core.route.marked { 4 } else { 0 };
    headers + marker
}

/// The contents of a message, received whole or reassembled.
pub(super) enum Plain<'m> {
    Message(Opened<'m>),
    Assembled(Whole),
}

impl Plain<'_> {
    pub(super) fn payloads(&self) -> Result<Vec<Payload<'_>>, DecodeError> {
        match self {
            Self::Message(opened) => opened.payloads(),
            Self::Assembled(whole) => whole.payloads(),
        }
    }
}

/// The contents of a message, stored beyond its processing.
#[derive(Debug)]
pub(super) struct Kept {
    first: PayloadType,
    bytes: Vec<u8>,
}

impl Plain<'_> {
    pub(super) fn keep(&self) -> Kept {
        let (first, bytes) = match self {
            Self::Message(opened) => (opened.envelope.first, opened.plaintext()),
            Self::Assembled(whole) => (whole.first(), whole.plaintext()),
        };
        Kept { first, bytes: bytes.to_vec() }
    }
}

impl Kept {
    pub(super) fn payloads(&self) -> Result<Vec<Payload<'_>>, DecodeError> {
        read_chain(self.first, &mut Reader::new(&self.bytes))
    }
}

/// A message of which fragments are missing.
#[derive(Debug)]
pub(super) struct Incoming {
    /// Whether it is a response, and its id.
    key: (bool, u32),
    reassembly: Reassembly,
}

/// Decrypts a message, or adds it as a fragment; `None` while fragments are missing, an error's name if it is not authentic
/// or not expected.
pub(super) fn open<'m>(
    message: &'m mut [u8],
    protection: &Protection,
    slot: &mut Option<Box<Incoming>>,
    bytes_max: usize,
    cx: &mut Ctx<'_>,
) -> Result<Option<Plain<'m>>, &'static str> {
    let opened = protection.open(message, cx.crypto).map_err(why)?;
    if opened.envelope.fragment.is_none() {
        *slot = None;
        return Ok(Some(Plain::Message(opened)));
    }
    let header = opened.envelope.header;
    let key = (header.flags.is_response(), header.message_id);
    slot.take_if(|incoming| incoming.key != key);
    let incoming =
        slot.get_or_insert_with(|| Box::new(Incoming { key, reassembly: Reassembly::within(bytes_max) }));
    match incoming.reassembly.add(&opened) {
        Ok(Progress::Complete(whole)) => {
            *slot = None;
            Ok(Some(Plain::Assembled(whole)))
        }
        Ok(Progress::Incomplete) => Ok(None),
        Ok(Progress::Ignored) => Err("repeated fragment"),
        Err(_) => Err("too many fragments"),
    }
}

/// Whether a message, or a fragment of one, is authenticated by the peer.
pub(super) fn is_authentic(message: &[u8], protection: &Protection, cx: &mut Ctx<'_>) -> bool {
    protection.open(&mut message.to_vec(), cx.crypto).is_ok()
}

const fn why(error: OpenError) -> &'static str {
    match error {
        OpenError::Malformed(_) => "malformed",
        OpenError::NotProtected => "not encrypted",
        OpenError::NotAuthentic => "not authentic",
        OpenError::Padding(_) => "bad padding",
    }
}

/// Whether a retransmitted request triggers its response again: a whole one does, of fragments only the first.
pub(super) fn asks_again(header: &Header, message: &[u8]) -> bool {
    if header.next_payload != PayloadType::SKF {
        return true;
    }
    let mut r = Reader::new(message);
    let number = r.skip(Header::LEN + 4, "headers").and_then(|()| r.u16("fragment number"));
    number == Ok(1)
}
