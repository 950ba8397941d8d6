//! Finite cyclic groups by their number, §12.4.4.1, and the hash that goes with each, table 12-1.

use keytoll_crypto_api::algorithm::{Curve, Prf};

/// How the password becomes an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Candidates are tried until one is a coordinate, §12.4.4.2.2.
    HuntingAndPecking,
    /// A number is mapped to an element once for the password, §12.4.4.2.3.
    HashToElement,
}

impl Method {
    /// Whether the hash depends on the group; with hunting and pecking it is SHA-256.
    pub(super) const fn prf(self, curve: Curve) -> Prf {
        match (self, curve) {
            (Self::HuntingAndPecking, _) | (Self::HashToElement, Curve::P256) => Prf::HmacSha256,
            (Self::HashToElement, Curve::P384) => Prf::HmacSha384,
            (Self::HashToElement, Curve::P521) => Prf::HmacSha512,
        }
    }

    /// Octets of a confirm.
    pub const fn confirm_len(self, curve: Curve) -> usize {
        self.prf(curve).output_len()
    }
}

/// The number of a group in IANA's registry for IKE, which the standard uses.
pub const fn number(curve: Curve) -> u16 {
    match curve {
        Curve::P256 => 19,
        Curve::P384 => 20,
        Curve::P521 => 21,
    }
}

/// The group with this number, if it is one of those that are computed here.
pub fn numbered(group: u16) -> Option<Curve> {
    Curve::ALL.iter().copied().find(|&curve| number(curve) == group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_numbers_and_hashes() {
        assert_eq!(Curve::ALL.iter().map(|&curve| number(curve)).collect::<Vec<_>>(), [19, 20, 21]);
        assert_eq!((numbered(20), numbered(22)), (Some(Curve::P384), None));
        let lens =
            |method: Method| Curve::ALL.iter().map(|&curve| method.confirm_len(curve)).collect::<Vec<_>>();
        assert_eq!(lens(Method::HuntingAndPecking), [32, 32, 32]);
        assert_eq!(lens(Method::HashToElement), [32, 48, 64]);
    }
}
