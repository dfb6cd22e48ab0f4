//! Properties over random clusters and disturbances.

use proptest::prelude::*;

use super::*;
use crate::object;

#[derive(Clone, Debug)]
enum Shock {
    Fail(usize),
    Delete(usize),
    Replicas(i32),
    Quota(bool),
    Tick,
}

fn shocks() -> impl Strategy<Value = Vec<Shock>> {
    let one = prop_oneof![
        (0..6_usize).prop_map(Shock::Fail),
        (0..6_usize).prop_map(Shock::Delete),
        (0..5_i32).prop_map(Shock::Replicas),
        any::<bool>().prop_map(Shock::Quota),
        Just(Shock::Tick),
    ];
    prop::collection::vec(one, 0..12)
}

fn strike(world: &mut World, shock: &Shock) {
    let pod = |world: &World, index: usize| {
        let pods = world.of_kind("Pod");
        (!pods.is_empty()).then(|| object::name(pods[index % pods.len()]).to_owned())
    };
    match shock {
        Shock::Fail(index) => {
            if let Some(name) = pod(world, *index) {
                world.get_mut("Pod", &name)["status"] = json!({"phase": "Failed"});
            }
        }
        Shock::Delete(index) => {
            if let Some(name) = pod(world, *index) {
                world.delete("Pod", &name);
            }
        }
        Shock::Replicas(number) => {
            world.get_mut("RayCluster", "c")["spec"]["workerGroupSpecs"][0]["replicas"] = json!(number);
        }
        Shock::Quota(full) => world.refused = full.then_some(("g", "exceeded quota")),
        Shock::Tick => world.tick(),
    }
}

fn wanted(world: &World) -> usize {
    let group = &world.get("RayCluster", "c")["spec"]["workerGroupSpecs"][0];
    let number = |field: &str| group[field].as_i64().unwrap();
    usize::try_from(number("replicas").max(number("minReplicas")).min(number("maxReplicas"))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_cluster_becomes_whole_and_never_has_too_much(
        replicas in 0..5_i32, least in 0..3_i32, extra in 0..3_i32, shocks in shocks(),
    ) {
        let mut world = world(ray_cluster(replicas, least, least + extra));
        for shock in &shocks {
            strike(&mut world, shock);
            let before = world.pods("g").len();
            world.pass();
            let heads = world.of_kind("Pod").into_iter().filter(|pod| object::label(pod, "ray.io/node-type") == "head").count();
            prop_assert!(heads <= 1, "{heads} head pods exist");
            prop_assert!(world.pods("g").len() <= before.max(wanted(&world)), "more workers than wanted");
        }
        world.refused = None;
        for _ in 0..70 {
            world.settle();
            world.tick();
        }
        world.settle();
        prop_assert_eq!(world.pods("g").len(), wanted(&world));
        prop_assert_eq!(world.pods("headgroup").len(), 1);
        prop_assert_eq!(state(&world), "ready");
        prop_assert!(world.plan_cluster("c").is_idle());
    }

    #[test]
    fn scale_down_deletes_exactly_the_surplus(from in 1..6_i32, to in 0..6_i32) {
        let mut world = ready(from, 0, 6);
        world.get_mut("RayCluster", "c")["spec"]["workerGroupSpecs"][0]["replicas"] = json!(to);
        world.settle();
        let deleting = world.of_kind("Pod").into_iter().filter(|pod| object::is_deleting(pod)).count();
        prop_assert_eq!(deleting, usize::try_from((from - to).max(0)).unwrap());
    }

    #[test]
    fn same_view_same_plan(replicas in 0..5_i32) {
        let world = world(ray_cluster(replicas, 0, 5));
        prop_assert_eq!(world.plan_cluster("c"), world.plan_cluster("c"));
    }
}
