import type { Case } from "../../case.ts";
import type { Context } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { bodyOf, checkStatus, checkProblem } from "../../http-client.ts";
import type { HttpAnswer } from "../../http-client.ts";
import { checkWholeTurn, ofType, toEvent } from "../../wire-event.ts";

/** Sending the same request again. */
export const idempotency: readonly Case[] = [
  {
    id: "13",
    title: "a request that is sent many times concurrently runs once, with equal answers",
    needs: ["echo"],
    async run(context) {
      const body = chat(context, "only once");
      const send = (): Promise<HttpAnswer> => context.process("echo", body, { wait: true });
      const answers = await Promise.all(Array.from({ length: context.times(20, 50) }, send));
      for (const answer of answers) {
        checkStatus(answer, 200);
        checkEqual(answer.text, answers[0]?.text, "every answer");
      }
      const fresh = answers.filter((answer) => !isReplayed(answer));
      checkEqual(fresh.length, 1, "the number of answers without Idempotent-Replayed");
      await checkRanOnce(context, body.request_id);
    },
  },
  {
    id: "13a",
    title: "a request that is repeated after its end gets the first answer",
    needs: ["echo"],
    async run(context) {
      const body = chat(context, "only once");
      const turn = await context.start("echo", body);
      await context.read(turn);
      const again = await context.process("echo", body, { wait: true });
      check(isReplayed(again), "the header Idempotent-Replayed: true", [...again.headers]);
      checkEqual(again.json, turn.started, "the answer");
      const unawaited = await context.process("echo", body);
      checkEqual(bodyOf(unawaited, 202).run_id, turn.runId, "the run of a repeat that does not wait");
      await checkRanOnce(context, body.request_id);
    },
  },
  {
    id: "13b",
    title: "metadata, run_context, callers and wait are ignored when requests are compared",
    needs: ["echo"],
    async run(context) {
      const body = chat(context, "only once");
      const first = await context.process("echo", { ...body, request_metadata: { at: 1 } }, { wait: true });
      const again = await context.process("echo", { ...body, run_context: { at: 2 }, wait: true });
      checkEqual(bodyOf(again, 200), bodyOf(first, 200), "the answer");
      const caller = [{ run_id: "run_far", request_id: "req_far" }];
      const called = await context.process("echo", { ...body, caller, depth: 1 }, { wait: true });
      checkEqual(bodyOf(called, 200), bodyOf(first, 200), "the answer to a caller");
      await checkRanOnce(context, body.request_id);
    },
  },
  {
    id: "13c",
    title: "a number as id is read as text",
    needs: ["echo"],
    async run(context) {
      const request_id = crypto.getRandomValues(new Uint32Array(1))[0];
      const turn = await context.start("echo", { type: "ChatRequest", input: "a", request_id });
      checkEqual(turn.requestId, String(request_id), "the request_id");
    },
  },
  {
    id: "13d",
    title: "a repeated stream_request streams the existing request",
    needs: ["echo"],
    async run(context) {
      const ask = { method: "POST", body: chat(context, "only once") };
      const path = `${context.path("echo")}/stream_request`;
      const first = await (await context.http.stream(path, ask)).restOfFrames();
      checkWholeTurn(first.map(({ data }) => toEvent(data, path)));
      const again = await (await context.http.stream(path, ask)).restOfFrames();
      checkEqual(again, first, "the stream of the repeat");
    },
  },
  {
    id: "13e",
    title: "a repeated stream_request with a Last-Event-ID resumes after that event",
    needs: ["echo"],
    async run(context) {
      const body = chat(context, "one two three");
      const path = `${context.path("echo")}/stream_request`;
      const first = await (await context.http.stream(path, { method: "POST", body })).rest();
      const headers = { "last-event-id": "3" };
      const again = await context.http.stream(path, { method: "POST", body, headers });
      checkEqual(await again.rest(), first.slice(3), "the stream of the repeat");
      const all = { headers: { "last-event-id": String(first.length) }, body };
      checkStatus(await context.http.ask("POST", path, all), 204);
      await checkRanOnce(context, body.request_id);
    },
  },
  {
    id: "13f",
    title: "stream_request with a Last-Event-ID but no known request is a 409 and starts nothing",
    needs: ["echo"],
    async run(context) {
      const body = chat(context, "never");
      const path = `${context.path("echo")}/stream_request`;
      const { request_id: _, ...unnamed } = body;
      for (const ask of [
        { body, headers: { "last-event-id": "3" } },
        { body: unnamed, headers: { "last-event-id": "3" } },
        { body, query: { last_event_id: 3 } },
      ]) {
        checkProblem(await context.http.ask("POST", path, ask), 409);
      }
      const events = `${context.path("echo")}/getevents/${body.request_id}`;
      checkProblem(await context.http.ask("GET", events), 404);
    },
  },
  {
    id: "14",
    title: "the same request_id with another body is a 409",
    needs: ["echo"],
    async run(context) {
      const body = chat(context, "first");
      await context.read(await context.start("echo", body));
      checkProblem(await context.process("echo", { ...body, input: "second" }, { wait: true }), 409);
      await checkRanOnce(context, body.request_id);
    },
  },
  {
    id: "14a",
    title: "a request_id that was used for another agent is a 409",
    needs: ["echo", "notebook"],
    async run(context) {
      const body = chat(context, "hello");
      await context.start("echo", body);
      checkProblem(await context.process("notebook", body, { wait: true }), 409);
    },
  },
  {
    id: "14b",
    title: "a request_id that equals the id of a run is refused",
    needs: ["echo"],
    async run(context) {
      const { runId: request_id } = await context.start("echo", "hello");
      const answer = await context.process("echo", { type: "ChatRequest", input: "a", request_id });
      checkStatus(answer, 400, 409);
    },
  },
];

interface Chat {
  readonly type: string;
  readonly input: string;
  readonly request_id: string;
  readonly [field: string]: unknown;
}

function chat(context: Context, input: string): Chat {
  return { type: "ChatRequest", input, request_id: context.newId() };
}

function isReplayed({ headers }: HttpAnswer): boolean {
  return headers.get("idempotent-replayed") === "true";
}

async function checkRanOnce(context: Context, requestId: string): Promise<void> {
  const path = `${context.path("echo")}/getevents/${requestId}`;
  const events = await (await context.http.stream(path, { query: { stream: true } })).rest();
  checkEqual(ofType(events, "RequestStarted").length, 1, "the number of RequestStarted");
  checkEqual(ofType(events, "RequestCompleted").length, 1, "the number of RequestCompleted");
  checkEqual(events[0]?.id, 1, "the id of the first event in a run of its own");
}
