//! A TUN device of Linux: a network interface whose packets are read and written by a program. Read the kernel's
//! Documentation/networking/tuntap.rst first.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// An interface that goes when this is dropped. Nothing here waits.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Makes the interface `name`, without address and not yet up.
    ///
    /// # Errors
    /// `InvalidInput` if interfaces cannot be called so, else what open(2) and ioctl(2) say: `PermissionDenied` without
    /// CAP_NET_ADMIN, `NotFound` where the kernel has no TUN, `ResourceBusy` if somebody has an interface of this name.
    pub fn open(name: &str) -> io::Result<Self> {
        let mut request = request(name)?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        // IFF_NO_PI: packets are bare IP, without the kernel's own four bytes in front.
        // IFF_TUN_EXCL: a persistent interface that somebody made for another program is not taken over.
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL) as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one ifreq, which lives here for the length of the call.
        match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) } {
            0.. => Ok(Self { file }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The next packet that was routed to the interface: its length; what is longer than the buffer is cut.
    ///
    /// # Errors
    /// `WouldBlock` when there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(buffer)
    }

    /// Lets a packet arrive at the interface.
    ///
    /// # Errors
    /// What write(2) says: of a packet that is no IP, of an interface that is not up.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(|_| ())
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
    // SAFETY: an ifreq is a plain C structure for which all zeroes is a value.
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
}
