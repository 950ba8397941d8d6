//! Packets that arrive, RFC 4303 §3.4.

use keytoll_crypto_api::{Crypto, Rejected, TrafficKey};
use keytoll_net::wire::{DecodeError, Problem, Reader};

use crate::layout::{HEADER_LEN, Layout};
use crate::lifetime::{Lifetime, Limit, Numbers, Usage};
use crate::replay::Window;
use crate::{Dropped, Frame, Probe, Stage, associated};

/// The receiving half of an SA.
#[derive(Debug)]
pub struct Inbound {
    spi: u32,
    key: TrafficKey,
    layout: Layout,
    window: Window,
    usage: Usage,
}

impl Inbound {
    /// A fresh SA under the SPI we chose, with 32-bit sequence numbers, the usual window and no lifetime.
    pub fn new(spi: u32, key: TrafficKey) -> Self {
        Self::with(spi, key, false, Window::default(), Lifetime::NONE)
    }

    /// A fresh SA with extended sequence numbers, or without, a window and a lifetime.
    pub fn with(spi: u32, key: TrafficKey, esn: bool, window: Window, lifetime: Lifetime) -> Self {
        let numbers = if esn { Numbers::Extended } else { Numbers::Theirs };
        let (layout, usage) = (Layout::of(&key), Usage::new(lifetime, numbers));
        Self { spi, key, layout, window, usage }
    }

    /// A fresh SA of the same SPI and key with extended sequence numbers.
    pub(crate) fn extended(&self) -> Self {
        Self::with(self.spi, self.key.clone(), true, Window::default(), Lifetime::NONE)
    }

    /// The SPI we chose.
    pub const fn spi(&self) -> u32 {
        self.spi
    }

    /// How much it has carried.
    pub const fn used(&self) -> Limit {
        self.usage.used()
    }

    /// The highest sequence number seen.
    pub const fn highest(&self) -> u64 {
        self.window.highest()
    }

    /// Takes all numbers up to this one for seen: for packets that another receiver took before.
    pub fn resume_after(&mut self, sequence: u64) {
        self.window.skip_to(sequence);
    }

    #[inline]
    fn is_extended(&self) -> bool {
        self.usage.numbers() == Numbers::Extended
    }

    /// Whether the soft lifetime has passed since this was asked last.
    pub(crate) const fn take_soft(&mut self) -> bool {
        self.usage.take_soft()
    }

    /// Opens the ESP packet in the frame, whose SPI led to this SA: the frame becomes the payload, which begins with a
    /// header of the type that is returned. Of a packet that is dropped nothing is left in the frame.
    #[inline]
    pub fn open<P: Probe>(
        &mut self,
        frame: &mut Frame<'_>,
        crypto: &mut dyn Crypto,
        probe: &mut P,
    ) -> Result<u8, Dropped> {
        let packet = frame.range();
        let outcome = self.try_open(frame, crypto, probe);
        if outcome.is_err() {
            frame.wipe(packet);
        }
        outcome
    }

    #[inline]
    fn try_open<P: Probe>(
        &mut self,
        frame: &mut Frame<'_>,
        crypto: &mut dyn Crypto,
        probe: &mut P,
    ) -> Result<u8, Dropped> {
        let low = self.check(frame.bytes())?;
        // RFC 4303 §3.4.3: the window is looked at first, because it costs nothing.
        let sequence = if self.is_extended() { self.window.extend(low) } else { Some(u64::from(low)) };
        let sequence = sequence.filter(|&sequence| self.window.accepts(sequence)).ok_or(Dropped::Replay)?;
        probe.ended(Stage::ReplayCheck);
        self.decrypt(frame.bytes_mut(), sequence, crypto, probe)?;
        self.window.mark(sequence);
        probe.ended(Stage::ReplayCheck);
        let next_header = self.unpad(frame)?;
        probe.ended(Stage::Decapsulate);
        self.spend(frame.len())?;
        // RFC 4303 §2.6: a dummy packet is dropped without further ado, and counts as any other.
        if next_header == keytoll_net::ip::protocol::NO_NEXT_HEADER {
            Err(Dropped::Dummy)
        } else {
            Ok(next_header)
        }
    }

    /// Checks the lengths, and reads the part of the sequence number that was sent.
    #[inline]
    fn check(&self, packet: &[u8]) -> Result<u32, Dropped> {
        let around = self.layout.front_len() + self.layout.icv_len();
        let body = packet.len().checked_sub(around).filter(|&body| body >= 2);
        let body = body.ok_or_else(|| Dropped::Malformed(self.too_short(packet)))?;
        if !self.layout.is_whole(body) {
            return Err(Dropped::Blocks);
        }
        Ok(u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]))
    }

    #[cold]
    fn too_short(&self, packet: &[u8]) -> DecodeError {
        let mut r = Reader::new(packet);
        let mut fields = || {
            r.skip(4, "SPI")?;
            r.skip(4, "Sequence Number")?;
            r.skip(self.key.encryption.iv_len(), "IV")?;
            r.skip(2 + self.key.icv_len(), "Pad Length, Next Header, ICV")
        };
        fields()
            .err()
            .unwrap_or_else(|| Reader::new(packet).error("ESP packet", Problem::Length(packet.len() as u64)))
    }

    #[inline]
    fn decrypt<P: Probe>(
        &mut self,
        packet: &mut [u8],
        sequence: u64,
        crypto: &mut dyn Crypto,
        probe: &mut P,
    ) -> Result<(), Dropped> {
        let high = self.is_extended().then_some((sequence >> 32) as u32);
        let (text, icv) = packet.split_at_mut(packet.len() - self.layout.icv_len());
        let at = self.layout.front_len();
        let refused = |Rejected| Dropped::Integrity;
        if self.key.integrity.is_some() {
            let high = high.map(u32::to_be_bytes);
            let parts = [&*text, high.as_ref().map_or(&[][..], |high| &high[..])];
            crypto.verify_traffic(&mut self.key, &parts, icv).map_err(refused)?;
            probe.ended(Stage::Verify);
            let (head, body) = text.split_at_mut(at);
            crypto.decrypt_traffic(&mut self.key, &head[HEADER_LEN..], &[], body, &[]).map_err(refused)?;
        } else {
            probe.ended(Stage::Verify);
            let (head, body) = text.split_at_mut(at);
            let mut extended = [0; 12];
            let (iv, aad) = (&head[HEADER_LEN..], associated(head, high, &mut extended));
            crypto.decrypt_traffic(&mut self.key, iv, aad, body, icv).map_err(refused)?;
        }
        probe.ended(Stage::Decrypt);
        Ok(())
    }

    #[inline]
    fn unpad(&self, frame: &mut Frame<'_>) -> Result<u8, Dropped> {
        frame.skip(self.layout.front_len());
        frame.truncate(frame.len() - self.layout.icv_len());
        let body = frame.bytes();
        let &[.., padding, next_header] = body else { return Err(Dropped::Padding) };
        let length = (body.len() - 2).checked_sub(usize::from(padding)).ok_or(Dropped::Padding)?;
        // RFC 4303 §2.4: the receiver SHOULD inspect the padding.
        let mut padding = body[length..body.len() - 2].iter().enumerate();
        if !padding.all(|(before, &byte)| usize::from(byte) == before + 1) {
            return Err(Dropped::Padding);
        }
        frame.truncate(length);
        Ok(next_header)
    }

    #[inline]
    fn spend(&mut self, bytes: usize) -> Result<(), Dropped> {
        if self.usage.is_over() {
            return Err(Dropped::Lifetime);
        }
        self.usage.spend(bytes);
        Ok(())
    }
}
