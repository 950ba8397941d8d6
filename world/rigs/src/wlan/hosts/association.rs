//! A station's association as a path for users' packets.

use std::net::IpAddr;

use keytoll_crypto_api::Rng;
use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Datagram, Deadline, Engine, Time};
use keytoll_hosts::user_plane::Path;
use keytoll_wlan::station::Station;

/// A station's association, or none.
#[derive(Debug)]
pub(super) struct Association(pub(super) Station);

impl Path for Association {
    fn reaches(&self, _: IpAddr) -> bool {
        self.0.is_member()
    }

    /// The MTU of a wireless LAN is that of the IP packets in it.
    fn room_bytes(&self, _: IpAddr, mtu_bytes: usize) -> Option<usize> {
        self.0.is_member().then_some(mtu_bytes)
    }

    fn forward(&mut self, packet: &[u8], _: &mut Rng, cx: &mut Ctx<'_>) -> Option<Datagram> {
        let frame = self.0.send(packet, cx);
        if frame.is_none() {
            cx.discard(Protocol::FRAMES, "no association for it");
        }
        frame
    }

    /// The station is ticked by its owner.
    fn expire(&mut self, _: Time) {}

    fn deadline(&self) -> Option<Deadline> {
        self.0.deadline()
    }
}
