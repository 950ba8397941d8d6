//! I1 and R1. RFC 7401 §4.1.1 (puzzles), §5.3.2, §6.7; draft-ietf-hip-dex-24 §5.3.2, §6.5.

use std::net::IpAddr;

use keytoll_crypto_api::{KeyPair, Rng, about};
use keytoll_engine::map::FastMap;
use keytoll_engine::{Ctx, Time};
use keytoll_net::Addr;

use crate::association::State;
use crate::config::{Config, Puzzles};
use crate::endpoint::{Endpoint, Env, Key};
use crate::hit::Hit;
use crate::identity::{HostIdentity, IdentityKey};
use crate::number::{GroupId, NotifyType, PacketType, ParameterType};
use crate::outgoing::{Outgoing, Route, notify};
use crate::protection::{self, Exchange};
use crate::puzzle::Question;
use crate::responder::rate::Rate;
use crate::responder::solutions::Solutions;
use crate::wire::header::{HEADER_LEN, RECEIVER_AT};
use crate::wire::key_exchange::DiffieHellman;
use crate::wire::parameter::PREFIX_LEN;
use crate::wire::puzzle::{OPAQUE_AT, Puzzle, R1Counter, RANDOM_AT, Solution};
use crate::wire::{Builder, Packet, lists};
use crate::{offers, phase};

/// What a responder keeps for everybody.
#[derive(Debug)]
pub(crate) struct Responder {
    secret: [u8; 32],
    puzzles: Puzzles,
    rate: Rate,
    /// Questions to the HSS.
    questions: Rate,
    /// NOTIFYs that nothing protects.
    refusals: Rate,
    /// By identity and group: the R1s of this generation and of the one before.
    made: FastMap<(usize, GroupId), Vec<Made>>,
    solutions: Solutions,
}

/// An R1 in which receiver and puzzle are still zero.
#[derive(Debug)]
pub(crate) struct Made {
    generation: u64,
    packet: Outgoing,
    /// Where PUZZLE's contents begin.
    puzzle_at: usize,
    /// For the base exchange.
    key: Option<KeyPair>,
}

/// A solution that was accepted.
#[derive(Debug, Clone)]
pub(crate) struct Solved {
    pub(crate) generation: u64,
    /// #I.
    pub(crate) random: Vec<u8>,
    /// #J.
    pub(crate) solution: Vec<u8>,
}

/// How long R1 counts, as the wire has it (RFC 7401 §5.2.4: 2^(value − 32) seconds).
const LIFETIME_OF_ONE_SECOND: u8 = 32;

/// Counters of R1s, of questions to the HSS, and of NOTIFYs, by address.
const R1_COUNTERS: usize = 4096;
const QUESTION_COUNTERS: usize = 1024;
const REFUSAL_COUNTERS: usize = 1024;

impl Responder {
    pub(crate) fn new(config: &Config, rng: &mut Rng) -> Self {
        let puzzles = Puzzles {
            difficulty_bits: config.puzzle.difficulty_bits.min(Puzzles::BITS_MAX),
            lifetime_log2_s: config.puzzle.lifetime_log2_s.min(24),
            ..config.puzzle
        };
        let key = rng.u64();
        Self {
            secret: rng.bytes(),
            puzzles,
            rate: Rate::new(R1_COUNTERS, key),
            questions: Rate::new(QUESTION_COUNTERS, key),
            refusals: Rate::new(REFUSAL_COUNTERS, key),
            made: FastMap::default(),
            solutions: Solutions::default(),
        }
    }

    /// Which generation it is now, counted from 1.
    fn generation(&self, now: Time) -> u64 {
        let lifetime_ns = 1_000_000_000_u64 << self.puzzles.lifetime_log2_s;
        now.as_nanos() / lifetime_ns + 1
    }

    /// Makes all R1s of this generation that are not there.
    pub(crate) fn prepare(&mut self, env: &mut Env<'_, '_>) {
        env.cx.crypto.enter(keytoll_crypto_api::Phase::SETUP);
        for index in 0..env.shared.identities.len() {
            for group in offers::groups(&env.identity(index), &env.shared.config) {
                self.current((index, group), env);
            }
        }
    }

    /// The R1 of this generation, made if it is not there.
    fn current(&mut self, which: (usize, GroupId), env: &mut Env<'_, '_>) -> Option<&Made> {
        let generation = self.generation(env.now());
        let made = self.made.get_or_insert(&which);
        if made.last().is_none_or(|last| last.generation != generation) {
            let fresh = Made::new(which, generation, &self.puzzles, env)?;
            // RFC 7401 §6.7.1: what an R1 needs is kept for as long as its I2 may come.
            made.retain(|old| old.generation + 1 == generation);
            made.reserve_exact(1);
            made.push(fresh);
        }
        made.last()
    }

    /// The key pair that an R1 of this generation offered.
    pub(crate) fn key(&self, which: (usize, GroupId), generation: u64) -> Option<&KeyPair> {
        let made = self.made.get(&which)?.iter().find(|made| made.generation == generation)?;
        made.key.as_ref()
    }

    fn random(
        &self,
        exchange: Exchange,
        ends: (Hit, Hit, Addr),
        generation: u64,
        env: &mut Env<'_, '_>,
    ) -> keytoll_crypto_api::Digest {
        let (initiator, responder, at) = ends;
        let address = address(at.ip());
        let parts: [&[u8]; 4] = [&initiator.0, &responder.0, &address, &generation.to_be_bytes()];
        about(env.cx.crypto, "puzzle", |crypto| crypto.prf(exchange.mac(), &self.secret, &parts))
    }

    /// Sends R1.
    fn answer(
        &mut self,
        which: (usize, GroupId),
        (initiator, route): (Hit, Route),
        is_known: bool,
        env: &mut Env<'_, '_>,
    ) {
        let limits = &env.shared.config.limits;
        let to_strangers =
            |max: u32| if is_known { max } else { max.min(limits.r1_to_strangers_per_second_max) };
        let max = limits.r1_per_second_max.map(to_strangers);
        if max.is_some_and(|max| !self.rate.allows(route.remote.ip(), max, env.now())) {
            return env.discard("too many I1s from there");
        }
        let own = env.identity(which.0);
        let Some(made) = self.current(which, env) else { return env.discard("no R1 can be made") };
        let (mut packet, puzzle_at, generation) = (made.packet.clone(), made.puzzle_at, made.generation);
        let exchange = Exchange::of(own.suite(), env.shared.config.variant);
        let random = self.random(exchange, (initiator, own.hit(), route.remote), generation, env);
        packet.bytes[RECEIVER_AT..HEADER_LEN].copy_from_slice(&initiator.0);
        let puzzle = &mut packet.bytes[puzzle_at..];
        puzzle[OPAQUE_AT..RANDOM_AT].copy_from_slice(&opaque(generation));
        puzzle[RANDOM_AT..RANDOM_AT + random.len()].copy_from_slice(&random);
        env.transmit_once(route, packet);
    }

    // RFC 7401 §6.9: the puzzle was ours, is not too old, and is solved; a solution counts for one association.
    /// Checks SOLUTION.
    pub(crate) fn check(
        &self,
        packet: &Packet<'_>,
        (exchange, at): (Exchange, Addr),
        env: &mut Env<'_, '_>,
    ) -> Result<Solved, &'static str> {
        let parameter = packet.one(ParameterType::SOLUTION, "SOLUTION").map_err(|error| error.field)?;
        let solution = Solution::read(parameter.contents).map_err(|error| error.field)?;
        let now = self.generation(env.now());
        let generation = [now, now - 1].into_iter().find(|generation| opaque(*generation) == solution.opaque);
        let generation = generation.filter(|generation| *generation > 0).ok_or("puzzle expired")?;
        let (initiator, responder) = (packet.header.sender, packet.header.receiver);
        if !self.random(exchange, (initiator, responder, at), generation, env).matches(solution.random) {
            return Err("puzzle of another responder");
        }
        if solution.difficulty_bits != self.puzzles.difficulty_bits {
            return Err("puzzle of another difficulty");
        }
        let solved =
            Solved { generation, random: solution.random.to_vec(), solution: solution.solution.to_vec() };
        self.solutions.pays(&solved, self.puzzles.broken_max)?;
        let (initiator, responder) = env.shared.config.leniency.hashed(initiator, responder);
        let question = Question {
            function: exchange.puzzle(),
            difficulty_bits: self.puzzles.difficulty_bits,
            random: solution.random,
            initiator,
            responder,
        };
        let is_solved =
            about(env.cx.crypto, "puzzle", |crypto| question.is_solved_by(solution.solution, crypto));
        if is_solved { Ok(solved) } else { Err("puzzle not solved") }
    }

    /// Whether another solution of this address can be remembered: one that is not could be used again.
    pub(crate) fn can_spend(&mut self, at: Option<IpAddr>, broken_max: u32, now: Time) -> bool {
        let generation = self.generation(now);
        self.solutions.forget(generation);
        let has_room = self.solutions.count() < self.puzzles.solutions_max;
        has_room && self.solutions.broken_of(at, generation) < broken_max
    }

    /// Whether the address may cause another question to the HSS.
    pub(crate) fn can_ask(&mut self, at: Option<IpAddr>, max: Option<u32>, now: Time) -> bool {
        max.is_none_or(|max| self.questions.allows(at, max, now))
    }

    /// Whether the address may be told once more that it is refused.
    pub(crate) fn can_refuse(&mut self, at: Option<IpAddr>, max: Option<u32>, now: Time) -> bool {
        max.is_none_or(|max| self.refusals.allows(at, max, now))
    }

    /// An association has come of a solution.
    pub(crate) fn spend(&mut self, solved: &Solved) {
        self.solutions.spend(solved);
    }

    /// An I2 that came from there was not believed, though its puzzle is solved.
    pub(crate) fn count_broken(&mut self, solved: &Solved, at: Option<IpAddr>, now: Time) {
        self.solutions.count_broken(solved, at, self.generation(now));
    }
}

/// What a puzzle is found by: the lowest bits of its generation.
const fn opaque(generation: u64) -> [u8; 2] {
    (generation as u16).to_be_bytes()
}

fn address(ip: Option<IpAddr>) -> [u8; 16] {
    match ip {
        Some(IpAddr::V4(ip)) => ip.to_ipv6_mapped().octets(),
        Some(IpAddr::V6(ip)) => ip.octets(),
        None => [0; 16],
    }
}

impl Made {
    fn new(
        (index, group): (usize, GroupId),
        generation: u64,
        puzzles: &Puzzles,
        env: &mut Env<'_, '_>,
    ) -> Option<Self> {
        let (own, config) = (env.identity(index), env.config());
        let exchange = Exchange::of(own.suite(), config.variant);
        let key = match own.key() {
            IdentityKey::Agreeing(_) => None,
            IdentityKey::Signing(..) => {
                let (group, rng) = (group.group()?, &mut env.shared.rng);
                Some(about(env.cx.crypto, "key agreement", |crypto| crypto.generate(group, rng)))
            }
        };
        let mut builder = Builder::new(PacketType::R1, own.hit(), Hit::NULL);
        let counter = R1Counter { reserved: 0, generation };
        if !config.leniency.no_r1_counter {
            builder.parameter(ParameterType::R1_COUNTER, |w| counter.write(w));
        }
        let puzzle_at = builder.position() + PREFIX_LEN;
        push_puzzle(&mut builder, exchange, puzzles);
        offers::push_groups(&mut builder, &offers::groups(&own, &config));
        if let Some(key) = &key {
            let exchanged = DiffieHellman { group, public: &key.public };
            builder.parameter(ParameterType::DIFFIE_HELLMAN, |w| exchanged.write(w));
        }
        push_rest(&mut builder, exchange, &own, &config);
        protection::sign_r1(&mut builder, &own, env.cx.crypto);
        Some(Self { generation, packet: builder.fitting(true, 0)?, puzzle_at, key })
    }
}

fn push_puzzle(builder: &mut Builder, exchange: Exchange, puzzles: &Puzzles) {
    let puzzle = Puzzle {
        difficulty_bits: puzzles.difficulty_bits,
        lifetime: LIFETIME_OF_ONE_SECOND + puzzles.lifetime_log2_s,
        opaque: [0; 2],
        random: &[0; 64][..exchange.mac().output_len()],
    };
    builder.parameter(ParameterType::PUZZLE, |w| puzzle.write(w));
}

fn push_rest(builder: &mut Builder, exchange: Exchange, own: &HostIdentity, config: &Config) {
    offers::push_ciphers(builder, &offers::ciphers(exchange, config));
    builder.parameter(ParameterType::HOST_ID, |w| own.host_id().write(w));
    offers::push_hit_suites(builder, config);
    offers::push_transports(builder);
    offers::push_esp_suites(builder, &config.esp_suites);
}

impl Endpoint {
    /// I1: sends R1, and remembers nothing.
    pub(crate) fn on_i1(&mut self, packet: &Packet<'_>, route: Route, cx: &mut Ctx<'_>) {
        cx.crypto.enter(phase::R1);
        let mut env = Env { shared: &mut self.shared, cx };
        let (sender, receiver) = (packet.header.sender, packet.header.receiver);
        let Some(index) = identity_for(sender, receiver, &env) else {
            return env.discard("I1 for another host");
        };
        if !env.shared.config.admits.has(sender) {
            env.discard("BLOCKED_BY_POLICY");
            let from = env.identity(index).hit();
            return self.refuse((from, sender), NotifyType::BLOCKED_BY_POLICY, route, cx);
        }
        // RFC 7401 §6.7: of two hosts that begin at once the one with the smaller HIT is the initiator.
        let ours = self.by_hits.get(&Key::new(receiver, sender)).and_then(|id| self.associations.get(id));
        if sender > receiver && ours.is_some_and(|ours| matches!(ours.state, State::I1Sent(_))) {
            return env.discard("I1 crossed ours");
        }
        let Ok(list) = packet.one(ParameterType::DH_GROUP_LIST, "DH_GROUP_LIST") else {
            return env.discard("DH_GROUP_LIST");
        };
        let groups = offers::groups(&env.identity(index), &env.shared.config);
        let best = offers::best_group(&groups, lists::octets(list.contents)).map(|(id, _)| id);
        // RFC 7401 §6.7: without a common group it is any of ours.
        let Some(group) = best.or(groups.first().copied()) else { return env.discard("no group") };
        let is_known = self.begun_by_peers.count_of(route.remote.ip()) > 0;
        self.responder.answer((index, group), (sender, route), is_known, &mut env);
    }

    // RFC 7401 §6.7, §6.9.1: anybody can be named as the sender of I1, and nobody is to get NOTIFYs without end for what others
    // send in its name.
    /// Tells a host that it is refused, unless it was told so often enough.
    pub(crate) fn refuse(&mut self, ends: (Hit, Hit), kind: NotifyType, route: Route, cx: &mut Ctx<'_>) {
        let max = self.shared.config.limits.refusals_per_second_max;
        if self.responder.can_refuse(route.remote.ip(), max, cx.now) {
            notify(ends, kind, route, &mut Env { shared: &mut self.shared, cx });
        }
    }
}

// RFC 7401 §6.7: without a receiver's HIT the suite of the sender's decides.
/// Which of our identities an I1 is for.
fn identity_for(sender: Hit, receiver: Hit, env: &Env<'_, '_>) -> Option<usize> {
    let suite = sender.suite()?;
    if receiver != Hit::NULL {
        return env.shared.index_of(receiver);
    }
    let identities = &env.shared.identities;
    let same = identities.iter().position(|identity| identity.suite() == suite);
    same.or_else(|| {
        let is_diet = suite.rhash().is_none();
        identities.iter().position(|identity| identity.suite().rhash().is_none() == is_diet)
    })
}
