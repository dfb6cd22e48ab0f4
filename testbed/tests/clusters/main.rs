//! A local cluster through its whole life, on this machine, with real processes.
//!
//! Needs root. Uses the testbed's home folder, so binaries and images are shared with other clusters, and a cluster
//! name of its own.
#![allow(clippy::unwrap_used)]

mod machine;
mod testbed;

use std::time::Duration;

use testbed::{Testbed, until};

const NAME: &str = "process-test";

#[test]
fn a_cluster_lives_is_cut_dies_rises_and_leaves_nothing() {
    let testbed = Testbed::new(NAME);
    testbed.run(&["down", NAME, "--purge"]);
    testbed.must(&["up", "--clusters", NAME, "--node-cpus", "5"]);
    the_cluster_is_real(&testbed);
    the_cut_is_silent_and_heals(&testbed);
    a_killed_component_comes_back(&testbed);
    everything_killed_comes_back_on_its_data(&testbed);
    killed_containers_and_a_recycled_pid_do_not_disturb(&testbed);
    going_up_again_changes_nothing(&testbed);
    nothing_is_left_after_all_was_killed(&testbed);
}

fn the_cluster_is_real(testbed: &Testbed) {
    testbed.apply(POD);
    testbed.kubectl(&["wait", "--for=condition=Ready", "pod/probe", "--timeout=90s"]);
    assert_eq!(testbed.kubectl(&["get", "nodes", "-o", "jsonpath={.items[0].status.capacity.cpu}"]), "5");
    let lookup = "import socket; print(socket.gethostbyname('control-plane.squadron.internal'))";
    let host = testbed.in_pod(lookup).unwrap();
    assert!(host.starts_with("10.201.") && host.trim().ends_with(".1"), "{host}");
    let service = "import socket; socket.create_connection(('kubernetes.default.svc', 443), 5); print('yes')";
    assert_eq!(testbed.in_pod(service).unwrap().trim(), "yes");
    let outside = "import socket; socket.gethostbyname('example.org')";
    assert!(testbed.in_pod(outside).is_err(), "names outside the cluster must not resolve");
    let dns = ["auth", "can-i", "list", "secrets", "--as=squadron-testbed:coredns", "-A"];
    assert!(testbed.try_kubectl(&dns).is_err(), "CoreDNS may not read secrets");
}

/// Port 7443 is listened on by the test itself; every connection is answered at once.
fn the_cut_is_silent_and_heals(testbed: &Testbed) {
    let port = machine::echo_server();
    let connect = format!(
        "import socket; socket.create_connection(('control-plane.squadron.internal', {port}), 3); print('connected')"
    );
    assert!(testbed.in_pod(&connect).unwrap().contains("connected"), "the positive control");
    assert!(testbed.on_node(&connect).unwrap().contains("connected"), "the positive control");
    testbed.must(&["cut", NAME, "--port", &port.to_string()]);
    assert!(testbed.must(&["status", NAME]).contains("cut off"));
    for answer in [testbed.in_pod(&connect), testbed.on_node(&connect)] {
        let error = answer.unwrap_err();
        assert!(error.contains("timed out"), "dropped without a word, not refused: {error}");
    }
    testbed.kubectl(&["get", "nodes"]);
    testbed.must(&["heal", NAME]);
    testbed.must(&["heal", NAME]);
    assert!(testbed.in_pod(&connect).unwrap().contains("connected"));
}

fn a_killed_component_comes_back(testbed: &Testbed) {
    testbed.must(&["kill", NAME, "kube-scheduler"]);
    assert!(testbed.must(&["status", NAME]).contains("kube-scheduler not running"));
    let (done, words) = testbed.run(&["kill", NAME, "kube-scheduler"]);
    assert!(!done && words.contains("does not run"), "{words}");
    testbed.must(&["up", "--clusters", NAME]);
    assert!(testbed.must(&["status", NAME]).contains(": up"));
}

/// Containers lose their shims here, as when the machine's administrator kills every daemon.
fn everything_killed_comes_back_on_its_data(testbed: &Testbed) {
    let uid = testbed.kubectl(&["get", "pod", "probe", "-o", "jsonpath={.metadata.uid}"]);
    let container = testbed.container();
    machine::kill(&machine::daemons(testbed.folder()));
    testbed.must(&["up", "--clusters", NAME]);
    pod_runs_in_another_container(testbed, &container);
    assert_eq!(testbed.kubectl(&["get", "pod", "probe", "-o", "jsonpath={.metadata.uid}"]), uid);
}

fn killed_containers_and_a_recycled_pid_do_not_disturb(testbed: &Testbed) {
    let container = testbed.container();
    machine::kill(&machine::daemons(testbed.folder()));
    machine::kill(&machine::in_cgroups(&testbed.space()));
    let mut bystander = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let stale = format!("{} 1 {boot}", bystander.id());
    std::fs::write(testbed.folder().join("run/kubelet.pid"), stale).unwrap();
    testbed.must(&["up", "--clusters", NAME]);
    pod_runs_in_another_container(testbed, &container);
    assert!(bystander.try_wait().unwrap().is_none(), "a process with a recycled pid was killed");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

fn pod_runs_in_another_container(testbed: &Testbed, before: &str) {
    until("the pod in a new container", Duration::from_secs(120), || {
        let now = testbed.container();
        now != before && testbed.in_pod("print('alive')").is_ok_and(|text| text.contains("alive"))
    });
}

fn going_up_again_changes_nothing(testbed: &Testbed) {
    let before = (machine::daemons(testbed.folder()), testbed.container());
    testbed.must(&["up", "--clusters", NAME]);
    assert_eq!(before, (machine::daemons(testbed.folder()), testbed.container()));
}

fn nothing_is_left_after_all_was_killed(testbed: &Testbed) {
    let daemons = machine::daemons(testbed.folder());
    assert!(daemons.len() >= 8);
    machine::kill(&daemons);
    testbed.must(&["down", NAME, "--purge"]);
    assert_eq!(machine::remains(testbed.folder(), &testbed.space()), Vec::<String>::new());
    let (known, _) = testbed.run(&["kubeconfig", NAME]);
    assert!(!known, "the name is forgotten");
}

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: probe}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: probe
    image: rayproject/ray:2.60.0
    imagePullPolicy: Never
    command: [sleep, infinity]
    resources: {requests: {cpu: '3'}}
";
