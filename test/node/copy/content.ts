import { hash } from "node:crypto";
import type { EventLog } from "../../../src/ports/event-log.ts";
import type { Batch, RequestMark, RunRow } from "../../../src/ports/log-batch.ts";
import { reservationId } from "../../../src/ports/artifact-store.ts";
import type { StoredArtifact } from "../../../src/ports/artifact-store.ts";
import { countEvents, toEncoded } from "../../../src/protocol/events/texts.ts";
import type { RequestId, RunId } from "../../../src/protocol/ids.ts";
import { record, row, asRunId, texts } from "../../../src/testing/event-log/subject.ts";
import type { Store } from "../../../src/node/copy/copy-log.ts";
import { countOne } from "../../../src/ports/statistics.ts";

/** Fills an empty store with runs in all states, removed ones, files and secrets. */
export async function fill({ log, artifacts, secrets, versions }: Store): Promise<void> {
  await secrets.put({ "config-agent.key": "hidden", "run_1.token": "ünï\u0000code", unused: "" });
  const sources = { "agents/a.ts": Buffer.from("export {};"), "notes é.md": Buffer.alloc(3, 255) };
  for (const [index, id] of ["a".repeat(64), "b".repeat(64)].entries()) {
    const files = Object.entries(sources).slice(0, 2 - index);
    await versions?.keep(
      {
        id,
        entry: "agents/a.ts",
        keptAt: index,
        agents: [{ name: "asker", version: String(index), compatible: ["0"] }],
        files: Object.fromEntries(files.map(([path, bytes]) => [path, hash("sha256", bytes)])),
      },
      async (path) => sources[path as keyof typeof sources],
    );
  }
  const put = (id: string, body: Uint8Array, fields: object): Promise<StoredArtifact> =>
    artifacts.put({
      artifactId: id,
      name: `../${id} é.bin`,
      mimeType: "application/x-odd",
      body,
      limitBytes: 10_000_000,
      ...fields,
    });
  await put("file-1", Buffer.alloc(700_000, "many bytes"), { runId: "waiting", createdAt: 5 });
  await artifacts.attach(["file-1"], "z-idle");
  await artifacts.attach(["file-1"], "long");
  await put("file-2", Buffer.alloc(0), { runId: "z-idle" });
  await put("file-3", Buffer.from([0, 255]), { createdAt: 7 });
  // For a request that is not accepted yet, of a node that died.
  await artifacts.attach(["file-3", "file-2"], reservationId(9, "a"));

  const spent = { tokens: 5, cost: 0.25, raisedTokens: 0, raisedCost: 1.5 };
  await log.spending.put([
    { owner: "acme", day: 20_000, ...spent },
    { owner: "acme", agent: "writer", day: 20_001, ...spent },
  ]);
  const hour = { hour: 480_000, owner: "acme", kind: "turn", agent: "echo", name: "chat" } as const;
  await log.statistics.put([
    { ...hour, outcome: "success", ...countOne(40) },
    { ...hour, outcome: "error:timeout", ...countOne(90_000), cost: 0.5, runId: asRunId("z-idle") },
  ]);
  await log.audit.add([
    { at: 1, action: "sign_in", by: { id: "ann", name: "Ann" }, owner: "acme" },
    { at: 1, action: "remove", by: { id: "bob" }, owner: "default", runId: asRunId("z-idle") },
    { at: 3, action: "refuse", by: { id: "bob" }, owner: "default", detail: "bob may not erase", count: 2 },
  ]);
  await write(log, "z-idle", [
    {
      ...entries([1, 3], [1, 1]),
      run: row({ metadata: { "odd key": ["\u0000", "\ud800", { 2: 1, 1: 2 }] }, initialInput: "€ 😀" }),
      alias: { agent: "echo", name: "first name/é" },
    },
    {
      alias: { agent: "echo", name: "another" },
      schedules: [
        { id: "daily", due: 88_000, data: { operation: "chat", input: "ü" } },
        { id: "paused", data: { operation: "chat", input: null } },
        { id: "gone", due: 1, data: {} },
        { id: "gone" },
      ],
    },
    { alias: { agent: "other-agent", name: "first name/é" } },
    { ...entries([4, 6], [2, 3]), requests: [mark("r-1", 1), mark("r-2", 2)], snapshot: { turn: [1, null] } },
    { ...entries([7, 7], [4, 4]), references: ["b", "a", "c"].map((thing) => ({ thing })) },
    {
      events: [texts(asRunId("z-idle"), 8, 30), ...entries([31, 31], [5, 4]).events],
      requests: [{ requestId: id("r-1"), phase: "completed", started: 2, segment: 2, completed: 6 }],
      references: [{ thing: "b", dropped: true }],
    },
    {
      run: row({ updatedAt: 2_000, turns: 2, usage: { input_tokens: 3, output_tokens: 4 } }),
      requests: [{ requestId: id("r-2"), phase: "completed", started: 7, completed: 31 }],
    },
  ]);
  await write(log, "waiting", [
    { ...entries([1, 2], [1, 2]), run: row({ status: "waiting", started: id("w-1"), createdAt: 900 }) },
    {
      ...entries([3, 4], [3, 3]),
      requests: [
        { ...mark("w-1", 1), phase: "running", started: 1, segment: 1 },
        { requestId: id("w-1"), phase: "waiting", wakeAt: 99_000 },
        mark("w-2", 2),
      ],
      waits: [
        { waitId: 2, requestId: id("w-1"), openedAt: 950 },
        { waitId: 4, requestId: id("w-1"), openedAt: 960 },
        { waitId: 3, requestId: id("w-1"), openedAt: 955 },
      ],
      snapshot: "at the end",
    },
    { waits: [{ waitId: 3, requestId: id("w-1"), openedAt: 955, closed: true }] },
  ]);
  await write(log, "sleeping", [
    {
      ...entries([1, 1], [1, 1]),
      run: row({ agent: "other-agent", status: "running", started: id("s-1") }),
      requests: [
        {
          ...mark("s-1", 1),
          phase: "running",
          started: 1,
          wakeAt: 88_000,
          waitingFor: { kind: "sleep", expires_at: "1970-01-01T00:01:28.000Z" } as never,
        },
      ],
      outbox: [
        { requestId: id("s-1"), kind: "cancel", event: 1 },
        { requestId: id("elsewhere"), kind: "reply", event: 1 },
        { requestId: id("refused"), kind: "dead", event: 1 },
      ],
    },
    { outbox: [{ requestId: id("s-1"), kind: "cancel", event: 1, done: true }] },
  ]);
  await write(log, "resting", [
    {
      ...entries([1, 1], [1, 1]),
      run: row({ status: "running", started: id("t-1") }),
      requests: [{ ...mark("t-1", 1), phase: "running", started: 1, parkedOn: [id("ask-1"), id("ask-2")] }],
    },
  ]);
  await write(log, "config-agent", [
    {
      records: [record(1, 0), record(2, 0)],
      run: row({ agent: "", createdAt: 0 }),
      snapshot: { version: 2 },
    },
    { records: [record(3, 0)], references: [{ thing: "config-agent.key" }] },
  ]);
  await write(log, "owned", [
    {
      ...entries([1, 2], [1, 1]),
      run: row({ owner: "acme", status: "waiting", started: id("r-1") }),
      alias: { agent: "echo", name: "another", owner: "acme" },
      // The same id as a request of the default owner.
      requests: [mark("r-1", 1)],
      waits: [{ waitId: 2, requestId: id("r-1"), openedAt: 970 }],
    },
  ]);
  await write(log, "only-a-row", [{ run: row({ lastTurn: { state: "completed" } as never }) }]);
  await writeLong(log);
  for (const [name, requests, owned] of [
    ["removed-1", 1_100, {}],
    ["a-removed", 0, {}],
    ["owned-removed", 2, { owner: "acme" }],
  ] as const) {
    const marks = Array.from({ length: requests }, (_, n) => mark(`${name}-${n}`, n));
    const cursor = await write(log, name, [{ ...entries([1, 2], [1, 1]), run: row(owned), requests: marks }]);
    await log.remove(cursor);
  }
}

/** A run that takes many pages, with texts, large events and many requests. */
async function writeLong(log: EventLog): Promise<void> {
  const batches: Partial<Batch>[] = [{ run: row({ turns: 1_200 }) }];
  for (let first = 1; first <= 6_000; first += 500) {
    const { events } = entries([first, first + 99], [1, 0]);
    const large = JSON.stringify({ id: first + 499, type: "TextOutput", content: "x".repeat(150_000) });
    const said = texts(asRunId("long"), first + 100, first + 498);
    const requests = Array.from({ length: 100 }, (_, n) => ({
      ...mark(`l-${first}-${n}`, first + n),
      phase: "completed" as const,
    }));
    const records = entries([1, 0], [first, first + 499]).records.map(({ n }) =>
      record(n, first + (n % 100)),
    );
    records.sort((a, b) => a.after - b.after);
    batches.push({
      events: [...events, said, large],
      records: records.map((item, at) => ({ ...item, n: first + at })),
      requests,
      ...(first === 3_001 && { snapshot: { at: first } }),
    });
  }
  await write(log, "long", batches);
}

async function write(log: EventLog, id: string, batches: readonly Partial<Batch>[]) {
  let { cursor } = await log.claim(asRunId(id));
  for (const batch of batches) cursor = await log.append(cursor, { events: [], records: [], ...batch });
  log.release(cursor);
  // Its cursor is needed to remove it.
  return (await log.claim(asRunId(id))).cursor;
}

/** Events with ids of a range, and records with numbers of a range, behind the last event. */
function entries([from, to]: Range, [first, last]: Range): Pick<Batch, "events" | "records"> {
  const numbers = (start: number, end: number): readonly number[] =>
    Array.from({ length: Math.max(end - start + 1, 0) }, (_, index) => start + index);
  return {
    events: numbers(from, to).map((n) => JSON.stringify({ id: n, type: "TextOutput", content: `€ ${n}\n` })),
    records: numbers(first, last).map((n) => record(n, to)),
  };
}

type Range = readonly [from: number, to: number];

function id(text: string): RequestId {
  return text;
}

function mark(name: string, n: number): RequestMark {
  return { requestId: id(name), phase: "queued", createdAt: 1_000 + n, accepted: { n, after: 1 } };
}

/** All that queries return of a store, without the nodes that have claimed runs. */
export async function contentOf({ log, artifacts, secrets, versions }: Store): Promise<object> {
  const runIds = [...(await log.runIds({ limit: 1_000 }))];
  const removed = [...(await log.runIds({ limit: 1_000, removed: true }))].toSorted();
  const runs: object[] = [];
  for (const runId of [...runIds, ...removed]) {
    const requests = await log.requests({ runId, limit: 10_000, removed: true });
    runs.push({
      row: withoutNode(await log.run(runId)),
      ...(await readAll(log, runId)),
      requests: requests.toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1)),
      newest: removed.includes(runId) ? [] : requests.slice(0, 3),
      found: await Promise.all(requests.slice(0, 5).map(({ requestId }) => log.lookup(requestId))),
      holdings: await log.holdings(runId),
      snapshot: await log.snapshot(runId),
    });
  }
  const files: object[] = [];
  for await (const info of artifacts.list()) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of artifacts.read(info.artifactId)) chunks.push(chunk);
    files.push({ ...info, bytes: Buffer.concat(chunks).toString("base64") });
  }
  const kept: object[] = [];
  for (const version of versions === undefined ? [] : await versions.list()) {
    const contents: string[] = [];
    for (const digest of Object.values(version.files))
      contents.push(Buffer.from((await versions?.read(digest)) ?? []).toString("base64"));
    kept.push({ ...version, contents });
  }
  const names = [...(await secrets.names())].toSorted();
  const { runs: created } = await log.list({ byCreation: true, limit: 1_000 });
  const { runs: updated } = await log.list({ limit: 1_000 });
  return {
    runIds,
    removed,
    runs,
    created: created.map(withoutNode),
    updated: updated.map(withoutNode),
    open: await log.open(),
    asleep: await log.waking({}),
    parked: await log.parked({ limit: 1_000 }),
    waits: await log.waits({ limit: 1_000 }),
    outbox: await log.outbox({}),
    schedules: await log.schedules({ limit: 1_000, total: true }),
    due: await log.due({}),
    spending: await log.spending.list({ limit: 1_000 }),
    statistics: await log.statistics.list({ limit: 1_000 }),
    audit: await log.audit.list({ limit: 1_000 }),
    alias: await log.find({ agent: "other-agent", name: "first name/é" }),
    owned: {
      runs: (await log.list({ owner: "acme", limit: 10 })).runs.map(withoutNode),
      waits: await log.waits({ owner: "acme", limit: 10 }),
      requests: await Promise.all(["r-1", "owned-removed-1"].map((name) => log.lookup(id(name), "acme"))),
      alias: await log.find({ agent: "echo", name: "another", owner: "acme" }),
    },
    unreferenced: await log.unreferenced(["a", "b", "c", "config-agent.key"]),
    files: files.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    kept,
    secrets: await Promise.all(names.map(async (name) => [name, await secrets.get(name)])),
  };
}

async function readAll(log: EventLog, id: RunId) {
  const events: string[] = [];
  const records: object[] = [];
  for (let [after, afterRecord, more] = [0, 0, true]; more;) {
    const page = await log.read(id, { after, afterRecord, records: true, limitBytes: 3_000_000 });
    events.push(...toEncoded(page.events));
    records.push(...page.records);
    after += countEvents(page.events);
    afterRecord = page.records.at(-1)?.n ?? afterRecord;
    more = page.cut === true || after < page.head;
  }
  return { events, records };
}

function withoutNode<Row extends Partial<RunRow> & { readonly node?: string }>(entry: Row | undefined) {
  const { node: _node, ...others } = entry ?? ({} as Row);
  return others;
}
