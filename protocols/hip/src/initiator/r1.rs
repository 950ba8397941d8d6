//! R1 as the initiator reads it, and the I2 that answers it. RFC 7401 §6.8, draft-ietf-hip-dex-24 §6.6.

use keytoll_crypto_api::about;
use keytoll_net::wire::DecodeError;

use crate::association::Core;
use crate::config::Puzzles;
use crate::endpoint::Env;
use crate::event::Reason;
use crate::hit::Hit;
use crate::identity::{DietVariant, PeerIdentity};
use crate::initiator::{I2Sent, Refusal, base, diet};
use crate::number::{Cipher, EspSuite, GroupId, HitSuite, ParameterType};
use crate::offers::{self, Offer};
use crate::phase;
use crate::protection::{self, Doubt, Exchange};
use crate::puzzle::Question;
use crate::wire::puzzle::{Puzzle, R1Counter};
use crate::wire::{Builder, HostId, Packet, Parameter, lists};

/// More unsigned echo requests are not answered: each box on the way may add one.
const ECHOES_MAX: usize = 4;
/// Octets of a signed echo request: RFC 7401 §5.2.20 leaves it open, and a longer one leaves I2 no room beside keys and signature.
const SIGNED_ECHO_LEN_MAX: usize = 512;
/// The words of traces for an R1 that wants more echoed than I2 has room for.
pub(crate) const ECHO_TOO_LONG: Doubt = "ECHO_REQUEST_SIGNED too long to be answered";

/// An R1 that was understood.
#[derive(Debug)]
pub(crate) struct R1<'a> {
    pub(crate) packet: &'a Packet<'a>,
    pub(crate) exchange: Exchange,
    pub(crate) puzzle: Puzzle<'a>,
    pub(crate) counter: Option<Parameter<'a>>,
    pub(crate) groups: &'a [u8],
    pub(crate) peer: PeerIdentity,
    /// The whole HOST_ID parameter.
    pub(crate) host_id: &'a [u8],
    suites: &'a [u8],
}

/// What was chosen from an R1, and found for it.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) cipher: Cipher,
    pub(crate) esp_suite: EspSuite,
    /// #J.
    pub(crate) solution: Vec<u8>,
    /// The SPI that we receive on.
    pub(crate) spi: u32,
}

/// The generation of puzzles that a packet names; 0: none.
pub(crate) fn generation(packet: &Packet<'_>) -> Result<u64, DecodeError> {
    let Some(parameter) = packet.find(ParameterType::R1_COUNTER) else { return Ok(0) };
    Ok(R1Counter::read(parameter.contents)?.generation)
}

impl<'a> R1<'a> {
    fn read(core: &Core, packet: &'a Packet<'a>, env: &mut Env<'_, '_>) -> Result<Self, Refusal> {
        let sender = packet.header.sender;
        let suite = sender.suite().ok_or("HIT of an unknown suite")?;
        let parameter = packet.one(ParameterType::HOST_ID, "HOST_ID")?;
        let host_id = HostId::read(parameter.contents)?;
        let variant = env.shared.config.variant;
        // RFC 7401 §6.8: the HIT is that of the Host Identity.
        if hit_of(suite, host_id.identity, variant, env) != sender {
            return Err("HIT is not that of the Host Identity".into());
        }
        if core.peer != Hit::NULL && core.peer != sender {
            return Err("R1 of another host".into());
        }
        let puzzle = packet.one(ParameterType::PUZZLE, "PUZZLE")?;
        let counter = packet.find(ParameterType::R1_COUNTER).copied();
        generation(packet)?;
        let echo = packet.find(ParameterType::ECHO_REQUEST_SIGNED);
        if echo.is_some_and(|echo| echo.bytes().len() > SIGNED_ECHO_LEN_MAX) {
            return Err(ECHO_TOO_LONG.into());
        }
        Ok(Self {
            packet,
            exchange: Exchange::of(suite, variant),
            puzzle: Puzzle::read(puzzle.contents)?,
            counter,
            groups: lists::octets(packet.one(ParameterType::DH_GROUP_LIST, "DH_GROUP_LIST")?.contents),
            peer: PeerIdentity::of(&host_id, env.shared.config.p256_hash)
                .map_err(|_| "Host Identity of an unknown kind")?,
            host_id: &packet.bytes[parameter.begins..parameter.ends],
            suites: lists::octets(packet.one(ParameterType::HIT_SUITE_LIST, "HIT_SUITE_LIST")?.contents),
        })
    }

    /// What we choose from it.
    fn choose(&self, core: &Core, env: &Env<'_, '_>) -> Result<(Cipher, EspSuite), Refusal> {
        let own = &core.own;
        if !self.suites.contains(&own.suite().octet()) {
            return Err(Refusal::Fail(Reason::UnsupportedHitSuite));
        }
        if self.exchange.is_diet() != (own.suite() == HitSuite::EcdhFold) {
            return Err(Refusal::Fail(Reason::UnsupportedHitSuite));
        }
        let has_known_sender = !self.exchange.is_diet() && !core.is_opportunistic;
        if self.puzzle.difficulty_bits > env.shared.config.puzzle.solved_bits_max(has_known_sender) {
            return Err(Refusal::Fail(Reason::PuzzleTooHard));
        }
        let chosen = Offer::read(self.packet)?.choose(self.exchange, &env.shared.config);
        chosen.ok_or(Refusal::Fail(Reason::NoProposalChosen))
    }

    // RFC 7401 §6.8: a group that is not the responder's best of those in I1 means that somebody changed I1.
    /// Whether the group of its key is the one that it should have chosen from ours.
    pub(crate) fn has_best_group(&self, group: GroupId, core: &Core, env: &Env<'_, '_>) -> bool {
        let ours = offers::groups(&core.own, &env.shared.config);
        let best = self.groups.iter().find(|theirs| ours.contains(&GroupId(**theirs)));
        best == Some(&group.0)
    }

    /// #J.
    fn solve(&self, core: &Core, env: &mut Env<'_, '_>) -> Result<Vec<u8>, Refusal> {
        let bits = self.puzzle.difficulty_bits;
        let (initiator, responder) = env.shared.config.leniency.hashed(core.local, core.peer);
        let question = Question {
            function: self.exchange.puzzle(),
            difficulty_bits: bits,
            random: self.puzzle.random,
            initiator,
            responder,
        };
        if self.puzzle.random.len() != question.function.len() {
            return Err("PUZZLE #I of another length".into());
        }
        // One in e^64 puzzles takes longer.
        let tries_max = 1_u64 << (u32::from(bits.min(Puzzles::BITS_MAX)) + 6);
        let rng = &mut env.shared.rng;
        about(env.cx.crypto, "puzzle", |crypto| question.solve(tries_max, rng, crypto))
            .ok_or(Refusal::Fail(Reason::PuzzleTooHard))
    }

    /// What every I2 begins with, up to SOLUTION.
    pub(crate) fn begin_i2(&self, core: &Core, choice: &Choice, keymat_index: usize) -> Builder {
        let mut builder = Builder::new(crate::number::PacketType::I2, core.local, core.peer);
        let info = crate::wire::esp::EspInfo {
            keymat_index: u16::try_from(keymat_index).unwrap_or(u16::MAX),
            old_spi: 0,
            new_spi: choice.spi,
        };
        builder.parameter(ParameterType::ESP_INFO, |w| info.write(w));
        if let Some(counter) = &self.counter {
            builder.parameter(ParameterType::R1_COUNTER, |w| w.bytes(counter.bytes()));
        }
        let solution = crate::wire::puzzle::Solution {
            difficulty_bits: self.puzzle.difficulty_bits,
            opaque: self.puzzle.opaque,
            random: self.puzzle.random,
            solution: &choice.solution,
        };
        builder.parameter(ParameterType::SOLUTION, |w| solution.write(w));
        builder
    }

    /// The answer to a signed echo request.
    pub(crate) fn push_signed_echo(&self, builder: &mut Builder) {
        if let Some(request) = self.packet.find(ParameterType::ECHO_REQUEST_SIGNED) {
            builder.parameter(ParameterType::ECHO_RESPONSE_SIGNED, |w| w.bytes(request.bytes()));
        }
    }

    /// The answers to unsigned echo requests, which come last in I2; those for which there is no room are left out.
    pub(crate) fn push_unsigned_echoes(&self, builder: &mut Builder, env: &mut Env<'_, '_>) {
        let requests = self.packet.parameters().iter();
        let requests = requests.filter(|parameter| parameter.kind == ParameterType::ECHO_REQUEST_UNSIGNED);
        for request in requests.take(ECHOES_MAX) {
            if !builder.has_room(request.bytes().len()) {
                env.discard("ECHO_REQUEST_UNSIGNED too long to be answered");
                continue;
            }
            builder.parameter(ParameterType::ECHO_RESPONSE_UNSIGNED, |w| w.bytes(request.bytes()));
        }
    }
}

/// The HIT of a Host Identity in this suite.
pub(crate) fn hit_of(suite: HitSuite, identity: &[u8], variant: DietVariant, env: &mut Env<'_, '_>) -> Hit {
    if suite == HitSuite::EcdhFold {
        return variant.hit(identity);
    }
    about(env.cx.crypto, "HIT", |crypto| Hit::of(suite, identity, crypto))
}

/// Reads an R1, solves its puzzle and sends I2. The error says whether the R1 was proved to be the responder's.
pub(crate) fn answer(
    core: &mut Core,
    packet: &Packet<'_>,
    env: &mut Env<'_, '_>,
) -> Result<I2Sent, (Refusal, bool)> {
    env.cx.crypto.enter(phase::I2);
    let r1 = R1::read(core, packet, env).map_err(|refusal| (refusal, false))?;
    let is_proved = !r1.exchange.is_diet();
    if is_proved {
        protection::check_r1(packet, &r1.peer, env.cx.crypto).map_err(|doubt| (doubt.into(), false))?;
    }
    if !env.shared.config.admits.has(packet.header.sender) {
        return Err((Refusal::Fail(Reason::BlockedByPolicy), is_proved));
    }
    let (cipher, esp_suite) = r1.choose(core, env).map_err(|refusal| (refusal, is_proved))?;
    let was = core.peer;
    core.peer = packet.header.sender;
    let spi = core.take_spi(env);
    let choose = |solution| Choice { cipher, esp_suite, solution, spi };
    let sent = match r1.exchange {
        Exchange::Base(rhash) => {
            let solution = r1.solve(core, env);
            solution.and_then(|solution| base::send_i2(&r1, rhash, &choose(solution), core, env))
        }
        // Nothing proves this R1: what could speak against it comes before the work that it asks for.
        Exchange::Diet(variant) => diet::agree(&r1, core, env).and_then(|shared| {
            let choice = choose(r1.solve(core, env)?);
            diet::send_i2(&r1, variant, (&choice, shared), core, env)
        }),
    };
    sent.map_err(|refusal| {
        core.peer = was;
        core.give_back(spi, env);
        (refusal, is_proved)
    })
}
