//! The scenarios that come with keytoll, from the folder `scenarios/`.

use super::Entry;
use crate::overrides::Overrides;
use crate::source::Source;

/// A scenario compiled into the program.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// The name of its file without `.toml`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// Every one, the default first.
pub const BUILTIN: &[Builtin] = &[
    Builtin { name: "quickstart", text: include_str!("../../../../scenarios/quickstart.toml") },
    Builtin { name: "lossy", text: include_str!("../../../../scenarios/lossy.toml") },
    Builtin { name: "suites", text: include_str!("../../../../scenarios/suites.toml") },
    Builtin { name: "ikev1", text: include_str!("../../../../scenarios/ikev1.toml") },
    Builtin { name: "fragmentation", text: include_str!("../../../../scenarios/fragmentation.toml") },
    Builtin { name: "eap", text: include_str!("../../../../scenarios/eap.toml") },
    Builtin {
        name: "eap-aka-topologies",
        text: include_str!("../../../../scenarios/eap-aka-topologies.toml"),
    },
    Builtin { name: "hip", text: include_str!("../../../../scenarios/hip.toml") },
    Builtin { name: "hip-mobility", text: include_str!("../../../../scenarios/hip-mobility.toml") },
    Builtin { name: "wlan", text: include_str!("../../../../scenarios/wlan.toml") },
    Builtin { name: "wlan-rekey", text: include_str!("../../../../scenarios/wlan-rekey.toml") },
    Builtin { name: "wlan-roam", text: include_str!("../../../../scenarios/wlan-roam.toml") },
    Builtin { name: "failures", text: include_str!("../../../../scenarios/failures.toml") },
    Builtin {
        name: "strongswan-gateway",
        text: include_str!("../../../../scenarios/strongswan-gateway.toml"),
    },
    Builtin { name: "strongswan-ikev1", text: include_str!("../../../../scenarios/strongswan-ikev1.toml") },
    Builtin { name: "traffic", text: include_str!("../../../../scenarios/traffic.toml") },
    Builtin { name: "storm", text: include_str!("../../../../scenarios/storm.toml") },
    Builtin { name: "aaa-servers", text: include_str!("../../../../scenarios/aaa-servers.toml") },
];

impl Builtin {
    /// How the list shows it.
    pub(super) fn entry(&self) -> Entry {
        let plan = Source::text(self.name, self.text).plan(&Overrides::default());
        let plan = plan.expect("a test resolves every scenario that is compiled in");
        let each = match &plan.population {
            Some(population) => format!("{} devices", population.devices),
            None => format!("{} samples", plan.samples),
        };
        Entry {
            name: self.name.to_owned(),
            summary: format!("{} ({} rows, {each})", plan.title, plan.rows.len()),
            source: format!("scenarios/{}.toml", self.name),
            standing: "",
        }
    }
}
