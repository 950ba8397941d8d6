//! Attackers that speak IKEv2, with our own endpoint: they begin and never go on, prove themselves wrongly, make children
//! without end, or keep an AAA server busy. Read RFC 7296 §2.6, §2.16, §3.10.1.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::Seed;
use keytoll_eap::MethodType;
use keytoll_eap::packet::{self, Packet};
use keytoll_engine::Output;
use keytoll_ike::number::ExchangeType;
use keytoll_ike::wire::Header;
use keytoll_ike::{Command, Eap, Event, SaId};
use keytoll_interop::eap::card;
use keytoll_net::wire::Reader;

use super::Case;
use super::attacker::{Attacker, Greedy};
use super::tally::Tally;
use crate::cases;
use crate::ike::{Auth, config};
use crate::initiator::Initiator;
use crate::trouble::Result;

/// Long enough to sleep, short enough to keep the rate.
const PATIENCE: Duration = Duration::from_millis(1);
/// Of so many that begin EAP one answers what it was not asked.
const JUNK_EVERY: u64 = 4;

/// One of them.
pub(super) struct Knocker {
    case: Case,
    initiator: Initiator,
    /// The SA that makes children.
    up: Option<SaId>,
    eap_begun: u64,
}

impl Knocker {
    pub(super) fn new(attacker: &Attacker) -> Result<Self> {
        let auth = match attacker.case {
            Case::Refused => Auth::WrongPsk,
            Case::Identifiers => Auth::eap(&attacker.pki)?,
            _ => Auth::Psk,
        };
        let cases::Case { ike, esp, .. } = cases::Case::FLOODED;
        let mut config = config(&auth, ike, esp)?;
        if attacker.case == Case::Identifiers {
            // Somebody whom only the HSS knows.
            config.connections[0].local_id = card().parse()?;
        }
        let from = *attacker.from.first().ok_or("no address to attack from")?;
        let route = (IpAddr::V4(from), attacker.to);
        let initiator = Initiator::new(config, route, Seed::system()?.stream("knocker"), PATIENCE)?;
        Ok(Self { case: attacker.case, initiator, up: None, eap_begun: 0 })
    }

    fn serve(&mut self, outputs: Vec<Output<Event>>, tally: &mut Tally) -> Result<()> {
        let mut left = VecDeque::from(outputs);
        while let Some(output) = left.pop_front() {
            match output {
                Output::Datagram(datagram) if self.withholds(&datagram.bytes) => {}
                Output::Datagram(datagram) => self.initiator.send(&datagram)?,
                Output::Event(event) => {
                    let answer = self.told(event, tally);
                    left.extend(answer.into_iter().flat_map(|answer| self.initiator.command(answer)));
                }
                Output::Inner(_) | Output::Close { .. } => unreachable!("IKE speaks datagrams"),
            }
        }
        Ok(())
    }

    /// Whether this is what never comes.
    fn withholds(&self, message: &[u8]) -> bool {
        self.case == Case::Cookies && header(message).is_some_and(|it| it.exchange == ExchangeType::IKE_AUTH)
    }

    fn told(&mut self, event: Event, tally: &mut Tally) -> Option<Command> {
        match event {
            Event::Established(up) => self.up = Some(up.sa),
            Event::ChildUp(_, child) => tally.take(child.pair.inbound_spi.into()),
            Event::ChildFailed(_, why) => tally.refuse(why.name()),
            Event::EapPacket(sa, eap) => return Some(Command::Eap(sa, self.answer(sa, &eap, tally))),
            Event::Failed(sa, why, _) => {
                tally.lose(sa.0);
                tally.refuse(why.name());
            }
            _ => {}
        }
        None
    }

    /// To the first request that it would rather do EAP-AKA, for which the AAA server needs the HSS; or to a request that nobody
    /// has made.
    fn answer(&mut self, sa: SaId, eap: &[u8], tally: &mut Tally) -> Eap {
        let Ok(Packet::Request(request)) = Packet::read(eap) else {
            return Eap::Failure { packet: eap.to_vec() };
        };
        self.eap_begun += 1;
        if self.eap_begun.is_multiple_of(JUNK_EVERY) {
            return Eap::Packet(packet::response(!request.identifier, MethodType::NAK, &[AKA]));
        }
        // From here on an identifier is in use, until there is an answer.
        tally.take(sa.0);
        Eap::Packet(packet::response(request.identifier, MethodType::NAK, &[AKA]))
    }
}

/// RFC 4187 §11: the number of EAP-AKA.
const AKA: u8 = 23;

impl Greedy for Knocker {
    fn ask(&mut self, tally: &mut Tally) -> Result<()> {
        let outputs = match (self.case, self.up) {
            (Case::Children, Some(sa)) => self.initiator.command(Command::CreateChild(sa)),
            (Case::Children, None) if tally.tried > 0 => return Ok(()),
            _ => self.initiator.initiate(),
        };
        self.serve(outputs, tally)
    }

    fn listen(&mut self, tally: &mut Tally) -> Result<()> {
        let Some((message, outputs)) = self.initiator.receive()? else { return Ok(()) };
        if let Some(header) = header(message) {
            note(self.case, &header, tally);
        }
        self.serve(outputs, tally)
    }
}

fn header(message: &[u8]) -> Option<Header> {
    Header::read(&mut Reader::new(message)).ok()
}

/// What an answer says that is had: a half-open SA, or one that was refused and lingers.
fn note(case: Case, header: &Header, tally: &mut Tally) {
    let telling = match case {
        Case::Cookies => ExchangeType::IKE_SA_INIT,
        Case::Refused => ExchangeType::IKE_AUTH,
        Case::Children | Case::Identifiers | Case::Connections => return,
    };
    // RFC 7296 §2.6: an answer with a cookie has no SPI.
    if header.exchange == telling && header.responder_spi != 0 {
        tally.take(header.responder_spi);
    }
}
