//! Many UDP datagrams with one system call: recvmmsg(2) and sendmmsg(2).

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Most datagrams a call.
pub const BATCH: usize = 32;

/// A datagram that was received.
#[derive(Debug, Clone, Copy)]
pub struct Received {
    /// Its sender.
    pub from: SocketAddr,
    /// Its length.
    pub len: usize,
}

/// Takes what a socket has, without waiting: each datagram into a slot of its own of the arena, what is longer than a
/// slot is cut. Gives them in the order of their slots (and ends at one that did not come over IP).
///
/// # Errors
/// `WouldBlock` when there is nothing, or what the network reports of something sent earlier.
///
/// # Panics
/// If the arena has fewer than [`BATCH`] slots.
pub fn receive(
    socket: BorrowedFd<'_>,
    arena: &mut [u8],
    slot_bytes: usize,
) -> io::Result<impl Iterator<Item = Received>> {
    assert!(arena.len() >= BATCH * slot_bytes, "the arena has a slot for every datagram of a batch");
    let mut batch = Batch::new();
    for (place, slot) in arena.chunks_exact_mut(slot_bytes).take(BATCH).enumerate() {
        batch.put(place, slot.as_mut_ptr(), slot.len());
    }
    let count = batch.receive(socket)?;
    Ok((0..count).map_while(move |place| batch.received(place)))
}

/// Sends up to [`BATCH`] datagrams; gives how many the system took. It stops at the first that fails, of which the error
/// is given only when it is the very first.
///
/// # Errors
/// What send(2) says of the first datagram.
pub fn send<'a>(
    socket: BorrowedFd<'_>,
    datagrams: impl Iterator<Item = (&'a [u8], SocketAddr)>,
) -> io::Result<usize> {
    let (mut batch, mut count) = (Batch::new(), 0);
    for (bytes, to) in datagrams.take(BATCH) {
        // The kernel only reads what it is to send.
        batch.put(count, bytes.as_ptr().cast_mut(), bytes.len());
        batch.headers[count].msg_hdr.msg_namelen = write_address(to, &mut batch.addresses[count]);
        count += 1;
    }
    batch.send(socket, count)
}

/// The structures of one call. What points into them is set just before the call, so that they may move until then.
struct Batch {
    headers: [libc::mmsghdr; BATCH],
    slices: [libc::iovec; BATCH],
    addresses: [libc::sockaddr_storage; BATCH],
}

impl Batch {
    fn new() -> Self {
        // SAFETY: all three are plain C structures for which all zeroes is a value: null pointers, no lengths.
        unsafe { Self { headers: zeroed(), slices: zeroed(), addresses: zeroed() } }
    }

    fn put(&mut self, place: usize, bytes: *mut u8, len: usize) {
        self.slices[place] = libc::iovec { iov_base: bytes.cast(), iov_len: len };
        self.headers[place].msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    }

    fn tie(&mut self) {
        for place in 0..BATCH {
            let header = &mut self.headers[place].msg_hdr;
            header.msg_name = (&raw mut self.addresses[place]).cast();
            header.msg_iov = &raw mut self.slices[place];
            header.msg_iovlen = 1;
        }
    }

    fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        self.tie();
        // SAFETY: every header points to an address and a slice of `self`, every slice to a slot that the caller has
        // borrowed mutably for as long as this call; the lengths are theirs.
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
        Some(Received {
            from: read_address(&self.addresses[place])?,
            len: self.headers[place].msg_len as usize,
        })
    }

    fn send(&mut self, socket: BorrowedFd<'_>, count: usize) -> io::Result<usize> {
        self.tie();
        // SAFETY: the first `count` headers point to addresses and slices of `self`, the slices to bytes that the caller
        // has borrowed for longer than this call, which does not write to them.
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

/// None if it belongs to neither version of IP.
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

/// Gives its length.
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
    fn a_batch_arrives_whole_and_in_order() {
        passes(Ipv4Addr::LOCALHOST.into());
        passes(Ipv6Addr::LOCALHOST.into());
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
