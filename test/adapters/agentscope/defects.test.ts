import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import * as agents from "./harness/agents.ts";
import { Gates } from "../gates.ts";
import { anyNumber, anyText, checkResponse, lastOf, textsOf } from "./harness/objects.ts";
import { say, TestServer } from "./harness/server.ts";
import { show, shownTexts } from "./harness/web-ui.ts";

// What the protocol's first server did wrong. Each test is one fault of it that this server does not have.

test("defect 1: two requests without a session do not share a lock", async () => {
  const gates = new Gates();
  await using server = await TestServer.start([agents.gatedAgent(gates)]);
  const first = await server.open(say("go"));
  await first.until(({ object }) => object === "content");
  const second = await server.open(say("go"));
  expect((await second.until(({ object }) => object === "content")).status).toBe("in_progress");
  gates.get("go").resolve();
  expect(lastOf(await first.all()).status).toBe("completed");
  expect(lastOf(await second.all()).status).toBe("completed");
});

test("defect 2: created_at is the time of the request, not of the server's start", async () => {
  const early = Math.floor(Date.now() / 1_000);
  await using server = await TestServer.start([echo]);
  const { created_at: createdAt } = lastOf(await (await server.open(say("a"))).all());
  expect(createdAt).toBeGreaterThanOrEqual(early);
  expect(createdAt).toBeLessThanOrEqual(Math.ceil(Date.now() / 1_000));
});

test("defect 3: a stopped stream ends every content, message and the response, and can be read again", async () => {
  await using server = await TestServer.start([agents.gatedAgent(new Gates())]);
  const stream = await server.open(say("go", { session_id: "s" }));
  await stream.until(({ object }) => object === "content");
  await server.post("/agentscope/stop", { session_id: "s" });
  const objects = await stream.all();
  checkResponse(objects);
  expect(await (await server.openUrl("/agentscope/process/sessions/s/stream")).all()).toEqual(objects);
});

test("defect 4: the browser client finds the message of every delta, and shows the text as it grows", async () => {
  await using server = await TestServer.start([echo]);
  const objects = await (await server.open(say("one two three"))).all();
  const texts = objects.map((_, index) => shownTexts(show(objects.slice(0, index + 1))).join(""));
  expect([...new Set(texts)]).toEqual(["", "one ", "one two ", "one two three"]);
});

test("defect 5: a wrong body is 422 with an object as error", async () => {
  await using server = await TestServer.start([echo]);
  const answer = await server.post("/agentscope/process", { input: [{ role: "boss" }] });
  expect(answer.status).toBe(422);
  expect(await answer.json()).toMatchObject({
    error: { code: "UNPROCESSABLE", message: anyText },
  });
});

test("defect 6: a busy session is 409", async () => {
  await using server = await TestServer.start([agents.gatedAgent(new Gates())]);
  const body = say("go", { session_id: "s" });
  await (await server.open(body)).until(({ object }) => object === "content");
  expect((await server.post("/agentscope/process", body)).status).toBe(409);
});

test("defect 7: without streaming the answer is JSON", async () => {
  await using server = await TestServer.start([echo]);
  const answer = await server.post("/agentscope/process", say("hello", { stream: false }));
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(await answer.json()).toMatchObject({ object: "response", status: "completed" });
});

test("defect 8: no route is listed that does not exist, and an unknown task is 404", async () => {
  await using server = await TestServer.start([echo]);
  const { routes } = (await (await server.get("/agentscope")).json()) as {
    readonly routes: readonly string[];
  };
  expect(routes.join(" ")).not.toContain("process/stream");
  expect((await server.get("/agentscope/process/task/nope")).status).toBe(404);
});

test("defect 9: a failed response has its text, its end and its status, also as a task", async () => {
  await using server = await TestServer.start([agents.thrower]);
  const body = say("go", { session_id: "s", id: "r" });
  const last = lastOf(await (await server.open(body)).all());
  expect(textsOf(last)).toEqual(["so far "]);
  expect(last.completed_at).toEqual(anyNumber);
  expect(await (await server.get("/agentscope/process/task/r")).json()).toEqual({
    status: "error",
    result: last,
  });
});

test("defect 10: a response of nothing but an image completes and has it", async () => {
  const painter = defineAgent({
    name: "painter",
    purpose: "Paints.",
    async chat(_input, turn) {
      await turn.artifact({ name: "a.png", mimeType: "image/png", data: "png" });
    },
  });
  await using server = await TestServer.start([painter]);
  const objects = await (await server.open(say("go"))).all();
  checkResponse(objects);
  expect(lastOf(objects)).toMatchObject({
    status: "completed",
    output: [{ status: "completed", content: [{ type: "image", status: "completed" }] }],
  });
});

test("defect 11: the other protocols of that server are not served here, and say so", async () => {
  await using server = await TestServer.start([echo]);
  for (const path of ["/compatible-mode/v1/responses", "/shutdown", "/admin/shutdown", "/a2a", "/ag-ui"]) {
    expect((await server.post(path, say("hello"))).status).toBe(404);
    expect((await server.post(`/agentscope${path}`, say("hello"))).status).toBe(404);
  }
});
