//! Any bytes as what an access point lives through with SAE: the fuzz target `wlan_sae`, and the test that replays its corpus.
//!
//! Null cryptography, so that the bytes can forge everything. The format:
//!
//!   Settings(1) Step(*)                lowest bit: hash-to-element; the next one: every commit needs a token; the next one: the
//!                                      access point has another group than the station prefers
//!   0 Sender(1) Kind(1) Length(1) Bytes(*)   a frame to the access point. Kind: lowest bit confirm, then the status
//!   1 At(1) Value(1)                   the next frame of the true exchange, with one octet changed, in place of it
//!   2                                  the next frame of the true exchange is delivered
//!   3                                  the next deadline of both passes
//!   4                                  the station begins anew
//!   5 Sender(1)                        the next frame of the true exchange as another station's
//!
//! Invariants: no panic, bounded memory, equal keys on both sides, and when time has passed, no state is left.

use std::collections::VecDeque;

use keytoll_crypto::Null;
use keytoll_crypto_api::Rng;
use keytoll_crypto_api::algorithm::Curve;
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Time};
use keytoll_net::wire::{DecodeError, Reader};
use keytoll_wlan::MacAddr;
use keytoll_wlan::frame::StatusCode;
use keytoll_wlan::sae::{Config, Limits, Message, Method, Output, Password, Refused, Sae, Transaction};

const STATION: MacAddr = [2, 0, 0, 0, 0, 1];
const ACCESS_POINT: MacAddr = [2, 0, 0, 0, 0, 2];
const OPEN_MAX: usize = 4;
const STATUSES: [u16; 8] = [0, 1, 76, 77, 123, 126, 127, 65535];
/// More deadlines in sequence than there can be: a timer that rearms itself for ever.
const TICKS_MAX: usize = 1000;

struct World {
    station: Sae,
    access_point: Sae,
    method: Method,
    now: Time,
    /// To the access point if true.
    air: VecDeque<(bool, Message)>,
    accepted: usize,
}

/// Runs the steps; returns how often the access point has accepted a station.
pub(crate) fn run(bytes: &[u8]) -> usize {
    let mut r = Reader::new(bytes);
    let mut world = World::new(r.u8("settings").unwrap_or_default());
    world.begin();
    while !r.is_empty() && world.step(&mut r).is_ok() {
        assert!(
            world.access_point.open_count() <= OPEN_MAX && world.access_point.accepted_count() <= OPEN_MAX
        );
        world.air.truncate(16);
    }
    world.finish();
    world.accepted
}

fn config(address: MacAddr, groups: &[Curve], is_access_point: bool, needs_token: bool) -> Config {
    let passwords = vec![Password::of_network(b"net", b"password", None, groups, &mut Null)];
    let limits = Limits {
        anti_clogging_threshold: if needs_token { 0 } else { OPEN_MAX },
        open_max: OPEN_MAX,
        accepted_max: OPEN_MAX,
        ..Limits::default()
    };
    let methods = vec![Method::HuntingAndPecking, Method::HashToElement];
    Config { address, answers: is_access_point, passwords, methods, groups: groups.to_vec(), limits }
}

impl World {
    fn new(settings: u8) -> Self {
        let method = if settings & 1 == 1 { Method::HashToElement } else { Method::HuntingAndPecking };
        let groups: &[Curve] = if settings & 4 == 4 { &[Curve::P384] } else { &[Curve::P256] };
        let station = config(STATION, &[Curve::P256, Curve::P384], false, false);
        let access_point = config(ACCESS_POINT, groups, true, settings & 2 == 2);
        Self {
            station: Sae::new(station, Rng::named(1, "station")),
            access_point: Sae::new(access_point, Rng::named(1, "access point")),
            method,
            now: Time::ZERO,
            air: VecDeque::new(),
            accepted: 0,
        }
    }

    fn begin(&mut self) {
        let method = self.method;
        let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
        let outputs = self.station.begin(ACCESS_POINT, method, &mut cx);
        self.take(false, outputs);
    }

    fn step(&mut self, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        match r.u8("step")? % 6 {
            0 => {
                let (sender, kind, len) = (r.u8("sender")?, r.u8("kind")?, r.u8("length")?);
                let body = r.take(len.into(), "bytes")?.to_vec();
                let transaction = if kind & 1 == 1 { Transaction::Confirm } else { Transaction::Commit };
                let status = StatusCode(STATUSES[usize::from(kind >> 1) % STATUSES.len()]);
                self.deliver(true, sender, &Message { peer: ACCESS_POINT, transaction, status, body });
            }
            1 => {
                let (at, value) = (r.u8("at")?, r.u8("value")?);
                if let Some((to_access_point, mut message)) = self.air.pop_front() {
                    let len = message.body.len().max(1);
                    if let Some(octet) = message.body.get_mut(usize::from(at) % len) {
                        *octet = value;
                    }
                    self.deliver(to_access_point, 1, &message);
                }
            }
            2 => self.pass_on(1),
            3 => _ = self.wait(),
            4 => self.begin(),
            _ => {
                let sender = r.u8("sender")?;
                self.pass_on(sender);
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, sender: u8) {
        if let Some((to_access_point, message)) = self.air.pop_front() {
            self.deliver(to_access_point, sender, &message);
        }
    }

    fn deliver(&mut self, to_access_point: bool, sender: u8, message: &Message) {
        let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
        let (sae, from) = match to_access_point {
            true => (&mut self.access_point, [2, 0, 0, 0, 0, sender]),
            false => (&mut self.station, ACCESS_POINT),
        };
        let outputs = match message.transaction {
            Transaction::Commit => sae.on_commit(from, message.status, &message.body, &mut cx),
            Transaction::Confirm => sae.on_confirm(from, message.status, &message.body, &mut cx),
        };
        self.take(to_access_point, outputs);
    }

    fn take(&mut self, by_access_point: bool, outputs: Result<Vec<Output>, Refused>) {
        let outputs = outputs.unwrap_or_else(|refused| refused.reply.map(Output::Send).into_iter().collect());
        for output in outputs {
            match output {
                Output::Send(message) if by_access_point && message.peer != STATION => {}
                Output::Send(message) => self.air.push_back((!by_access_point, message)),
                Output::Accepted { pmk, .. } => {
                    assert_eq!(pmk.len(), 32);
                    self.accepted += usize::from(by_access_point);
                }
                Output::Failed { .. } => {}
            }
        }
    }

    /// False if neither waits for anything.
    fn wait(&mut self) -> bool {
        let deadlines = [self.station.deadline(), self.access_point.deadline()];
        let Some(next) = deadlines.into_iter().flatten().min() else { return false };
        self.now = self.now.max(next.at);
        for by_access_point in [false, true] {
            let mut cx = Ctx { now: self.now, crypto: &mut Null, trace: &mut NoTrace };
            let sae = if by_access_point { &mut self.access_point } else { &mut self.station };
            let outputs = sae.tick(&mut cx);
            self.take(by_access_point, Ok(outputs));
        }
        true
    }

    fn finish(&mut self) {
        let ticks = (0..TICKS_MAX).take_while(|_| self.wait()).count();
        assert!(ticks < TICKS_MAX, "a timer does not end");
        for sae in [&self.station, &self.access_point] {
            assert_eq!((sae.open_count(), sae.accepted_count()), (0, 0));
        }
    }
}
