//! What a station and its access point share before they meet: a passphrase, a password of SAE, a key of WEP. What is computed of
//! these once, when a password is typed in, is computed here, before any authentication.

use keytoll_crypto_api::algorithm::Curve;
use keytoll_crypto_api::{Crypto, Secret, Seed};
use keytoll_scenario::families::wlan::{Admission, Wep};
use keytoll_scenario::plan::RowPlan;
use keytoll_wlan::cipher::WepKey;
use keytoll_wlan::keys::psk;
use keytoll_wlan::sae::Password;

use super::build::SSID;

/// The laboratory's passphrase.
pub(super) struct Passphrase(String);

impl Passphrase {
    /// That of a seed.
    pub(super) fn of(seed: &Seed) -> Self {
        Self(format!("{:016x}", seed.stream("wlan/passphrase").u64()))
    }

    pub(super) fn secret(&self) -> Secret {
        Secret::from(self.0.as_bytes())
    }

    /// The PMK that it stands for.
    fn pmk(&self, crypto: &mut dyn Crypto) -> Secret {
        psk(&self.0, SSID, crypto).expect("16 digits are a passphrase")
    }

    fn password(&self, crypto: &mut dyn Crypto) -> Password {
        Password::of_network(SSID, self.0.as_bytes(), None, &[Curve::P256], crypto)
    }
}

/// Keys of WEP with 40 and with 104 bits.
pub(super) fn wep_keys(seed: &Seed) -> [Secret; 2] {
    [
        Secret::from(&seed.stream("wlan/wep-40").bytes::<5>()[..]),
        Secret::from(&seed.stream("wlan/wep-104").bytes::<13>()[..]),
    ]
}

/// What one side knows beforehand.
#[derive(Clone, Default)]
pub(super) struct Keys {
    pub(super) pmk: Option<Secret>,
    pub(super) password: Option<Password>,
    pub(super) wep: Option<WepKey>,
}

/// What a side of a row knows, whose secrets are of this seed.
pub(super) fn of(row: &RowPlan, seed: &Seed, crypto: &mut dyn Crypto) -> Keys {
    let Some(admission) = row.method.own::<Admission>() else { return Keys::default() };
    let passphrase = Passphrase::of(seed);
    match admission {
        Admission::Wpa2Psk => Keys { pmk: Some(passphrase.pmk(crypto)), ..Keys::default() },
        Admission::Wpa3Sae => Keys { password: Some(passphrase.password(crypto)), ..Keys::default() },
        Admission::SharedKey | Admission::Rrkm => Keys { wep: Some(wep_key(row, seed)), ..Keys::default() },
        Admission::Open | Admission::DynamicWep | Admission::Wpa2Eap | Admission::Wpa3Eap => Keys::default(),
    }
}

fn wep_key(row: &RowPlan, seed: &Seed) -> WepKey {
    let [short, long] = wep_keys(seed);
    let octets = match row.options.wlan.wep {
        Wep::Wep40 => short,
        Wep::Wep104 => long,
    };
    WepKey::new(&octets).expect("of one of the two lengths")
}
