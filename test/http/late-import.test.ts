/** @module-tag long */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { createProject, startProgram } from "../cli/command.ts";

const ADAPTER = pathToFileURL(
  join(import.meta.dirname, "../../node_modules/@hono/node-server/dist/index.mjs"),
).href;

const PROGRAM = `
const { getRequestListener } = await import(process.env.ADAPTER);
// Replaces the global Response.
getRequestListener(() => new Response("other"));
const { createRuntime, defineAgent } = await import("troupe");
const { serve } = await import("troupe/node");
const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });
const { url } = await serve(createRuntime({ agents: [echo] }), { port: 0 });
const body = JSON.stringify({ type: "ChatRequest", input: "whole" });
const headers = { "content-type": "application/json" };
const response = await fetch(url + "/echo/stream_request", { method: "POST", headers, body });
console.log(await response.text());
process.exit(0);
`;

test("streams are whole in a program that has used Hono's adapter before it loads troupe", async () => {
  const cwd = await createProject({ "late.mjs": PROGRAM });
  const program = startProgram(process.execPath, ["late.mjs"], { cwd, env: { ADAPTER } });
  expect(await program.exited).toBe(0);
  expect(program.output()).toMatch(/"type":"RequestCompleted".*"result":"whole"/);
  expect(program.output()).not.toContain("Error");
});
