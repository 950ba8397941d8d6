//! Echo requests of ours and the answers to them: what shows that data pass in both directions.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_engine::Time;
use keytoll_hosts::icmp::{self, Echo};
use keytoll_hosts::ip::Packet;

/// From one request to the next.
const INTERVAL: Duration = Duration::from_millis(200);
/// More requests than are to be answered: the first ones may come too early for the other side.
const SENT_MAX: u16 = 20;
/// Distinguishes ours from those of others.
const IDENTIFIER: u16 = 0x6b74;

/// Echo requests from one address to another.
#[derive(Debug, Clone)]
pub struct Pings {
    own: IpAddr,
    peer: IpAddr,
    wanted: u16,
    sent: u16,
    answered: u16,
    /// When the next one is due; none before the data path is there.
    next: Option<Time>,
}

impl Pings {
    /// So many echoes are wanted.
    pub const fn new(own: IpAddr, peer: IpAddr, wanted: u16) -> Self {
        Self { own, peer, wanted, sent: 0, answered: 0, next: None }
    }

    /// The data path is there.
    pub(super) const fn begin(&mut self, now: Time) {
        self.next = Some(now);
    }

    pub(super) const fn deadline(&self) -> Option<Time> {
        self.next
    }

    /// The request that is due.
    pub(super) fn due(&mut self, now: Time) -> Option<Vec<u8>> {
        self.next.filter(|next| *next <= now && !self.is_done() && self.sent < SENT_MAX)?;
        self.next = Some(now + INTERVAL);
        self.sent += 1;
        let echo =
            Echo { reply: false, identifier: IDENTIFIER, sequence: self.sent, data: b"keytoll".to_vec() };
        let message = echo.write(self.own, self.peer);
        let (source, destination) = (self.own, self.peer);
        Packet { source, destination, protocol: icmp::protocol(self.own), payload: &message }.write()
    }

    /// A packet arrives: whether it is an answer to one of ours.
    pub(super) fn hear(&mut self, packet: &[u8]) -> bool {
        let is_answer = self.is_answer(packet).unwrap_or(false);
        self.answered += u16::from(is_answer);
        is_answer
    }

    fn is_answer(&self, packet: &[u8]) -> Option<bool> {
        let packet = Packet::read(packet).ok()?;
        let echo = Echo::read(packet.source, packet.destination, packet.payload).ok()??;
        let is_ours = (packet.source, packet.destination) == (self.peer, self.own);
        Some(is_ours && echo.reply && echo.identifier == IDENTIFIER && echo.data == b"keytoll")
    }

    pub(super) const fn is_done(&self) -> bool {
        self.answered >= self.wanted
    }

    /// `3 of 3 echoes`.
    pub(super) fn told(&self) -> String {
        format!("{} of {} echoes", self.answered.min(self.wanted), self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_to_ours_count_and_nothing_else() {
        let [own, peer] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
        let mut pings = Pings::new(own, peer, 1);
        assert_eq!(pings.due(Time::ZERO), None, "nothing before the data path is there");
        pings.begin(Time::ZERO);
        let request = pings.due(Time::ZERO).unwrap();
        assert_eq!(pings.due(Time::ZERO), None);
        assert!(!pings.hear(&request) && !pings.is_done());
        let mut theirs = Pings::new(peer, own, 1);
        assert!(!theirs.hear(&request));
        let packet = Packet::read(&request).unwrap();
        let echo = Echo::read(packet.source, packet.destination, packet.payload).unwrap().unwrap();
        let reply = Echo { reply: true, ..echo }.write(peer, own);
        let answer = Packet { source: peer, destination: own, protocol: icmp::ICMP, payload: &reply };
        assert!(pings.hear(&answer.write().unwrap()) && pings.is_done());
        assert_eq!(pings.told(), "1 of 1 echoes");
        assert_eq!(pings.due(Time::ZERO + INTERVAL), None);
    }
}
