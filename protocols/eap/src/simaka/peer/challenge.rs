//! Answering challenges. Read RFC 4186 §3 and §9.3, RFC 4187 §3, §6.3 and §9.3, RFC 9048 §3.1 to §3.3 and §4 first.

use keytoll_crypto_api::Secret;
use keytoll_engine::Ctx;

use super::super::attribute::{Attribute, kind};
use super::super::card::{Answer, Refused};
use super::super::centre::SEPARATION_BIT;
use super::super::flavour::{Flavour, subtype};
use super::super::keys::{Keys as MessageKeys, Session, SimInputs};
use super::super::message::{Attributes, Builder, Fault, Message};
use super::super::vector::prime;
use super::super::{KDF_CK_PRIME, SIM_VERSION, reason};
use super::answered::{Answered, Given};
use super::identity::Waiting;
use super::{Keys, Next, Refusal, Shared, State, Step, UNABLE_TO_PROCESS};

/// Maximum number of AUTS in one conversation; a resynchronised server needs only one.
const RESYNCHRONISATIONS_MAX: u8 = 2;

/// EAP-SIM's challenge.
pub(super) fn sim(wait: &Waiting, message: &Message<'_>, shared: &mut Shared, cx: &mut Ctx<'_>) -> Next {
    let start = wait.start.as_ref().ok_or(Fault::Subtype(message.subtype))?;
    message.attributes.only(&[kind::RAND, kind::MAC])?;
    let rands = message.attributes.rand().ok_or(Fault::Missing("AT_RAND"))?;
    check_rands(rands, shared.settings.challenges_min)?;
    let (sres, kcs) = sim_answers(rands, shared, cx);
    let inputs = SimInputs {
        identity: &shared.identity,
        kcs: &kcs,
        nonce_mt: &start.nonce_mt,
        versions: &start.versions,
        selected: SIM_VERSION,
    };
    let (keys, session) = MessageKeys::sim(&inputs, cx.crypto);
    message.verify(&keys, &[&start.nonce_mt], cx.crypto)?;
    let given = Given::read_full(message, &keys, cx)?;
    let indicated = shared.wants_indication(&message.attributes);
    let sres: Vec<&[u8]> = sres.iter().map(|sres| &sres[..]).collect();
    let response = Builder::response(Flavour::Sim, message.identifier, subtype::SIM_CHALLENGE)
        .with_if(indicated, &Attribute::ResultInd)
        .seal(&keys, &sres, cx.crypto);
    let session_id = shared.session_id(&[rands, &start.nonce_mt]);
    let done = Keys { session, session_id, fast: false };
    Ok(Answered::new(keys, done, given, None, indicated).settle(response, shared))
}

fn check_rands(rands: &[u8], count_min: usize) -> Result<(), Refusal> {
    let list: Vec<&[u8]> = rands.chunks(16).collect();
    if list.len() < count_min {
        return Err(Refusal::client_error(2, reason::TOO_FEW_CHALLENGES));
    }
    // RFC 4186 §10.9: two or three challenges, all different.
    let repeated = list.iter().enumerate().any(|(at, rand)| list[..at].contains(rand));
    if repeated || list.len() > 3 {
        return Err(Refusal::client_error(UNABLE_TO_PROCESS, reason::MALFORMED));
    }
    Ok(())
}

fn sim_answers(rands: &[u8], shared: &Shared, cx: &mut Ctx<'_>) -> (Vec<Secret>, Vec<Secret>) {
    let card = shared.card.lock();
    let answer = |rand: &[u8]| card.gsm(rand.try_into().expect("AT_RAND is whole challenges"), cx.crypto);
    rands.chunks(16).map(answer).unzip()
}

/// The challenge of EAP-AKA and EAP-AKA′.
pub(super) fn aka(
    mut wait: Box<Waiting>,
    message: &Message<'_>,
    shared: &mut Shared,
    cx: &mut Ctx<'_>,
) -> Next {
    let attributes = &message.attributes;
    attributes.only(allowed(shared.flavour))?;
    if shared.flavour == Flavour::AkaPrime && !agree_on_kdf(&mut wait, attributes, shared)? {
        let response = Builder::response(shared.flavour, message.identifier, subtype::AKA_CHALLENGE)
            .with(&Attribute::Kdf(KDF_CK_PRIME))
            .finish();
        return Ok((State::Waiting(wait), Step::Continue(response)));
    }
    // RFC 9048 §4: a server that prefers EAP-AKA′ is treated like one with an invalid AUTN.
    if shared.flavour == Flavour::Aka && shared.settings.can_prime && attributes.bidding() == Some(true) {
        return Err(Refusal::reject(reason::BIDDING_DOWN));
    }
    let rand = attributes.rand().ok_or(Fault::Missing("AT_RAND"))?;
    let rand: [u8; 16] = rand.try_into().map_err(|_| Fault::Contradiction("AT_RAND"))?;
    let autn = attributes.autn().ok_or(Fault::Missing("AT_AUTN"))?;
    // TS 33.402 §6.1: a vector for EAP-AKA′ has the separation bit set.
    if shared.flavour == Flavour::AkaPrime && autn[6] & SEPARATION_BIT == 0 {
        return Err(Refusal::reject(reason::NETWORK_REJECTED));
    }
    let answer = shared.card.lock().umts(&rand, &autn, cx.crypto);
    match answer {
        Ok(answer) => answer_with(&wait, &answer, (&rand, &autn), message, shared, cx),
        Err(Refused::Synchronise(auts)) => resynchronise(wait, auts, message, shared),
        Err(Refused::Mac | Refused::NotUmts) => Err(Refusal::reject(reason::NETWORK_REJECTED)),
        Err(Refused::Memory) => Err(Refusal::client_error(UNABLE_TO_PROCESS, reason::CARD_MEMORY)),
    }
}

fn answer_with(
    wait: &Waiting,
    answer: &Answer,
    (rand, autn): (&[u8; 16], &[u8; 16]),
    message: &Message<'_>,
    shared: &mut Shared,
    cx: &mut Ctx<'_>,
) -> Next {
    let flavour = shared.flavour;
    let (keys, session) = keys(answer, autn, &message.attributes, shared, cx);
    message.verify(&keys, &[], cx.crypto)?;
    wait.transcript.verify(flavour, &message.attributes, cx.crypto)?;
    let given = Given::read_full(message, &keys, cx)?;
    let indicated = shared.wants_indication(&message.attributes);
    let checkcode = wait.transcript.checkcode(flavour, cx.crypto);
    let response = Builder::response(flavour, message.identifier, subtype::AKA_CHALLENGE)
        .with(&Attribute::Res(&answer.res))
        .with_if(indicated, &Attribute::ResultInd)
        .with_if(message.attributes.has(kind::CHECKCODE), &Attribute::Checkcode(&checkcode))
        .seal(&keys, &[], cx.crypto);
    let done = Keys { session, session_id: shared.session_id(&[rand, autn]), fast: false };
    Ok(Answered::new(keys, done, given, None, indicated).settle(response, shared))
}

fn keys(
    answer: &Answer,
    autn: &[u8; 16],
    attributes: &Attributes<'_>,
    shared: &Shared,
    cx: &mut Ctx<'_>,
) -> (MessageKeys, Session) {
    if shared.flavour != Flavour::AkaPrime {
        return MessageKeys::aka(&shared.identity, &answer.ck, &answer.ik, cx.crypto);
    }
    let network = attributes.kdf_input().unwrap_or_default();
    let (ck, ik) = prime(&answer.ck, &answer.ik, network, autn, cx.crypto);
    MessageKeys::aka_prime(&shared.identity, &ck, &ik, cx.crypto)
}

/// AKA-Synchronization-Failure.
fn resynchronise(mut wait: Box<Waiting>, auts: [u8; 14], message: &Message<'_>, shared: &Shared) -> Next {
    wait.resynchronised += 1;
    if wait.resynchronised > RESYNCHRONISATIONS_MAX {
        return Err(Refusal::client_error(UNABLE_TO_PROCESS, reason::RESYNCHRONISATION));
    }
    let response =
        Builder::response(shared.flavour, message.identifier, subtype::AKA_SYNCHRONIZATION_FAILURE)
            .with(&Attribute::Auts(auts));
    // RFC 9048 §3.2: AT_KDF is repeated unchanged, in EAP-AKA′ only.
    let kdfs = message.attributes.kdfs();
    let response = kdfs.iter().fold(response, |response, &kdf| response.with(&Attribute::Kdf(kdf)));
    wait.kdfs = None;
    Ok((State::Waiting(wait), Step::Continue(response.finish())))
}

/// Whether the first function in AT_KDF is supported; if not, whether another is, so that we request it.
fn agree_on_kdf(wait: &mut Waiting, attributes: &Attributes<'_>, shared: &Shared) -> Result<bool, Refusal> {
    let network = attributes.kdf_input().ok_or(Fault::Missing("AT_KDF_INPUT"))?;
    // RFC 9048 §3.1: if the device knows the network's name, a different one is an error.
    if shared.settings.network.as_ref().is_some_and(|known| known != network) || network.is_empty() {
        return Err(Refusal::reject(reason::NETWORK_REJECTED));
    }
    let kdfs = attributes.kdfs();
    if let Some(before) = wait.kdfs.take() {
        // RFC 9048 §3.2: the answer to our request lists it first and then everything as before.
        let expected = [&[KDF_CK_PRIME], &before[..]].concat();
        return if kdfs == expected { Ok(true) } else { Err(Refusal::reject(reason::NO_KDF)) };
    }
    let repeated = kdfs.iter().enumerate().any(|(at, kdf)| kdfs[..at].contains(kdf));
    match kdfs.first() {
        Some(&KDF_CK_PRIME) if !repeated => Ok(true),
        Some(_) if !repeated && kdfs.contains(&KDF_CK_PRIME) => {
            wait.kdfs = Some(kdfs);
            Ok(false)
        }
        _ => Err(Refusal::reject(reason::NO_KDF)),
    }
}

const fn allowed(flavour: Flavour) -> &'static [u8] {
    match flavour {
        Flavour::AkaPrime => &[kind::RAND, kind::AUTN, kind::MAC, kind::KDF, kind::KDF_INPUT],
        Flavour::Aka | Flavour::Sim => &[kind::RAND, kind::AUTN, kind::MAC],
    }
}
