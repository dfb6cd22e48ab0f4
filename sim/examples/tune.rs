//! Scratch runner.
use squadron_core::dispatch::book::Terms;
use squadron_sim::replay::{generate::*, input::*, *};
fn fleet(sizes: &[u32]) -> Fleet {
    Fleet {
        sites: sizes
            .iter()
            .enumerate()
            .map(|(i, s)| Site {
                name: format!("c{i}"),
                pools: vec![Pool { model: "V100".into(), gpus_per_node: 8, nodes: s / 8 }],
            })
            .collect(),
    }
}
#[derive(Clone, Debug)]
struct F {
    jct: f64,
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    g16: f64,
    gw: f64,
    err: f64,
    worst: f64,
}
fn figs(t: &Trace, o: &Outcome) -> F {
    let mut w: Vec<f64> = vec![];
    let mut j = 0.;
    let mut g = (0., 0.);
    let mut gw = 0.;
    for r in &o.runs {
        let b = &t.jobs[r.job];
        let x = (r.start - b.submit_ms) as f64 / 60e3;
        w.push(x);
        j += (r.end - b.submit_ms) as f64 / 3.6e6;
        if b.gpus >= 16 {
            g.0 += x / 60.;
            g.1 += 1.
        }
        gw += x / 60. * b.gpus as f64;
    }
    if std::env::var("BRK").is_ok() {
        let mut v: Vec<(f64, u32, usize, bool)> = o
            .runs
            .iter()
            .map(|r| {
                let b = &t.jobs[r.job];
                ((r.start - b.submit_ms) as f64 / 60e3, b.gpus, b.team, r.reason.starts_with("bor"))
            })
            .collect();
        v.sort_by(|a, b| b.0.total_cmp(&a.0));
        v.truncate(620);
        let mut m = std::collections::BTreeMap::new();
        for x in &v {
            *m.entry((x.1, x.2)).or_insert(0) += 1;
        }
        let mut m: Vec<_> = m.into_iter().collect();
        m.sort_by_key(|x| -x.1);
        println!("top1%: {:?}", &m[..m.len().min(12)]);
        let mut by = std::collections::BTreeMap::new();
        for r in &o.runs {
            let b = &t.jobs[r.job];
            let e = by.entry(b.gpus).or_insert((0, 0.));
            e.0 += 1;
            e.1 += (r.start - b.submit_ms) as f64 / 60e3;
        }
        for (k, (n, x)) in by {
            print!("{k}:{n}:{:.0}m ", x / n as f64);
        }
        println!();
        let mut h = vec![0.; 15];
        for j in &t.jobs {
            if j.team < 15 {
                h[j.team] += j.gpus as f64 * j.duration_ms as f64;
            }
        }
        let s: f64 = h.iter().sum();
        println!("gpu time by team {:?}", h.iter().map(|x| (x * 100. / s).round()).collect::<Vec<_>>());
    }
    let n = w.len() as f64;
    let mean = w.iter().sum::<f64>() / n;
    w.sort_by(|a, b| a.total_cmp(b));
    let q = |p: f64| w[((n * p) as usize).min(w.len() - 1)];
    let (m, ow) = o.shares.iter().fold((0., 0.), |a, s| (a.0 + s.missing as f64, a.1 + s.owed as f64));
    let worst =
        o.shares.iter().filter(|s| s.owed > 0).map(|s| s.missing as f64 / s.owed as f64).fold(0., f64::max);
    F {
        jct: j / n,
        mean,
        p50: q(0.5),
        p95: q(0.95),
        p99: q(0.99),
        g16: if g.1 > 0. { g.0 / g.1 } else { 0. },
        gw: gw / 1000.,
        err: m / ow.max(1.),
        worst,
    }
}
fn med(mut v: Vec<F>) -> F {
    let mut m = v[0].clone();
    macro_rules! f{($($n:ident),*)=>{$(v.sort_by(|a,b|a.$n.total_cmp(&b.$n));m.$n=v[v.len()/2].$n;)*}}
    f!(jct, mean, p50, p95, p99, g16, gw, err, worst);
    m
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let kinds: Vec<&str> = a[1].split(',').collect();
    let which = &a[2];
    let seed: u64 = a[3].parse().unwrap();
    let pols: Vec<&str> = a[4].split(',').collect();
    let fl = if which == "A" {
        fleet(&[192, 128, 96, 64, 48, 32, 24, 16])
    } else {
        fleet(&[224, 160, 112, 80, 56, 40, 24, 16])
    };
    let load =
        std::env::var("LOAD").map(|x| x.parse().unwrap()).unwrap_or(if which == "A" { 0.92 } else { 0.77 });
    let mut base = Terms::default();
    let mut sets = vec![(String::from("base"), base)];
    // rest args: name=val[,name=val] variations
    for v in &a[5..] {
        let mut t = base;
        for kv in v.split(',') {
            let (k, x) = kv.split_once('=').unwrap();
            let n: u64 = x.parse().unwrap();
            match k {
                "sz" => t.size_quarters = n as u32,
                "pat" => t.patience = n * 60000,
                "pq" => t.patience_quarters = n as u32,
                "pr" => t.pressure_quarters = n as u32,
                "gf" => t.guarantee_first = n > 0,
                "rg" => t.reserve_guaranteed = n * 60000,
                "rb" => t.reserve_borrowing = n * 60000,
                "rf" => t.reserve_from = n as i64 * 1000,
                "rn" => t.reservations = n as usize,
                "cb" => t.careful_backfill = n as u32,
                "pl" => t.place = n as u32,
                "gq" => t.gpu_quarters = n as u32,
                "b" => {}
                _ => panic!("{k}"),
            }
        }
        if v.ends_with(",b=1") {
            base = t
        }
        sets.push((v.clone(), t));
    }
    if pols[0] == "agg" {
        for k in kinds {
            let mut rows: Vec<Vec<F>> = vec![vec![]; sets.len() + 1];
            let seeds = seed;
            for sd in 1..=seeds {
                let tr = mk(k, sd, &fl, load);
                let m = med((0..3)
                    .map(|s| {
                        figs(
                            &tr,
                            &replay(&Setting {
                                trace: &tr,
                                fleet: &fl,
                                policy: PolicyName::MultiKueueAllAtOnce,
                                seed: s,
                                terms: base,
                            })
                            .unwrap(),
                        )
                    })
                    .collect());
                let rel = |f: F| F {
                    jct: f.jct / m.jct,
                    mean: f.mean / m.mean,
                    p50: f.p50,
                    p95: f.p95 / m.p95,
                    p99: f.p99 / m.p99,
                    g16: f.g16 / m.g16.max(1e-9),
                    gw: f.gw / m.gw,
                    err: f.err,
                    worst: f.worst,
                };
                rows[0].push(m.clone());
                for (i, (_, t)) in sets.iter().enumerate() {
                    rows[i + 1].push(rel(figs(
                        &tr,
                        &replay(&Setting {
                            trace: &tr,
                            fleet: &fl,
                            policy: PolicyName::Default,
                            seed: 0,
                            terms: *t,
                        })
                        .unwrap(),
                    )));
                }
            }
            for (i, r) in rows.iter().enumerate() {
                let f = med(r.clone());
                let n = if i == 0 { "MK".to_string() } else { sets[i - 1].0.clone() };
                let mx = |g: fn(&F) -> f64| r.iter().map(g).fold(0., f64::max);
                println!(
                    "{k:12} {which} jct {:.3} mean {:.3} p50 {:5.1} p95 {:.2} p99 {:.3}<{:.2} g16 {:.3}<{:.2} gw {:.3} err {:.3} worst {:.3} | {n}",
                    f.jct,
                    f.mean,
                    f.p50,
                    f.p95,
                    f.p99,
                    mx(|f| f.p99),
                    f.g16,
                    mx(|f| f.g16),
                    f.gw,
                    f.err,
                    f.worst
                );
            }
        }
        return;
    }
    for k in kinds {
        let tr = mk(k, seed, &fl, load);
        let mut mkf: Option<F> = None;
        let tot: f64 = tr.jobs.iter().map(|j| j.gpus as f64 * j.duration_ms as f64).sum();
        for (lo, hi) in [(1, 1), (2, 4), (8, 8), (16, 999)] {
            let v: Vec<&Job> = tr.jobs.iter().filter(|j| j.gpus >= lo && j.gpus <= hi).collect();
            print!(
                "[{lo}-{hi}: {:.2}% {:.1}% of time] ",
                v.len() as f64 * 100. / tr.jobs.len() as f64,
                v.iter().map(|j| j.gpus as f64 * j.duration_ms as f64).sum::<f64>() * 100. / tot
            );
        }
        let mut d: Vec<u64> = tr.jobs.iter().map(|j| j.duration_ms / 1000).collect();
        d.sort();
        let q = |p: f64| d[(d.len() as f64 * p) as usize] as f64 / 60.;
        println!(
            "dur min p50 {:.0} p90 {:.0} p99 {:.0} mean {:.0}",
            q(0.5),
            q(0.9),
            q(0.99),
            d.iter().sum::<u64>() as f64 / 60. / d.len() as f64
        );
        for p in &pols {
            let pol: PolicyName = p.parse().unwrap();
            let runs: Vec<(String, F)> = if pol.is_model() {
                let seeds = if *p == "fifo-best-fit" || *p == "static-hash" { 1 } else { 3 };
                let t0 = std::time::Instant::now();
                let f = med((0..seeds)
                    .map(|s| {
                        figs(
                            &tr,
                            &replay(&Setting { trace: &tr, fleet: &fl, policy: pol, seed: s, terms: base })
                                .unwrap(),
                        )
                    })
                    .collect());
                vec![(format!("{p} {:.1}s", t0.elapsed().as_secs_f64() / seeds as f64), f)]
            } else {
                sets.iter()
                    .map(|(n, t)| {
                        let t0 = std::time::Instant::now();
                        let f = figs(
                            &tr,
                            &replay(&Setting { trace: &tr, fleet: &fl, policy: pol, seed: 0, terms: *t })
                                .unwrap(),
                        );
                        (format!("{p} {n} {:.1}s", t0.elapsed().as_secs_f64()), f)
                    })
                    .collect()
            };
            for (n, f) in runs {
                if mkf.is_none() {
                    mkf = Some(f.clone());
                    println!(
                        "== {k} {which} jobs {} big {}",
                        tr.jobs.len(),
                        tr.jobs.iter().filter(|j| j.gpus >= 16).count()
                    );
                }
                let m = mkf.as_ref().unwrap();
                println!(
                    "jct {:6.2} ({:.3}) wait {:5.0} p50 {:5.1} p95 {:6.0} p99 {:6.0} ({:.2}) g16 {:6.2}h ({:.2}) gwh {:5.0}k err {:.3} worst {:.3} | {n}",
                    f.jct,
                    f.jct / m.jct,
                    f.mean,
                    f.p50,
                    f.p95,
                    f.p99,
                    f.p99 / m.p99,
                    f.g16,
                    f.g16 / m.g16.max(1e-9),
                    f.gw,
                    f.err,
                    f.worst
                );
            }
        }
    }
}

fn mk(k: &str, sd: u64, fl: &Fleet, load: f64) -> Trace {
    let mut a = Assumptions::named(k, sd, fl.gpus(), load).unwrap();
    let e = |n: &str| std::env::var(n).ok().map(|x| x.parse::<f64>().unwrap());
    if let Some(x) = e("UNREST") {
        a.unrest = x
    }
    if let Some(x) = e("MEM") {
        a.memory = x
    }
    if let Some(x) = e("REC") {
        a.recurrence = x
    }
    generate(&a)
}
