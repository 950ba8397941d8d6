//! Fragmentation of protected messages: RFC 7383 §2.5 (sending), §2.6 (receiving).

use keytoll_crypto_api::{Crypto, Rng};
use keytoll_net::wire::{DecodeError, Reader, Writer};

use super::protect::{Opened, Protection};
use crate::number::PayloadType;
use crate::wire::payload::{Generic, Payload, read_chain};
use crate::wire::{EncryptedFragment, Header, MessageBuilder};

/// Encrypts a message started with [`Protection::begin`], in fragments if it would exceed `bytes_max` (of IKE, without UDP
/// and IP headers).
pub fn seal(
    protection: &mut Protection,
    message: MessageBuilder,
    bytes_max: usize,
    rng: &mut Rng,
    crypto: &mut dyn Crypto,
) -> Vec<Vec<u8>> {
    if protection.sealed_len(&message) <= bytes_max {
        return vec![protection.seal(message, rng, crypto)];
    }
    let content_max = content_max(protection, bytes_max);
    let (whole, inner_from, _) = message.into_parts();
    let (head, inner) = whole.as_slice().split_at(inner_from);
    let total =
        u16::try_from(inner.len().div_ceil(content_max)).expect("a message of 64 KiB has fewer fragments");
    (1..=total)
        .zip(inner.chunks(content_max))
        .map(|(number, content)| {
            let (w, inner_from) = fragment(protection, head, (number, total), content);
            protection.finish(w, inner_from, rng, crypto)
        })
        .collect()
}

/// The bytes of content that fit in a fragment: whole blocks, minus the Pad Length. At least [`CONTENT_MIN`].
fn content_max(protection: &Protection, bytes_max: usize) -> usize {
    let iv_len = protection.encryption().iv_len();
    let overhead =
        Header::LEN + Generic::LEN + EncryptedFragment::NUMBERS_LEN + iv_len + protection.tag_len();
    let block = protection.encryption().block_len();
    let blocks = bytes_max.saturating_sub(overhead) / block;
    (blocks * block).saturating_sub(1).max(CONTENT_MIN)
}

/// A limit below the headers would lead to endless fragments; with this minimum any message has fewer than 1024 of them.
const CONTENT_MIN: usize = 64;

/// A fragment before encryption, and the offset of its content.
fn fragment(protection: &Protection, head: &[u8], numbers: (u16, u16), content: &[u8]) -> (Writer, usize) {
    let room = content.len() + head.len() + EncryptedFragment::NUMBERS_LEN + protection.tag_len() + 16;
    let mut w = Writer::with_capacity(room);
    w.bytes(&head[..Header::LEN]);
    w.patch_u8(NEXT_AT, PayloadType::SKF.0);
    // RFC 7383 §2.5: the first fragment names the type of the first payload inside, the others have 0.
    let first = if numbers.0 == 1 { head[Header::LEN] } else { 0 };
    w.bytes(&[first, 0, 0, 0]);
    w.u16(numbers.0);
    w.u16(numbers.1);
    w.zeros(protection.encryption().iv_len());
    let inner_from = w.len();
    w.bytes(content);
    (w, inner_from)
}

/// Offset of the next-payload field in the header.
const NEXT_AT: usize = 16;

/// More fragments are refused: 64 KiB in the smallest IPv4 datagrams that every host accepts (576 bytes) need 128.
pub const FRAGMENTS_MAX: u16 = 128;
/// More content in all is refused.
pub const BYTES_MAX: usize = 65_535;

/// Collects the fragments of one message. Its size is bounded by [`FRAGMENTS_MAX`] and [`BYTES_MAX`], and only decrypted,
/// hence authentic, fragments are added.
#[derive(Debug)]
pub struct Reassembly {
    first: PayloadType,
    parts: Vec<Option<Box<[u8]>>>,
    bytes: usize,
    bytes_max: usize,
}

/// The result of adding a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It was stored; others are missing.
    Incomplete,
    /// It was the last missing one.
    Complete(Whole),
    /// It is a duplicate, or belongs to an older and finer fragmentation of the message.
    Ignored,
}

/// Why a fragment was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FragmentError {
    /// More than [`FRAGMENTS_MAX`].
    #[error("{0} fragments are too many")]
    TooMany(u16),
    /// More than [`BYTES_MAX`], or than the given limit.
    #[error("{0} bytes in fragments are too many")]
    TooLong(usize),
}

/// The decrypted contents of a fragmented message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    first: PayloadType,
    plaintext: Vec<u8>,
}

impl Whole {
    /// The type of the first payload.
    pub const fn first(&self) -> PayloadType {
        self.first
    }

    /// The payloads as bytes.
    pub fn plaintext(&self) -> &[u8] {
        &self.plaintext
    }

    /// The payloads; offsets in errors count from the first of them.
    ///
    /// # Errors
    /// A payload is truncated or malformed.
    pub fn payloads(&self) -> Result<Vec<Payload<'_>>, DecodeError> {
        read_chain(self.first, &mut Reader::new(&self.plaintext))
    }
}

impl Reassembly {
    /// An empty collection.
    pub const fn new() -> Self {
        Self::within(BYTES_MAX)
    }

    /// The same, with less content in total.
    pub const fn within(bytes_max: usize) -> Self {
        Self { first: PayloadType::NONE, parts: Vec::new(), bytes: 0, bytes_max }
    }

    /// Whether a fragment with these numbers would be useful; checked before decrypting it.
    pub fn wants(&self, (number, total): (u16, u16)) -> bool {
        let known = self.total();
        // RFC 7383 §2.6: a fragmentation into fewer fragments than are being collected is an old one and discarded.
        total > known || total == known && self.part(number).is_some_and(Option::is_none)
    }

    /// Adds a decrypted fragment. Unfragmented messages do not belong here.
    ///
    /// # Errors
    /// It is not a fragment, or does not fit the others.
    pub fn add(&mut self, opened: &Opened<'_>) -> Result<Progress, FragmentError> {
        match opened.envelope.fragment {
            Some(numbers) => self.add_part(numbers, opened.envelope.first, opened.plaintext()),
            None => Ok(Progress::Ignored),
        }
    }

    fn add_part(
        &mut self,
        (number, total): (u16, u16),
        first: PayloadType,
        content: &[u8],
    ) -> Result<Progress, FragmentError> {
        if total > FRAGMENTS_MAX {
            return Err(FragmentError::TooMany(total));
        }
        if !self.wants((number, total)) {
            return Ok(Progress::Ignored);
        }
        // RFC 7383 §2.6: a larger total means that the sender has fragmented the message anew; what was collected is void.
        if total > self.total() {
            *self = Self { parts: vec![None; usize::from(total)], ..Self::within(self.bytes_max) };
        }
        let bytes = self.bytes + content.len();
        if bytes > self.bytes_max {
            return Err(FragmentError::TooLong(bytes));
        }
        self.bytes = bytes;
        if number == 1 {
            self.first = first;
        }
        self.parts[usize::from(number) - 1] = Some(content.into());
        Ok(self.progress())
    }

    fn progress(&mut self) -> Progress {
        if self.parts.iter().any(Option::is_none) {
            return Progress::Incomplete;
        }
        let mut plaintext = Vec::with_capacity(self.bytes);
        std::mem::take(&mut self.parts).iter().flatten().for_each(|part| plaintext.extend_from_slice(part));
        Progress::Complete(Whole { first: self.first, plaintext })
    }

    fn total(&self) -> u16 {
        u16::try_from(self.parts.len()).expect("there are never more than FRAGMENTS_MAX parts")
    }

    fn part(&self, number: u16) -> Option<&Option<Box<[u8]>>> {
        self.parts.get(usize::from(number).checked_sub(1)?)
    }
}

impl Default for Reassembly {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v2::protect::tests::{ends, message, rng};
    use crate::wire::Notify;
    use keytoll_crypto::Real;
    use proptest::prelude::*;

    fn sent(sender: &mut Protection, data: &[u8], bytes_max: usize) -> Vec<Vec<u8>> {
        let message = message(sender, data);
        seal(sender, message, bytes_max, &mut rng(), &mut Real::default())
    }

    fn receive(receiver: &Protection, into: &mut Reassembly, fragment: &[u8]) -> Progress {
        let mut fragment = fragment.to_vec();
        let opened = receiver.open(&mut fragment, &mut Real::default()).unwrap();
        into.add(&opened).unwrap()
    }

    fn data_of(whole: &Whole) -> Vec<u8> {
        let payloads = whole.payloads().unwrap();
        let Payload::Notify(Notify { data, .. }) = payloads[1] else {
            panic!("the notify is the second payload")
        };
        data.to_vec()
    }

    #[test]
    fn a_message_that_fits_stays_whole() {
        let (mut initiator, responder) = ends("aes128gcm16-prfsha256-x25519");
        let length = initiator.sealed_len(&message(&initiator, &[7; 500]));
        let mut whole = sent(&mut initiator, &[7; 500], length);
        assert_eq!(whole.len(), 1);
        let opened = responder.open(&mut whole[0], &mut Real::default()).unwrap();
        assert_eq!((opened.envelope.fragment, Reassembly::new().add(&opened)), (None, Ok(Progress::Ignored)));
        assert_eq!(sent(&mut initiator, &[7; 500], length - 1).len(), 2);
    }

    #[test]
    fn only_the_first_fragment_names_the_first_payload() {
        let (mut initiator, _) = ends("aes256-sha256-x25519");
        let fragments = sent(&mut initiator, &[7; 2000], 576);
        let envelope = |fragment: &Vec<u8>| super::super::protect::Envelope::read(fragment).unwrap();
        assert_eq!(envelope(&fragments[0]).first, PayloadType::NONCE);
        assert!(fragments[1..].iter().all(|fragment| envelope(fragment).first == PayloadType::NONE));
        assert_eq!(envelope(&fragments[3]).fragment, Some((4, 5)));
    }

    #[test]
    fn duplicates_and_older_fragmentations_are_ignored_newer_ones_restart() {
        let (mut initiator, responder) = ends("aes128gcm16-prfsha256-x25519");
        let coarse = sent(&mut initiator, &[7; 2000], 1200);
        let fine = sent(&mut initiator, &[7; 2000], 576);
        assert_eq!((coarse.len(), fine.len()), (2, 4));
        let mut reassembly = Reassembly::new();
        assert_eq!(receive(&responder, &mut reassembly, &coarse[0]), Progress::Incomplete);
        assert_eq!(receive(&responder, &mut reassembly, &coarse[0]), Progress::Ignored);
        for fragment in &fine[1..] {
            assert_eq!(receive(&responder, &mut reassembly, fragment), Progress::Incomplete);
        }
        assert!(!reassembly.wants((2, 2)) && !reassembly.wants((2, 4)) && reassembly.wants((1, 4)));
        assert_eq!(receive(&responder, &mut reassembly, &coarse[1]), Progress::Ignored);
        let Progress::Complete(whole) = receive(&responder, &mut reassembly, &fine[0]) else {
            panic!("all are there")
        };
        assert_eq!(data_of(&whole), [7; 2000]);
    }

    #[test]
    fn the_stored_fragments_are_bounded() {
        let mut reassembly = Reassembly::new();
        let first = PayloadType::NONCE;
        assert_eq!(reassembly.add_part((1, 129), first, &[]), Err(FragmentError::TooMany(129)));
        assert_eq!(reassembly.add_part((1, 128), first, &[0; 65_000]), Ok(Progress::Incomplete));
        assert_eq!(reassembly.add_part((2, 128), first, &[0; 536]), Err(FragmentError::TooLong(65_536)));
        assert_eq!(reassembly.add_part((2, 128), first, &[0; 535]), Ok(Progress::Incomplete));
        let mut reassembly = Reassembly::within(1000);
        assert_eq!(reassembly.add_part((1, 2), first, &[0; 600]), Ok(Progress::Incomplete));
        assert_eq!(reassembly.add_part((1, 3), first, &[0; 1000]), Ok(Progress::Incomplete));
        assert_eq!(reassembly.add_part((2, 3), first, &[0; 1]), Err(FragmentError::TooLong(1001)));
    }

    proptest! {
        #[test]
        fn fragments_in_any_order_make_the_message(
            data in proptest::collection::vec(any::<u8>(), 0..4000),
            bytes_max in 150_usize..1500,
            cbc: bool,
            order: prop::sample::Index,
        ) {
            let (mut initiator, responder) = ends(if cbc { "aes256-sha256-x25519" } else { "aes128gcm16-prfsha256-x25519" });
            let mut fragments = sent(&mut initiator, &data, bytes_max);
            prop_assert!(fragments.iter().all(|fragment| fragment.len() <= bytes_max.max(64 + 100)));
            prop_assume!(fragments.len() > 1);
            let middle = order.index(fragments.len());
            fragments.rotate_left(middle);
            let mut reassembly = Reassembly::new();
            let mut progress = Progress::Ignored;
            for fragment in &fragments {
                progress = receive(&responder, &mut reassembly, fragment);
            }
            let Progress::Complete(whole) = progress else { panic!("all are there") };
            prop_assert_eq!(data_of(&whole), data);
        }
    }
}
