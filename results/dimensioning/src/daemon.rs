//! A node with the costs of a daemon in the place of the measured ones: each response pays its part of an authentication. The price depends on
//! the utilisation of the node.

use keytoll_analysis::comparable::listed;
use keytoll_analysis::summary::SummaryRow;
use keytoll_analysis::trace::cost_table::{
    AuthenticationLoad, AuthenticationPrice, DaemonCosts, LoadPrice, MessagePrice, PausePrice,
};

use crate::SizingError;
use crate::outcome::DaemonShare;
use crate::priced::Priced;
use crate::question::{Processor, Question, Run};
use crate::sized::Row;
use crate::work::{self, Work};

/// The costs of a daemon, for a node.
#[derive(Debug, Clone, PartialEq)]
pub struct DaemonAt {
    /// The node.
    pub node: String,
    /// Its costs.
    pub costs: DaemonCosts,
    /// The clock of the machine on which it was measured.
    pub core_hz: f64,
    /// The processor of that machine.
    pub cpu: String,
}

impl DaemonAt {
    /// Its price of an authentication by this method.
    pub(crate) fn price(&self, method: &str) -> Option<&AuthenticationPrice> {
        self.costs.price(method, &self.node)
    }

    /// Its name and version.
    pub(crate) fn software(&self) -> String {
        format!("{} {}", self.costs.name, self.costs.version)
    }

    /// A core of the node over a core of the machine on which it was measured, in time; and the clock of the node.
    fn slower(&self, run: &Run<'_>, question: &Question) -> (f64, f64) {
        let planned_hz = run.planned.clocks_hz.get(&self.node).copied();
        let clock_hz = match &question.processor {
            Processor::AsRun => planned_hz.unwrap_or(self.core_hz),
            Processor::Host => self.core_hz,
            Processor::Clock { hz, .. } => *hz,
        };
        (self.core_hz / clock_hz, clock_hz)
    }
}

impl Work {
    /// The same node with the costs of a daemon, if so many of its responses are sent until the session can be used.
    pub(crate) fn of_daemon(
        self,
        daemon: &DaemonAt,
        price: &AuthenticationPrice,
        responses_count: f64,
        (run, question): (&Run<'_>, &Question),
    ) -> Self {
        let (slower, clock_hz) = daemon.slower(run, question);
        let idle_us = price.loads.first().map_or(0.0, |load| load.cpu_us);
        let busy_s = idle_us * 1e-6 * slower;
        let step_s = busy_s / price.responses_count;
        let own_s = self.visits * self.step_s;
        let priced =
            Priced { price: message_price(price), slower, messages_s: busy_s, step_messages_s: step_s };
        let work = Self {
            busy_s,
            store_s: 0.0,
            visits: responses_count,
            step_s,
            step_square_s2: step_s.powi(2),
            slower_s: self.slower_s - self.store_s + responses_count * step_s - own_s,
            clock_hz: Some(clock_hz),
            has_steps: true,
            rekey_s: 0.0,
            cookie_s: 0.0,
            priced: Some(priced),
            heap_bytes: None,
            idle_bytes: None,
            ..self
        };
        question.stores_s.get(&work.node).map_or(work.clone(), |store_s| work.with_store(*store_s))
    }
}

impl<'a> Row<'a> {
    /// Its variant, with its daemons.
    pub(crate) fn variant(&self) -> String {
        let parts = [self.row.variant.as_str(), &self.daemons];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The same row with the costs of daemons, as far as they have its method.
    pub(crate) fn of_daemons(
        row: &'a SummaryRow,
        run: &Run<'_>,
        question: &'a Question,
    ) -> Result<Option<Self>, SizingError> {
        let daemon_of = |node: &str| {
            let daemon = run.planned.daemons.iter().find(|daemon| daemon.node == node)?;
            Some((daemon, daemon.price(&row.method)?))
        };
        let works = work::of_row(row, run, question)?;
        let named = works.iter().filter_map(|work| Some((&work.node, daemon_of(&work.node)?.0)));
        let named: Vec<_> = named.map(|(node, daemon)| format!("{node}={}", daemon.costs.name)).collect();
        if named.is_empty() {
            return Ok(None);
        }
        if question.rekeys_per_s().is_some() {
            let message = "a daemon's table has no price of a change of keys".to_owned();
            return Err(SizingError::new(message, "leave `--rekey` out, or `--daemon`"));
        }
        let of_work = |work: Work| match daemon_of(&work.node) {
            Some((daemon, price)) => {
                let responses = work::responses(row, &work.node);
                work.of_daemon(daemon, price, responses, (run, question))
            }
            None => work,
        };
        let works = works.into_iter().map(of_work).collect();
        let mut of_daemons = Self::with(row, works, run, question);
        of_daemons.daemons = named.join(", ");
        Ok(Some(of_daemons))
    }
}

/// Every daemon has costs of a row.
pub(crate) fn check_daemons(rows: &[Row<'_>], run: &Run<'_>) -> Result<(), SizingError> {
    let is_of = |row: &Row<'_>, daemon: &DaemonAt| row.works.iter().any(|work| work.node == daemon.node);
    let is_used = |daemon: &&DaemonAt| {
        rows.iter().any(|row| is_of(row, daemon) && daemon.price(&row.row.method).is_some())
    };
    let Some(unused) = run.planned.daemons.iter().find(|daemon| !is_used(daemon)) else { return Ok(()) };
    let message =
        format!("{} has costs of no method of the run that is sized at `{}`", unused.software(), unused.node);
    let known = listed(unused.costs.methods(&unused.node));
    Err(SizingError::new(message, format!("it has {known}")))
}

/// What daemons take over what the nodes of the run take.
pub(crate) fn shares(rows: &[Row<'_>], run: &Run<'_>) -> Vec<DaemonShare> {
    let of_row = |row: &&Row<'_>| {
        let own = rows.iter().find(|own| own.daemons.is_empty() && std::ptr::eq(own.row, row.row))?;
        let of_daemon = |daemon: &DaemonAt| share(row, own, daemon);
        Some(run.planned.daemons.iter().filter_map(of_daemon).collect::<Vec<_>>())
    };
    rows.iter().filter(|row| !row.daemons.is_empty()).filter_map(|row| of_row(&row)).flatten().collect()
}

fn share(row: &Row<'_>, own: &Row<'_>, daemon: &DaemonAt) -> Option<DaemonShare> {
    let price = daemon.price(&row.row.method)?;
    let busy_cores = |row: &Row<'_>| {
        let place = row.works.iter().position(|work| work.node == daemon.node)?;
        Some(row.stations(&row.cores(), 1.0)[place].busy_cores)
    };
    let (busy_cores, own_busy_cores) = (busy_cores(row)?, busy_cores(own)?);
    let SummaryRow { method, network, topology, .. } = row.row;
    Some(DaemonShare {
        method: method.clone(),
        network: network.clone(),
        topology: topology.clone(),
        node: daemon.node.clone(),
        software: daemon.software(),
        cpu: daemon.cpu.clone(),
        busy_cores,
        own_busy_cores,
        ratio: busy_cores / own_busy_cores,
        kernel_share: price.loads.last().map_or(0.0, |load| load.kernel_share),
    })
}

/// The price of a response by load. It is the same after any pause, because a load has pauses of all lengths.
fn message_price(price: &AuthenticationPrice) -> MessagePrice {
    let each_ns = |load: &AuthenticationLoad| 1e3 * load.cpu_us / price.responses_count;
    let of_load = |load: &AuthenticationLoad| {
        let ns = each_ns(load);
        let pause = PausePrice { after_us: 0.0, ns, after_answer_ns: 0.0, wake_us: 0.0 };
        LoadPrice { utilisation: load.utilisation, queued_ns: ns, pauses: vec![pause] }
    };
    MessagePrice {
        ns: price.loads.first().map_or(0.0, each_ns),
        queued_ns: price.loads.last().map(each_ns),
        loads: price.loads.iter().map(of_load).collect(),
        wake_us: None,
        cryptography: None,
        n: price.loads.iter().map(|load| load.n).sum(),
    }
}
