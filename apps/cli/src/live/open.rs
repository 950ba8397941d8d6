//! From a node file to bound sockets: reads it, checks the listening address, reports obstacles.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use keytoll_crypto_api::Seed;
use keytoll_live::{OnIp, Sockets, Streaming, local_towards};
use keytoll_net::Socket;
use keytoll_rigs::DIAMETER;
use keytoll_rigs::by_ports;
use keytoll_rigs::node::{Blueprint, Place, Wanted, diameter_length};
use keytoll_scenario::node::{PEERS, Role};
use keytoll_scenario::{NodeFile, NodePlan, Source};
use miette::{Report, miette};

use crate::args::Listen;
use crate::screen::{self, Usage};

/// Reads a node file of this role; warnings go to stderr.
pub(crate) fn read(path: &Path, role: Role, listen: Option<Listen>) -> Result<NodePlan, Report> {
    let NodeFile { mut plan, warnings } = Source::node_file(path)?;
    if plan.role() != role {
        let message = format!(
            "`{}` is the file of a node with `role = \"{}\"`, not \"{}\"",
            path.display(),
            plan.role().name(),
            role.name()
        );
        return Err(Usage::because(message, format!("`keytoll {}` runs it", plan.role().verb())).into());
    }
    warnings.iter().for_each(|warning| screen::note(&format!("warning: {warning}\n")));
    settle(&mut plan, listen)?;
    if let NodePlan::Hss(hss) = &plan
        && hss.peers.is_none()
        && !hss.listen.is_loopback()
    {
        let message = format!("an HSS on {} needs `peers` in `{}`", hss.listen, path.display());
        return Err(Usage::hint(message, PEERS).into());
    }
    Ok(plan)
}

/// Restricts it to loopback, unless the command line has another address.
fn settle(plan: &mut NodePlan, listen: Option<Listen>) -> Result<(), Report> {
    let Some((ip, own_port)) = plan.listening() else { return Ok(()) };
    match listen {
        Some(Listen { ip, .. }) if ip.is_unspecified() => {
            let message = format!(
                "a node cannot listen on {ip}: its answers must come from the address that was asked"
            );
            Err(Usage::hint(message, "name the address that others reach it by").into())
        }
        Some(listen) => {
            *ip = listen.ip;
            match (own_port, listen.port) {
                (Some(own_port), Some(port)) => *own_port = port,
                (None, Some(_)) => {
                    let message = "a node that speaks directly on IP listens on no port".to_owned();
                    return Err(Usage::because(message, format!("`--listen {}`", listen.ip)).into());
                }
                (_, None) => {}
            }
            Ok(())
        }
        None if ip.is_loopback() => Ok(()),
        None => {
            let message = format!("the file wants to listen on {ip}, where others can reach it");
            Err(Usage::because(message, format!("say so on the command line, too: `--listen {ip}`")).into())
        }
    }
}

/// Binds the sockets, in the order of the blueprint.
pub(crate) fn bind(blueprint: &Blueprint, seed: &Seed) -> Result<(Sockets, Vec<Socket>), Report> {
    let (mut udp, mut tcp, mut raw, mut calls) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for wanted in blueprint.sockets() {
        match wanted {
            Wanted::Udp(at) => udp.push(place(at)?),
            Wanted::Listen(at) => tcp.push(at),
            Wanted::Raw(at, (number, protocol)) => {
                raw.push(OnIp { ip: place(at)?.ip(), number, protocol: Some(protocol) });
            }
            Wanted::Call(at) => calls.push(Socket::from(place(at)?)),
        }
    }
    let expected = blueprint.expected();
    let secure = blueprint.secure(seed);
    let streaming = Streaming { expected, secure, ..Streaming::new(DIAMETER, diameter_length) };
    let sockets = Sockets::bind(&udp)
        .and_then(|sockets| sockets.recognising(by_ports).on_ip(&raw)?.streaming(streaming, &tcp))
        .map_err(|error| miette!("cannot {error}"))?;
    // Blueprints expect them in this order.
    let on_ip = raw.iter().map(|raw| Socket::new(raw.ip, 0)).collect();
    let locals = [sockets.locals(), on_ip, calls].concat();
    Ok((sockets, locals))
}

/// The address of a socket.
pub(crate) fn place(place: Place) -> Result<SocketAddr, Report> {
    match place {
        Place::At(address) => Ok(address),
        Place::Towards(other, port) => {
            let local: IpAddr = local_towards(other)
                .map_err(|error| miette!("no address of this machine leads to {}: {error}", other.ip()))?;
            Ok(SocketAddr::new(local, port))
        }
    }
}
