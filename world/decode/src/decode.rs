//! Decodes a whole capture into conversations.

use std::io::BufRead;

use keytoll_family::Conversation;

use crate::packets::{Packets, Skipped};
use crate::read::{Capture, ReadError};
use crate::tables::Keys;
use crate::tracker::Tracker;

/// The contents of a capture.
#[derive(Debug)]
pub struct Decoded {
    /// The conversations, in order of their first messages.
    pub conversations: Vec<Conversation>,
    /// Frames read.
    pub frames: u64,
    /// When the first of them was captured, in nanoseconds; `None` without any.
    pub begins_ns: Option<u64>,
    /// Packets that are of no use here.
    pub skipped: Skipped,
    /// Messages beyond the limit, which were not kept.
    pub left_out: u64,
    /// Messages and packets that were decrypted.
    pub opened: u64,
    /// Why reading ended before the end of the file.
    pub error: Option<ReadError>,
}

/// Reads a capture to its end, or to the first error.
///
/// # Errors
/// When it is not a capture.
pub fn decode(input: impl BufRead, mut keys: Keys) -> Result<Decoded, ReadError> {
    let mut packets = Packets::with_keys(&mut keys);
    let mut tracker = Tracker::new(keys);
    let (mut frames, mut begins_ns, mut error) = (0, None, None);
    for frame in Capture::new(input)? {
        match frame {
            Ok(frame) => {
                frames += 1;
                begins_ns = Some(begins_ns.map_or(frame.at_ns, |begins_ns: u64| begins_ns.min(frame.at_ns)));
                packets.take(&frame).iter().for_each(|passed| tracker.add(passed));
            }
            Err(why) => error = Some(why),
        }
    }
    packets.finish().iter().for_each(|passed| tracker.add(passed));
    Ok(Decoded {
        left_out: tracker.left_out(),
        opened: tracker.opened() + packets.opened(),
        conversations: tracker.finish(),
        frames,
        begins_ns,
        skipped: packets.skipped().clone(),
        error,
    })
}
