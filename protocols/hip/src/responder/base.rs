//! The responder of a base exchange: I2 and R2. RFC 7401 §5.3.4, §6.9.

use crate::association::{Core, Fingerprint, State, up};
use crate::endpoint::Env;
use crate::established::{KeyAgreement, Standing};
use crate::event::Reason;
use crate::identity::PeerIdentity;
use crate::initiator::i2::peer_spi;
use crate::keymat::{HipKeys, Keymat};
use crate::number::{Cipher, EspSuite, PacketType, ParameterType, Rhash};
use crate::offers::Offer;
use crate::protection::{Counters, Doubt, Exchange, Protection};
use crate::responder::i2::{Asked, peer_identity, r2_again};
use crate::responder::r1::Responder;
use crate::wire::encrypted::only_parameter;
use crate::wire::esp::EspInfo;
use crate::wire::key_exchange::DiffieHellman;
use crate::wire::{Builder, HostId, Packet};

/// An I2 that is the initiator's.
#[derive(Debug)]
pub(crate) struct Accepted {
    protection: Protection,
    peer: PeerIdentity,
    keymat: Keymat,
    agreement: KeyAgreement,
    esp_suite: EspSuite,
    peer_spi: u32,
}

/// Checks an I2 whose puzzle is solved.
pub(crate) fn verify(
    asked: &Asked,
    rhash: Rhash,
    responder: &Responder,
    packet: &Packet<'_>,
    env: &mut Env<'_, '_>,
) -> Result<Box<Accepted>, Doubt> {
    let offer = Offer::read(packet).map_err(|error| error.field)?;
    let exchange = Exchange::Base(rhash);
    let (cipher, esp_suite) =
        offer.chosen(exchange, &env.shared.config).ok_or("INVALID_HIP_CIPHER_CHOSEN")?;
    let agreement = agreement(asked, rhash, responder, packet)?;
    let hits = [asked.responder, asked.initiator];
    let leniency = env.shared.config.leniency;
    let keymat = agreement.keymat(hits, leniency, env.cx.crypto);
    let mut keymat = keymat.ok_or("public value that its group rejects")?;
    let mut protection = protect(&mut keymat, (exchange, cipher), hits, env)?;
    let peer = identity(asked, packet, &mut protection, env)?;
    protection.check(packet, &peer, env.cx.crypto)?;
    let peer_spi = peer_spi(packet)?;
    Ok(Box::new(Accepted { protection, peer, keymat, agreement, esp_suite, peer_spi }))
}

fn protect(
    keymat: &mut Keymat,
    (exchange, cipher): (Exchange, Cipher),
    [own, peer]: [crate::hit::Hit; 2],
    env: &mut Env<'_, '_>,
) -> Result<Protection, Doubt> {
    let lengths = HipKeys::lengths(cipher, exchange.mac());
    let keys = HipKeys::draw(keymat, lengths, own, peer, env.cx.crypto).ok_or("keying material used up")?;
    let keys = env.shared.config.leniency.keys(keys);
    Ok(Protection::new(exchange, cipher, keys, Counters::default()))
}

/// Our key pair of the R1 that was answered, and the initiator's public value.
fn agreement(
    asked: &Asked,
    rhash: Rhash,
    responder: &Responder,
    packet: &Packet<'_>,
) -> Result<KeyAgreement, Doubt> {
    let parameter =
        packet.one(ParameterType::DIFFIE_HELLMAN, "DIFFIE_HELLMAN").map_err(|error| error.field)?;
    let theirs = DiffieHellman::read(parameter.contents).map_err(|error| error.field)?;
    let ours = responder.key((asked.index, theirs.group), asked.solved.generation);
    Ok(KeyAgreement {
        rhash,
        salt: [&asked.solved.random[..], &asked.solved.solution].concat(),
        ours: ours.ok_or("INVALID_DH_CHOSEN")?.clone(),
        theirs: theirs.public.to_vec(),
    })
}

/// The initiator's identity, in the clear or encrypted.
fn identity(
    asked: &Asked,
    packet: &Packet<'_>,
    protection: &mut Protection,
    env: &mut Env<'_, '_>,
) -> Result<PeerIdentity, Doubt> {
    if let Some(parameter) = packet.find(ParameterType::HOST_ID) {
        let host_id = HostId::read(parameter.contents).map_err(|error| error.field)?;
        return peer_identity(&host_id, asked.initiator, env);
    }
    let plain = protection.open(packet, env.cx.crypto).map_err(|_| "ENCRYPTION_FAILED")?;
    let inner = only_parameter(&plain, ParameterType::HOST_ID).map_err(|_| "ENCRYPTION_FAILED")?;
    let host_id = HostId::read(inner.contents).map_err(|error| error.field)?;
    peer_identity(&host_id, asked.initiator, env)
}

impl Accepted {
    /// Sends R2: the association is up.
    pub(crate) fn answer(self, to: Fingerprint, core: &mut Core, env: &mut Env<'_, '_>) -> State {
        let spi = core.take_spi(env);
        let mut builder = Builder::new(PacketType::R2, core.local, core.peer);
        let keymat_index = u16::try_from(self.keymat.drawn()).unwrap_or(u16::MAX);
        let info = EspInfo { keymat_index, old_spi: 0, new_spi: spi };
        builder.parameter(ParameterType::ESP_INFO, |w| info.write(w));
        let kind = env.shared.config.leniency.r2_signature();
        self.protection.finish_r2(&mut builder, (&core.own, kind), env.cx.crypto);
        let r2 = builder.outgoing(true, 0);
        env.transmit(core.route, &r2, false);
        let keys = (self.keymat, Some(Box::new(self.agreement)));
        let pair = (self.esp_suite, (spi, self.peer_spi));
        let protection = self.protection.settled(env.shared.config.leniency);
        match Standing::new((protection, self.peer), keys, pair, core, env) {
            Some(standing) => {
                let again = r2_again(to, r2, env);
                up(core, standing, (Some(again), None), env)
            }
            None => core.fails(Reason::Internal, env),
        }
    }
}
