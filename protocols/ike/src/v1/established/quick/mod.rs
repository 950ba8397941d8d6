//! Quick mode, on both sides. Read RFC 2409 §5.5, RFC 2408 §3.1 (commit bit), RFC 3947 §5 first.
//!
//! ```text
//!   1  HASH(1) SA NONCE [KE] [IDci IDcr] [NAT-OA NAT-OA]  -->
//!   2                      <--  HASH(2) SA NONCE [KE] [IDci IDcr] [NAT-OA NAT-OA] [N]
//!   3  HASH(3)             -->
//!
//!   initiator  AwaitingAnswer --2--> Confirmed (retransmits message 3 on demand)
//!                  |    '--2, commit bit--> AwaitingConnected --CONNECTED, or timeout--> Confirmed
//!                  '--the peer's offer came first--> AwaitingAnswer, Withdrawn
//!   responder  (1) --> AwaitingConfirmation --3--> done
//!                  |        '--3, commit bit--> AwaitingConnected --CONNECTED, or timeout--> Confirmed
//!                  '--> Refused (retransmits the refusal on demand)
//! ```

mod confirmed;
mod initiator;
mod responder;

use keytoll_crypto_api::{Digest, Secret};

use super::super::endpoint::Env;
use super::super::inbound::Inbound;
use super::super::phase1::Step;
use super::super::protect::{self, Iv, Opened};
use super::super::sa::Core;
use super::super::transmission::Packet;
use super::super::wire::message::push;
use super::super::wire::{Delete, Notify, OriginalAddress, Payload};
use super::Established;
use super::child::{Agreed, Child, Place};
use crate::config::Mode;
use crate::event::{Event, Reason};
use crate::number::{NotifyType, ProtocolId};
use crate::spis::ProposedSpi;
use crate::wire::MessageBuilder;

pub(super) use confirmed::{AwaitingConnected, Confirmed};
pub(super) use initiator::{Asking, AwaitingAnswer, Offer};
pub(super) use responder::{AwaitingConfirmation, Refused};

/// What was negotiated, without keys yet.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) agreed: Agreed,
    /// The initiator's first.
    nonces: [Vec<u8>; 2],
    shared: Option<Secret>,
    /// Held until there is an SA.
    _spi: ProposedSpi,
}

impl Answer {
    /// Whether a notification with this SPI concerns it.
    pub(super) const fn is_about(&self, spi: u32) -> bool {
        self.agreed.inbound_spi == spi || self.agreed.outbound_spi == spi
    }

    /// Whether a child negotiated later is up already.
    pub(super) const fn is_outdated(&self) -> bool {
        matches!(self.agreed.place, Place::Lost(_))
    }
}

impl Established {
    /// Installs what was negotiated; the exchanges before `at` are older.
    fn answer_up(&mut self, answer: &Answer, at: usize, core: &Core, env: &mut Env<'_, '_>) {
        if answer.is_outdated() {
            let spi = answer.agreed.inbound_spi.to_be_bytes();
            self.inform(&Payload::Delete(Delete::child(&spi)), core, env);
            return env.discard("replaced before it was confirmed");
        }
        self.outdate(answer.agreed.traffic, at);
        self.child_up(answer, core, env);
    }

    /// Derives the keys of a child and reports it to the owner.
    fn child_up(&mut self, answer: &Answer, core: &Core, env: &mut Env<'_, '_>) {
        let Answer { agreed, nonces: [nonce_i, nonce_r], shared, .. } = answer;
        let connection = core.connection(env);
        let config = connection.child.as_ref().expect("a child was agreed on because one is configured");
        let new = Box::new(agreed.keyed(&self.keys, [nonce_i, nonce_r], shared.as_ref(), core, env));
        let sa = core.id();
        match self.predecessor(agreed) {
            Some(at) => {
                let old = self.children[at].inbound_spi();
                let unconfirmed = env.shared.config.retransmission.total();
                self.children[at].replace(agreed.ours, unconfirmed, env.now());
                self.withdraw(&agreed.traffic, env);
                env.emit(Event::ChildRekeyed { sa, old, new });
            }
            None => env.emit(Event::ChildUp(sa, new)),
        }
        self.children.push(Child::up(agreed, config, env.now()));
    }

    /// Tells the peer why its offer is refused, or why its answer is unusable; `spi` is the one that it proposed.
    fn refuse(&mut self, reason: Reason, spi: Option<u32>, core: &Core, env: &mut Env<'_, '_>) -> Packet {
        let kind = match reason {
            Reason::NoProposalChosen => NotifyType::NO_PROPOSAL_CHOSEN,
            Reason::TrafficSelectors => NotifyType::INVALID_ID_INFORMATION,
            _ => NotifyType::PAYLOAD_MALFORMED,
        };
        let spi = spi.map(u32::to_be_bytes);
        let spi: &[u8] = spi.as_ref().map_or(&[], |spi| spi);
        self.inform(&Payload::Notify(Notify::of_child(kind, spi, &[])), core, env)
    }

    pub(super) fn open(&self, step: &Step<'_>, iv: Iv, env: &mut Env<'_, '_>) -> Option<Opened> {
        protect::open(step.header, step.message, &self.keys, iv, env.cx.crypto).ok()
    }
}

/// The payloads, if HASH comes first and is correct.
pub(super) fn authentic<'o>(
    opened: &'o Opened,
    expected: impl FnOnce(&[u8]) -> Digest,
) -> Option<Inbound<'o>> {
    let inbound = Inbound::new(opened.payloads()).ok()?;
    let (hash, covered) = inbound.leading_hash()?;
    let rest = opened.plaintext().get(covered)?;
    expected(rest).matches(hash).then_some(inbound)
}

/// The SPI of the peer's only or first proposal.
fn proposed_spi(inbound: &Inbound<'_>) -> Option<u32> {
    let (sa, _) = inbound.need_sa().ok()?;
    sa.proposals().find(|proposal| proposal.protocol == ProtocolId::ESP)?.child_spi()
}

/// RFC 3947 §5.2: the addresses before any NAT, the initiator's first.
fn push_original_addresses(m: &mut MessageBuilder, mode: Mode, core: &Core, initiator: bool) {
    if mode == Mode::Transport && core.nat.found() {
        let (ours, theirs) = (core.route.local.ip, core.route.remote.ip);
        let order = if initiator { [ours, theirs] } else { [theirs, ours] };
        order.iter().for_each(|ip| push(m, &Payload::OriginalAddress(OriginalAddress(*ip))));
    }
}
