//! MD5-Challenge, which every EAP implementation must support: a password, authentication in one direction, no key. Read RFC
//! 3748 §5.4 and RFC 1994 §4.1 first.
//!
//! ```text
//!   server                                  peer
//!     Request  challenge, name       -->
//!                                    <--      Response  MD5(identifier ‖ password ‖ challenge), name
//! ```

use std::sync::Arc;

use keytoll_crypto_api::algorithm::Hash;
use keytoll_crypto_api::{Digest, Secret};
use keytoll_engine::Ctx;
use keytoll_net::wire::{DecodeError, Reader, Writer};

use super::Method;
use crate::method::{
    Keys, PeerMethod, PeerOffer, PeerStep, Reason, ServerMethod, ServerOffer, ServerStep, Turn,
};
use crate::packet::{Message, MethodType};
use crate::passwords::Passwords;

impl MethodType {
    /// RFC 3748 §5.4.
    pub const MD5: Self = Self(4);
}

/// MD5-Challenge with a password.
pub static METHOD: Method = Method {
    name: "md5",
    kind: MethodType::MD5,
    title: "MD5-Challenge",
    has_tls: false,
    card: None,
    inside: None,
    peer: |_, parts| Ok(Arc::new(Md5Peer { password: parts.password()? })),
    server: |parts, _| Ok(Arc::new(Md5Server { passwords: parts.passwords()?, name: parts.name.clone() })),
};

/// The peer's side of it.
#[derive(Debug, Clone)]
pub struct Md5Peer {
    /// The password.
    pub password: Secret,
}

/// The server's side of it.
#[derive(Clone)]
pub struct Md5Server {
    /// The users.
    pub passwords: Arc<dyn Passwords>,
    /// The name that it sends.
    pub name: Vec<u8>,
}

/// Type-Data of both messages. RFC 1994 §4.1:  Value-Size(1) Value(Value-Size) Name(*)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'a> {
    /// The challenge, or the hash.
    pub value: &'a [u8],
    /// The sender's name; may be empty.
    pub name: &'a [u8],
}

impl<'a> Value<'a> {
    /// Reads type data.
    ///
    /// # Errors
    /// A field is truncated.
    pub fn read(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(data);
        let size = r.u8("MD5 value size")?;
        Ok(Self { value: r.take(size.into(), "MD5 value")?, name: r.rest() })
    }

    /// Writes type data.
    ///
    /// # Panics
    /// If the value is longer than 255 bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut w = Writer::with_capacity(1 + self.value.len() + self.name.len());
        w.u8(u8::try_from(self.value.len()).expect("a hash or a challenge we drew"));
        w.bytes(self.value);
        w.bytes(self.name);
        w.finish()
    }
}

impl PeerOffer for Md5Peer {
    fn method(&self) -> MethodType {
        MethodType::MD5
    }

    fn begin(&self) -> Box<dyn PeerMethod> {
        Box::new(self.clone())
    }
}

impl PeerMethod for Md5Peer {
    fn on_request(&mut self, request: &Message<'_>, turn: &mut Turn<'_, '_>) -> PeerStep {
        let Ok(challenge) = Value::read(request.data) else { return PeerStep::Ignore(MALFORMED) };
        // RFC 1994 §2.3: a challenge has at least one byte.
        if challenge.value.is_empty() {
            return PeerStep::Ignore("EAP-MD5 challenge without a value");
        }
        let hash = answer(request.identifier, &self.password, challenge.value, turn.cx);
        let data = Value { value: &hash, name: turn.identity }.write();
        PeerStep::Satisfied(data, Keys::default())
    }
}

impl ServerOffer for Md5Server {
    fn method(&self) -> MethodType {
        MethodType::MD5
    }

    fn tries_password(&self) -> bool {
        true
    }

    fn begin(&self) -> Box<dyn ServerMethod> {
        Box::new(Conversation { offer: self.clone(), challenge: [0; 16] })
    }
}

/// The response is awaited.
struct Conversation {
    offer: Md5Server,
    challenge: [u8; 16],
}

impl ServerMethod for Conversation {
    fn begin(&mut self, turn: &mut Turn<'_, '_>) -> ServerStep {
        self.challenge = turn.rng.bytes();
        ServerStep::Request(Value { value: &self.challenge, name: &self.offer.name }.write())
    }

    fn on_response(&mut self, response: &Message<'_>, turn: &mut Turn<'_, '_>) -> ServerStep {
        let Ok(proof) = Value::read(response.data) else { return ServerStep::Ignore(MALFORMED) };
        let Some(password) = self.offer.passwords.password(turn.identity) else {
            return ServerStep::Failed(Reason::UNKNOWN_USER);
        };
        let expected = answer(response.identifier, &password, &self.challenge, turn.cx);
        if Secret::from(&expected[..]) == Secret::from(proof.value) {
            ServerStep::Done(Keys::default())
        } else {
            ServerStep::Failed(Reason::WRONG_PASSWORD)
        }
    }
}

// RFC 1994 §4.1: the hash is over identifier, secret and challenge.
fn answer(identifier: u8, password: &[u8], challenge: &[u8], cx: &mut Ctx<'_>) -> Digest {
    cx.crypto.hash(Hash::Md5, &[&[identifier], password, challenge])
}

const MALFORMED: &str = "EAP-MD5 malformed";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;
    use proptest::prelude::*;

    #[test]
    fn the_answer_is_what_md5sum_says() {
        // MD5("\x02" ‖ "secret" ‖ sixteen times "a").
        let mut world = World::real();
        let hash = world.lend(|_, cx| answer(2, b"secret", &[b'a'; 16], cx));
        assert_eq!(hash[..], crate::testing::hex(MD5SUM));
    }

    #[test]
    fn truncated_data_are_refused() {
        let data = Value { value: &[7; 16], name: b"" }.write();
        for len in 0..data.len() {
            let error = Value::read(&data[..len]).unwrap_err();
            assert_eq!(error.field, if len == 0 { "MD5 value size" } else { "MD5 value" }, "{len} bytes");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            value in prop::collection::vec(any::<u8>(), 0..256), name in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let data = Value { value: &value, name: &name }.write();
            prop_assert_eq!(Value::read(&data), Ok(Value { value: &value, name: &name }));
        }
    }

    const MD5SUM: &str = "2c4025605fd46308e776a5a161a5c6a8";
}
