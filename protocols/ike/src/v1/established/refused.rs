//! A quick mode offer without any acceptable proposal. Read RFC 2408 §5.4 first.

use super::super::endpoint::Env;
use super::super::proposal::{self, Phase2Transform};
use super::super::sa::Core;
use super::super::wire::SecurityAssociation;
use crate::config::ChildConfig;
use crate::event::{Event, Reason};
use crate::number::ProtocolId;
use crate::refused::{Acceptable, Offered, RefusedProposal};

/// Reports it to the owner if the suites are the reason; it may be the mode instead.
pub(super) fn refuse(
    (sa, body): (&SecurityAssociation<'_>, &[u8]),
    config: &ChildConfig,
    core: &Core,
    env: &mut Env<'_, '_>,
) -> Reason {
    let offered =
        proposal::choices(sa, ProtocolId::ESP).filter_map(|choice| Phase2Transform::read(&choice.1));
    if !offered.into_iter().any(|transform| transform.suite(&config.suites).is_some()) {
        let (remote, offered) = (core.route.remote, Offered::v1(body));
        let acceptable = Acceptable::suites(&config.suites);
        env.emit(Event::ProposalRefused(Box::new(RefusedProposal { remote, offered, acceptable })));
    }
    Reason::NoProposalChosen
}
