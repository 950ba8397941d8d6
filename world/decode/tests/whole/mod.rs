//! What must hold for any bytes as a capture file: it is read or refused, and what was read can be drawn and measured.
//! Shared by the fuzz targets `capture` and `capture_sctp` and by the test that replays their corpora.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "helpers of tests are tests; not every user needs each of them"
)]

use keytoll_decode::decode::{Decoded, decode};
use keytoll_decode::facts;
use keytoll_decode::ladder::Ladder;
use keytoll_decode::packets::Packets;
use keytoll_decode::read::Frame;
use keytoll_decode::tables::Keys;
use keytoll_diameter::wire::message::MESSAGE_BYTES_MAX;
use keytoll_rigs::FAMILIES;

/// Reads, draws and measures; gives how many conversations there were.
///
/// # Panics
/// If what was read cannot be shown safely.
pub(crate) fn check(bytes: &[u8]) -> usize {
    let Ok(decoded) = decode(bytes, Keys::none(FAMILIES)) else { return 0 };
    draw(&decoded);
    for (sample, conversation) in (0..).zip(&decoded.conversations) {
        let records = facts::records(conversation, sample, decoded.begins_ns.unwrap_or_default());
        assert!(records.iter().all(|record| record.sample == sample));
    }
    decoded.conversations.len()
}

fn draw(decoded: &Decoded) {
    let ladder = Ladder::new(100);
    for (number, conversation) in (1..).zip(&decoded.conversations) {
        let mut text = Vec::new();
        ladder.draw(number, conversation, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let is_safe = |char: char| char == '\n' || !char.is_control();
        assert!(text.chars().all(is_safe), "control characters from the network reach the terminal");
    }
}

/// Any bytes as the payloads of SCTP packets, each behind its length in two bytes: messages come out of them that are no
/// longer than messages may be, none of them costs more than was sent; gives how many there were.
///
/// # Panics
/// If more comes out than went in.
pub(crate) fn check_sctp(mut bytes: &[u8]) -> usize {
    let mut packets = Packets::new(FAMILIES);
    let (mut messages, mut sent_bytes, mut told_bytes) = (0, 0, 0);
    let mut number = 0;
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let (payload, behind) = rest.split_at(usize::from(u16::from_be_bytes(*length)).min(rest.len()));
        bytes = behind;
        number += 1;
        let Some(frame) = ip_frame(number, payload) else { continue };
        sent_bytes += u64::from(frame.original_bytes);
        for passed in packets.take(&frame) {
            assert!(passed.datagram.bytes.len() <= MESSAGE_BYTES_MAX, "{}", passed.datagram.bytes.len());
            told_bytes += u64::from(passed.wire_bytes);
            messages += 1;
        }
    }
    assert!(told_bytes <= sent_bytes, "{told_bytes} of {sent_bytes}");
    messages
}

/// RFC 791 §3.1: an IPv4 packet of SCTP, whose ports tell the ends apart; none if it is too long.
fn ip_frame(number: u64, payload: &[u8]) -> Option<Frame> {
    const HEADER_LEN: usize = 20;
    let total = u16::try_from(HEADER_LEN + payload.len()).ok()?;
    let [high, low] = total.to_be_bytes();
    let [_, .., i0, i1] = number.to_be_bytes();
    let header = [0x45, 0, high, low, i0, i1, 0, 0, 64, 132, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    Some(Frame {
        number,
        at_ns: number * 1_000_000,
        link_type: 228,
        interface: 0,
        bytes: [&header[..], payload].concat(),
        original_bytes: total.into(),
        comment: None,
    })
}
