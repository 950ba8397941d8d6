//! Authentication vectors over Diameter. Read TS 29.273 §8.1.2.1 and §8.2.2.1 (MAR, MAA), TS 29.272 §7.2.5 and §7.2.6
//! (AIR, AIA) first. GSM triplets are encoded as in TS 29.234 §6 for Wx: one item per triplet, the scheme `EAP/SIM`.

use keytoll_crypto_api::Secret;
use keytoll_net::wire::{DecodeError, Problem};

use crate::number::{AvpCode, application, command, result};
use crate::wire::{Avps, Builder};

/// Maximum number of vectors in one answer.
pub const VECTORS_MAX: u32 = 32;

/// A request for vectors of a subscriber.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The digits of the IMSI.
    pub imsi: String,
    /// The kind of vectors.
    pub wanted: Wanted,
    /// How many vectors, 1 to [`VECTORS_MAX`].
    pub count: u32,
    /// RAND ‖ AUTS of a card that was out of sequence.
    pub resynchronisation: Option<[u8; 30]>,
}

// TS 29.273 §8.2.3.11, TS 29.272 §7.3.15: RAND, then AUTS.
/// What a card that was out of sequence says, for [`Request::resynchronisation`].
pub fn resynchronisation(rand: &[u8; 16], auts: &[u8; 14]) -> [u8; 30] {
    let mut both = [0; 30];
    both[..16].copy_from_slice(rand);
    both[16..].copy_from_slice(auts);
    both
}

/// Kinds of vectors.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// GSM triplets, over SWx.
    Sim,
    /// Quintuplets, over SWx.
    Aka,
    /// Quintuplets with CK′ and IK′ for the access network of this name, over SWx.
    AkaPrime(Vec<u8>),
    /// EPS vectors for the serving network of this PLMN identity, over S6a.
    Eps([u8; 3]),
}

/// One vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vector {
    /// A triplet.
    Gsm {
        /// The challenge.
        rand: [u8; 16],
        /// Its answer.
        sres: Secret,
        /// The key.
        kc: Secret,
    },
    /// A quintuplet.
    Umts {
        /// The challenge.
        rand: [u8; 16],
        /// Proves the network.
        autn: [u8; 16],
        /// The answer.
        xres: Secret,
        /// CK or CK′.
        ck: Secret,
        /// IK or IK′.
        ik: Secret,
    },
    /// An EPS vector.
    Eps {
        /// The challenge.
        rand: [u8; 16],
        /// Proves the network.
        autn: [u8; 16],
        /// The answer.
        xres: Secret,
        /// KASME, 32 bytes.
        kasme: Secret,
    },
}

/// Why there are no vectors; analysis groups by the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The IMSI is unknown.
    #[error("Diameter unknown user")]
    UserUnknown,
    /// The database has the user but cannot generate these vectors.
    #[error("Diameter authentication data unavailable")]
    Unavailable,
    /// The database refuses, above all because AUTS is invalid.
    #[error("Diameter unable to comply")]
    UnableToComply,
    /// Any other result code.
    #[error("Diameter error answer")]
    Other(u32),
    /// The database did not answer in time.
    #[error("Diameter no answer")]
    NoAnswer,
    /// Too many requests at once.
    #[error("Diameter too many requests")]
    TooMany,
    /// The answer lacks mandatory contents.
    #[error("Diameter malformed answer")]
    Malformed,
}

impl Refusal {
    /// Its result code.
    pub const fn code(self) -> u32 {
        match self {
            Self::UserUnknown => result::USER_UNKNOWN,
            Self::Unavailable => result::AUTHENTICATION_DATA_UNAVAILABLE,
            Self::Other(code) => code,
            Self::UnableToComply | Self::NoAnswer | Self::TooMany | Self::Malformed => {
                result::UNABLE_TO_COMPLY
            }
        }
    }

    /// The refusal for a result code; `None` for success.
    pub const fn of(code: u32) -> Option<Self> {
        match code {
            result::SUCCESS => None,
            result::USER_UNKNOWN => Some(Self::UserUnknown),
            result::AUTHENTICATION_DATA_UNAVAILABLE => Some(Self::Unavailable),
            result::UNABLE_TO_COMPLY => Some(Self::UnableToComply),
            other => Some(Self::Other(other)),
        }
    }
}

/// TS 29.273 §8.2.3.9, TS 29.234.
const SCHEME_AKA: &str = "EAP-AKA";
const SCHEME_AKA_PRIME: &str = "EAP-AKA'";
const SCHEME_SIM: &str = "EAP/SIM";

impl Request {
    /// Its command and application.
    pub const fn carrier(&self) -> (u32, u32) {
        match self.wanted {
            Wanted::Eps(_) => (command::AUTHENTICATION_INFORMATION, application::S6A),
            Wanted::Sim | Wanted::Aka | Wanted::AkaPrime(_) => (command::MULTIMEDIA_AUTH, application::SWX),
        }
    }

    /// Its own AVPs, after those of every request.
    pub(crate) fn write(&self, message: Builder) -> Builder {
        let message = message.with(AvpCode::USER_NAME, self.imsi.as_bytes());
        match &self.wanted {
            Wanted::Sim => self.write_swx(message, SCHEME_SIM, None),
            Wanted::Aka => self.write_swx(message, SCHEME_AKA, None),
            Wanted::AkaPrime(network) => self.write_swx(message, SCHEME_AKA_PRIME, Some(network)),
            Wanted::Eps(plmn) => self.write_s6a(message, *plmn),
        }
    }

    fn write_swx(&self, message: Builder, scheme: &str, network: Option<&[u8]>) -> Builder {
        let message = message.with_u32(AvpCode::SIP_NUMBER_AUTH_ITEMS, self.count).with_group(
            AvpCode::SIP_AUTH_DATA_ITEM,
            |item| {
                let item = item.with(AvpCode::SIP_AUTHENTICATION_SCHEME, scheme.as_bytes());
                optional(item, AvpCode::SIP_AUTHORIZATION, self.resynchronisation.as_ref().map(|b| &b[..]))
            },
        );
        optional(message, AvpCode::ANID, network)
    }

    fn write_s6a(&self, message: Builder, plmn: [u8; 3]) -> Builder {
        message
            .with_group(AvpCode::REQUESTED_EUTRAN_AUTHENTICATION_INFO, |info| {
                let info = info.with_u32(AvpCode::NUMBER_OF_REQUESTED_VECTORS, self.count);
                let auts = self.resynchronisation.as_ref().map(|bytes| &bytes[..]);
                optional(info, AvpCode::RE_SYNCHRONIZATION_INFO, auts)
            })
            .with(AvpCode::VISITED_PLMN_ID, &plmn)
    }

    /// Reads a MAR or AIR.
    pub(crate) fn read(command: u32, avps: &Avps<'_>) -> Result<Self, DecodeError> {
        let imsi = avps.text(AvpCode::USER_NAME)?.to_owned();
        let (wanted, count, resynchronisation) =
            if command == command::AUTHENTICATION_INFORMATION { read_s6a(avps)? } else { read_swx(avps)? };
        Ok(Self { imsi, wanted, count: count.clamp(1, VECTORS_MAX), resynchronisation })
    }
}

fn optional(message: Builder, code: AvpCode, data: Option<&[u8]>) -> Builder {
    match data {
        Some(data) => message.with(code, data),
        None => message,
    }
}

type Asked = (Wanted, u32, Option<[u8; 30]>);

fn read_swx(avps: &Avps<'_>) -> Result<Asked, DecodeError> {
    let count = avps.u32(AvpCode::SIP_NUMBER_AUTH_ITEMS)?.unwrap_or(1);
    let item = need_group(avps, AvpCode::SIP_AUTH_DATA_ITEM)?;
    let wanted = match item.text(AvpCode::SIP_AUTHENTICATION_SCHEME)? {
        SCHEME_AKA => Wanted::Aka,
        SCHEME_AKA_PRIME => Wanted::AkaPrime(avps.need(AvpCode::ANID)?.to_vec()),
        SCHEME_SIM => Wanted::Sim,
        _ => return Err(wrong(AvpCode::SIP_AUTHENTICATION_SCHEME)),
    };
    Ok((wanted, count, maybe(&item, AvpCode::SIP_AUTHORIZATION)?))
}

fn read_s6a(avps: &Avps<'_>) -> Result<Asked, DecodeError> {
    let wanted = Wanted::Eps(avps.array(AvpCode::VISITED_PLMN_ID)?);
    let info = need_group(avps, AvpCode::REQUESTED_EUTRAN_AUTHENTICATION_INFO)?;
    let count = info.u32(AvpCode::NUMBER_OF_REQUESTED_VECTORS)?.unwrap_or(1);
    Ok((wanted, count, maybe(&info, AvpCode::RE_SYNCHRONIZATION_INFO)?))
}

fn need_group<'a>(avps: &Avps<'a>, code: AvpCode) -> Result<Avps<'a>, DecodeError> {
    avps.need(code)?;
    Ok(avps.group(code)?.expect("the AVP is there"))
}

fn maybe<const N: usize>(avps: &Avps<'_>, code: AvpCode) -> Result<Option<[u8; N]>, DecodeError> {
    avps.get(code).map(|_| avps.array(code)).transpose()
}

const fn wrong(code: AvpCode) -> DecodeError {
    DecodeError { field: code.name, offset: 0, problem: Problem::Value(0) }
}

/// The AVPs of an answer to a request, with these vectors.
pub(crate) fn write_vectors(request: &Request, vectors: &[Vector], message: Builder) -> Builder {
    let numbered = (1..).zip(vectors);
    if matches!(request.wanted, Wanted::Eps(_)) {
        return message.with_group(AvpCode::AUTHENTICATION_INFO, |info| {
            numbered.fold(info, |info, (number, vector)| {
                info.with_group(AvpCode::E_UTRAN_VECTOR, |item| write_vector(vector, number, item))
            })
        });
    }
    // TS 29.273 §8.1.2.1.1: user name and number of vectors.
    let count = u32::try_from(vectors.len()).expect("at most 32 vectors");
    let message = message
        .with(AvpCode::USER_NAME, request.imsi.as_bytes())
        .with_u32(AvpCode::SIP_NUMBER_AUTH_ITEMS, count);
    numbered.fold(message, |message, (number, vector)| {
        message.with_group(AvpCode::SIP_AUTH_DATA_ITEM, |item| write_vector(vector, number, item))
    })
}

fn write_vector(vector: &Vector, number: u32, item: Builder) -> Builder {
    match vector {
        Vector::Gsm { rand, sres, kc } => item
            .with_u32(AvpCode::SIP_ITEM_NUMBER, number)
            .with(AvpCode::SIP_AUTHENTICATE, rand)
            .with(AvpCode::SIP_AUTHORIZATION, sres)
            .with(AvpCode::CONFIDENTIALITY_KEY, kc),
        Vector::Umts { rand, autn, xres, ck, ik } => item
            .with_u32(AvpCode::SIP_ITEM_NUMBER, number)
            .with(AvpCode::SIP_AUTHENTICATE, &[*rand, *autn].concat())
            .with(AvpCode::SIP_AUTHORIZATION, xres)
            .with(AvpCode::CONFIDENTIALITY_KEY, ck)
            .with(AvpCode::INTEGRITY_KEY, ik),
        Vector::Eps { rand, autn, xres, kasme } => item
            .with_u32(AvpCode::ITEM_NUMBER, number)
            .with(AvpCode::RAND, rand)
            .with(AvpCode::XRES, xres)
            .with(AvpCode::AUTN, autn)
            .with(AvpCode::KASME, kasme),
    }
}

/// The vectors of an answer to `wanted`, in the order of their numbers; at least one.
pub(crate) fn read_vectors(wanted: &Wanted, avps: &Avps<'_>) -> Result<Vec<Vector>, DecodeError> {
    let (info, code, number) = match wanted {
        Wanted::Eps(_) => {
            let info = need_group(avps, AvpCode::AUTHENTICATION_INFO)?;
            (info, AvpCode::E_UTRAN_VECTOR, AvpCode::ITEM_NUMBER)
        }
        Wanted::Sim | Wanted::Aka | Wanted::AkaPrime(_) => {
            (avps.clone(), AvpCode::SIP_AUTH_DATA_ITEM, AvpCode::SIP_ITEM_NUMBER)
        }
    };
    let read = |item: Result<Avps<'_>, DecodeError>| {
        let item = item?;
        Ok((item.u32(number)?.unwrap_or(0), read_vector(wanted, &item)?))
    };
    let mut vectors = info.groups(code).map(read).collect::<Result<Vec<_>, DecodeError>>()?;
    if vectors.is_empty() {
        return Err(DecodeError { field: code.name, offset: 0, problem: Problem::Missing });
    }
    // TS 29.272 §7.3.23: vectors are used in the order of their numbers.
    vectors.sort_by_key(|(number, _)| *number);
    Ok(vectors.into_iter().map(|(_, vector)| vector).collect())
}

fn read_vector(wanted: &Wanted, item: &Avps<'_>) -> Result<Vector, DecodeError> {
    let secret = |code, lens: std::ops::RangeInclusive<usize>| {
        let data = item.need(code)?;
        if lens.contains(&data.len()) { Ok(Secret::from(data)) } else { Err(wrong(code)) }
    };
    Ok(match wanted {
        Wanted::Sim => Vector::Gsm {
            rand: item.array(AvpCode::SIP_AUTHENTICATE)?,
            sres: secret(AvpCode::SIP_AUTHORIZATION, 4..=4)?,
            kc: secret(AvpCode::CONFIDENTIALITY_KEY, 8..=8)?,
        },
        Wanted::Aka | Wanted::AkaPrime(_) => {
            let both: [u8; 32] = item.array(AvpCode::SIP_AUTHENTICATE)?;
            let (rand, autn) = both.split_at(16);
            Vector::Umts {
                rand: rand.try_into().expect("half of 32 bytes"),
                autn: autn.try_into().expect("half of 32 bytes"),
                xres: secret(AvpCode::SIP_AUTHORIZATION, 4..=16)?,
                ck: secret(AvpCode::CONFIDENTIALITY_KEY, 16..=16)?,
                ik: secret(AvpCode::INTEGRITY_KEY, 16..=16)?,
            }
        }
        Wanted::Eps(_) => Vector::Eps {
            rand: item.array(AvpCode::RAND)?,
            autn: item.array(AvpCode::AUTN)?,
            xres: secret(AvpCode::XRES, 4..=16)?,
            kasme: secret(AvpCode::KASME, 32..=32)?,
        },
    })
}
