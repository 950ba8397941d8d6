//! Where a run comes from: this machine and this build, when a run begins and when it ends.

use keytoll_native::{clock, machine as native};
use keytoll_scenario::plan::{CryptoMode, Plan};
use keytoll_trace::manifest::Machine;
use keytoll_trace::provenance::{Load, Provenance};
use keytoll_trace::utc;

/// What only the program knows of itself.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The commit that it was built from, with `-dirty` behind it if that is not all; none if nobody knows.
    pub commit: Option<String>,
    /// `release` or `debug`.
    pub build: String,
    /// The words of its command line.
    pub command: Vec<String>,
}

impl Program {
    /// What is known of figures that it makes of somebody else's capture: not when and where they arose.
    pub fn reading_a_capture(&self, machine: Machine) -> Provenance {
        Provenance {
            keytoll_commit: self.commit.clone(),
            keytoll_build: Some(self.build.clone()),
            command: Some(self.command.clone()),
            began_at: Some(utc::moment(clock::unix_seconds())),
            ..Provenance::of(env!("CARGO_PKG_VERSION"), machine)
        }
    }

    /// The same of a plan that is about to run here.
    pub(crate) fn running(&self, plan: &Plan) -> Provenance {
        self.measuring(library(plan.crypto))
    }

    /// The same of a measurement that is about to begin here, by a library that computes.
    pub fn measuring(&self, crypto_library: Option<String>) -> Provenance {
        let load_at_begin = load();
        Provenance { crypto_library, load_at_begin, ..self.reading_a_capture(machine()) }
    }
}

/// Notes that a measurement has ended.
pub fn end(provenance: &mut Provenance) {
    // Where nothing was measured, nobody asks how busy it was.
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

/// The crypto libraries of this build, each with its version.
pub fn libraries() -> Vec<String> {
    [CryptoMode::Real, CryptoMode::OpenSsl].into_iter().filter_map(library).collect()
}

/// The one that computes, if one does.
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
    fn a_run_says_whose_code_computed_and_how_busy_the_machine_was() {
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
    fn of_a_capture_nobody_knows_how_busy_its_machine_was() {
        let mut read = Program::default().reading_a_capture(Machine::default());
        end(&mut read);
        assert!(read.load_at_end.is_none() && read.ended_at.is_some() && read.crypto_library.is_none());
    }
}
