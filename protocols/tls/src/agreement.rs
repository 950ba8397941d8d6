//! Key agreement: RFC 8446 §4.2.8 (key shares), RFC 8422 §5.4 (TLS 1.2).

use keytoll_crypto_api::PrivateKey;
use keytoll_crypto_api::algorithm::Group;
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved};

use crate::lent::lent;

/// All groups; the first is the one for which a client sends a share.
pub(crate) static GROUPS: [&'static dyn SupportedKxGroup; 4] = [
    &Agreement { group: Group::X25519, name: NamedGroup::X25519 },
    &Agreement { group: Group::Ecp256, name: NamedGroup::secp256r1 },
    &Agreement { group: Group::Ecp384, name: NamedGroup::secp384r1 },
    &Agreement { group: Group::Ecp521, name: NamedGroup::secp521r1 },
];

/// RFC 8446 §4.2.8.2: the byte for uncompressed points. IKE, and so the crypto trait, omits it.
const UNCOMPRESSED: u8 = 4;

/// One group.
#[derive(Debug)]
struct Agreement {
    group: Group,
    name: NamedGroup,
}

impl SupportedKxGroup for Agreement {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        lent(|lent| {
            let rng = lent.rng.ok_or(Error::FailedToGetRandomBytes)?;
            let pair = lent.crypto.generate(self.group, rng);
            let public = point_prefix(self.group).iter().copied().chain(pair.public).collect();
            Ok(Box::new(Started { name: self.name, private: pair.private, public }) as _)
        })
    }

    fn name(&self) -> NamedGroup {
        self.name
    }
}

/// An agreement that waits for the other side's share.
struct Started {
    name: NamedGroup,
    private: PrivateKey,
    public: Vec<u8>,
}

impl ActiveKeyExchange for Started {
    fn complete(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        let invalid = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        let Some(public) = share.strip_prefix(point_prefix(self.private.group)) else { return Err(invalid) };
        if public.len() != self.private.group.public_len() {
            return Err(invalid);
        }
        let secret = lent(|lent| lent.crypto.agree(&self.private, public)).map_err(|_| invalid)?;
        Ok(SharedSecret::from(&*secret))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        self.name
    }
}

const fn point_prefix(group: Group) -> &'static [u8] {
    match group {
        Group::X25519 => &[],
        _ => &[UNCOMPRESSED],
    }
}
