import { Fragment } from "preact";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { readInspectedProcess } from "../data/inspect.ts";
import type { InspectedProcess } from "../data/inspect.ts";
import { readText } from "../data/requests.ts";
import { useConsole } from "../app/context.ts";
import { useResource } from "../data/resource.ts";
import { RefusalNote } from "../parts/refusal.tsx";
import { State } from "../parts/state.tsx";
import { duration, exactTime } from "../parts/time.ts";
import { DeadLetters } from "./dead-letters.tsx";
import { ScheduleList } from "./schedules.tsx";

/** The answer of `GET /healthz`. */
interface Health {
  readonly durability: string;
  readonly log: { readonly writable: boolean; readonly reason?: string };
  readonly active_runs: number;
  readonly active_turns: number;
}

interface Reading {
  readonly process: InspectedProcess;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly at: number;
}

/** The state of the server, read again every two seconds. */
export function HealthPlace(): VNode {
  const { server } = useConsole();
  const { value, error, reload } = useResource(server.url, async (signal): Promise<Reading> => {
    const [process, { json }, metrics] = await Promise.all([
      readInspectedProcess(server, signal),
      server.ask("GET", "/healthz", { signal }),
      readText(server, "/metrics", signal),
    ]);
    return { process, health: json as Health, metrics: parseMetrics(metrics), at: performance.now() };
  });
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [reload]);
  const before = usePrevious(value);
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>Health</h1>
        {value?.health.log.writable === true && <State name="done" word="accepts requests" />}
        {value?.health.log.writable === false && <State name="failed" word="the log cannot be written" />}
      </div>
      {error !== undefined && value === undefined && <RefusalNote error={error} />}
      {value?.health.log.reason !== undefined && <p class="note failed">{value.health.log.reason}</p>}
      {value !== undefined && <Facts now={value} before={before} />}
      <ScheduleList />
      <DeadLetters />
    </div>
  );
}

const AGAIN_MS = 2_000;

function Facts({ now, before }: { readonly now: Reading; readonly before: Reading | undefined }): VNode {
  const { process, health, metrics } = now;
  const rate = (name: string): string => {
    const value = perSecond(name, before, now);
    return value === undefined ? "" : `, ${value < 10 ? value.toFixed(1) : Math.round(value)} a second`;
  };
  // A runtime without telemetry counts nothing.
  const total = (name: string): string => metrics.get(name)?.toLocaleString() ?? "not counted";
  const commits = metrics.get("troupe_commits_total");
  const meanMs = ((metrics.get("troupe_commit_seconds_total") ?? 0) / (commits ?? 1)) * 1_000;
  const commitTime = commits === 0 ? "no commit yet" : duration(meanMs);
  const facts: readonly (readonly [string, string])[] = [
    ["Version", process.version ?? "unknown"],
    ["Started", exactTime(process.started_at)],
    ["Durability", DURABILITIES[health.durability] ?? health.durability],
    ["Running turns", String(health.active_turns)],
    ["Runs in memory", String(health.active_runs)],
    ["Open streams", total("troupe_streams")],
    ["Commits", `${total("troupe_commits_total")}${rate("troupe_commits_total")}`],
    ["Events", `${total("troupe_events_total")}${rate("troupe_events_total")}`],
    ["A commit takes", commits === undefined ? "not counted" : commitTime],
    ["Faults", total("troupe_faults_total")],
  ];
  return (
    <dl class="facts number">
      {facts.map(([name, text]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

const DURABILITIES: Readonly<Record<string, string>> = {
  full: "full: an acknowledged event survives a power failure",
  relaxed: "relaxed: a power failure may lose the newest events",
  memory: "memory: nothing survives the process",
};

/** The reading before the newest one. */
function usePrevious(value: Reading | undefined): Reading | undefined {
  const seen = useRef<{ newest?: Reading | undefined; before?: Reading | undefined }>({});
  if (value !== seen.current.newest) seen.current = { newest: value, before: seen.current.newest };
  return seen.current.before;
}

/** The values of a page of metrics by name; values with labels are added up. */
type Metrics = ReadonlyMap<string, number>;

/** Reads metrics in the text format of Prometheus. */
function parseMetrics(text: string): Metrics {
  const values = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-z_:][\w:]*)(?:\{.*\})? (\S+)$/i.exec(line) ?? [];
    const number = Number(value);
    if (name === undefined || Number.isNaN(number)) continue;
    values.set(name, (values.get(name) ?? 0) + number);
  }
  return values;
}

/** How much a value grew a second between two readings; `undefined` before the second one, and after a restart. */
function perSecond(
  name: string,
  before: { readonly metrics: Metrics; readonly at: number } | undefined,
  now: { readonly metrics: Metrics; readonly at: number },
): number | undefined {
  const [from, to] = [before?.metrics.get(name), now.metrics.get(name)];
  if (before === undefined || from === undefined || to === undefined || to < from) return undefined;
  const seconds = (now.at - before.at) / 1_000;
  return seconds > 0 ? (to - from) / seconds : undefined;
}
