//! Foreign daemons in a row: their limits, and the world they need. Each refusal names the daemon and the missing feature; the
//! experiments are in `interop/RESULTS.md`.

use crate::catalogue::Method;
use crate::catalogue::eap::Refusal;
use crate::diagnostic::ScenarioError;
use crate::plan::{CpuProfile, CryptoMode, Maker, Options, Plan, TlsVersion, WorldKind};
use crate::tree::{Item, Table};

/// Refuses options that a program does not support.
pub(crate) fn check(options: &Options, method: &Method, blame: &Item) -> Result<(), ScenarioError> {
    let refusal = device(options, method)
        .or_else(|| limits(options, method, method.family.foreign_limits))
        .or_else(|| aaa(options, method))
        .or_else(|| limits(options, method, OF_EVERYBODY));
    let Some(Refusal { message, hint }) = refusal else { return Ok(()) };
    let label = format!("with `{}`", method.name());
    Err(blame.spot.error(message, label).hint(hint))
}

/// Missing EAP features of a strongSwan device.
fn device(options: &Options, method: &Method) -> Option<Refusal> {
    let is_strongswan = options.makers.ue == Maker::StrongSwan;
    method.eap().filter(|_| is_strongswan)?.strongswan.refusal(is_tls_1_3(options))
}

/// Missing features of a foreign AAA server.
fn aaa(options: &Options, method: &Method) -> Option<Refusal> {
    let (maker, eap) = (options.makers.aaa, method.eap()?);
    let words = match maker {
        Maker::Keytoll | Maker::StrongSwan => return None,
        Maker::FreeRadius => &eap.freeradius,
        Maker::Hostapd => &eap.hostapd,
    };
    words.refusal(is_tls_1_3(options)).or_else(|| limits(options, method, OF_AAA))
}

fn is_tls_1_3(options: &Options) -> bool {
    options.tls.version == TlsVersion::Tls13
}

/// A missing feature of a program.
pub(crate) struct Limit {
    /// Whether a row requires it.
    pub(crate) is_asked: fn(&Options, &Method) -> bool,
    pub(crate) message: &'static str,
    /// Advice.
    pub(crate) hint: &'static str,
}

fn limits(options: &Options, method: &Method, limits: &[Limit]) -> Option<Refusal> {
    let limit = limits.iter().find(|limit| (limit.is_asked)(options, method))?;
    Some(Refusal { message: limit.message, hint: limit.hint })
}

const OF_AAA: &[Limit] = &[Limit {
    is_asked: |options, _| options.eap.pseudonyms || options.eap.fast_reauth > 0 || options.eap.triplets != 3,
    message: "pseudonyms, fast re-authentication and the number of triplets are settings of keytoll's AAA server",
    hint: "leave them out, or `aaa = \"keytoll\"`",
}];

const OF_EVERYBODY: &[Limit] = &[
    Limit {
        is_asked: |options, _| options.makers.foreign().is_some() && options.fault.is_some(),
        message: "a `fault` needs keytoll's own programs everywhere",
        hint: "leave the `fault` out",
    },
    Limit {
        is_asked: |options, _| options.makers.foreign().is_some() && options.certificates.crls,
        message: "`crls` are asked by keytoll's own programs only",
        hint: "`crls = false`",
    },
    Limit {
        is_asked: |options, _| options.makers.foreign().is_some() && options.eap.accounting,
        message: "`accounting` is measured between keytoll's own programs",
        hint: "`accounting = false`",
    },
];

/// Refuses a world in which a row cannot run.
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
