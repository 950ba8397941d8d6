//! Bulk data under a window, as TCP sends it: read RFC 5681 (congestion control), RFC 6582 (NewReno), RFC 6298 (timeout)
//! and RFC 3465 (counting bytes) first.
//!
//! What it is: slow start from ten segments (RFC 6928), additive increase, fast retransmit on the third duplicate
//! Included: slow start from ten segments (RFC 6928), additive increase, fast retransmit on the third duplicate
//! acknowledgement with NewReno's recovery, a retransmission timeout with backoff, acknowledgements for every second
//! segment or after 40 ms, real headers with real checksums. Not included: connection set-up and teardown, options (no
//! timestamps, no selective acknowledgements, no ECN), CUBIC or BBR, pacing, Nagle; the receiver always has its whole window
//! and the sender always has data. Bursts of losses cost it more than a modern TCP, because it repairs one loss per round
//! trip.
mod receiver;
mod sender;

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Deadline, Time};

use receiver::Receiver;
use sender::Sender;

use super::segment::{self, Segment};
use super::{Common, Source};
use crate::ip;

/// RFC 863, "discard".
const PORT: u16 = 9;

#[derive(Debug)]
pub(super) struct Flow {
    sender: Option<Sender>,
    receiver: Receiver,
}

impl Flow {
    /// For payloads of at most so many bytes, which both ends must know: no window is smaller than two segments.
    pub(super) fn new(source: Option<Source>, payload_bytes: usize, window_bytes: u64) -> Self {
        let segment_bytes = payload_bytes.saturating_sub(segment::HEADER_BYTES).max(1) as u64;
        let window_bytes = window_bytes.max(2 * segment_bytes);
        let sender = source.map(|Source { at, .. }| Sender::new(at, segment_bytes, window_bytes));
        Self { sender, receiver: Receiver::new(window_bytes) }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let sender = self.sender.as_ref().and_then(Sender::deadline);
        Deadline::earlier(sender, self.receiver.deadline())
    }

    pub(super) fn tick(&mut self, now: Time, common: &mut Common) {
        if self.receiver.deadline().is_some_and(|deadline| deadline.at <= now) {
            self.acknowledge(common);
        }
        if let Some(sender) = &mut self.sender {
            sender.tick(now, common);
        }
        self.drain(now, common);
    }

    pub(super) fn arrived(&mut self, packet: &ip::Packet<'_>, cx: &mut Ctx<'_>, common: &mut Common) -> bool {
        if packet.protocol != segment::TCP {
            return false;
        }
        let Ok(segment) = Segment::read((packet.source, packet.destination), PORT, packet.payload) else {
            cx.discard(Protocol::IP, "tcp: malformed");
            return true;
        };
        if segment.data.is_empty() {
            if let Some(sender) = &mut self.sender {
                sender.acknowledged(segment.acknowledgement, cx.now, common);
            }
        } else {
            common.account.data_packets_got += 1;
            let new = self.receiver.take(segment.sequence, segment.data.len() as u64, cx.now);
            common.got(new, cx.now);
            if self.receiver.must_acknowledge() {
                self.acknowledge(common);
            }
        }
        self.drain(cx.now, common);
        true
    }

    fn acknowledge(&mut self, common: &mut Common) {
        let acknowledgement = self.receiver.acknowledge();
        let segment = Segment { sequence: 0, acknowledgement, data: &[] };
        common.send(segment::TCP, segment.write((common.local, common.remote), PORT));
    }

    /// Sends the segments that the sender has ready.
    fn drain(&mut self, now: Time, common: &mut Common) {
        let Some(sender) = &mut self.sender else { return };
        while let Some(sent) = sender.poll(now, now < common.until) {
            let zeros = vec![0; sent.bytes as usize];
            let segment = Segment { sequence: sent.sequence, acknowledgement: 0, data: &zeros };
            common.account.data_packets_sent += 1;
            common.account.repeated_packets += u64::from(sent.repeated);
            common.send(segment::TCP, segment.write((common.local, common.remote), PORT));
        }
    }
}

/// Converts a sequence number to a position in the stream: the one nearest to a known position.
fn unwrapped(number: u32, near: u64) -> Option<u64> {
    let ahead = number.wrapping_sub(near as u32).cast_signed();
    near.checked_add_signed(ahead.into())
}
