//! What carries users' packets to the other end: IPsec's SAs, or the frames of a wireless LAN.

use std::fmt;
use std::net::IpAddr;

use keytoll_crypto_api::Rng;
use keytoll_engine::{Ctx, Datagram, Deadline, Time};

use crate::ip;
use crate::ipsec::SaTable;

/// A protected path for users' packets.
pub trait Path: fmt::Debug {
    /// Whether packets to this address are carried now.
    fn reaches(&self, destination: IpAddr) -> bool;

    /// The longest IP packet to a destination that fits a path with this MTU; none: it is not reached.
    fn room_bytes(&self, destination: IpAddr, mtu_bytes: usize) -> Option<usize>;

    /// Protects a whole IP packet; a packet that cannot be carried is traced.
    fn forward(&mut self, packet: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> Option<Datagram>;

    /// Protects an IP payload; a packet that cannot be carried is traced.
    fn seal(&mut self, packet: &ip::Packet<'_>, rng: &mut Rng, cx: &mut Ctx<'_>) -> Option<Datagram> {
        self.forward(&packet.write()?, rng, cx)
    }

    /// Something may be due.
    fn expire(&mut self, now: Time);

    /// When something is due.
    fn deadline(&self) -> Option<Deadline>;
}

impl Path for SaTable {
    fn reaches(&self, destination: IpAddr) -> bool {
        self.reaches(destination)
    }

    fn room_bytes(&self, destination: IpAddr, mtu_bytes: usize) -> Option<usize> {
        self.room_bytes(destination, mtu_bytes)
    }

    fn forward(&mut self, packet: &[u8], rng: &mut Rng, cx: &mut Ctx<'_>) -> Option<Datagram> {
        self.forward(packet, rng, cx)
    }

    fn expire(&mut self, now: Time) {
        self.expire(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        self.deadline()
    }
}
