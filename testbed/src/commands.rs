//! Each command of the command line, from its arguments to what it prints.

use std::path::PathBuf;

use crate::args::{BuiltImage, Command, Output};
use crate::error::{Error, Result};
use crate::home::Home;
use crate::images::{self, Archive};
use crate::name::Name;
use crate::provider::{self, Provider};
use crate::register::{Entry, Register};
use crate::{build, fakes, packages, table, upping};

/// Carries the command out.
pub fn run(command: Command) -> Result<()> {
    let home = Home::find()?;
    let of = |name: &Name| provider::of(&home, name);
    match command {
        Command::Up(up) => upping::run(&home, &up),
        Command::Down { names, purge } => down(&home, &names, purge),
        Command::Status { names, output } => status(&home, &names, output),
        Command::Kubeconfig { name } => kubeconfig(&*of(&name)?),
        Command::Logs { name, component, lines, follow } => of(&name)?.logs(component, lines, follow),
        Command::LoadImage { names_and_archive } => load_image(&home, &names_and_archive),
        Command::Cut { name, ports, refuse } => of(&name)?.cut(&ports, refuse),
        Command::Heal { name } => of(&name)?.heal(),
        Command::Kill { name, component } => of(&name)?.kill(component),
        Command::Install => packages::ensure(),
        Command::Build { only, kubernetes_version } => build(&home, only.as_deref(), kubernetes_version),
        Command::BuildImage { image: BuiltImage::Agent, binary } => build_agent(&home, &binary),
        Command::RunIn { name, words } => of(&name)?.run_in(&words),
        Command::FakeGpu { name, count, model } => fake_gpu(&*of(&name)?, count, &model),
        Command::FakeKernelLine { name, text, priority } => fake_kernel_line(&*of(&name)?, priority, &text),
        Command::FakeDevices { name } => fake_devices(&*of(&name)?),
        Command::FakeDcgm { name, port, recording } => fakes::start_dcgm(&*of(&name)?, port, recording),
        Command::FakeDcgmServe(serve) => fakes::serve_dcgm(&serve),
    }
}

fn down(home: &Home, names: &[Name], purge: bool) -> Result<()> {
    for cluster in provider::of_all(home, names)? {
        let progress = crate::progress::Progress::new(cluster.name().as_str());
        let usually = if purge { "10 to 20 s with its images" } else { "1 to 10 s" };
        progress.step("taking it down", usually, || cluster.down(purge))?;
        Register::change(home, |register| {
            let is_local = matches!(register.get(cluster.name())?, Entry::Local { .. });
            if purge || !is_local {
                register.forget(cluster.name());
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn kubeconfig(cluster: &dyn Provider) -> Result<()> {
    println!("{}", cluster.kubeconfig()?.display());
    Ok(())
}

fn status(home: &Home, names: &[Name], output: Output) -> Result<()> {
    let statuses = provider::of_all(home, names)?.iter().map(|c| c.status()).collect::<Result<Vec<_>>>()?;
    match output {
        Output::Table => print!("{}", table::render(&statuses)),
        Output::Json => {
            let text = serde_json::to_string_pretty(&statuses)
                .map_err(|source| Error::Answer { step: "print the status".into(), source })?;
            println!("{text}");
        }
    }
    Ok(())
}

fn load_image(home: &Home, words: &[String]) -> Result<()> {
    let Some((archive, names)) = words.split_last() else { return Ok(()) };
    let made = ["ray", "agent", "pause"].contains(&archive.as_str());
    let path = if made { images::path(home, archive) } else { PathBuf::from(archive) };
    let archive = Archive::open(&path)?;
    let names = names.iter().map(|name| name.parse()).collect::<Result<Vec<Name>>>()?;
    let clusters = provider::of_all(home, &names)?;
    upping::each(&clusters, |cluster| cluster.load_image(&archive))
}

fn build(home: &Home, only: Option<&str>, version: Option<String>) -> Result<()> {
    let version = version.unwrap_or_else(build::default_version);
    packages::ensure()?;
    match only {
        None => {
            build::ensure_cluster_binaries(home, &version)?;
            images::ensure_pause(home)?;
            images::ensure_ray(home).map(|_| ())
        }
        Some("pause") => images::ensure_pause(home).map(|_| ()),
        Some("ray") => images::ensure_ray(home).map(|_| ()),
        Some(name) if build::ensure_named(home, name, &version)? => Ok(()),
        Some(name) => Err(Error::Refused(format!(
            "there is nothing called \"{name}\" to build; choose kubernetes, etcd, coredns, helm, kwok, pause or ray"
        ))),
    }
}

fn build_agent(home: &Home, binary: &std::path::Path) -> Result<()> {
    let archive = images::build_agent(home, binary)?;
    println!("{}", archive.path.display());
    Ok(())
}

fn fake_gpu(cluster: &dyn Provider, count: u32, model: &str) -> Result<()> {
    for node in fakes::set_gpus(&cluster.kubectl()?, count, model)? {
        println!("node {node} claims {count} fake GPUs of model {model}");
    }
    Ok(())
}

fn fake_kernel_line(cluster: &dyn Provider, priority: u8, text: &str) -> Result<()> {
    let path = cluster.node_folder()?.join(fakes::KMSG_FILE);
    print!("{}", fakes::append_kernel_line(&path, priority, text)?);
    Ok(())
}

fn fake_devices(cluster: &dyn Provider) -> Result<()> {
    let path = fakes::write_devices(&cluster.kubectl()?, &cluster.node_folder()?)?;
    println!("{}", path.display());
    Ok(())
}
