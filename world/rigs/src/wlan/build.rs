//! From a row of the plan to a station and an access point.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_eap::ServerConfig;
use keytoll_hosts::{AaaAccess, Carrier, EapCredentials, Supplicant};
use keytoll_scenario::families::wlan::{Admission, EapServer, KeyHash, Pairwise, Protection, Roaming, Wep};
use keytoll_scenario::plan::RowPlan;
use keytoll_wlan::bss::{Protected, Rsn, Security, Ssid};
use keytoll_wlan::cipher::WepKey;
use keytoll_wlan::frame::rsn::Mde;
use keytoll_wlan::suite::{Akm, Cipher};
use keytoll_wlan::transition::Domain;
use keytoll_wlan::{MacAddr, access_point, rrkm, shared_key, station};

use super::hosts::{AccessPoint, AccessPointConfig, Journey, Judge, SILENCE_MAX, Station, StationConfig};
use super::keys::Keys;
use super::sites::{self, Sites};
use crate::eap::{self, Ends};
use crate::fault;

/// The name of the laboratory's network.
pub(super) const SSID: &[u8] = b"keytoll";

/// EAPOL frames may get lost, and nobody has proved anything before them.
const EAPOL: Carrier = Carrier { is_reliable: false, proves_server: false };

/// The station of a row.
pub(super) fn station(
    (row, sites): (&RowPlan, &Sites),
    keys: &Keys,
    eap: Option<&EapCredentials>,
    seed: &Seed,
) -> Station {
    let mut wlan = station::Config::new(sites.station, ssid(), security(row), keys.pmk.clone());
    wlan.password.clone_from(&keys.password);
    wlan.shared_key = shared_key(row, keys);
    let rrkm = row.options.wlan.rrkm;
    let of_rrkm = |key: &WepKey| rrkm::StationConfig {
        key: key.clone(),
        hash: hash(rrkm.hash),
        clock_drift_ppm: rrkm.drift_ppm,
    };
    wlan.rrkm = keys.wep.as_ref().filter(|_| is_rrkm(row)).map(of_rrkm);
    wlan.pmksas_max = pmksas_max(row);
    let supplicant = |eap: &EapCredentials| Supplicant::new(eap.clone(), EAPOL, seed.stream("ue/eap"));
    let config = StationConfig {
        wlan,
        addresses: [sites.ue, sites.ap],
        supplicant: eap.map(supplicant),
        stays_idle: row.options.wlan.stays_idle,
        journey: journey(row),
    };
    Station::new(config, seed, "ue")
}

/// The access point of a row. What it shares with all stations comes first, then what with each.
pub(super) fn access_point(
    (row, sites): (&RowPlan, &Sites),
    (keys, stations): (&Keys, &[(MacAddr, Keys)]),
    ends: Option<&Ends>,
    seed: &Seed,
) -> AccessPoint {
    let judge = ends.map(|ends| judge((row, sites), ends, seed));
    access_point_with((row, sites), (keys, stations), (judge, SILENCE_MAX), seed)
}

/// An access point that has stations judged so, and leave that are silent for so long.
pub(super) fn access_point_with(
    (row, sites): (&RowPlan, &Sites),
    (keys, stations): (&Keys, &[(MacAddr, Keys)]),
    (judge, silence_max): (Option<Judge>, Duration),
    seed: &Seed,
) -> AccessPoint {
    let mut wlan = access_point::Config::new(sites::ACCESS_POINT, ssid(), security(row), keys.pmk.clone());
    wlan.password.clone_from(&keys.password);
    wlan.shared_key = shared_key(row, keys);
    wlan.rrkm = is_rrkm(row).then(|| rounds(row, stations));
    wlan.quiet_period = row.options.wlan.quiet_period;
    wlan.pmksas_max = pmksas_max(row);
    wlan.domain = domain(row, sites::ACCESS_POINT);
    let other = access_point::Config {
        address: sites::OTHER_ACCESS_POINT,
        domain: domain(row, sites::OTHER_ACCESS_POINT),
        ..wlan.clone()
    };
    let config = AccessPointConfig {
        wlan: std::iter::once(wlan).chain(roams(row).then_some(other)).collect(),
        address: sites.ap,
        judge,
        group_rekey: row.options.wlan.group_rekey,
        silence_max,
    };
    AccessPoint::new(config, seed, "ap")
}

/// Whether the station goes to another access point, so that there are two.
pub(super) const fn roams(row: &RowPlan) -> bool {
    row.options.wlan.roam_after.is_some()
}

/// When the station goes to the other access point. To have a PMKSA with one it has been there before.
fn journey(row: &RowPlan) -> Option<Journey> {
    let unmeasured = u32::from(row.options.wlan.roaming == Roaming::PmksaCaching);
    let access_points = [sites::ACCESS_POINT, sites::OTHER_ACCESS_POINT];
    Some(Journey::new(row.options.wlan.roam_after?, access_points, unmeasured))
}

/// The mobility domain of an access point, which holds the keys of stations that enter it there.
fn domain(row: &RowPlan, own: MacAddr) -> Option<Domain> {
    let mde = Mde { mdid: *b"kt", over_ds: false, resource_request: false };
    is_fast(row).then(|| Domain { mde, r0kh_id: own.to_vec() })
}

fn is_fast(row: &RowPlan) -> bool {
    roams(row) && row.options.wlan.roaming == Roaming::FastTransition
}

/// Either side keeps the PMKs of both access points, or none.
fn pmksas_max(row: &RowPlan) -> usize {
    if roams(row) && row.options.wlan.roaming == Roaming::PmksaCaching { 2 } else { 0 }
}

/// Who decides about stations with EAP.
fn judge((row, sites): (&RowPlan, &Sites), ends: &Ends, seed: &Seed) -> Judge {
    let access = eap::access_of_access_point((row, &sites.back_end), &fault::seed_of_gateway(row, seed));
    judge_with(row, (access, &ends.server), seed)
}

/// The AAA server with this access to it, or this EAP server inside.
pub(super) fn judge_with(
    row: &RowPlan,
    (access, server): (AaaAccess, &Arc<ServerConfig>),
    seed: &Seed,
) -> Judge {
    match row.options.wlan.eap_server {
        EapServer::Radius => Judge::over_radius(access, EAPOL, (sites::ACCESS_POINT, &ssid()), (seed, "ap")),
        EapServer::AccessPoint => Judge::inside(Arc::clone(server), seed.stream("ap/eap")),
    }
}

pub(super) fn is_rrkm(row: &RowPlan) -> bool {
    row.method.own::<Admission>() == Some(&Admission::Rrkm)
}

/// The one key that all stations share, if it is for shared key authentication.
fn shared_key(row: &RowPlan, keys: &Keys) -> Option<shared_key::Config> {
    let key = keys.wep.as_ref().filter(|_| !is_rrkm(row))?;
    Some(shared_key::Config { key: key.clone(), key_id: 0 })
}

/// What the access point knows of RRKM: each station's key.
fn rounds(row: &RowPlan, stations: &[(MacAddr, Keys)]) -> rrkm::AccessPointConfig {
    let rrkm = row.options.wlan.rrkm;
    let period_s = u16::try_from(rrkm.period.as_secs()).ok().and_then(NonZeroU16::new);
    rrkm::AccessPointConfig {
        keys: stations.iter().filter_map(|(station, keys)| Some((*station, keys.wep.clone()?))).collect(),
        hash: hash(rrkm.hash),
        period_s: period_s.expect("the catalogue has periods of 1 to 65535 s"),
        first_epoch: 0,
    }
}

const fn hash(hash: KeyHash) -> rrkm::KeyHash {
    match hash {
        KeyHash::Sha1 => rrkm::KeyHash::Sha1,
        KeyHash::Md5 => rrkm::KeyHash::Md5,
        KeyHash::Simple => rrkm::KeyHash::Simple,
    }
}

fn ssid() -> Ssid {
    Ssid::new(SSID).expect("seven octets")
}

/// What the network demands.
fn security(row: &RowPlan) -> Security {
    let admission = row.method.own::<Admission>().expect("the rig runs no other methods");
    let rsn = |akm, management| {
        let pairwise = pairwise(row.options.wlan.pairwise);
        // 802.11-2020 §12.6.3: the group's cipher may be the stations'.
        Security::Rsn(Rsn { akm, pairwise, group: pairwise, management })
    };
    let wpa2 = protected(row.options.wlan.management);
    let or_fast = |akm, fast| if is_fast(row) { fast } else { akm };
    match admission {
        Admission::Open => Security::Open,
        Admission::DynamicWep => Security::Dot1xWep(wep(row.options.wlan.wep)),
        Admission::Wpa2Psk => rsn(or_fast(Akm::Psk, Akm::FtPsk), wpa2),
        Admission::Wpa2Eap => rsn(or_fast(Akm::Dot1x, Akm::FtDot1x), wpa2),
        Admission::Wpa3Sae => rsn(or_fast(Akm::Sae, Akm::FtSae), Protected::Always),
        Admission::Wpa3Eap => rsn(or_fast(Akm::Dot1xSha256, Akm::FtDot1x), Protected::Always),
        Admission::SharedKey => Security::SharedKey(wep(row.options.wlan.wep)),
        Admission::Rrkm => Security::Rrkm(wep(row.options.wlan.wep)),
    }
}

const fn protected(choice: Protection) -> Protected {
    match choice {
        Protection::Never => Protected::Never,
        Protection::Optional => Protected::IfBothCan,
        Protection::Required => Protected::Always,
    }
}

const fn wep(length: Wep) -> Cipher {
    match length {
        Wep::Wep40 => Cipher::Wep40,
        Wep::Wep104 => Cipher::Wep104,
    }
}

const fn pairwise(cipher: Pairwise) -> Cipher {
    match cipher {
        Pairwise::Ccmp128 => Cipher::Ccmp128,
        Pairwise::Ccmp256 => Cipher::Ccmp256,
        Pairwise::Gcmp128 => Cipher::Gcmp128,
        Pairwise::Gcmp256 => Cipher::Gcmp256,
    }
}
