//! Populations that stations of a wireless LAN cannot be.

use super::Admission;
use super::options::ROAM_AFTER;
use crate::families::Unfit;
use crate::plan::RowPlan;
use crate::population::Population;
use crate::quantity::Probability;

/// 802.11-2020 §9.4.1.8: an access point has numbers for so many stations.
const STATIONS_MAX: u32 = 2007;

/// Why a row has not this population; nothing if it has.
pub(super) fn check(row: &RowPlan, population: &Population) -> Result<(), Unfit> {
    check_row(row)?;
    check_access_point(population)?;
    let has_one_key = row.method.eap().is_none();
    if population.wrong != Probability::ZERO && has_one_key {
        return Err(Unfit {
            key: Some("wrong"),
            why: "all stations have one key, or none, so that no share of them can be `wrong`",
            hint: "leave `wrong` out, or name methods with EAP",
        });
    }
    Ok(())
}

/// What the row itself excludes.
fn check_row(row: &RowPlan) -> Result<(), Unfit> {
    if row.method.own::<Admission>() == Some(&Admission::Rrkm) {
        return Err(Unfit {
            key: None,
            why: "keys of RRKM for many stations are not built yet",
            hint: "leave `[population]` out, or name another method",
        });
    }
    if row.options.wlan.roam_after.is_some() {
        return Err(Unfit {
            key: Some(ROAM_AFTER),
            why: "stations of a population have one access point, whatever `roam_after` is",
            hint: "leave `roam_after` out",
        });
    }
    Ok(())
}

/// What one access point excludes.
fn check_access_point(population: &Population) -> Result<(), Unfit> {
    let stays_full = population.stay.is_none() && population.devices > STATIONS_MAX;
    let unfit = |key, why, hint| Err(Unfit { key: Some(key), why, hint });
    match () {
        () if population.gateways > 1 => unfit(
            "gateways",
            "a population of stations has one access point, not several `gateways`",
            "leave `gateways` out",
        ),
        () if stays_full => unfit(
            "devices",
            "an access point has numbers for 2007 stations, and more would `stay` for ever",
            "at most 2007 devices, or a `stay` after which others have their turn",
        ),
        () if population.moves.is_some() => unfit(
            "moves",
            "an access point is not told who attaches elsewhere, and is soon full: `moves` is not built yet",
            "leave `moves` out",
        ),
        () if population.devices_per_link > 1 => unfit(
            "devices_per_link",
            "stations find their network by broadcast, which no link carries that they share (`devices_per_link`)",
            "leave `devices_per_link` out",
        ),
        () => Ok(()),
    }
}
