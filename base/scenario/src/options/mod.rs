//! The keys of `[options]`. An entry says everything about one: what it is, what it may be, how it is read and printed, for
//! which methods and beside which other options it makes a difference, and which methods cannot have it. From the entries
//! come the parser of `[options]`, `[sweep]` and `--set`, the refusal of what makes no difference, the variants' names, the
//! printed plan and `keytoll list options`.

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
    /// What it may be: words as they are written, ranges with ` to `, and forms in capitals. A test holds them against the
    /// parser.
    pub(crate) values: &'static [&'static str],
    /// What it is, in a few words.
    pub(crate) about: &'static str,
    /// Where its value is, how it is read and printed.
    pub(crate) field: &'static dyn Field,
    /// What a method needs for it to mean something; none: every method has it.
    of: Option<&'static Facet>,
    /// Of those the ones that cannot have it.
    pub(crate) exception: Option<Exception>,
    /// What the other options must be like for it to make a difference.
    need: Option<Need>,
}

/// Methods that cannot have an option, though they are told of it together with others that can.
#[derive(Clone, Copy)]
pub(crate) struct Exception {
    of: &'static Facet,
    /// Whether the value asks for what they cannot do; another is taken for the default.
    asks: fn(&Options) -> bool,
    /// Why they cannot.
    pub(crate) message: &'static str,
    /// What to do.
    pub(crate) hint: &'static str,
}

/// What the other options of a row must be like for an option to make a difference.
#[derive(Clone, Copy)]
struct Need {
    is_met: fn(&Options, &Method) -> bool,
    /// How it is when it is not met, behind "means nothing".
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

    /// The same for methods with a facet only.
    pub(crate) const fn of(self, facet: &'static Facet) -> Self {
        Self { of: Some(facet), ..self }
    }

    /// The same without methods that cannot have it, and why they cannot.
    pub(crate) const fn but_for(
        self,
        of: &'static Facet,
        asks: fn(&Options) -> bool,
        message: &'static str,
        hint: &'static str,
    ) -> Self {
        Self { exception: Some(Exception { of, asks, message, hint }), ..self }
    }

    /// The same beside certain other options only; `unmet` is how it is otherwise, behind "means nothing".
    pub(crate) const fn needs(self, is_met: fn(&Options, &Method) -> bool, unmet: &'static str) -> Self {
        Self { need: Some(Need { is_met, unmet }), ..self }
    }

    /// Whether a method is told of it: it makes a difference, or is refused.
    pub(crate) fn tells(&self, method: &Method) -> bool {
        self.of.is_none_or(|facet| method.has(facet))
    }

    /// Whether it makes a difference to a method at all.
    pub(crate) fn concerns(&self, method: &Method) -> bool {
        self.tells(method) && self.exception_of(method).is_none()
    }

    /// Whether it makes a difference to a row.
    pub(crate) fn moves(&self, options: &Options, method: &Method) -> bool {
        self.concerns(method) && self.unmet(options, method).is_none()
    }

    /// Why it makes none to a row whose method it concerns.
    fn unmet(&self, options: &Options, method: &Method) -> Option<&'static str> {
        self.need.filter(|need| !(need.is_met)(options, method)).map(|need| need.unmet)
    }

    fn exception_of(&self, method: &Method) -> Option<Exception> {
        self.exception.filter(|exception| method.has(exception.of))
    }

    /// Why the method cannot have what the options ask for.
    pub(crate) fn refused(&self, options: &Options, method: &Method) -> Option<Exception> {
        self.exception_of(method).filter(|exception| (exception.asks)(options))
    }
}

/// Where the value of an option is, how it is read and printed, whatever its type.
pub(crate) trait Field: Sync {
    /// Puts what an item says into the settings.
    fn read(&self, settings: &mut Settings, item: &Item) -> Result<(), ScenarioError>;
    /// As a TOML value.
    fn print(&self, settings: &Settings) -> String;
    /// Makes it what it is in other settings.
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

/// What a switch may be.
pub(crate) const BOOLEAN: &[&str] = &["true", "false"];

/// A text as TOML writes it.
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
