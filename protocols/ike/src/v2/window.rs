//! Message ids and retransmission. Read RFC 7296 §2.1–§2.3 first.
//!
//! Both directions have a window of one: a request is outstanding until its response arrives, and the last response is
//! kept so that a retransmitted request gets the same bytes.

use keytoll_engine::Time;
use keytoll_engine::trace::Message;

use super::config::Retransmission;
use crate::names::{self, PayloadTypes};
use crate::number::ExchangeType;

/// A message as sent: one packet, or the fragments of RFC 7383.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packets {
    pub(super) exchange: ExchangeType,
    pub(super) response: bool,
    pub(super) id: u32,
    pub(super) payloads: PayloadTypes,
    pub(super) sealed: Sealed,
}

/// The packets of a message. Most have one and need no list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sealed {
    Whole(Vec<u8>),
    Fragments(Box<[Vec<u8>]>),
}

impl From<Vec<Vec<u8>>> for Sealed {
    fn from(mut packets: Vec<Vec<u8>>) -> Self {
        match packets.pop() {
            Some(only) if packets.is_empty() => Self::Whole(only),
            last => {
                packets.extend(last);
                Self::Fragments(packets.into())
            }
        }
    }
}

impl Packets {
    /// The packets in the order in which they are sent.
    pub(super) fn packets(&self) -> &[Vec<u8>] {
        match &self.sealed {
            Sealed::Whole(packet) => std::slice::from_ref(packet),
            Sealed::Fragments(packets) => packets,
        }
    }

    /// The same, to be replaced by equal ones.
    pub(super) fn packets_mut(&mut self) -> &mut [Vec<u8>] {
        match &mut self.sealed {
            Sealed::Whole(packet) => std::slice::from_mut(packet),
            Sealed::Fragments(packets) => packets,
        }
    }

    /// The fact about sending packet `index` of this message.
    pub(super) fn fact(&self, index: usize, retransmission: bool) -> Message {
        let packets = self.packets();
        let fragment = if packets.len() > 1 { index + 1 } else { 0 };
        Message {
            id: self.id,
            bytes: u32::try_from(packets[index].len()).unwrap_or(u32::MAX),
            retransmission,
            fragment: u16::try_from(fragment).unwrap_or(u16::MAX),
            parts: self.payloads.parts(),
            ..names::message(self.exchange, self.response)
        }
    }
}

/// A request without response.
#[derive(Debug)]
pub(super) struct Outstanding {
    pub(super) message: Packets,
    since: Time,
    sent: u32,
    again_at: Time,
}

/// Our requests.
#[derive(Debug, Default)]
pub(super) struct Requests {
    next_id: u32,
    /// Rarely present, and as large as all the rest.
    outstanding: Option<Box<Outstanding>>,
}

/// The result of the retransmission timer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Nothing yet.
    NotYet,
    /// Retransmit the outstanding request.
    Again,
    /// The peer is dead.
    GiveUp,
}

impl Requests {
    /// RFC 7296 §2.2: the first request of an SA set up by CREATE_CHILD_SA has id 0, like IKE_SA_INIT.
    pub(super) const fn next_id(&self) -> u32 {
        self.next_id
    }

    /// Stores a request that is being sent now.
    pub(super) fn send(&mut self, message: Packets, now: Time, timers: &Retransmission) {
        let wait = timers.wait(1).expect("the first wait always exists");
        self.next_id = message.id.wrapping_add(1);
        self.outstanding = Some(Box::new(Outstanding { message, since: now, sent: 1, again_at: now + wait }));
    }

    /// The request that a response with this id answers.
    pub(super) fn awaits(&self, id: u32) -> Option<&Packets> {
        self.outstanding.as_ref().map(|outstanding| &outstanding.message).filter(|message| message.id == id)
    }

    /// The response has arrived.
    pub(super) fn settle(&mut self) {
        self.outstanding = None;
    }

    /// Whether a request is outstanding.
    pub(super) const fn is_busy(&self) -> bool {
        self.outstanding.is_some()
    }

    /// The request that is outstanding.
    pub(super) fn outstanding(&self) -> Option<&Packets> {
        self.outstanding.as_ref().map(|outstanding| &outstanding.message)
    }

    /// Since when a request is outstanding.
    pub(super) fn since(&self) -> Option<Time> {
        self.outstanding.as_ref().map(|outstanding| outstanding.since)
    }

    /// When the request must be retransmitted.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.outstanding.as_ref().map(|outstanding| outstanding.again_at)
    }

    /// Advances the retransmission timer.
    pub(super) fn tick(&mut self, now: Time, timers: &Retransmission) -> Due {
        let Some(outstanding) = self.outstanding.as_mut().filter(|outstanding| outstanding.again_at <= now)
        else {
            return Due::NotYet;
        };
        if outstanding.sent > timers.tries {
            return Due::GiveUp;
        }
        outstanding.sent += 1;
        let wait = timers.wait(outstanding.sent).expect("it was sent at least once");
        outstanding.again_at = now + wait;
        Due::Again
    }
}

/// The peer's requests.
#[derive(Debug, Default)]
pub(super) struct Responses {
    expected: u32,
    last: Option<Packets>,
    repeated: u32,
}

/// A response is retransmitted at most so often: more often than any retransmission timer needs.
const REPEATS_MAX: u32 = 16;

/// The classification of a request by its id.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received<'a> {
    /// The expected one.
    Expected,
    /// RFC 7296 §2.1: a retransmission of the last one, whose response is retransmitted.
    Repeated(&'a Packets),
    /// Neither; RFC 7296 §2.3: dropped.
    OutOfWindow,
}

impl Responses {
    /// The id of the next request.
    pub(super) const fn expected(&self) -> u32 {
        self.expected
    }

    /// The first packet of the last response.
    pub(super) fn last_packet(&self) -> &[u8] {
        self.last.as_ref().and_then(|last| last.packets().first()).map_or(&[], Vec::as_slice)
    }

    /// Judges the id of a request.
    pub(super) fn classify(&self, id: u32) -> Received<'_> {
        if id == self.expected {
            return Received::Expected;
        }
        match &self.last {
            Some(last) if last.id == id => Received::Repeated(last),
            _ => Received::OutOfWindow,
        }
    }

    /// Stores the response to the expected request, as long as the SA is idle.
    pub(super) fn answered(&mut self, response: Packets) {
        self.expected = response.id.wrapping_add(1);
        self.last = Some(response);
        self.repeated = 0;
    }

    /// The last response for retransmission; `None` if there is none, or it was sent often enough.
    pub(super) fn repeat(&mut self) -> Option<&Packets> {
        self.repeated = self.repeated.saturating_add(1);
        self.last.as_ref().filter(|_| self.repeated <= REPEATS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn message(id: u32) -> Packets {
        let sealed = Sealed::Whole(vec![0]);
        Packets {
            exchange: ExchangeType::INFORMATIONAL,
            response: false,
            id,
            payloads: PayloadTypes::default(),
            sealed,
        }
    }

    #[test]
    fn a_request_is_repeated_with_growing_waits_and_then_given_up() {
        let timers = Retransmission { first: Duration::from_secs(1), base: 2.0, tries: 2 };
        let (mut requests, at) = (Requests::default(), |s| Time::ZERO + Duration::from_secs(s));
        requests.send(message(0), Time::ZERO, &timers);
        assert_eq!(requests.tick(at(0), &timers), Due::NotYet);
        assert_eq!(requests.tick(at(1), &timers), Due::Again);
        assert_eq!(requests.deadline(), Some(at(3)));
        assert_eq!(requests.tick(at(3), &timers), Due::Again);
        assert_eq!(requests.tick(at(6), &timers), Due::NotYet);
        assert_eq!(requests.tick(at(7), &timers), Due::GiveUp);
        assert_eq!(timers.total(), Duration::from_secs(7));
    }

    #[test]
    fn a_message_of_one_packet_has_no_list_of_packets() {
        assert_eq!(Sealed::from(vec![vec![7]]), Sealed::Whole(vec![7]));
        let two = vec![vec![7], vec![8]];
        let message = Packets { sealed: two.clone().into(), ..message(1) };
        assert_eq!((message.packets(), message.fact(1, false).fragment), (&two[..], 2));
        assert_eq!(size_of::<Sealed>(), size_of::<Vec<u8>>());
    }

    #[test]
    fn strongswans_timers_give_up_after_165_seconds() {
        assert_eq!(Retransmission::default().total().as_secs(), 165);
    }

    #[test]
    fn a_retransmitted_request_is_distinguished_from_a_stale_one() {
        let mut responses = Responses::default();
        assert_eq!(responses.classify(0), Received::Expected);
        assert_eq!(responses.classify(1), Received::OutOfWindow);
        responses.answered(message(0));
        responses.answered(message(1));
        assert_eq!(responses.classify(2), Received::Expected);
        assert_eq!(responses.classify(1), Received::Repeated(&message(1)));
        assert_eq!(responses.classify(0), Received::OutOfWindow);
    }
}
