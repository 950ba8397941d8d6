//! The network interface of a node: packets of this machine that are routed to it go into SAs, what comes out of SAs
//! arrives at it. Addresses and routes are set with iproute2's `ip`, on this interface alone.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Command;

use keytoll_native::tun::Tun;

/// A TUN interface that is up.
#[derive(Debug)]
pub struct Interface {
    tun: Tun,
}

/// Why there is no interface, or not the one that was wanted.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// It cannot be made.
    #[error("cannot make the interface `{name}`: {why}{}", advice(why))]
    Open {
        /// Its name.
        name: String,
        /// What the system said.
        why: io::Error,
    },
    /// The program cannot be run.
    #[error("cannot run iproute2's `ip`, which sets addresses and routes: {0}")]
    NoIp(io::Error),
    /// The program refused.
    #[error("`ip {command}` failed: {said}")]
    Refused {
        /// What it was asked.
        command: String,
        /// What it said.
        said: String,
    },
}

fn advice(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::PermissionDenied => "; it needs root or CAP_NET_ADMIN",
        io::ErrorKind::NotFound => "; this kernel has no TUN (`modprobe tun`)",
        io::ErrorKind::ResourceBusy => "; another program has it",
        _ => "",
    }
}

impl Interface {
    /// Makes an interface with this MTU and brings it up.
    ///
    /// # Errors
    /// Without privileges, without TUN in the kernel, without `ip`.
    pub fn open(name: &str, mtu_bytes: u16) -> Result<Self, InterfaceError> {
        let open = |why| InterfaceError::Open { name: name.to_owned(), why };
        let interface = Self { tun: Tun::open(name).map_err(open)? };
        // No address of its own making: what the kernel would send from it is nothing that an SA is for.
        ip(&["link", "set", "dev", name, "addrgenmode", "none"])?;
        ip(&["link", "set", "dev", name, "mtu", &mtu_bytes.to_string(), "up"])?;
        Ok(interface)
    }

    pub(crate) const fn tun(&self) -> &Tun {
        &self.tun
    }
}

/// Gives the interface `name` an address.
///
/// # Errors
/// What `ip` says.
pub fn assign(name: &str, address: IpAddr, length: u8) -> Result<(), InterfaceError> {
    let address = format!("{address}/{length}");
    // Without `nodad` an IPv6 address is of no use for a second; IPv4 does not know it.
    let more: &[&str] = if address.contains(':') { &["nodad"] } else { &[] };
    ip(&[&["address", "replace", &address, "dev", name], more].concat())
}

/// Takes an address from the interface `name`.
///
/// # Errors
/// What `ip` says.
pub fn withdraw(name: &str, address: IpAddr, length: u8) -> Result<(), InterfaceError> {
    ip(&["address", "delete", &format!("{address}/{length}"), "dev", name])
}

/// Routes a network to the interface `name`.
///
/// # Errors
/// What `ip` says.
pub fn route(name: &str, network: &str) -> Result<(), InterfaceError> {
    ip(&["route", "replace", network, "dev", name])
}

fn ip(arguments: &[&str]) -> Result<(), InterfaceError> {
    let output = Command::new("ip").args(arguments).output().map_err(InterfaceError::NoIp)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(InterfaceError::Refused { command: arguments.join(" "), said })
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}
