//! A TUN device of Linux: a network interface whose packets are read and written by a program. Read the kernel's
//! Documentation/networking/tuntap.rst first, then virtio 1.2 §5.1.6 for what goes in front of packets with offloads.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::mem::zeroed;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// A network interface that is removed when this is dropped. Nothing here blocks.
#[derive(Debug)]
pub struct Tun {
    file: File,
    /// Whether packets are preceded by the kernel's header of [`HEADER_BYTES`].
    offloads: bool,
}

/// struct virtio_net_hdr: flags(1) gso_type(1) hdr_len(2) gso_size(2) csum_start(2) csum_offset(2), in the machine's own
/// byte order.
const HEADER_BYTES: usize = 10;

/// A packet received from the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Position of the packet in the buffer.
    pub packet: Range<usize>,
    /// Work that the kernel has left to the receiver.
    pub undone: Undone,
}

/// What remains to be done before a packet can go to a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Undone {
    /// A checksum to complete; its field holds the sum of the pseudo-header.
    pub checksum: Option<Checksum>,
    /// The packet is a TCP segment longer than the MTU: the payload length of the segments it must be split into, in bytes.
    pub segment_bytes: Option<u16>,
}

/// Position of a checksum, in bytes from the beginning of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// Start of the checksummed data, which extends to the end of the packet.
    pub from: u16,
    /// Offset of the checksum field.
    pub at: u16,
}

/// Several TCP segments in one packet, all with the same payload length except for the last, which may be shorter.
#[derive(Debug, Clone, Copy)]
pub struct Large {
    /// Of a segment.
    pub segment_bytes: u16,
    /// Length of the IP header. The TCP checksum field behind it holds the sum of the pseudo-header.
    pub ip_header_bytes: u16,
    /// Of both headers.
    pub headers_bytes: u16,
    /// Over IPv6, else IPv4.
    pub is_v6: bool,
}

impl Undone {
    fn read(header: [u8; HEADER_BYTES]) -> Self {
        let [flags, kind, _, _, size @ .., from0, from1, offset0, offset1] = header;
        let (from, offset) = (u16::from_ne_bytes([from0, from1]), u16::from_ne_bytes([offset0, offset1]));
        let is_tcp = matches!(kind & !ECN, TCP_V4 | TCP_V6);
        Self {
            checksum: (flags & NEEDS_CHECKSUM != 0)
                .then_some(Checksum { from, at: from.saturating_add(offset) }),
            segment_bytes: is_tcp.then(|| u16::from_ne_bytes(size)),
        }
    }
}

impl Large {
    fn header(&self) -> [u8; HEADER_BYTES] {
        let kind = if self.is_v6 { TCP_V6 } else { TCP_V4 };
        let numbers = [self.headers_bytes, self.segment_bytes, self.ip_header_bytes, TCP_CHECKSUM_AT];
        let mut header = [NEEDS_CHECKSUM, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        for (place, number) in header[2..].chunks_exact_mut(2).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        header
    }
}

// linux/virtio_net.h: VIRTIO_NET_HDR_F_NEEDS_CSUM, VIRTIO_NET_HDR_GSO_TCPV4, …_TCPV6, …_ECN.
const NEEDS_CHECKSUM: u8 = 1;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const ECN: u8 = 0x80;
/// RFC 9293 §3.1.
const TCP_CHECKSUM_AT: u16 = 16;

impl Tun {
    /// Makes the interface `name`, without address and not yet up.
    ///
    /// # Errors
    /// `InvalidInput` if the name is invalid, else the error of open(2) or ioctl(2): `PermissionDenied` without CAP_NET_ADMIN,
    /// `NotFound` if the kernel has no TUN, `ResourceBusy` if there is already an interface of this name.
    pub fn open(name: &str) -> io::Result<Self> {
        Self::with_flags(name, 0)
    }

    /// As [`Tun::open`], with offloads: packets of this machine arrive without finished checksums and, if TCP, with up to
    /// 64 KB ([`Undone`]), as at a network card.
    ///
    /// # Errors
    /// As [`Tun::open`].
    pub fn open_with_offloads(name: &str) -> io::Result<Self> {
        let tun = Self { offloads: true, ..Self::with_flags(name, libc::IFF_VNET_HDR)? };
        let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
        // SAFETY: TUNSETOFFLOAD takes its argument as a number and touches no memory of ours. A kernel that refuses it delivers
        // packets with nothing left to be done.
        unsafe { libc::ioctl(tun.file.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(offloads)) };
        Ok(tun)
    }

    fn with_flags(name: &str, more: libc::c_int) -> io::Result<Self> {
        let mut request = request(name)?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        // IFF_NO_PI: packets are bare IP, without the kernel's own four bytes in front.
        // IFF_TUN_EXCL: a persistent interface that somebody made for another program is not taken over.
        request.ifr_ifru.ifru_flags =
            (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | more) as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one ifreq, which lives here for the length of the call.
        match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) } {
            0.. => Ok(Self { file, offloads: false }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The next packet that was routed to the interface; truncated if longer than the buffer.
    ///
    /// # Errors
    /// `WouldBlock` if there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let len = (&self.file).read(buffer)?;
        Ok(match buffer[..len].first_chunk() {
            Some(header) if self.offloads => {
                Received { packet: HEADER_BYTES..len, undone: Undone::read(*header) }
            }
            _ => Received { packet: 0..len, undone: Undone::default() },
        })
    }

    /// Injects a packet, which arrives at the interface.
    ///
    /// # Errors
    /// The error of write(2): the packet is not IP, or the interface is not up.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        if !self.offloads {
            return (&self.file).write(packet).map(drop);
        }
        let slices = [IoSlice::new(&[0; HEADER_BYTES]), IoSlice::new(packet)];
        (&self.file).write_vectored(&slices).map(drop)
    }

    /// Injects a large packet: both headers, and the payloads of its segments, at most 1022.
    ///
    /// # Errors
    /// As [`Tun::send`], and if the interface was opened without offloads.
    pub fn send_large<'a>(
        &self,
        large: &Large,
        headers: &[u8],
        payloads: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<()> {
        if !self.offloads {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let header = large.header();
        let mut slices = vec![IoSlice::new(&header), IoSlice::new(headers)];
        for payload in payloads {
            slices.push(IoSlice::new(payload));
        }
        (&self.file).write_vectored(&slices).map(drop)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    let fits = (1..libc::IFNAMSIZ).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    if !fits || name.contains(['/', '%', ':']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no interface can be called so"));
    }
    // SAFETY: an ifreq is a plain C structure for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *slot = byte as libc::c_char;
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_interface_can_have_are_refused_before_anything_is_opened() {
        for name in ["", "a-name-that-is-too-long", "kt/0", "kt%d", "kt 0", "kt\0"] {
            assert_eq!(Tun::open(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
    }

    /// The header of a large TCP packet over IPv4 with options, as Linux sends it: VIRTIO_NET_HDR_F_NEEDS_CSUM, TCPV4.
    #[test]
    fn what_is_left_to_be_done_is_in_the_header_in_the_machines_own_order() {
        let header = |bytes: [u16; 4]| {
            let mut header = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
            let places = header[2..].chunks_exact_mut(2).zip(bytes);
            places.for_each(|(place, number)| place.copy_from_slice(&number.to_ne_bytes()));
            header
        };
        let large = Large { segment_bytes: 1348, ip_header_bytes: 20, headers_bytes: 52, is_v6: false };
        assert_eq!(large.header(), header([52, 1348, 20, 16]));
        let checksum = Some(Checksum { from: 20, at: 36 });
        assert_eq!(Undone::read(large.header()), Undone { checksum, segment_bytes: Some(1348) });
        assert_eq!(Undone::read([0; HEADER_BYTES]), Undone::default());
        let mut udp = header([0, 0, 40, 6]);
        udp[1] = 0;
        assert_eq!(
            Undone::read(udp),
            Undone { checksum: Some(Checksum { from: 40, at: 46 }), segment_bytes: None }
        );
    }
}
