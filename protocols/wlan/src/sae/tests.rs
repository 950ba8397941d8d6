//! Whole authentications, as ladders, under bad networks and against hostile peers.

use std::collections::VecDeque;
use std::time::Duration;

use keytoll_crypto::{Metered, Null, Provider, Real};
use keytoll_crypto_api::algorithm::Curve;
use keytoll_crypto_api::{Crypto, Rng, Secret};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Time};

use super::wire::Commit;
use super::*;
use crate::MacAddr;
use crate::frame::StatusCode;

mod flood;
mod hostile;
mod ladders;
mod lossy;

const STATION: MacAddr = [0x02, 0, 0, 0, 0, 1];
const ACCESS_POINT: MacAddr = [0x02, 0, 0, 0, 0, 0xaa];
const H2E: Method = Method::HashToElement;
const HNP: Method = Method::HuntingAndPecking;

/// What one side has reported.
#[derive(Debug, Default)]
struct Reported {
    accepted: Vec<(Secret, Pmkid)>,
    failed: Vec<Failure>,
    discarded: Vec<Why>,
}

struct Side {
    sae: Sae,
    address: MacAddr,
    reported: Reported,
}

/// Two sides, the frames between them in flight, and the time.
struct World {
    sides: [Side; 2],
    crypto: Provider,
    now: Time,
    air: VecDeque<(usize, Message)>,
    ladder: String,
}

fn config(address: MacAddr, answers: bool, crypto: &mut dyn Crypto) -> Config {
    let groups = vec![Curve::P256, Curve::P384];
    let password = Password::of_network(b"keytoll", b"a password", None, &groups, crypto);
    let limits = Limits::default();
    Config { address, answers, passwords: vec![password], methods: vec![HNP, H2E], groups, limits }
}

impl World {
    fn new(crypto: Provider) -> Self {
        Self::with(crypto, |_, _| {})
    }

    /// The station's settings and the access point's, changed.
    fn with(mut crypto: Provider, change: impl FnOnce(&mut Config, &mut Config)) -> Self {
        let mut station = config(STATION, false, &mut crypto);
        let mut access_point = config(ACCESS_POINT, true, &mut crypto);
        change(&mut station, &mut access_point);
        let side = |config: Config, name| {
            let address = config.address;
            Side { sae: Sae::new(config, Rng::named(1, name)), address, reported: Reported::default() }
        };
        let sides = [side(station, "station"), side(access_point, "access point")];
        Self { sides, crypto, now: Time::ZERO, air: VecDeque::new(), ladder: String::new() }
    }

    fn begin(&mut self, side: usize, method: Method) {
        let peer = self.sides[1 - side].address;
        let outputs = self.on(side, |sae, cx| sae.begin(peer, method, cx));
        self.take(side, outputs);
    }

    fn on<R>(&mut self, side: usize, act: impl FnOnce(&mut Sae, &mut Ctx<'_>) -> R) -> R {
        let mut cx = Ctx { now: self.now, crypto: &mut self.crypto, trace: &mut NoTrace };
        act(&mut self.sides[side].sae, &mut cx)
    }

    fn take(&mut self, side: usize, outputs: Result<Vec<Output>, Refused>) {
        let outputs = outputs.unwrap_or_else(|refused| {
            self.sides[side].reported.discarded.push(refused.why);
            refused.reply.map(Output::Send).into_iter().collect()
        });
        for output in outputs {
            self.put(side, output);
        }
    }

    fn put(&mut self, side: usize, output: Output) {
        let reported = &mut self.sides[side].reported;
        match output {
            Output::Send(message) => self.air.push_back((1 - side, message)),
            Output::Accepted { pmk, pmkid, .. } => reported.accepted.push((pmk, pmkid)),
            Output::Failed { why, .. } => reported.failed.push(why),
        }
    }

    fn deliver(&mut self, to: usize, message: &Message) {
        let from = self.sides[1 - to].address;
        self.write(to, message);
        let outputs = self.on(to, |sae, cx| match message.transaction {
            Transaction::Commit => sae.on_commit(from, message.status, &message.body, cx),
            Transaction::Confirm => sae.on_confirm(from, message.status, &message.body, cx),
        });
        self.take(to, outputs);
    }

    fn write(&mut self, to: usize, message: &Message) {
        let arrow = if to == 1 { "s -> a" } else { "a -> s" };
        let name = match (message.transaction, message.status) {
            (Transaction::Commit, StatusCode::SUCCESS | StatusCode::SAE_HASH_TO_ELEMENT) => {
                "Commit".to_owned()
            }
            (Transaction::Commit, status) => format!("status {}", status.0),
            (Transaction::Confirm, _) => {
                let count = message.body.first_chunk().map_or(0, |&count| u16::from_le_bytes(count));
                format!("Confirm {count}")
            }
        };
        self.ladder += &format!("{arrow} {name}, ");
    }

    /// Delivers everything in order until nothing is in flight.
    fn settle(&mut self) {
        while let Some((to, message)) = self.air.pop_front() {
            self.deliver(to, &message);
        }
    }

    /// The next frame in flight, taken out.
    fn next(&mut self) -> Message {
        self.air.pop_front().unwrap().1
    }

    /// Waits for the next deadline of either side; false if there is none.
    fn wait(&mut self) -> bool {
        let deadlines = self.sides.iter().filter_map(|side| side.sae.deadline());
        let Some(next) = deadlines.min() else { return false };
        self.now = self.now.max(next.at);
        for side in 0..2 {
            let outputs = self.on(side, Sae::tick);
            self.take(side, Ok(outputs));
        }
        true
    }

    fn agreed(&self) -> bool {
        let [a, b] = [0, 1].map(|side: usize| self.sides[side].reported.accepted.last());
        matches!((a, b), (Some(a), Some(b)) if a == b)
    }
}

fn real() -> Provider {
    Provider::Real(Real::default())
}

fn null() -> Provider {
    Provider::Null(Null)
}
