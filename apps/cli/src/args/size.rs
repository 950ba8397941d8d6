//! Arguments of `size`, in the words of operators.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use keytoll_dimensioning::Arrivals;

use super::number::{some_duration, whole};
use crate::size::{SIMULATED_MAX, SIMULATED_MIN};

/// Arguments of `size`.
#[derive(Debug, Args)]
pub(crate) struct SizeArgs {
    /// Directory that `keytoll run` or `keytoll study` wrote.
    #[arg(value_name = "RUN")]
    pub(crate) dir: PathBuf,
    /// Devices that are registered, like `2e6` or `2M`.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = devices)]
    pub(crate) subscribers: u64,
    /// Devices that have a session at the same time: a number, or a share like `60%` [default: all].
    #[arg(long, value_name = "N|SHARE", allow_negative_numbers = true, value_parser = present)]
    pub(crate) at_once: Option<Present>,
    /// How long after an authentication a device authenticates anew, like `8h`.
    #[arg(long, value_name = "TIME", value_parser = some_duration)]
    pub(crate) reauth: Duration,
    /// How long keys last, if they are changed between authentications, like `1h`.
    #[arg(long, value_name = "TIME", value_parser = some_duration)]
    pub(crate) rekey: Option<Duration>,
    /// When devices authenticate: `poisson`, constant mean rate; `storm:N/TIME`, N extra devices within TIME; `diurnal`, daily curve with its
    /// peak at noon.
    #[arg(long, value_name = "poisson|storm:N/TIME|diurnal", default_value = "poisson", value_parser = arrivals)]
    pub(crate) arrivals: Arrivals,
    /// Delay that 99 % of authentications must not exceed, like `300ms`.
    #[arg(long, value_name = "TIME", value_parser = some_duration)]
    pub(crate) p99: Duration,
    /// Processor of the serving nodes: a name of `keytoll list cpus`, or a frequency [default: as in the run].
    #[arg(long, value_name = "NAME|FREQUENCY")]
    pub(crate) cpu: Option<String>,
    /// Cores that a node has already, like `gw=4`; several with commas [default: as many as it needs].
    #[arg(long, value_name = "NODE=N", value_delimiter = ',', value_parser = cores)]
    pub(crate) cores: Vec<(String, u32)>,
    /// How long a server's store takes to look somebody up, like `aaa=2ms`; several with commas.
    #[arg(long = "store", value_name = "NODE=TIME", value_delimiter = ',', value_parser = store)]
    pub(crate) stores: Vec<(String, Duration)>,
    /// Size a node with the costs of a daemon, too: a table of `keytoll calibrate`, like `gw=strongswan.json`; several with commas.
    #[arg(long = "daemon", value_name = "NODE=FILE", value_delimiter = ',', value_parser = daemon)]
    pub(crate) daemons: Vec<(String, PathBuf)>,
    /// Sites that share the load, of which one may be lost.
    #[arg(long, value_name = "N", default_value = "2", allow_negative_numbers = true, value_parser = whole::<u32>(2, 1000))]
    pub(crate) sites: u32,
    /// Devices that might use the cheapest method instead of another [default: 100000, or all].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = devices)]
    pub(crate) moved: Option<u64>,
    /// Size this method only; can be repeated for others.
    #[arg(long = "method", value_name = "METHOD")]
    pub(crate) methods: Vec<String>,
    /// Check the answer with the simulator: real engines, queues and retransmissions, with the costs of a table.
    #[arg(long)]
    pub(crate) simulate: bool,
    /// Devices of the simulation; at least 368, for the interval of the 99th percentile [default: all that arrive during a storm, else 10000].
    #[arg(long, value_name = "N", requires = "simulate", allow_negative_numbers = true, value_parser = whole::<u32>(SIMULATED_MIN.into(), SIMULATED_MAX.into()))]
    pub(crate) devices: Option<u32>,
    /// The cost table of the simulation, a file or `reference`; a table named in the run is ignored unless given here [default: reference].
    #[arg(long, value_name = "FILE", requires = "simulate")]
    pub(crate) costs: Option<String>,
    /// Print JSON instead of tables and sentences.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Devices at the same time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Present {
    /// So many.
    Devices(u64),
    /// A share of those registered.
    Share(f64),
}

/// More devices than there are on Earth.
const DEVICES_MAX: f64 = 1e12;

/// A whole number of at least one, possibly with a power of ten, or in thousands or millions.
fn devices(text: &str) -> Result<u64, String> {
    let powers = [('k', "e3"), ('M', "e6")];
    let written = powers.iter().find_map(|(unit, power)| Some(text.strip_suffix(*unit)?.to_owned() + power));
    let number = written.as_deref().unwrap_or(text).parse::<f64>().ok();
    let is_fitting = |number: &f64| (1.0..=DEVICES_MAX).contains(number) && number.fract() == 0.0;
    let number = number.filter(is_fitting);
    number
        .map(|number| number as u64)
        .ok_or_else(|| "expected a whole number of devices, like 2e6 or 2M".to_owned())
}

fn daemon(text: &str) -> Result<(String, PathBuf), String> {
    let parts = text.split_once('=').filter(|(node, file)| !node.is_empty() && !file.is_empty());
    let (node, file) =
        parts.ok_or_else(|| "expected a node and a file, like `gw=strongswan.json`".to_owned())?;
    Ok((node.to_owned(), PathBuf::from(file)))
}

fn present(text: &str) -> Result<Present, String> {
    let Some(percent) = text.strip_suffix('%') else { return devices(text).map(Present::Devices) };
    let share = percent.trim().parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
    share
        .map(|percent| Present::Share(percent / 100.0))
        .ok_or_else(|| "expected a share above 0% and up to 100%, or a number of devices".to_owned())
}

fn arrivals(text: &str) -> Result<Arrivals, String> {
    match text {
        "poisson" => Ok(Arrivals::Poisson),
        "diurnal" => Ok(Arrivals::Diurnal),
        _ => storm(text)
            .ok_or_else(|| "expected `poisson`, `diurnal` or a storm like `storm:50000/10s`".to_owned()),
    }
}

fn storm(text: &str) -> Option<Arrivals> {
    let (number, time) = text.strip_prefix("storm:")?.split_once('/')?;
    let within_s = some_duration(time).ok()?.as_secs_f64();
    devices(number).ok().map(|devices| Arrivals::Storm { devices, within_s })
}

fn of_node<T>(
    text: &str,
    example: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<(String, T), String> {
    let (node, value) =
        text.split_once('=').ok_or_else(|| format!("expected a node and its value, like {example}"))?;
    read(value.trim()).map(|value| (node.trim().to_owned(), value))
}

fn cores(text: &str) -> Result<(String, u32), String> {
    of_node(text, "gw=4", whole(1, 1_000_000))
}

fn store(text: &str) -> Result<(String, Duration), String> {
    of_node(text, "aaa=2ms", some_duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_counted_in_whole_numbers() {
        assert_eq!([devices("2e6"), devices("1500"), devices("1.5e3")], [Ok(2_000_000), Ok(1500), Ok(1500)]);
        // As charts of a report have them, and the command below these.
        assert_eq!(
            [devices("2M"), devices("2.3M"), devices("10k")],
            [Ok(2_000_000), Ok(2_300_000), Ok(10_000)]
        );
        for wrong in [
            "k", "M", "2m", "2K", "0.0015k", "2e3M", "2MM", "infM", "2 M", "", "0", "-1", "1.5", "2e20",
            "many", "nan", "inf",
        ] {
            assert_eq!(
                devices(wrong),
                Err("expected a whole number of devices, like 2e6 or 2M".to_owned()),
                "{wrong}"
            );
        }
        assert_eq!([present("60%"), present("12")], [Ok(Present::Share(0.6)), Ok(Present::Devices(12))]);
        assert!(["0%", "101%", "x%", "%"].into_iter().all(|wrong| present(wrong).is_err()));
    }

    #[test]
    fn a_storm_has_a_number_and_a_time() {
        assert_eq!(arrivals("storm:50000/10s"), Ok(Arrivals::Storm { devices: 50_000, within_s: 10.0 }));
        assert_eq!(
            [arrivals("poisson"), arrivals("diurnal")],
            [Ok(Arrivals::Poisson), Ok(Arrivals::Diurnal)]
        );
        for wrong in ["", "storm", "storm:5", "storm:/1s", "storm:0/1s", "storm:5/0s", "storm:5/s"] {
            assert!(arrivals(wrong).unwrap_err().starts_with("expected `poisson`"), "{wrong}");
        }
    }

    #[test]
    fn nodes_have_values() {
        assert_eq!(cores("gw=4"), Ok(("gw".to_owned(), 4)));
        assert_eq!(store("aaa = 2ms"), Ok(("aaa".to_owned(), Duration::from_millis(2))));
        assert!(
            cores("gw").is_err()
                && cores("gw=0").is_err()
                && store("aaa=0s").is_err()
                && store("aaa=2").is_err()
        );
    }
}
