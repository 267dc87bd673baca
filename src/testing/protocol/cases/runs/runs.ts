import { isObject } from "../../../../protocol/json.ts";
import type { Case } from "../../case.ts";
import { SLOW } from "../../context.ts";
import type { Context, StartedTurn } from "../../context.ts";
import type { EventStream } from "../../event-stream.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkStatus, checkProblem } from "../../http-client.ts";
import type { Query } from "../../http-client.ts";

/** Runs and requests as seen later. */
export const runs: readonly Case[] = [
  {
    id: "55",
    title: "GET /runs lists runs with their data, the newest first",
    needs: ["echo", "payments"],
    async run(context) {
      const older = await context.start("echo", "hello there");
      const events = await context.read(older);
      const newer = await context.startEndless("payments", "pay 30 to bob");
      await context.read(newer);
      const rows = await listRuns(context);
      const newerAt = rows.findIndex(({ run_id }) => run_id === newer.runId);
      const olderAt = rows.findIndex(({ run_id }) => run_id === older.runId);
      check(newerAt !== -1 && newerAt < olderAt, "the newer run before the older one", rows.slice(0, 5));
      const { created_at, updated_at, last_turn: last, usage: _, ...facts } = rows[olderAt] ?? {};
      checkTimes({ created_at, updated_at });
      check(isObject(last), "the newest turn", rows[olderAt]);
      const { started_at, ended_at, result = "hello there", ...end } = last;
      checkTimes({ started_at, ended_at });
      // A server that encrypts what it stores leaves it out.
      checkEqual(result, "hello there", "the beginning of its output");
      checkEqual(
        end,
        { request_id: older.requestId, operation: "chat", finish_reason: "success" },
        "the newest turn",
      );
      const { requests, ...one } = bodyOf(await context.http.ask("GET", `/runs/${older.runId}`), 200);
      checkEqual(one, rows[olderAt], "the row of the run by its id");
      check(Array.isArray(requests), "its requests", requests);
      checkProblem(await context.http.ask("GET", "/runs/run_unknown"), 404);
      checkEqual(
        facts,
        {
          run_id: older.runId,
          agent: events[0]?.agent,
          status: "idle",
          initial_input: "hello there",
          turns: 1,
          open_waits: 0,
          queued: 0,
          last_event_id: events.length,
        },
        "the data of the run",
      );
      checkEqual(rows[newerAt]?.status, "waiting", "the status of the waiting run");
      checkEqual(rows[newerAt]?.["open_waits"], 1, "the open waits of the waiting run");
    },
  },
  {
    id: "55a",
    title: "GET /request returns the state of a request",
    needs: ["echo", "ticker"],
    async run(context) {
      const done = await context.start("echo", "hello there");
      const events = await context.read(done);
      const { created_at, completed_at, ...facts } = await context.status(done);
      checkTimes({ created_at, completed_at });
      const wanted = {
        request_id: done.requestId,
        run_id: done.runId,
        agent: events[0]?.agent,
        operation: "chat",
        status: "completed",
        finish_reason: "success",
        result: "hello there",
        last_event_id: events.length,
      };
      for (const [name, value] of Object.entries(wanted)) checkEqual(facts[name], value, name);
      const running = await context.startSlow();
      const status = await context.status(running);
      checkEqual(status.status, "running", "the status of a running request");
      checkEqual(status.completed_at, undefined, "completed_at of a running request");
    },
  },
  {
    id: "55e",
    title: "last_event_id of a request is its own newest event, also when the run has a newer one",
    needs: ["payments"],
    async run(context) {
      const turn = await context.startEndless("payments", "pay 30 to bob");
      const newest = (await context.read(turn)).at(-1)?.id;
      const uploaded = await context.http.ask("POST", `${context.path("payments")}/artifacts`, {
        query: { name: "a.txt", run_id: turn.runId },
        raw: "hello",
        headers: { "content-type": "text/plain" },
      });
      checkStatus(uploaded, 201);
      const history = await context.history(turn);
      checkEqual(history.at(-1)?.type, "ArtifactUploaded", "the newest event of the run");
      checkEqual((await context.status(turn)).last_event_id, newest, "last_event_id");
    },
  },
  {
    id: "55b",
    title: "histories, statuses and the list of runs are the same after a kill of the server",
    needs: ["echo", "notebook", "team", "restart"],
    async run(context) {
      const turns: StartedTurn[] = [
        await context.start("echo", "ünïcödé 👩‍👩‍👧 \u2028"),
        await context.start("team", "the moon"),
        await context.start("notebook", "one"),
      ];
      for (const turn of turns) await context.read(turn);
      const before = await lookBack(context, turns);
      const after = await context.restart();
      checkEqual(await lookBack(after, turns), before, "what is known after the restart");
      const first = turns[2];
      check(first !== undefined, "a turn of notebook", turns);
      const next = await after.start("notebook", "two", { run_id: first.runId });
      const events = await after.read(next);
      checkEqual(events.at(-1)?.result, "1. one\n2. two", "what the agent remembers");
      checkEqual(events[0]?.id, 4, "the first id after the restart");
    },
  },
  {
    id: "55c",
    title: "a run without open requests can be deleted, and is gone then",
    needs: ["payments"],
    async run(context) {
      const turn = await context.startEndless("payments", "pay 30 to bob");
      await context.read(turn);
      const path = `/runs/${turn.runId}`;
      checkProblem(await context.http.ask("DELETE", path), 409);
      await context.cancel(turn, { wait: true });
      const deleted = await context.http.ask("DELETE", path);
      checkStatus(deleted, 200, 204);
      checkProblem(await context.http.ask("GET", `${context.path("payments")}/getevents/${turn.runId}`), 410);
      const rows = await listRuns(context);
      check(!rows.some(({ run_id }) => run_id === turn.runId), "a list without the run", rows.slice(0, 5));
    },
  },
  {
    id: "55d",
    title: "the list of runs has pages, and filters by agent and status",
    needs: ["echo", "payments"],
    async run(context) {
      const waiting = await context.startEndless("payments", "pay 30 to bob");
      await context.read(waiting);
      await context.read(await context.start("echo", "hello"));
      const answer = await context.http.ask("GET", "/runs", { query: { limit: 1 } });
      check(Array.isArray(answer.json) && answer.json.length === 1, "one run on a page", answer);
      const link = answer.headers.get("link") ?? "";
      check(/rel="?next"?/.test(link), "a Link to the next page", link);
      const { agent } = waiting.started;
      const chosen = await listRuns(context, { agent: String(agent), status: "waiting" });
      check(
        chosen.some(({ run_id }) => run_id === waiting.runId),
        "the waiting run",
        chosen,
      );
      for (const row of chosen) checkEqual([row.agent, row.status], [agent, "waiting"], "agent and status");
    },
  },
  {
    id: "55j",
    title: "GET /runs/{run_id} has the requests of the run with their state, the newest first",
    needs: ["ticker"],
    async run(context) {
      const done = await context.start("ticker", "2 1");
      const events = await context.read(done);
      const busy = await context.startEndless("ticker", SLOW, { run_id: done.runId });
      const queued = await context.enqueue(busy, "3 1");
      const { requests } = bodyOf(await context.http.ask("GET", `/runs/${done.runId}`), 200);
      check(Array.isArray(requests), "a list of requests", requests);
      const states = (requests as readonly Row[]).map(({ created_at, ...facts }) => {
        checkTimes({ created_at });
        return facts;
      });
      checkEqual(
        states,
        [
          { request_id: queued.requestId, status: "queued" },
          { request_id: busy.requestId, status: "running", started: events.length + 1 },
          { request_id: done.requestId, status: "completed", started: 1, completed: events.length },
        ],
        "the requests",
      );
    },
  },
  {
    id: "55h",
    title: "the list of runs is searched by the first input, by an id, and by how the newest turn ended",
    needs: ["echo"],
    async run(context) {
      const word = `word${Date.now()}`;
      const turn = await context.start("echo", `A ${word.toUpperCase()} to find`);
      await context.read(turn);
      for (const query of [
        { q: word },
        { q: turn.runId },
        { q: turn.requestId },
        { q: word, finish_reason: "success" },
      ]) {
        const found = await listRuns(context, query);
        checkEqual(
          found.map(({ run_id }) => run_id),
          [turn.runId],
          `the runs found by ${JSON.stringify(query)}`,
        );
      }
      checkEqual(await listRuns(context, { q: word, finish_reason: "error" }), [], "the failed ones");
      checkProblem(await context.http.ask("GET", "/runs", { query: { finish_reason: "maybe" } }), 400);
    },
  },
  {
    id: "55i",
    title: "GET /runs?stream=true sends the newest rows, then each row that changes, and removed runs",
    needs: ["echo"],
    async run(context) {
      const before = await context.start("echo", "hello");
      await context.read(before);
      const stream = await context.http.stream("/runs", { query: { stream: true } });
      try {
        checkEqual(stream.status, 200, "the status");
        await row(stream, "the run as it was", ({ run_id }) => run_id === before.runId);
        const turn = await context.start("echo", "one more");
        await context.read(turn);
        const last = await row(stream, "the new run when it is idle", isIdle(turn.runId));
        const answer = await context.http.ask("GET", `/runs/${turn.runId}`);
        const { requests: _, ...one } = bodyOf(answer, 200);
        checkEqual(last, one, "the row of the run");
        checkStatus(await context.http.ask("DELETE", `/runs/${turn.runId}`), 200, 204);
        const removed = await row(stream, "its removal", ({ removed: gone }) => gone === true);
        checkEqual(removed, { run_id: turn.runId, removed: true }, "the frame of a removed run");
      } finally {
        stream.close();
      }
      checkProblem(await context.http.ask("GET", "/runs", { query: { stream: true, status: "idle" } }), 400);
    },
  },
];

function isIdle(runId: string): (row: Row) => boolean {
  return ({ run_id: id, status, turns }) => id === runId && status === "idle" && turns === 1;
}

/** Reads a stream of runs up to a row. */
async function row(stream: EventStream, what: string, wanted: (row: Row) => boolean): Promise<Row> {
  for (;;) {
    const frame = await stream.data();
    check(frame?.data !== undefined, `${what} before the end of ${stream.asked}`, frame);
    checkEqual([frame.id, frame.event], [undefined, undefined], "the id and the name of a frame");
    const found: unknown = JSON.parse(frame.data);
    check(isObject(found), "a row that is an object", found);
    if (wanted(found)) return found;
  }
}

type Row = Readonly<Record<string, unknown>>;

async function listRuns(context: Context, query: Query = {}): Promise<readonly Row[]> {
  const answer = await context.http.ask("GET", "/runs", { query });
  checkStatus(answer, 200);
  check(Array.isArray(answer.json) && answer.json.every(isObject), "a list of runs", answer);
  return answer.json;
}

/** The bytes of all histories, the statuses, and the rows of the runs. */
async function lookBack(context: Context, turns: readonly StartedTurn[]): Promise<unknown> {
  const rows = await listRuns(context);
  return Promise.all(
    turns.map(async (turn) => {
      const path = `${context.path(turn.role)}/getevents/${turn.runId}`;
      const { text } = await context.http.ask("GET", path, { query: { since: 0 } });
      const row = rows.find(({ run_id }) => run_id === turn.runId);
      return { text, row, status: await context.status(turn) };
    }),
  );
}

function checkTimes(times: Row): void {
  for (const [name, time] of Object.entries(times)) {
    check(typeof time === "string" && !Number.isNaN(Date.parse(time)), `${name} as a time`, time);
  }
}
