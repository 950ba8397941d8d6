//! Readers of values that scenarios and node files of IKE have in common.

use keytoll_crypto_api::algorithm::{Encryption, SignatureScheme};
use keytoll_crypto_api::suite::Suite;

use crate::diagnostic::ScenarioError;
use crate::tree::Item;

/// RFC 7296 §3.3.2: an IKE SA must be encrypted.
pub(crate) fn ike_fit(suite: &Suite) -> Result<(), &'static str> {
    if suite.encryption == Encryption::Null { Err("an IKE SA must be encrypted") } else { Ok(()) }
}

/// One signature scheme of IKEv2 or several, in order of preference.
pub(crate) fn signatures(item: &Item) -> Result<Vec<SignatureScheme>, ScenarioError> {
    let scheme = |item: &Item| {
        let text = item.text("the name of a signature scheme")?;
        let all = SignatureScheme::NEGOTIABLE;
        let names: Vec<_> = all.iter().map(ToString::to_string).collect();
        let found = names.iter().position(|name| name == text).map(|at| all[at]);
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        found.ok_or_else(|| item.spot.unknown("signature scheme", text, &names))
    };
    item.some_elements("signature scheme")?.iter().map(scheme).collect()
}
