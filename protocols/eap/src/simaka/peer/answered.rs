//! The peer after its answer: identities for next time, result indications. Read RFC 4186 §6, §9.8, §9.9 and §10.18 first.

use keytoll_engine::Ctx;

use super::super::attribute::{Attribute, kind};
use super::super::card::Reauthentication;
use super::super::flavour::subtype;
use super::super::identity::{IDENTITY_BYTES_MAX, split};
use super::super::keys::Keys as MessageKeys;
use super::super::message::{Attributes, Builder, Fault, Message};
use super::super::reason;
use super::{Keys, Next, Shared, State, Step};

/// AT_NOTIFICATION "Success".
const SUCCESS: u16 = 0x8000;

/// The P bit of AT_NOTIFICATION: sent before authentication, hence without AT_MAC.
const BEFORE: u16 = 0x4000;

/// Identities the server gave us.
#[derive(Debug, Default)]
pub(super) struct Given {
    pseudonym: Option<Vec<u8>>,
    reauthentication: Option<Vec<u8>>,
}

impl Given {
    /// The identities in the challenge of a full authentication.
    pub(super) fn read_full(
        message: &Message<'_>,
        keys: &MessageKeys,
        cx: &mut Ctx<'_>,
    ) -> Result<Self, Fault> {
        let Some(plain) = message.decrypt(keys, cx.crypto)? else { return Ok(Self::default()) };
        let nested = Attributes::read_nested(&plain)?;
        nested.only(&[kind::PADDING])?;
        Ok(Self::of(&nested))
    }

    /// The identities in a decrypted AT_ENCR_DATA; those that are too long are omitted.
    pub(super) fn of(nested: &Attributes<'_>) -> Self {
        let usable = |name: &&[u8]| !name.is_empty() && name.len() <= IDENTITY_BYTES_MAX;
        Self {
            pseudonym: nested.next_pseudonym().filter(usable).map(<[u8]>::to_vec),
            reauthentication: nested.next_reauth_id().filter(usable).map(<[u8]>::to_vec),
        }
    }
}

/// The server is authenticated, and we have answered.
#[derive(Debug)]
pub(super) struct Answered {
    keys: MessageKeys,
    done: Keys,
    given: Given,
    /// The counter of a fast re-authentication, which notifications repeat.
    counter: Option<u16>,
    /// Whether both sides use result indications.
    indicated: bool,
}

impl Answered {
    pub(super) fn new(
        keys: MessageKeys,
        done: Keys,
        given: Given,
        counter: Option<u16>,
        indicated: bool,
    ) -> Self {
        Self { keys, done, given, counter, indicated }
    }

    /// Sends our answer; without indications that is the end.
    pub(super) fn settle(self, response: Vec<u8>, shared: &Shared) -> (State, Step) {
        if self.indicated {
            return (State::Answered(Box::new(self)), Step::Continue(response));
        }
        self.satisfied(response, shared)
    }

    fn satisfied(mut self, response: Vec<u8>, shared: &Shared) -> (State, Step) {
        shared.keep(std::mem::take(&mut self.given), &self.keys, self.counter);
        let step = Step::Satisfied(response, Box::new(self.done.clone()));
        (State::Answered(Box::new(self)), step)
    }

    pub(super) fn on_notification(
        self,
        message: &Message<'_>,
        shared: &mut Shared,
        cx: &mut Ctx<'_>,
    ) -> Next {
        message.attributes.only(&[kind::NOTIFICATION, kind::MAC])?;
        let code = message.attributes.notification().ok_or(Fault::Missing("AT_NOTIFICATION"))?;
        // RFC 4186 §6.1: notifications after authentication are protected; those marked as before it mean failure.
        if code & BEFORE != 0 {
            return notified_early(message, shared);
        }
        message.verify(&self.keys, &[], cx.crypto)?;
        self.check_counter(message, cx)?;
        let nested: Vec<_> = self.counter.map(Attribute::Counter).into_iter().collect();
        let response = Builder::response(shared.flavour, message.identifier, subtype::NOTIFICATION)
            .encrypted(&nested, &self.keys, &mut shared.rng, cx.crypto)
            .seal(&self.keys, &[], cx.crypto);
        match code {
            // RFC 4186 §6.2: success may only be indicated if both sides requested it.
            SUCCESS if self.indicated => Ok(self.satisfied(response, shared)),
            SUCCESS => Err(Fault::Contradiction("AT_NOTIFICATION").into()),
            _ => Ok((State::Over, Step::Failed(response, reason::NOTIFIED))),
        }
    }

    /// RFC 4186 §9.8: after a fast re-authentication the notification repeats its counter.
    fn check_counter(&self, message: &Message<'_>, cx: &mut Ctx<'_>) -> Result<(), Fault> {
        let Some(counter) = self.counter else { return Ok(()) };
        let plain = message.decrypt(&self.keys, cx.crypto)?.ok_or(Fault::Missing("AT_ENCR_DATA"))?;
        let nested = Attributes::read_nested(&plain)?;
        (nested.counter() == Some(counter)).then_some(()).ok_or(Fault::Contradiction("AT_COUNTER"))
    }
}

/// A notification before any authentication, which can only mean failure.
pub(super) fn notified_early(message: &Message<'_>, shared: &Shared) -> Next {
    message.attributes.only(&[kind::NOTIFICATION])?;
    match message.attributes.notification() {
        None => Err(Fault::Missing("AT_NOTIFICATION").into()),
        Some(code) if code & BEFORE == 0 || code & SUCCESS != 0 => {
            Err(Fault::Contradiction("AT_NOTIFICATION").into())
        }
        Some(_) => {
            let response = Builder::response(shared.flavour, message.identifier, subtype::NOTIFICATION);
            Ok((State::Over, Step::Failed(response.finish(), reason::NOTIFIED)))
        }
    }
}

impl Shared {
    /// Whether both sides request result indications.
    pub(super) fn wants_indication(&self, attributes: &Attributes<'_>) -> bool {
        self.settings.result_indications && attributes.has(kind::RESULT_IND)
    }

    pub(super) fn session_id(&self, parts: &[&[u8]]) -> Vec<u8> {
        let mut id = vec![self.flavour.method_type()];
        parts.iter().for_each(|part| id.extend_from_slice(part));
        id
    }

    /// Stores the server's identities on the card; a pseudonym gets the card's realm, and is omitted if it is too long with it.
    fn keep(&self, given: Given, keys: &MessageKeys, counter: Option<u16>) {
        let mut card = self.card.lock();
        let realm = card.realm.clone();
        let pseudonym = given.pseudonym.and_then(|name| with_realm(name, &realm));
        let counter = counter.map_or(1, |counter| counter.saturating_add(1));
        let keys = keys.clone();
        let again = given.reauthentication.map(|identity| Reauthentication { identity, keys, counter });
        card.keep(self.flavour, pseudonym, again);
    }
}

/// The name with the realm, unless it has one; `None` if it is too long then.
fn with_realm(mut name: Vec<u8>, realm: &str) -> Option<Vec<u8>> {
    if split(&name).1.is_empty() && !realm.is_empty() {
        name.push(b'@');
        name.extend_from_slice(realm.as_bytes());
    }
    (name.len() <= IDENTITY_BYTES_MAX).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_identities_are_not_stored() {
        let longest = [b'2'; IDENTITY_BYTES_MAX];
        let too_long = [b'2'; IDENTITY_BYTES_MAX + 1];
        for (name, is_kept) in [(&b""[..], false), (b"2a", true), (&longest, true), (&too_long, false)] {
            let packet = Builder::request(crate::simaka::flavour::Flavour::Aka, 1, subtype::AKA_CHALLENGE)
                .with(&Attribute::NextPseudonym(name))
                .with(&Attribute::NextReauthId(name))
                .finish();
            let given = Given::of(&Attributes::read_nested(&packet[8..]).unwrap());
            let expected = is_kept.then(|| name.to_vec());
            assert_eq!(
                (given.pseudonym, given.reauthentication),
                (expected.clone(), expected),
                "{}",
                name.len()
            );
        }
    }

    #[test]
    fn a_pseudonym_gets_the_realm_of_the_card_unless_it_has_one() {
        let named = |name: &[u8], realm| with_realm(name.to_vec(), realm);
        assert_eq!(named(b"2a", "home"), Some(b"2a@home".to_vec()));
        assert_eq!(named(b"2a@away", "home"), Some(b"2a@away".to_vec()));
        assert_eq!(named(b"2a", ""), Some(b"2a".to_vec()));
        let longest = [b'2'; IDENTITY_BYTES_MAX];
        assert_eq!((named(&longest, "home"), named(&longest, "")), (None, Some(longest.to_vec())));
    }
}
