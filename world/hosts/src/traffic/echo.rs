//! Pings: echo requests at an interval, whether or not the last one was answered. Read RFC 792 and RFC 4443 §4 first.

use std::collections::BTreeMap;
use std::time::Duration;

use keytoll_engine::trace::Protocol;
use keytoll_engine::{Ctx, Deadline, Time};

use super::{Common, Source, nanos};
use crate::icmp::{self, Echo};
use crate::ip;

/// The echo request that triggers the SA uses 1.
const IDENTIFIER: u16 = 2;
/// ICMP's header.
const HEADER_BYTES: usize = 8;
/// Of `ping`.
const DATA_BYTES: usize = 56;

#[derive(Debug)]
pub(super) struct Flow {
    pings: Option<Pings>,
}

/// The source.
#[derive(Debug)]
struct Pings {
    next: Time,
    interval: Duration,
    data_bytes: usize,
    sequence: u16,
    /// Departure times of unanswered requests; a reused number replaces the older request.
    sent: BTreeMap<u16, Time>,
}

impl Flow {
    pub(super) fn new(source: Option<Source>, payload_bytes: Option<usize>, interval: Duration) -> Self {
        let data_bytes = payload_bytes.map_or(DATA_BYTES, |bytes| bytes.saturating_sub(HEADER_BYTES));
        let pings = source.map(|Source { at, .. }| Pings {
            next: at,
            interval,
            data_bytes,
            sequence: 0,
            sent: BTreeMap::new(),
        });
        Self { pings }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let pings = self.pings.as_ref()?;
        (pings.next < Time::MAX).then_some(Deadline { at: pings.next, why: "next echo request" })
    }

    pub(super) fn tick(&mut self, now: Time, common: &mut Common) {
        let Some(pings) = self.pings.as_mut().filter(|pings| pings.next <= now) else { return };
        if now >= common.until {
            pings.next = Time::MAX;
            return;
        }
        pings.next = (pings.next + pings.interval).max(now);
        pings.sequence = pings.sequence.wrapping_add(1);
        pings.sent.insert(pings.sequence, now);
        let data = vec![0; pings.data_bytes];
        let echo = Echo { reply: false, identifier: IDENTIFIER, sequence: pings.sequence, data };
        common.account.data_packets_sent += 1;
        common.send(icmp::protocol(common.local), echo.write(common.local, common.remote));
    }

    pub(super) fn arrived(&mut self, packet: &ip::Packet<'_>, cx: &mut Ctx<'_>, common: &mut Common) -> bool {
        if packet.protocol != icmp::protocol(packet.source) {
            return false;
        }
        match Echo::read(packet.source, packet.destination, packet.payload) {
            Ok(Some(echo)) if echo.identifier != IDENTIFIER => return false,
            Ok(Some(echo)) if echo.reply => self.replied(&echo, cx, common),
            Ok(Some(mut echo)) => {
                echo.reply = true;
                common.send(packet.protocol, echo.write(common.local, common.remote));
            }
            _ => cx.discard(Protocol::ICMP, "icmp: malformed"),
        }
        true
    }

    fn replied(&mut self, echo: &Echo, cx: &mut Ctx<'_>, common: &mut Common) {
        let sent = self.pings.as_mut().and_then(|pings| pings.sent.remove(&echo.sequence));
        let Some(sent) = sent else {
            return cx.discard(Protocol::ICMP, "icmp: not a reply we wait for");
        };
        common.account.data_packets_got += 1;
        common.account.round_trips.add(nanos(cx.now.since(sent)));
        common.got(echo.data.len() as u64, cx.now);
    }
}
