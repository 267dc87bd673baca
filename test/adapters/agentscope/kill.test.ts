/** @module-tag long */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { AgentScopeObject } from "../../../src/adapters/agentscope/index.ts";
import { ServerProcess } from "../../flows/server.ts";
import { AnswerStream } from "./harness/answer-stream.ts";
import { checkResponse, dataOf, lastOf, textsOf } from "./harness/objects.ts";
import { approve, say } from "./harness/server.ts";

const PROGRAM = fileURLToPath(new URL("harness/killed-server.ts", import.meta.url));
const SESSION = { session_id: "s", user_id: "u" };

async function send(url: string, body: object): Promise<readonly AgentScopeObject[]> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const objects = await AnswerStream.of(answer).all();
  checkResponse(objects);
  return objects;
}

async function newest(url: string, agent: string): Promise<readonly AgentScopeObject[]> {
  const path = `${url}/agentscope/${agent}/process/sessions/s/stream?user_id=u`;
  return AnswerStream.of(await fetch(path)).all();
}

test("a server that is killed while agents wait answers as before, and the answers continue", async () => {
  await using server = await ServerProcess.create(PROGRAM);
  let url = await server.start();
  const asked = await send(`${url}/agentscope/payments/process`, say("pay 30 to bob", SESSION));
  const questions = await send(`${url}/agentscope/interviewer/process`, say("go", SESSION));

  url = await server.restart();
  expect(await newest(url, "payments")).toEqual(asked);
  expect(await newest(url, "interviewer")).toEqual(questions);
  const [request] = dataOf(lastOf(asked), "mcp_approval_request");
  const yes = approve({ approval_request_id: request?.["id"], approve: true }, SESSION);
  const paid = await send(`${url}/agentscope/payments/process`, yes);
  expect(textsOf(lastOf(paid))).toEqual(["Paid 30 to bob."]);
  const colour = { input: [{ content: [{ type: "data", data: { colour: "blue" } }] }], ...SESSION };
  const again = await send(`${url}/agentscope/interviewer/process`, colour);
  expect(textsOf(lastOf(again))).toEqual(["What is your name?"]);

  url = await server.restart();
  expect(await newest(url, "payments")).toEqual(paid);
  expect(await newest(url, "interviewer")).toEqual(again);
  const end = await send(`${url}/agentscope/interviewer/process`, say("Ada", SESSION));
  expect(textsOf(lastOf(end))).toEqual(["Ada likes blue."]);
});
