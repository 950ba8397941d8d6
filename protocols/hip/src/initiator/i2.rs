//! The wait for R2. RFC 7401 §6.10, draft-ietf-hip-dex-24 §6.8.

use crate::association::{Core, State, Wait};
use crate::endpoint::Env;
use crate::identity::PeerIdentity;
use crate::initiator::{base, diet, r1};
use crate::number::{EspSuite, ParameterType};
use crate::phase;
use crate::protection::{Doubt, Protection};
use crate::wire::Packet;
use crate::wire::esp::EspInfo;

/// The wait for R2.
#[derive(Debug)]
pub(crate) struct I2Sent {
    pub(crate) wait: Wait,
    /// That of the R1 that was answered.
    pub(crate) generation: u64,
    pub(crate) protection: Protection,
    pub(crate) peer: PeerIdentity,
    pub(crate) esp_suite: EspSuite,
    /// The SPI that we receive on.
    pub(crate) spi: u32,
    pub(crate) secrets: Secrets,
    /// An R1 of a later generation has been looked at.
    pub(crate) has_started_over: bool,
}

/// What only one of the exchanges remembers.
#[derive(Debug)]
pub(crate) enum Secrets {
    Base(Box<base::Secrets>),
    Diet(Box<diet::Secrets>),
}

/// The SPI that the peer receives on.
pub(crate) fn peer_spi(packet: &Packet<'_>) -> Result<u32, Doubt> {
    let parameter = packet.one(ParameterType::ESP_INFO, "ESP_INFO").map_err(|error| error.field)?;
    let info = EspInfo::read(parameter.contents).map_err(|error| error.field)?;
    // RFC 7402 §5.1.1: of the first SA there is no old one; RFC 4303 §2.1: SPIs up to 255 are reserved.
    if info.old_spi != 0 || info.new_spi <= 255 {
        return Err("ESP_INFO of another SA");
    }
    Ok(info.new_spi)
}

impl I2Sent {
    // RFC 7401 §6.8: a system in I2-SENT may start over for an R1 of a later generation; the one before was a replayed one,
    // or is used up.
    /// One more R1. Each costs us a puzzle: those that anybody can make, of a diet exchange or in opportunistic mode, one alone.
    pub(crate) fn on_r1(
        mut self: Box<Self>,
        core: &mut Core,
        packet: &Packet<'_>,
        env: &mut Env<'_, '_>,
    ) -> State {
        if r1::generation(packet).ok().is_none_or(|generation| generation <= self.generation) {
            env.discard("R1 of no later generation");
            return State::I2Sent(self);
        }
        let has_known_sender = !self.protection.exchange.is_diet() && !core.is_opportunistic;
        if self.has_started_over && !has_known_sender {
            env.discard("R1 after starting over");
            return State::I2Sent(self);
        }
        self.has_started_over = true;
        match r1::answer(core, packet, env) {
            Ok(mut next) => {
                core.give_back(self.spi, env);
                next.has_started_over = true;
                next.wait.retry.ends_with(&self.wait.retry);
                State::I2Sent(Box::new(next))
            }
            Err(_) => {
                env.discard("R1 that leads nowhere");
                State::I2Sent(self)
            }
        }
    }

    /// R2: the association is up, or AKA begins.
    pub(crate) fn on_r2(
        self: Box<Self>,
        core: &mut Core,
        packet: &Packet<'_>,
        env: &mut Env<'_, '_>,
    ) -> State {
        env.cx.crypto.enter(phase::R2);
        let checked = match &self.secrets {
            Secrets::Base(secrets) => base::check_r2(&self, secrets, packet, env),
            Secrets::Diet(secrets) => diet::check_r2(&self, secrets, packet, env),
        };
        let outbound = match checked.and_then(|()| peer_spi(packet)) {
            Ok(spi) => spi,
            Err(doubt) => {
                env.discard(doubt);
                return State::I2Sent(self);
            }
        };
        let Self { protection, peer, esp_suite, spi, secrets, .. } = *self;
        let proved = Proved { protection, peer, spis: (spi, outbound), esp_suite };
        match secrets {
            Secrets::Base(secrets) => base::finish(proved, *secrets, core, env),
            Secrets::Diet(secrets) => diet::on_r2(proved, *secrets, core, packet, env),
        }
    }
}

/// What both sides of an exchange have when the other is proved.
#[derive(Debug)]
pub(crate) struct Proved {
    pub(crate) protection: Protection,
    pub(crate) peer: PeerIdentity,
    /// Inbound and outbound.
    pub(crate) spis: (u32, u32),
    pub(crate) esp_suite: EspSuite,
}
