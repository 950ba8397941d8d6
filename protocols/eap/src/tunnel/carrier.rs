//! TLS messages in EAP packets: RFC 5216 §2.1.5 (fragments and acknowledgements) and §3.1 (format).
//!
//! ```text
//!   L+M, length, 1014 bytes -->
//!                           <-- nothing (acknowledges)
//!   M, 1018 bytes           -->
//!                           <-- nothing
//!   rest                    -->
//! ```

use keytoll_net::wire::{DecodeError, Reader, Writer};

use crate::method::Reason;
use crate::packet::HEADER_LEN;

/// RFC 5216 §3.1: L, the length of the whole message is included.
const LENGTH_INCLUDED: u8 = 0x80;
/// RFC 5216 §3.1: M, more fragments follow.
const MORE_FRAGMENTS: u8 = 0x40;
/// RFC 5216 §3.1: S, start.
const START: u8 = 0x20;
/// RFC 5281 §9.1, \[MS-PEAP\] §2.2.2: the version of TTLS or PEAP; zero in EAP-TLS, where these bits are reserved.
const VERSION: u8 = 0x07;

/// Bytes of an EAP packet in front of the first byte of TLS: header, type and flags.
const OVERHEAD: usize = HEADER_LEN + 1 + 1;
/// Bytes of TLS Message Length.
const LENGTH_LEN: usize = 4;

/// The longest flight that is reassembled, in bytes: many times a chain of ten certificates.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// The packet length of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// The longest EAP packet, its header included, in bytes. Values below 64 count as 64.
    pub packet_bytes_max: usize,
}

impl Default for Framing {
    /// 1024 bytes, FreeRADIUS' `fragment_size`.
    fn default() -> Self {
        Self { packet_bytes_max: 1024 }
    }
}

/// The data of one packet. RFC 5216 §3.1:  Flags(1) [TLS Message Length(4)] TLS Data(*)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fragment<'a> {
    flags: u8,
    /// Present if and only if its flag is set.
    length: Option<u32>,
    data: &'a [u8],
}

impl<'a> Fragment<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(bytes);
        let flags = r.u8("EAP-TLS flags")?;
        let has_length = flags & LENGTH_INCLUDED != 0;
        let length = has_length.then(|| r.u32("EAP-TLS message length")).transpose()?;
        Ok(Self { flags, length, data: r.rest() })
    }

    fn write(&self) -> Vec<u8> {
        let mut w = Writer::with_capacity(1 + LENGTH_LEN + self.data.len());
        w.u8(self.flags);
        self.length.inspect(|length| w.u32(*length));
        w.bytes(self.data);
        w.finish()
    }
}

/// Fragmentation and reassembly of one conversation.
#[derive(Debug)]
pub(crate) struct Carrier {
    /// `None` for methods without versions, which ignore these bits.
    version: Option<u8>,
    framing: Framing,
    /// The unsent rest of a message.
    outgoing: Vec<u8>,
    /// The received part of a message.
    incoming: Vec<u8>,
    /// The announced length of that message.
    announced: Option<usize>,
}

/// The classification of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// The server begins.
    Start,
    /// It acknowledges a fragment: send this next one.
    Next(Vec<u8>),
    /// It is not the last fragment: answer with this.
    More(Vec<u8>),
    /// It completes a message; empty for a mere acknowledgement.
    Whole(Vec<u8>),
    /// It is unusable.
    Ignore(&'static str),
    /// The other side breaks a limit.
    Failed(Reason),
}

impl Carrier {
    pub(crate) fn new(version: Option<u8>, framing: Framing) -> Self {
        let framing = Framing { packet_bytes_max: framing.packet_bytes_max.max(64) };
        Self { version, framing, outgoing: vec![], incoming: vec![], announced: None }
    }

    /// The packet a server begins with.
    pub(crate) fn start(&self) -> Vec<u8> {
        vec![START | self.version_bits()]
    }

    fn version_bits(&self) -> u8 {
        self.version.unwrap_or(0)
    }

    /// Whether fragments are left.
    pub(crate) fn has_more(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Starts sending a message; returns the first packet. An empty message makes an acknowledgement.
    pub(crate) fn load(&mut self, message: Vec<u8>) -> Vec<u8> {
        self.outgoing = message;
        let total = self.outgoing.len();
        if total <= self.framing.packet_bytes_max - OVERHEAD {
            return self.fragment(None, total);
        }
        // RFC 5216 §2.1.5: the first fragment announces the total length.
        let length = u32::try_from(total).expect("a flight of TLS is shorter than 4 GiB");
        self.fragment(Some(length), self.framing.packet_bytes_max - OVERHEAD - LENGTH_LEN)
    }

    fn next(&mut self) -> Vec<u8> {
        self.fragment(None, self.framing.packet_bytes_max - OVERHEAD)
    }

    fn fragment(&mut self, length: Option<u32>, data_bytes_max: usize) -> Vec<u8> {
        let rest = self.outgoing.split_off(data_bytes_max.min(self.outgoing.len()));
        let data = std::mem::replace(&mut self.outgoing, rest);
        let more = if self.has_more() { MORE_FRAGMENTS } else { 0 };
        let included = length.map_or(0, |_| LENGTH_INCLUDED);
        Fragment { flags: self.version_bits() | more | included, length, data: &data }.write()
    }

    /// Takes the data of a packet.
    pub(crate) fn take(&mut self, data: &[u8]) -> Received {
        let Ok(fragment) = Fragment::read(data) else { return Received::Ignore("EAP-TLS packet cut short") };
        // RFC 5281 §9.2: Start proposes the server's highest version; ours is the lowest, so it is chosen.
        if fragment.flags & START != 0 {
            return Received::Start;
        }
        if self.version.is_some_and(|version| version != fragment.flags & VERSION) {
            return Received::Ignore("EAP-TLS packet of a version that was not chosen");
        }
        if self.has_more() {
            return self.acknowledged(&fragment);
        }
        self.collect(&fragment)
    }

    fn acknowledged(&mut self, fragment: &Fragment<'_>) -> Received {
        // RFC 5216 §2.1.5: a fragment is answered by a packet without data.
        if fragment.data.is_empty() && fragment.flags & !VERSION == 0 {
            Received::Next(self.next())
        } else {
            Received::Ignore("EAP-TLS data while fragments are due")
        }
    }

    fn collect(&mut self, fragment: &Fragment<'_>) -> Received {
        if self.incoming.is_empty() {
            self.announced = fragment.length.map(|length| length as usize);
        }
        self.incoming.extend_from_slice(fragment.data);
        let len = self.incoming.len();
        let len_max = self.announced.unwrap_or(MESSAGE_BYTES_MAX);
        if len > len_max || len_max > MESSAGE_BYTES_MAX {
            return Received::Failed(Reason("EAP-TLS message too long"));
        }
        if fragment.flags & MORE_FRAGMENTS != 0 {
            return Received::More(vec![self.version_bits()]);
        }
        match self.announced.take() {
            Some(announced) if announced != len => {
                Received::Failed(Reason("EAP-TLS message shorter than announced"))
            }
            _ => Received::Whole(std::mem::take(&mut self.incoming)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn carrier(packet_bytes_max: usize) -> Carrier {
        Carrier::new(Some(0), Framing { packet_bytes_max })
    }

    /// Carries a message across; returns it and the number of packets with data.
    fn carry(message: &[u8], packet_bytes_max: usize) -> (Vec<u8>, usize) {
        let (mut from, mut to) = (carrier(packet_bytes_max), carrier(packet_bytes_max));
        let mut packet = from.load(message.to_vec());
        for packets in 1.. {
            assert!(packet.len() + HEADER_LEN < packet_bytes_max.max(64) + 1);
            match to.take(&packet) {
                Received::More(acknowledgement) => {
                    let Received::Next(next) = from.take(&acknowledgement) else { panic!("a fragment") };
                    packet = next;
                }
                Received::Whole(whole) => return (whole, packets),
                other => panic!("{other:?}"),
            }
        }
        unreachable!("the loop has no end")
    }

    #[test]
    fn the_flight_of_the_wireshark_capture_has_its_four_packets() {
        // wpa-eap-tls.pcap.gz: EAP lengths 1024, 1024, 1024, 583.
        let message = vec![7; 1014 + 1018 + 1018 + 577];
        let mut server = carrier(1024);
        let mut packets = vec![server.load(message)];
        while server.has_more() {
            let Received::Next(next) = server.take(&[0]) else { panic!("a fragment") };
            packets.push(next);
        }
        let shapes: Vec<_> =
            packets.iter().map(|packet| (packet[0], HEADER_LEN + 1 + packet.len())).collect();
        assert_eq!(shapes, [(0xc0, 1024), (0x40, 1024), (0x40, 1024), (0, 583)]);
        assert_eq!(packets[0][1..5], 3627_u32.to_be_bytes());
    }

    #[test]
    fn the_longest_message_for_one_packet_is_whole_and_one_more_byte_makes_two() {
        for len in 40..80 {
            let (whole, packets) = carry(&vec![7; len], 64);
            assert_eq!((whole.len(), packets), (len, if len <= 64 - OVERHEAD { 1 } else { 2 }));
        }
    }

    #[test]
    fn a_packet_cut_short_is_ignored() {
        let packet = [0xc0, 0, 0, 7, 0xff];
        for len in 0..5 {
            assert_eq!(
                carrier(64).take(&packet[..len]),
                Received::Ignore("EAP-TLS packet cut short"),
                "{len}"
            );
            let error = Fragment::read(&packet[..len]).unwrap_err();
            assert_eq!(error.field, if len == 0 { "EAP-TLS flags" } else { "EAP-TLS message length" });
        }
        assert_eq!(carrier(64).take(&packet), Received::More(vec![0]));
    }

    #[test]
    fn wrong_total_lengths_end_the_method() {
        let check = |packets: &[&[u8]], reason| {
            let mut carrier = carrier(64);
            let last = packets.iter().map(|packet| carrier.take(packet)).last();
            assert_eq!(last, Some(Received::Failed(Reason(reason))));
        };
        check(&[&[0x80, 0, 0, 0, 3, 1, 2]], "EAP-TLS message shorter than announced");
        check(&[&[0x80, 0, 0, 0, 1, 1, 2]], "EAP-TLS message too long");
        check(&[&[0xc0, 0, 0, 0, 3, 1, 2], &[0, 3, 4]], "EAP-TLS message too long");
        check(&[&[0xc0, 0xff, 0xff, 0xff, 0xff, 1]], "EAP-TLS message too long");
        let endless: Vec<&[u8]> = vec![&[0x40; 1000]; 66];
        check(&endless, "EAP-TLS message too long");
    }

    #[test]
    fn data_instead_of_an_acknowledgement_are_ignored() {
        let mut carrier = carrier(64);
        carrier.load(vec![1; 100]);
        assert_eq!(carrier.take(&[0, 1]), Received::Ignore("EAP-TLS data while fragments are due"));
        assert_eq!(carrier.take(&[0x40]), Received::Ignore("EAP-TLS data while fragments are due"));
        assert!(matches!(carrier.take(&[0]), Received::Next(_)));
    }

    #[test]
    fn a_start_of_a_later_version_is_accepted_and_nothing_else() {
        let (mut chosen, mut reserved) = (carrier(64), Carrier::new(None, Framing::default()));
        assert_eq!(chosen.take(&[START | 1]), Received::Start);
        let ignored = Received::Ignore("EAP-TLS packet of a version that was not chosen");
        assert_eq!(chosen.take(&[1, 7]), ignored);
        assert_eq!(chosen.take(&[0, 7]), Received::Whole(vec![7]));
        assert_eq!(reserved.take(&[1, 7]), Received::Whole(vec![7]));
    }

    proptest! {
        #[test]
        fn every_message_arrives(
            message in prop::collection::vec(any::<u8>(), 0..5000), packet_bytes_max in 0_usize..2000,
        ) {
            let (whole, packets) = carry(&message, packet_bytes_max);
            prop_assert_eq!(&whole, &message);
            let room = packet_bytes_max.max(64) - OVERHEAD;
            let expected = if message.len() <= room { 1 } else { (message.len() + LENGTH_LEN).div_ceil(room) };
            prop_assert_eq!(packets, expected);
        }

        #[test]
        fn what_is_written_is_read_again(flags: u8, length: u32, data in prop::collection::vec(any::<u8>(), 0..50)) {
            let length = (flags & LENGTH_INCLUDED != 0).then_some(length);
            let fragment = Fragment { flags, length, data: &data };
            let written = fragment.write();
            prop_assert_eq!(Fragment::read(&written), Ok(fragment));
        }

        #[test]
        fn any_packets_are_bounded(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 0..40)) {
            let mut carrier = carrier(64);
            for packet in packets {
                carrier.take(&packet);
                prop_assert!(carrier.incoming.len() <= MESSAGE_BYTES_MAX + 30);
            }
        }
    }
}
