//! Fast re-authentication on the server: no vectors, two messages. Read RFC 4186 §5, §9.5 and §9.6 first.

use keytoll_engine::Ctx;

use super::super::attribute::{Attribute, kind};
use super::super::book::Known;
use super::super::checkcode::Transcript;
use super::super::flavour::{Flavour, subtype};
use super::super::message::{Attributes, Builder, Fault, Message};
use super::finish::{Fresh, Proven};
use super::identify::{Peer, full};
use super::{Next, Shared, State, Success, Turn, expect_subtype, mac_of, session_id};

/// Re-authentication is outstanding.
#[derive(Debug)]
pub(super) struct Again {
    peer: Peer,
    counter: u16,
    nonce_s: [u8; 16],
    proven: Proven,
}

pub(super) fn begin(
    known: Known,
    identity: Vec<u8>,
    transcript: Transcript,
    shared: &mut Shared,
    cx: &mut Ctx<'_>,
) -> Next {
    let Known { imsi, keys, counter } = known;
    let nonce_s = shared.rng.bytes();
    let fresh = Fresh::draw_again(&identity, counter.saturating_add(1), shared);
    let mut nested = vec![Attribute::Counter(counter), Attribute::NonceS(nonce_s)];
    nested.extend(fresh.attributes());
    let checkcode = transcript.checkcode(shared.flavour, cx.crypto);
    let request = Builder::request(shared.flavour, shared.identifier, subtype::REAUTHENTICATION)
        .with_if(shared.settings.result_indications, &Attribute::ResultInd)
        .with_if(shared.flavour != Flavour::Sim, &Attribute::Checkcode(&checkcode))
        .encrypted(&nested, &keys, &mut shared.rng, cx.crypto)
        .seal(&keys, &[], cx.crypto);
    let session = keys.reauthenticated(&identity, counter, &nonce_s, cx.crypto);
    let session_id = session_id(shared.flavour, &[&nonce_s, mac_of(&request)]);
    let success = Success { imsi, session, session_id, fast: true };
    let proven = Proven { keys, success, fresh, counter: Some(counter) };
    let peer = Peer { imsi, identity, transcript };
    Ok((State::Again(Box::new(Again { peer, counter, nonce_s, proven })), Turn::Request(request)))
}

impl Again {
    pub(super) fn on_response(self, message: &Message<'_>, shared: &mut Shared, cx: &mut Ctx<'_>) -> Next {
        expect_subtype(message, subtype::REAUTHENTICATION)?;
        message.attributes.only(&[kind::MAC])?;
        message.verify(&self.proven.keys, &[&self.nonce_s], cx.crypto)?;
        self.peer.transcript.verify(shared.flavour, &message.attributes, cx.crypto)?;
        let plain = message.decrypt(&self.proven.keys, cx.crypto)?.ok_or(Fault::Missing("AT_ENCR_DATA"))?;
        let nested = Attributes::read_nested(&plain).map_err(Fault::from)?;
        nested.only(&[kind::COUNTER, kind::COUNTER_TOO_SMALL, kind::PADDING])?;
        if nested.counter() != Some(self.counter) {
            return Err(Fault::Contradiction("AT_COUNTER").into());
        }
        // RFC 4186 §5.5: the peer has seen a higher counter; only a full authentication helps.
        if nested.has(kind::COUNTER_TOO_SMALL) {
            return full(self.peer, shared);
        }
        Ok(self.proven.finish(message, shared, cx))
    }
}
