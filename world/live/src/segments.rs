//! What this machine's kernel leaves to a network card, done here: checksums, and cutting a large packet of TCP into
//! segments. RFC 9293 §3.1, RFC 791 §3.1, RFC 8200 §3.

use keytoll_native::tun::{Checksum, Undone};
use keytoll_net::checksum::{Sum, internet_checksum};
use keytoll_net::ip::{self, Version};
use keytoll_net::tcp::{self, flag};
use keytoll_net::udp;

/// Finishes a packet and gives what goes to the network, in order; how many they were. None of a packet that cannot be what
/// it is said to be.
pub(crate) fn finish(packet: &mut [u8], undone: Undone, mut each: impl FnMut(&[u8])) -> usize {
    match undone {
        Undone { checksum: None, segment_bytes: None } => {
            each(packet);
            1
        }
        Undone { checksum: Some(checksum), segment_bytes: None } => {
            usize::from(fill_in(packet, checksum).map(|()| each(packet)).is_some())
        }
        Undone { checksum: Some(checksum), segment_bytes: Some(bytes) } => {
            Large::read(packet, checksum.from.into(), bytes.into()).map_or(0, |large| large.cut(each))
        }
        // TCP without a checksum to be made is nothing that the kernel gives.
        Undone { checksum: None, segment_bytes: Some(_) } => 0,
    }
}

/// Makes the checksum; what stands in its place counts, it is the sum of the pseudo-header.
fn fill_in(packet: &mut [u8], Checksum { from, at }: Checksum) -> Option<()> {
    let sum = internet_checksum(packet.get(usize::from(from)..)?);
    // RFC 768: zero would say that there is none; for TCP the two are the same.
    write(packet, at.into(), udp::sent(sum))
}

fn write(packet: &mut [u8], at: usize, number: u16) -> Option<()> {
    packet.get_mut(at..at + 2)?.copy_from_slice(&number.to_be_bytes());
    Some(())
}

/// A packet of several segments.
struct Large<'a> {
    version: Version,
    ip_header_len: usize,
    headers: &'a [u8],
    sequence: u32,
    /// Of the pseudo-header.
    sum: u16,
    payload: &'a [u8],
    /// Of each segment but the last.
    segment_bytes: usize,
}

impl<'a> Large<'a> {
    fn read(packet: &'a [u8], ip_header_len: usize, segment_bytes: usize) -> Option<Self> {
        let version = match packet.first()? >> 4 {
            4 if ip_header_len >= ip::HEADER_V4 => Version::V4,
            6 if ip_header_len >= ip::HEADER_V6 => Version::V6,
            _ => return None,
        };
        let tcp::Header { header_len, sequence, checksum: sum, .. } =
            tcp::Header::read(packet.get(ip_header_len..)?).ok().filter(|_| segment_bytes > 0)?;
        let (headers, payload) = packet.split_at(ip_header_len + header_len);
        Some(Self { version, ip_header_len, headers, sequence, sum, payload, segment_bytes })
    }

    fn cut(&self, mut each: impl FnMut(&[u8])) -> usize {
        let count = self.payload.len().div_ceil(self.segment_bytes).max(1);
        let mut segment = Vec::with_capacity(self.headers.len() + self.segment_bytes);
        for number in 0..count {
            let start = number * self.segment_bytes;
            let end = self.payload.len().min(start + self.segment_bytes);
            segment.clear();
            segment.extend_from_slice(self.headers);
            segment.extend_from_slice(&self.payload[start..end]);
            self.write_ip(&mut segment, number);
            self.write_tcp(&mut segment, number, number + 1 == count);
            each(&segment);
        }
        count
    }

    fn write_ip(&self, segment: &mut [u8], number: usize) {
        let len = segment.len();
        if self.version == Version::V4 {
            // As the kernel would number them.
            let identification = u16::from_be_bytes([segment[4], segment[5]]).wrapping_add(number as u16);
            put(segment, 4, identification);
        }
        ip::set_length(&mut segment[..self.ip_header_len], len);
    }

    fn write_tcp(&self, segment: &mut [u8], number: usize, is_last: bool) {
        let tcp = &mut segment[self.ip_header_len..];
        let sequence = self.sequence.wrapping_add((number * self.segment_bytes) as u32);
        tcp::set_sequence(tcp, sequence);
        // What ends a stream or asks for its delivery belongs to the end; RFC 3168 §6.1.2: that the window was reduced is
        // said once.
        let at_end = if is_last { 0 } else { flag::FIN | flag::PSH };
        *tcp::flags_mut(tcp) &= !(at_end | if number == 0 { 0 } else { flag::CWR });
        // What stands there is the sum of the pseudo-header of the whole: of a routed packet it has another address than
        // the header. Only the length is different.
        let whole_len = (self.headers.len() - self.ip_header_len + self.payload.len()) as u16;
        let pseudo_header = Sum::default().number(self.sum).number(!whole_len).number(tcp.len() as u16);
        tcp::set_checksum(tcp, 0);
        tcp::set_checksum(tcp, pseudo_header.bytes(tcp).finish());
    }
}

/// Writes a number into a header that is there.
pub(crate) fn put(bytes: &mut [u8], at: usize, number: u16) {
    bytes[at..at + 2].copy_from_slice(&number.to_be_bytes());
}
