//! HIP packets in the words of their standards.

use keytoll_engine::Datagram;
use keytoll_family::words::{printable, short_hex};
use keytoll_family::{About, Content, Dissected, Entry, Part, unreadable};
use keytoll_net::wire::{DecodeError, Reader};

use super::{LENIENCY, message, without_marker};
use crate::hit::Hit;
use crate::leniency::Leniency;
use crate::number::{Cipher, EspSuite, GroupId, HitSuite, NotifyType, PacketType, ParameterType};
use crate::wire::esp::EspInfo;
use crate::wire::host_id::HostIdAlgorithm;
use crate::wire::key_exchange::DiffieHellman;
use crate::wire::puzzle::{Puzzle, R1Counter, Solution};
use crate::wire::update::{Notification, read_ack, read_locators, read_seq};
use crate::wire::{HostId, Packet, Parameter, lists};

/// A HIP packet as its conversation sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hip {
    /// Its type.
    pub packet_type: PacketType,
    /// The sender's HIT.
    pub sender: Hit,
    /// The receiver's HIT.
    pub receiver: Hit,
    /// The SPI that its sender receives on.
    pub spi: Option<u32>,
    /// Its Update ID.
    pub seq: Option<u32>,
    /// The Update IDs that it acknowledges.
    pub acks: Vec<u32>,
    /// What it tells.
    pub notifies: Option<NotifyType>,
    /// Whether something in it is encrypted.
    pub hides: bool,
    /// The cipher and the group that an I2 has chosen.
    suite: Option<String>,
    child_suite: Option<String>,
    algorithm: Option<HostIdAlgorithm>,
}

impl Content for Hip {
    fn tell(&self, _: &Entry, about: &mut About) {
        if self.packet_type != PacketType::I2 {
            return;
        }
        about.suite = self.suite.clone().or(about.suite.take());
        about.child_suite = self.child_suite.clone().or(about.child_suite.take());
        about.user = Some(self.sender.to_string());
        about.gateway = Some(self.receiver.to_string());
        about.auth_method = self.algorithm.map(|algorithm| algorithm_name(algorithm).to_owned());
    }
}

pub(super) fn dissect(datagram: &Datagram) -> Dissected {
    let bytes = without_marker(&datagram.bytes);
    let packet = match Packet::read(bytes, LENIENCY) {
        Ok(packet) => packet,
        Err(error) => return unreadable("HIP", &error),
    };
    let mut remarks = Vec::new();
    let parts = packet.parameters().iter().map(|parameter| part(parameter, &mut remarks)).collect();
    remarks.extend(damage(&packet, datagram));
    let hip = content(&packet);
    let error = hip.notifies.filter(|kind| kind.0 < NotifyType::I2_ACKNOWLEDGEMENT.0);
    let sent = message(&packet);
    Dissected {
        parts,
        failure: error.map(notify_name),
        remarks,
        sent: Some(sent.clone()),
        ..Dissected::bare(name(&packet, &hip, sent.name.as_str()), hip)
    }
}

fn name(packet: &Packet<'_>, hip: &Hip, known: &str) -> String {
    match (packet.header.packet_type, hip.seq) {
        (PacketType::UPDATE, Some(id)) => format!("UPDATE {id}"),
        (packet_type, _) if packet_type.name().is_none() => format!("HIP packet {}", packet_type.0),
        _ => known.to_owned(),
    }
}

fn content(packet: &Packet<'_>) -> Hip {
    let read = |kind| packet.find(kind).map(|parameter| parameter.contents);
    let info = read(ParameterType::ESP_INFO).and_then(|contents| EspInfo::read(contents).ok());
    let notification = read(ParameterType::NOTIFICATION).and_then(|it| Notification::read(it).ok());
    let host_id = read(ParameterType::HOST_ID).and_then(|contents| HostId::read(contents).ok());
    let suites = read(ParameterType::ESP_TRANSFORM).and_then(|contents| lists::esp_suites(contents).ok());
    Hip {
        packet_type: packet.header.packet_type,
        sender: packet.header.sender,
        receiver: packet.header.receiver,
        spi: info.map(|info| info.new_spi).filter(|spi| *spi != 0),
        seq: read(ParameterType::SEQ).and_then(|contents| read_seq(contents).ok()),
        acks: read(ParameterType::ACK).and_then(|contents| read_ack(contents).ok()).unwrap_or_default(),
        notifies: notification.map(|notification| notification.kind),
        hides: packet.find(ParameterType::ENCRYPTED).is_some(),
        suite: suite(packet),
        child_suite: suites.and_then(|suites| suites.first().map(|suite| esp_suite_name(*suite))),
        algorithm: host_id.map(|host_id| host_id.algorithm),
    }
}

/// `aes128-ecp256`: the cipher that was chosen, and the group.
fn suite(packet: &Packet<'_>) -> Option<String> {
    let ciphers = lists::numbers(packet.find(ParameterType::HIP_CIPHER)?.contents, "HIP_CIPHER").ok()?;
    let cipher = cipher_name(*ciphers.first()?);
    let exchanged = packet.find(ParameterType::DIFFIE_HELLMAN);
    let group = exchanged.and_then(|parameter| DiffieHellman::read(parameter.contents).ok());
    Some(match group {
        Some(exchanged) => format!("{cipher}-{}", group_name(exchanged.group.0)),
        None => cipher,
    })
}

/// What is wrong with a packet as a whole.
fn damage(packet: &Packet<'_>, datagram: &Datagram) -> Vec<String> {
    let mut remarks = Vec::new();
    let in_udp = datagram.to.udp_port().is_some();
    if let (false, Some(from), Some(to)) = (in_udp, datagram.from.ip(), datagram.to.ip())
        && !packet.has_checksum((from, to))
    {
        remarks.push("WRONG CHECKSUM".to_owned());
    }
    if Packet::read(packet.bytes, Leniency::default()).is_err() {
        remarks.push("parameters are not in order".to_owned());
    }
    if let Some(kind) = packet.unknown_critical(ParameterType::KNOWN) {
        remarks.push(format!("unknown critical parameter {}", kind.0));
    }
    remarks
}

fn part(parameter: &Parameter<'_>, remarks: &mut Vec<String>) -> Part {
    let name = match parameter.kind.name() {
        Some(name) => (*name).to_owned(),
        None => format!("parameter {}", parameter.kind.0),
    };
    match detail(parameter) {
        Ok(detail) => Part::new(name, detail),
        Err(error) => {
            remarks.push(format!("MALFORMED: {error}"));
            Part::bare(name)
        }
    }
}

fn detail(parameter: &Parameter<'_>) -> Result<String, DecodeError> {
    let contents = parameter.contents;
    Ok(match parameter.kind {
        ParameterType::ESP_INFO => esp_info(&EspInfo::read(contents)?),
        ParameterType::R1_COUNTER => R1Counter::read(contents)?.generation.to_string(),
        ParameterType::PUZZLE => {
            let puzzle = Puzzle::read(contents)?;
            format!("K={}, {:?}", puzzle.difficulty_bits, puzzle.lifetime())
        }
        ParameterType::SOLUTION => format!("K={}", Solution::read(contents)?.difficulty_bits),
        ParameterType::SEQ => read_seq(contents)?.to_string(),
        ParameterType::ACK => joined(read_ack(contents)?.into_iter().map(|id| id.to_string())),
        ParameterType::DIFFIE_HELLMAN => group_name(DiffieHellman::read(contents)?.group.0),
        ParameterType::LOCATOR_SET => {
            joined(read_locators(contents)?.into_iter().map(|locator| locator.address.to_string()))
        }
        ParameterType::HOST_ID => host_id(&HostId::read(contents)?),
        ParameterType::NOTIFICATION => notify_name(Notification::read(contents)?.kind),
        kind => return listed(kind, contents),
    })
}

/// Parameters that are lists.
fn listed(kind: ParameterType, contents: Reader<'_>) -> Result<String, DecodeError> {
    Ok(match kind {
        ParameterType::DH_GROUP_LIST => joined(lists::octets(contents).iter().copied().map(group_name)),
        ParameterType::HIT_SUITE_LIST => joined(lists::octets(contents).iter().copied().map(suite_name)),
        ParameterType::HIP_CIPHER => {
            joined(lists::numbers(contents, "HIP_CIPHER")?.into_iter().map(cipher_name))
        }
        ParameterType::ESP_TRANSFORM => joined(lists::esp_suites(contents)?.into_iter().map(esp_suite_name)),
        _ => String::new(),
    })
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

fn esp_info(info: &EspInfo) -> String {
    match info.old_spi {
        0 => format!("SPI {:#010x}", info.new_spi),
        old => format!("SPI {old:#010x} -> {:#010x}", info.new_spi),
    }
}

fn host_id(host_id: &HostId<'_>) -> String {
    let name = algorithm_name(host_id.algorithm);
    let key = short_hex(host_id.identity);
    if host_id.domain.is_empty() {
        return format!("{name} {key}");
    }
    format!("{name} {key} {}", printable(host_id.domain))
}

fn algorithm_name(algorithm: HostIdAlgorithm) -> &'static str {
    match algorithm {
        HostIdAlgorithm::DSA => "DSA",
        HostIdAlgorithm::RSA => "RSA",
        HostIdAlgorithm::ECDSA => "ECDSA",
        HostIdAlgorithm::ECDSA_LOW => "ECDSA_LOW",
        HostIdAlgorithm::ECDH => "ECDH",
        HostIdAlgorithm::EDDSA => "EdDSA",
        _ => "unknown algorithm",
    }
}

fn group_name(group: u8) -> String {
    GroupId(group).group().map_or_else(|| format!("group {group}"), |group| group.name().to_owned())
}

fn cipher_name(cipher: u16) -> String {
    match Cipher::from_number(cipher) {
        Some(Cipher::Null) => "null".to_owned(),
        Some(Cipher::Aes128Cbc) => "aes128".to_owned(),
        Some(Cipher::Aes256Cbc) => "aes256".to_owned(),
        Some(Cipher::Aes128Ctr) => "aes128ctr".to_owned(),
        None => format!("cipher {cipher}"),
    }
}

fn esp_suite_name(suite: u16) -> String {
    EspSuite(suite).suite().map_or_else(|| format!("suite {suite}"), |suite| suite.to_string())
}

fn suite_name(octet: u8) -> String {
    match HitSuite::from_number(octet >> 4) {
        Some(HitSuite::RsaSha256) => "RSA,DSA/SHA-256".to_owned(),
        Some(HitSuite::EcdsaSha384) => "ECDSA/SHA-384".to_owned(),
        Some(HitSuite::EcdsaLowSha1) => "ECDSA_LOW/SHA-1".to_owned(),
        Some(HitSuite::EcdhFold) => "ECDH/FOLD".to_owned(),
        Some(HitSuite::EdDsaCShake128) => "EdDSA/cSHAKE128".to_owned(),
        None => format!("HIT suite {octet:#04x}"),
    }
}

pub(super) fn notify_name(kind: NotifyType) -> String {
    kind.name().map_or_else(|| format!("notification {}", kind.0), str::to_owned)
}
