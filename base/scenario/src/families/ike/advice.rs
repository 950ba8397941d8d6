//! What a row of IKE says and should not: an authentication that nobody should run.

use super::options::GatewayAuth;
use crate::plan::RowPlan;

/// One sentence, or none.
pub(super) fn of(row: &RowPlan) -> Option<String> {
    shows_password(row).then(|| advice(row.method.name()))
}

// RFC 7296 §2.16: the responder proves itself with a signature, so that no other initiator can play it.
fn shows_password(row: &RowPlan) -> bool {
    let is_open = row.method.eap().is_some_and(|eap| !eap.proves_server());
    is_open && row.options.ike.gateway_auth == GatewayAuth::Psk
}

fn advice(method: &str) -> String {
    format!(
        "`{method}` with `gateway_auth = \"psk\"` shows passwords to whoever has the shared key, which every device knows. \
         Measure it, but do not run it: `gateway_auth = \"certificate\"`"
    )
}
