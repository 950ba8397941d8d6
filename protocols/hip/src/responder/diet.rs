//! The responder of a diet exchange: I2 and R2. draft-ietf-hip-dex-24 §5.3.4, §6.7.

use keytoll_crypto_api::about;

use crate::aka::{AwaitsVector, Pair};
use crate::association::{Core, Fingerprint, State, up};
use crate::config::Aka;
use crate::diet_keys::{DietKeys, NONCE_LEN, repeated};
use crate::endpoint::Env;
use crate::established::Standing;
use crate::event::Reason;
use crate::identity::{DietVariant, IdentityKey, PeerIdentity};
use crate::initiator::diet::{open_key, push_key, push_nonce};
use crate::initiator::i2::{Proved, peer_spi};
use crate::keymat::HipKeys;
use crate::number::{EspSuite, PacketType, ParameterType};
use crate::offers::{self, Offer};
use crate::outgoing::Outgoing;
use crate::protection::{Counters, Doubt, Exchange, Protection};
use crate::responder::i2::{Asked, peer_identity, r2_again};
use crate::wire::aka::Challenge;
use crate::wire::encrypted::only_parameter;
use crate::wire::esp::EspInfo;
use crate::wire::{Builder, HostId, Packet};

/// An I2 that is the initiator's.
#[derive(Debug)]
pub(crate) struct Accepted {
    protection: Protection,
    peer: PeerIdentity,
    pair: Pair,
    esp_suite: EspSuite,
    peer_spi: u32,
    /// Who subscribes, if AKA is asked for.
    subscriber: Option<Vec<u8>>,
}

/// Checks an I2 whose puzzle is solved.
pub(crate) fn verify(
    asked: &Asked,
    variant: DietVariant,
    packet: &Packet<'_>,
    env: &mut Env<'_, '_>,
) -> Result<Box<Accepted>, Doubt> {
    let exchange = Exchange::Diet(variant);
    let offer = Offer::read(packet).map_err(|error| error.field)?;
    let (cipher, esp_suite) =
        offer.chosen(exchange, &env.shared.config).ok_or("INVALID_HIP_CIPHER_CHOSEN")?;
    let parameter = packet.one(ParameterType::HOST_ID, "HOST_ID").map_err(|error| error.field)?;
    let host_id = HostId::read(parameter.contents).map_err(|error| error.field)?;
    let peer = peer_identity(&host_id, asked.initiator, env)?;
    let keys = keys(asked, variant, (packet, &peer), env)?;
    let mut master = keys.master([asked.responder, asked.initiator], env.cx.crypto);
    let lengths = HipKeys::lengths(cipher, exchange.mac());
    let hip = HipKeys::draw(&mut master, lengths, asked.responder, asked.initiator, env.cx.crypto)
        .ok_or("keying material used up")?;
    let counters = Counters::of(exchange, [&asked.solved.random, &asked.solved.solution]);
    let mut protection = Protection::new(exchange, cipher, hip, counters);
    protection.check(packet, &peer, env.cx.crypto)?;
    let subscriber = subscriber(packet, &mut protection, env)?;
    let theirs = open_key(packet, &mut protection, env)?;
    let pair = Pair { keys, ours: env.shared.rng.bytes(), theirs };
    let peer_spi = peer_spi(packet)?;
    Ok(Box::new(Accepted { protection, peer, pair, esp_suite, peer_spi, subscriber }))
}

fn keys(
    asked: &Asked,
    variant: DietVariant,
    (packet, peer): (&Packet<'_>, &PeerIdentity),
    env: &mut Env<'_, '_>,
) -> Result<DietKeys, Doubt> {
    let nonce = match variant {
        DietVariant::Draft24 => {
            let nonce = packet.one(ParameterType::I_NONCE, "I_NONCE").map_err(|error| error.field)?.bytes();
            if nonce.len() != NONCE_LEN {
                return Err("I_NONCE of another length");
            }
            nonce.to_vec()
        }
        DietVariant::Prototype => Vec::new(),
    };
    let own = env.identity(asked.index);
    let (IdentityKey::Agreeing(ours), PeerIdentity::Agreeing { group, public }) = (own.key(), peer) else {
        return Err("UNSUPPORTED_HIT_SUITE");
    };
    if ours.private.group != *group {
        return Err("INVALID_DH_CHOSEN");
    }
    let shared = about(env.cx.crypto, "key agreement", |crypto| crypto.agree(&ours.private, public))
        .map_err(|_| "public value that its group rejects")?;
    Ok(DietKeys { variant, random: asked.solved.random.clone(), shared, nonce })
}

/// Who subscribes, where that is asked for.
fn subscriber(
    packet: &Packet<'_>,
    protection: &mut Protection,
    env: &mut Env<'_, '_>,
) -> Result<Option<Vec<u8>>, Doubt> {
    let says = packet.find(ParameterType::ENCRYPTED).is_some();
    match (&env.shared.config.aka, says) {
        (Aka::Required, true) => {
            let plain = protection.open(packet, env.cx.crypto).map_err(|_| "ENCRYPTION_FAILED")?;
            let name = only_parameter(&plain, ParameterType::AKA_ID).map_err(|_| "ENCRYPTION_FAILED")?;
            Ok(Some(name.bytes().to_vec()))
        }
        (Aka::Required, false) => Err("AUTHENTICATION_FAILED"),
        (_, true) => Err("no AKA here"),
        (_, false) => Ok(None),
    }
}

impl Accepted {
    /// Sends R2, or asks the HSS first.
    pub(crate) fn answer(self, to: Fingerprint, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let spi = core.take_spi(env);
        let Self { protection, peer, pair, esp_suite, peer_spi, subscriber } = self;
        let mut proved = Proved { protection, peer, spis: (spi, peer_spi), esp_suite };
        if let Some(subscriber) = subscriber {
            return AwaitsVector::begin(proved, pair, (to, subscriber), core, env);
        }
        let Some(r2) = write_r2(&mut proved, &pair, None, core, env) else {
            return core.fails(Reason::Internal, env);
        };
        env.transmit(core.route, &r2, false);
        let keymat = pair.keymat(core, &[], env.cx.crypto);
        let Proved { protection, peer, spis, esp_suite } = proved;
        match Standing::new((protection, peer), (keymat, None), (esp_suite, spis), core, env) {
            Some(standing) => {
                let again = r2_again(to, r2, env);
                up(core, standing, (Some(again), None), env)
            }
            None => core.fails(Reason::Internal, env),
        }
    }
}

/// R2, with a challenge or without.
pub(crate) fn write_r2(
    proved: &mut Proved,
    pair: &Pair,
    challenge: Option<&Challenge>,
    core: &Core,
    env: &mut Env<'_, '_>,
) -> Option<Outgoing> {
    let (own, config) = (&core.own, env.config());
    let variant = pair.keys.variant;
    let mut builder = Builder::new(PacketType::R2, core.local, core.peer);
    let info = EspInfo { keymat_index: 0, old_spi: 0, new_spi: proved.spis.0 };
    builder.parameter(ParameterType::ESP_INFO, |w| info.write(w));
    offers::push_groups(&mut builder, &offers::groups(own, &config));
    let repeats = |kind| repeated(variant).contains(&kind);
    if repeats(ParameterType::HIP_CIPHER) {
        offers::push_ciphers(&mut builder, &offers::ciphers(Exchange::Diet(variant), &config));
    }
    if let Some(challenge) = challenge {
        crate::aka::push_challenge(&mut builder, challenge, &mut proved.protection, env)?;
    }
    push_key(&mut builder, &pair.ours, &mut proved.protection, env)?;
    push_nonce(&mut builder, &pair.keys.nonce);
    if repeats(ParameterType::HIT_SUITE_LIST) {
        offers::push_hit_suites(&mut builder, &config);
    }
    if repeats(ParameterType::TRANSPORT_FORMAT_LIST) {
        offers::push_transports(&mut builder);
    }
    proved.protection.finish(&mut builder, own, env.cx.crypto);
    builder.fitting(true, 0)
}
