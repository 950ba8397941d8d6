//! Other makers' programs in a row: what they cannot do, and what the world they run in must be like. Each refusal says
//! who cannot do what; what was tried is in `interop/RESULTS.md`.

use crate::catalogue::Method;
use crate::catalogue::eap::Refusal;
use crate::diagnostic::ScenarioError;
use crate::plan::{
    CookiePolicy, CpuProfile, CryptoMode, GatewayAuth, Maker, Mode, Options, Plan, TlsVersion, WorldKind,
};
use crate::tree::{Item, Table};

/// Refuses what a program cannot do.
pub(super) fn check(options: &Options, method: Method, blame: &Item) -> Result<(), ScenarioError> {
    let refusal = device(options, method)
        .or_else(|| strongswan(options, method))
        .or_else(|| gateway(options))
        .or_else(|| aaa(options, method))
        .or_else(|| anybody(options));
    match refusal {
        Some(Refusal { message, hint }) => {
            let label = format!("with `{}`", method.name());
            Err(blame.spot.error(message, label).hint(hint))
        }
        None => Ok(()),
    }
}

const fn refuse(message: &'static str, hint: &'static str) -> Option<Refusal> {
    Some(Refusal { message, hint })
}

fn is_tls_1_3(options: &Options) -> bool {
    options.tls.version == TlsVersion::Tls13
}

fn device(options: &Options, method: Method) -> Option<Refusal> {
    if options.makers.ue != Maker::StrongSwan {
        return None;
    }
    method.eap()?.strongswan.refusal(is_tls_1_3(options))
}

/// strongSwan runs with its ESP in user space.
fn strongswan(options: &Options, method: Method) -> Option<Refusal> {
    let makers = options.makers;
    if makers.ue != Maker::StrongSwan && makers.gw != Maker::StrongSwan {
        return None;
    }
    // IKEv1 runs between networks instead.
    if method.phase1().is_some() {
        return (options.mode != Mode::Tunnel).then_some(Refusal {
            message: "strongSwan's user-space ESP needs tunnel mode",
            hint: "`mode = \"tunnel\"`",
        });
    }
    if options.mode != Mode::Tunnel || !options.virtual_address {
        return refuse(
            "strongSwan's user-space ESP needs tunnel mode and an address inside",
            "`mode = \"tunnel\"` and `virtual_address = true`",
        );
    }
    if options.gateway_auth == GatewayAuth::EapOnly {
        return refuse(
            "strongSwan's side of `gateway_auth = \"eap-only\"` is not set up here",
            "`gateway_auth = \"certificate\"` or `\"psk\"`",
        );
    }
    None
}

fn gateway(options: &Options) -> Option<Refusal> {
    if options.makers.gw != Maker::StrongSwan {
        return None;
    }
    if options.cookies == CookiePolicy::Always {
        return refuse("strongSwan cannot be made to ask always for a cookie", "`cookies = \"auto\"`");
    }
    None
}

fn aaa(options: &Options, method: Method) -> Option<Refusal> {
    let (maker, eap) = (options.makers.aaa, method.eap()?);
    let words = match maker {
        Maker::Keytoll | Maker::StrongSwan => return None,
        Maker::FreeRadius => &eap.freeradius,
        Maker::Hostapd => &eap.hostapd,
    };
    words.refusal(is_tls_1_3(options)).or_else(|| {
        let is_ours = options.pseudonyms || options.fast_reauth > 0 || options.triplets != 3;
        is_ours.then_some(Refusal {
            message: "pseudonyms, fast re-authentication and the number of triplets are settings of keytoll's AAA server",
            hint: "leave them out, or `aaa = \"keytoll\"`",
        })
    })
}

fn anybody(options: &Options) -> Option<Refusal> {
    options.makers.foreign()?;
    if options.signatures.is_some() {
        return refuse("other programs' `signatures` are not set up here", "leave `signatures` out");
    }
    if options.fault.is_some() {
        return refuse("a `fault` needs keytoll's own programs everywhere", "leave the `fault` out");
    }
    if options.crls {
        return refuse("`crls` are asked by keytoll's own programs only", "`crls = false`");
    }
    if options.accounting {
        return refuse("`accounting` is measured between keytoll's own programs", "`accounting = false`");
    }
    None
}

/// Refuses a world that a row cannot live in.
pub(super) fn check_world(document: &Table, plan: &Plan) -> Result<(), ScenarioError> {
    let error = |key: &str, message: String, hint: &'static str| {
        let spot = document.get(key).map_or_else(|| document.spot.start(), |item| item.spot.clone());
        Err(spot.error(message, "here").hint(hint))
    };
    let foreign = plan.rows.iter().find_map(|row| row.options.makers.foreign());
    match (plan.world, foreign) {
        (WorldKind::Sim, Some(maker)) => {
            let message =
                format!("{} runs on sockets and the real clock, not in the simulator", maker.name());
            return error("world", message, "`world = \"live\"`, or `--world live`");
        }
        (WorldKind::Live, _) if plan.crypto == CryptoMode::Table => {
            let message =
                "a table is charged to virtual time, and the live world has the real one".to_owned();
            return error("crypto", message, "`crypto = \"real\"`, or `world = \"sim\"`");
        }
        (WorldKind::Live, Some(maker)) if plan.crypto == CryptoMode::Null => {
            let message =
                format!("{} computes for real, and null crypto does not agree with it", maker.name());
            return error("crypto", message, "`crypto = \"real\"`");
        }
        _ => {}
    }
    let is_another = |profile: &CpuProfile| profile.hz.is_some() || profile.cores != 1;
    if plan.world == WorldKind::Live && plan.cpus.values().any(is_another) {
        let message = "in the live world every node runs on this machine, one thread each".to_owned();
        return error("cpus", message, "leave `cpus` out, or `world = \"sim\"`");
    }
    Ok(())
}
