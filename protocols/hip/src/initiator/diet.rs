//! The initiator of a diet exchange: I2 and R2. draft-ietf-hip-dex-24 §5.3.3, §5.3.4, §6.6, §6.8.

use std::fmt;

use keytoll_crypto_api::{Secret, about};

use crate::aka::{self, AwaitsCard};
use crate::association::{Core, State, Wait, up};
use crate::diet_keys::{self, DietKeys, KEY_LEN, NONCE_LEN};
use crate::endpoint::Env;
use crate::established::Standing;
use crate::event::Reason;
use crate::identity::{DietVariant, IdentityKey, PeerIdentity};
use crate::initiator::Refusal;
use crate::initiator::i2::{self, I2Sent, Proved};
use crate::initiator::r1::{Choice, ECHO_TOO_LONG, R1, generation};
use crate::keymat::HipKeys;
use crate::number::{GroupId, ParameterType};
use crate::offers;
use crate::outgoing::Outgoing;
use crate::protection::{Counters, Doubt, Exchange, Protection};
use crate::wire::Packet;

/// What a diet exchange remembers until R2.
pub(crate) struct Secrets {
    keys: DietKeys,
    /// x.
    key: [u8; KEY_LEN],
    /// What R2 must repeat.
    lists: Vec<u8>,
}

/// Without what is in it.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// Sends I2.
pub(crate) fn send_i2(
    r1: &R1<'_>,
    variant: DietVariant,
    (choice, shared): (&Choice, Secret),
    core: &Core,
    env: &mut Env<'_, '_>,
) -> Result<I2Sent, Refusal> {
    let keys = DietKeys {
        variant,
        random: r1.puzzle.random.to_vec(),
        shared,
        nonce: match variant {
            DietVariant::Draft24 => env.shared.rng.bytes::<NONCE_LEN>().to_vec(),
            DietVariant::Prototype => Vec::new(),
        },
    };
    let exchange = Exchange::Diet(variant);
    let hits = [core.local, core.peer];
    let mut master = keys.master(hits, env.cx.crypto);
    let lengths = HipKeys::lengths(choice.cipher, exchange.mac());
    let hip = HipKeys::draw(&mut master, lengths, core.local, core.peer, env.cx.crypto)
        .ok_or(Refusal::Fail(Reason::Internal))?;
    let counters = Counters::of(exchange, [r1.puzzle.random, &choice.solution]);
    let mut protection = Protection::new(exchange, choice.cipher, hip, counters);
    let secrets = Secrets { keys, key: env.shared.rng.bytes(), lists: diet_keys::lists(r1.packet, variant) };
    let i2 = write_i2(r1, choice, &secrets, &mut protection, core, env)?;
    Ok(I2Sent {
        wait: Wait::send(i2, core.route, env),
        generation: generation(r1.packet)?,
        protection,
        peer: r1.peer.clone(),
        esp_suite: choice.esp_suite,
        spi: choice.spi,
        has_started_over: false,
        secrets: i2::Secrets::Diet(Box::new(secrets)),
    })
}

/// Kij of both static keys, which must be of one group.
pub(crate) fn agree(r1: &R1<'_>, core: &Core, env: &mut Env<'_, '_>) -> Result<Secret, Refusal> {
    let own = &core.own;
    let (IdentityKey::Agreeing(ours), PeerIdentity::Agreeing { group, public }) = (own.key(), &r1.peer)
    else {
        return Err(Refusal::Fail(Reason::UnsupportedHitSuite));
    };
    let fits = ours.private.group == *group
        && GroupId::of(*group).is_some_and(|group| r1.has_best_group(group, core, env));
    if !fits {
        return Err(Refusal::Fail(Reason::NoProposalChosen));
    }
    about(env.cx.crypto, "key agreement", |crypto| crypto.agree(&ours.private, public))
        .map_err(|_| "public value that its group rejects".into())
}

fn write_i2(
    r1: &R1<'_>,
    choice: &Choice,
    secrets: &Secrets,
    protection: &mut Protection,
    core: &Core,
    env: &mut Env<'_, '_>,
) -> Result<Outgoing, Refusal> {
    let own = &core.own;
    let mut builder = r1.begin_i2(core, choice, 0);
    offers::push_ciphers(&mut builder, &[choice.cipher]);
    if let Some(name) = &core.subscriber {
        let hidden = (ParameterType::AKA_ID, &name[..]);
        let sealed = protection.push_encrypted(&mut builder, hidden, &mut env.shared.rng, env.cx.crypto);
        sealed.ok_or(Refusal::Fail(Reason::Internal))?;
    }
    push_key(&mut builder, &secrets.key, protection, env).ok_or(Refusal::Fail(Reason::Internal))?;
    push_nonce(&mut builder, &secrets.keys.nonce);
    builder.parameter(ParameterType::HOST_ID, |w| own.host_id().write(w));
    r1.push_signed_echo(&mut builder);
    offers::push_transports(&mut builder);
    offers::push_esp_suites(&mut builder, &[choice.esp_suite]);
    protection.finish(&mut builder, own, env.cx.crypto);
    r1.push_unsigned_echoes(&mut builder, env);
    builder.fitting(false, 0).ok_or(Refusal::Discard(ECHO_TOO_LONG))
}

/// Adds ENCRYPTED_KEY.
pub(crate) fn push_key(
    builder: &mut crate::wire::Builder,
    key: &[u8],
    protection: &mut Protection,
    env: &mut Env<'_, '_>,
) -> Option<()> {
    let (_, data) = about(env.cx.crypto, "ENCRYPTED_KEY", |crypto| {
        protection.seal(key.to_vec(), &mut env.shared.rng, crypto)
    })?;
    builder.parameter(ParameterType::ENCRYPTED_KEY, |w| w.bytes(&data));
    Some(())
}

/// Adds I_NONCE, if there is one.
pub(crate) fn push_nonce(builder: &mut crate::wire::Builder, nonce: &[u8]) {
    if !nonce.is_empty() {
        builder.parameter(ParameterType::I_NONCE, |w| w.bytes(nonce));
    }
}

/// What the peer added to the keys.
pub(crate) fn open_key(
    packet: &Packet<'_>,
    protection: &mut Protection,
    env: &mut Env<'_, '_>,
) -> Result<[u8; KEY_LEN], Doubt> {
    let parameter = packet.one(ParameterType::ENCRYPTED_KEY, "ENCRYPTED_KEY").map_err(|error| error.field)?;
    let key = protection.unseal(&[], parameter.bytes().to_vec(), env.cx.crypto);
    key.and_then(|key| key.try_into().ok()).ok_or("ENCRYPTED_KEY of another length")
}

/// Whether an R2 is the responder's, and what it repeats is what R1 said.
pub(crate) fn check_r2(
    sent: &I2Sent,
    secrets: &Secrets,
    packet: &Packet<'_>,
    env: &mut Env<'_, '_>,
) -> Result<(), Doubt> {
    sent.protection.check(packet, &sent.peer, env.cx.crypto)?;
    if diet_keys::lists(packet, secrets.keys.variant) != secrets.lists {
        return Err("R2 repeats other lists than R1");
    }
    let nonce = packet.find(ParameterType::I_NONCE).map_or(&[][..], |nonce| nonce.bytes());
    if nonce != secrets.keys.nonce { Err("R2 with another I_NONCE") } else { Ok(()) }
}

/// R2, which is the responder's.
pub(crate) fn on_r2(
    mut proved: Proved,
    secrets: Secrets,
    core: &mut Core,
    packet: &Packet<'_>,
    env: &mut Env<'_, '_>,
) -> State {
    let wants_aka = core.subscriber.is_some();
    let challenge = packet.find(ParameterType::ENCRYPTED).is_some();
    if wants_aka != challenge {
        return core.fails(Reason::AkaFailed, env);
    }
    // ENCRYPTED comes before ENCRYPTED_KEY, in the packet and in the key stream.
    let challenge = match wants_aka {
        true => match aka::open_challenge(packet, &mut proved.protection, env) {
            Ok(challenge) => Some(challenge),
            Err(_) => return core.fails(Reason::AkaFailed, env),
        },
        false => None,
    };
    let Ok(theirs) = open_key(packet, &mut proved.protection, env) else {
        return core.fails(Reason::AuthenticationFailed, env);
    };
    let pair = aka::Pair { keys: secrets.keys, ours: secrets.key, theirs };
    match challenge {
        Some(challenge) => AwaitsCard::begin(proved, pair, challenge, core, env),
        None => finish(proved, &pair, core, env),
    }
}

fn finish(proved: Proved, pair: &aka::Pair, core: &mut Core, env: &mut Env<'_, '_>) -> State {
    let keymat = pair.keymat(core, &[], env.cx.crypto);
    let Proved { protection, peer, spis, esp_suite } = proved;
    match Standing::new((protection, peer), (keymat, None), (esp_suite, spis), core, env) {
        Some(standing) => up(core, standing, (None, None), env),
        None => core.fails(Reason::Internal, env),
    }
}
