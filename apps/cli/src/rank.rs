//! `keytoll rank`: which method of a run suits best by several criteria, and how little must change until another one does.

mod words;

use std::path::Path;
use std::process::ExitCode;

use keytoll_analysis::{Summary, directory, samples};
use keytoll_ranking::acceptability::DRAWS_AT_ONCE;
use keytoll_ranking::methods::Method;
use keytoll_ranking::weighed::{By, Chosen};
use keytoll_ranking::{Authentications, Case, Criteria, Options, Ranking};
use keytoll_studies::{Material, against_the_slides};
use miette::{Report, miette};

use crate::args::RankArgs;
use crate::progress::{Counted, Progress};
use crate::report::{of_authentications, summary_of, unmeasured};
use crate::screen::{self, Usage};

/// Ranks the methods of a run directory.
pub(crate) fn rank(args: &RankArgs) -> Result<ExitCode, Report> {
    let criteria = Criteria::find(&args.criteria)?;
    let options = Options {
        method: Method::named(&args.method).expect("the command line takes names of methods only"),
        weights: weights(&args.weights)?,
        draws: args.draws,
        seed: args.seed,
    };
    let summary = read(&args.dir)?;
    let case = Case::new(&criteria, &summary)?;
    let authentications = authentications(&args.dir, &case)?;
    let mut ranking = drawn(&case, &authentications, &options)?;
    ranking.notes.extend(not_computed(&summary));
    ranking.notes.extend(next_to_the_slides(args, &summary)?);
    if args.json {
        screen::print_json(&ranking)?;
    } else {
        screen::print(&words::text(&ranking))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// That a run without cryptography has no times to rank by.
fn not_computed(summary: &Summary) -> Option<String> {
    let has_null = summary.rows.iter().any(|row| row.crypto == "null");
    has_null.then(|| {
        "The run was made without cryptography (`--crypto null`): its times, CPU times and memory are of no authentication, and ranks by them \
         mean nothing."
            .to_owned()
    })
}

/// Explains a difference between this order and the order in the slides.
fn next_to_the_slides(args: &RankArgs, summary: &Summary) -> Result<Option<String>, Report> {
    let manifest = directory::manifest(&args.dir).map_err(unmeasured)?;
    let supplement = directory::supplement(&args.dir, &manifest).map_err(unmeasured)?;
    Ok(against_the_slides(&args.criteria, &Material { summary, supplement: &supplement }))
}

/// The summary of a run directory, as it was written.
pub(crate) fn read(dir: &Path) -> Result<Summary, Report> {
    of_authentications(dir)?;
    let manifest = directory::manifest(dir).map_err(unmeasured)?;
    summary_of(dir, &manifest)
}

/// Ranks under a progress bar, which is only seen if it takes longer than usual.
fn drawn(case: &Case<'_>, authentications: &Authentications, options: &Options) -> Result<Ranking, Report> {
    let progress = Progress::begin(Counted { length: options.draws.into(), of: "draws", switch: "--draws" });
    // Either kind of weights is drawn so often, at the same time.
    let done = || progress.add(u64::from(DRAWS_AT_ONCE) / 2);
    Ok(case.rank(authentications, options, &done)?)
}

/// The single authentications of the run, where values are measured of them.
fn authentications(dir: &Path, case: &Case<'_>) -> Result<Authentications, Report> {
    let estimates = case.estimates();
    let manifest = directory::manifest(dir).map_err(unmeasured)?;
    match samples::check(dir, &manifest) {
        Ok(()) => {}
        // It was not written, or somebody has removed it.
        Err(_) if !dir.join(samples::SAMPLES).exists() => {}
        Err(error) => return Err(miette!("{error}")),
    }
    Authentications::read(dir, &estimates).map_err(|error| miette!("{error}"))
}

/// `equal`, `security=0.5`, or several with commas.
fn weights(texts: &[String]) -> Result<Chosen, Report> {
    let mut chosen = Chosen::default();
    let mut seen: Vec<&str> = Vec::new();
    for word in texts.iter().flat_map(|text| text.split(',')).map(str::trim) {
        // One choice of all weights, and one weight of each criterion.
        let what = word.split_once('=').map_or("", |(name, _)| name.trim());
        if seen.contains(&what) {
            return Err(twice(what));
        }
        seen.push(what);
        match word.split_once('=') {
            Some((name, weight)) => chosen.given.push((name.trim().to_owned(), weight_of(name, weight)?)),
            None => chosen.by = named(word)?,
        }
    }
    Ok(chosen)
}

fn twice(what: &str) -> Report {
    let message = match what {
        "" => "`--weights` chooses all weights twice".to_owned(),
        name => format!("`--weights` names `{name}` twice"),
    };
    Usage::hint(message, "leave one of them out").into()
}

fn weight_of(name: &str, weight: &str) -> Result<f64, Report> {
    let parsed = weight.trim().parse().ok().filter(|weight| (0.0..=1.0).contains(weight));
    parsed.ok_or_else(|| {
        let message = format!("the weight of `{}` must be from 0 to 1, not `{}`", name.trim(), weight.trim());
        Usage::hint(message, "like `--weights security=0.4`").into()
    })
}

fn named(word: &str) -> Result<By, Report> {
    let found = By::ALL.into_iter().find(|by| by.name() == word);
    found.ok_or_else(|| {
        let names = By::ALL.map(|by| format!("`{}`", by.name())).join(", ");
        Usage::because(format!("unknown weights `{word}`"), format!("{names}, or `NAME=WEIGHT`")).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_chosen_by_name_or_by_number() {
        let text = |texts: &[&str]| weights(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
        let chosen = text(&["equal", "a=0.25, b = 1"]).unwrap();
        let given = vec![("a".to_owned(), 0.25), ("b".to_owned(), 1.0)];
        assert_eq!(chosen, Chosen { by: By::Equal, given });
        assert_eq!(text(&[]).unwrap(), Chosen::default());
        let told = |texts: &[&str]| text(texts).unwrap_err().to_string();
        assert_eq!(told(&["eqal"]), "unknown weights `eqal`");
        assert_eq!(told(&["a=0.5,b=0.1", "a=0.2"]), "`--weights` names `a` twice");
        assert_eq!(told(&["file,equal"]), "`--weights` chooses all weights twice");
        for wrong in ["a=", "a=2", "a=-1", "a=nan", "a=inf", "a=x"] {
            assert!(told(&[wrong]).starts_with("the weight of `a` must be from 0 to 1"), "{wrong}");
        }
    }
}
