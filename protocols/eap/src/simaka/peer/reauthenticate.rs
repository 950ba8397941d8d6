//! Fast re-authentication of the peer. Read RFC 4186 §5, §9.5 and §9.6 first.

use keytoll_engine::Ctx;

use super::super::attribute::{Attribute, kind};
use super::super::card::Reauthentication;
use super::super::flavour::subtype;
use super::super::message::{Attributes, Builder, Fault, Message};
use super::answered::{Answered, Given};
use super::identity::Waiting;
use super::{Keys, Next, Shared, State, Step};

/// The contents of AT_ENCR_DATA in the request.
struct Request {
    counter: u16,
    nonce_s: [u8; 16],
    given: Given,
}

pub(super) fn on_request(
    wait: Box<Waiting>,
    message: &Message<'_>,
    shared: &mut Shared,
    cx: &mut Ctx<'_>,
) -> Next {
    message.attributes.only(&[kind::MAC])?;
    let known = shared.known().ok_or(Fault::Subtype(message.subtype))?;
    message.verify(&known.keys, &[], cx.crypto)?;
    wait.transcript.verify(shared.flavour, &message.attributes, cx.crypto)?;
    let request = Request::read(message, &known, cx)?;
    // RFC 4186 §5.3: each fast re-authentication identity is valid once.
    shared.card.lock().forget_reauthentication(shared.flavour);
    let counter_too_small = request.counter < known.counter;
    let indicated = !counter_too_small && shared.wants_indication(&message.attributes);
    let response = response(&wait, &request, &known, counter_too_small, indicated, message, shared, cx);
    if counter_too_small {
        return Ok((State::Waiting(wait), Step::Continue(response)));
    }
    Ok(answered(request, known, indicated, message, shared, cx).settle(response, shared))
}

fn answered(
    request: Request,
    known: Reauthentication,
    indicated: bool,
    message: &Message<'_>,
    shared: &Shared,
    cx: &mut Ctx<'_>,
) -> Answered {
    let Request { counter, nonce_s, given } = request;
    let session = known.keys.reauthenticated(&shared.identity, counter, &nonce_s, cx.crypto);
    let mac = message.attributes.mac().unwrap_or_default();
    let done = Keys { session, session_id: shared.session_id(&[&nonce_s, &mac]), fast: true };
    Answered::new(known.keys, done, given, Some(counter), indicated)
}

#[expect(clippy::too_many_arguments, reason = "one response of two forms, from everything known so far")]
fn response(
    wait: &Waiting,
    request: &Request,
    known: &Reauthentication,
    counter_too_small: bool,
    indicated: bool,
    message: &Message<'_>,
    shared: &mut Shared,
    cx: &mut Ctx<'_>,
) -> Vec<u8> {
    let mut nested = vec![Attribute::Counter(request.counter)];
    if counter_too_small {
        nested.push(Attribute::CounterTooSmall);
    }
    let checkcode = wait.transcript.checkcode(shared.flavour, cx.crypto);
    Builder::response(shared.flavour, message.identifier, subtype::REAUTHENTICATION)
        .with_if(indicated, &Attribute::ResultInd)
        .with_if(message.attributes.has(kind::CHECKCODE), &Attribute::Checkcode(&checkcode))
        .encrypted(&nested, &known.keys, &mut shared.rng, cx.crypto)
        .seal(&known.keys, &[&request.nonce_s], cx.crypto)
}

impl Request {
    fn read(message: &Message<'_>, known: &Reauthentication, cx: &mut Ctx<'_>) -> Result<Self, Fault> {
        let plain = message.decrypt(&known.keys, cx.crypto)?.ok_or(Fault::Missing("AT_ENCR_DATA"))?;
        let nested = Attributes::read_nested(&plain)?;
        nested.only(&[kind::COUNTER, kind::NONCE_S, kind::PADDING])?;
        Ok(Self {
            counter: nested.counter().ok_or(Fault::Missing("AT_COUNTER"))?,
            nonce_s: nested.nonce_s().ok_or(Fault::Missing("AT_NONCE_S"))?,
            given: Given::of(&nested),
        })
    }
}

impl Shared {
    /// The state behind the identity that we last sent, if it was one for fast re-authentication.
    fn known(&self) -> Option<Reauthentication> {
        let card = self.card.lock();
        card.reauthentication(self.flavour).filter(|known| known.identity == self.identity).cloned()
    }
}
