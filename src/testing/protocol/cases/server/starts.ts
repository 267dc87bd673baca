import type { Case } from "../../case.ts";
import { repeatRequest } from "../../roles.ts";
import { toTurn } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkProblem } from "../../http-client.ts";
import { checkWholeTurn, ofType, spokenText, toEvent } from "../../wire-event.ts";

/** Starting turns, in new and existing runs. */
export const starts: readonly Case[] = [
  {
    id: "6",
    title: "a chat with wait=true is answered with its RequestStarted",
    needs: ["echo"],
    async run(context) {
      const { started } = await context.start("echo", "hello there");
      checkEqual(started.operation, "chat", "the operation");
      checkEqual(started.input, "hello there", "the input");
      checkEqual(started.depth, 0, "the depth");
    },
  },
  {
    id: "6a",
    title: "a chat with wait=completed is answered with its RequestCompleted",
    needs: ["echo"],
    async run(context) {
      const body = { type: "ChatRequest", input: "hello there" };
      const answer = await context.process("echo", body, { wait: "completed" });
      const completed = toEvent(bodyOf(answer, 200), answer.asked);
      checkEqual(completed.type, "RequestCompleted", "the type");
      checkEqual(completed.result, "hello there", "the result");
    },
  },
  {
    id: "6b",
    title: "wait can be in the body, and be spelled True or 1",
    needs: ["echo"],
    async run(context) {
      for (const query of [{ wait: "True" }, { wait: "1" }]) {
        const answer = await context.process("echo", { type: "ChatRequest", input: "a" }, query);
        checkEqual(bodyOf(answer, 200).type, "RequestStarted", "the type");
      }
      const answer = await context.process("echo", { type: "ChatRequest", input: "a", wait: true });
      checkEqual(bodyOf(answer, 200).type, "RequestStarted", "the type");
    },
  },
  {
    id: "6c",
    title: "a request can name its callers; one that is nested too deep is a 409 and starts nothing",
    needs: ["echo"],
    async run(context) {
      const caller = [{ server: "https://far.example", run_id: "run_far", request_id: "req_far" }];
      const turn = await context.start("echo", "hello", { caller, depth: 1 });
      checkWholeTurn(await context.read(turn), "success");
      const itself = { run_id: turn.runId, request_id: turn.requestId };
      for (const fields of [{ depth: 1_000_000 }, { caller: Array.from({ length: 32 }, () => itself) }]) {
        const request_id = context.newId();
        const body = { type: "ChatRequest", input: "hello", request_id, ...fields };
        const answer = await context.process("echo", body, { wait: true });
        checkProblem(answer, 409);
        checkEqual(bodyOf(answer, 409).code, "too_deep", "the code");
        checkProblem(await context.http.ask("GET", `${context.path("echo")}/request/${request_id}`), 404);
      }
      for (const fields of [
        { depth: -1 },
        { caller: "me" },
        { caller: [{ run_id: "run_1" }] },
        { caller: Array.from({ length: 33 }, () => caller[0]) },
      ]) {
        checkProblem(await context.process("echo", { type: "ChatRequest", input: "hello", ...fields }), 400);
      }
    },
  },
  {
    id: "7",
    title: "a chat without wait is a 202 whose Location is the path of the events",
    needs: ["echo"],
    async run(context) {
      const answer = await context.process("echo", { type: "ChatRequest", input: "hello there" });
      const body = bodyOf(answer, 202);
      checkEqual(Object.keys(body).toSorted(), ["request_id", "run_id"], "the keys of the body");
      const location = answer.headers.get("location");
      check(location !== null, "a Location", answer);
      const { http } = context;
      const stream = await http.stream(http.resolve(location), { query: { stream: true } });
      const events = await stream.rest();
      checkWholeTurn(events, "success");
      checkEqual(events[0]?.request_id, body.request_id, "the request_id of the events");
      checkEqual(events[0]?.run_id, body.run_id, "the run_id of the events");
    },
  },
  {
    id: "8",
    title: "a body without type is a chat if it has an input",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", { input: "no type" });
      checkEqual(spokenText(await context.read(turn)), "no type", "the text");
    },
  },
  {
    id: "8a",
    title: "an operation returns text and a structured output",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", repeatRequest("ab", 3));
      checkEqual(turn.started.operation, "repeat", "the operation");
      checkEqual(turn.started.input, { text: "ab", times: 3 }, "the input");
      const events = await context.read(turn);
      checkEqual(
        ofType(events, "TextOutput").map(({ content }) => content),
        ["ab", "ab", "ab"],
        "the texts",
      );
      checkEqual(checkWholeTurn(events, "success").output, { text: "ababab" }, "the output");
    },
  },
  {
    id: "10",
    title: "requests without run_id, or with null, each create a run",
    needs: ["echo"],
    async run(context) {
      const turns = [
        await context.start("echo", "one"),
        await context.start("echo", "two"),
        await context.start("echo", "three", { run_id: null }),
      ];
      checkEqual(new Set(turns.map(({ runId }) => runId)).size, 3, "the number of runs");
      for (const { started } of turns) checkEqual(started.id, 1, "the id of the first event");
    },
  },
  {
    id: "11",
    title: "a request with run_id continues that run, and the agent remembers",
    needs: ["notebook"],
    async run(context) {
      const first = await context.start("notebook", "buy milk");
      await context.read(first);
      const second = await context.start("notebook", "call Ada", { run_id: first.runId });
      checkEqual(second.runId, first.runId, "the run");
      const text = spokenText(await context.read(second));
      check(text.includes("buy milk") && text.includes("call Ada"), "both notes", text);
    },
  },
  {
    id: "11a",
    title: "run_id can be in the query",
    needs: ["notebook"],
    async run(context) {
      const first = await context.start("notebook", "buy milk");
      await context.read(first);
      const body = { type: "ChatRequest", input: "call Ada" };
      const answer = await context.process("notebook", body, { wait: true, run_id: first.runId });
      checkEqual(bodyOf(answer, 200).run_id, first.runId, "the run");
    },
  },
  {
    id: "16",
    title: "any JSON in request_metadata and run_context is accepted, and is in no event",
    needs: ["echo"],
    async run(context) {
      const canary = context.newId();
      const anything = { canary, deep: [{ a: [null, 1.5, "ü\n"] }], "": {} };
      const extra = { request_metadata: anything, run_context: { user: canary } };
      const events = await context.read(await context.start("echo", "hello", extra));
      checkWholeTurn(events, "success");
      check(!JSON.stringify(events).includes(canary), "events without the metadata", events);
    },
  },
  {
    id: "29",
    title: "stream_request returns the same events as process and getevents",
    needs: ["echo"],
    async run(context) {
      const body = { type: "ChatRequest", input: "the very same words" };
      const stream = await context.http.stream(`${context.path("echo")}/stream_request`, {
        method: "POST",
        body,
      });
      const frames = await stream.restOfFrames();
      const events = frames.map(({ data }) => toEvent(data, stream.asked));
      checkWholeTurn(events, "success");
      const again = await (await context.stream(toTurn("echo", events[0]))).restOfFrames();
      checkEqual(
        again.map(({ data }) => data),
        frames.map(({ data }) => data),
        "getevents of the request",
      );
      const other = await context.read(await context.start("echo", body));
      checkEqual(other.map(toShape), events.map(toShape), "the events of the same chat by process");
    },
  },
  {
    id: "29a",
    title: "stream_request accepts no cancel and no configuration",
    needs: ["echo"],
    async run(context) {
      const path = `${context.path("echo")}/stream_request`;
      for (const body of [
        { type: "CancelRequest", request_id: context.newId() },
        { type: "ConfigureRequest", args: {} },
      ]) {
        checkProblem(await context.http.ask("POST", path, { body }), 400);
      }
    },
  },
];

function toShape({ type, role, depth, content, result }: Readonly<Record<string, unknown>>): unknown {
  return { type, role, depth, content, result };
}
