//! Subscribers and their cards, from their keys in a node file.

use std::sync::Arc;

use keytoll_crypto::Real;
use keytoll_crypto_api::{Secret, Seed};
use keytoll_eap::simaka::card::{Algorithm, Card};
use keytoll_eap::simaka::centre::{AuthenticationCentre, Subscriber};
use keytoll_eap::simaka::identity::Imsi;
use keytoll_eap::simaka::milenage::Milenage;
use keytoll_eap::simaka::peer::SharedCard;
use keytoll_eap::simaka::sqn::{Sqn, Window};
use keytoll_scenario::ScenarioError;
use keytoll_scenario::node::{CardPlan, OperatorKey, SubscriberPlan};

use super::card_state::CardState;

/// Subscribers with valid IMSIs.
pub(super) struct Records(Vec<(Imsi, SubscriberPlan)>);

impl Records {
    pub(super) fn read(plans: &[SubscriberPlan]) -> Result<Self, ScenarioError> {
        plans.iter().map(|plan| Ok((imsi(plan)?, plan.clone()))).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their authentication centre.
    pub(super) fn centre(self, seed: &Seed) -> AuthenticationCentre {
        let mut centre = AuthenticationCentre::new(seed.stream("centre"));
        for (imsi, plan) in self.0 {
            let record = Subscriber { algorithm: algorithm(&plan), amf: plan.amf, sqn: Sqn::new(plan.sqn) };
            centre.insert(imsi, record);
        }
        centre
    }
}

/// A subscriber's card.
pub(super) fn card(plan: &CardPlan) -> Result<SharedCard, ScenarioError> {
    let subscriber = &plan.subscriber;
    let highest = Sqn::new(subscriber.sqn);
    let card = Card::new(imsi(subscriber)?, &plan.realm, algorithm(subscriber), highest);
    let Some(state) = &plan.state else { return Ok(SharedCard::new(card)) };
    let (window, file) = CardState::open(state, card.imsi, Window::starting_at(highest))?;
    Ok(SharedCard::new(card.remembering(window, Arc::new(file))))
}

fn imsi(plan: &SubscriberPlan) -> Result<Imsi, ScenarioError> {
    let text = &plan.imsi.value;
    let wrong =
        || plan.imsi.error(format!("`{text}` is no IMSI"), "6 to 15 digits, country and network first");
    Imsi::parse(text).ok_or_else(wrong)
}

fn algorithm(plan: &SubscriberPlan) -> Algorithm {
    let bytes = |secret: &Secret| secret[..].try_into().expect("the reader takes keys of 16 bytes only");
    let k: [u8; 16] = bytes(&plan.k);
    Algorithm::Milenage(match &plan.operator {
        OperatorKey::Op(op) => Milenage::with_op(&k, &bytes(op), &mut Real::default()),
        OperatorKey::Opc(opc) => Milenage::with_opc(&k, &bytes(opc)),
    })
}
