import { useDeferredValue, useMemo, useState } from "react";
import { useSearchParams } from "react-router";
import { logFileUrl } from "../api/logs";
import type { JobDetail } from "../api/types";
import { announce } from "../ui/announce";
import { Button } from "../ui/Button";
import { Empty } from "../ui/Feedback";
import { Icon } from "../ui/Icon";
import { Card } from "../ui/Layout";
import { isTerminal } from "../ui/state";
import { When } from "../ui/Time";
import { level, matches } from "./logBuffer";
import { LogBody } from "./LogBody";
import { LogNotice } from "./LogNotice";
import { useLog } from "./useLog";

/** The driver's log of one attempt, live while it runs and kept after its pods are gone. */
export function Logs({ detail }: { detail: JobDetail }) {
  const [params, setParams] = useSearchParams();
  const newest = detail.attempts.at(-1)?.number;
  const asked = Number(params.get("attempt"));
  const number = detail.attempts.some((attempt) => attempt.number === asked) ? asked : newest;
  if (number === undefined) {
    return <Empty icon="clock" title="No log yet"><p>The log begins when the job runs on a cluster. {detail.job.sentence}</p></Empty>;
  }
  const choose = (next: number) => setParams((old) => {
    old.set("attempt", String(next));
    old.delete("line");
    return old;
  });
  return <LogView key={number} detail={detail} attempt={number} choose={choose} />;
}

function LogView({ detail, attempt, choose }: { detail: JobDetail; attempt: number; choose: (attempt: number) => void }) {
  const [params, setParams] = useSearchParams();
  const marked = Number(params.get("line")) || 0;
  const [follow, setFollow] = useState(marked === 0);
  const [wrap, setWrap] = useState(true);
  const [search, setSearch] = useState(params.get("find") ?? "");
  const [hit, setHit] = useState(-1);
  const [jump, setJump] = useState(marked);
  const { attempts, job } = detail;
  const ended = isTerminal(job.state) || Boolean(attempts.find((one) => one.number === attempt)?.ended_at);
  const { lines, dropped, status } = useLog(job.id, attempt, ended);
  const needle = useDeferredValue(search);
  const found = useMemo(() => matches(lines, needle), [lines, needle]);
  const place = Math.min(hit, found.length - 1);
  const current = found[place] ?? 0;

  const go = (line: number) => {
    setFollow(false);
    setJump(line);
  };
  const step = (by: number) => {
    // The drawing may lag behind the typing; the step goes by what was typed.
    const hits = search === needle ? found : matches(lines, search);
    if (hits.length === 0) return;
    const next = (Math.max(Math.min(hit, hits.length - 1), by > 0 ? -1 : 0) + by + hits.length) % hits.length;
    setHit(next);
    go(hits[next] ?? 0);
  };
  const firstError = () => {
    const error = lines.find((line) => level(line.text) === "error");
    if (error) go(error.number);
    else announce("No line looks like an error");
  };
  const mark = (line: number) => {
    setFollow(false);
    setParams((old) => {
      old.set("line", String(line));
      old.set("attempt", String(attempt));
      return old;
    }, { replace: true });
  };
  return (
    <Card className="log-card" title={<>Driver log <LogNotice status={status} lines={lines.length} ended={ended} /></>} actions={
      <div className="log-tools" role="toolbar" aria-label="Log">
        {attempts.length > 1 && (
          <select aria-label="Attempt" value={attempt} onChange={(event) => choose(Number(event.target.value))}>
            {attempts.map(({ number }) => <option key={number} value={number}>Attempt {number}</option>)}
          </select>
        )}
        <form className="log-search" role="search" onSubmit={(event) => {
          event.preventDefault();
          step(1);
        }}>
          <Icon name="search" size={14} />
          <input type="search" data-search aria-label="Find in the log" placeholder="Find" value={search} onChange={(event) => {
            setSearch(event.target.value);
            setHit(-1);
          }} />
          {needle && <span className="log-found" aria-live="polite">{found.length === 0 ? "none" : place < 0 ? `${found.length} lines` : `${place + 1}/${found.length}`}</span>}
        </form>
        {found.length > 0 && <><Button look="quiet" aria-label="Previous match" onClick={() => step(-1)}>↑</Button><Button look="quiet" aria-label="Next match" onClick={() => step(1)}>↓</Button></>}
        <Button icon="incidents" onClick={firstError}>First error</Button>
        <Button aria-pressed={wrap} onClick={() => setWrap(!wrap)}>Wrap</Button>
        <Button icon={follow ? "pause" : "play"} onClick={() => setFollow(!follow)}>{follow ? "Pause" : "Follow"}</Button>
        <a className="button button-plain" href={logFileUrl(job.id, attempt)} download={`${job.name}-${attempt}.log`}><Icon name="download" />Download</a>
      </div>
    }>
      {job.state === "cancelled" && attempt === job.attempt && (
        <p className="log-end" role="note">{job.sentence}, ended <When at={job.ended_at} />. Errors in the last lines may come from being stopped.</p>
      )}
      <LogBody lines={lines} dropped={dropped} follow={follow} onLeave={() => setFollow(false)} wrap={wrap} needle={needle} current={current} jump={jump} marked={marked} onMark={mark} status={status} />
    </Card>
  );
}
