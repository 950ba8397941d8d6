//! Action frames, 802.11-2020 §9.3.3.13, §9.6.
//!
//!   Category(1) and what it says: of SA Query (§9.6.9)  SA Query Action(1) Transaction Identifier(2) Elements(*)
//!   of FT (§9.6.8)  FT Action(1) STA Address(6) Target AP Address(6) Status Code(0 or 2) Elements(*)

use keytoll_net::wire::{DecodeError, Problem, Reader, Writer};

use crate::MacAddr;
use crate::frame::element::Elements;
use crate::frame::number::StatusCode;

/// 802.11-2020 table 9-51.
mod category {
    pub(super) const FT: u8 = 6;
    pub(super) const SA_QUERY: u8 = 8;
}

/// An action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<'a> {
    /// Whether the other side still has the keys.
    SaQuery(SaQuery<'a>),
    /// Fast transition by way of the present access point.
    Ft(FtAction<'a>),
    /// Another category.
    Other {
        /// The category.
        category: u8,
        /// What it says.
        body: &'a [u8],
    },
}

/// An SA Query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaQuery<'a> {
    /// Whether it is the answer.
    pub is_response: bool,
    /// What the answer repeats.
    pub transaction: [u8; 2],
    /// Elements, which the standard has for operating channels.
    pub elements: Elements<'a>,
}

/// A message of a fast transition over the distribution system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FtAction<'a> {
    /// Which message.
    pub kind: FtKind,
    /// The station.
    pub station: MacAddr,
    /// The access point that it moves to.
    pub target: MacAddr,
    /// RSNE, MDE, FTE and the like.
    pub elements: Elements<'a>,
}

/// The messages of a fast transition over the distribution system, 802.11-2020 table 9-360.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FtKind {
    /// The station asks.
    Request,
    /// The answer.
    Response(StatusCode),
    /// The station asks for resources.
    Confirm,
    /// The answer.
    Ack(StatusCode),
}

impl FtKind {
    const fn number(self) -> u8 {
        match self {
            Self::Request => 1,
            Self::Response(_) => 2,
            Self::Confirm => 3,
            Self::Ack(_) => 4,
        }
    }
}

impl<'a> Action<'a> {
    pub(super) fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match r.u8("action category")? {
            category::SA_QUERY => Self::SaQuery(SaQuery::read(r)?),
            category::FT => Self::Ft(FtAction::read(r)?),
            category => Self::Other { category, body: r.rest() },
        })
    }

    pub(super) fn write(&self, w: &mut Writer) {
        match self {
            Self::SaQuery(query) => {
                w.u8(category::SA_QUERY);
                query.write(w);
            }
            Self::Ft(action) => {
                w.u8(category::FT);
                action.write(w);
            }
            Self::Other { category, body } => {
                w.u8(*category);
                w.bytes(body);
            }
        }
    }
}

impl<'a> SaQuery<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let at = *r;
        let is_response = match r.u8("SA Query action")? {
            0 => false,
            1 => true,
            other => return Err(at.error("SA Query action", Problem::Value(other.into()))),
        };
        let transaction = r.array("SA Query transaction identifier")?;
        Ok(Self { is_response, transaction, elements: Elements::read(r)? })
    }

    fn write(&self, w: &mut Writer) {
        w.u8(self.is_response.into());
        w.bytes(&self.transaction);
        self.elements.write(w);
    }
}

impl<'a> FtAction<'a> {
    fn read(r: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let at = *r;
        let number = r.u8("FT action")?;
        let (station, target) = (r.array("STA address")?, r.array("target AP address")?);
        let kind = match number {
            1 => FtKind::Request,
            2 => FtKind::Response(StatusCode(r.u16_le("status code")?)),
            3 => FtKind::Confirm,
            4 => FtKind::Ack(StatusCode(r.u16_le("status code")?)),
            other => return Err(at.error("FT action", Problem::Value(other.into()))),
        };
        Ok(Self { kind, station, target, elements: Elements::read(r)? })
    }

    fn write(&self, w: &mut Writer) {
        w.u8(self.kind.number());
        w.bytes(&self.station);
        w.bytes(&self.target);
        if let FtKind::Response(status) | FtKind::Ack(status) = self.kind {
            w.u16_le(status.0);
        }
        self.elements.write(w);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Management;
    use super::super::testing::{bodies, check, elements};
    use super::*;

    proptest! {
        #[test]
        fn sa_query(is_response: bool, transaction: [u8; 2], bodies in bodies()) {
            let query = SaQuery { is_response, transaction, elements: elements(&bodies) };
            check(&Management::Action(Action::SaQuery(query)), 4);
        }

        #[test]
        fn ft(number in 0_usize..4, status: u16, station: [u8; 6], target: [u8; 6], bodies in bodies()) {
            let status = StatusCode(status);
            let kind = [FtKind::Request, FtKind::Response(status), FtKind::Confirm, FtKind::Ack(status)][number];
            let fixed = if number % 2 == 0 { 14 } else { 16 };
            check(&Management::Action(Action::Ft(FtAction { kind, station, target, elements: elements(&bodies) })), fixed);
        }

        #[test]
        fn others(category in 9_u8.., body: Vec<u8>) {
            check(&Management::Action(Action::Other { category, body: &body }), 1);
        }
    }

    #[test]
    fn actions_that_do_not_exist_are_refused() {
        let error = |bytes: &[u8]| Management::read(13, bytes).unwrap_err().to_string();
        assert_eq!(error(&[8, 2, 0, 0]), "SA Query action at offset 1: value 2 is not allowed");
        assert_eq!(error(&[&[6, 9][..], &[0; 12]].concat()), "FT action at offset 1: value 9 is not allowed");
    }
}
