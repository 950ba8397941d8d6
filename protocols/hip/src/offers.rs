//! What R1 offers, I2 chooses from and R2 repeats: lists of groups, ciphers, HIT suites, transports and ESP suites.
//! RFC 7401 §5.2.6 to §5.2.11, RFC 7402 §5.1.2.

use keytoll_crypto_api::algorithm::Group;
use keytoll_net::wire::DecodeError;

use crate::config::Config;
use crate::identity::{HostIdentity, IdentityKey};
use crate::number::{Cipher, EspSuite, GroupId, HitSuite, ParameterType};
use crate::protection::Exchange;
use crate::wire::{Builder, Packet, lists};

/// RFC 7401 §5.2.11: transport formats are named by the type of their parameter.
const ESP: u16 = ParameterType::ESP_TRANSFORM.0;

/// The groups that an identity can use, best first: of the diet exchange that of its own key.
pub(crate) fn groups(own: &HostIdentity, config: &Config) -> Vec<GroupId> {
    match own.key() {
        IdentityKey::Signing(..) => config.groups.iter().filter_map(|group| GroupId::of(*group)).collect(),
        IdentityKey::Agreeing(key) => GroupId::of(key.private.group).into_iter().collect(),
    }
}

/// The first of ours that is among theirs.
pub(crate) fn best_group(ours: &[GroupId], theirs: &[u8]) -> Option<(GroupId, Group)> {
    let best = ours.iter().find(|group| theirs.contains(&group.0))?;
    Some((*best, best.group()?))
}

pub(crate) fn push_groups(builder: &mut Builder, groups: &[GroupId]) {
    builder.parameter(ParameterType::DH_GROUP_LIST, |w| groups.iter().for_each(|group| w.u8(group.0)));
}

/// The ciphers of an exchange, best first.
pub(crate) fn ciphers(exchange: Exchange, config: &Config) -> Vec<Cipher> {
    match exchange {
        Exchange::Base(_) => config.ciphers.clone(),
        Exchange::Diet(_) => vec![Cipher::Aes128Ctr],
    }
}

pub(crate) fn push_ciphers(builder: &mut Builder, ciphers: &[Cipher]) {
    let numbers = ciphers.iter().map(|cipher| cipher.number());
    builder.parameter(ParameterType::HIP_CIPHER, |w| lists::write_numbers(w, numbers));
}

/// The HIT suites whose hosts we associate with: those of our own identities, then what else we can verify.
pub(crate) fn push_hit_suites(builder: &mut Builder, config: &Config) {
    let own = config.identities.iter().map(HostIdentity::suite);
    let mut suites: Vec<HitSuite> = Vec::new();
    let others = [HitSuite::EcdsaSha384, HitSuite::RsaSha256, HitSuite::EdDsaCShake128];
    let signs = config.identities.iter().any(|identity| matches!(identity.key(), IdentityKey::Signing(..)));
    for suite in own.chain(others.into_iter().filter(|_| signs)) {
        if !suites.contains(&suite) {
            suites.push(suite);
        }
    }
    builder.parameter(ParameterType::HIT_SUITE_LIST, |w| suites.iter().for_each(|suite| w.u8(suite.octet())));
}

pub(crate) fn push_transports(builder: &mut Builder) {
    builder.parameter(ParameterType::TRANSPORT_FORMAT_LIST, |w| w.u16(ESP));
}

pub(crate) fn push_esp_suites(builder: &mut Builder, suites: &[EspSuite]) {
    let numbers = suites.iter().map(|suite| suite.0);
    builder.parameter(ParameterType::ESP_TRANSFORM, |w| lists::write_esp_suites(w, numbers));
}

/// What an I2 has chosen, or an R1 offers.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) ciphers: Vec<Cipher>,
    pub(crate) esp_suites: Vec<EspSuite>,
    has_esp: bool,
}

impl Offer {
    pub(crate) fn read(packet: &Packet<'_>) -> Result<Self, DecodeError> {
        let ciphers = packet.one(ParameterType::HIP_CIPHER, "HIP_CIPHER")?;
        let ciphers = lists::numbers(ciphers.contents, "HIP_CIPHER")?;
        let transports = packet.one(ParameterType::TRANSPORT_FORMAT_LIST, "TRANSPORT_FORMAT_LIST")?;
        let transports = lists::numbers(transports.contents, "TRANSPORT_FORMAT_LIST")?;
        let suites = packet.one(ParameterType::ESP_TRANSFORM, "ESP_TRANSFORM")?;
        Ok(Self {
            ciphers: ciphers.into_iter().filter_map(Cipher::from_number).collect(),
            esp_suites: lists::esp_suites(suites.contents)?.into_iter().map(EspSuite).collect(),
            has_esp: transports.contains(&ESP),
        })
    }

    /// The first of theirs that we take.
    pub(crate) fn choose(&self, exchange: Exchange, config: &Config) -> Option<(Cipher, EspSuite)> {
        let ours = ciphers(exchange, config);
        let cipher = self.ciphers.iter().find(|cipher| ours.contains(cipher))?;
        let suite = self.esp_suites.iter().find(|suite| config.esp_suites.contains(suite))?;
        self.has_esp.then_some((*cipher, *suite))
    }

    // RFC 7401 §6.9: I2 has a single cipher, which is one of those that R1 offered; RFC 7402 §5.1.2 says it of suites.
    /// What an initiator has chosen, if it is one of each that we offered.
    pub(crate) fn chosen(&self, exchange: Exchange, config: &Config) -> Option<(Cipher, EspSuite)> {
        if self.ciphers.len() != 1 || self.esp_suites.len() != 1 {
            return None;
        }
        self.choose(exchange, config)
    }
}
