//! The end of conversations: identities for next time, notifications. Read RFC 4186 §6, §9.8 and §9.9 first.

use keytoll_engine::Ctx;

use super::super::attribute::{Attribute, kind};
use super::super::book::Known;
use super::super::flavour::subtype;
use super::super::identity::{joined, pseudonym, reauthentication, split};
use super::super::keys::Keys;
use super::super::message::{Builder, Message};
use super::{Next, Shared, State, Success, Turn};

/// AT_NOTIFICATION "General failure", before any authentication (RFC 4186 §10.18).
const GENERAL_FAILURE: u16 = 0x4000;

/// AT_NOTIFICATION "Success".
const SUCCESS: u16 = 0x8000;

/// New identities for next time; valid once the peer is authenticated.
#[derive(Debug)]
pub(super) struct Fresh {
    pseudonym: Option<String>,
    reauthentication: Option<String>,
    /// The counter of the next fast re-authentication.
    counter: u16,
}

impl Fresh {
    /// Those of a full authentication.
    pub(super) fn draw(identity: &[u8], counter: u16, shared: &mut Shared) -> Self {
        let name = shared.settings.pseudonyms.then(|| pseudonym(shared.flavour, &mut shared.rng));
        Self { pseudonym: name, ..Self::draw_again(identity, counter, shared) }
    }

    /// The identities after a fast re-authentication.
    pub(super) fn draw_again(identity: &[u8], counter: u16, shared: &mut Shared) -> Self {
        let realm = String::from_utf8_lossy(split(identity).1).into_owned();
        let more = counter <= shared.settings.reauthentications_max;
        let name = more.then(|| joined(&reauthentication(shared.flavour, &mut shared.rng), &realm));
        Self { pseudonym: None, reauthentication: name, counter }
    }

    /// As AT_ENCR_DATA carries them.
    pub(super) fn attributes(&self) -> Vec<Attribute<'_>> {
        let pseudonym = self.pseudonym.iter().map(|name| Attribute::NextPseudonym(name.as_bytes()));
        let again = self.reauthentication.iter().map(|name| Attribute::NextReauthId(name.as_bytes()));
        pseudonym.chain(again).collect()
    }

    fn remember(self, success: &Success, keys: &Keys, shared: &Shared, cx: &Ctx<'_>) {
        let (book, flavour, imsi) = (&shared.book, shared.flavour, success.imsi);
        if let Some(name) = self.pseudonym {
            book.remember_pseudonym(flavour, name.as_bytes(), imsi, cx.now);
        }
        if let Some(name) = self.reauthentication {
            let known = Known { imsi, keys: keys.clone(), counter: self.counter };
            book.remember(flavour, name.as_bytes(), known, cx.now);
        }
    }
}

/// What applies once the peer's answer is verified.
#[derive(Debug)]
pub(super) struct Proven {
    pub(super) keys: Keys,
    pub(super) success: Success,
    pub(super) fresh: Fresh,
    /// The counter of a fast re-authentication, which notifications repeat.
    pub(super) counter: Option<u16>,
}

impl Proven {
    /// The peer's answer is right.
    pub(super) fn finish(
        self,
        message: &Message<'_>,
        shared: &mut Shared,
        cx: &mut Ctx<'_>,
    ) -> (State, Turn) {
        let Self { keys, success, fresh, counter } = self;
        fresh.remember(&success, &keys, shared, cx);
        let indicated = shared.settings.result_indications && message.attributes.has(kind::RESULT_IND);
        if !indicated {
            return (State::Over, Turn::Done(Box::new(success)));
        }
        // RFC 4186 §9.8: after a fast re-authentication the notification repeats AT_COUNTER.
        let nested: Vec<_> = counter.map(Attribute::Counter).into_iter().collect();
        let request = Builder::request(shared.flavour, shared.identifier, subtype::NOTIFICATION)
            .with(&Attribute::Notification(SUCCESS))
            .encrypted(&nested, &keys, &mut shared.rng, cx.crypto)
            .seal(&keys, &[], cx.crypto);
        (State::Notified(Notified::Success(Box::new(success))), Turn::Request(request))
    }
}

/// A notification is outstanding.
#[derive(Debug)]
pub(super) enum Notified {
    Success(Box<Success>),
    Failure(&'static str),
}

/// Notifies the peer of a failure.
pub(super) fn refuse(why: &'static str, shared: &Shared) -> (State, Turn) {
    let request = Builder::request(shared.flavour, shared.identifier, subtype::NOTIFICATION)
        .with(&Attribute::Notification(GENERAL_FAILURE))
        .finish();
    (State::Notified(Notified::Failure(why)), Turn::Request(request))
}

impl Notified {
    /// RFC 4186 §6.2: the peer's answer does not change the notified result.
    pub(super) fn on_response(self) -> Next {
        Ok(match self {
            Self::Success(success) => (State::Over, Turn::Done(success)),
            Self::Failure(why) => (State::Over, Turn::Failed(why)),
        })
    }
}
