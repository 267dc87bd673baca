import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import type { Telemetry } from "../../ports/telemetry.ts";
import { createFaultLimit } from "./fault-limit.ts";

/** What there is to see of a runtime and its server, as Prometheus text. Give it to both. */
export interface Metrics extends Telemetry {
  readonly contentType: string;

  /** All metrics as text. */
  text(): Promise<string>;

  /** Shows a number that is asked for whenever somebody looks; a second one of that name replaces the first. */
  watch(name: string, help: string, number: () => number): void;
}

/** What `createMetrics` takes. */
export interface MetricsOptions {
  /** Hears of faults, of each kind at most once a second; default nobody. */
  readonly log?: (message: string, detail?: unknown) => void;
}

/** Counts what a runtime does. */
export function createMetrics({ log = () => {} }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const accepted = new Counter({
    name: "troupe_requests_accepted_total",
    help: "Requests that were accepted.",
    labelNames: ["agent"],
    registers,
  });
  const turns = new Histogram({
    name: "troupe_turn_seconds",
    help: "Time from the acceptance of a request to the end of its turn, waits included.",
    labelNames: ["agent", "reason"],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600, 3_600],
    registers,
  });
  // Commits are frequent: plain counters take 3 ns each, a histogram would take 250.
  const commits = new Counter({
    name: "troupe_commits_total",
    help: "Batches that were committed.",
    registers,
  });
  const events = new Counter({ name: "troupe_events_total", help: "Events that were committed.", registers });
  const commitSeconds = new Counter({
    name: "troupe_commit_seconds_total",
    help: "Time that batches took to be committed.",
    registers,
  });
  let longestCommitMs = 0;
  watch("troupe_commit_seconds_max", "The longest that a batch took since somebody looked.", () => {
    const seconds = longestCommitMs / 1_000;
    longestCommitMs = 0;
    return seconds;
  });
  const dropped = new Counter({
    name: "troupe_dropped_total",
    help: "What came too late and was dropped.",
    labelNames: ["what"],
    registers,
  });
  const faults = new Counter({
    name: "troupe_faults_total",
    help: "Faults that no caller heard of; one of a kind is counted at most once a second.",
    registers,
  });
  const isTold = createFaultLimit();
  let watchesProcess = false;

  return {
    contentType: registry.contentType,
    text: async () => {
      // The process is watched from the first look on, so that nobody pays who never looks.
      if (!watchesProcess) collectDefaultMetrics({ register: registry });
      watchesProcess = true;
      return registry.metrics();
    },
    watch,
    accepted: (agent) => {
      accepted.inc({ agent });
    },
    completed: (agent, reason, ms) => {
      turns.observe({ agent, reason }, ms / 1_000);
    },
    committed: (count, ms) => {
      commits.inc();
      events.inc(count);
      commitSeconds.inc(ms / 1_000);
      if (ms > longestCommitMs) longestCommitMs = ms;
    },
    dropped: (what) => {
      dropped.inc({ what });
    },
    fault: (message, detail) => {
      if (!isTold(message, detail)) return;
      faults.inc();
      log(message, detail);
    },
  };

  function watch(name: string, help: string, number: () => number): void {
    registry.removeSingleMetric(name);
    const gauge: Gauge = new Gauge({ name, help, registers: [], collect: () => gauge.set(number()) });
    registry.registerMetric(gauge);
  }
}
