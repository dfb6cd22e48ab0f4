//! Acceptance: KubeRay's own end-to-end functions, unchanged, against our agent or against KubeRay's operator.
//!
//! The second tells a failure of the rig from a failure of ours. Fails if any case did not pass.

mod gotest;
mod module;
pub mod operator;

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use squadron_e2e::{command, stage::Spec, testbed};

use self::gotest::{End, Outcomes};
pub use self::operator::Operator;

/// The Ray image of the testbed.
const RAY_IMAGE: &str = "rayproject/ray:2.60.0";
const RAY_VERSION: &str = "2.60.0";

#[derive(Args)]
pub struct Acceptance {
    /// A folder under KubeRay's test/, for example e2erayjob.
    #[arg(long)]
    suite: String,
    /// A regular expression for `-test.run`; cases follow after a slash.
    #[arg(long, default_value = ".")]
    pattern: String,
    #[arg(long, value_enum, default_value = "squadron")]
    operator: Operator,
}

impl Acceptance {
    pub fn run(&self) -> Result<()> {
        let spec = Spec::acceptance();
        let cluster = spec.clusters[0].clone();
        let program = module::suite(&self.suite)?;
        operator::prepare(self.operator, spec)?;
        self.operator.take_over(&cluster)?;
        let mut outcomes = Outcomes::default();
        let ended = self.watch(&program, &cluster, &mut outcomes);
        outcomes.print();
        let passed = outcomes.count(End::Passed);
        let not_passed = outcomes.count(End::Failed) + outcomes.count(End::Unfinished);
        println!("\n{passed} passed, {not_passed} failed, {} skipped", outcomes.count(End::Skipped));
        ended?;
        if passed == 0 || not_passed > 0 {
            bail!("{not_passed} cases did not pass and {passed} did, with pattern {:?}", self.pattern);
        }
        Ok(())
    }

    fn watch(&self, program: &Path, cluster: &str, outcomes: &mut Outcomes) -> Result<()> {
        let output = testbed::bin()?.join("kuberay").join("output");
        std::fs::create_dir_all(&output)?;
        let mut test = command::new(program);
        test.current_dir(module::suite_folder(&module::folder()?, &self.suite))
            .args(["-test.v", "-test.parallel", "1", "-test.timeout", "90m", "-test.run", &self.pattern])
            .env("KUBECONFIG", testbed::kubeconfig(cluster)?)
            .env("KUBERAY_TEST_RAY_IMAGE", RAY_IMAGE)
            .env("KUBERAY_TEST_RAY_VERSION", RAY_VERSION)
            .env("KUBERAY_TEST_OUTPUT_DIR", output)
            .env("KUBERAY_TEST_TIMEOUT_SHORT", "1m")
            .env("KUBERAY_TEST_TIMEOUT_MEDIUM", "4m")
            .env("KUBERAY_TEST_TIMEOUT_LONG", "8m");
        command::watched(&mut test, |line| outcomes.see(line))
    }
}
