//! One UDP socket: datagrams out, and what it is known to speak.

use std::io::{self, ErrorKind, IoSlice};
use std::iter;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use keytoll_engine::Datagram;
use keytoll_engine::trace::Protocol;
use keytoll_native::datagrams::{self, BATCH, TRAIN, Train};
use keytoll_net::Socket;

use crate::bind::{self, BindError};
use crate::inbox::Inbox;

/// A socket of one local address.
#[derive(Debug)]
pub(crate) struct Port {
    socket: UdpSocket,
    local: Socket,
    /// What was last sent from here, for received datagrams do not say what they are: behind a marker, and without one.
    marked: Option<Protocol>,
    bare: Option<Protocol>,
    /// Most datagrams that go together.
    longest: usize,
}

impl Port {
    pub(crate) fn bind(address: SocketAddr) -> Result<Self, BindError> {
        Self::open(address).map_err(BindError::udp(address))
    }

    fn open(address: SocketAddr) -> io::Result<Self> {
        let socket = bind::udp(address)?;
        // Kernels that take trains (5.0) send them, too (4.18); others take them for one datagram.
        let longest = if datagrams::take_trains(socket.as_fd()).is_ok() { TRAIN } else { 1 };
        let local = Socket::from(socket.local_addr()?);
        Ok(Self { local, socket, marked: None, bare: None, longest })
    }

    pub(crate) const fn local(&self) -> Socket {
        self.local
    }

    /// Takes what has arrived, up to a batch.
    pub(crate) fn receive(&self, inbox: &mut Inbox) {
        inbox.fill(&self.socket);
    }

    /// What a received datagram belongs to, as far as what was sent from here and RFC 3948's marker tell, else by its ports.
    pub(crate) fn protocol(&self, from: Socket, bytes: &[u8], recognise: Recognise) -> Option<Protocol> {
        let spoken = match (self.marked, self.bare) {
            (Some(marked), _) if is_marked(bytes) => Some(marked),
            // RFC 3948 §2.1: what has no marker where others have one is ESP.
            (Some(_), bare) => bare.or(Some(Protocol::ESP)),
            (None, Some(Protocol::ESP)) if is_marked(bytes) => None,
            (None, bare) => bare,
        };
        spoken.or_else(|| recognise(from, self.local, bytes))
    }

    /// Sends datagrams that are all from here; gives for each what came of it, in order.
    pub(crate) fn send(&mut self, datagrams: &[Datagram], mut done: impl FnMut(&Datagram, io::Result<()>)) {
        if let Some(last) = datagrams.last() {
            let spoken = if is_marked(&last.bytes) { &mut self.marked } else { &mut self.bare };
            *spoken = Some(last.protocol);
        }
        let (mut rest, mut longest) = (datagrams, self.longest);
        while let Some((first, others)) = rest.split_first() {
            let sent = if others.is_empty() { Ok(0) } else { self.send_together(rest, longest) };
            let (gone, left) = rest.split_at(sent.as_ref().copied().unwrap_or(0));
            gone.iter().for_each(|one| done(one, Ok(())));
            rest = left;
            match sent {
                Err(ErrorKind::WouldBlock) => return lost(rest, done),
                Ok(1..) => {}
                Ok(0) | Err(_) => {
                    // What is wrong with it shows when it is sent by itself. Perhaps nothing is, but the way is too narrow
                    // for a train: IP may cut a datagram into fragments, not one of a train.
                    done(first, self.send_one(first));
                    (rest, longest) = (others, 1);
                }
            }
        }
    }

    fn send_one(&self, datagram: &Datagram) -> io::Result<()> {
        self.socket.send_to(&datagram.bytes, receiver(datagram)).map(drop)
    }

    /// How many of the first went out with one system call.
    fn send_together(&self, datagrams: &[Datagram], longest: usize) -> Result<usize, ErrorKind> {
        let lengths: Vec<_> = trains(datagrams, longest).take(BATCH).collect();
        let count = lengths.iter().sum();
        let slices: Vec<_> = datagrams[..count].iter().map(|one| IoSlice::new(&one.bytes)).collect();
        let mut at = 0;
        let batch = lengths.iter().map(|&length| {
            let train = Train { datagrams: &slices[at..at + length], to: receiver(&datagrams[at]) };
            at += length;
            train
        });
        let sent = datagrams::send_trains(self.socket.as_fd(), batch).map_err(|why| why.kind())?;
        Ok(lengths[..sent].iter().sum())
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn receiver(datagram: &Datagram) -> SocketAddr {
    let to = datagram.to.socket().expect("what goes to a port's group has a port to go to");
    to.into()
}

/// The kernel has no room for these.
fn lost(datagrams: &[Datagram], mut done: impl FnMut(&Datagram, io::Result<()>)) {
    datagrams.iter().for_each(|one| done(one, Err(ErrorKind::WouldBlock.into())));
}

/// How many datagrams go together, one number for each train.
fn trains(mut datagrams: &[Datagram], longest: usize) -> impl Iterator<Item = usize> {
    iter::from_fn(move || {
        let length = train(datagrams, longest);
        datagrams = &datagrams[length..];
        (length > 0).then_some(length)
    })
}

/// How many of the first can go together: to one receiver, all as long as the first, a shorter one at the end.
fn train(datagrams: &[Datagram], longest: usize) -> usize {
    let Some(first) = datagrams.first() else { return 0 };
    let unit = first.bytes.len().max(1);
    let fit = longest.min(TRAIN_BYTES_MAX / unit).max(1);
    let alike = |one: &&Datagram| one.to == first.to && one.bytes.len() == unit;
    let count = datagrams.iter().take(fit).take_while(alike).count().max(1);
    let shorter = datagrams.get(count).filter(|next| count < fit && next.to == first.to);
    count + usize::from(shorter.is_some_and(|next| (1..unit).contains(&next.bytes.len())))
}

/// Tells what a datagram belongs to by its sender, its receiver and what it carries.
pub type Recognise = fn(Socket, Socket, &[u8]) -> Option<Protocol>;

/// RFC 3948 §2.2: where ESP may come too, four zeroes in place of its SPI mark what is not ESP.
fn is_marked(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0; 4])
}

/// A datagram's length is two bytes (RFC 768), and so is that of its IPv4 packet.
const TRAIN_BYTES_MAX: usize = 65_535 - 20 - 8;

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use keytoll_net::Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const BARE: &[u8] = &[1; 20];
    const MARKED: &[u8] = &[0, 0, 0, 0, 1, 1];

    const ASKED: Protocol = Protocol::new(&"asked");
    const KEYS: Protocol = Protocol::new(&"keys");

    fn by_port(from: Socket, _: Socket, bytes: &[u8]) -> Option<Protocol> {
        match from.port {
            1812 => Some(ASKED),
            4500 => Some(if is_marked(bytes) { KEYS } else { Protocol::ESP }),
            _ => None,
        }
    }

    /// What it makes of datagrams from some port after it has sent one itself.
    fn takes(sent: Option<(Protocol, &[u8])>, from_port: u16) -> [Option<Protocol>; 2] {
        let mut port = Port::bind((HERE, 0).into()).expect("loopback is there");
        if let Some((protocol, bytes)) = sent {
            let (from, to, bytes) = (Addr::Udp(port.local()), Addr::udp(HERE, 9), bytes.to_vec());
            port.send(&[Datagram { protocol, from, to, bytes }], |_, _| ());
        }
        [BARE, MARKED].map(|bytes| port.protocol(Socket::new(HERE, from_port), bytes, by_port))
    }

    #[test]
    fn a_datagram_is_known_by_ports_by_what_was_sent_and_by_the_marker() {
        assert_eq!(takes(None, 9), [None; 2]);
        assert_eq!(takes(None, 1812), [Some(ASKED); 2]);
        assert_eq!(takes(None, 4500), [Some(Protocol::ESP), Some(KEYS)]);
        assert_eq!(takes(Some((ASKED, BARE)), 9), [Some(ASKED); 2]);
        assert_eq!(takes(Some((KEYS, BARE)), 9), [Some(KEYS); 2]);
        assert_eq!(takes(Some((KEYS, MARKED)), 9), [Some(Protocol::ESP), Some(KEYS)]);
        assert_eq!(takes(Some((Protocol::ESP, BARE)), 4500), [Some(Protocol::ESP), Some(KEYS)]);
    }

    fn to(port: u16, length: usize) -> Datagram {
        let (protocol, from, to) = (Protocol::ESP, Addr::udp(HERE, 1), Addr::udp(HERE, port));
        Datagram { protocol, from, to, bytes: vec![7; length] }
    }

    fn trains_of(datagrams: &[Datagram]) -> Vec<usize> {
        trains(datagrams, TRAIN).collect()
    }

    #[test]
    fn a_train_is_of_one_length_to_one_receiver_and_ends_with_a_shorter_one() {
        let lengths = |lengths: &[usize]| lengths.iter().map(|&length| to(9, length)).collect::<Vec<_>>();
        assert_eq!(trains_of(&[]), [0; 0]);
        assert_eq!(trains_of(&lengths(&[5, 5, 5, 3, 5, 7, 7, 8])), [4, 1, 2, 1]);
        assert_eq!(trains_of(&[to(1, 5), to(1, 5), to(2, 5), to(2, 4), to(1, 4)]), [2, 2, 1]);
        assert_eq!(trains_of(&lengths(&[0, 0, 5, 0])), [1, 1, 1, 1]);
        assert_eq!(trains_of(&lengths(&[10; 130])), [64, 64, 2]);
        assert_eq!(trains_of(&lengths(&[1400; 60])), [46, 14]);
        assert_eq!(trains_of(&lengths(&[65_507, 65_507, 70_000])), [1, 1, 1]);
    }

    #[test]
    fn every_datagram_is_told_of_once_and_arrives_in_order() {
        let mut here = Port::bind((HERE, 0).into()).expect("loopback is there");
        let there = Port::bind((HERE, 0).into()).expect("loopback is there");
        let lengths = [300, 300, 300, 20, 40_000, 40_000, 65_507, 90_000, 5, 5];
        let datagrams = lengths.map(|length| to(there.local().port, length));
        let mut told = Vec::new();
        here.send(&datagrams, |one, sent| told.push((one.bytes.len(), sent.is_ok())));
        // RFC 768: none is longer than 65 507 bytes over IPv4.
        assert_eq!(told, lengths.map(|length| (length, length <= 65_507)));
        let (mut inbox, mut arrived) = (Inbox::new(), Vec::new());
        there.receive(&mut inbox);
        while let Some((from, bytes)) = inbox.take() {
            assert_eq!(from, here.local());
            arrived.push(bytes.len());
        }
        assert_eq!(arrived, [300, 300, 300, 20, 40_000, 40_000, 65_507, 5, 5]);
    }
}
