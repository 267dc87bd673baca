import type { Case } from "../../case.ts";
import type { Context } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { checkStatus, checkProblem } from "../../http-client.ts";
import { spokenText } from "../../wire-event.ts";

/** Refusals, and that they start nothing. */
export const refusals: readonly Case[] = [
  {
    id: "9",
    title: "a body that is not JSON is a 400, and nothing starts",
    needs: ["echo"],
    async run(context) {
      const id = context.newId();
      const whole = JSON.stringify({ type: "ChatRequest", input: "hello", request_id: id });
      for (const raw of ["", "{", whole.slice(0, -1), `${whole}}`, `\u0000${whole}`]) {
        const path = `${context.path("echo")}/process`;
        checkProblem(await context.http.ask("POST", path, { raw, query: { wait: true } }), 400);
      }
      await checkUnknown(context, id);
    },
  },
  {
    id: "9a",
    title: "an unknown type is a 400 that lists the known ones, and nothing starts",
    needs: ["echo"],
    async run(context) {
      const request_id = context.newId();
      for (const type of ["SingRequest", "xstate.stop", "__proto__"]) {
        const answer = await context.process("echo", { type, input: "hello", request_id });
        checkProblem(answer, 400);
        check(answer.text.includes("ChatRequest"), "the known types in the answer", answer);
      }
      await checkUnknown(context, request_id);
    },
  },
  {
    id: "9b",
    title: "a request with a field of the wrong type is a 400, and nothing starts",
    needs: ["echo"],
    async run(context) {
      const request_id = context.newId();
      for (const body of [
        [],
        null,
        "hello",
        { request_id },
        { type: "ChatRequest", request_id },
        { type: "ChatRequest", input: { text: "hello" }, request_id },
        { type: "ChatRequest", input: "hello", run_id: {}, request_id },
        { type: "ChatRequest", input: "hello", request_metadata: "x", request_id },
        { type: "ChatRequest", input: "hello", on_busy: "hurry", request_id },
        { type: "OperationRequest", input: {}, request_id },
      ]) {
        checkProblem(await context.process("echo", body), 400);
      }
      await checkUnknown(context, request_id);
    },
  },
  {
    id: "9c",
    title: "an unknown operation is a 404; an input that does not fit is a 422 with the path",
    needs: ["echo"],
    async run(context) {
      const request_id = context.newId();
      const body = { type: "OperationRequest", operation: "sing", input: {}, request_id };
      checkProblem(await context.process("echo", body), 404);
      const misfit = { ...body, operation: "repeat", input: { text: "a", times: "many" } };
      const { errors } = checkProblem(await context.process("echo", misfit), 422);
      check(Array.isArray(errors) && errors.length > 0, "errors with path and message", errors);
      check(JSON.stringify(errors).includes("times"), "the path to times", errors);
      await checkUnknown(context, request_id);
    },
  },
  {
    id: "9d",
    title: "only JSON is accepted, and only up to a limit",
    needs: ["echo"],
    async run(context) {
      const path = `${context.path("echo")}/process`;
      const ask = { raw: '{"type":"ChatRequest","input":"a"}', headers: { "content-type": "text/plain" } };
      checkProblem(await context.http.ask("POST", path, ask), 415);
      const huge = { type: "ChatRequest", input: "a".repeat(1_100_000) };
      checkProblem(await context.http.ask("POST", path, { body: huge }), 413);
    },
  },
  {
    id: "9e",
    title: "another method on a known path is a 405",
    needs: ["echo"],
    async run(context) {
      checkProblem(await context.http.ask("GET", `${context.path("echo")}/process`), 405);
      checkProblem(await context.http.ask("POST", `${context.path("echo")}/describe`, { body: {} }), 405);
    },
  },
  {
    id: "9f",
    title: "a page of another origin is refused",
    needs: ["echo"],
    async run(context) {
      const headers = { origin: "http://elsewhere.example" };
      const path = context.path("echo");
      checkProblem(await context.http.ask("GET", `${path}/describe`, { headers }), 403);
      const body = { type: "ChatRequest", input: "a" };
      checkProblem(await context.http.ask("POST", `${path}/process`, { headers, body }), 403);
    },
  },
  {
    id: "9g",
    title: "deep nesting and keys like __proto__ do no harm",
    needs: ["echo"],
    async run(context) {
      const path = `${context.path("echo")}/process`;
      const deep = `{"type":"ChatRequest","input":"a","request_metadata":{"a":${"[".repeat(5000)}${"]".repeat(5000)}}}`;
      checkStatus(await context.http.ask("POST", path, { raw: deep }), 400, 413);
      const raw = '{"type":"ChatRequest","input":"a","request_metadata":{"__proto__":{"polluted":true}}}';
      checkProblem(await context.http.ask("POST", path, { raw }), 400);
      checkEqual(
        spokenText(await context.read(await context.start("echo", "still here"))),
        "still here",
        "the text",
      );
    },
  },
  {
    id: "12",
    title: "an unknown run_id is a 404",
    needs: ["echo"],
    async run(context) {
      const body = { type: "ChatRequest", input: "hello", run_id: `run_${crypto.randomUUID()}` };
      checkProblem(await context.process("echo", body), 404);
    },
  },
  {
    id: "12a",
    title: "an invalid id is refused without an internal error",
    needs: ["echo"],
    async run(context) {
      for (const id of ["..%2f..%2fetc", "a%00b", "%0d%0aset-cookie:a", "x".repeat(500), "%C3%A4"]) {
        for (const path of [`/getevents/${id}`, `/request/${id}`, `/artifacts/${id}`]) {
          checkStatus(await context.http.ask("GET", path), 400, 404);
        }
      }
      const body = { type: "ChatRequest", input: "hello", request_id: "../etc/passwd" };
      checkProblem(await context.process("echo", body), 400);
    },
  },
];

async function checkUnknown(context: Context, requestId: string): Promise<void> {
  const path = `${context.path("echo")}/request/${requestId}`;
  checkStatus(await context.http.ask("GET", path), 404);
}
