//! The keys of `[options]`. An entry defines everything about a key: its meaning, its values, how it is parsed and printed, the
//! methods and other options with which it has an effect, and the methods that cannot have it. The parser of `[options]`,
//! `[sweep]` and `--set`, the refusal of keys without effect, the names of variants, the printed plan and `keytoll list options`
//! are all derived from the entries.

pub mod certificates;
pub mod eap;
pub(crate) mod idle;
pub mod ipsec;
pub mod nodes;
pub(crate) mod settings;
pub mod tls;
pub mod traffic;

use std::time::Duration;

use crate::catalogue::Method;
use crate::catalogue::facet::Facet;
use crate::diagnostic::ScenarioError;
use crate::families::Options;
use crate::quantity;
use crate::resolve::values::NEVER;
use crate::tree::Item;
use settings::Settings;

/// An entry: a key of `[options]`.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) key: &'static str,
    /// Its possible values: literal words, ranges with ` to `, and forms in capitals. A test compares them with the parser.
    pub(crate) values: &'static [&'static str],
    /// Its meaning, in a few words.
    pub(crate) about: &'static str,
    /// Its field, with parser and printer.
    pub(crate) field: &'static dyn Field,
    /// The facet that a method needs for it; `None`: every method has it.
    of: Option<&'static Facet>,
    /// The methods with that facet that cannot have it.
    pub(crate) exception: Option<Exception>,
    /// The condition on other options under which it has an effect.
    need: Option<Need>,
}

/// Methods that cannot have an option although similar methods can.
#[derive(Clone, Copy)]
pub(crate) struct Exception {
    of: &'static Facet,
    /// Whether the value is one that they cannot have; another value is replaced by the default.
    asks: fn(&Options) -> bool,
    /// Why they cannot.
    pub(crate) message: &'static str,
    /// Advice.
    pub(crate) hint: &'static str,
}

/// The condition on the other options of a row under which an option has an effect.
#[derive(Clone, Copy)]
struct Need {
    is_met: fn(&Options, &Method) -> bool,
    /// Completes the error "means nothing …" when the condition is not met.
    unmet: &'static str,
}

impl Setting {
    /// An option of every method.
    pub(crate) const fn new(
        key: &'static str,
        values: &'static [&'static str],
        about: &'static str,
        field: &'static dyn Field,
    ) -> Self {
        Self { key, values, about, field, of: None, exception: None, need: None }
    }

    /// Restricts it to methods with a facet.
    pub(crate) const fn of(self, facet: &'static Facet) -> Self {
        Self { of: Some(facet), ..self }
    }

    /// Excludes methods that cannot have it, with the reason.
    pub(crate) const fn but_for(
        self,
        of: &'static Facet,
        asks: fn(&Options) -> bool,
        message: &'static str,
        hint: &'static str,
    ) -> Self {
        Self { exception: Some(Exception { of, asks, message, hint }), ..self }
    }

    /// Restricts it to a condition on other options; `unmet` completes the error "means nothing …".
    pub(crate) const fn needs(self, is_met: fn(&Options, &Method) -> bool, unmet: &'static str) -> Self {
        Self { need: Some(Need { is_met, unmet }), ..self }
    }

    /// Whether a method has it or refuses it.
    pub(crate) fn tells(&self, method: &Method) -> bool {
        self.of.is_none_or(|facet| method.has(facet))
    }

    /// Whether a method has it.
    pub(crate) fn concerns(&self, method: &Method) -> bool {
        self.tells(method) && self.exception_of(method).is_none()
    }

    /// Whether it has an effect on a row.
    pub(crate) fn moves(&self, options: &Options, method: &Method) -> bool {
        self.concerns(method) && self.unmet(options, method).is_none()
    }

    /// Why it has no effect on a row whose method has it.
    fn unmet(&self, options: &Options, method: &Method) -> Option<&'static str> {
        self.need.filter(|need| !(need.is_met)(options, method)).map(|need| need.unmet)
    }

    fn exception_of(&self, method: &Method) -> Option<Exception> {
        self.exception.filter(|exception| method.has(exception.of))
    }

    /// Why the method cannot have the requested value.
    pub(crate) fn refused(&self, options: &Options, method: &Method) -> Option<Exception> {
        self.exception_of(method).filter(|exception| (exception.asks)(options))
    }
}

/// The field of an option, with parser and printer, for any type.
pub(crate) trait Field: Sync {
    /// Parses an item into the settings.
    fn read(&self, settings: &mut Settings, item: &Item) -> Result<(), ScenarioError>;
    /// As a TOML value.
    fn print(&self, settings: &Settings) -> String;
    /// Copies the value from other settings.
    fn copy(&self, to: &mut Settings, from: &Settings);
}

/// The field of an option of type `T`.
pub(crate) struct Slot<T: 'static> {
    pub(crate) get: fn(&Settings) -> &T,
    pub(crate) get_mut: fn(&mut Settings) -> &mut T,
    pub(crate) read: fn(&Item) -> Result<T, ScenarioError>,
    pub(crate) print: fn(&T) -> String,
}

impl<T: Clone> Field for Slot<T> {
    fn read(&self, settings: &mut Settings, item: &Item) -> Result<(), ScenarioError> {
        *(self.get_mut)(settings) = (self.read)(item)?;
        Ok(())
    }

    fn print(&self, settings: &Settings) -> String {
        (self.print)((self.get)(settings))
    }

    fn copy(&self, to: &mut Settings, from: &Settings) {
        *(self.get_mut)(to) = (self.get)(from).clone();
    }
}

/// `field!(options.tls.version, read, print)`: a field of [`Settings`], its reader and its printer.
macro_rules! field {
    ($($path:ident).+, $read:expr, $print:expr $(,)?) => {
        &$crate::options::Slot {
            get: |settings| &settings.$($path).+,
            get_mut: |settings| &mut settings.$($path).+,
            read: $read,
            print: $print,
        }
    };
}
pub(crate) use field;

/// The values of a switch.
pub(crate) const BOOLEAN: &[&str] = &["true", "false"];

/// A text as a TOML string.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Suites or signature schemes as a TOML list.
pub(crate) fn list(names: &[impl ToString]) -> String {
    let quoted = names.iter().map(|name| quoted(&name.to_string())).collect::<Vec<_>>();
    format!("[{}]", quoted.join(", "))
}

/// When an SA is given new keys.
#[allow(clippy::ref_option, reason = "printers take what a field holds")]
pub(crate) fn print_rekey(after: &Option<Duration>) -> String {
    after.map_or_else(|| quoted(NEVER), |after| quoted(&quantity::duration(after)))
}
