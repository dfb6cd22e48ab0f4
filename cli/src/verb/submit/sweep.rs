//! Sweep: many RayJobs of one file, handed over in as few requests as the server takes.
//!
//! Invariant: nothing is sent before all of them were checked here, and every request is stored as a whole or not at all. Fails
//! between two requests: what was submitted before is told, and a repeat with the same key goes on behind it.

use squadron_api::job::{MOST_SUBMISSIONS, SubmitManyReply, SubmitManyRequest, SubmitRequest, Submitted};

use super::{DryRun, SubmitArgs, checked, key, queue, request};
use crate::{
    app::App,
    client::Client,
    exit::Exit,
    failure::Failure,
    manifest::Manifest,
    render::{count, list::item, plain},
};

/// Bytes of the jobs of one request, at most; the server takes somewhat more.
const MOST_BYTES: usize = 7 << 20;

pub async fn run(args: &SubmitArgs, app: &App, manifests: &[Manifest]) -> Result<Exit, Failure> {
    if args.wait || args.logs {
        let what = format!("{} holds {} jobs, and only one can be waited for", args.file, manifests.len());
        return Err(Failure::usage(what).next("leave --wait and --logs out, then use squadron wait JOB"));
    }
    let queues = manifests.iter().map(|manifest| queue(args.queue.as_ref(), manifest));
    let queues = queues.collect::<Result<Vec<_>, Failure>>()?;
    if args.dry_run == Some(DryRun::Client) {
        let told = manifests.iter().zip(&queues).map(|(manifest, queue)| checked(manifest, queue));
        app.out.data(&told.collect::<String>())?;
        return Ok(Exit::Ok);
    }
    let of_one = |(manifest, queue): (&Manifest, &String)| SubmitRequest {
        dry_run: false,
        ..request(args, manifest, queue)
    };
    let requests = lots(manifests.iter().zip(&queues).map(of_one));
    let jobs = send(args, app, &app.client()?, requests).await?;
    for job in &jobs {
        for warning in &job.warnings {
            app.out.note(&format!("warning: {}: {}", plain(&job.name), plain(warning)));
        }
    }
    let reply = SubmitManyReply { jobs };
    app.out.data(&item(&reply, args.output, || lines(&reply.jobs)))?;
    Ok(Exit::Ok)
}

async fn send(
    args: &SubmitArgs,
    app: &App,
    client: &Client,
    lots: Vec<Vec<SubmitRequest>>,
) -> Result<Vec<Submitted>, Failure> {
    let (key, several, mut done) = (key(args), lots.len() > 1, Vec::new());
    for (number, jobs) in lots.into_iter().enumerate() {
        let key = if several { format!("{key}.{number}") } else { key.clone() };
        let request = SubmitManyRequest { jobs, dry_run: args.dry_run == Some(DryRun::Server) };
        match client.submit_many(&request, &key).await {
            Ok(reply) => done.extend(reply.jobs),
            Err(error) => {
                if !done.is_empty() {
                    app.out
                        .note(&format!("{} went through before this, and stays", count(done.len(), "job")));
                }
                return Err(error.into());
            }
        }
    }
    Ok(done)
}

/// The jobs of each request.
fn lots(jobs: impl Iterator<Item = SubmitRequest>) -> Vec<Vec<SubmitRequest>> {
    let (mut lots, mut bytes) = (vec![Vec::new()], 0);
    for job in jobs {
        let length = serde_json::to_string(&job).map_or(0, |text| text.len());
        let full =
            lots.last().is_some_and(|lot| lot.len() >= MOST_SUBMISSIONS || bytes + length > MOST_BYTES);
        if full && bytes > 0 {
            (lots, bytes) = (with_another(lots), 0);
        }
        bytes += length;
        if let Some(lot) = lots.last_mut() {
            lot.push(job);
        }
    }
    lots
}

fn with_another(mut lots: Vec<Vec<SubmitRequest>>) -> Vec<Vec<SubmitRequest>> {
    lots.push(Vec::new());
    lots
}

fn lines(jobs: &[Submitted]) -> String {
    let line = |job: &Submitted| {
        let (name, queue) = (plain(&job.name), plain(&job.queue));
        match job.id {
            Some(id) if job.repeated => format!("{name} was submitted before as {id}\n"),
            Some(id) => format!("submitted {name} as {id} to {queue}\n"),
            None => format!("the server would accept {name} in {queue}\n"),
        }
    };
    jobs.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use squadron_core::preference::Texts;

    use super::*;

    #[test]
    fn a_request_holds_what_the_server_takes() {
        let job = |bytes: usize| SubmitRequest {
            manifest: "x".repeat(bytes),
            queue: "q".to_owned(),
            cluster: None,
            priority_class: None,
            on_lost: None,
            preferences: Texts::default(),
            dry_run: false,
        };
        let sizes = |count: usize, bytes: usize| -> Vec<usize> {
            lots((0..count).map(|_| job(bytes))).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(1_100, 10), [500, 500, 100]);
        assert_eq!(sizes(70, 256 << 10), [27, 27, 16]);
    }
}
