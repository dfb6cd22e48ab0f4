//! Properties over random jobs and disturbances.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Shock {
    KillHead,
    ForgetJobs,
    DashboardDown(bool),
    DeleteSubmitter,
    Suspend(bool),
    Tick,
}

fn shocks() -> impl Strategy<Value = Vec<Shock>> {
    let one = prop_oneof![
        Just(Shock::KillHead),
        Just(Shock::ForgetJobs),
        any::<bool>().prop_map(Shock::DashboardDown),
        Just(Shock::DeleteSubmitter),
        any::<bool>().prop_map(Shock::Suspend),
        Just(Shock::Tick),
        Just(Shock::Tick),
    ];
    prop::collection::vec(one, 0..14)
}

fn strike(world: &mut World, shock: &Shock) {
    match shock {
        Shock::KillHead => {
            let head = world.pods("headgroup").first().map(|pod| object::name(pod).to_owned());
            head.into_iter().for_each(|name| world.delete("Pod", &name));
        }
        Shock::ForgetJobs => world.ray.clear(),
        Shock::DashboardDown(down) => world.dashboard_up = !down,
        Shock::DeleteSubmitter => world.delete("Job", "j"),
        Shock::Suspend(on) => world.get_mut("RayJob", "j")["spec"]["suspend"] = json!(on),
        Shock::Tick => world.tick(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_job_ends_and_its_end_stays(http in any::<bool>(), retries in 0..2_i32, shocks in shocks()) {
        let mode = if http { "HTTPMode" } else { "K8sJobMode" };
        let mut world = world(&json!({"submissionMode": mode, "backoffLimit": retries, "shutdownAfterJobFinishes": true}));
        let mut end: Option<String> = None;
        for shock in &shocks {
            strike(&mut world, shock);
            world.pass();
            prop_assert!(world.of_kind("RayCluster").len() <= 1, "two clusters for one job");
            let now = deployment(&world);
            if let Some(end) = &end {
                prop_assert_eq!(end, &now, "a terminal job moved");
            }
            if matches!(now.as_str(), "Complete" | "Failed") {
                end = Some(now);
            }
        }
        world.dashboard_up = true;
        world.get_mut("RayJob", "j")["spec"]["suspend"] = json!(false);
        for _ in 0..400 {
            world.settle();
            if matches!(deployment(&world).as_str(), "Complete" | "Failed") {
                break;
            }
            world.tick();
        }
        prop_assert!(matches!(deployment(&world).as_str(), "Complete" | "Failed"), "{}", deployment(&world));
        prop_assert!(!cluster_exists(&world));
        prop_assert!(world.plan_job("j").is_idle());
    }
}
