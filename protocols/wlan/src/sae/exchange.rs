//! What both sides compute of each other's commit: the shared secret, the keys, and the proofs that both have the same.
//! Read §12.4.5 first.

use keytoll_crypto_api::algorithm::Curve;
use keytoll_crypto_api::{Crypto, Digest, OnCurve, Rejected, Rng, Secret, about};

use super::group::Method;
use super::password::Pair;
use super::wire::Commit;
use crate::keys::kdf;

/// The name of a PMK.
pub type Pmkid = [u8; 16];

/// §12.4.5.4: a PMK has 256 bits, whatever the hash.
const PMK_LEN: usize = 32;

/// What one side contributes, as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Public {
    pub(super) scalar: Box<[u8]>,
    pub(super) element: Box<[u8]>,
    pub(super) rejected_groups: Box<[u8]>,
}

/// Our contribution with the secrets behind it.
#[derive(Debug)]
pub(super) struct Commitment {
    pub(super) method: Method,
    pub(super) curve: Curve,
    pub(super) public: Public,
    /// PWE.
    password: Secret,
    /// rand.
    random: Secret,
}

/// What both have agreed.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) kck: Kck,
    pub(super) master: Master,
}

/// The key for the 4-way handshake.
#[derive(Debug)]
pub(super) struct Master {
    pub(super) pmk: Secret,
    pub(super) pmkid: Pmkid,
}

/// The key with which both prove that they have agreed.
#[derive(Debug)]
pub(super) struct Kck {
    key: Secret,
    method: Method,
    curve: Curve,
}

impl Commit<'_> {
    pub(super) fn public(&self) -> Public {
        let [scalar, element, rejected_groups] =
            [self.scalar, self.element, self.rejected_groups].map(Box::from);
        Public { scalar, element, rejected_groups }
    }

    // 802.11-2020 §12.4.5.4: the scalar is greater than 1 and less than r, the element is one and not the identity.
    /// Checks what a stranger sent, before anything expensive is done with it.
    pub(super) fn check(&self, crypto: &mut dyn Crypto) -> Result<(), Rejected> {
        let mut one = vec![0; self.scalar.len()];
        *one.last_mut().expect("a scalar has octets") = 1;
        if self.scalar == one {
            return Err(Rejected);
        }
        about(crypto, "peer's commit", |crypto| {
            crypto.on_curve(self.curve, OnCurve::AddScalars(self.scalar, &one))?;
            crypto.on_curve(self.curve, OnCurve::Check(self.element)).map(drop)
        })
    }
}

impl Commitment {
    /// Draws the secrets.
    pub(super) fn draw(
        method: Method,
        curve: Curve,
        password: &Secret,
        rejected_groups: &[u8],
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) -> Self {
        about(crypto, "commit", |crypto| {
            loop {
                let [random, mask] = [draw_scalar(curve, rng), draw_scalar(curve, rng)];
                let made = Self::of(method, curve, password, (random, &mask), rejected_groups, crypto);
                if let Ok(commitment) = made {
                    return commitment;
                }
            }
        })
    }

    // 802.11-2020 §12.4.5.2: commit-scalar = (rand + mask) mod r, COMMIT-ELEMENT = inverse(scalar-op(mask, PWE)).
    fn of(
        method: Method,
        curve: Curve,
        password: &Secret,
        (random, mask): (Secret, &Secret),
        rejected_groups: &[u8],
        crypto: &mut dyn Crypto,
    ) -> Result<Self, Rejected> {
        let scalar = crypto.on_curve(curve, OnCurve::AddScalars(&random, mask))?;
        // 802.11-2020 §12.4.5.2: a scalar below 2 is not used.
        if scalar.iter().rev().skip(1).all(|&byte| byte == 0) && scalar[scalar.len() - 1] < 2 {
            return Err(Rejected);
        }
        let product = crypto.on_curve(curve, OnCurve::Multiply { element: password, scalar: mask })?;
        let element = crypto.on_curve(curve, OnCurve::Invert(&product))?;
        let public = Public {
            scalar: scalar.to_vec().into(),
            element: element.to_vec().into(),
            rejected_groups: rejected_groups.into(),
        };
        Ok(Self { method, curve, public, password: password.clone(), random })
    }

    /// The body of our commit.
    pub(super) fn to_bytes(&self, token: Option<&[u8]>, identifier: Option<&[u8]>) -> Vec<u8> {
        let Public { scalar, element, rejected_groups } = &self.public;
        Commit { curve: self.curve, scalar, element, token, identifier, rejected_groups }
            .to_bytes(self.method)
    }

    /// The keys that come of the peer's contribution.
    pub(super) fn agree(&self, peer: &Public, pair: Pair, crypto: &mut dyn Crypto) -> Result<Keys, Rejected> {
        let sum = about(crypto, "PMKID", |crypto| {
            crypto.on_curve(self.curve, OnCurve::AddScalars(&self.public.scalar, &peer.scalar))
        })?;
        let secret = about(crypto, "shared secret", |crypto| self.shared_secret(peer, crypto))?;
        about(crypto, "KCK, PMK", |crypto| Ok(self.keys(&secret, &sum, peer, pair, crypto)))
    }

    // 802.11-2020 §12.4.5.4: K = scalar-op(rand, elem-op(scalar-op(peer-commit-scalar, PWE), PEER-COMMIT-ELEMENT)), of which the
    // x coordinate is the secret. If K is the identity, the authentication fails.
    fn shared_secret(&self, peer: &Public, crypto: &mut dyn Crypto) -> Result<Secret, Rejected> {
        let curve = self.curve;
        let product =
            crypto.on_curve(curve, OnCurve::Multiply { element: &self.password, scalar: &peer.scalar })?;
        let sum = crypto.on_curve(curve, OnCurve::Add(&product, &peer.element))?;
        let shared = crypto.on_curve(curve, OnCurve::Multiply { element: &sum, scalar: &self.random })?;
        Ok(Secret::from(&shared[..curve.field_len()]))
    }

    // 802.11-2020 §12.4.5.4: keyseed = H(salt, k); KCK ‖ PMK = KDF-Hash-Length(keyseed, "SAE KCK and PMK", sum of the scalars).
    fn keys(
        &self,
        secret: &Secret,
        sum: &Secret,
        peer: &Public,
        pair: Pair,
        crypto: &mut dyn Crypto,
    ) -> Keys {
        let prf = self.method.prf(self.curve);
        let seed = crypto.prf(prf, &self.salt(peer, pair), &[secret]);
        let kck_len = prf.output_len();
        let bits = u16::try_from(8 * (kck_len + PMK_LEN)).expect("768 bits at most");
        let both = kdf(prf, &seed, b"SAE KCK and PMK", sum, bits, crypto);
        let (kck, pmk) = both.split_at(kck_len);
        let mut pmkid = Pmkid::default();
        pmkid.copy_from_slice(&sum[..16]);
        let kck = Kck { key: Secret::from(kck), method: self.method, curve: self.curve };
        Keys { kck, master: Master { pmk: Secret::from(pmk), pmkid } }
    }

    // 802.11-2020 §12.4.5.4: the salt is the groups that either side reports as rejected, those of the greater address first,
    // or zeros if there are none.
    fn salt(&self, peer: &Public, pair: Pair) -> Vec<u8> {
        let (own, peer) = (&self.public.rejected_groups, &peer.rejected_groups);
        match (pair.is_higher(), own.is_empty() && peer.is_empty()) {
            (_, true) => vec![0; self.method.confirm_len(self.curve)],
            (true, false) => [&own[..], peer].concat(),
            (false, false) => [&peer[..], own].concat(),
        }
    }
}

impl Kck {
    /// Octets of a proof.
    pub(super) const fn confirm_len(&self) -> usize {
        self.method.confirm_len(self.curve)
    }

    // 802.11-2020 §12.4.5.5: confirm = CN(KCK, send-confirm, commit-scalar, COMMIT-ELEMENT, peer-commit-scalar,
    // PEER-COMMIT-ELEMENT).
    /// The proof that one side gives to the other.
    pub(super) fn confirm(
        &self,
        send_confirm: u16,
        from: &Public,
        to: &Public,
        crypto: &mut dyn Crypto,
    ) -> Digest {
        let counter = send_confirm.to_le_bytes();
        let parts: [&[u8]; 5] = [&counter, &from.scalar, &from.element, &to.scalar, &to.element];
        about(crypto, "confirm", |crypto| crypto.prf(self.method.prf(self.curve), &self.key, &parts))
    }
}

/// Random octets of a scalar's length and number of bits; whether they are one is for whoever computes with them.
fn draw_scalar(curve: Curve, rng: &mut Rng) -> Secret {
    let mut octets = vec![0; curve.field_len()];
    rng.fill(&mut octets);
    octets[0] &= 0xff >> (8 * octets.len() - curve.bits());
    Secret::new(octets)
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::{Null, Real};

    use super::super::password::Password;
    use super::super::testing::hex;
    use super::*;

    const PAIR: Pair =
        Pair { own: [0x4d, 0x3f, 0x2f, 0xff, 0xe3, 0x87], peer: [0xa5, 0xd8, 0xaa, 0x95, 0x8e, 0x3c] };

    /// 802.11-2020 J.10, as in hostap's common_module_tests.c.
    #[test]
    fn the_standard_s_example() {
        let crypto = &mut Real::default();
        let rng = &mut Rng::named(1, "blinding");
        let (method, curve) = (Method::HuntingAndPecking, Curve::P256);
        let password = Password::new(b"mekmitasdigoat").element(method, curve, PAIR, rng, crypto).unwrap();
        let random = hex("992465fd3daa3c60aa6565b7f62a2a7f2e12dd12f198faf4fbed89d7ff1ace94");
        let mask = hex("9507a90f777a044d6a0830b91ea3d5dd70bece44e1acffb86983b5e1bf9fb322");
        let secrets = (Secret::new(random), &Secret::new(mask));
        let own = Commitment::of(method, curve, &password, secrets, &[], crypto).unwrap();
        assert_eq!(
            own.to_bytes(None, None),
            hex(
                "13002e2c0f0db52440ad146d967114ce005ce1eab0aa2c2e5c2871b774f6c2575c65d5ad9e00829707aa36ba8b85
                 973 8fc961d08243505f47c035376d7ac4bc8d7b95083bf43827d0fc31ed778dd3671fd21a46d1091d64b6f9a1e12
                 72621325dbe1"
            )
        );
        let peer = hex("1300591b96f3397fb945100848e7b550543b6720d88337ee93fc49fd6df7e08b5223e71b9bb048d3873f2055
                        6953a96c91536fd8ee6ca9b4a68a148b056a909be03e83ae208f60f8ef5537858074db06687032399862999b
                        511e0a1552a5fea317c2");
        let peer = Commit::read(method, &peer).unwrap();
        assert_eq!(peer.check(crypto), Ok(()));
        let keys = own.agree(&peer.public(), PAIR, crypto).unwrap();
        assert_eq!(
            keys.kck.key[..],
            hex("1e733f6d9bd5325628730433 8831b09a39406d121017073a5c30db36f36cb81a")
        );
        assert_eq!(
            keys.master.pmk[..],
            hex("4e4dfab1a2dd8ac1a91790f953faaa452ae5c6873ab75b63605ba663f8a7fe59")
        );
        assert_eq!(keys.master.pmkid[..], hex("8747a600eea3f9f22475df58ca1e5498"));
    }

    fn both(
        method: Method,
        curve: Curve,
        passwords: [&[u8]; 2],
        rejected: [&[u8]; 2],
        crypto: &mut dyn Crypto,
    ) -> [(Keys, Digest, Digest); 2] {
        let pairs = [PAIR, Pair { own: PAIR.peer, peer: PAIR.own }];
        let rng = &mut Rng::named(1, "both");
        let [a, b] = [0, 1].map(|side: usize| {
            let password = Password::of_network(b"net", passwords[side], None, &[curve], crypto);
            let element = password.element(method, curve, pairs[side], rng, crypto).unwrap();
            Commitment::draw(method, curve, &element, rejected[side], rng, crypto)
        });
        [(&a, &b, pairs[0]), (&b, &a, pairs[1])].map(|(own, peer, pair)| {
            let commit = peer.to_bytes(None, None);
            assert_eq!(Commit::read(method, &commit).unwrap().check(crypto), Ok(()));
            let keys = own.agree(&peer.public, pair, crypto).unwrap();
            let sent = keys.kck.confirm(1, &own.public, &peer.public, crypto);
            let expected = keys.kck.confirm(1, &peer.public, &own.public, crypto);
            assert_eq!((sent.len(), keys.master.pmk.len()), (method.confirm_len(curve), 32));
            (keys, sent, expected)
        })
    }

    #[test]
    fn both_sides_agree_with_every_group_and_method() {
        for &curve in Curve::ALL {
            for method in [Method::HuntingAndPecking, Method::HashToElement] {
                for rejected in [[&[][..], &[]], [&[20, 0], &[]], [&[20, 0], &[21, 0]]] {
                    let sides = both(method, curve, [b"password"; 2], rejected, &mut Real::default());
                    let [a, b] = sides;
                    assert!(
                        a.0.master.pmk == b.0.master.pmk && a.0.master.pmkid == b.0.master.pmkid,
                        "{curve} {method:?}"
                    );
                    assert!(a.1.matches(&b.2) && b.1.matches(&a.2) && !a.1.matches(&b.1));
                }
                let [a, b] = both(method, curve, [b"password"; 2], [&[]; 2], &mut Null);
                assert!(
                    a.0.master.pmk == b.0.master.pmk
                        && a.0.master.pmkid == b.0.master.pmkid
                        && a.1.matches(&b.2)
                );
            }
        }
    }

    #[test]
    fn different_passwords_make_different_keys() {
        let (method, curve) = (Method::HashToElement, Curve::P256);
        let [a, b] = both(method, curve, [b"password", b"passwort"], [&[]; 2], &mut Real::default());
        assert!(a.0.master.pmk != b.0.master.pmk && !a.1.matches(&b.2));
        assert!(format!("{:?}", a.0).contains("pmk: Secret(32 bytes)"), "keys are not printed");
    }
}
