//! One TCP connection, and what it owes and is owed.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use keytoll_engine::{Addr, Time};
use nix::poll::PollFlags;
use socket2::{Domain, Socket, Type};

use super::Streaming;
use super::framer::Framer;

/// Most bytes read at a time, so that one peer does not keep the others waiting.
pub(crate) const READ_BYTES: usize = 16 * 1024;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// We called; nobody has answered yet.
    Calling,
    /// We called and were answered.
    Called,
    /// We were called.
    Answered,
    /// We were called, and have nothing more to say; what still comes is not read for its meaning. A socket that is closed
    /// with something unread in it would take back what was sent last.
    Closing,
}

/// How long a peer may take to hang up, too.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: TcpStream,
    stage: Stage,
    /// When it is given up unless something happens.
    until: Time,
    framer: Framer,
    unsent: VecDeque<u8>,
}

impl Connection {
    /// Calls a peer, from whichever port is free: RFC 6733 §2.1 wants the well-known one only of who is called.
    pub(crate) fn call(local: Addr, peer: Addr, config: &Streaming, now: Time) -> io::Result<Self> {
        let (local, peer) = (SocketAddr::from(local.at_port(0)), SocketAddr::from(peer));
        let socket = Socket::new(Domain::for_address(peer), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&local.into())?;
        match socket.connect(&peer.into()) {
            // EINPROGRESS, which std has no name for yet.
            Err(why) if why.raw_os_error() == Some(nix::errno::Errno::EINPROGRESS as i32) => {}
            other => other?,
        }
        Self::new(socket.into(), Stage::Calling, now + config.connect_within, config)
    }

    /// A peer that called.
    pub(crate) fn answer(socket: TcpStream, config: &Streaming, now: Time) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Self::new(socket, Stage::Answered, now + config.first_message_within, config)
    }

    fn new(socket: TcpStream, stage: Stage, until: Time, config: &Streaming) -> io::Result<Self> {
        // Messages are waited for: none may wait for the acknowledgement of the one before.
        socket.set_nodelay(true)?;
        Ok(Self { socket, stage, until, framer: Framer::new(config.length), unsent: VecDeque::new() })
    }

    /// When it is given up unless something happens, and how that is put.
    pub(crate) const fn deadline(&self) -> (Time, &'static str) {
        let why = match self.stage {
            Stage::Calling => "no answer to the call",
            Stage::Called | Stage::Answered => "no whole message",
            Stage::Closing => "it was to be closed, and the peer does not hang up",
        };
        (self.until, why)
    }

    /// Whether the peer called.
    pub(crate) const fn is_callers(&self) -> bool {
        matches!(self.stage, Stage::Answered | Stage::Closing)
    }

    /// Hears nothing any more, and ends when what is to be sent is sent and the peer has hung up, or soon.
    pub(crate) fn close(&mut self, now: Time) -> io::Result<()> {
        (self.stage, self.until) = (Stage::Closing, now + FAREWELL);
        self.flush()
    }

    /// What is worth waking up for.
    pub(crate) fn wanted(&self) -> PollFlags {
        if self.stage == Stage::Calling {
            PollFlags::POLLOUT
        } else if self.unsent.is_empty() {
            PollFlags::POLLIN
        } else {
            PollFlags::POLLIN | PollFlags::POLLOUT
        }
    }

    /// Sends a message, or keeps what the system does not take yet, up to a limit.
    pub(crate) fn send(&mut self, bytes: &[u8], config: &Streaming) -> io::Result<()> {
        if self.unsent.len() + bytes.len() > config.unsent_bytes_max {
            return Err(io::Error::other("the peer does not read"));
        }
        self.unsent.extend(bytes);
        if self.stage == Stage::Calling { Ok(()) } else { self.flush() }
    }

    /// Goes on where the system did not take more, or learns how a call ended.
    pub(crate) fn write_on(&mut self) -> io::Result<()> {
        if self.stage == Stage::Calling {
            self.socket.take_error()?.map_or(Ok(()), Err)?;
            (self.stage, self.until) = (Stage::Called, Time::MAX);
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.socket.write(self.unsent.as_slices().0) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(why) => return Err(why),
            }
        }
        if self.stage == Stage::Closing { self.socket.shutdown(Shutdown::Write) } else { Ok(()) }
    }

    /// Reads once; false at the end of the stream.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        match self.socket.read(buffer) {
            Ok(count) if self.stage == Stage::Closing => Ok(count > 0),
            Ok(0) if self.framer.is_amid() => Err(io::Error::other("closed amid a message")),
            Ok(0) => Ok(false),
            Ok(count) => {
                self.framer.feed(&buffer[..count]);
                Ok(true)
            }
            Err(why) if why.kind() == ErrorKind::WouldBlock => Ok(true),
            Err(why) => Err(why),
        }
    }

    /// Cuts off the next message that has come whole.
    pub(crate) fn cut(&mut self, config: &Streaming, now: Time) -> io::Result<Option<Range<usize>>> {
        if self.stage == Stage::Closing {
            return Ok(None);
        }
        let found = self.framer.cut().map_err(io::Error::other)?;
        if found.is_some() && self.stage == Stage::Answered {
            self.until = now + config.quiet_max;
        }
        Ok(found)
    }

    /// A message that was cut off.
    pub(crate) fn message(&self, place: Range<usize>) -> &[u8] {
        self.framer.message(place)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
