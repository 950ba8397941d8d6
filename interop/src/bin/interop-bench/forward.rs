//! One end of bare forwarding: what a TUN interface gives goes into UDP datagrams as it is, and the other way round, with
//! no cryptography and no policy. It bounds what ESP in user space can reach without offloads.

use std::io::{ErrorKind, Write, stdout};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use keytoll_native::datagrams::{self, BATCH};
use keytoll_native::tun::Tun;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::trouble::Result;

/// Which end.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What the interface is called.
    #[arg(long)]
    tun: String,
    /// The socket of this end.
    #[arg(long)]
    local: SocketAddr,
    /// The socket of the other end.
    #[arg(long)]
    remote: SocketAddr,
}

/// Longer than any packet of the interface.
const SLOT_BYTES: usize = 2048;

/// Forwards until it is ended.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let socket = UdpSocket::bind(arguments.local)?;
    let tun = Tun::open(&arguments.tun)?;
    let mut pipe = Pipe { socket, tun, remote: arguments.remote, arena: vec![0; BATCH * SLOT_BYTES] };
    writeln!(stdout(), "open")?;
    loop {
        let outward = pipe.outward()?;
        let inward = pipe.inward()?;
        if !outward && !inward {
            pipe.wait()?;
        }
    }
}

struct Pipe {
    socket: UdpSocket,
    tun: Tun,
    remote: SocketAddr,
    arena: Vec<u8>,
}

impl Pipe {
    /// A batch of packets of this machine to the other end; false if there is none.
    fn outward(&mut self) -> Result<bool> {
        let mut lengths = [0; BATCH];
        let mut count = 0;
        for (slot, length) in self.arena.chunks_exact_mut(SLOT_BYTES).zip(&mut lengths) {
            match self.tun.receive(slot) {
                Ok(received) => *length = received.packet.len(),
                Err(why) if is_over(why.kind()) => break,
                Err(why) => return Err(why.into()),
            }
            count += 1;
        }
        let slots = self.arena.chunks_exact(SLOT_BYTES).zip(&lengths[..count]);
        let batch = slots.map(|(slot, length)| (&slot[..*length], self.remote));
        // What the system does not take is lost, as it could have been on the way.
        let _ = datagrams::send(self.socket.as_fd(), batch);
        Ok(count > 0)
    }

    /// A batch of the other end's packets to this machine; false if there is none.
    fn inward(&mut self) -> Result<bool> {
        let received = match datagrams::receive(self.socket.as_fd(), &mut self.arena, SLOT_BYTES) {
            Ok(received) => received.map(|one| one.len).collect::<Vec<_>>(),
            // The other end is not there yet.
            Err(why) if is_over(why.kind()) || why.kind() == ErrorKind::ConnectionRefused => {
                return Ok(false);
            }
            Err(why) => return Err(why.into()),
        };
        for (slot, length) in self.arena.chunks_exact(SLOT_BYTES).zip(&received) {
            let _ = self.tun.send(&slot[..*length]);
        }
        Ok(!received.is_empty())
    }

    fn wait(&self) -> Result<()> {
        let mut watched =
            [self.tun.as_fd(), self.socket.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        poll(&mut watched, PollTimeout::NONE)?;
        Ok(())
    }
}

fn is_over(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
