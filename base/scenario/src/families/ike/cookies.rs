//! Cookies of IKEv2 as one more round trip. Read RFC 7296 §2.6 first.

use crate::families::CookiesFrom;
use crate::options::nodes::Maker;
use crate::plan::RowPlan;

/// The first message without its key exchange data, with UDP and IPv6 headers: measured with the default suite.
const FIRST_BYTES: usize = 240;
/// The notification with our cookie in the repeated first message: measured.
const COOKIE_BYTES: usize = 41;
/// The gateway's message that asks for a cookie, with UDP and IPv6 headers: measured.
const ANSWER_BYTES: u32 = 117;

/// When the gateway of a row asks. The thresholds of other gateways are not known here, and IKEv1 has no such cookies.
pub(super) fn from(row: &RowPlan) -> Option<CookiesFrom> {
    let options = &row.options.ike;
    if row.method.phase1().is_some() || row.options.makers.gw != Maker::Keytoll {
        return None;
    }
    let group = row.suites.first().and_then(|suite| suite.group);
    let up_bytes =
        FIRST_BYTES + group.map_or(0, keytoll_crypto_api::algorithm::Group::public_len) + COOKIE_BYTES;
    Some(CookiesFrom {
        half_open: options.cookies.half_open_from(options.half_open_max)?,
        half_open_max: options.half_open_max,
        up_bytes: u32::try_from(up_bytes).ok()?,
        down_bytes: ANSWER_BYTES,
        retransmission: options.retransmission,
    })
}
