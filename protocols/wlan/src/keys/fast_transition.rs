//! The key hierarchy of fast transition: PMK-R0 with the holder in the first access point, a PMK-R1 for each access point,
//! and the PTK. 802.11-2020 §12.7.1.6.

use keytoll_crypto_api::{Crypto, Secret, about};

use super::{Exchange, KeyName, Ptk, derive, name};
use crate::MacAddr;
use crate::suite::{Akm, Cipher};

/// What a PMK-R0 is bound to besides the station.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct R0Holder<'a> {
    /// The network's name, at most 32 octets.
    pub ssid: &'a [u8],
    /// The identifier of the mobility domain, as it is on the air.
    pub mdid: [u8; 2],
    /// The name of the holder (R0KH-ID), at most 48 octets.
    pub r0kh_id: &'a [u8],
}

/// The key of the first level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PmkR0 {
    /// The key.
    pub key: Secret,
    /// PMKR0Name.
    pub name: KeyName,
}

/// The key of the second level, for one access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PmkR1 {
    /// The key.
    pub key: Secret,
    /// PMKR1Name.
    pub name: KeyName,
}

impl PmkR0 {
    // 802.11-2020 §12.7.1.6.3: R0-Key-Data = KDF-Hash-Length(XXKey, "FT-R0", SSIDlength ‖ SSID ‖ MDID ‖ R0KHlength ‖ R0KH-ID ‖
    // S0KH-ID), of which the last 128 bits salt the name.
    /// The key of this station; `xxkey` is the PSK, SAE's PMK, or the part of the MSK that the AKM prescribes.
    pub fn new(
        akm: Akm,
        xxkey: &[u8],
        holder: &R0Holder<'_>,
        station: MacAddr,
        crypto: &mut dyn Crypto,
    ) -> Self {
        let R0Holder { ssid, mdid, r0kh_id } = holder;
        let lengths = [ssid.len() as u8, r0kh_id.len() as u8];
        let context = [&lengths[..1], ssid, mdid, &lengths[1..], r0kh_id, &station].concat();
        about(crypto, "PMK-R0", |crypto| {
            let len = akm.pmk_len() + size_of::<KeyName>();
            let data = derive(akm.derivation(), xxkey, b"FT-R0", &context, len, crypto);
            let (key, salt) = data.split_at(akm.pmk_len());
            let digest = crypto.hash(akm.derivation().hash(), &[b"FT-R0N", salt]);
            Self { key: key.into(), name: name(&digest) }
        })
    }

    // 802.11-2020 §12.7.1.6.4: PMK-R1 = KDF-Hash-Length(PMK-R0, "FT-R1", R1KH-ID ‖ S1KH-ID).
    /// The key of the station with this access point.
    pub fn r1(&self, akm: Akm, r1kh_id: MacAddr, station: MacAddr, crypto: &mut dyn Crypto) -> PmkR1 {
        about(crypto, "PMK-R1", |crypto| {
            let context = [r1kh_id, station].concat();
            let key = derive(akm.derivation(), &self.key, b"FT-R1", &context, akm.pmk_len(), crypto);
            let digest = crypto.hash(akm.derivation().hash(), &[b"FT-R1N", &self.name, &context]);
            PmkR1 { key, name: name(&digest) }
        })
    }
}

impl PmkR1 {
    // 802.11-2020 §12.7.1.6.5: PTK = KDF-Hash-Length(PMK-R1, "FT-PTK", SNonce ‖ ANonce ‖ BSSID ‖ STA-ADDR), PTKName =
    // Truncate-128(Hash(PMKR1Name ‖ "FT-PTKN" ‖ SNonce ‖ ANonce ‖ BSSID ‖ STA-ADDR)).
    /// The PTK with its name.
    pub fn ptk(
        &self,
        akm: Akm,
        cipher: Cipher,
        exchange: &Exchange,
        crypto: &mut dyn Crypto,
    ) -> (Ptk, KeyName) {
        let Exchange { aa, spa, anonce, snonce } = exchange;
        let context = [&snonce[..], anonce, aa, spa].concat();
        let ptk = Ptk::derived(akm, cipher, &self.key, (b"FT-PTK", &context), crypto);
        let parts: [&[u8]; 3] = [&self.name, b"FT-PTKN", &context];
        let digest = about(crypto, "PTKName", |crypto| crypto.hash(akm.derivation().hash(), &parts));
        (ptk, name(&digest))
    }
}

#[cfg(test)]
mod tests {
    use keytoll_crypto::Real;

    use super::*;
    use crate::keys::tests::{array, hex};

    const EXCHANGE: &str = "c0ffd4a8dbc1 00904c01c107
        be7a1ca284347b5bd67dbd2dfdb4d99f1afae0b88ba18e008718417e4b27ef5f
        404b012ffb43ed0fb43ea1f287c91f2506d21b4a92d74b5ea50c943350ce8671";

    fn exchange() -> Exchange {
        let octets = hex(EXCHANGE);
        let (addresses, nonces) = octets.split_at(12);
        Exchange {
            aa: addresses[..6].try_into().unwrap(),
            spa: addresses[6..].try_into().unwrap(),
            anonce: nonces[..32].try_into().unwrap(),
            snonce: nonces[32..].try_into().unwrap(),
        }
    }

    /// Computed independently of this crate, in Python, from the clauses that are cited above.
    #[test]
    fn as_a_second_reader_computed_it() {
        let pmk = "def43e5567e01ca6649265f19a290eeff8bd888f6c1d9cc9d10f04bd378f3cad";
        check(
            (Akm::FtPsk, Cipher::Ccmp128),
            pmk,
            [
                "27cf51c73e3796d3690be572bcee2533e7e9abf0c051f740b42f7e65c7137475",
                "d228d14987757667762221a7251b0ebda98c05acfde0f3c3036f6148b414b64a",
                "5214622e2721e04f020c6390a3aea258e981cead49ed90410f210a6d971ae64063711f564e4f637ab2eda37211a2e6e8",
            ],
            [
                "15cce66948ea32ff4f2d0c0857501fd0",
                "d3872429e2d3aa79ee246502c7e113a3",
                "8ff86a2b7e8334fc2f082cf42345cbf8",
            ],
        );
        check(
            (Akm::FtDot1xSha384, Cipher::Gcmp256),
            &format!("{pmk}{}", &pmk[..32]),
            [
                "c25195efd323022f5f19b1c7e1b9ff3a1e14aa17c58446c61afcebe3df491fc17e05b221eb7cb8acbac0151646ac6af6",
                "8954089e58703c8d462f50533897046ec965857ec7050d25bc286cd788c20c7187433b5af176cac44480add3624ad47d",
                "e75acdd76dcc9104a7f8006a7f8e0fcd932344efdb83f6469c212e99b9bb6eb27cd1d57cbeab8c2d20732d6884330614\
                 7b01fa3c3cdc11ebd7a75299f992a5d471da28a610b7c8363972a5215b619fa016da829851d077db",
            ],
            [
                "ba261f9f55c715a47c16394e0d12e6a9",
                "b835e415fd2beb1f18ebefd208624c4f",
                "af2a2ff6af329dbc5d3d04318ae651ba",
            ],
        );
    }

    fn check((akm, cipher): (Akm, Cipher), xxkey: &str, keys: [&str; 3], names: [&str; 3]) {
        let (crypto, exchange) = (&mut Real::default(), exchange());
        let holder = R0Holder { ssid: b"keytoll", mdid: array("a1b2"), r0kh_id: b"nas.example" };
        let r0 = PmkR0::new(akm, &hex(xxkey), &holder, exchange.spa, crypto);
        assert_eq!((&r0.key[..], r0.name), (&hex(keys[0])[..], array(names[0])));
        let r1 = r0.r1(akm, exchange.aa, exchange.spa, crypto);
        assert_eq!((&r1.key[..], r1.name), (&hex(keys[1])[..], array(names[1])));
        let (ptk, name) = r1.ptk(akm, cipher, &exchange, crypto);
        let whole = [&ptk.kck[..], &ptk.kek, &ptk.tk].concat();
        assert_eq!((whole, name), (hex(keys[2]), array(names[2])));
    }
}
