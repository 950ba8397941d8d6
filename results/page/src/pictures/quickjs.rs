//! The painter: QuickJS with the script of the page.

use std::fmt;

use rquickjs::{Context, Ctx, Function, Object, Promise, Runtime};
use serde::Serialize;
use serde_json::{Map, Value};

use super::PictureError;
use crate::frame::SCRIPT;
use crate::model::{Chart, Ladder, Ranking};

/// Half of the stack of a thread: the layout of nested charts is recursive.
const STACK_BYTES: usize = 1 << 20;

/// Draws pictures, one after another: it takes a tenth of a second to begin, and about as long for each chart.
pub struct Painter {
    context: Context,
}

impl fmt::Debug for Painter {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Painter").finish_non_exhaustive()
    }
}

/// The parts of a chart that the script needs to draw it by itself.
#[derive(Serialize)]
struct Alone<'a> {
    title: &'a str,
    note: &'a str,
    description: &'a str,
    spec: &'a Map<String, Value>,
    columns: &'a [String],
    lines: &'a [Vec<Value>],
}

impl Painter {
    /// A painter that has read the script.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new() -> Result<Self, PictureError> {
        let runtime = Runtime::new().map_err(unsaid)?;
        runtime.set_max_stack_size(STACK_BYTES);
        let context = Context::full(&runtime).map_err(unsaid)?;
        context.with(|cx| cx.eval::<(), _>(SCRIPT).map_err(|error| said(&cx, &error)))?;
        Ok(Self { context })
    }

    /// A chart as SVG, with its title and its note.
    ///
    /// # Errors
    /// When its specification is wrong.
    pub fn chart(&self, chart: &Chart) -> Result<String, PictureError> {
        let Chart { title, note, description, spec, columns, lines, .. } = chart;
        self.drawn("chart", &Alone { title, note, description, spec, columns, lines })
    }

    /// A ladder as SVG, with its title.
    ///
    /// # Errors
    /// When the script fails.
    pub fn ladder(&self, ladder: &Ladder) -> Result<String, PictureError> {
        self.drawn("ladder", ladder)
    }

    /// The scores of a ranking as SVG, with its title and its weights.
    ///
    /// # Errors
    /// When the script fails.
    pub fn ranking(&self, ranking: &Ranking) -> Result<String, PictureError> {
        self.drawn("ranking", ranking)
    }

    fn drawn(&self, kind: &str, what: &impl Serialize) -> Result<String, PictureError> {
        let json = serde_json::to_string(what).map_err(unsaid)?;
        self.context.with(|cx| {
            let draw = |json: &str| -> rquickjs::Result<String> {
                let pictures: Object = cx.globals().get("pictures")?;
                let function: Function = pictures.get(kind)?;
                function.call::<_, Promise>((json,))?.finish()
            };
            draw(&json).map_err(|error| said(&cx, &error))
        })
    }
}

fn unsaid(error: impl fmt::Display) -> PictureError {
    PictureError(error.to_string())
}

/// The message of the exception that the script threw.
fn said(cx: &Ctx<'_>, error: &rquickjs::Error) -> PictureError {
    let thrown = if error.is_exception() { cx.catch().into_exception() } else { None };
    let message = thrown.and_then(|exception| exception.message());
    PictureError(message.unwrap_or_else(|| error.to_string()))
}
