//! What foreign daemons cannot do as device or gateway of IKE; what was tried is in `interop/RESULTS.md`.

use super::options::{CookiePolicy, GatewayAuth};
use crate::families::Options;
use crate::options::ipsec::Mode;
use crate::options::nodes::Maker;
use crate::resolve::makers::Limit;

/// strongSwan's, which runs with its ESP in user space.
pub(super) const LIMITS: &[Limit] = &[
    Limit {
        is_asked: |options, method| {
            has_strongswan(options) && method.phase1().is_some() && options.ipsec.mode != Mode::Tunnel
        },
        message: "strongSwan's user-space ESP needs tunnel mode",
        hint: "`mode = \"tunnel\"`",
    },
    // IKEv1 runs between networks instead of asking for an address.
    Limit {
        is_asked: |options, method| {
            let is_inside = options.ipsec.mode == Mode::Tunnel && options.ike.virtual_address;
            has_strongswan(options) && method.phase1().is_none() && !is_inside
        },
        message: "strongSwan's user-space ESP needs tunnel mode and an address inside",
        hint: "`mode = \"tunnel\"` and `virtual_address = true`",
    },
    Limit {
        is_asked: |options, _| has_strongswan(options) && options.ike.gateway_auth == GatewayAuth::EapOnly,
        message: "strongSwan's side of `gateway_auth = \"eap-only\"` is not set up here",
        hint: "`gateway_auth = \"certificate\"` or `\"psk\"`",
    },
    Limit {
        is_asked: |options, _| {
            options.makers.gw == Maker::StrongSwan && options.ike.cookies == CookiePolicy::Always
        },
        message: "strongSwan cannot be made to ask always for a cookie",
        hint: "`cookies = \"auto\"`",
    },
    Limit {
        is_asked: |options, _| options.makers.foreign().is_some() && options.ike.signatures.is_some(),
        message: "other programs' `signatures` are not set up here",
        hint: "leave `signatures` out",
    },
];

fn has_strongswan(options: &Options) -> bool {
    [options.makers.ue, options.makers.gw].contains(&Maker::StrongSwan)
}
