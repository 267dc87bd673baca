import { isObject } from "../../../../protocol/json.ts";
import type { Case } from "../../case.ts";
import type { Context, StartedTurn } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkStatus } from "../../http-client.ts";
import type { Query } from "../../http-client.ts";
import { checkGapless, ofType, only, spokenText, toEvent, checkBrackets } from "../../wire-event.ts";
import type { WireEvent } from "../../wire-event.ts";

/** Questions of agents and their answers. */
export const waits: readonly Case[] = [
  {
    id: "35",
    title: "a wait ends the stream, and the request is waiting",
    needs: ["payments"],
    async run(context) {
      const turn = await context.startEndless("payments", "pay 30 to bob");
      const events = await context.read(turn);
      const wait = only(events, "WaitForInput");
      checkEqual(events.at(-1), wait, "the last event");
      check(isObject(wait.request_keys), "request_keys", wait);
      checkEqual(Object.keys(wait.request_keys), ["approved"], "the asked keys");
      const status = await context.status(turn);
      checkEqual(status.status, "waiting", "the status");
      checkEqual(status.request_keys, wait.request_keys, "request_keys in the status");
    },
  },
  {
    id: "35a",
    title: "wait=completed is answered with the wait",
    needs: ["payments"],
    async run(context) {
      const body = { type: "ChatRequest", input: "pay 30 to bob" };
      const answer = await context.process("payments", body, { wait: "completed" });
      const event = toEvent(bodyOf(answer, 200), answer.asked);
      checkEqual(event.type, "WaitForInput", "the type");
      await context.process("payments", { type: "CancelRequest", request_id: event.request_id });
    },
  },
  {
    id: "36",
    title: "the answer continues the same request, which does not ask again",
    needs: ["payments"],
    async run(context) {
      const turn = await context.startEndless("payments", "pay 30 to bob");
      const before = await context.read(turn);
      const answer = await context.resume(turn, { approved: true }, {}, { wait: true });
      const resumed = toEvent(bodyOf(answer, 200), answer.asked);
      checkEqual(resumed.type, "ResumeWithInput", "the type");
      checkEqual(resumed.request_keys, { approved: true }, "request_keys of the answer");
      const after = await context.read(turn);
      checkEqual(after[0], resumed, "the first event of the stream after the answer");
      checkEqual(after.at(-1)?.type, "RequestCompleted", "the last type");
      checkEqual(after.at(-1)?.finish_reason, "success", "the finish_reason");
      checkEqual(ofType(after, "WaitForInput"), [], "the waits after the answer");
      checkGapless([...before, ...after], 1);
      for (const event of after) checkEqual(event.request_id, turn.requestId, "the request_id");
      check(spokenText(after).includes("30"), "a text that mentions the payment", spokenText(after));
    },
  },
  {
    id: "36a",
    title: "an answer without wait is a 202; with wait=completed the reply is the end",
    needs: ["payments"],
    async run(context) {
      const first = await context.start("payments", "pay 30 to bob");
      await context.read(first);
      bodyOf(await context.resume(first, { approved: true }), 202);
      checkEqual((await context.read(first)).at(-1)?.type, "RequestCompleted", "the last type");
      const second = await context.start("payments", "pay 30 to bob");
      await context.read(second);
      const answer = await context.resume(second, { approved: false }, {}, { wait: "completed" });
      checkEqual(bodyOf(answer, 200).type, "RequestCompleted", "the type");
    },
  },
  {
    id: "36b",
    title: "an answer can name the run, and can be sent by stream_request",
    needs: ["payments"],
    async run(context) {
      const turn = await context.startEndless("payments", "pay 30 to bob");
      await context.read(turn);
      const body = { type: "ResumeWithInput", run_id: turn.runId, request_keys: { approved: true } };
      const path = `${context.path("payments")}/stream_request`;
      const events = await (await context.http.stream(path, { method: "POST", body })).rest();
      checkEqual(events[0]?.type, "ResumeWithInput", "the first type");
      checkEqual(events.at(-1)?.type, "RequestCompleted", "the last type");
    },
  },
  {
    id: "40",
    title: "an answer to one run is never in another run",
    needs: ["interviewer"],
    async run(context) {
      const names = ["Ada", "Grace", "Edsger"].map((name) => `${name} ${crypto.randomUUID()}`);
      const turns = await Promise.all(names.map(() => context.startEndless("interviewer", "ask me")));
      await Promise.all(turns.map(async (turn, index) => answerAll(context, turn, () => names[index] ?? "")));
      for (const [index, turn] of turns.entries()) {
        const text = JSON.stringify(await context.history(turn));
        for (const [other, name] of names.entries()) {
          check(text.includes(name) === (other === index), "only the answers of the run itself", text);
        }
      }
    },
  },
  {
    id: "41",
    title: "a wait of a called agent reaches the client, and the answer reaches the called agent",
    needs: ["team"],
    async run(context) {
      const turn = await context.startEndless("team", "buy a lamp for 5");
      const before = await context.read(turn);
      const wait = only(before, "WaitForInput");
      check(wait.depth !== 0, "a wait of a called agent", wait);
      checkEqual((await context.status(turn)).status, "waiting", "the status");
      const answer = await context.resume(turn, { approved: true }, {}, { wait: "completed" });
      const completed = bodyOf(answer, 200);
      checkEqual(completed.finish_reason, "success", "the finish_reason");
      check(String(completed.result).includes("lamp"), "a result that mentions the lamp", completed);
      checkBrackets(await context.history(turn));
    },
  },
  {
    id: "42",
    title: "a wait survives a kill of the server",
    needs: ["payments", "team", "interviewer", "restart"],
    async run(context) {
      const roles = { payments: "pay 30 to bob", team: "buy a lamp for 5", interviewer: "ask me" } as const;
      const started = await Promise.all(
        (["payments", "team", "interviewer"] as const).map(async (role) => {
          const turn = await context.start(role, roles[role]);
          return { turn, before: await context.read(turn) };
        }),
      );
      const after = await context.restart();
      for (const { turn, before } of started) {
        checkEqual(await after.history(turn), before, "the history after the restart");
        checkEqual((await after.status(turn)).status, "waiting", "the status after the restart");
        await answerAll(after, turn, (key) => (key === "approved" ? true : "Ada"));
        const events = await after.history(turn);
        checkGapless(events, 1);
        checkEqual(events.slice(0, before.length), before, "the events from before the restart");
        checkEqual(ofType(events, "WaitForInput"), ofType(before, "WaitForInput"), "the waits");
        checkEqual(only(events, "RequestCompleted").finish_reason, "success", "the finish_reason");
      }
    },
  },
  {
    id: "43",
    title: "two waits of one turn can be answered out of order",
    needs: ["interviewer"],
    async run(context) {
      const turn = await context.startEndless("interviewer", "ask me");
      const before = await context.read(turn);
      const [first, second, ...more] = ofType(before, "WaitForInput");
      check(first !== undefined && second !== undefined && more.length === 0, "two waits", before);
      const status = async (): Promise<unknown> => (await context.status(turn)).status;
      const next = bodyOf(
        await context.resume(turn, answerTo(second, "Second"), { wait_id: second.id }, { wait: "completed" }),
        200,
      );
      checkEqual(next.id, first.id, "the remaining wait");
      checkEqual(await status(), "waiting", "the status after one answer");
      bodyOf(
        await context.resume(turn, answerTo(first, "First"), { wait_id: first.id }, { wait: true }),
        200,
      );
      const stream = await context.stream(turn, { since: second.id });
      const after = await stream.rest();
      checkEqual(
        ofType(after, "ResumeWithInput").map(({ wait_id }) => wait_id),
        [second.id, first.id],
        "the answers",
      );
      const result = only(after, "RequestCompleted").result;
      check(
        /First/.test(String(result)) && /Second/.test(String(result)),
        "both answers in the result",
        result,
      );
    },
  },
  {
    id: "43c",
    title: "an open wait is in the list of waits as in the log, until it is answered",
    needs: ["payments"],
    async run(context) {
      const turn = await context.startEndless("payments", "pay 30 to bob");
      const wait = only(await context.read(turn), "WaitForInput");
      for (const path of ["/waits", `${context.path("payments")}/waits`])
        checkEqual(await listWaits(context, path, { run_id: turn.runId }), [wait], `the waits of ${path}`);
      for (const [asker, waits] of [
        [String(wait.agent), [wait]],
        ["someone-else", []],
      ] as const) {
        const query = { run_id: turn.runId, asked_by: asker };
        checkEqual(await listWaits(context, "/waits", query), waits, `the waits that ${asker} asks`);
      }
      const one = { run_id: turn.runId, total: true };
      const counted = await context.http.ask("GET", "/waits", { query: one });
      checkEqual(counted.headers.get("total-count"), "1", "the Total-Count");
      const status = await context.status(turn);
      const waitingFor = status.waiting_for;
      check(isObject(waitingFor), "waiting_for", status);
      checkEqual([waitingFor["kind"], waitingFor["wait_id"]], ["input", wait.id], "the kind and the wait");
      await context.resume(turn, { approved: false }, {}, { wait: "completed" });
      checkEqual(
        await listWaits(context, "/waits", { run_id: turn.runId }),
        [],
        "the waits after the answer",
      );
    },
  },
  {
    id: "43d",
    title: "the stream of an answer ends while an older question stays open",
    needs: ["interviewer"],
    async run(context) {
      const turn = await context.startEndless("interviewer", "ask me");
      const before = await context.read(turn);
      const [first, second] = ofType(before, "WaitForInput");
      check(first !== undefined && second !== undefined, "two waits", before);
      const path = `${context.path(turn.role)}/stream_request`;
      const answer = async (wait: WireEvent): Promise<readonly WireEvent[]> => {
        const body = {
          type: "ResumeWithInput",
          request_id: turn.requestId,
          wait_id: wait.id,
          request_keys: answerTo(wait, "Ada"),
        };
        return (await context.http.stream(path, { method: "POST", body })).rest();
      };
      const started = (await answer(second))[0];
      checkEqual([started?.type, started?.wait_id], ["ResumeWithInput", second.id], "the first event");
      checkEqual((await context.status(turn)).status, "waiting", "the status after one answer");
      checkEqual((await answer(first)).at(-1)?.type, "RequestCompleted", "the last type");
    },
  },
];

async function listWaits(context: Context, path: string, query: Query): Promise<unknown> {
  const answer = await context.http.ask("GET", path, { query });
  checkStatus(answer, 200);
  return answer.json;
}

/** Reads a turn until it waits, answers all its questions, and waits for its end. */
async function answerAll(
  context: Context,
  turn: StartedTurn,
  value: (key: string) => unknown,
): Promise<void> {
  for (const wait of ofType(await context.read(turn), "WaitForInput")) {
    const keys = answerTo(wait, value);
    bodyOf(await context.resume(turn, keys, { wait_id: wait.id }, { wait: true }), 200);
  }
  only(await context.read(turn), "RequestCompleted");
}

function answerTo(wait: WireEvent, value: string | ((key: string) => unknown)): Record<string, unknown> {
  const keys = Object.keys(isObject(wait.request_keys) ? wait.request_keys : {});
  return Object.fromEntries(keys.map((key) => [key, typeof value === "string" ? value : value(key)]));
}
