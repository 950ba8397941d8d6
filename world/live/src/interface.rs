//! The network interface of a node: packets of this machine that are routed to it go into SAs, what comes out of SAs
//! arrives at it. The kernel gives and takes large packets, as with a network card; they are cut and joined here
//! (`segments`, `joined`). Addresses and routes are set with iproute2's `ip`, on this interface alone.

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
    /// The machine has one of its own, which is not ours to replace.
    #[error("this machine already has a route to {network}: remove it, or route another network to `{name}`")]
    Routed {
        /// The network.
        network: String,
        /// The interface.
        name: String,
    },
    /// The peer gives an address that this machine reaches already, or is.
    #[error(
        "the peer gives us the address {address}, but this machine has its own way there ({way}): the address is not taken; \
         let the peer give one that is in no network here"
    )]
    Shadows {
        /// The address.
        address: IpAddr,
        /// The way, as `ip` tells it.
        way: String,
    },
    /// What leaves for the peer would come back to the interface, without end.
    #[error(
        "what goes to the peer itself, at {peer}, would enter its own tunnel through `{name}`: \
         leave {peer} out of what is routed there, or first give this machine a route of its own to it"
    )]
    Loop {
        /// The peer, where it is outside the tunnel.
        peer: IpAddr,
        /// The interface.
        name: String,
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
        let interface = Self { tun: Tun::open_with_offloads(name).map_err(open)? };
        // No address of its own making: what the kernel would send from it is nothing that an SA is for.
        ip(&["link", "set", "dev", name, "addrgenmode", "none"])?;
        ip(&["link", "set", "dev", name, "mtu", &mtu_bytes.to_string(), "up"])?;
        Ok(interface)
    }

    pub(crate) const fn tun(&self) -> &Tun {
        &self.tun
    }
}

/// Checks that an address that somebody else chose for the interface `name` takes no place of this machine: it is none of its
/// own, and in none of the networks that it has a route to, but for the default route.
///
/// # Errors
/// If it does.
pub fn check_free(name: &str, address: IpAddr) -> Result<(), InterfaceError> {
    let family = if address.is_ipv4() { "-4" } else { "-6" };
    let address_text = address.to_string();
    let way = match said(&[family, "route", "get", &address_text]) {
        Ok(way) if way.starts_with("local ") => way,
        // That there is no way at all is as good.
        Ok(_) | Err(InterfaceError::Refused { .. }) => {
            said(&[family, "route", "show", "match", &address_text])?
        }
        Err(other) => return Err(other),
    };
    match own_way(&way, name) {
        Some(way) => Err(InterfaceError::Shadows { address, way: way.to_owned() }),
        None => Ok(()),
    }
}

/// The first of these routes that is neither the default one nor through this interface.
fn own_way<'a>(routes: &'a str, name: &str) -> Option<&'a str> {
    let mut lines =
        routes.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("cache"));
    lines.find(|line| !line.starts_with("default") && !leads_through(line, name))
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

/// Routes a network to the interface `name`, beside the routes that the machine has.
///
/// # Errors
/// If it has one to this network; what `ip` says.
pub fn route(name: &str, network: &str) -> Result<(), InterfaceError> {
    ip(&["route", "add", network, "dev", name]).map_err(|error| match error {
        InterfaceError::Refused { said, .. } if said.contains("File exists") => {
            InterfaceError::Routed { network: network.to_owned(), name: name.to_owned() }
        }
        other => other,
    })
}

/// Takes a network's route from the interface `name`.
///
/// # Errors
/// What `ip` says.
pub fn unroute(name: &str, network: &str) -> Result<(), InterfaceError> {
    ip(&["route", "delete", network, "dev", name])
}

/// Checks that what goes to the peer, outside the tunnel, does not go through the interface `name`.
///
/// # Errors
/// If it does.
pub fn check_way_to(peer: IpAddr, name: &str) -> Result<(), InterfaceError> {
    match said(&["route", "get", &peer.to_string()]) {
        Ok(way) if leads_through(&way, name) => Err(InterfaceError::Loop { peer, name: name.to_owned() }),
        // That there is no way at all is for the socket to say.
        Ok(_) | Err(InterfaceError::Refused { .. }) => Ok(()),
        Err(other) => Err(other),
    }
}

/// Whether the way that `ip route get` describes begins at this interface.
fn leads_through(way: &str, name: &str) -> bool {
    let mut words = way.split_whitespace().skip_while(|word| *word != "dev");
    words.nth(1) == Some(name)
}

fn ip(arguments: &[&str]) -> Result<(), InterfaceError> {
    said(arguments).map(|_| ())
}

/// What `ip` answers.
fn said(arguments: &[&str]) -> Result<String, InterfaceError> {
    let output = Command::new("ip").args(arguments).output().map_err(InterfaceError::NoIp)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(InterfaceError::Refused { command: arguments.join(" "), said })
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tun.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_of_the_machine_is_told_from_the_default_one() {
        let routes =
            "default via 10.0.0.1 dev eth0 \n10.0.0.0/24 dev eth0 proto kernel scope link src 10.0.0.2 \n";
        assert!(own_way(routes, "kt0").is_some_and(|way| way.starts_with("10.0.0.0/24")));
        assert_eq!(own_way("default via 10.0.0.1 dev eth0 \n10.9.0.0/16 dev kt0 scope link\n", "kt0"), None);
        assert_eq!(own_way("", "kt0"), None);
        assert!(
            own_way("local 127.0.0.3 dev lo src 127.0.0.1 uid 0 \n    cache <local> \n", "kt0").is_some()
        );
    }

    /// Loopback is on every machine; the error says what to do.
    #[test]
    fn an_address_of_this_machine_is_not_taken() {
        let error = check_free("kt0", IpAddr::from([127, 0, 0, 9])).unwrap_err().to_string();
        assert!(
            error.starts_with("the peer gives us the address 127.0.0.9, but this machine has"),
            "{error}"
        );
    }

    #[test]
    fn a_way_is_read_as_ip_writes_it() {
        let by_router = "192.0.2.7 via 10.0.0.1 dev eth0 src 10.0.0.2 uid 0 \n    cache \n";
        let direct = "10.98.2.1 dev kt0 src 10.98.2.2 uid 0 \n    cache \n";
        let local = "local 127.0.0.3 dev lo src 127.0.0.1 uid 0 \n    cache <local> \n";
        assert!(
            leads_through(by_router, "eth0") && leads_through(direct, "kt0") && leads_through(local, "lo")
        );
        assert!(
            !leads_through(by_router, "kt0") && !leads_through(direct, "kt") && !leads_through("", "kt0")
        );
    }
}
