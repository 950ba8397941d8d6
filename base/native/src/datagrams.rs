//! Many UDP datagrams per system call: recvmmsg(2) and sendmmsg(2), and segmentation offload: datagrams of one length that
//! pass the kernel as one, called a train here (UDP_SEGMENT, UDP_GRO; udp(7)).

use std::io::{self, IoSlice};
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

/// Maximum number of messages per call.
pub const BATCH: usize = 32;
/// Maximum number of datagrams in a train: `UDP_MAX_SEGMENTS` of kernels before 6.9.
pub const TRAIN: usize = 64;

/// A received message: a datagram or, if the socket accepts trains, several from one sender.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// Its sender.
    pub from: SocketAddr,
    /// Its length.
    pub len: usize,
    /// The length of each of its datagrams but the last, which may be shorter.
    pub datagram_len: usize,
}

/// Datagrams to one receiver: at most [`TRAIN`], all of one non-zero length except for the last, which may be shorter, and
/// together no longer than a datagram can be.
#[derive(Debug, Clone, Copy)]
pub struct Train<'a> {
    /// Each.
    pub datagrams: &'a [IoSlice<'a>],
    /// Their receiver.
    pub to: SocketAddr,
}

/// Lets a socket receive trains whole: udp(7), UDP_GRO.
///
/// # Errors
/// The error of setsockopt(2): kernels before 5.0 do not know the option.
pub fn take_trains(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option's value is one int, which lives here for the length of the call.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            libc::UDP_GRO,
            ptr::from_ref(&on).cast(),
            size_of::<libc::c_int>() as _,
        )
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// When the datagram that this socket has given last had arrived, since 1970-01-01T00:00:00Z (socket(7), SIOCGSTAMPNS). Datagrams that
/// arrived before this was asked for the first time have no such time.
///
/// # Errors
/// The error of ioctl(2): `NotFound` where there is no such time.
pub fn arrived(socket: BorrowedFd<'_>) -> io::Result<Duration> {
    // SAFETY: a plain C structure of integers, which may all be zero.
    let mut stamp: libc::timespec = unsafe { zeroed() };
    // SAFETY: the call writes one timespec, to which the pointer leads.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSTAMPNS as _, ptr::from_mut(&mut stamp)) };
    let time = || Some(Duration::new(stamp.tv_sec.try_into().ok()?, stamp.tv_nsec.try_into().ok()?));
    match done {
        0 => time().ok_or_else(|| io::ErrorKind::InvalidData.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// asm-generic/sockios.h, with the times of 64-bit systems.
const SIOCGSTAMPNS: u32 = 0x8907;

/// Receives without blocking: each datagram goes into its own slot of the arena and is truncated if longer. Yields them in
/// the order of their slots, up to the first that did not come over IP.
///
/// # Errors
/// `WouldBlock` if there is nothing, or a network error about something sent earlier.
///
/// # Panics
/// If the arena has fewer than [`BATCH`] slots.
pub fn receive(
    socket: BorrowedFd<'_>,
    arena: &mut [u8],
    slot_bytes: usize,
) -> io::Result<impl Iterator<Item = Received> + use<>> {
    assert!(arena.len() >= BATCH * slot_bytes, "the arena has a slot for every datagram of a batch");
    let mut batch = Batch::new();
    for (place, slot) in arena.chunks_exact_mut(slot_bytes).take(BATCH).enumerate() {
        batch.put(place, slot.as_mut_ptr(), slot.len());
    }
    batch.tie_slices();
    let count = batch.receive(socket)?;
    Ok((0..count).map_while(move |place| batch.received(place)))
}

/// Sends up to [`BATCH`] datagrams; returns how many the system took. It stops at the first that fails, whose error is
/// returned only if it is the very first.
///
/// # Errors
/// The error of send(2) for the first datagram.
pub fn send<'a>(
    socket: BorrowedFd<'_>,
    datagrams: impl Iterator<Item = (&'a [u8], SocketAddr)>,
) -> io::Result<usize> {
    let (mut batch, mut count) = (Batch::new(), 0);
    for (bytes, to) in datagrams.take(BATCH) {
        // The kernel only reads what it sends.
        batch.put(count, bytes.as_ptr().cast_mut(), bytes.len());
        batch.address(count, to);
        count += 1;
    }
    batch.tie_slices();
    batch.send(socket, count)
}

/// Sends up to [`BATCH`] trains; returns how many the system took, as [`send`] does.
///
/// # Errors
/// The error of send(2) for the first one: `InvalidInput` if datagrams exceed the path MTU. Kernels before 4.18 would send a
/// train as one datagram: trains of more than one are allowed only after [`take_trains`] has succeeded.
pub fn send_trains<'a>(socket: BorrowedFd<'_>, trains: impl Iterator<Item = Train<'a>>) -> io::Result<usize> {
    let (mut batch, mut count) = (Batch::new(), 0);
    for train in trains.take(BATCH) {
        batch.put_train(count, train.datagrams);
        batch.address(count, train.to);
        count += 1;
    }
    batch.send(socket, count)
}

/// The structures of one call. Pointers into them are set just before the call, so that they may move until then.
struct Batch {
    headers: [libc::mmsghdr; BATCH],
    slices: [libc::iovec; BATCH],
    addresses: [libc::sockaddr_storage; BATCH],
    controls: [Control; BATCH],
}

/// A control message with a number: when sending a `u16` in its first two bytes, when receiving an `int`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Control {
    header: libc::cmsghdr,
    value: [u8; CONTROL_VALUE_BYTES],
}

/// A control message's value is padded to so many bytes (cmsg(3)).
const CONTROL_VALUE_BYTES: usize = size_of::<usize>();

impl Control {
    /// udp(7), UDP_SEGMENT: the length of the datagrams into which the message is split.
    fn cut_into(datagram_len: u16) -> Self {
        let mut value = [0; CONTROL_VALUE_BYTES];
        value[..2].copy_from_slice(&datagram_len.to_ne_bytes());
        // SAFETY: a plain C structure of integers, which may all be zero. Its padding under musl must be.
        let mut header: libc::cmsghdr = unsafe { zeroed() };
        header.cmsg_len = (size_of::<libc::cmsghdr>() + 2) as _;
        header.cmsg_level = libc::SOL_UDP;
        header.cmsg_type = libc::UDP_SEGMENT;
        Self { header, value }
    }

    /// udp(7), UDP_GRO: the length of the datagrams that were joined into the message, if they were.
    fn datagram_len(&self, written: usize) -> Option<usize> {
        let (is_gro, value_at) =
            (self.header.cmsg_type == libc::UDP_GRO, size_of::<libc::cmsghdr>() + size_of::<libc::c_int>());
        let value = self.value[..4].try_into().map(libc::c_int::from_ne_bytes).ok()?;
        let is_there = is_gro && self.header.cmsg_level == libc::SOL_UDP && written >= value_at;
        usize::try_from(value).ok().filter(|&len| is_there && len > 0)
    }
}

impl Batch {
    fn new() -> Self {
        // SAFETY: all four are plain C structures for which all zeroes is a valid value: null pointers, no lengths.
        unsafe { Self { headers: zeroed(), slices: zeroed(), addresses: zeroed(), controls: zeroed() } }
    }

    /// A message of one slice.
    fn put(&mut self, place: usize, bytes: *mut u8, len: usize) {
        self.slices[place] = libc::iovec { iov_base: bytes.cast(), iov_len: len };
    }

    /// Points every message to its slice, after the batch has moved for the last time.
    fn tie_slices(&mut self) {
        for (header, slice) in self.headers.iter_mut().zip(&mut self.slices) {
            header.msg_hdr.msg_iov = ptr::from_mut(slice);
            header.msg_hdr.msg_iovlen = 1;
        }
    }

    fn put_train(&mut self, place: usize, datagrams: &[IoSlice<'_>]) {
        let header = &mut self.headers[place].msg_hdr;
        // std: an IoSlice has the layout of an iovec. The kernel only reads what it is to send.
        header.msg_iov = datagrams.as_ptr().cast_mut().cast();
        header.msg_iovlen = datagrams.len() as _;
        if let [first, _, ..] = datagrams
            && let Ok(len) = u16::try_from(first.len())
        {
            self.controls[place] = Control::cut_into(len);
            header.msg_controllen = size_of::<Control>() as _;
        }
    }

    fn address(&mut self, place: usize, to: SocketAddr) {
        self.headers[place].msg_hdr.msg_namelen = write_address(to, &mut self.addresses[place]);
    }

    /// Points every message to its address and, if it has one, its control message.
    fn tie(&mut self) {
        let Self { headers, addresses, controls, .. } = self;
        for ((header, address), control) in headers.iter_mut().zip(addresses).zip(controls) {
            header.msg_hdr.msg_name = ptr::from_mut(address).cast();
            if header.msg_hdr.msg_controllen > 0 {
                header.msg_hdr.msg_control = ptr::from_mut(control).cast();
            }
        }
    }

    fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        for header in &mut self.headers {
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as _;
            header.msg_hdr.msg_controllen = size_of::<Control>() as _;
        }
        self.tie();
        // SAFETY: every header points to an address, a slice and a control message of `self`, every slice to a slot that
        // the caller has borrowed mutably for as long as this call; the lengths are theirs.
        counted(unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        })
    }

    fn received(&self, place: usize) -> Option<Received> {
        let len = self.headers[place].msg_len as usize;
        let written = self.headers[place].msg_hdr.msg_controllen as _;
        let datagram_len = self.controls[place].datagram_len(written).unwrap_or(len);
        Some(Received { from: read_address(&self.addresses[place])?, len, datagram_len })
    }

    fn send(&mut self, socket: BorrowedFd<'_>, count: usize) -> io::Result<usize> {
        self.tie();
        // SAFETY: the first `count` headers point to addresses and control messages of `self`, and to slices of `self` or of
        // the caller, these to bytes that the caller has borrowed for longer than this call, which writes to none of them.
        counted(unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT as _,
            )
        })
    }
}

fn counted(count: libc::c_int) -> io::Result<usize> {
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// The address; `None` if it belongs to neither version of IP.
fn read_address(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match libc::c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: a sockaddr_storage is large enough and aligned for any address; the family says it is this one.
            let v4 = unsafe { &*ptr::from_ref(storage).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { &*ptr::from_ref(storage).cast::<libc::sockaddr_in6>() };
            let (ip, port) = (Ipv6Addr::from(v6.sin6_addr.s6_addr), u16::from_be(v6.sin6_port));
            Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// Writes the address and returns its length.
fn write_address(address: SocketAddr, storage: &mut libc::sockaddr_storage) -> libc::socklen_t {
    let place = ptr::from_mut(storage);
    match address {
        SocketAddr::V4(v4) => {
            let address = libc::sockaddr_in {
                sin_family: libc::AF_INET as _,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                sin_zero: [0; 8],
            };
            // SAFETY: a sockaddr_storage is large enough and aligned for any address.
            unsafe { place.cast::<libc::sockaddr_in>().write(address) };
            size_of::<libc::sockaddr_in>() as _
        }
        SocketAddr::V6(v6) => {
            let address = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as _,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<libc::sockaddr_in6>().write(address) };
            size_of::<libc::sockaddr_in6>() as _
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_types, reason = "a datagram wants a socket")]

    use std::net::{IpAddr, UdpSocket};
    use std::os::fd::AsFd;

    use super::*;

    const SLOT: usize = 100;

    fn pair(ip: IpAddr) -> (UdpSocket, UdpSocket) {
        let socket = || UdpSocket::bind((ip, 0)).unwrap();
        (socket(), socket())
    }

    /// What a receiver has, as (sender, bytes).
    fn drain(socket: &UdpSocket) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut arena = vec![0; BATCH * SLOT];
        let got: Vec<_> = receive(socket.as_fd(), &mut arena, SLOT).unwrap().collect();
        let slots = got.iter().zip(arena.chunks(SLOT));
        slots.map(|(one, slot)| (one.from, slot[..one.len].to_vec())).collect()
    }

    fn passes(ip: IpAddr) {
        let (a, b) = pair(ip);
        let (a_address, b_address) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let sent: Vec<_> = (0..40_u8).map(|n| vec![n; usize::from(n)]).collect();
        let batch = || sent.iter().map(|bytes| (&bytes[..], b_address));
        assert_eq!(send(a.as_fd(), batch()).unwrap(), BATCH);
        let expected: Vec<_> = sent[..BATCH].iter().map(|bytes| (a_address, bytes.clone())).collect();
        assert_eq!(drain(&b), expected);
        assert!(
            receive(b.as_fd(), &mut [0; BATCH * SLOT], SLOT)
                .is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        );
    }

    #[test]
    fn a_socket_tells_when_its_last_datagram_arrived() {
        let (a, b) = pair(Ipv4Addr::LOCALHOST.into());
        let pass = || {
            a.send_to(b"x", b.local_addr().unwrap()).unwrap();
            drain(&b);
            (arrived(b.as_fd()).ok(), Duration::from_nanos(crate::clock::unix_ns()))
        };
        assert!(arrived(b.as_fd()).is_err(), "nothing has arrived");
        pass();
        let before = Duration::from_nanos(crate::clock::unix_ns());
        let (at, after) = pass();
        // The kernel's clock of packets may be a tick coarser than ours.
        let at = at.unwrap() + Duration::from_millis(10);
        assert!(
            at > before && at < after + Duration::from_millis(20),
            "{at:?}, not from {before:?} to {after:?}"
        );
    }

    #[test]
    fn a_batch_arrives_whole_and_in_order() {
        passes(Ipv4Addr::LOCALHOST.into());
        passes(Ipv6Addr::LOCALHOST.into());
    }

    /// What a receiver has of a train of 40 datagrams of 50 bytes and one of 7, as (lengths, bytes).
    fn train_arrives(ip: IpAddr, takes_trains: bool) {
        let (a, b) = pair(ip);
        if takes_trains {
            take_trains(b.as_fd()).unwrap();
        }
        let sent: Vec<_> = (0..41_u8).map(|n| vec![n; if n < 40 { 50 } else { 7 }]).collect();
        let slices: Vec<_> = sent.iter().map(|bytes| IoSlice::new(bytes)).collect();
        let train = Train { datagrams: &slices, to: b.local_addr().unwrap() };
        assert_eq!(send_trains(a.as_fd(), [train].into_iter()).unwrap(), 1);
        let mut arena = vec![0; BATCH * SLOT * TRAIN];
        let (mut arrived, mut messages) = (Vec::new(), 0);
        while let Ok(batch) = receive(b.as_fd(), &mut arena, SLOT * TRAIN) {
            let batch: Vec<_> = batch.collect();
            messages += batch.len();
            for (one, slot) in batch.iter().zip(arena.chunks(SLOT * TRAIN)) {
                assert_eq!(one.from, a.local_addr().unwrap());
                arrived.extend(slot[..one.len].chunks(one.datagram_len).map(<[u8]>::to_vec));
            }
        }
        assert_eq!(arrived, sent);
        // Some kernels cut trains on their way through the loopback interface.
        assert!(messages == 41 || takes_trains && messages == 1, "{messages} messages");
    }

    #[test]
    fn a_train_arrives_whole_whether_its_receiver_takes_trains_or_not() {
        for ip in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()] {
            train_arrives(ip, true);
            train_arrives(ip, false);
        }
    }

    #[test]
    fn a_train_longer_than_the_way_allows_is_refused_whole() {
        let (a, b) = pair(Ipv4Addr::LOCALHOST.into());
        let long = vec![0; 65_000];
        let slices = [IoSlice::new(&long), IoSlice::new(&long)];
        let train = Train { datagrams: &slices, to: b.local_addr().unwrap() };
        assert!(send_trains(a.as_fd(), [train].into_iter()).is_err());
        assert!(receive(b.as_fd(), &mut [0; BATCH * SLOT], SLOT).is_err());
    }

    #[test]
    fn what_is_longer_than_a_slot_is_cut() {
        let (a, b) = pair(Ipv4Addr::LOCALHOST.into());
        a.send_to(&[7; SLOT + 1], b.local_addr().unwrap()).unwrap();
        let (_, bytes) = drain(&b).remove(0);
        assert_eq!(bytes, [7; SLOT]);
    }

    #[test]
    fn a_failure_in_the_middle_ends_the_count() {
        let (a, b) = pair(Ipv4Addr::LOCALHOST.into());
        let (good, bad) = (b.local_addr().unwrap(), "0.0.0.0:0".parse().unwrap());
        let to = |addresses: [SocketAddr; 3]| send(a.as_fd(), addresses.into_iter().map(|to| (&[1][..], to)));
        assert_eq!(to([good, bad, good]).unwrap(), 1);
        assert!(to([bad, good, good]).is_err());
        assert_eq!(drain(&b).len(), 1);
    }

    #[test]
    #[should_panic(expected = "a slot for every datagram")]
    fn a_small_arena_is_a_bug() {
        let (a, _) = pair(Ipv4Addr::LOCALHOST.into());
        let _ = receive(a.as_fd(), &mut [0; SLOT], SLOT);
    }
}
