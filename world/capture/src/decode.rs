//! A whole capture: read, put into words, told conversation by conversation.

use std::io::BufRead;

use crate::conversation::{Conversation, Tracker};
use crate::packets::{Packets, Skipped, Taken};
use crate::read::{Capture, ReadError};
use crate::tables::Keys;

/// What a capture holds.
#[derive(Debug)]
pub struct Decoded {
    /// The conversations, in the order in which they began.
    pub conversations: Vec<Conversation>,
    /// Frames read.
    pub frames: u64,
    /// When the first of them was captured, in nanoseconds; none if there is none.
    pub begins_ns: Option<u64>,
    /// Packets that are of no use here.
    pub skipped: Skipped,
    /// Messages that were too many to keep.
    pub left_out: u64,
    /// Messages of IKE and packets of ESP that the keys have opened.
    pub opened: u64,
    /// Why reading ended before the file did.
    pub error: Option<ReadError>,
}

/// Reads a capture to its end, or as far as it can be read.
pub fn decode(input: impl BufRead, keys: Keys) -> Result<Decoded, ReadError> {
    let mut packets = Packets::default();
    let mut tracker = Tracker::new(keys);
    let (mut frames, mut begins_ns, mut error) = (0, None, None);
    for frame in Capture::new(input)? {
        match frame {
            Ok(frame) => {
                frames += 1;
                begins_ns = Some(begins_ns.map_or(frame.at_ns, |begins_ns: u64| begins_ns.min(frame.at_ns)));
                match packets.take(&frame) {
                    Taken::Datagrams(passed) => passed.iter().for_each(|passed| tracker.add(passed)),
                    Taken::Eapol(eapol) => tracker.add_eapol(&eapol),
                }
            }
            Err(why) => error = Some(why),
        }
    }
    packets.finish().iter().for_each(|passed| tracker.add(passed));
    Ok(Decoded {
        left_out: tracker.left_out(),
        opened: tracker.opened(),
        conversations: tracker.finish(),
        frames,
        begins_ns,
        skipped: packets.skipped().clone(),
        error,
    })
}
