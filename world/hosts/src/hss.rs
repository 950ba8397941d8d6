//! The HSS: holds the subscribers' keys and answers Diameter requests. 3GPP TS 29.273 §8 (SWx), TS 29.272 §5.2.3 (S6a).

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;

use keytoll_crypto_api::Crypto;
use keytoll_diameter::server::{self as diameter, Config, Server, VectorSource};
use keytoll_diameter::{Refusal, Request, Vector, Wanted as Asked};
use keytoll_eap::simaka::centre::{AuthenticationCentre, NoVectors, VectorRequest, Vectors, Wanted};
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::vector::{Quintuplet, Triplet};
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output};

use crate::{Event, Host, Order};

/// The configuration of an HSS.
pub struct HssConfig {
    /// Its Diameter server.
    pub diameter: Config,
    /// Its subscribers.
    pub subscribers: AuthenticationCentre,
}

impl fmt::Debug for HssConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HssConfig").field("diameter", &self.diameter).finish_non_exhaustive()
    }
}

/// The HSS.
pub struct Hss {
    address: IpAddr,
    diameter: Server<Centre>,
    out: VecDeque<Output<Event>>,
}

impl fmt::Debug for Hss {
    /// Without the messages to send, which contain keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hss").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Hss {
    /// An HSS without connections.
    pub fn new(config: HssConfig) -> Self {
        Self {
            address: config.diameter.local.ip,
            diameter: Server::new(config.diameter, Centre(config.subscribers)),
            out: VecDeque::new(),
        }
    }
}

/// The authentication centre as the Diameter server uses it.
struct Centre(AuthenticationCentre);

impl VectorSource for Centre {
    fn vectors(&mut self, request: &Request, crypto: &mut dyn Crypto) -> Result<Vec<Vector>, Refusal> {
        let request = vector_request(request).ok_or(Refusal::UserUnknown)?;
        match self.0.vectors(&request, crypto) {
            Ok(Vectors::Triplets(triplets)) => Ok(triplets.into_iter().map(of_triplet).collect()),
            Ok(Vectors::Quintuplets(list)) => Ok(list.into_iter().map(of_quintuplet).collect()),
            Err(NoVectors::UnknownSubscriber) => Err(Refusal::UserUnknown),
            Err(NoVectors::NotUmts | NoVectors::Unavailable) => Err(Refusal::Unavailable),
            Err(NoVectors::Resynchronisation) => Err(Refusal::UnableToComply),
        }
    }
}

fn told(event: diameter::Event) -> Event {
    let diameter::Event::Answered { imsi, outcome } = event;
    Event::Answered { imsi, outcome }
}

/// Converts a Diameter request; `None` if its user name is not an IMSI.
fn vector_request(request: &Request) -> Option<VectorRequest> {
    let count = usize::try_from(request.count).unwrap_or(usize::MAX);
    let wanted = match &request.wanted {
        Asked::Sim => Wanted::Triplets(count),
        Asked::Aka => Wanted::Quintuplets(count),
        Asked::AkaPrime(network) => Wanted::Bound { count, network: network.clone() },
        Asked::Eps(_) => Wanted::Separated(count),
    };
    let resynchronise = request.resynchronisation.map(|bytes| {
        // TS 29.273 §8.2.3.11, TS 29.272 §7.3.15: RAND, then AUTS.
        let (rand, auts) = bytes.split_at(16);
        (rand.try_into().expect("16 of 30 bytes"), auts.try_into().expect("14 of 30 bytes"))
    });
    Some(VectorRequest { imsi: Imsi::parse(&request.imsi)?, wanted, resynchronise })
}

fn of_triplet(Triplet { rand, sres, kc }: Triplet) -> Vector {
    Vector::Gsm { rand, sres, kc }
}

fn of_quintuplet(Quintuplet { rand, autn, xres, ck, ik }: Quintuplet) -> Vector {
    Vector::Umts { rand, autn, xres, ck, ik }
}

impl Host for Hss {}

impl Engine for Hss {
    type Command = Order;
    type Event = Event;

    fn handle(&mut self, input: Input<'_, Order>, cx: &mut Ctx<'_>) {
        // No order concerns an HSS.
        if let Err(input) = input.command() {
            self.diameter.handle(input, cx);
        }
        while let Some(output) = self.diameter.poll() {
            let output = output.event();
            self.out.push_back(output.map_or_else(|output| output, |event| Output::Event(told(event))));
        }
    }

    fn poll(&mut self) -> Option<Output<Event>> {
        self.out.pop_front()
    }

    fn deadline(&self) -> Option<Deadline> {
        self.diameter.deadline()
    }
}
