import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "../vendor/prom-client.ts";
import { fieldOf } from "../../errors.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { LabeledValue, MetricFamily, MetricSource } from "../../ports/metrics.ts";
import type { FaultFacts, Telemetry } from "../../ports/telemetry.ts";
import { FastHistogram } from "./fast-histogram.ts";
import { RecentMaximum } from "./recent-maximum.ts";

/**
 * Metrics of a runtime and its server, in Prometheus format. Pass it to both, to `createRuntime` as `telemetry`: what a
 * runtime counts is absent without one.
 */
export interface Metrics extends Telemetry, MetricSource {
  readonly contentType: string;

  /** All metrics in Prometheus format. */
  text(): Promise<string>;

  /** Adds a gauge whose value is read on each scrape; a second one with the same name replaces the first. */
  watch(name: string, help: string, number: () => number): void;

  /** Adds a gauge with labels, whose values are read on each scrape. */
  watchEach(
    name: string,
    help: string,
    labels: readonly string[],
    values: () => Promise<readonly LabeledValue[]>,
  ): void;
}

/** What `createMetrics` takes. */
export interface MetricsOptions {
  /** Gets failed calls and faults, each kind at most once a second, and refused web pages. Default: none. */
  readonly log?: (message: string, detail?: unknown, facts?: FaultFacts) => void;
}

/** Creates metrics that count what a runtime does. */
export function createMetrics({ log = () => {} }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  /** What a runtime counts. It is shown only if a runtime feeds it; otherwise every number would be 0. */
  const counted = new Registry();
  const registers = [counted];
  const accepted = new Counter({
    name: "troupe_requests_accepted_total",
    help: "Accepted requests.",
    labelNames: ["agent"],
    registers,
  });
  const turns = new Histogram({
    name: "troupe_turn_seconds",
    help: "Time from accepting a request to the end of its turn, including waits.",
    labelNames: ["agent", "reason"],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600, 3_600],
    registers,
  });
  // Commits are frequent, so they are counted in numbers, which a scrape reads.
  let events = 0;
  const longestCommit = new RecentMaximum();
  const commits = new FastHistogram("troupe_commit_seconds", "Time of a commit of events.", COMMIT_SECONDS);
  count("troupe_commits_total", "Committed batches.", () => commits.total);
  count("troupe_events_total", "Committed events.", () => events);
  gauge(
    counted,
    "troupe_commit_seconds_max",
    "The longest commit of the last minute or two.",
    () => longestCommit.value / 1_000,
  );
  const tokens = new Counter({
    name: "troupe_model_tokens_total",
    help: "Tokens of completions. Cached ones are among those of the input, reasoning among those of the output.",
    labelNames: ["agent", "model", "kind"],
    registers,
  });
  const cost = new Counter({
    name: "troupe_model_cost_total",
    help: "Cost of completions, as far as their models have a price.",
    labelNames: ["agent", "model"],
    registers,
  });
  const ownerCost = new Counter({
    name: "troupe_owner_cost_total",
    help: "Cost of completions by the owner of their run; the thousand owners that came first, and the rest as other.",
    labelNames: ["owner"],
    registers,
  });
  const completions = new Histogram({
    name: "troupe_model_completion_seconds",
    help: "Time of a completion with all its attempts.",
    labelNames: ["agent", "model", "outcome"],
    buckets: MODEL_SECONDS,
    registers,
  });
  const firstParts = new Histogram({
    name: "troupe_model_first_token_seconds",
    help: "Time until the first part of a model's answer.",
    labelNames: ["model"],
    buckets: MODEL_SECONDS,
    registers,
  });
  const calls = new Histogram({
    name: "troupe_tool_call_seconds",
    help: "Time of a call of a tool, an agent or an effect.",
    labelNames: ["agent", "tool", "outcome"],
    buckets: CALL_SECONDS,
    registers,
  });
  const interrupted = new Counter({
    name: "troupe_model_interrupted_attempts_total",
    help: "Attempts of completions that broke off before their usage was reported.",
    labelNames: ["model"],
    registers,
  });
  const models = new KnownValues();
  const tools = new KnownValues();
  const owners = new KnownValues();
  const dropped = new Counter({
    name: "troupe_dropped_total",
    help: "Late events and results that were dropped.",
    labelNames: ["what"],
    registers,
  });
  const faults = new Counter({
    name: "troupe_faults_total",
    help: "Faults that were not reported to any caller; each kind counts at most once a second.",
    // An app reports faults too.
    registers: [registry],
  });
  const isDue = createFaultLimit();
  let watchesProcess = false;
  /** Whether a runtime counts with them, maybe through a telemetry that passes on only the counts. */
  let isFed = false;

  return {
    contentType: registry.contentType,
    text: async () => {
      watchProcess();
      const own = isFed ? [commits.text(), await counted.metrics()] : [];
      return [...own, await registry.metrics()].join("\n");
    },
    families: async () => {
      watchProcess();
      const own = isFed ? [commits.family(), ...(await familiesOf(counted))] : [];
      return [...own, ...(await familiesOf(registry))];
    },
    watch: (name, help, number) => gauge(registry, name, help, number),
    watchEach: (name, help, labelNames, values) => {
      registry.removeSingleMetric(name);
      const added: Gauge = new Gauge({
        name,
        help,
        labelNames,
        registers: [registry],
        async collect() {
          added.reset();
          // What cannot be read is left out, for example while the database is away; all others are shown.
          const read = await values().catch(() => []);
          for (const { labels, value } of read) added.set(labels, value);
        },
      });
    },
    attached: () => {
      isFed = true;
    },
    accepted: (agent) => {
      isFed = true;
      accepted.inc({ agent });
    },
    completed: (agent, reason, ms) => {
      isFed = true;
      turns.observe({ agent, reason }, ms / 1_000);
    },
    committed: (added, ms) => {
      isFed = true;
      commits.observe(ms / 1_000);
      events += added;
      longestCommit.note(ms);
    },
    asked: ({ agent, owner, model: name, outcome, ms, firstMs, usage }) => {
      isFed = true;
      const model = models.of(name);
      completions.observe({ agent, model, outcome }, ms / 1_000);
      if (firstMs !== undefined) firstParts.observe({ model }, firstMs / 1_000);
      for (const [kind, count] of tokensIn(usage)) tokens.inc({ agent, model, kind }, count);
      if (usage.cost) {
        cost.inc({ agent, model }, usage.cost);
        ownerCost.inc({ owner: owners.of(owner) }, usage.cost);
      }
      if (usage.interrupted_attempts) interrupted.inc({ model }, usage.interrupted_attempts);
    },
    called: ({ agent, name, outcome, ms }) => {
      isFed = true;
      calls.observe({ agent, tool: tools.of(name), outcome }, ms / 1_000);
    },
    dropped: (what) => {
      isFed = true;
      dropped.inc({ what });
    },
    refused: (message) => log(message),
    failed: (message, thrown, facts) => {
      if (isDue(message, thrown)) log(message, thrown, facts);
    },
    fault: (message, detail, facts) => {
      if (!isDue(message, detail)) return;
      faults.inc();
      log(message, detail, facts);
    },
  };

  /** Process metrics start with the first scrape, so that they cost nothing without one. */
  function watchProcess(): void {
    if (!watchesProcess) collectDefaultMetrics({ register: registry });
    watchesProcess = true;
    // Three gauges of the library have the names of counters; those that it splits by type say the same.
    for (const what of ["handles", "requests", "resources"])
      registry.removeSingleMetric(`nodejs_active_${what}_total`);
  }

  /** Adds a counter whose value is read on each scrape. */
  function count(name: string, help: string, total: () => number): void {
    const counter: Counter = new Counter({
      name,
      help,
      registers,
      collect() {
        counter.reset();
        counter.inc(total());
      },
    });
  }

  function gauge(within: Registry, name: string, help: string, number: () => number): void {
    within.removeSingleMetric(name);
    const added: Gauge = new Gauge({ name, help, registers: [within], collect: () => added.set(number()) });
  }
}

/** The upper bounds of the buckets, in seconds. */
const COMMIT_SECONDS = [0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
const MODEL_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const CALL_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 30, 300, 3_600];

/** The values of a label that come from users and their code: the first thousand; all further ones are `other`. */
class KnownValues {
  readonly #known = new Set<string>();

  of(value: string): string {
    if (this.#known.has(value)) return value;
    if (this.#known.size >= VALUES_LIMIT) return "other";
    this.#known.add(value);
    return value;
  }
}

const VALUES_LIMIT = 1_000;

/** The counts of tokens in a usage, by their kind. */
function tokensIn(usage: Usage): readonly (readonly [kind: string, count: number])[] {
  const { input_tokens: input = 0, output_tokens: output = 0 } = usage;
  const { cached_input_tokens: cached = 0, reasoning_tokens: reasoning = 0 } = usage;
  const counts = Object.entries({ input, cached_input: cached, output, reasoning });
  return counts.filter(([, count]) => count > 0);
}

async function familiesOf(registry: Registry): Promise<readonly MetricFamily[]> {
  return (await registry.getMetricsAsJSON()).map(({ name, help, type, values }) => ({
    name,
    help,
    type: type as unknown as MetricFamily["type"],
    samples: values.map((sample) => ({
      name: (sample as { readonly metricName?: string }).metricName ?? name,
      labels: Object.fromEntries(
        Object.entries(sample.labels).map(([label, value]) => [label, String(value)]),
      ),
      value: sample.value,
    })),
  }));
}

/** Creates a function that returns whether a fault must be reported: each kind at most once a second. */
export function createFaultLimit(
  now: () => number = () => performance.now(),
): (message: string, thrown: unknown) => boolean {
  const reportedAt = new Map<string, number>();

  return (message, thrown) => {
    const kind = `${message.replaceAll(NAMED, "$1")} ${kindOf(thrown)}`;
    const at = now();
    if (at - (reportedAt.get(kind) ?? -INTERVAL_MS) < INTERVAL_MS) return false;
    // Error names come from agent code; when there are too many, the map is cleared.
    if (reportedAt.size >= KINDS_LIMIT) reportedAt.clear();
    reportedAt.set(kind, at);
    return true;
  };
}

const INTERVAL_MS = 1_000;
const KINDS_LIMIT = 1_000;
const NAME_LENGTH = 100;

/** The run or request in a message does not change its kind. */
const NAMED = /\b(run|request) \S+/g;

function kindOf(thrown: unknown): string {
  const name = nameOf(thrown);
  const cause = nameOf(fieldOf(thrown, "cause"));
  if (name === undefined) return typeof thrown;
  return cause === undefined ? name : `${name} of ${cause}`;
}

/** The name of an error; `undefined` for any other value. */
function nameOf(thrown: unknown): string | undefined {
  const name = fieldOf(thrown, "name");
  return typeof thrown === "object" && typeof name === "string" ? name.slice(0, NAME_LENGTH) : undefined;
}
