//! What must hold for any bytes as a capture file: it is read or refused, and what was read can be drawn and measured.
//! Shared by the fuzz target `capture` and by the test that replays its corpus.

#![allow(
    clippy::unwrap_used,
    dead_code,
    reason = "helpers of tests are tests; not every user needs each of them"
)]

use keytoll_capture::decode::{Decoded, decode};
use keytoll_capture::facts;
use keytoll_capture::ladder::Ladder;
use keytoll_capture::tables::Keys;

/// Reads, draws and measures; gives how many conversations there were.
///
/// # Panics
/// If what was read cannot be shown safely.
pub(crate) fn check(bytes: &[u8]) -> usize {
    let Ok(decoded) = decode(bytes, Keys::default()) else { return 0 };
    draw(&decoded);
    for (sample, conversation) in (0..).zip(&decoded.conversations) {
        let _ = facts::method(conversation);
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
