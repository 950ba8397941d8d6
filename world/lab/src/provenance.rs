//! The provenance of a run: the machine and the build, when a run starts and when it ends.

use keytoll_native::{clock, machine as native};
use keytoll_scenario::plan::{CryptoMode, Plan};
use keytoll_trace::manifest::Machine;
use keytoll_trace::provenance::{Load, Provenance};
use keytoll_trace::utc;

/// Information that only the program has.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The commit of the build, with the suffix `-dirty` for modified sources; `None` if unknown.
    pub commit: Option<String>,
    /// `release` or `debug`.
    pub build: String,
    /// The words of its command line.
    pub command: Vec<String>,
}

impl Program {
    /// The provenance of figures from a capture of others, without time and place.
    pub fn reading_a_capture(&self, machine: Machine) -> Provenance {
        Provenance {
            keytoll_commit: self.commit.clone(),
            keytoll_build: Some(self.build.clone()),
            command: Some(self.command.clone()),
            began_at: Some(utc::moment(clock::unix_seconds())),
            ..Provenance::of(env!("CARGO_PKG_VERSION"), machine)
        }
    }

    /// The provenance of a run that is about to start here.
    pub(crate) fn running(&self, plan: &Plan) -> Provenance {
        self.measuring(library(plan.crypto))
    }

    /// The provenance of a measurement that is about to start here, with this crypto library.
    pub fn measuring(&self, crypto_library: Option<String>) -> Provenance {
        let load_at_begin = load();
        Provenance { crypto_library, load_at_begin, ..self.reading_a_capture(machine()) }
    }
}

/// Records the end of a measurement.
pub fn end(provenance: &mut Provenance) {
    // Without a measurement the load is irrelevant.
    let load = provenance.load_at_begin.and_then(|_| load());
    provenance.end(clock::unix_seconds(), load);
}

fn load() -> Option<Load> {
    native::load_averages().map(Load::of)
}

/// The machine this runs on.
pub fn machine() -> Machine {
    Machine {
        host: native::host(),
        cpu: native::cpu_model(),
        kernel: native::kernel(),
        cores: std::thread::available_parallelism()
            .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX)),
        ticks_hz: clock::ticks_hz(),
        core_hz: clock::core_hz(),
        governor: native::governor(),
    }
}

/// The crypto libraries of this build, with their versions.
pub fn libraries() -> Vec<String> {
    [CryptoMode::Real, CryptoMode::OpenSsl].into_iter().filter_map(library).collect()
}

/// The crypto library of this mode, if it uses one.
pub fn library(crypto: CryptoMode) -> Option<String> {
    match crypto {
        CryptoMode::Real => Some(keytoll_native::awslc::version().to_owned()),
        #[cfg(feature = "ossl")]
        CryptoMode::OpenSsl => Some(keytoll_crypto::Ossl::version().to_owned()),
        #[cfg(not(feature = "ossl"))]
        CryptoMode::OpenSsl => None,
        CryptoMode::Null | CryptoMode::Table => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_records_its_crypto_library_and_the_load() {
        let plan = |crypto| {
            let text = format!("methods = 'ikev2-psk'\nnetworks = 'loopback'\ncrypto = '{crypto}'\n");
            keytoll_scenario::Source::text("x", &text).plan(&keytoll_scenario::Overrides::default()).unwrap()
        };
        let program = Program { build: "debug".into(), command: vec!["keytoll".into()], commit: None };
        let real = program.running(&plan("real"));
        assert!(real.crypto_library.as_ref().unwrap().starts_with("AWS-LC "), "{real:?}");
        assert_eq!(program.running(&plan("null")).crypto_library, None);
        assert_eq!((&real.machine.cpu, real.ended_at.as_ref()), (&native::cpu_model(), None));
        let mut ended = real.clone();
        end(&mut ended);
        assert!(
            ended.ended_at >= real.began_at && ended.load_at_end.is_some() == real.load_at_begin.is_some()
        );
        assert!(libraries()[0].starts_with("AWS-LC "), "{:?}", libraries());
    }

    #[test]
    fn a_capture_has_no_load() {
        let mut read = Program::default().reading_a_capture(Machine::default());
        end(&mut read);
        assert!(read.load_at_end.is_none() && read.ended_at.is_some() && read.crypto_library.is_none());
    }
}
