//! One EtherType at one interface of a LAN: frames between stations, each from its Ethernet header on. Read IEEE 802.3-2022
//! §3.1 (the header) and packet(7) first.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use keytoll_engine::Datagram;
use keytoll_engine::trace::Protocol;
use keytoll_native::frames::Frames;
use keytoll_net::Addr;
use keytoll_net::wire::Reader;

use crate::inbox::Arrival;
use crate::streams::{Heard, News};

/// No frame is longer; jumbo frames have 9000 bytes.
const FRAME_BYTES_MAX: usize = 16_384;

/// An interface, and what is spoken there.
#[derive(Debug, Clone)]
pub struct OnLink {
    /// The interface.
    pub interface: String,
    /// Which frames.
    pub ether_type: u16,
    /// The group addresses that are listened to.
    pub groups: Vec<[u8; 6]>,
    /// What it is called in records and captures.
    pub protocol: Protocol,
}

/// An interface that cannot be used. Its message has advice.
#[derive(Debug, thiserror::Error)]
#[error("cannot exchange frames at the interface `{interface}`: {source}{}", advice(.source))]
pub struct LinkError {
    /// Its name.
    pub interface: String,
    /// What the system said.
    pub source: io::Error,
}

fn advice(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::PermissionDenied => "; it needs root or CAP_NET_RAW",
        io::ErrorKind::NotFound => "; `ip link` lists the interfaces of this machine",
        _ => "",
    }
}

/// An open packet socket.
#[derive(Debug)]
pub(crate) struct Link {
    frames: Frames,
    protocol: Protocol,
    /// Whether there may be something to read.
    is_ready: bool,
    /// The frame in hand.
    buffer: Vec<u8>,
}

impl Link {
    /// Opens it, which takes CAP_NET_RAW.
    pub(crate) fn open(at: &OnLink) -> Result<Self, LinkError> {
        let failed = |source| LinkError { interface: at.interface.clone(), source };
        let frames = Frames::open(&at.interface, at.ether_type).map_err(failed)?;
        at.groups.iter().try_for_each(|group| frames.join(*group)).map_err(failed)?;
        Ok(Self { frames, protocol: at.protocol, is_ready: false, buffer: vec![0; FRAME_BYTES_MAX] })
    }

    /// The address of its interface.
    pub(crate) const fn local(&self) -> Addr {
        Addr::Mac(self.frames.address())
    }

    /// Something has arrived, or happened to the interface.
    pub(crate) const fn ready(&mut self) {
        self.is_ready = true;
    }

    /// The next frame to this station or to a group.
    pub(crate) fn next(&mut self) -> Option<Heard<'_>> {
        while self.is_ready {
            let len = match self.frames.receive(&mut self.buffer) {
                Ok(len) => len,
                Err(why) => {
                    self.is_ready = false;
                    return self.trouble(&why);
                }
            };
            if self.is_for_us(len) {
                return Some(self.heard(len));
            }
        }
        None
    }

    /// An interface that listens to everything gets frames of others, too.
    fn is_for_us(&self, len: usize) -> bool {
        match addresses(&self.buffer[..len]) {
            Some((to, _)) => to[0] & 1 != 0 || to == self.frames.address(),
            None => false,
        }
    }

    fn heard(&self, len: usize) -> Heard<'_> {
        let bytes = &self.buffer[..len];
        let (to, from) = addresses(bytes).unwrap_or_default();
        let (from, to) = (Addr::Mac(from), Addr::Mac(to));
        Heard::Message(Arrival { from, to, protocol: Some(self.protocol), bytes, is_shown: false })
    }

    fn trouble(&self, why: &io::Error) -> Option<Heard<'static>> {
        match why.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => None,
            _ => {
                let why = format!("live: no frame can be received: {why}");
                Some(Heard::News(News::Discarded { protocol: self.protocol, why }))
            }
        }
    }

    /// Sends one frame.
    pub(crate) fn send(&self, datagram: &Datagram) -> io::Result<()> {
        if addresses(&datagram.bytes).map(|(to, from)| (Addr::Mac(to), Addr::Mac(from)))
            != Some((datagram.to, datagram.from))
        {
            return Err(io::Error::other("the frame's own addresses are others"));
        }
        self.frames.send(&datagram.bytes)
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.frames.as_fd()
    }
}

/// Ethernet header, IEEE 802.3-2022 §3.1: destination(6) source(6) type(2). The receiver, and the sender.
fn addresses(frame: &[u8]) -> Option<([u8; 6], [u8; 6])> {
    let mut r = Reader::new(frame);
    let (to, from) = (r.array("destination").ok()?, r.array("source").ok()?);
    r.u16("type").ok().map(|_| (to, from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_is_not_there_is_named_with_advice() {
        let protocol = Protocol::new(&"test");
        let interface = "no-such-one".to_owned();
        let at = OnLink { interface, ether_type: 0x88b5, groups: Vec::new(), protocol };
        let why = Link::open(&at).unwrap_err().to_string();
        assert!(why.contains("`no-such-one`") && why.contains("`ip link`"), "{why}");
    }

    /// Over the loopback interface, whose address is all zeros; 88-B5 is for experiments (IEEE 802-2014 §9.2.4).
    #[test]
    fn a_frame_arrives_with_its_addresses_and_its_header() {
        let protocol = Protocol::new(&"test");
        let group = [0x01, 0x80, 0xc2, 0, 0, 3];
        let at = OnLink { interface: "lo".to_owned(), ether_type: 0x88b5, groups: vec![group], protocol };
        let mut link = match Link::open(&at) {
            Ok(link) => link,
            Err(why) => return assert!(why.to_string().contains("it needs root or CAP_NET_RAW"), "{why}"),
        };
        assert_eq!(link.local(), Addr::Mac([0; 6]));
        let frame = [&group[..], &[0; 6], &[0x88, 0xb5, 1, 2, 3]].concat();
        let (from, to) = (link.local(), Addr::Mac(group));
        assert!(link.send(&Datagram { protocol, from, to: from, bytes: frame.clone() }).is_err());
        link.send(&Datagram { protocol, from, to, bytes: frame.clone() }).unwrap();
        assert!(link.next().is_none());
        link.ready();
        let Some(Heard::Message(arrival)) = link.next() else { panic!("nothing arrived") };
        assert_eq!((arrival.from, arrival.to, arrival.bytes), (from, to, &frame[..]));
        assert!(link.next().is_none());
    }

    #[test]
    fn a_frame_without_a_whole_header_has_no_addresses() {
        let mut frame = vec![1; 6];
        frame.extend([2; 6]);
        assert_eq!(addresses(&frame), None);
        frame.extend([0x88, 0x8e]);
        assert_eq!(addresses(&frame), Some(([1; 6], [2; 6])));
    }
}
