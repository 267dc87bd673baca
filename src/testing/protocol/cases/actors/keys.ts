import type { Case } from "../../case.ts";
import { repeat } from "../../context.ts";
import type { Context } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkProblem, checkStatus } from "../../http-client.ts";
import { checkGapless, ofType, only } from "../../wire-event.ts";

/** Runs that are addressed by agent and key. */
export const keys: readonly Case[] = [
  {
    id: "61",
    title: "the first request with a key creates the run, and the next one continues it",
    needs: ["notebook"],
    async run(context) {
      const key = `a:${context.newId()}@b.c`;
      const first = await context.start("notebook", "milk", { key });
      await context.read(first);
      const second = await context.start("notebook", "eggs", { key });
      checkEqual(second.runId, first.runId, "the run of the second request");
      const said = only(await context.read(second), "RequestCompleted").result;
      check(/milk[^]*eggs/.test(String(said)), "a text that mentions both", said);
      const [run, ...others] = await runsOf(context, key);
      checkEqual([run?.["run_id"], run?.["key"]], [first.runId, key], "the run in the list");
      checkEqual(others, [], "other runs with the key");
    },
  },
  {
    id: "61a",
    title: "first requests with one key at the same time create one run",
    needs: ["notebook"],
    async run(context) {
      const key = context.newId();
      const turns = await repeat(context.times(6, 8), 8, (index) =>
        context.process("notebook", { type: "ChatRequest", input: `note ${index}`, key }),
      );
      const runs = new Set(turns.map((answer) => bodyOf(answer, 202)["run_id"]));
      checkEqual(runs.size, 1, "the number of runs");
      checkEqual((await runsOf(context, key)).length, 1, "the number of runs in the list");
    },
  },
  {
    id: "61b",
    title: "a key of another form is a 400, a key with the run of another one a 409, an unknown one a 404",
    needs: ["notebook"],
    async run(context) {
      const ask = (body: object): ReturnType<Context["process"]> => context.process("notebook", body);
      for (const key of ["a b", "", "ä", "x".repeat(129), 7])
        checkProblem(await ask({ type: "ChatRequest", input: "x", key }), 400);
      const [own, other] = [context.newId(), context.newId()];
      const turn = await context.start("notebook", "milk", { key: own });
      await context.read(turn);
      await context.read(await context.start("notebook", "eggs", { key: other }));
      const before = await context.history(turn);
      checkProblem(await ask({ type: "ChatRequest", input: "x", key: other, run_id: turn.runId }), 409);
      checkEqual(await context.history(turn), before, "the history after the refusal");
      const unknown = context.newId();
      checkProblem(await ask({ type: "ResumeWithInput", key: unknown, request_keys: {} }), 404);
      checkProblem(await ask({ type: "ConfigureRequest", key: unknown, args: {} }), 404);
      checkEqual(await runsOf(context, unknown), [], "the runs with the unknown key");
    },
  },
  {
    id: "61c",
    title: "the removal of a run frees its key, and its request ids stay used",
    needs: ["notebook"],
    async run(context) {
      const key = context.newId();
      const body = { type: "ChatRequest", input: "milk", key, request_id: context.newId() };
      const answer = await context.process("notebook", body, { wait: "completed" });
      const { run_id: removed } = bodyOf(answer, 200);
      checkStatus(await context.http.ask("DELETE", `/runs/${String(removed)}`), 200, 204);
      checkProblem(await context.process("notebook", body), 410);
      const next = await context.start("notebook", "eggs", { key });
      check(next.runId !== removed, "another run", next.started);
      const events = await context.read(next);
      checkGapless(events, 1);
      checkEqual(ofType(events, "RequestStarted").length, 1, "the number of turns");
    },
  },
];

async function runsOf(context: Context, key: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const listed = await context.http.ask("GET", `${context.path("notebook")}/runs`, { query: { key } });
  checkStatus(listed, 200);
  check(Array.isArray(listed.json), "a list of runs", listed);
  return listed.json as readonly Readonly<Record<string, unknown>>[];
}
