//! One TCP connection, and what it owes and is owed.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_net::Addr;
use nix::poll::PollFlags;
use socket2::{Domain, Socket, Type};

use super::framer::Framer;
use super::secured::Secured;
use super::{Around, Key, Streaming};
use crate::Seen;
use keytoll_engine::channel::{Broken, Channel};

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
    /// We have nothing more to say; what still comes is not read for its meaning. A socket that is closed with something
    /// unread in it would take back what was sent last.
    Closing,
}

/// How long a peer may take to hang up, too.
const FAREWELL: Duration = Duration::from_secs(1);

/// What came of reading.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Perhaps a message, and perhaps more.
    On,
    /// The peer has proved these names just now.
    Proved(Vec<String>),
    /// Nothing more will come.
    End,
    /// What came cannot be believed; the connection closes when the peer is told.
    Refused(Broken),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: TcpStream,
    /// Where we are as the engine knows it, and the peer.
    ends: Key,
    is_callers: bool,
    stage: Stage,
    /// When it is given up unless something happens.
    until: Time,
    framer: Framer,
    unsent: VecDeque<u8>,
    secured: Option<Secured>,
}

impl Connection {
    /// Calls a peer, from whichever port is free: RFC 6733 §2.1 wants the well-known one only of who is called.
    pub(crate) fn call(ends: Key, config: &Streaming, around: &mut Around<'_, '_>) -> io::Result<Self> {
        let (local, peer) = (SocketAddr::from(ends.0.at_port(0)), SocketAddr::from(ends.1));
        let socket = Socket::new(Domain::for_address(peer), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&local.into())?;
        match socket.connect(&peer.into()) {
            // EINPROGRESS, which std has no name for yet.
            Err(why) if why.raw_os_error() == Some(nix::errno::Errno::EINPROGRESS as i32) => {}
            other => other?,
        }
        let secured = config.secure.as_ref().map(|secure| secure.channel(around.cx));
        let until = around.cx.now + config.connect_within;
        Self::new(socket.into(), ends, (Stage::Calling, until), secured, config)
    }

    /// A peer that called.
    pub(crate) fn answer(
        socket: TcpStream,
        ends: Key,
        config: &Streaming,
        around: &mut Around<'_, '_>,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let secured = config.secure.as_ref().map(|secure| secure.channel(around.cx));
        let until = around.cx.now + config.first_message_within;
        Self::new(socket, ends, (Stage::Answered, until), secured, config)
    }

    fn new(
        socket: TcpStream,
        ends: Key,
        (stage, until): (Stage, Time),
        channel: Option<Result<Box<dyn Channel>, Broken>>,
        config: &Streaming,
    ) -> io::Result<Self> {
        // Messages are waited for: none may wait for the acknowledgement of the one before.
        socket.set_nodelay(true)?;
        let channel = channel.transpose().map_err(io::Error::other)?;
        let mut secured = channel.map(|channel| Secured::new(channel, config.judge_every));
        let unsent = secured.as_mut().map(Secured::take_output).unwrap_or_default();
        Ok(Self {
            socket,
            ends,
            is_callers: stage == Stage::Answered,
            stage,
            until,
            framer: Framer::new(config.length),
            unsent: unsent.into(),
            secured,
        })
    }

    /// When it is given up unless something happens, and how that is put.
    pub(crate) fn deadline(&self) -> (Time, &'static str) {
        let why = match self.stage {
            Stage::Calling => "no answer to the call",
            Stage::Called | Stage::Answered if self.is_unproved() => "the handshake is not over",
            Stage::Called | Stage::Answered => "no whole message",
            Stage::Closing => "it was to be closed, and the peer does not hang up",
        };
        (self.until, why)
    }

    /// When the peer's proof is to be judged again.
    pub(crate) fn judge_at(&self) -> Time {
        let secured = self.secured.as_ref().filter(|_| self.stage != Stage::Closing);
        secured.map_or(Time::MAX, Secured::judge_at)
    }

    /// Judges the peer's proof again.
    pub(crate) fn judge(&mut self, around: &mut Around<'_, '_>) -> Result<(), Broken> {
        let Some(secured) = &mut self.secured else { return Ok(()) };
        let judged = secured.judge(around.cx);
        if judged.is_err() {
            // Whether that can still be said is not what matters now.
            let _ = self.close(around);
        }
        judged
    }

    /// Whether the peer called.
    pub(crate) const fn is_callers(&self) -> bool {
        self.is_callers
    }

    fn is_unproved(&self) -> bool {
        self.secured.as_ref().is_some_and(|secured| !secured.is_proved())
    }

    /// Hears nothing any more, and ends when what is to be sent is sent and the peer has hung up, or soon.
    pub(crate) fn close(&mut self, around: &mut Around<'_, '_>) -> io::Result<()> {
        if self.stage != Stage::Closing {
            (self.stage, self.until) = (Stage::Closing, around.cx.now + FAREWELL);
            if let Some(secured) = &mut self.secured {
                self.unsent.extend(secured.close(around.cx));
            }
        }
        self.flush(around)
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
    pub(crate) fn send(
        &mut self,
        bytes: &[u8],
        config: &Streaming,
        around: &mut Around<'_, '_>,
    ) -> io::Result<()> {
        let waiting = self.unsent.len() + self.secured.as_ref().map_or(0, Secured::waiting_bytes);
        if waiting + bytes.len() > config.unsent_bytes_max {
            return Err(io::Error::other("the peer does not read"));
        }
        match &mut self.secured {
            Some(secured) => self.unsent.extend(secured.send(bytes, around.cx).map_err(io::Error::other)?),
            None => self.unsent.extend(bytes),
        }
        if self.stage == Stage::Calling { Ok(()) } else { self.flush(around) }
    }

    /// Goes on where the system did not take more, or learns how a call ended.
    pub(crate) fn write_on(&mut self, config: &Streaming, around: &mut Around<'_, '_>) -> io::Result<()> {
        if self.stage == Stage::Calling {
            self.socket.take_error()?.map_or(Ok(()), Err)?;
            let until = if self.is_unproved() { around.cx.now + config.connect_within } else { Time::MAX };
            (self.stage, self.until) = (Stage::Called, until);
        }
        self.flush(around)
    }

    fn flush(&mut self, around: &mut Around<'_, '_>) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.socket.write(self.unsent.as_slices().0) {
                Ok(count) => self.sent(count, around),
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(why) => return Err(why),
            }
        }
        if self.stage == Stage::Closing { self.socket.shutdown(Shutdown::Write) } else { Ok(()) }
    }

    fn sent(&mut self, count: usize, around: &mut Around<'_, '_>) {
        if self.secured.is_some() {
            let (from, to) = self.ends;
            around.tap.sent(&sealed(around.cx.now, (from, to), &self.unsent.as_slices().0[..count]));
        }
        self.unsent.drain(..count);
    }

    /// Reads once.
    pub(crate) fn read(&mut self, buffer: &mut [u8], around: &mut Around<'_, '_>) -> io::Result<Reading> {
        match self.socket.read(buffer) {
            Ok(0) if self.stage == Stage::Closing => Ok(Reading::End),
            Ok(_) if self.stage == Stage::Closing => Ok(Reading::On),
            Ok(0) if self.framer.is_amid() => Err(io::Error::other("closed amid a message")),
            Ok(0) if self.is_unproved() => Err(io::Error::other("closed amid the handshake")),
            Ok(0) => Ok(Reading::End),
            Ok(count) => self.take(&buffer[..count], around),
            Err(why) if why.kind() == ErrorKind::WouldBlock => Ok(Reading::On),
            Err(why) => Err(why),
        }
    }

    fn take(&mut self, bytes: &[u8], around: &mut Around<'_, '_>) -> io::Result<Reading> {
        let Some(secured) = &mut self.secured else {
            self.framer.feed(bytes);
            return Ok(Reading::On);
        };
        let (to, from) = self.ends;
        around.tap.received(&sealed(around.cx.now, (from, to), bytes));
        let (mut clear, was_proved) = (Vec::new(), secured.is_proved());
        let taken = secured.take(bytes, &mut clear, around.cx);
        self.unsent.extend(secured.take_output());
        if let Err(why) = taken {
            self.close(around)?;
            return Ok(Reading::Refused(why));
        }
        let proved = secured.proved().filter(|_| !was_proved).map(<[String]>::to_vec);
        self.framer.feed(&clear);
        self.flush(around)?;
        Ok(proved.map_or(Reading::On, |names| self.proved(names)))
    }

    fn proved(&mut self, names: Vec<String>) -> Reading {
        if self.stage == Stage::Called {
            self.until = Time::MAX;
        }
        Reading::Proved(names)
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

/// Secured bytes as a tap sees them: of no protocol that anybody could read.
const fn sealed(at: Time, (from, to): Key, bytes: &[u8]) -> Seen<'_> {
    Seen { at, from: Addr::Tcp(from), to: Addr::Tcp(to), protocol: None, bytes }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
