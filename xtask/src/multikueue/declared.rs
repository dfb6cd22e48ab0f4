//! What is declared to the Kueues: a flavor, the workers, and queues that lead to all of them or to one.
//!
//! Invariant: manager and workers have LocalQueues of the same names, as MultiKueue wants it.

use std::path::PathBuf;

const FLAVOR: &str = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: default}\n";
const WORKER: &str = include_str!("worker.yaml");
const QUEUE: &str = include_str!("queue.yaml");

/// The queue whose jobs any worker may take.
pub const SHARED: &str = "jobs";

/// The queue whose jobs one worker alone may take.
pub fn queue_of(worker: &str) -> String {
    format!("only-{worker}")
}

/// For a worker's Kueue.
pub fn for_worker(workers: &[String]) -> String {
    let queues = workers.iter().map(|worker| queue_of(worker)).chain([SHARED.to_owned()]);
    let queues = queues.map(|queue| {
        format!(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {{name: {queue}, namespace: default}}\n\
             spec: {{clusterQueue: all}}\n"
        )
    });
    [FLAVOR.to_owned(), WORKER.to_owned()].into_iter().chain(queues).collect::<Vec<_>>().join("---\n")
}

/// For the manager's, which reaches each worker by a kubeconfig.
pub fn for_manager(workers: &[(String, PathBuf)]) -> String {
    let mut parts = vec![FLAVOR.to_owned()];
    for (worker, kubeconfig) in workers {
        parts.push(format!(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: MultiKueueCluster\nmetadata: {{name: {worker}}}\n\
             spec: {{clusterSource: {{kubeConfig: {{locationType: Path, location: {}}}}}}}\n",
            kubeconfig.display()
        ));
        let queue = queue_of(worker);
        parts.push(leading_to(&queue, &queue, worker));
    }
    let all: Vec<&str> = workers.iter().map(|(worker, _)| worker.as_str()).collect();
    parts.push(leading_to("all", SHARED, &all.join(", ")));
    parts.join("---\n")
}

fn leading_to(name: &str, queue: &str, clusters: &str) -> String {
    QUEUE.replace("NAME", name).replace("QUEUE", queue).replace("CLUSTERS", clusters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_has_a_queue_for_all_workers_and_one_for_each_and_they_have_the_same() {
        let workers = ["a".to_owned(), "b".to_owned()];
        let manager =
            for_manager(&workers.clone().map(|worker| (worker.clone(), format!("/{worker}.config").into())));
        assert!(manager.contains("metadata: {name: all}\nspec: {clusters: [a, b]}"), "{manager}");
        assert!(manager.contains("metadata: {name: only-b}\nspec: {clusters: [b]}"), "{manager}");
        assert!(manager.contains("location: /a.config"), "{manager}");
        let queues = |text: &str| -> std::collections::BTreeSet<String> {
            let parts = text.split("---\n").filter(|part| part.contains("kind: LocalQueue"));
            parts
                .filter_map(|part| part.lines().find(|line| line.starts_with("metadata")).map(str::to_owned))
                .collect()
        };
        assert_eq!(queues(&manager), queues(&for_worker(&workers)));
        assert_eq!(queues(&manager).len(), 3);
    }
}
