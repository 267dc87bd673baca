// Stately's inspector on a server that runs: what it is sent, and the tree that it draws from it.
import { createInspector } from "@statelyai/inspect";
import type { StatelyInspectionEvent } from "@statelyai/inspect";
import { createRuntime, defineAgent, fromMachine } from "troupe";
import { serve } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { adder, createDesk } from "../runtime/machine/desk.ts";

const member = defineAgent({
  name: "member",
  purpose: "Uses a tool, and asks.",
  async chat(_input, turn) {
    const sum = await turn.tool(adder, { a: 1, b: 2 });
    await turn.waitForInput({ ok: "Fine?" });
    return String(sum);
  },
});

const desk = fromMachine({
  name: "desk",
  purpose: "Is a machine that calls an agent.",
  machine: createDesk(member),
});

/** What Stately's inspector shows: the actors as a tree, each with its newest state. */
class Drawing {
  readonly #actors = new Map<string, { readonly name: string; readonly parentId: string | undefined }>();
  readonly #states = new Map<string, string>();

  /** Takes what is sent to the inspector, as text. */
  send(event: StatelyInspectionEvent): void {
    const sent = JSON.parse(JSON.stringify(event)) as StatelyInspectionEvent;
    if (sent.type === "@xstate.actor") {
      const { sessionId, name, parentId } = sent as typeof sent & { readonly parentId?: string };
      this.#actors.set(sessionId, { name, parentId });
    }
    if (sent.type !== "@xstate.snapshot") return;
    const { status, value } = sent.snapshot as { readonly status: string; readonly value?: string };
    this.#states.set(sent.sessionId, status === "active" ? (value ?? "") : status);
  }

  get lines(): readonly string[] {
    const pathOf = (session: string): string => {
      const { name = "?", parentId } = this.#actors.get(session) ?? {};
      return parentId === undefined ? name : `${pathOf(parentId)} > ${name}`;
    };
    return [...this.#actors.keys()].map((session) =>
      `${pathOf(session)} ${this.#states.get(session) ?? ""}`.trim(),
    );
  }
}

test("a tree of runs, turns, machines and tools with their parents is drawn from a server that runs", async () => {
  const runtime = createRuntime({ agents: [desk, member] });
  const server = await serve(runtime, { drain: false });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const post = async (body: object): Promise<string> => {
    const answer = await fetch(`${server.url}/desk/process?wait=completed`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return answer.text();
  };

  const early = new Drawing();
  const first = createInspector({ send: (event) => early.send(event) });
  const attached = runtime.system.inspect(first.inspect);
  expect(await post({ type: "ChatRequest", input: "go", request_id: "asked" })).toContain("WaitForInput");
  const { run_id: runId } = (await (await fetch(`${server.url}/request/asked`)).json()) as {
    readonly run_id: string;
  };
  const open = [
    "troupe",
    `troupe > ${runId} waiting`,
    `troupe > ${runId} > c1`,
    `troupe > ${runId} > c1 > c1/machine working`,
    `troupe > ${runId} > c1 > c1/machine > help`,
    `troupe > ${runId} > c1 > c1.1`,
  ];
  await expect.poll(() => early.lines).toEqual([...open, `troupe > ${runId} > c1 > c1.1 > c1.1.1 done`]);

  // One that is attached now sees what is there now.
  const late = new Drawing();
  runtime.system.inspect(createInspector({ send: (event) => late.send(event) }).inspect);
  await expect.poll(() => late.lines.toSorted()).toEqual(open.toSorted());
  attached.unsubscribe();

  await post({ type: "ResumeWithInput", request_id: "asked", request_keys: { ok: "yes" } });
  await expect
    .poll(() => late.lines)
    .toEqual(
      expect.arrayContaining([
        `troupe > ${runId} idle`,
        `troupe > ${runId} > c1 done`,
        `troupe > ${runId} > c1 > c1/machine done`,
        `troupe > ${runId} > c1 > c1.1 done`,
      ]),
    );
  expect(early.lines).toContain(`troupe > ${runId} waiting`);
});
