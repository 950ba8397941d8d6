//! `keytoll check` of a node file: describes the node, with all files opened that it names, but no socket bound.

use keytoll_rigs::node::{Blueprint, Place, Wanted};
use keytoll_scenario::node::Line;
use keytoll_scenario::{NodeFile, Source};
use miette::Report;
use schemars::JsonSchema;
use serde::Serialize;

use crate::screen;

/// The description of a node file. Fields are only ever added.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Described {
    /// `gateway`, `device`, `aaa`, `hss` or `load`.
    role: &'static str,
    /// The verb that accepts it.
    verb: &'static str,
    /// The description, for people; a subject may occur several times.
    says: Vec<Says>,
}

/// A line of the description.
#[derive(Serialize, JsonSchema)]
struct Says {
    /// The subject.
    what: &'static str,
    /// How that is.
    how: String,
}

/// Prints a description of the node, as JSON on request.
pub(crate) fn describe(source: &Source, as_json: bool) -> Result<(), Report> {
    let NodeFile { plan, warnings } = source.node()?;
    let blueprint = Blueprint::draw(&plan)?;
    warnings.iter().for_each(|warning| screen::note(&format!("warning: {warning}\n")));
    let identity = blueprint.identity().into_iter().collect();
    let lines = [sockets(&blueprint), plan.lines(), identity].concat();
    tell(plan.role().name(), plan.role().verb(), lines, "a node", as_json)
}

/// Prints a description of `what`, which a verb runs, as JSON on request.
pub(crate) fn tell(
    role: &'static str,
    verb: &'static str,
    lines: Vec<Line>,
    what: &str,
    as_json: bool,
) -> Result<(), Report> {
    if as_json {
        let says = lines.into_iter().map(|(what, how)| Says { what, how }).collect();
        return screen::print_json(&Described { role, verb, says });
    }
    let rows = lines.into_iter().map(|(what, how)| vec![what.to_owned(), how]).collect::<Vec<_>>();
    screen::print(&format!("{what} for `keytoll {verb}`\n{}", screen::table(&rows)))
}

fn sockets(blueprint: &Blueprint) -> Vec<Line> {
    blueprint.sockets().into_iter().map(socket).collect()
}

fn socket(wanted: Wanted) -> Line {
    match wanted {
        Wanted::Udp(Place::At(address)) if address.port() != 0 => ("listens", format!("UDP {address}")),
        Wanted::Udp(place) => ("sends", format!("UDP from {}", from(place))),
        Wanted::Raw(place, (number, _)) => ("speaks", format!("IP protocol {number} from {}", from(place))),
        Wanted::Listen(address) => ("listens", format!("TCP {address}")),
        Wanted::Call(place) => ("connects", format!("TCP from {}", from(place))),
    }
}

fn from(place: Place) -> String {
    match place {
        Place::At(address) => address.ip().to_string(),
        Place::Towards(other, _) => format!("whichever address leads to {}", other.ip()),
    }
}
