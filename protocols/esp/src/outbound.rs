//! Packets on their way out, RFC 4303 §3.3.

use keytoll_crypto_api::{Crypto, Rng, TrafficKey};

use crate::layout::{HEADER_LEN, Layout};
use crate::lifetime::{Lifetime, Limit, Numbers, Usage};
use crate::{Dropped, Frame, Probe, Stage, associated};

/// The sending half of an SA.
#[derive(Debug)]
pub struct Outbound {
    spi: u32,
    key: TrafficKey,
    layout: Layout,
    sequence: u64,
    usage: Usage,
}

impl Outbound {
    /// A fresh SA towards the peer that chose `spi`, with 32-bit sequence numbers and no lifetime.
    pub fn new(spi: u32, key: TrafficKey) -> Self {
        Self::with(spi, key, false, Lifetime::NONE)
    }

    /// A fresh SA with extended sequence numbers, or without, and a lifetime.
    pub fn with(spi: u32, key: TrafficKey, esn: bool, lifetime: Lifetime) -> Self {
        let numbers = if esn { Numbers::Extended } else { Numbers::Short };
        let (layout, usage) = (Layout::of(&key), Usage::new(lifetime, numbers));
        Self { spi, key, layout, sequence: 0, usage }
    }

    /// The SPI the peer chose.
    pub const fn spi(&self) -> u32 {
        self.spi
    }

    /// How much it has carried.
    pub const fn used(&self) -> Limit {
        self.usage.used()
    }

    /// The number of the last packet that was sealed.
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Begins to count at another number than one: for packets that another sender made before.
    pub const fn resume_after(&mut self, sequence: u64) {
        self.sequence = sequence;
    }

    /// Whether the soft lifetime has passed since this was asked last.
    pub(crate) const fn take_soft(&mut self) -> bool {
        self.usage.take_soft()
    }

    /// Bytes of payload that sealing makes no more than `packet_bytes` of.
    pub(crate) const fn room_bytes(&self, packet_bytes: usize) -> usize {
        self.layout.room_bytes(packet_bytes)
    }

    /// Seals the payload in the frame, which begins with a header of type `next_header`: the frame becomes the ESP packet.
    ///
    /// # Panics
    /// If the frame lacks [`crate::HEADROOM`] and [`crate::TAILROOM`].
    #[inline]
    pub fn seal<P: Probe>(
        &mut self,
        frame: &mut Frame<'_>,
        next_header: u8,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
        probe: &mut P,
    ) -> Result<(), Dropped> {
        self.number(frame.len())?;
        self.frame(frame, next_header, rng);
        probe.ended(Stage::Header);
        self.protect(frame, crypto, probe);
        Ok(())
    }

    #[inline]
    fn number(&mut self, payload: usize) -> Result<(), Dropped> {
        // RFC 4303 §3.3.3: the number must not cycle.
        if self.sequence >= self.usage.numbers().last() {
            return Err(Dropped::SequenceOverflow);
        }
        if self.usage.is_over() {
            return Err(Dropped::Lifetime);
        }
        self.sequence += 1;
        self.usage.spend(payload);
        Ok(())
    }

    /// Layout: SPI(4) Sequence(4) IV(*) Payload(*) Padding(*) PadLength(1) NextHeader(1) ICV(*), nothing encrypted yet.
    #[inline]
    fn frame(&self, frame: &mut Frame<'_>, next_header: u8, rng: &mut Rng) {
        let payload = frame.len();
        let (front, padding) = (self.layout.front_len(), self.layout.padding(payload));
        frame.grow(front, self.layout.behind_len(payload));
        let (head, rest) = frame.bytes_mut().split_at_mut(front);
        let words = u64::from(self.spi) << 32 | u64::from(self.sequence as u32);
        head[..8].copy_from_slice(&words.to_be_bytes());
        self.write_iv(&mut head[8..], rng);
        let trailer = &mut rest[payload..payload + padding + 2];
        // RFC 4303 §2.4: the padding counts 1, 2, 3, …
        trailer.iter_mut().enumerate().for_each(|(before, byte)| *byte = before as u8 + 1);
        trailer[padding] = padding as u8;
        trailer[padding + 1] = next_header;
    }

    /// CBC wants an unpredictable IV (RFC 3602 §3); counter modes only a fresh one (RFC 4106 §3.1): the sequence number.
    #[inline]
    fn write_iv(&self, iv: &mut [u8], rng: &mut Rng) {
        if !self.layout.is_whole(1) {
            rng.fill(iv);
        } else if let Ok(iv) = <&mut [u8; 8]>::try_from(iv) {
            *iv = self.sequence.to_be_bytes();
        }
    }

    #[inline]
    fn protect<P: Probe>(&mut self, frame: &mut Frame<'_>, crypto: &mut dyn Crypto, probe: &mut P) {
        let (front_len, icv_len) = (self.layout.front_len(), self.layout.icv_len());
        let high = self.high();
        let packet = frame.bytes_mut();
        let (text, icv) = packet.split_at_mut(packet.len() - icv_len);
        let (head, body) = text.split_at_mut(front_len);
        let iv = &head[HEADER_LEN..];
        if self.key.integrity.is_none() {
            crypto.encrypt_traffic(&mut self.key, iv, associated(head, high, &mut [0; 12]), body, icv);
            probe.ended(Stage::Encrypt);
        } else {
            crypto.encrypt_traffic(&mut self.key, iv, &[], body, &mut []);
            probe.ended(Stage::Encrypt);
            // RFC 4303 §2.2.1: the high half is authenticated behind the packet, and not sent.
            let high = high.map(u32::to_be_bytes);
            crypto.mac_traffic(&mut self.key, &[text, high.as_ref().map_or(&[], |high| &high[..])], icv);
        }
        probe.ended(Stage::Authenticate);
    }

    /// The half of an extended sequence number that is not sent.
    const fn high(&self) -> Option<u32> {
        match self.usage.numbers() {
            Numbers::Extended => Some((self.sequence >> 32) as u32),
            Numbers::Short | Numbers::Theirs => None,
        }
    }
}
