//! The steps of an authentication, for a profile: the input of a node, its operations, its output.

use keytoll_capture::observe;
use keytoll_crypto::{Metered, Row};
use keytoll_rigs::FAMILIES;
use keytoll_sim::NodeIndex;
use keytoll_trace::{Fact, Message, Node, StepCost, StepOperation, Stimulus};

/// Records steps while enabled.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    wanted: bool,
    begun: Option<Begun>,
    taken: Vec<Taken>,
}

/// A step in progress.
#[derive(Debug)]
struct Begun {
    stimulus: Stimulus,
    /// The length of the node's journal of operations before it.
    operations: usize,
}

/// A step that is over.
#[derive(Debug)]
struct Taken {
    node: NodeIndex,
    begun: Begun,
    /// The end of its operations in the journal.
    operations_end: usize,
    sent: Vec<Message>,
    ticks: u64,
}

impl Steps {
    /// Takes notes from now on.
    pub(crate) fn want(&mut self) {
        self.wanted = true;
    }

    /// Forgets the steps so far.
    pub(crate) fn clear(&mut self) {
        self.taken.clear();
    }

    /// Called before a step, outside the measured time.
    pub(crate) fn begin<C>(&mut self, crypto: &Metered<C>, stimulus: keytoll_sim::Stimulus<'_>) {
        if self.wanted {
            self.begun = Some(Begun { stimulus: named(stimulus), operations: crypto.journal_len() });
        }
    }

    /// Called after a step.
    pub(crate) fn end<C>(&mut self, node: NodeIndex, crypto: &Metered<C>, noted: &[Fact], ticks: u64) {
        let Some(begun) = self.begun.take() else { return };
        let sent = noted.iter().filter_map(|fact| match fact {
            Fact::Sent(message) => Some(message.clone()),
            _ => None,
        });
        let (sent, operations_end) = (sent.collect(), crypto.journal_len());
        let own = crypto.own_ticks() * (operations_end - begun.operations) as u64;
        self.taken.push(Taken { node, begun, operations_end, sent, ticks: ticks.saturating_sub(own) });
    }

    /// The steps of one node, with the journal of its crypto provider.
    pub(crate) fn of<'a, C>(
        &'a self,
        (index, node): (NodeIndex, Node),
        sample: u32,
        crypto: &Metered<C>,
    ) -> impl Iterator<Item = StepCost> + 'a {
        let journal: Vec<StepOperation> = crypto.journal().into_iter().map(operation).collect();
        self.taken.iter().filter(move |taken| taken.node == index).map(move |taken| StepCost {
            sample,
            node,
            stimulus: taken.begun.stimulus.clone(),
            sent: taken.sent.clone(),
            ticks: taken.ticks,
            operations: journal
                .get(taken.begun.operations..taken.operations_end)
                .map_or_else(Vec::new, <[StepOperation]>::to_vec),
        })
    }
}

fn named(stimulus: keytoll_sim::Stimulus<'_>) -> Stimulus {
    match stimulus {
        keytoll_sim::Stimulus::Packet(datagram) => {
            observe::message(FAMILIES, datagram.protocol, &datagram.bytes)
                .map_or(Stimulus::Datagram(datagram.protocol), Stimulus::Message)
        }
        keytoll_sim::Stimulus::Command | keytoll_sim::Stimulus::Tick => Stimulus::Own,
    }
}

fn operation(row: Row) -> StepOperation {
    StepOperation {
        phase: row.phase.name().into(),
        purpose: row.purpose.into(),
        operation: row.operation.into(),
        algorithm: row.algorithm,
        ticks: row.ticks,
        bytes: row.bytes,
    }
}
