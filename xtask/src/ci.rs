//! The whole check, ordered so that the cheapest failure comes first. `make test` and CI run exactly this.

use anyhow::{Result, bail};
use squadron_e2e::{
    command,
    stage::{Spec, Stage},
    testbed,
};

use crate::{build, generate, setup, steps::Steps, tidy};

fn cargo(args: &str) -> std::process::Command {
    let mut cargo = command::new("cargo");
    cargo.args(args.split(' '));
    cargo
}

/// Runs every step; `quick` leaves out those that need clusters.
pub fn run(quick: bool) -> Result<()> {
    let mut steps = Steps::default();
    steps.step("what the machine must have", setup::run);
    steps.step("format", || command::run(&mut cargo("fmt --all --check")));
    steps.step("house rules", tidy::run);
    console(&mut steps);
    rust(&mut steps);
    steps.step("generated files", generate::check);
    if !quick {
        clusters(&mut steps);
    }
    steps.finish()
}

fn console(steps: &mut Steps) {
    steps.step("console: packages", build::web_packages);
    steps.step("console: lint", || command::run(&mut build::npm(&["run", "lint"])));
    steps.tests("console: unit tests", || Ok(build::npm(&["run", "test"])));
    steps.step("console: types and build", build::web);
}

fn rust(steps: &mut Steps) {
    steps.step("clippy", || {
        command::run(&mut cargo("clippy --locked --workspace --all-targets -- -D warnings"))
    });
    steps.tests("unit and store tests", || Ok(cargo("test --locked --no-fail-fast")));
    steps.step("dependency policy", dependency_policy);
}

fn dependency_policy() -> Result<()> {
    if !command::exists("cargo-deny") {
        println!("cargo-deny is not installed; the policy in deny.toml was not checked");
        return Ok(());
    }
    command::run(&mut cargo("deny check bans licenses sources"))
}

/// Real jobs on two real clusters. What an earlier run left of the stage is removed first and afterwards.
fn clusters(steps: &mut Steps) {
    steps.step("programs", build::programs);
    steps.step("helm chart", chart);
    steps.step("a clean stage", strike);
    steps.tests("jobs on two clusters", || Ok(e2e("path")));
    steps.tests("console in a browser", browser);
    steps.tests("refusals", || Ok(e2e("refusals")));
    steps.tests("Ray's own client", || Ok(e2e("ray_client")));
    steps.tests("arrivals by kubectl", || Ok(e2e("arrival")));
    steps.tests("preemption", || Ok(e2e("preempt")));
    steps.step("clean up", || {
        strike()?;
        testbed::down(&Spec::tests().clusters)
    });
}

/// The long tests: networks are cut and programs killed under running jobs.
pub fn chaos() -> Result<()> {
    let mut steps = Steps::default();
    steps.step("what the machine must have", setup::run);
    steps.step("console", build::web);
    steps.step("programs", build::programs);
    steps.tests("chaos", || Ok(e2e("chaos")));
    steps.tests("lost clusters", || Ok(e2e("lost")));
    steps.finish()
}

/// One at a time: the tests of a file share the stage.
fn e2e(file: &str) -> std::process::Command {
    cargo(&format!("test --locked --package squadron-e2e --test {file} -- --test-threads 1 --nocapture"))
}

/// Chromium on the console of the stage, with a job that the tests before it ran.
fn browser() -> Result<std::process::Command> {
    let stage = Stage::found(Spec::tests());
    let mut vitest = stage.browser_tests()?;
    vitest.env("SQUADRON_JOB", "path-main");
    Ok(vitest)
}

/// The chart with the least that it needs, and its refusal of values that are misspelt or would do harm.
fn chart() -> Result<()> {
    command::run(&mut testbed::testbed(["build", "--only", "helm"]))?;
    // A certificate authority in form only: nothing is verified against it here.
    let ca = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
    let id = "01a228ca-d0e7-73bb-8bb6-4bc045ba8668";
    let settings = format!(
        "controlPlane.address=https://a:1,controlPlane.audience=squadron:a:{id},controlPlane.caBundle={ca},\
         cluster.id={id},enrollment.code=c"
    );
    let helm = |verb: &[&str], more: &str| {
        let mut helm = command::new(testbed::bin()?.join("helm"));
        helm.args(verb).args(["deploy/helm/squadron-agent", "--kube-version", "1.34.4"]);
        command::capture(helm.args(["--set", &settings, "--set", more]))
    };
    helm(&["lint", "--strict"], "operate=true")?.ok()?;
    helm(&["template", "squadron-agent"], "operate=false")?.ok()?;
    let refused =
        ["operat=true", "namespaces={kube-system}", "spool.size=64Mi", "controller.heartbeatSeconds=60"];
    for wrong in refused {
        if helm(&["template", "squadron-agent"], wrong)?.code == Some(0) {
            bail!("the chart takes {wrong}");
        }
    }
    Ok(())
}

fn strike() -> Result<()> {
    Stage::found(Spec::tests()).strike()
}
