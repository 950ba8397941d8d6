//! What the paper prints in Table 4-2.

use super::{EAP_TLS, IEEE_802_11, Kind, Method, RRKM, Side};
use crate::study::Basis;
use crate::study::figure::Published;

/// The operations of an authentication: at AP, at STA.
type Counts = &'static [(Kind, [f64; 2])];

/// "Verify Chal: WEP x 1" and "Encrypt Chal: WEP x 1".
const OF_IEEE_802_11: Counts = &[(Kind::Wep, [1.0, 1.0])];
/// AP: "Verify Chal: WEP x 1, Chal Text: WEP x 1, SIG: SHA1 x 1". STA: "Encrypt Chal: WEP x 1, Decrypt Chal: WEP x 1, SIG: SHA1 x 1".
const OF_RRKM: Counts = &[(Kind::Wep, [2.0, 2.0]), (Kind::Hash, [1.0, 1.0])];
/// AP: "Verify CA: RSA x 1, HMAC x 1, Decrypt: RSA x 1". STA: "Verify CA: RSA x 1, HMAC x 1, Encrypt: RSA x 1".
const OF_EAP_TLS: Counts =
    &[(Kind::RsaPublic, [1.0, 2.0]), (Kind::RsaPrivate, [1.0, 0.0]), (Kind::Hmac, [1.0, 1.0])];

/// How many operations of a kind an authentication has at a side; `None` if the paper names none of the kind for the method.
pub(super) fn count(method: Method, side: Side, kind: Kind) -> Option<Published> {
    let counts = match method {
        IEEE_802_11 => OF_IEEE_802_11,
        RRKM => OF_RRKM,
        EAP_TLS => OF_EAP_TLS,
        _ => return None,
    };
    let (_, counts) = counts.iter().find(|(of, _)| *of == kind)?;
    let value = counts[side as usize];
    Some(Published { value, bound: None, basis: Basis::Printed, source: "Table 4-2" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_paper_does_not_name_it_does_not_count() {
        let count = |method, side, kind| count(method, side, kind).map(|count| count.value);
        assert_eq!(count(RRKM, Side::Station, Kind::Wep), Some(2.0));
        assert_eq!(count(RRKM, Side::Station, Kind::RsaPublic), None);
        assert_eq!(count(EAP_TLS, Side::Station, Kind::RsaPrivate), Some(0.0));
        assert_eq!(count(EAP_TLS, Side::AccessPoint, Kind::RsaPrivate), Some(1.0));
        assert_eq!(count(super::super::METHODS[3], Side::Station, Kind::Aes), None);
    }
}
