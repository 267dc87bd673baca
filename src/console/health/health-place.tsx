import "../styles/health.css";
import "../styles/overview.css";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { isObject, parseJson } from "../../protocol/json.ts";
import { useConsole } from "../app/context.ts";
import { readInspectedProcess } from "../data/inspect.ts";
import type { InspectedProcess } from "../data/inspect.ts";
import { readText } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { Figure } from "../parts/figure.tsx";
import { useInterval } from "../parts/hooks/interval.ts";
import { LineChart } from "../parts/line-chart.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import { State } from "../parts/state.tsx";
import { duration, exactTime, timeAgo } from "../parts/time.ts";
import { DeadLetters } from "./dead-letters.tsx";
import { FAILED_TURNS, TURNS, keepSample, meanOf, parseMetrics, rateOf, valueOf } from "./metrics.ts";
import type { MetricValues, Sample } from "./metrics.ts";
import { ScheduleList } from "./schedules.tsx";

/** The answer of `GET /healthz`. */
interface Health {
  readonly durability: string;
  readonly log: { readonly writable: boolean; readonly reason?: string };
  readonly active_runs: number;
  readonly active_turns: number;
}

/** A part of the answer of `GET /readyz`. */
interface ServerPart {
  readonly name: string;
  readonly state: string;
  readonly detail?: string;
}

interface Reading {
  readonly process: InspectedProcess;
  readonly health: Health;
  readonly parts: readonly ServerPart[];
  readonly metrics: MetricValues;
  /** What was read in the last hour, with what was read at earlier visits of this place. */
  readonly samples: readonly Sample[];
}

/** Kept while the page is open, so that a person who comes back sees more than the last moment. */
const kept = new Map<string, readonly Sample[]>();

/** The state of the server, read again every two seconds. */
export function HealthPlace(): VNode {
  const { server } = useConsole();
  const { value, error, reload } = useResource(server.url, async (signal): Promise<Reading> => {
    const [process, { json }, ready, text] = await Promise.all([
      readInspectedProcess(server, signal),
      server.ask("GET", "/healthz", { signal }),
      // A server that is not ready says why with the status 503.
      readText(server, "/readyz", signal).catch(() => "{}"),
      readText(server, "/metrics", signal),
    ]);
    const metrics = parseMetrics(text);
    const name = `${server.url} ${process.instance}`;
    const samples = keepSample(kept.get(name) ?? [], { metrics, at: Date.now() });
    kept.clear();
    kept.set(name, samples);
    return { process, health: json as Health, parts: toParts(ready), metrics, samples };
  });
  useInterval(reload, AGAIN_MS);
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>Health</h1>
        {value?.health.log.writable === true && <State name="done" word="accepts requests" />}
        {value?.health.log.writable === false && <State name="failed" word="the log cannot be written" />}
        {value !== undefined && (
          <span class="second number" title={exactTime(value.process.started_at)}>
            version {value.process.version ?? "unknown"}, started {timeAgo(value.process.started_at)}
          </span>
        )}
      </div>
      {error !== undefined && value === undefined && <RefusalNote error={error} />}
      {value?.health.log.reason !== undefined && <p class="note failed">{value.health.log.reason}</p>}
      {value !== undefined && (
        <>
          <Figures {...value} />
          <Charts samples={value.samples} />
          <Parts parts={value.parts} />
        </>
      )}
      <ScheduleList />
      <DeadLetters />
    </div>
  );
}

const AGAIN_MS = 2_000;

function Figures({ health, metrics }: Reading): VNode {
  // A runtime without telemetry counts nothing.
  const total = (name: string): string => metrics.get(name)?.toLocaleString() ?? "not counted";
  const commits = metrics.get("troupe_commit_seconds_count");
  const meanMs = ((metrics.get("troupe_commit_seconds_sum") ?? 0) / (commits ?? 1)) * 1_000;
  const faults = metrics.get("troupe_faults_total") ?? 0;
  const heldTurns = metrics.get("troupe_turns_held") ?? 0;
  const figures: readonly (readonly [name: string, text: string, tone?: string, note?: string])[] = [
    ["Running turns", String(health.active_turns), health.active_turns > 0 ? "running" : ""],
    ["Runs in memory", health.active_runs.toLocaleString()],
    ["Requests in mailboxes", total("troupe_requests_queued")],
    ["Open streams", total("troupe_streams")],
    ["Events", total("troupe_events_total"), "", "since it was started"],
    [
      "A commit takes",
      commits === undefined ? "not counted" : commits === 0 ? "–" : duration(meanMs),
      "",
      "in the mean",
    ],
    ["Held turns", String(heldTurns), heldTurns > 0 ? "waiting" : ""],
    ["Faults", faults.toLocaleString(), faults > 0 ? "failed" : "", "each is a line of its log"],
  ];
  return (
    <>
      <dl class="figures health-figures">
        {figures.map(([name, text, tone = "", note]) => (
          <Figure key={name} name={name} tone={tone} note={note}>
            {text}
          </Figure>
        ))}
      </dl>
      <p class="second">Durability {DURABILITIES[health.durability] ?? health.durability}.</p>
    </>
  );
}

const DURABILITIES: Readonly<Record<string, string>> = {
  full: "full: an acknowledged event survives a power failure",
  relaxed: "relaxed: a power failure may lose the newest events",
  memory: "memory: nothing survives the process",
};

function Charts({ samples }: { readonly samples: readonly Sample[] }): VNode {
  const charts = useMemo(
    () => ({
      turns: rateOf(samples, TURNS),
      failed: rateOf(samples, FAILED_TURNS),
      events: rateOf(samples, "troupe_events_total"),
      commit: meanOf(samples, "troupe_commit_seconds"),
      queued: valueOf(samples, "troupe_requests_queued"),
      memory: valueOf(samples, "process_resident_memory_bytes"),
      loop: valueOf(samples, "nodejs_eventloop_lag_p99_seconds"),
    }),
    [samples],
  );
  return (
    <section class="charts" aria-label="Charts">
      <LineChart
        title="Turns that ended, a second"
        points={charts.turns}
        failed={charts.failed}
        toText={toRate}
      />
      <LineChart title="Events, a second" points={charts.events} toText={toRate} />
      <LineChart title="Time of a commit" points={charts.commit} toText={toTime} />
      <LineChart
        title="Requests in mailboxes"
        points={charts.queued}
        toText={(count) => count.toLocaleString()}
      />
      <LineChart title="Memory" points={charts.memory} toText={toMegabytes} />
      <LineChart title="Delay of the event loop, p99" points={charts.loop} toText={toTime} />
      <p class="second note-line">
        What this page has read in the last hour, every two seconds while Health is open. For longer times,
        let Prometheus read /metrics.
      </p>
    </section>
  );
}

function toRate(value: number): string {
  return value === 0 || value >= 10 ? Math.round(value).toLocaleString() : value.toFixed(1);
}

function toTime(seconds: number): string {
  if (seconds === 0 || seconds >= 0.01) return duration(seconds * 1_000);
  return seconds < 0.000_1 ? `${Math.ceil(seconds * 1_000_000)} µs` : `${(seconds * 1_000).toFixed(1)} ms`;
}

function toMegabytes(bytes: number): string {
  return `${Math.round(bytes / 1_000_000).toLocaleString()} MB`;
}

/** The parts that decide whether the server gets requests. */
function Parts({ parts }: { readonly parts: readonly ServerPart[] }): VNode {
  if (parts.length === 0) return <></>;
  return (
    <section class="server-parts" aria-label="Parts">
      <h2>Parts</h2>
      <ul class="list">
        {parts.map(({ name, state, detail }) => (
          <li key={name} class="server-part">
            <State name={STATES[state] ?? "failed"} word={state} />
            <span class="one-line">{name}</span>
            <span class="second why" dir="auto">
              {detail}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const STATES: Readonly<Record<string, "done" | "waiting" | "queued" | "failed">> = {
  ready: "done",
  degraded: "waiting",
  starting: "queued",
  failed: "failed",
};

function toParts(text: string): readonly ServerPart[] {
  const answer = parseJson(text);
  const parts = isObject(answer) ? answer["parts"] : undefined;
  return Array.isArray(parts) ? (parts as readonly ServerPart[]) : [];
}
