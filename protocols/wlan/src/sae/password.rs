//! From a password to the secret element PWE that both sides compute with. Read §12.4.4.2 first.
//!
//! ```text
//!   hunting and pecking   password, both addresses --40 candidates for x or more--> PWE      for each pair of addresses
//!   hash-to-element       SSID, password, identifier --HKDF, SSWU--> PT                      once
//!                         PT, both addresses --scalar-op--> PWE                              for each pair of addresses
//! ```

use std::collections::BTreeMap;

use keytoll_crypto_api::algorithm::{Curve, Prf};
use keytoll_crypto_api::{Crypto, OnCurve, Rng, Secret, about};

use super::derivation::{self, hkdf_expand};
use super::group::Method;
use crate::MacAddr;

/// §12.4.4.2.2: so many candidates are tried at least, whatever the password.
const CANDIDATES_MIN: u8 = 40;

/// A password, with the elements that are computed of it beforehand.
#[derive(Debug, Clone)]
pub struct Password {
    password: Secret,
    identifier: Option<Vec<u8>>,
    /// The PT of each group, if there is hash-to-element.
    pt: BTreeMap<Curve, Secret>,
}

impl Password {
    /// A password for hunting and pecking alone.
    pub fn new(password: &[u8]) -> Self {
        Self { password: Secret::from(password), identifier: None, pt: BTreeMap::new() }
    }

    /// A password of a network, for both methods; with an identifier for hash-to-element alone.
    pub fn of_network(
        ssid: &[u8],
        password: &[u8],
        identifier: Option<&[u8]>,
        curves: &[Curve],
        crypto: &mut dyn Crypto,
    ) -> Self {
        let of = |curve| (curve, derive_pt(curve, ssid, password, identifier.unwrap_or_default(), crypto));
        let pt = curves.iter().copied().map(of).collect();
        Self { password: Secret::from(password), identifier: identifier.map(<[u8]>::to_vec), pt }
    }

    /// By which name stations ask for it.
    pub fn identifier(&self) -> Option<&[u8]> {
        self.identifier.as_deref()
    }

    /// The PWE of two stations, if the password is for this method and group.
    pub(super) fn element(
        &self,
        method: Method,
        curve: Curve,
        pair: Pair,
        rng: &mut Rng,
        crypto: &mut dyn Crypto,
    ) -> Option<Secret> {
        match method {
            Method::HuntingAndPecking if self.identifier.is_some() => None,
            Method::HuntingAndPecking => {
                Some(about(crypto, "PWE", |crypto| hunt_and_peck(curve, &self.password, pair, rng, crypto)))
            }
            Method::HashToElement => {
                let pt = self.pt.get(&curve)?;
                Some(about(crypto, "PWE", |crypto| from_pt(curve, pt, pair, crypto)))
            }
        }
    }
}

/// The addresses of two stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) own: MacAddr,
    pub(super) peer: MacAddr,
}

impl Pair {
    /// MAX(addresses) ‖ MIN(addresses).
    fn ordered(self) -> [u8; 12] {
        let mut both = [0; 12];
        both[..6].copy_from_slice(&self.own.max(self.peer));
        both[6..].copy_from_slice(&self.own.min(self.peer));
        both
    }

    /// Whether ours is the numerically greater address.
    pub(super) fn is_higher(self) -> bool {
        self.own > self.peer
    }
}

/// The coordinate that was found, and what decides about the other one. It is chosen without branches.
struct Found {
    x: Secret,
    parity: u8,
    /// All ones or zero.
    mask: u8,
}

impl Found {
    /// Takes a candidate over if it is the first good one.
    fn offer(&mut self, x: &[u8], parity: u8, is_good: bool) {
        let take = u8::from(is_good).wrapping_neg() & !self.mask;
        let choose = |old: u8, new: u8| (old & !take) | (new & take);
        self.x = Secret::new(self.x.iter().zip(x).map(|(&old, &new)| choose(old, new)).collect());
        self.parity = choose(self.parity, parity);
        self.mask |= take;
    }
}

// 802.11-2020 §12.4.4.2.2: the loop does not end with the first good candidate, so that its time says little about the
// password; the residue test is blinded.
fn hunt_and_peck(
    curve: Curve,
    password: &[u8],
    pair: Pair,
    rng: &mut Rng,
    crypto: &mut dyn Crypto,
) -> Secret {
    let addresses = pair.ordered();
    let mut found = Found { x: Secret::new(vec![0; curve.field_len()]), parity: 0, mask: 0 };
    for counter in 1..=u8::MAX {
        if counter > CANDIDATES_MIN && found.mask != 0 {
            break;
        }
        let seed = crypto.prf(Prf::HmacSha256, &addresses, &[password, &[counter]]);
        let x = derivation::below(curve, &seed, b"SAE Hunting and Pecking", crypto);
        let mut blinding = vec![0; curve.field_len() + 1];
        rng.fill(&mut blinding);
        let is_good = crypto.on_curve(curve, OnCurve::Test { x: &x, blinding: &blinding }).is_ok();
        found.offer(&x, seed[seed.len() - 1] & 1, is_good);
    }
    let solved = crypto.on_curve(curve, OnCurve::Solve { x: &found.x, is_odd: found.parity == 1 });
    solved.expect("of 255 candidates one in two is the coordinate of an element")
}

// 802.11-2020 §12.4.4.2.3: PT = SSWU(u1) + SSWU(u2).
fn derive_pt(
    curve: Curve,
    ssid: &[u8],
    password: &[u8],
    identifier: &[u8],
    crypto: &mut dyn Crypto,
) -> Secret {
    let prf = Method::HashToElement.prf(curve);
    about(crypto, "PT", |crypto| {
        let seed = crypto.prf(prf, ssid, &[password, identifier]);
        let len = curve.field_len() + curve.field_len().div_ceil(2);
        let [first, second] =
            [&b"SAE Hash to Element u1 P1"[..], b"SAE Hash to Element u2 P2"].map(|label| {
                let value = hkdf_expand(prf, &seed, label, len, crypto);
                crypto.on_curve(curve, OnCurve::Map(&value)).expect("every number is mapped")
            });
        crypto
            .on_curve(curve, OnCurve::Add(&first, &second))
            .expect("the sum of two elements of a password is the identity for no password anybody knows")
    })
}

// 802.11-2020 §12.4.4.2.3: PWE = scalar-op(H(0, MAX ‖ MIN) mod (r − 1) + 1, PT).
fn from_pt(curve: Curve, pt: &[u8], pair: Pair, crypto: &mut dyn Crypto) -> Secret {
    let prf = Method::HashToElement.prf(curve);
    let value = crypto.prf(prf, &vec![0; prf.output_len()], &[&pair.ordered()]);
    let scalar = crypto.on_curve(curve, OnCurve::Scalar(&value)).expect("every number has a scalar");
    crypto
        .on_curve(curve, OnCurve::Multiply { element: pt, scalar: &scalar })
        .expect("PT is an element, and its scalar is one")
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::{Metered, Null, Real};

    use super::super::testing::hex;
    use super::*;

    /// hostap's common_module_tests.c.
    #[test]
    fn an_element_of_a_hashed_password_is_that_of_hostap() {
        let crypto = &mut Real::default();
        let password =
            Password::of_network(b"byteme", b"mekmitasdigoat", Some(b"psk4internet"), &[Curve::P256], crypto);
        let pair = Pair { own: [0, 0x09, 0x5b, 0x66, 0xec, 0x1e], peer: [0, 0x0b, 0x6b, 0xd9, 0x02, 0x46] };
        let swapped = Pair { own: pair.peer, peer: pair.own };
        for pair in [pair, swapped] {
            let rng = &mut Rng::named(1, "none is drawn");
            let element = password.element(Method::HashToElement, Curve::P256, pair, rng, crypto).unwrap();
            assert_eq!(
                element[..],
                hex("c93049b9e64000f848201649e999f2b5c22dea69b5632c9df4d633b8aa1f6c1e
                     73634e94b53d82e7383a8d258199d9dc1a5ee8269d060382ccbf33e614ff59a0")
            );
        }
        assert_eq!((pair.is_higher(), swapped.is_higher()), (false, true));
    }

    #[test]
    fn a_password_serves_what_it_was_made_for() {
        let crypto = &mut Real::default();
        let pair = Pair { own: [1; 6], peer: [2; 6] };
        let plain = Password::new(b"password");
        let named = Password::of_network(b"net", b"password", Some(b"guest"), &[Curve::P256], crypto);
        let mut has = |password: &Password, method, curve| {
            password.element(method, curve, pair, &mut Rng::named(1, "any"), crypto).is_some()
        };
        assert!(has(&plain, Method::HuntingAndPecking, Curve::P384));
        assert!(!has(&plain, Method::HashToElement, Curve::P256));
        assert!(!has(&named, Method::HuntingAndPecking, Curve::P256));
        assert!(has(&named, Method::HashToElement, Curve::P256));
        assert!(!has(&named, Method::HashToElement, Curve::P384));
    }

    /// Whatever the password, as many operations; blinding changes nothing.
    #[test]
    fn hunting_takes_forty_candidates() {
        let pair = Pair { own: [1; 6], peer: [2; 6] };
        for password in [&b"a"[..], b"another", b"a third, which is longer"] {
            let mut elements = Vec::new();
            for blinding in ["one", "two"] {
                let mut metered = Metered::count_only(Real::default());
                let rng = &mut Rng::named(1, blinding);
                elements.push(hunt_and_peck(Curve::P256, password, pair, rng, &mut metered));
                let rows = metered.snapshot();
                let counted: Vec<_> = rows.iter().map(|row| (row.operation, row.count)).collect();
                assert_eq!(counted, [("prf", 80), ("ec-test", 40), ("ec-solve", 1)]);
            }
            assert_eq!(elements[0], elements[1]);
        }
        let rng = &mut Rng::named(1, "null");
        assert_eq!(hunt_and_peck(Curve::P521, b"null", pair, rng, &mut Null).len(), 132);
    }

    #[test]
    fn every_group_has_elements_by_both_methods() {
        let crypto = &mut Real::default();
        let password = Password::of_network(b"net", b"password", None, Curve::ALL, crypto);
        for &curve in Curve::ALL {
            for method in [Method::HuntingAndPecking, Method::HashToElement] {
                let [one, other] = [([1; 6], [2; 6]), ([2; 6], [1; 6])].map(|(own, peer)| {
                    let rng = &mut Rng::named(1, "blinding");
                    password.element(method, curve, Pair { own, peer }, rng, crypto).unwrap()
                });
                assert_eq!(one, other);
                assert!(crypto.on_curve(curve, OnCurve::Check(&one)).is_ok());
            }
        }
    }
}
