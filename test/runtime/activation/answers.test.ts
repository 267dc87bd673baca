import { defineAgent } from "troupe";
import type { Receipt } from "troupe";
import type { Json, RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType } from "../../agents/events.ts";
import { TestHost, asked } from "../test-host.ts";

const patient = defineAgent({
  name: "patient",
  purpose: "Prepares, then asks while it does something else.",
  async chat(_input, turn) {
    for (const step of ["one", "two", "three"]) await turn.effect(step, () => step);
    const answer = turn.waitForInput({ name: "Your name?" });
    await turn.sleep(1_000);
    const { name } = await answer;
    return name as string;
  },
});

test("an answer is accepted before a continued turn has reached its wait again", async () => {
  const host = new TestHost({ agents: [patient] });
  await host.ask("patient", { type: "ChatRequest", input: "", request_id: asked });

  const restarted = host.restart();
  const answer = host.runtime.process("patient", {
    type: "ResumeWithInput",
    request_id: asked,
    request_keys: { name: "Ann" },
  });
  await restarted;
  await host.environment.advance(1_000);

  await expect(answer).resolves.toMatchObject({ kind: "resume", replayed: false });
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", result: "Ann" });
});

const changing = defineAgent({
  name: "changing",
  purpose: "Asks twice with one object.",
  async chat(_input, turn) {
    const asks: { [key: string]: string } = { name: "Your name?" };
    const name = turn.waitForInput(asks);
    delete asks["name"];
    asks["mail"] = "Your address?";
    const mail = turn.waitForInput(asks);
    return JSON.stringify(await Promise.all([name, mail]));
  },
});

test.each([false, true])(
  "a wait keeps its questions when the code changes their object (restart: %s)",
  async (restarts) => {
    const host = new TestHost({ agents: [changing] });
    await host.ask("changing", { type: "ChatRequest", input: "", request_id: asked });
    const waits = ofType(await host.events(asked), "WaitForInput");
    expect(waits.map(({ request_keys: questions }) => questions)).toEqual([
      { name: "Your name?" },
      { mail: "Your address?" },
    ]);
    if (restarts) await host.restart();
    for (const [index, answer] of [{ name: "Ada" }, { mail: "ada@example.com" }].entries()) {
      await host.ask("changing", {
        type: "ResumeWithInput",
        request_id: asked,
        wait_id: waits[index]?.id ?? 0,
        request_keys: answer,
      });
    }
    expect(await host.runtime.status(asked)).toMatchObject({
      result: '[{"name":"Ada"},{"mail":"ada@example.com"}]',
    });
  },
);

const counting = defineAgent({
  name: "counting",
  purpose: "Asks for a number.",
  async chat(_input, turn) {
    const { n } = await turn.waitForInput(z.object({ n: z.number() }));
    return String(n);
  },
});

test("runs whose answers are refused are passivated again, so that idleRuns still limits the runs in memory", async () => {
  const host = new TestHost({ agents: [counting], limits: { idleRuns: 10 } });
  const requestIds = Array.from({ length: 30 }, (_, index) => `asked-${index}` as RequestId);
  const answerWith = (requestId: RequestId, n: Json): Promise<Receipt> =>
    host.ask("counting", { type: "ResumeWithInput", request_id: requestId, request_keys: { n } });
  for (const requestId of requestIds)
    await host.ask("counting", { type: "ChatRequest", input: "", request_id: requestId });
  expect(host.runtime.health().activeRuns).toBeLessThanOrEqual(10);

  const { commits } = host;
  for (const requestId of requestIds)
    await expect(answerWith(requestId, "no")).rejects.toMatchObject({ code: "unprocessable" });
  expect(host.commits).toBe(commits);
  expect(host.runtime.health().activeRuns).toBeLessThanOrEqual(10);

  for (const requestId of requestIds) await answerWith(requestId, 7);
  for (const requestId of requestIds)
    expect((await host.events(requestId)).at(-1)).toMatchObject({ finish_reason: "success", result: "7" });
});
