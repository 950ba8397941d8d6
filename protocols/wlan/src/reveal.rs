//! Keys told to whoever captures and asked for them: in the kinds of Wireshark's table `80211_keys` (see [`crate::family`]).

use keytoll_engine::trace::{Revealed, Trace};

/// A PMK.
pub(crate) const PMK: &str = "wpa-psk";
/// A key of WEP.
pub(crate) const WEP: &str = "wep";

/// Tells a key, if somebody has asked.
pub(crate) fn reveal(kind: &'static str, key: &[u8], trace: &mut dyn Trace) {
    if trace.wants_keys() {
        trace.reveal(Revealed::LanKey { kind, key: key.into() });
    }
}
