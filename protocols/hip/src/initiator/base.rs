//! The initiator of a base exchange: I2 and R2. RFC 7401 §5.3.3, §5.3.4, §6.10.

use keytoll_crypto_api::about;
use keytoll_net::wire::Writer;

use crate::association::{Core, State, Wait, up};
use crate::endpoint::Env;
use crate::established::{KeyAgreement, Standing};
use crate::event::Reason;
use crate::initiator::Refusal;
use crate::initiator::i2::{self, I2Sent, Proved};
use crate::initiator::r1::{Choice, ECHO_TOO_LONG, R1, generation};
use crate::keymat::{HipKeys, Keymat};
use crate::number::{ParameterType, Rhash};
use crate::offers;
use crate::outgoing::Outgoing;
use crate::protection::{Counters, Doubt, Exchange, Protection};
use crate::wire::Packet;
use crate::wire::key_exchange::DiffieHellman;

/// What a base exchange remembers until R2.
#[derive(Debug)]
pub(crate) struct Secrets {
    keymat: Keymat,
    agreement: KeyAgreement,
    /// The responder's HOST_ID parameter, which HIP_MAC_2 covers.
    host_id: Vec<u8>,
}

/// Sends I2.
pub(crate) fn send_i2(
    r1: &R1<'_>,
    rhash: Rhash,
    choice: &Choice,
    core: &Core,
    env: &mut Env<'_, '_>,
) -> Result<I2Sent, Refusal> {
    let agreement = agree(r1, rhash, &choice.solution, core, env)?;
    let leniency = env.shared.config.leniency;
    let crypto = &mut *env.cx.crypto;
    let mut keymat = agreement
        .keymat([core.local, core.peer], leniency, crypto)
        .ok_or("public value that its group rejects")?;
    let lengths = HipKeys::lengths(choice.cipher, rhash.hmac());
    let keys = HipKeys::draw(&mut keymat, lengths, core.local, core.peer, crypto)
        .ok_or(Refusal::Fail(Reason::Internal))?;
    let (exchange, keys) = (Exchange::Base(rhash), leniency.keys(keys));
    let mut protection = Protection::new(exchange, choice.cipher, keys, Counters::default());
    let i2 = write_i2(r1, choice, (&agreement, keymat.drawn()), &mut protection, core, env)?;
    let secrets = Secrets { keymat, agreement, host_id: r1.host_id.to_vec() };
    Ok(I2Sent {
        wait: Wait::send(i2, core.route, env),
        generation: generation(r1.packet)?,
        protection,
        peer: r1.peer.clone(),
        esp_suite: choice.esp_suite,
        spi: choice.spi,
        has_started_over: false,
        secrets: i2::Secrets::Base(Box::new(secrets)),
    })
}

/// A key pair of ours for the responder's.
fn agree(
    r1: &R1<'_>,
    rhash: Rhash,
    solution: &[u8],
    core: &Core,
    env: &mut Env<'_, '_>,
) -> Result<KeyAgreement, Refusal> {
    let parameter = r1.packet.one(ParameterType::DIFFIE_HELLMAN, "DIFFIE_HELLMAN")?;
    let theirs = DiffieHellman::read(parameter.contents)?;
    let group = theirs.group.group().filter(|_| r1.has_best_group(theirs.group, core, env));
    let group = group.ok_or(Refusal::Fail(Reason::NoProposalChosen))?;
    let rng = &mut env.shared.rng;
    let ours = about(env.cx.crypto, "key agreement", |crypto| crypto.generate(group, rng));
    Ok(KeyAgreement {
        rhash,
        salt: [r1.puzzle.random, solution].concat(),
        ours,
        theirs: theirs.public.to_vec(),
    })
}

fn write_i2(
    r1: &R1<'_>,
    choice: &Choice,
    (agreement, keymat_index): (&KeyAgreement, usize),
    protection: &mut Protection,
    core: &Core,
    env: &mut Env<'_, '_>,
) -> Result<Outgoing, Refusal> {
    let own = &core.own;
    let mut builder = r1.begin_i2(core, choice, keymat_index);
    builder.parameter(ParameterType::DIFFIE_HELLMAN, |w| agreement.exchanged().write(w));
    offers::push_ciphers(&mut builder, &[choice.cipher]);
    if env.shared.config.encrypt_host_id {
        let mut contents = Writer::default();
        own.host_id().write(&mut contents);
        let hidden = (ParameterType::HOST_ID, contents.as_slice());
        let sealed = protection.push_encrypted(&mut builder, hidden, &mut env.shared.rng, env.cx.crypto);
        sealed.ok_or(Refusal::Fail(Reason::Internal))?;
    } else {
        builder.parameter(ParameterType::HOST_ID, |w| own.host_id().write(w));
    }
    r1.push_signed_echo(&mut builder);
    offers::push_transports(&mut builder);
    offers::push_esp_suites(&mut builder, &[choice.esp_suite]);
    protection.finish(&mut builder, own, env.cx.crypto);
    r1.push_unsigned_echoes(&mut builder, env);
    builder.fitting(false, 0).ok_or(Refusal::Discard(ECHO_TOO_LONG))
}

/// Whether an R2 is the responder's.
pub(crate) fn check_r2(
    sent: &I2Sent,
    secrets: &Secrets,
    packet: &Packet<'_>,
    env: &mut Env<'_, '_>,
) -> Result<(), Doubt> {
    let kind = env.shared.config.leniency.r2_signature();
    sent.protection.check_r2(packet, (&sent.peer, &secrets.host_id, kind), env.cx.crypto)
}

/// The association is up.
pub(crate) fn finish(
    Proved { protection, peer, spis, esp_suite }: Proved,
    secrets: Secrets,
    core: &mut Core,
    env: &mut Env<'_, '_>,
) -> State {
    let (keymat, agreement) = (secrets.keymat, Some(Box::new(secrets.agreement)));
    let protection = protection.settled(env.shared.config.leniency);
    let standing = Standing::new((protection, peer), (keymat, agreement), (esp_suite, spis), core, env);
    match standing {
        Some(standing) => up(core, standing, (None, None), env),
        None => core.fails(Reason::Internal, env),
    }
}
