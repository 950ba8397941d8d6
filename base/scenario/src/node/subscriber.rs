//! Subscribers with a card: `[[subscriber]]` of AAA server and HSS, `[card]` of a device. 3GPP TS 35.205 names K and OPc.

use keytoll_crypto_api::Secret;

use super::Placed;
use super::files::{Files, hex};
use crate::diagnostic::ScenarioError;
use crate::tree::{Item, Table};

/// A subscriber and its keys, for MILENAGE.
#[derive(Debug, Clone)]
pub struct SubscriberPlan {
    /// 15 digits at most.
    pub imsi: Placed<String>,
    /// K, of 16 bytes.
    pub k: Secret,
    /// OP or OPc.
    pub operator: OperatorKey,
    /// The network's authentication management field.
    pub amf: [u8; 2],
    /// The last sequence number used; on a card the highest one received.
    pub sqn: u64,
}

/// The operator's MILENAGE value of 16 bytes.
#[derive(Debug, Clone)]
pub enum OperatorKey {
    /// For all its subscribers.
    Op(Secret),
    /// Derived from OP and K.
    Opc(Secret),
}

/// SQN has 48 bits.
const SQN_MAX: u64 = (1 << 48) - 1;

/// Every subscriber of the database.
pub(super) fn all(document: &Table, files: &mut Files) -> Result<Vec<SubscriberPlan>, ScenarioError> {
    let Some(item) = document.get("subscriber") else { return Ok(Vec::new()) };
    // TS 33.402 §6.2: AKA′ requires the separation bit of the AMF. The first sequence number is 32, index 0 of block 1.
    item.elements().iter().map(|item| read(item, &["amf"], 32, files)).collect()
}

/// A subscriber; `more` are further allowed keys.
pub(super) fn read(
    item: &Item,
    more: &[&str],
    sqn: u64,
    files: &mut Files,
) -> Result<SubscriberPlan, ScenarioError> {
    let table = item.table()?;
    table.only("a subscriber", &[&["imsi", "k", "op", "opc", "sqn"], more].concat())?;
    let imsi = table.need("imsi", "a subscriber")?;
    Ok(SubscriberPlan {
        imsi: Placed::new(imsi.text("digits in a string")?.to_owned(), imsi),
        k: key(table.need("k", "a subscriber")?, files)?,
        operator: operator(table, files)?,
        amf: table.or("amf", [0x80, 0], amf)?,
        sqn: table.or("sqn", sqn, |item| item.integer(0..=SQN_MAX))?,
    })
}

fn operator(table: &Table, files: &mut Files) -> Result<OperatorKey, ScenarioError> {
    match (table.get("op"), table.get("opc")) {
        (Some(op), None) => key(op, files).map(OperatorKey::Op),
        (None, Some(opc)) => key(opc, files).map(OperatorKey::Opc),
        _ => Err(table.spot.error("a subscriber needs either `op` or `opc`", "one of them")),
    }
}

/// 16 bytes in hexadecimal digits, in the document or elsewhere.
fn key(item: &Item, files: &mut Files) -> Result<Secret, ScenarioError> {
    let digits = files.secret(item)?;
    let pair = |pair: &[u8]| {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        Some((digit(pair[0])? << 4 | digit(*pair.get(1)?)?) as u8)
    };
    let bytes = digits.chunks(2).map(pair).collect::<Option<Vec<u8>>>().map(Secret::new);
    bytes.filter(|bytes| bytes.len() == 16).ok_or_else(|| {
        item.spot.error(format!("`{}` must be 32 hexadecimal digits", item.name), "a key of 16 bytes")
    })
}

fn amf(item: &Item) -> Result<[u8; 2], ScenarioError> {
    hex(item)?.try_into().map_err(|_| item.spot.error("`amf` must be 4 hexadecimal digits", "two bytes"))
}
