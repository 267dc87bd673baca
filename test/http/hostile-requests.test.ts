import fc from "fast-check";
import { expect, test } from "vitest";
import { post, startApp } from "./server.ts";
import { runsLong } from "../machine/long.ts";

const odd = fc.oneof(
  fc.constantFrom(
    "__proto__",
    "constructor",
    "..",
    "%00",
    "%0d%0a",
    "%2e%2e%2f",
    "%ff",
    "NaN",
    "-1",
    "1e309",
    "true",
    "",
  ),
  fc.string({ unit: "binary", maxLength: 20 }).map((text) => encodeURIComponent(text.toWellFormed())),
);

const path = fc
  .array(
    fc.oneof(
      fc.constantFrom("echo", "payments", "describe", "process", "configure", "stream_request", "getevents"),
      fc.constantFrom(
        "events",
        "request",
        "runs",
        "artifacts",
        "schemas",
        "metrics",
        "openapi.json",
        "known",
      ),
      odd,
    ),
    { maxLength: 4 },
  )
  .map((segments) => `/${segments.join("/")}`);

const query = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        "since",
        "stream",
        "follow",
        "timeout",
        "types",
        "max_depth",
        "agent",
        "consumer",
        "wait",
        "run_id",
      ),
      fc.oneof(fc.constantFrom("0", "1", "known", "completed", "TextOutput"), odd),
    ),
    { maxLength: 4 },
  )
  .map((fields) => fields.map(([name, value]) => `${name}=${value}`).join("&"));

const field = fc.oneof(fc.jsonValue(), fc.constantFrom("known", "xstate.stop", "xstate.done.actor.x", null));

const body = fc.oneof(
  fc
    .record(
      {
        type: fc.oneof(
          fc.constantFrom(
            "ChatRequest",
            "OperationRequest",
            "ResumeWithInput",
            "CancelRequest",
            "ConfigureRequest",
          ),
          field,
        ),
        input: field,
        operation: fc.oneof(fc.constantFrom("chat", "repeat", "toString"), field),
        args: field,
        request_id: field,
        run_id: field,
        request_keys: field,
        request_metadata: field,
        on_busy: field,
        attachments: field,
        wait: field,
      },
      { requiredKeys: [] },
    )
    .map((fields) => JSON.stringify(fields)),
  fc.json(),
  fc.string({ unit: "binary" }),
);

const headers = fc.record(
  {
    "content-type": fc.constantFrom("application/json", "application/json; charset=utf-8", "text/plain"),
    "last-event-id": fc.constantFrom("", "0", "99", "-1", "x", "9".repeat(40)),
    origin: fc.constantFrom("null", "http://localhost", "http://evil.test"),
    host: fc.constantFrom("localhost", "localhost:1", "evil.test", "[::1]:80"),
    "content-length": fc.constantFrom("0", "5", "99999999999"),
  },
  { requiredKeys: ["content-type"] },
);

test("every hostile request gets a documented answer, and the next request works", async () => {
  await using server = await startApp();
  await post(server.app, "/echo/process?wait=completed", { input: "hello", request_id: "known" });
  const ask = fc.record({
    method: fc.constantFrom("GET", "POST", "DELETE", "HEAD", "PUT", "OPTIONS"),
    path,
    query,
    headers,
    body,
  });
  await fc.assert(
    fc.asyncProperty(ask, async ({ method, path, query, headers, body }) => {
      const init = method === "GET" || method === "HEAD" ? { method, headers } : { method, headers, body };
      const answer = await server.app.request(
        `http://localhost${path}?${query.replace("timeout", "t")}`,
        init,
      );
      expect(await faultOf(answer, method)).toBeUndefined();
    }),
    { numRuns: RUNS },
  );
  expect((await server.app.request("/echo/describe")).status).toBe(200);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

const RUNS = runsLong ? 1_500 : 200;

/** The fault of an answer, independent of the request. */
async function faultOf(answer: Response, method: string): Promise<string | undefined> {
  if (answer.status >= 500) return `status ${answer.status}: ${await answer.text()}`;
  if (answer.status < 400 || method === "HEAD") {
    await answer.body?.cancel();
    return undefined;
  }
  if (answer.headers.get("content-type") !== "application/problem+json")
    return "a refusal that is no problem";
  const { code, detail } = (await answer.json()) as { readonly code?: unknown; readonly detail?: unknown };
  if (typeof code !== "string" || typeof detail !== "string") return "a problem without code or detail";
  return /\bat .*\.ts:|node_modules|\/src\//.test(detail) ? `a detail of our own: ${detail}` : undefined;
}
