import type { EventLog, Runtime } from "troupe";
import type { RunId } from "troupe/protocol";
import type { IndexQueries } from "../../../src/storage/sql/queries.ts";
import type { SqlQuery } from "../../../src/storage/sql/query.ts";
import { DAYS, LOT, nameOf, OWNERS } from "./copies.ts";

/** What a question can use. */
export interface Asked {
  /** For a caller that sees the runs of all owners. */
  readonly runtime: Runtime;
  readonly log: EventLog;
  /** For one owner. */
  as(owner: string): Runtime;
  /** A whole number below another one, another one each time. */
  random(below: number): number;
  /** How many runs there are. */
  readonly runs: number;
  /** Some of them. */
  readonly runIds: readonly RunId[];
}

/** A question to a store of years. */
export interface Question {
  readonly what: string;
  ask(asked: Asked): Promise<unknown>;
  /** The statement of it that costs most. */
  readonly plan?: (queries: IndexQueries) => SqlQuery<unknown>;
  /** Why it may take longer: it looks at many rows one by one, up to a limit. */
  readonly looks?: true;
}

const PAGE = 50;
const DAY_MS = 86_400_000;

/** A place in the list of runs, at any time of the years. */
function placeIn({ random }: Asked): string {
  return `${Date.now() - random(DAYS * DAY_MS)}.run_0`;
}

/** About where a page ends that has looked at ten thousand of a million runs. */
function lookedAt(): { readonly updatedAt: number; readonly runId: string } {
  return { updatedAt: Date.now() - (DAYS * DAY_MS) / 100, runId: "run_0" };
}

const owners: readonly (readonly [string, (asked: Asked) => string])[] = [
  ["the largest owner", () => nameOf(0)],
  ["any owner", ({ random }) => nameOf(random(OWNERS))],
];

function lotOf({ random, runs }: Asked): string {
  return `lot${String(random(Math.floor(runs / LOT))).padStart(8, "0")}`;
}

function list(what: string, query: Omit<Parameters<EventLog["list"]>[0], "total">): Question {
  return {
    what,
    ask: ({ runtime }) => runtime.runs(query),
    plan: (queries) => queries.list(query),
  };
}

function waits(what: string, query: Omit<Parameters<EventLog["waits"]>[0], "total">): Question {
  return { what, ask: ({ runtime }) => runtime.waits(query), plan: (queries) => queries.waits(query) };
}

/** The lists, waits and searches of a server, and those of an owner. */
export const QUESTIONS: readonly Question[] = [
  list("runs, newest", { limit: PAGE }),
  list("runs, oldest", { limit: PAGE, oldestFirst: true }),
  {
    what: "runs, from any time on",
    ask: (asked) => asked.runtime.runs({ limit: PAGE, cursor: placeIn(asked) }),
  },
  list("runs of an agent with most", { limit: PAGE, agent: "clerk" }),
  list("runs of an agent with few", { limit: PAGE, agent: "rare" }),
  list("runs that wait", { limit: PAGE, status: "waiting" }),
  list("runs that are idle", { limit: PAGE, status: "idle" }),
  list("runs that work", { limit: PAGE, status: "running" }),
  list("runs of an agent with most that wait, none", { limit: PAGE, agent: "clerk", status: "waiting" }),
  list("runs of an agent with few that wait", { limit: PAGE, agent: "rare", status: "waiting" }),
  list("runs of an agent whose all wait that are idle, none", {
    limit: PAGE,
    agent: "asker",
    status: "idle",
  }),
  list("runs in the order of creation", { limit: PAGE, byCreation: true }),
  {
    what: "runs that failed, with their number",
    ask: ({ runtime }) => runtime.runs({ limit: PAGE, finishReason: "error", total: true }),
    plan: (queries) => queries.list({ limit: PAGE, failed: true }),
  },
  {
    what: "runs of an agent that failed, none",
    ask: ({ runtime }) => runtime.runs({ limit: PAGE, finishReason: "error", agent: "clerk" }),
    plan: (queries) => queries.list({ limit: PAGE, failed: true, agent: "clerk" }),
  },
  {
    what: "runs with a value of metadata",
    ask: (asked) => asked.runtime.runs({ limit: PAGE, metadata: { lot: lotOf(asked).slice(3) } }),
    plan: (queries) => queries.list({ limit: PAGE, metadata: { lot: "none" } }, lookedAt()),
  },
  {
    what: "runs, newest, with their number",
    ask: ({ runtime }) => runtime.runs({ limit: PAGE, total: true }),
    plan: (queries) => queries.count({ limit: PAGE }, 10_000),
  },
  {
    what: "runs that wait, with their number",
    ask: ({ runtime }) => runtime.runs({ limit: PAGE, total: true, status: "waiting" }),
    plan: (queries) => queries.count({ limit: PAGE, status: "waiting" }, 10_000),
  },
  {
    what: "runs that are idle, with their number",
    ask: ({ runtime }) => runtime.runs({ limit: PAGE, total: true, status: "idle" }),
    plan: (queries) => queries.count({ limit: PAGE, status: "idle" }, 10_000),
  },
  {
    what: "each run counted",
    ask: ({ runtime }) => runtime.runs({ limit: PAGE, total: "all" }),
    plan: (queries) => queries.count({ limit: PAGE }, Infinity),
    looks: true,
  },
  {
    what: "requests, newest",
    ask: ({ runtime }) => runtime.listRequests({ limit: PAGE }),
    plan: (queries) => queries.requestsOfRuns({ limit: PAGE }),
  },
  {
    what: "requests that are queued",
    ask: ({ runtime }) => runtime.listRequests({ limit: PAGE, status: "queued" }),
    plan: (queries) => queries.requestsOfRuns({ limit: PAGE, phase: "queued" }),
  },
  {
    what: "requests that wait",
    ask: ({ runtime }) => runtime.listRequests({ limit: PAGE, status: "waiting" }),
    plan: (queries) => queries.requestsOfRuns({ limit: PAGE, phase: "waiting" }),
  },
  {
    what: "requests of a day",
    ask({ runtime, random }) {
      const since = Date.now() - random(DAYS) * DAY_MS;
      return runtime.listRequests({ limit: PAGE, since, until: since + DAY_MS });
    },
    plan: (queries) =>
      queries.requestsOfRuns({ limit: PAGE, createdBefore: Date.now() - 100 * DAY_MS }, lookedAt()),
  },
  waits("waits, oldest", { limit: PAGE }),
  waits("waits of an agent with most", { limit: PAGE, agent: "asker" }),
  waits("waits of an agent with few", { limit: PAGE, agent: "rare" }),
  waits("waits of an agent without any", { limit: PAGE, agent: "clerk" }),
  {
    what: "waits, from any time on",
    ask: (asked) => asked.runtime.waits({ limit: PAGE, cursor: `${placeIn(asked).split(".")[0]}.1.run_0` }),
  },
  {
    what: "the number of waits",
    ask: ({ runtime }) => runtime.countWaits(),
    plan: (queries) => queries.countWaits({ limit: 1 }, 10_000),
  },
  {
    what: "schedules",
    ask: ({ runtime }) => runtime.schedules.list({ limit: PAGE }),
    plan: (queries) => queries.schedules({ limit: PAGE }),
  },
  {
    what: "schedules of an agent without any",
    ask: ({ runtime }) => runtime.schedules.list({ limit: PAGE, agent: "clerk" }),
    plan: (queries) => queries.schedules({ limit: PAGE, agent: "clerk" }),
  },
  {
    what: "dead letters",
    ask: ({ log }) => log.outbox({ kind: "dead", newest: PAGE }),
    plan: (queries) => queries.outbox({ kind: "dead", newest: PAGE }),
  },
  {
    what: "topics",
    ask: ({ runtime }) => runtime.topics.list({ limit: PAGE }),
  },
  {
    what: "audit trail, newest",
    ask: ({ log }) => log.audit.list({ limit: PAGE }),
    plan: (queries) => queries.audit({ limit: PAGE }),
  },
  {
    what: "audit trail of a person",
    ask: ({ log, random }) => log.audit.list({ limit: PAGE, by: nameOf(random(OWNERS)) }),
    plan: (queries) => queries.audit({ limit: PAGE, by: nameOf(5_000) }),
  },
  {
    what: "a run with its requests",
    async ask({ runtime, runIds, random }) {
      const runId = runIds[random(runIds.length)] as RunId;
      return [await runtime.run(runId), await runtime.requests(runId)];
    },
    plan: (queries) => queries.run("run_0"),
  },
  {
    what: "the events of a run",
    async ask({ runtime, runIds, random }) {
      const address = await runtime.resolve(runIds[random(runIds.length)] as RunId);
      return runtime.read(address, { after: 0, limit: 100 });
    },
  },
  ...searches("", ({ runtime }) => runtime),
  ...owners.flatMap(([name, owner]) => ofOwner(name, owner)),
];

function searches(suffix: string, of: (asked: Asked) => Runtime): readonly Question[] {
  const search = (what: string, text: (asked: Asked) => string): Question => ({
    what: `search for ${what}${suffix}`,
    ask: (asked) => of(asked).runs({ limit: PAGE, text: text(asked) }),
  });
  return [
    search("a word of 500 runs", lotOf),
    search("a word of all runs", () => "parcel"),
    search("a word of no run", ({ random }) => `nothing${random(1_000_000)}`),
    search("two words, one of all runs", (asked) => `order ${lotOf(asked)}`),
    search("the id of a run", ({ runIds, random }) => String(runIds[random(runIds.length)])),
  ];
}

function ofOwner(name: string, owner: (asked: Asked) => string): readonly Question[] {
  const own = (asked: Asked): Runtime => asked.as(owner(asked));
  return [
    {
      what: `runs of ${name}`,
      ask: (asked) => own(asked).runs({ limit: PAGE }),
      plan: (queries) => queries.list({ limit: PAGE, owner: nameOf(0) }),
    },
    {
      what: `runs of ${name} that wait`,
      ask: (asked) => own(asked).runs({ limit: PAGE, status: "waiting" }),
      plan: (queries) => queries.list({ limit: PAGE, owner: nameOf(0), status: "waiting" }),
    },
    {
      what: `runs of ${name} that failed`,
      ask: (asked) => own(asked).runs({ limit: PAGE, finishReason: "error" }),
      plan: (queries) => queries.list({ limit: PAGE, owner: nameOf(0), failed: true }),
    },
    {
      what: `runs of ${name} that work`,
      ask: (asked) => own(asked).runs({ limit: PAGE, status: "running" }),
      plan: (queries) => queries.list({ limit: PAGE, owner: nameOf(0), status: "running" }),
    },
    {
      what: `runs of ${name} of an agent with few`,
      ask: (asked) => own(asked).runs({ limit: PAGE, agent: "rare" }),
      plan: (queries) => queries.list({ limit: PAGE, owner: nameOf(0), agent: "rare" }),
    },
    {
      what: `waits of ${name}`,
      ask: (asked) => own(asked).waits({ limit: PAGE }),
      plan: (queries) => queries.waits({ limit: PAGE, owner: nameOf(0) }),
    },
    {
      what: `waits of ${name} of an agent without any`,
      ask: (asked) => own(asked).waits({ limit: PAGE, agent: "clerk" }),
      plan: (queries) => queries.waits({ limit: PAGE, owner: nameOf(0), agent: "clerk" }),
    },
    {
      what: `requests of ${name}`,
      ask: (asked) => own(asked).listRequests({ limit: PAGE }),
      plan: (queries) => queries.requestsOfRuns({ limit: PAGE, owner: nameOf(0) }),
    },
    {
      what: `requests of ${name} that are queued`,
      ask: (asked) => own(asked).listRequests({ limit: PAGE, status: "queued" }),
      plan: (queries) => queries.requestsOfRuns({ limit: PAGE, owner: nameOf(0), phase: "queued" }),
    },
    {
      what: `schedules of ${name}`,
      ask: (asked) => own(asked).schedules.list({ limit: PAGE }),
      plan: (queries) => queries.schedules({ limit: PAGE, owner: nameOf(0) }),
    },
    {
      what: `audit trail of ${name}`,
      ask: (asked) => asked.log.audit.list({ limit: PAGE, owner: owner(asked) }),
      plan: (queries) => queries.audit({ limit: PAGE, owner: nameOf(0) }),
    },
    {
      what: `what ${name} has spent today`,
      ask: (asked) => asked.log.spending.on({ owner: owner(asked), day: Math.floor(Date.now() / DAY_MS) }),
    },
    ...searches(`, of ${name}`, own),
  ];
}
