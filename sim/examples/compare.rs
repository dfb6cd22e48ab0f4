//! Compares policies on generated traces and prints the table of docs/benchmarks/replay.md.
//!
//! `cargo run --release -p squadron-sim --example compare -- A|B LOAD TRACE_SEEDS RACE_SEEDS SET...`

use squadron_core::dispatch::book::Terms;
use squadron_sim::replay::{
    Broken, PolicyName, Setting,
    figures::{Figures, figures, median},
    generate::{Assumptions, generate},
    input::{Fleet, Pool, Site},
    replay,
};

const FLEETS: [(&str, [u32; 8]); 2] =
    [("A", [192, 128, 96, 64, 48, 32, 24, 16]), ("B", [224, 160, 112, 80, 56, 40, 24, 16])];

/// What is compared with the race: the book, and the plan that the control plane carries out.
const OURS: [PolicyName; 2] = [PolicyName::Default, PolicyName::Live];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, load, trace_seeds, race_seeds, sets @ ..] = words.as_slice() else {
        return Err("give FLEET LOAD TRACE_SEEDS RACE_SEEDS SET...".into());
    };
    let sizes = FLEETS.iter().find(|(known, _)| known == name).ok_or("the fleet is A or B")?.1;
    let fleet = fleet(&sizes);
    let (load, seeds): (f64, u64) = (load.parse()?, race_seeds.parse()?);
    println!(
        "| set | seed | policy | mean completion h | mean wait min | p99 wait min | gangs 16+ h | share error | worst team | preempted |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for set in sets {
        let mut ratios = Vec::new();
        for seed in trace_seeds.split(',') {
            let made = Assumptions::named(set, seed.parse()?, fleet.gpus(), load)
                .ok_or("no such set of assumptions")?;
            let trace = generate(&made);
            let run = |policy, seed| -> Result<Figures, Broken> {
                let setting = Setting { trace: &trace, fleet: &fleet, policy, seed, terms: Terms::default() };
                Ok(figures(&setting, &replay(&setting)?))
            };
            let races: Result<Vec<Figures>, Broken> =
                (0..seeds).map(|seed| run(PolicyName::MultiKueueAllAtOnce, seed)).collect();
            let race = median(races?).ok_or("no seed")?;
            row(set, seed, &race, &race);
            for policy in OURS {
                let ours = run(policy, 0)?;
                row(set, seed, &ours, &race);
                ratios.push((policy, compared(&ours, &race)));
            }
        }
        for policy in OURS {
            let of = ratios.iter().filter(|(known, _)| *known == policy).map(|(_, row)| *row);
            summary(set, policy, &of.collect::<Vec<_>>());
        }
    }
    Ok(())
}

/// Completion, p99 wait and wait of large gangs over those of the race, then share errors and the preempted part.
fn compared(ours: &Figures, race: &Figures) -> [f64; 6] {
    let over = |ours: f64, theirs: f64| if theirs > 0.0 { ours / theirs } else { 0.0 };
    [
        over(ours.mean_completion_s, race.mean_completion_s),
        over(ours.p99_wait_s, race.p99_wait_s),
        over(ours.mean_wait_gangs_16_up_s, race.mean_wait_gangs_16_up_s),
        ours.share_error,
        worst(ours),
        over(ours.preempted_gpu_hours, ours.gpu_hours),
    ]
}

fn worst(figures: &Figures) -> f64 {
    figures.share_error_by_team.values().copied().fold(0.0, f64::max)
}

/// The median of every column over the traces of a set.
fn summary(set: &str, policy: PolicyName, ratios: &[[f64; 6]]) {
    let middle = |column: usize| {
        let mut values: Vec<f64> = ratios.iter().map(|row| row[column]).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let [completion, p99, gangs, share, worst, lost] = std::array::from_fn(middle);
    println!(
        "| {set} | median | {} | ({completion:.2}) | | ({p99:.2}) | ({gangs:.2}) | {share:.3} | {worst:.3} | {lost:.4} |",
        policy.text()
    );
}

fn fleet(sizes: &[u32]) -> Fleet {
    let site = |gpus: &u32| Site {
        name: format!("c{gpus}"),
        pools: vec![Pool { model: "V100".to_owned(), gpus_per_node: 8, nodes: gpus / 8 }],
    };
    Fleet { sites: sizes.iter().map(site).collect() }
}

/// Figures with their ratio to the race.
fn row(set: &str, seed: &str, run: &Figures, race: &Figures) {
    let against = |ours: f64, theirs: f64, unit: f64| {
        format!("{:.2} ({:.2})", ours / unit, if theirs > 0.0 { ours / theirs } else { 0.0 })
    };
    println!(
        "| {set} | {seed} | {} | {} | {} | {} | {} | {:.3} | {:.3} | {:.4} |",
        run.policy,
        against(run.mean_completion_s, race.mean_completion_s, 3_600.0),
        against(run.mean_wait_s, race.mean_wait_s, 60.0),
        against(run.p99_wait_s, race.p99_wait_s, 60.0),
        against(run.mean_wait_gangs_16_up_s, race.mean_wait_gangs_16_up_s, 3_600.0),
        run.share_error,
        worst(run),
        run.preempted_gpu_hours / run.gpu_hours.max(1.0)
    );
}
