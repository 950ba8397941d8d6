//! Where a program runs: on the machine itself, or in a network namespace with virtual cables to others.

use std::fmt;
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::run::{Trouble, finish, words};

/// A place for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The machine's own network.
    Machine,
    /// A network namespace, by its name.
    Namespace(String),
}

impl Place {
    /// A command in this place, in a process group of its own, that is killed with the thread that started it.
    ///
    /// Every program in the chain replaces the previous one, so the child's process ID is the program's own. In a group of its own it
    /// does not receive the terminal's Ctrl-C, which we handle ourselves.
    pub fn command(&self, program: &str) -> Command {
        let mut command = words("setpriv --pdeathsig KILL");
        if let Self::Namespace(name) = self {
            command.args(["ip", "netns", "exec", name]);
        }
        command.arg(program).process_group(0);
        command
    }

    /// Assigns an address to a device; an IPv6 one is usable at once.
    ///
    /// # Errors
    /// When `ip` fails.
    pub fn assign(&self, device: &str, address: IpAddr, prefix: u8) -> Result<(), Trouble> {
        // RFC 4862 §5.4: there is no other host on the cable, so duplicate address detection is skipped.
        let at_once = if address.is_ipv6() { " nodad" } else { "" };
        self.ip(&format!("addr add {address}/{prefix} dev {device}{at_once}"))
    }

    /// Switches a device here on.
    ///
    /// # Errors
    /// When `ip` fails.
    pub fn up(&self, device: &str) -> Result<(), Trouble> {
        self.ip(&format!("link set {device} up"))
    }

    /// Runs `ip` on this place.
    ///
    /// # Errors
    /// When `ip` fails.
    pub fn ip(&self, arguments: &str) -> Result<(), Trouble> {
        let mut command = match self {
            Self::Machine => words("ip"),
            Self::Namespace(name) => words(&format!("ip -n {name}")),
        };
        finish(command.args(arguments.split_whitespace())).map(drop)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine => f.write_str("the machine"),
            Self::Namespace(name) => write!(f, "namespace {name}"),
        }
    }
}

/// Connects two namespaces by a virtual cable between a device in each, and brings both up.
///
/// # Errors
/// When `ip` fails.
pub fn cable(a: (&Place, &str), b: (&Place, &str)) -> Result<(), Trouble> {
    let (Place::Namespace(left), Place::Namespace(right)) = (a.0, b.0) else {
        return Err(Trouble::NotAllowed(
            "cables join namespaces, and the machine's own network is left alone",
        ));
    };
    let (from, to) = (a.1, b.1);
    finish(&mut words(&format!("ip link add {from} netns {left} type veth peer name {to} netns {right}")))?;
    a.0.up(from)?;
    b.0.up(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::line;

    #[test]
    fn a_command_runs_in_its_place_and_is_killed_with_us() {
        let there = Place::Namespace("n".into()).command("true");
        assert_eq!(line(&there), "setpriv --pdeathsig KILL ip netns exec n true");
        assert_eq!(line(&Place::Machine.command("true")), "setpriv --pdeathsig KILL true");
        assert!(cable((&Place::Machine, "a"), (&Place::Machine, "b")).is_err());
    }
}
