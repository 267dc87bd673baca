import { expect, test } from "vitest";
import { createOpenApi } from "../../../src/http/openapi/document.ts";
import { exampleOf } from "../../../src/console/api/example.ts";
import { readApi, referencesIn } from "../../../src/console/api/operations.ts";
import { missingIn, toApiRequest } from "../../../src/console/api/request.ts";
import { toCurl } from "../../../src/console/parts/curl.ts";
import { parseRequest } from "../../../src/protocol/requests/parse.ts";

const { operations, schemas } = readApi(createOpenApi(["echo", "team"]));

test("every route of the server is listed with its summary, and only those of an agent have an agent", () => {
  const process = operations.find(({ path }) => path === "/process");
  expect(process).toMatchObject({ method: "POST", isOfAgent: true, body: { type: "application/json" } });
  expect(operations.find(({ path }) => path === "/openapi.json")).toMatchObject({ isOfAgent: false });
  expect(operations.filter(({ summary }) => summary === "")).toEqual([]);
  expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
});

test("a request has its parameters in the path, the query and the headers, and leaves empty ones out", () => {
  const events = operations.find(({ path }) => path === "/getevents/{id}");
  if (events === undefined) throw new Error("the route is missing");
  const values = { id: "a/b c", since: "0", types: "", "Last-Event-ID": "7" };
  expect(toApiRequest(events, { agent: "te am", values })).toEqual({
    method: "GET",
    path: "/te%20am/getevents/a%2Fb%20c?since=0",
    headers: { "Last-Event-ID": "7" },
  });
  expect(missingIn(events, { agent: "", values: {} })).toEqual(["id"]);
});

test("the example of a body is a request that the server accepts", () => {
  const process = operations.find(({ path }) => path === "/process");
  const example = exampleOf(process?.body?.schema, schemas);
  expect(parseRequest(example)).toMatchObject({ ok: true });
  expect(exampleOf({ $ref: "#/components/schemas/Missing" }, schemas)).toBeNull();
});

test("a schema names the schemas that it refers to", () => {
  expect(referencesIn(schemas["Event"])).toContain("RequestStarted");
  expect(referencesIn({ items: { $ref: "#/components/schemas/A" }, not: [{ $ref: "#/x/B" }] })).toEqual([
    "A",
    "B",
  ]);
});

test("a command for a shell quotes what it contains, and takes the token from the environment", () => {
  const url = "http://localhost/echo/process?wait=completed";
  expect(toCurl({ method: "POST", url, body: { type: "application/json", text: `{"input":"it's"}` } })).toBe(
    `curl '${url}' -H 'content-type: application/json' -d '{"input":"it'\\''s"}'`,
  );
  expect(toCurl({ method: "DELETE", url: "http://localhost/runs/run_1", hasToken: true })).toBe(
    `curl -X DELETE 'http://localhost/runs/run_1' -H "authorization: Bearer $TROUPE_TOKEN"`,
  );
  expect(toCurl({ method: "GET", url: "http://localhost/", isStream: true })).toBe(
    "curl -N 'http://localhost/'",
  );
});

test("a command for a shell has the headers and the file of the request", () => {
  const url = "http://localhost/getevents/run_1";
  expect(toCurl({ method: "GET", url, headers: { "Last-Event-ID": "7" } })).toBe(
    `curl '${url}' -H 'Last-Event-ID: 7'`,
  );
  const upload = { method: "POST", url: "http://localhost/artifacts?name=a" };
  expect(toCurl({ ...upload, body: { type: "text/plain", file: "it's.txt" } })).toBe(
    `curl '${upload.url}' -H 'content-type: text/plain' --data-binary '@it'\\''s.txt'`,
  );
});
