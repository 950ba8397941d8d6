//! The Authentication Header, RFC 4302: integrity for a whole IP packet, its own headers included.
//!
//! What routers may change on the way counts as zero (§3.3.3.1 and appendix A): of IPv4 type of service, flags, fragment
//! offset, TTL, checksum and those options that change; of IPv6 class, flow label, hop limit, the options that say they
//! may change. A source route or routing header counts as it will be when it arrives, and so does the destination.
//!
//! AH is for packets with headers of their own; what a socket gives has none. So [`Outbound`] and [`Inbound`] work on
//! frames that hold IP packets: in transport mode AH goes behind the packet's headers, in tunnel mode behind new ones, which
//! the caller has put in front as [`crate::Ipsec`] does for ESP.

use std::ops::Range;

use keytoll_crypto_api::{Crypto, TrafficKey};
use keytoll_net::wire::{DecodeError, Problem, Reader};

use crate::lifetime::Limit;
use crate::replay::Window;
use crate::{Dropped, Frame};
use keytoll_net::ip::{self, Fragment, HEADER_V4, HEADER_V6, Header, extension, protocol};

/// RFC 4302 §2:  Next Header(1) Payload Len(1) Reserved(2) SPI(4) Sequence Number(4) ICV(*)
const FIXED_LEN: usize = 12;

/// The longest headers that can be authenticated: IPv4 with all options, or IPv6 with a few extensions.
const HEADERS_MAX: usize = 256;

/// The sending half of an SA.
#[derive(Debug)]
pub struct Outbound {
    spi: u32,
    key: TrafficKey,
    esn: bool,
    sequence: u64,
}

/// The receiving half of an SA.
#[derive(Debug)]
pub struct Inbound {
    spi: u32,
    key: TrafficKey,
    esn: bool,
    window: Window,
    used: Limit,
}

/// Which end of its way a packet is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Sender,
    Receiver,
}

/// Length of AH: RFC 4302 §2.2 and §2.6 fill it to words of 4 bytes in IPv4, of 8 in IPv6.
fn ah_len(icv_len: usize, is_v4: bool) -> usize {
    (FIXED_LEN + icv_len).next_multiple_of(if is_v4 { 4 } else { 8 })
}

impl Outbound {
    /// A fresh SA towards the peer that chose `spi`; the key has an integrity algorithm and no encryption.
    pub const fn new(spi: u32, key: TrafficKey, esn: bool) -> Self {
        Self { spi, key, esn, sequence: 0 }
    }

    /// Begins to count at another number than one: for packets that another sender made before.
    pub const fn resume_after(&mut self, sequence: u64) {
        self.sequence = sequence;
    }

    /// Puts AH into the IP packet in the frame, behind its headers: RFC 4302 §3.3.
    ///
    /// # Panics
    /// If the frame lacks [`crate::HEADROOM`].
    pub fn seal(&mut self, frame: &mut Frame<'_>, crypto: &mut dyn Crypto) -> Result<(), Dropped> {
        let header = Header::read(frame.bytes()).map_err(Dropped::Malformed)?;
        frame.truncate(header.total_len);
        // RFC 4302 §3.3.4: fragmentation comes after AH.
        if header.fragment != Fragment::Whole {
            return Err(Dropped::Fragment);
        }
        let icv_len = self.key.icv_len();
        let ah_len = ah_len(icv_len, header.is_v4);
        let total = header.total_len + ah_len;
        u16::try_from(total).map_err(|_| Dropped::TooLong)?;
        let sequence_max = if self.esn { u64::MAX } else { u64::from(u32::MAX) };
        let next = self.sequence.checked_add(1).filter(|&n| n <= sequence_max);
        let sequence = next.ok_or(Dropped::SequenceOverflow)?;
        frame.grow(ah_len, 0);
        let packet = frame.bytes_mut();
        packet.copy_within(ah_len..ah_len + header.header_len, 0);
        packet[header.next_header_at] = protocol::AH;
        ip::set_length(&mut packet[..header.header_len], total);
        let ah = &mut packet[header.header_len..][..ah_len];
        ah.fill(0);
        ah[0] = header.protocol;
        // RFC 4302 §2.2: in words of 4 bytes, less two.
        ah[1] = (ah_len / 4 - 2) as u8;
        ah[4..8].copy_from_slice(&self.spi.to_be_bytes());
        ah[8..12].copy_from_slice(&(sequence as u32).to_be_bytes());
        let high = self.esn.then_some((sequence >> 32) as u32);
        let mut icv = [0; ICV_MAX];
        authenticated(packet, &header, high, At::Sender, |parts| {
            crypto.mac_traffic(&mut self.key, parts, &mut icv[..icv_len]);
        })?;
        // A packet that cannot be authenticated leaves with no number.
        self.sequence = sequence;
        packet[header.header_len + FIXED_LEN..][..icv_len].copy_from_slice(&icv[..icv_len]);
        Ok(())
    }
}

/// RFC 4868 §2.6: half of SHA-512.
const ICV_MAX: usize = 32;

impl Inbound {
    /// A fresh SA under the SPI we chose; the key has an integrity algorithm and no encryption.
    pub const fn new(spi: u32, key: TrafficKey, esn: bool, window: Window) -> Self {
        Self { spi, key, esn, window, used: Limit { bytes: 0, packets: 0 } }
    }

    /// Takes all numbers up to this one for seen: for packets that another receiver took before.
    pub fn resume_after(&mut self, sequence: u64) {
        self.window.skip_to(sequence);
    }

    /// How much it has carried.
    pub const fn used(&self) -> Limit {
        self.used
    }

    /// Checks the packet in the frame and takes AH out of it: RFC 4302 §3.4. Of a packet that is dropped nothing is left.
    pub fn open(&mut self, frame: &mut Frame<'_>, crypto: &mut dyn Crypto) -> Result<(), Dropped> {
        let packet = frame.range();
        let outcome = self.try_open(frame, crypto);
        if outcome.is_err() {
            frame.wipe(packet);
        }
        outcome
    }

    fn try_open(&mut self, frame: &mut Frame<'_>, crypto: &mut dyn Crypto) -> Result<(), Dropped> {
        let header = Header::read(frame.bytes()).map_err(Dropped::Malformed)?;
        frame.truncate(header.total_len);
        // RFC 4302 §3.4.1: reassembly comes before AH.
        if header.fragment != Fragment::Whole {
            return Err(Dropped::Fragment);
        }
        let (icv_len, low) = (self.key.icv_len(), self.check(frame.bytes(), &header)?);
        let ah_len = ah_len(icv_len, header.is_v4);
        let sequence = if self.esn { self.window.extend(low) } else { Some(u64::from(low)) };
        let sequence = sequence.filter(|&sequence| self.window.accepts(sequence)).ok_or(Dropped::Replay)?;
        let packet = frame.bytes_mut();
        let mut icv = [0; ICV_MAX];
        let in_packet = &mut packet[header.header_len + FIXED_LEN..][..icv_len];
        icv[..icv_len].copy_from_slice(in_packet);
        // RFC 4302 §3.3.3.1: the ICV itself counts as zero.
        in_packet.fill(0);
        let high = self.esn.then_some((sequence >> 32) as u32);
        let mut verified = Ok(());
        authenticated(packet, &header, high, At::Receiver, |parts| {
            verified = crypto.verify_traffic(&mut self.key, parts, &icv[..icv_len]);
        })?;
        verified.map_err(|_| Dropped::Integrity)?;
        self.window.mark(sequence);
        self.used.packets += 1;
        self.used.bytes += (header.total_len - ah_len) as u64;
        packet[header.next_header_at] = packet[header.header_len];
        ip::set_length(&mut packet[..header.header_len], header.total_len - ah_len);
        packet.copy_within(..header.header_len, ah_len);
        frame.skip(ah_len);
        Ok(())
    }

    /// Checks AH's own fields, and reads the part of the sequence number that was sent.
    fn check(&self, packet: &[u8], header: &Header) -> Result<u32, Dropped> {
        let mut r = Reader::new(packet);
        let mut fields = || {
            r.skip(header.header_len, "IP header")?;
            if header.protocol != protocol::AH {
                return Err(r.error("AH", Problem::Missing));
            }
            r.skip(1, "Next Header")?;
            let at = r;
            let payload_len = r.u8("Payload Len")?;
            r.skip(2, "Reserved")?;
            let spi = r.u32("SPI")?;
            let sequence = r.u32("Sequence Number")?;
            let ah_len = ah_len(self.key.icv_len(), header.is_v4);
            r.skip(ah_len - FIXED_LEN, "Integrity Check Value")?;
            // RFC 4302 §2.2: the length must be what the algorithm makes.
            if (usize::from(payload_len) + 2) * 4 != ah_len {
                return Err(at.error("Payload Len", Problem::Value(u64::from(payload_len))));
            }
            Ok((spi, sequence))
        };
        let (spi, sequence) = fields().map_err(Dropped::Malformed)?;
        if spi == self.spi { Ok(sequence) } else { Err(Dropped::UnknownSpi) }
    }
}

/// Hands over what is authenticated: the headers with zeros where routers may write, AH with a zero ICV, the payload, and
/// the half of an extended sequence number that is not sent (RFC 4302 §2.5.1).
fn authenticated(
    packet: &[u8],
    header: &Header,
    high: Option<u32>,
    at: At,
    then: impl FnOnce(&[&[u8]]),
) -> Result<(), Dropped> {
    let mut room = [0; HEADERS_MAX];
    let headers = room.get_mut(..header.header_len).ok_or(Dropped::TooLong)?;
    headers.copy_from_slice(&packet[..header.header_len]);
    if header.is_v4 {
        mask_v4(headers, at)?;
    } else {
        mask_v6(headers, at)?;
    }
    let high = high.map(u32::to_be_bytes);
    then(&[headers, &packet[header.header_len..], high.as_ref().map_or(&[], |high| &high[..])]);
    Ok(())
}

/// RFC 4302 §3.3.3.1.1 and appendix A1.
fn mask_v4(header: &mut [u8], end: At) -> Result<(), Dropped> {
    let mutable = [1..2, 6..9, 10..12];
    mutable.into_iter().for_each(|field| header[field].fill(0));
    let mut at = HEADER_V4;
    while at < header.len() {
        let len = match header[at..] {
            // End of options: what follows is padding.
            [0, ..] => return Ok(()),
            [1, ..] => 1,
            [_, len, ..] if len >= 2 && at + usize::from(len) <= header.len() => usize::from(len),
            _ => return Err(malformed(header, "IPv4 option", at)),
        };
        if matches!(header[at], LOOSE_ROUTE | STRICT_ROUTE) {
            arrive_v4(header, at..at + len, end)?;
        }
        // RFC 4302 §3.3.3.1.1.2: an option that may change counts as zero, all of it.
        if len > 1 && !is_immutable_option(header[at]) {
            header[at..at + len].fill(0);
        }
        at += len;
    }
    Ok(())
}

/// RFC 791 §3.1: loose and strict source and record route.
const LOOSE_ROUTE: u8 = 131;
const STRICT_ROUTE: u8 = 137;

/// RFC 791 §3.1:  Type(1) Length(1) Pointer(1) Route(*)
// RFC 4302 §3.3.3.1.1: with a source route the destination is mutable but predictable: the last address of the route, if
// there is some of it left.
fn arrive_v4(header: &mut [u8], option: Range<usize>, end: At) -> Result<(), Dropped> {
    const ROUTE: usize = 3;
    let at = option.start;
    if option.len() < ROUTE {
        return Err(malformed(header, "length of the source route", at + 1));
    }
    // The pointer counts from one; behind the end it says that the route is used up, or that there never was one.
    if usize::from(header[at + 2]) > option.len() {
        return Ok(());
    }
    if option.len() == ROUTE || !(option.len() - ROUTE).is_multiple_of(4) {
        return Err(malformed(header, "length of the source route", at + 1));
    }
    // RFC 791 §3.1: the smallest legal value is 4; each address has 4 octets.
    let points_at_an_address = header[at + 2] >= 4 && header[at + 2].is_multiple_of(4);
    match end {
        At::Sender if points_at_an_address => header.copy_within(option.end - 4..option.end, 16),
        At::Sender | At::Receiver => return Err(malformed(header, "pointer of the source route", at + 2)),
    }
    Ok(())
}

/// RFC 4302 appendix A1: security, extended security, commercial security, router alert, sender-directed delivery.
const fn is_immutable_option(kind: u8) -> bool {
    matches!(kind, 130 | 133 | 134 | 148 | 149)
}

/// RFC 4302 §3.3.3.1.2 and appendix A2.
fn mask_v6(headers: &mut [u8], end: At) -> Result<(), Dropped> {
    // Class, flow label, hop limit; the version stays.
    headers[0] &= 0xf0;
    headers[1..4].fill(0);
    headers[7] = 0;
    let (mut kind, mut at) = (headers[6], HEADER_V6);
    while at < headers.len() {
        let [next, len, ..] = headers[at..] else { return Err(malformed(headers, "extension header", at)) };
        let behind = at + 8 + usize::from(len) * 8;
        match kind {
            // RFC 4302 §3.4.1: reassembly takes this header away, even where it tells of no fragments, and comes before AH.
            extension::FRAGMENT => return Err(Dropped::Fragment),
            _ if behind > headers.len() => return Err(malformed(headers, "extension header length", at + 1)),
            extension::ROUTING => arrive_v6(headers, at..behind, end)?,
            _ => mask_options_v6(&mut headers[at..behind])?,
        }
        (kind, at) = (next, behind);
    }
    Ok(())
}

/// Next Header(1) Hdr Ext Len(1) Routing Type(1) Segments Left(1) Reserved(4) Address(16)*: RFC 2460 §4.4 (type 0), and with
/// a single address RFC 6275 §6.4 (type 2).
// RFC 4302 §3.3.3.1.2.2: the sender orders the fields as they will be at the receiver.
fn arrive_v6(headers: &mut [u8], routing: Range<usize>, end: At) -> Result<(), Dropped> {
    const ADDRESS: usize = 16;
    let (at, left) = (routing.start, usize::from(headers[routing.start + 3]));
    if left == 0 {
        return Ok(());
    }
    if end == At::Receiver {
        return Err(malformed(headers, "Segments Left", at + 3));
    }
    if !matches!(headers[at + 2], 0 | 2) {
        return Err(malformed(headers, "Routing Type", at + 2));
    }
    let route = routing.len() - 8;
    if !route.is_multiple_of(ADDRESS) || left * ADDRESS > route {
        return Err(malformed(headers, "Segments Left", at + 3));
    }
    headers[at + 3] = 0;
    let (head, hops) = headers.split_at_mut(routing.end - left * ADDRESS);
    // At each hop the packet's destination and the next address of the route change places.
    for hop in hops[..left * ADDRESS].chunks_exact_mut(ADDRESS) {
        hop.swap_with_slice(&mut head[24..HEADER_V6]);
    }
    Ok(())
}

// RFC 4302 §3.3.3.1.2.1: of an option whose third bit says that it may change, the data count as zero.
fn mask_options_v6(extension: &mut [u8]) -> Result<(), Dropped> {
    const MAY_CHANGE: u8 = 0x20;
    let mut at = 2;
    while at < extension.len() {
        // A single byte of padding has no length.
        if extension[at] == 0 {
            at += 1;
            continue;
        }
        let data = match extension[at..] {
            [_, len, ..] => at + 2..at + 2 + usize::from(len),
            _ => return Err(malformed(extension, "IPv6 option", at)),
        };
        if data.end > extension.len() {
            return Err(malformed(extension, "IPv6 option length", at + 1));
        }
        let (may_change, end) = (extension[at] & MAY_CHANGE != 0, data.end);
        if may_change {
            extension[data].fill(0);
        }
        at = end;
    }
    Ok(())
}

/// A field whose value cannot be.
fn malformed(headers: &[u8], field: &'static str, offset: usize) -> Dropped {
    let value = headers.get(offset).copied().map_or(0, u64::from);
    Dropped::Malformed(DecodeError { field, offset, problem: Problem::Value(value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 header with everything set that can change on the way, to 10.0.0.9, and these options.
    fn v4(options: &[u8]) -> Vec<u8> {
        let words = (20 + options.len()) / 4;
        let head = [
            0x40 | words as u8,
            0xff,
            0,
            99,
            1,
            2,
            0x40,
            0xff,
            64,
            protocol::AH,
            0xab,
            0xcd,
            10,
            0,
            0,
            1,
            10,
            0,
            0,
            9,
        ];
        [&head, options].concat()
    }

    /// What is authenticated of it, or the field that is wrong, where it is and what it is.
    fn masked(
        mut header: Vec<u8>,
        end: At,
        mask: fn(&mut [u8], At) -> Result<(), Dropped>,
    ) -> Result<Vec<u8>, (&'static str, usize, u64)> {
        match mask(&mut header, end) {
            Ok(()) => Ok(header),
            Err(Dropped::Malformed(DecodeError { field, offset, problem: Problem::Value(value) })) => {
                Err((field, offset, value))
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    fn of_sender(options: &[u8]) -> Result<Vec<u8>, (&'static str, usize, u64)> {
        masked(v4(options), At::Sender, mask_v4)
    }

    /// RFC 4302 §3.3.3.1.1: what routers may write counts as zero, and all the rest as it is.
    #[test]
    fn the_fields_of_ipv4_that_may_change_count_as_zero() {
        let fixed = |to: [u8; 4], options: &[u8]| {
            let words = (20 + options.len()) / 4;
            let head = [0x40 | words as u8, 0, 0, 99, 1, 2, 0, 0, 0, protocol::AH, 0, 0, 10, 0, 0, 1];
            Ok([&head[..], &to, options].concat())
        };
        let us = [10, 0, 0, 9];
        assert_eq!(of_sender(&[]), fixed(us, &[]));
        // Appendix A1: security and router alert stay, a timestamp does not; nor does what is behind the end of options change.
        assert_eq!(of_sender(&[148, 4, 7, 8]), fixed(us, &[148, 4, 7, 8]));
        assert_eq!(of_sender(&[1, 130, 3, 9]), fixed(us, &[1, 130, 3, 9]));
        assert_eq!(of_sender(&[1, 68, 2, 1]), fixed(us, &[1, 0, 0, 1]));
        assert_eq!(of_sender(&[68, 4, 7, 8]), fixed(us, &[0, 0, 0, 0]));
        assert_eq!(of_sender(&[0, 68, 4, 9]), fixed(us, &[0, 68, 4, 9]));
        // A source route counts as it arrives: at its last address, and itself as zero.
        for route in [LOOSE_ROUTE, STRICT_ROUTE] {
            assert_eq!(of_sender(&[route, 7, 4, 1, 2, 3, 4, 0]), fixed([1, 2, 3, 4], &[0; 8]));
            let two = [1, route, 11, 4, 1, 2, 3, 4, 5, 6, 7, 8];
            assert_eq!(of_sender(&two), fixed([5, 6, 7, 8], &[&[1][..], &[0; 11]].concat()));
            assert_eq!(of_sender(&[route, 7, 8, 1, 2, 3, 4, 0]), fixed(us, &[0; 8]), "used up");
            assert_eq!(of_sender(&[route, 3, 4, 0]), fixed(us, &[0; 4]), "there never was one");
        }
    }

    #[test]
    fn wrong_options_of_ipv4_are_named_where_they_are() {
        let (option, length) = ("IPv4 option", "length of the source route");
        let pointer = "pointer of the source route";
        for (options, wrong) in [
            (&[7, 1, 0, 0][..], (option, 20, 7)),
            (&[1, 7, 4, 0], (option, 21, 7)),
            (&[1, 1, 1, 7], (option, 23, 7)),
            (&[1, LOOSE_ROUTE, 2, 0], (length, 22, 2)),
            (&[1, LOOSE_ROUTE, 3, 3], (length, 22, 3)),
            (&[1, LOOSE_ROUTE, 5, 4, 1, 2, 0, 0], (length, 22, 5)),
            (&[1, LOOSE_ROUTE, 7, 3, 1, 2, 3, 4], (pointer, 23, 3)),
            (&[1, LOOSE_ROUTE, 7, 0, 1, 2, 3, 4], (pointer, 23, 0)),
            (&[1, LOOSE_ROUTE, 7, 7, 1, 2, 3, 4], (pointer, 23, 7)),
        ] {
            assert_eq!(of_sender(options), Err(wrong), "{options:?}");
        }
        let on_its_way = v4(&[1, LOOSE_ROUTE, 7, 4, 1, 2, 3, 4]);
        assert_eq!(masked(on_its_way, At::Receiver, mask_v4), Err((pointer, 23, 4)));
    }

    const HOME: [u8; 16] = [0xaa; 16];

    /// An IPv6 header with everything set that can change on the way, and these extension headers, the first of a type.
    fn v6(first: u8, extensions: &[u8]) -> Vec<u8> {
        let head = [0x6f, 0xff, 0xff, 0xff, 0, 99, first, 64];
        [&head[..], &[0x11; 16], &HOME, extensions].concat()
    }

    fn fixed_v6(first: u8, to: [u8; 16], extensions: &[u8]) -> Result<Vec<u8>, (&'static str, usize, u64)> {
        let head = [0x60, 0, 0, 0, 0, 99, first, 0];
        Ok([&head[..], &[0x11; 16], &to, extensions].concat())
    }

    /// RFC 4302 §3.3.3.1.2: class, flow label and hop limit, and of options those that say so themselves.
    #[test]
    fn the_fields_of_ipv6_that_may_change_count_as_zero() {
        const OPTIONS: u8 = extension::DESTINATION;
        let of = |extensions: &[u8]| masked(v6(OPTIONS, extensions), At::Sender, mask_v6);
        assert_eq!(masked(v6(protocol::AH, &[]), At::Sender, mask_v6), fixed_v6(protocol::AH, HOME, &[]));
        for (options, counts) in [
            ([protocol::AH, 0, 0x1e, 4, 1, 2, 3, 4], [protocol::AH, 0, 0x1e, 4, 1, 2, 3, 4]),
            ([protocol::AH, 0, 0x3e, 4, 1, 2, 3, 4], [protocol::AH, 0, 0x3e, 4, 0, 0, 0, 0]),
            ([protocol::AH, 0, 0, 0x3e, 1, 9, 0x1e, 0], [protocol::AH, 0, 0, 0x3e, 1, 0, 0x1e, 0]),
            ([protocol::AH, 0, 0x1e, 1, 9, 0x3e, 1, 9], [protocol::AH, 0, 0x1e, 1, 9, 0x3e, 1, 0]),
        ] {
            assert_eq!(of(&options), fixed_v6(OPTIONS, HOME, &counts));
        }
        let chain = [&[OPTIONS, 1, 0x3e, 12][..], &[7; 12], &[protocol::AH, 0, 0x3e, 4, 7, 7, 7, 7]].concat();
        let counts =
            [&[OPTIONS, 1, 0x3e, 12][..], &[0; 12], &[protocol::AH, 0, 0x3e, 4, 0, 0, 0, 0]].concat();
        assert_eq!(of(&chain), fixed_v6(OPTIONS, HOME, &counts));
    }

    /// RFC 4302 §3.3.3.1.2.2: the addresses stand as they will when the packet arrives.
    #[test]
    fn a_routing_header_counts_as_it_arrives() {
        let routing = |left: u8, addresses: &[[u8; 16]]| {
            let fixed = [protocol::AH, addresses.len() as u8 * 2, 0, left, 0, 0, 0, 0];
            [&fixed[..], &addresses.concat()].concat()
        };
        let of = |end, extensions: &[u8]| masked(v6(extension::ROUTING, extensions), end, mask_v6);
        let [a, b] = [[1; 16], [2; 16]];
        let arrives = |to, addresses: &[[u8; 16]]| fixed_v6(extension::ROUTING, to, &routing(0, addresses));
        assert_eq!(of(At::Sender, &routing(1, &[a])), arrives(a, &[HOME]));
        assert_eq!(of(At::Sender, &routing(2, &[a, b])), arrives(b, &[HOME, a]));
        assert_eq!(of(At::Sender, &routing(1, &[a, b])), arrives(b, &[a, HOME]));
        for end in [At::Sender, At::Receiver] {
            assert_eq!(of(end, &routing(0, &[a, b])), arrives(HOME, &[a, b]));
        }
        assert_eq!(of(At::Receiver, &routing(1, &[a])), Err(("Segments Left", 43, 1)));
        assert_eq!(of(At::Sender, &routing(2, &[a])), Err(("Segments Left", 43, 2)));
        let mut other = routing(1, &[a]);
        other[2] = 4;
        assert_eq!(of(At::Sender, &other), Err(("Routing Type", 42, 4)));
        other[2] = 2;
        assert!(of(At::Sender, &other).is_ok(), "RFC 6275 §6.4");
        let half = [&[protocol::AH, 1, 0, 1, 0, 0, 0, 0][..], &[1; 8]].concat();
        assert_eq!(of(At::Sender, &half), Err(("Segments Left", 43, 1)));
    }

    #[test]
    fn wrong_extension_headers_are_named_where_they_are() {
        let of = |extensions: &[u8]| masked(v6(extension::DESTINATION, extensions), At::Sender, mask_v6);
        assert_eq!(of(&[59]), Err(("extension header", 40, 59)));
        assert_eq!(of(&[59, 1, 0, 0, 0, 0, 0, 0]), Err(("extension header length", 41, 1)));
        // Inside of one, places are counted from its own beginning.
        assert_eq!(of(&[59, 0, 0x1e, 5, 0, 0, 0, 0]), Err(("IPv6 option length", 3, 5)));
        assert_eq!(of(&[59, 0, 0, 0, 0, 0, 0, 0x1e]), Err(("IPv6 option", 7, 0x1e)));
        let fragment = masked(v6(extension::ROUTING, &[59, 0, 0, 0, 0, 0, 0, 0]), At::Receiver, mask_v6);
        assert!(fragment.is_ok(), "a route without addresses that is used up");
    }

    /// RFC 4302 §2.2 and §2.6.
    #[test]
    fn ah_fills_words_of_four_bytes_in_ipv4_and_of_eight_in_ipv6() {
        assert_eq!([12, 16, 24, 32].map(|icv_len| ah_len(icv_len, true)), [24, 28, 36, 44]);
        assert_eq!([12, 16, 24, 32].map(|icv_len| ah_len(icv_len, false)), [24, 32, 40, 48]);
    }
}
