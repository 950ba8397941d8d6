//! Frames of a network below IP: a packet socket of Linux for one EtherType at one interface. Read packet(7) first.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// A station's address.
type MacAddr = [u8; 6];

/// An open packet socket. Frames contain their Ethernet headers. Nothing here blocks.
#[derive(Debug)]
pub struct Frames {
    file: File,
    index: libc::c_int,
    address: MacAddr,
}

impl Frames {
    /// Opens it at the interface `name`, for frames of this EtherType.
    ///
    /// # Errors
    /// `NotFound` if there is no such interface, `InvalidInput` if its addresses are not those of a LAN, else the error of
    /// socket(2) or bind(2): `PermissionDenied` without CAP_NET_RAW.
    pub fn open(name: &str, ether_type: u16) -> io::Result<Self> {
        let index = index(name)?;
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // packet(7): protocol 0 receives nothing, so that no frame of another interface arrives before the socket is bound.
        // SAFETY: takes numbers and touches no memory of ours.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was opened just now and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        bind(fd.as_fd(), index, ether_type)?;
        let address = address(fd.as_fd())?;
        Ok(Self { file: fd.into(), index, address })
    }

    /// Receives what is sent to this group address, too.
    ///
    /// # Errors
    /// The error of setsockopt(2).
    pub fn join(&self, group: MacAddr) -> io::Result<()> {
        let mut mr_address = [0; 8];
        mr_address[..group.len()].copy_from_slice(&group);
        let request = libc::packet_mreq {
            mr_ifindex: self.index,
            mr_type: libc::PACKET_MR_MULTICAST as libc::c_ushort,
            mr_alen: group.len() as libc::c_ushort,
            mr_address,
        };
        // SAFETY: the option's value is one packet_mreq, which lives here for the length of the call.
        let set = unsafe {
            libc::setsockopt(
                self.file.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_ADD_MEMBERSHIP,
                ptr::from_ref(&request).cast(),
                size_of::<libc::packet_mreq>() as _,
            )
        };
        if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The interface's address.
    pub const fn address(&self) -> MacAddr {
        self.address
    }

    /// The length of the next frame, which is cut if it is longer than the buffer.
    ///
    /// # Errors
    /// `WouldBlock` if there is none, else the error of read(2): the interface is down or gone.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(buffer)
    }

    /// Sends a frame from its Ethernet header on.
    ///
    /// # Errors
    /// The error of write(2): the interface is down, or the frame longer than its MTU allows.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        (&self.file).write(frame).map(drop)
    }
}

impl AsFd for Frames {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn index(name: &str) -> io::Result<libc::c_int> {
    let name = CString::new(name)?;
    // SAFETY: the name ends with a zero byte and lives here for the length of the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::ErrorKind::NotFound.into()),
        index => libc::c_int::try_from(index).map_err(io::Error::other),
    }
}

fn bind(socket: BorrowedFd<'_>, index: libc::c_int, ether_type: u16) -> io::Result<()> {
    // SAFETY: a sockaddr_ll is a plain C structure for which all zeroes is a valid value.
    let mut at: libc::sockaddr_ll = unsafe { zeroed() };
    at.sll_family = libc::AF_PACKET as libc::c_ushort;
    at.sll_protocol = ether_type.to_be();
    at.sll_ifindex = index;
    // SAFETY: the address is one sockaddr_ll, which lives here for the length of the call.
    let bound = unsafe {
        libc::bind(socket.as_raw_fd(), ptr::from_ref(&at).cast(), size_of::<libc::sockaddr_ll>() as _)
    };
    if bound == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The address of the interface that the socket is bound to.
fn address(socket: BorrowedFd<'_>) -> io::Result<MacAddr> {
    // SAFETY: a sockaddr_ll is a plain C structure for which all zeroes is a valid value.
    let mut at: libc::sockaddr_ll = unsafe { zeroed() };
    let mut len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into one sockaddr_ll, which lives here for the length of the call.
    let known = unsafe { libc::getsockname(socket.as_raw_fd(), ptr::from_mut(&mut at).cast(), &raw mut len) };
    if known != 0 {
        return Err(io::Error::last_os_error());
    }
    match at.sll_addr.first_chunk() {
        Some(address) if usize::from(at.sll_halen) == address.len() => Ok(*address),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "its addresses are not those of a LAN")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_does_not_exist_is_named_before_anything_is_opened() {
        for name in ["", "no-such-interface", "kt\0"] {
            assert!(Frames::open(name, 0x88b6).is_err(), "{name:?}");
        }
        assert_eq!(Frames::open("no-such-one", 0x88b6).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// Over the loopback interface, whose address is all zeros; 88-B6 is for experiments (IEEE 802-2014 §9.2.4).
    #[test]
    fn a_frame_of_the_loopback_interface_comes_back_whole() {
        let Ok(frames) = Frames::open("lo", 0x88b6) else { return };
        assert_eq!(frames.address(), [0; 6]);
        frames.join([0x01, 0x80, 0xc2, 0, 0, 3]).unwrap();
        let mut sent = vec![0; 12];
        sent.extend([0x88, 0xb6, 1, 2, 3]);
        let mut buffer = [0; 2000];
        assert_eq!(frames.receive(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        frames.send(&sent).unwrap();
        let len = frames.receive(&mut buffer).unwrap();
        assert_eq!(buffer[..len], sent);
    }
}
