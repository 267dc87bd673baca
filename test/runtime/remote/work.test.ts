import { defineAgent, defineTool } from "troupe";
import type { Agent } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ArtifactId } from "../../../src/protocol/ids.ts";
import { markAgent } from "../../../src/runtime/agent/definition/check-definition.ts";
import type { RemoteSession } from "../../../src/runtime/agent/remote-port.ts";
import { TestHost } from "../test-host.ts";

async function* noBytes(): AsyncGenerator<Uint8Array, void> {}

test("a remote agent that continues after its call ended does not keep the turn from waiting, and adds no files to it", async () => {
  const places: RemoteSession[] = [];
  const elsewhere: Agent = markAgent({
    ...defineAgent({ name: "elsewhere", purpose: "Never answers.", chat() {} }),
    remote: {
      known: true,
      ready: async () => {},
      perform: (_, place) => {
        places.push(place);
        return new Promise(() => {});
      },
      abandon() {},
    },
  });
  const boss = defineAgent({
    name: "boss",
    purpose: "Has somebody fail, and asks.",
    uses: { elsewhere },
    tools: [
      defineTool({
        name: "fail",
        description: "Calls somebody and fails.",
        input: z.object({}),
        async run(_, turn) {
          turn.call(elsewhere, "chat", { input: "work" }).catch(() => {});
          await turn.sleep(10);
          throw new Error("it failed");
        },
      }),
    ],
    async chat(_, turn) {
      const [fail] = boss.tools;
      if (fail) await turn.tool(fail as never, {}).catch(() => {});
      await turn.waitForInput({ go: "Go on?" });
    },
  });
  const host = new TestHost({ agents: [boss, elsewhere] });
  const { requestId } = await host.ask("boss", { type: "ChatRequest", input: "begin" });
  await host.environment.advance(10);
  const [place] = places;
  expect(place?.signal.aborted).toBe(true);
  place?.began(place.newCall(), "tool", { agent: "elsewhere", depth: 0 });
  place?.busy(true);
  const file = {
    artifactId: "late" as ArtifactId,
    name: "late.txt",
    mimeType: "text/plain",
    body: noBytes(),
  };
  await expect(place?.store(file)).rejects.toThrow("aborted");
  expect(await host.artifacts.get(file.artifactId)).toBeUndefined();
  await host.environment.advance(3_600_000);

  expect(await host.runtime.status(requestId)).toMatchObject({ status: "waiting" });
});

test("a remote agent is informed of a cancel of a turn whose code had not reached its call again", async () => {
  const abandoned: unknown[] = [];
  const elsewhere: Agent = markAgent({
    ...defineAgent({ name: "elsewhere", purpose: "Asks, and never answers.", chat() {} }),
    remote: {
      known: true,
      ready: async () => {},
      async perform(_, place) {
        const voice = { agent: "elsewhere", depth: 0 };
        const give = async (): Promise<void> => {};
        void place.ask(voice, { callId: place.newCall(), questions: { go: "Go on?" }, give });
        await place.keep("what it is called there");
        return new Promise(() => {});
      },
      abandon: (kept) => void abandoned.push(kept),
    },
  });
  const boss = defineAgent({
    name: "boss",
    purpose: "Does this and that, then calls somebody.",
    uses: { elsewhere },
    async chat(_, turn) {
      for (const step of ["this", "that"]) await turn.effect(step, () => step);
      await turn.call(elsewhere, "chat", { input: "work" });
    },
  });
  const host = new TestHost({ agents: [boss, elsewhere] });
  const { requestId } = await host.ask("boss", { type: "ChatRequest", input: "begin" });
  host.crash();
  await host.restart();

  // The answer runs the code again from its start.
  const request_keys = { go: "yes" };
  const answer = host.runtime.process("boss", {
    type: "ResumeWithInput",
    request_id: requestId,
    request_keys,
  });
  answer.catch(() => {});
  await host.ask("boss", { type: "CancelRequest", request_id: requestId });

  expect(abandoned).toEqual(["what it is called there"]);
});
