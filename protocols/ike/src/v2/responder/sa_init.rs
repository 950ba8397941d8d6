//! IKE_SA_INIT of the responder. Read RFC 7296 §1.2, §2.6, §2.7, §2.10 first.

use std::sync::Arc;

use keytoll_crypto_api::algorithm::Group;
use keytoll_net::wire::Reader;

use super::super::endpoint::{Env, Route};
use super::super::event::Reason;
use super::super::exchange::{self, FirstPayloads};
use super::super::inbound::Inbound;
use super::super::nat::Nat;
use super::super::outbound;
use super::super::proposal::{self, Preference};
use super::super::sa::{Core, Index, Sa, State};
use super::super::schemes::PeerHashes;
use super::super::window::{Requests, Responses};
use super::auth::{AwaitingAuth, Begun};
use crate::number::{ExchangeType, NotifyType, Numbered, ProtocolId};
use crate::phase;
use crate::refused::Acceptable;
use crate::wire::payload::read_chain;
use crate::wire::{Flags, Header, Notify, Proposal, SecurityAssociation, Spi};

/// An IKE_SA_INIT request with all mandatory payloads.
pub(in crate::v2) struct SaInitRequest<'a> {
    pub(in crate::v2) nonce: &'a [u8],
    pub(in crate::v2) cookie: Option<&'a [u8]>,
    sa: SecurityAssociation<'a>,
    group: Option<Group>,
    public: &'a [u8],
    inbound: Inbound<'a>,
    message: &'a [u8],
}

impl<'a> SaInitRequest<'a> {
    /// Reads the request; the header was read before.
    pub(in crate::v2) fn read(header: &Header, message: &'a [u8]) -> Result<Self, Reason> {
        let mut r = Reader::new(message);
        let payloads = r.skip(Header::LEN, "header").and_then(|()| read_chain(header.next_payload, &mut r));
        let inbound = Inbound::new(payloads.map_err(|error| Reason::Syntax(error.field))?)?;
        let ke = inbound.need_ke()?;
        Ok(Self {
            nonce: inbound.need_nonce()?,
            cookie: inbound.notify(NotifyType::COOKIE).map(|notify| notify.data),
            sa: inbound.need_sa()?,
            group: ke.group(),
            public: ke.data,
            inbound,
            message,
        })
    }
}

/// Why an IKE_SA_INIT gets no SA.
pub(in crate::v2) enum Refusal {
    NoProposalChosen,
    /// RFC 7296 §1.2: the initiator guessed another group than the chosen one.
    InvalidKe([u8; 2]),
}

impl Refusal {
    pub(in crate::v2) const fn why(&self) -> &'static str {
        match self {
            Self::NoProposalChosen => "NO_PROPOSAL_CHOSEN",
            Self::InvalidKe(_) => "INVALID_KE_PAYLOAD",
        }
    }

    pub(in crate::v2) const fn notify(&self) -> Notify<'_> {
        match self {
            Self::NoProposalChosen => Notify::new(NotifyType::NO_PROPOSAL_CHOSEN, &[]),
            Self::InvalidKe(group) => Notify::new(NotifyType::INVALID_KE_PAYLOAD, group),
        }
    }
}

/// Answers a request; the key agreement itself is computed when the initiator continues.
pub(in crate::v2) fn answer(
    header: &Header,
    route: Route,
    request: &SaInitRequest<'_>,
    env: &mut Env<'_, '_>,
) -> Result<Box<Sa>, Refusal> {
    let chosen =
        proposal::select(&request.sa, ProtocolId::IKE, &env.shared.setup.suites, Preference::Initiator);
    let Some(chosen) = chosen else {
        let acceptable = Acceptable::suites(&env.shared.setup.suites);
        env.refuse_proposal(route.remote, &request.sa, acceptable);
        return Err(Refusal::NoProposalChosen);
    };
    let suite = chosen.suite;
    let group = suite.group.ok_or(Refusal::NoProposalChosen)?;
    if request.group != Some(group) || request.public.len() != group.public_len() {
        return Err(Refusal::InvalidKe(group.number().to_be_bytes()));
    }
    env.cx.crypto.enter(phase::SA_INIT);
    let pair = env.cx.crypto.generate(group, &mut env.shared.rng);
    let mut core = new_core(header, route, env);
    let nat = exchange::detect_nat(&request.inbound, route, (header.initiator_spi, 0), env.cx);
    let fragmentation = request.inbound.says(NotifyType::IKEV2_FRAGMENTATION_SUPPORTED);
    exchange::settle(&mut core, nat, fragmentation, env);
    let nonce: [u8; 32] = env.shared.rng.bytes();
    respond(&mut core, chosen.answer(Spi::None), (group, &pair.public), &nonce, fragmentation, env);
    let begun = Begun {
        request: request.message.to_vec(),
        suite,
        private: pair.private,
        peer_public: request.public.to_vec(),
        nonce,
        peer_nonce: request.nonce.to_vec(),
        hashes: PeerHashes::read(
            request.inbound.notify(NotifyType::SIGNATURE_HASH_ALGORITHMS).map(|notify| notify.data),
        ),
    };
    let wait = AwaitingAuth::new(begun, &core, env);
    Ok(Sa::new(core, State::AwaitingAuth(Box::new(wait))))
}

fn new_core(header: &Header, route: Route, env: &mut Env<'_, '_>) -> Core {
    Core {
        local_spi: env.shared.fresh_spi(),
        remote_spi: header.initiator_spi,
        initiator: false,
        route,
        met_at: route.remote.ip,
        connection: Index::of(0),
        terms: None,
        requests: Requests::default(),
        responses: Responses::default(),
        packet_bytes_max: None,
        incoming: None,
        nat: Nat::default(),
        heard: env.now(),
    }
}

/// HDR, SAr1, KEr, Nr, N(NAT_DETECTION_*), …
fn respond(
    core: &mut Core,
    proposal: Proposal,
    (group, public): (Group, &[u8]),
    nonce: &[u8],
    fragmentation: bool,
    env: &mut Env<'_, '_>,
) {
    let header = Header::new(core.spis(), ExchangeType::IKE_SA_INIT, Flags::new(false, true), 0);
    let childless = env.shared.connections().any(|(_, connection)| connection.child.is_none());
    let authorities = Arc::clone(&env.shared.setup.authorities);
    let first = FirstPayloads {
        cookie: None,
        proposals: vec![proposal],
        group,
        public,
        nonce,
        route: core.route,
        spis: core.spis(),
        authorities: &authorities,
        signature_hashes: env.shared.config.signature_hashes,
        childless,
    };
    let hashes = first.nat_hashes(env);
    let fragmentation = fragmentation && env.shared.config.fragmentation.is_some();
    let message = outbound::plain(&header, |m| first.write(m, &hashes, fragmentation));
    let message = env.send(core.route, message);
    core.responses.answered(message);
}
