//! The gateway's questions to the HSS: AIR and AIA over S6a for EPS AKA, MAR and MAA over SWx for UMTS AKA. TS 29.272 §5.2.3,
//! TS 29.273 §8.

use keytoll_crypto_api::Secret;
use keytoll_diameter::vectors::resynchronisation;
use keytoll_diameter::{Refusal, Request, Vector, Wanted, client};
use keytoll_eap::simaka::identity::Imsi;
use keytoll_hip::event::{self, Refused};
use keytoll_hip::wire::aka::Challenge;
use keytoll_scenario::families::hip::Aka;

/// How a gateway reaches the HSS, and what it asks for.
#[derive(Debug, Clone)]
pub struct Hss {
    /// The Diameter client.
    pub diameter: client::Config,
    /// The AKA that it performs.
    pub aka: Aka,
    /// The serving network's PLMN identity.
    pub network: [u8; 3],
}

/// RAND and AUTS of a card that wants another sequence number.
pub(super) type Resynchronise = Option<([u8; 16], [u8; 14])>;

impl Hss {
    /// The question for one vector of a subscriber; none if its name is no IMSI.
    pub(super) fn question(&self, subscriber: &[u8], resynchronise: Resynchronise) -> Option<Request> {
        let imsi = Imsi::parse(std::str::from_utf8(subscriber).ok()?)?;
        Some(Request {
            imsi: imsi.as_str().to_owned(),
            wanted: match self.aka {
                Aka::Eps => Wanted::Eps(self.network),
                Aka::Umts => Wanted::Aka,
            },
            count: 1,
            resynchronisation: resynchronise.map(|(rand, auts)| resynchronisation(&rand, &auts)),
        })
    }
}

/// The vector in an answer.
pub(super) fn vector(answer: Result<Vec<Vector>, Refusal>) -> Result<Box<event::Vector>, Refused> {
    let first = answer.ok().and_then(|vectors| vectors.into_iter().find_map(of_hip));
    first.map(Box::new).ok_or(Refused)
}

fn of_hip(vector: Vector) -> Option<event::Vector> {
    let (challenge, expected, key) = match vector {
        Vector::Eps { rand, autn, xres, kasme } => (Challenge { rand, autn }, xres, kasme),
        Vector::Umts { rand, autn, xres, ck, ik } => {
            (Challenge { rand, autn }, xres, Secret::new([&ck[..], &ik[..]].concat()))
        }
        Vector::Gsm { .. } => return None,
    };
    Some(event::Vector { challenge, expected, key })
}
