//! What the paper prints in Table 4-2.

use super::{EAP_TLS, IEEE_802_11, Kind, Method, RRKM, Side};
use crate::published::Published;

/// The operations of an authentication: at AP, at STA.
type Counts = &'static [(Kind, [f64; 2])];

/// "Verify Chal: WEP x 1" and "Encrypt Chal: WEP x 1".
const OF_IEEE_802_11: Counts = &[(Kind::Wep, [1.0, 1.0])];
/// AP: "Verify Chal: WEP x 1, Chal Text: WEP x 1, SIG: SHA1 x 1". STA: "Encrypt Chal: WEP x 1, Decrypt Chal: WEP x 1, SIG: SHA1 x 1".
const OF_RRKM: Counts = &[(Kind::Wep, [2.0, 2.0]), (Kind::Hash, [1.0, 1.0])];
/// AP: "Verify CA: RSA x 1, HMAC x 1, Decrypt: RSA x 1". STA: "Verify CA: RSA x 1, HMAC x 1, Encrypt: RSA x 1".
const OF_EAP_TLS: Counts =
    &[(Kind::RsaPublic, [1.0, 2.0]), (Kind::RsaPrivate, [1.0, 0.0]), (Kind::Hmac, [1.0, 1.0])];

/// "Re-key: Hash x 1", "HMAC x 1, RC4 x 1", on either side.
pub(super) fn rekey_count(method: Method, kind: Kind) -> Option<Published> {
    let kinds: &[Kind] = match method {
        RRKM => &[Kind::Hash],
        EAP_TLS => &[Kind::Hmac, Kind::Wep],
        _ => return None,
    };
    let source = "Table 4-2, Re-key";
    kinds.contains(&kind).then_some(Published::printed(1.0, source))
}

/// The keys of a day.
pub(super) const KEYS_A_DAY: Published = Published::printed(144_000.0, "§4.2.2");

/// How many keys the paper timed on a MIPS at 125 MHz.
pub(super) const KEYS: u32 = 10_000;

/// Their time.
pub(super) const KEYS_S: Published = Published::printed(0.055, "§4.2.2");

/// The time of a day's hashes, by that measurement.
pub(super) const HASHES_A_DAY_S: Published = Published::derived(
    KEYS_S.value / KEYS as f64 * KEYS_A_DAY.value,
    "§4.2.2, 0.055 s for 10 000 hashes on a MIPS at 125 MHz",
);

/// The clock of the paper's embedded device.
pub(super) const MIPS_HZ: f64 = 125e6;

/// How many operations of a kind an authentication has at a side; `None` if the paper names none of the kind for the method.
pub(super) fn count(method: Method, side: Side, kind: Kind) -> Option<Published> {
    let counts = match method {
        IEEE_802_11 => OF_IEEE_802_11,
        RRKM => OF_RRKM,
        EAP_TLS => OF_EAP_TLS,
        _ => return None,
    };
    let (_, counts) = counts.iter().find(|(of, _)| *of == kind)?;
    Some(Published::printed(counts[side as usize], "Table 4-2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Doesn't take 1 second within all day long."
    #[test]
    fn the_papers_day_takes_less_than_a_second() {
        assert!((HASHES_A_DAY_S.value - 0.792).abs() < 1e-9);
        assert!((HASHES_A_DAY_S.value / KEYS_A_DAY.value * MIPS_HZ - 687.5).abs() < 1e-6, "cycles of a hash");
    }

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
