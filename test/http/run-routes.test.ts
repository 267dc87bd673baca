import { expect, test } from "vitest";
import { notebook } from "../../agents/notebook.ts";
import { bodyOf, post, startApp } from "./server.ts";

test("a run is forked at the end of a turn, and both go on apart", async () => {
  await using server = await startApp({}, [notebook]);
  const first = await bodyOf(await post(server.app, "/notebook/process?wait=completed", { input: "one" }));

  const answer = await post(server.app, `/runs/${String(first["run_id"])}/fork`, { after: first["id"] });
  expect(answer.status).toBe(201);
  const forked = await bodyOf(answer);
  expect(forked).toMatchObject({ forked_from: { run_id: first["run_id"], id: first["id"] } });
  expect(answer.headers.get("location")).toBe(`/events/${String(forked["run_id"])}`);

  const request = { input: "two", run_id: forked["run_id"] };
  const second = await bodyOf(await post(server.app, "/notebook/process?wait=completed", request));
  expect(second["result"]).toContain("one");
  expect(second["result"]).toContain("two");
});

test.each([{}, { after: -1 }, { after: 1.5 }, { after: "1" }, null])(
  "a fork needs to know where (%j)",
  async (body) => {
    await using server = await startApp({}, [notebook]);
    const first = await bodyOf(await post(server.app, "/notebook/process?wait=completed", { input: "one" }));
    const answer = await post(server.app, `/runs/${String(first["run_id"])}/fork`, body);
    expect(answer.status).toBe(400);
    expect(await bodyOf(answer)).toMatchObject({ errors: [{ path: "after" }] });
  },
);

test("a run is not forked in the middle of a turn, and an unknown run not at all", async () => {
  await using server = await startApp({}, [notebook]);
  const first = await bodyOf(await post(server.app, "/notebook/process?wait=completed", { input: "one" }));
  expect((await post(server.app, `/runs/${String(first["run_id"])}/fork`, { after: 1 })).status).toBe(409);
  expect((await post(server.app, "/runs/run_unknown/fork", { after: 0 })).status).toBe(404);
});
