// Deploys changed code under runs that wait, kills the server between, and prints how the runs ended: with kept versions they end
// under the changed code, without them after it was taken back. npm run test:deploys [-- --runs 1000] [--no-keep]
import { parseArgs } from "node:util";
import { checkHeld, inParts, newProject, startServer } from "./server.ts";
import type { StartedServer } from "./server.ts";

/** How many runs were held, and how many ended in which way. */
export interface DeployReport {
  readonly held: number;
  /** How many of them `troupe check` had not named before, or had named although they went on. */
  readonly unforeseen: number;
  readonly ended: number;
  readonly ends: Readonly<Record<string, number>>;
}

export interface DeployOptions {
  readonly runs: number;
  /** Whether the server keeps the versions of its agents; otherwise the code is taken back at the end. */
  readonly keep: boolean;
  /** Whether `troupe check` says before each deploy what will be held. */
  readonly checks?: boolean;
}

const HANDLER = `await turn.text("One moment.");
    await turn.tool(book, { seat: "1A" });
    const { ok } = await turn.waitForInput({ ok: "Is it right?" });
    return "ok: " + ok;`;

/** An agent file with this handler and version, and this schema of its tool. */
function toOrder(handler: string, version = "1", seat = "z.string()", name = "order"): string {
  return `import { defineAgent, defineTool } from "troupe";
import * as z from "zod";
const book = defineTool({ name: "book", description: "Books.", input: z.object({ seat: ${seat} }), run: () => "booked" });
export const agent = defineAgent({
  name: "${name}", purpose: "Takes an order.", version: "${version}",
  async chat(_input, turn) {
    ${handler}
  },
});
`;
}

/** An agent file with a machine that asks in this state, with this context. */
function toRefund(state: string, context: string): string {
  return `import { fromMachine } from "troupe";
import { createMachine } from "xstate";
export const refund = fromMachine({
  name: "refund",
  purpose: "Asks whether to pay.",
  machine: createMachine({
    context: ${context},
    initial: "${state}",
    states: {
      ${state}: { tags: ["wait"], meta: { request_keys: { ok: "Pay?" } }, on: { resume: "paid" } },
      paid: { type: "final", output: ({ event }) => "ok: " + event.ok },
    },
    output: ({ event }) => event.output,
  }),
});
`;
}

/** The agent files. */
type AgentFiles = { readonly order: string; readonly refund: string };

export const ORIGINAL: AgentFiles = { order: toOrder(HANDLER), refund: toRefund("asking", "{ amount: 5 }") };

/** The deploys: other code of an agent, by what is changed. That of the narrowed schema fits. */
export const DEPLOYS: Readonly<Record<string, Partial<AgentFiles>>> = {
  text: { order: toOrder(HANDLER.replace("One moment.", "One minute.")) },
  "call added": {
    order: toOrder(
      HANDLER.replace("await turn.tool", 'await turn.tool(book, { seat: "0" });\n    await turn.tool'),
    ),
  },
  "call removed": { order: toOrder(HANDLER.replace('await turn.tool(book, { seat: "1A" });', "")) },
  question: { order: toOrder(HANDLER.replace("Is it right?", "Is it fine?")) },
  version: { order: toOrder(HANDLER, "2") },
  "agent removed": { order: toOrder(HANDLER, "1", "z.string()", "other") },
  "schema narrowed": { order: toOrder(HANDLER, "1", 'z.enum(["2B"])') },
  "state renamed": { refund: toRefund("questioning", "{ amount: 5 }") },
  "context field added": { refund: toRefund("asking", '{ amount: 5, currency: "EUR" }') },
};

/** Makes runs that wait, and answers a part of them under each deploy. */
export async function deployUnder({ runs, keep, checks = false }: DeployOptions): Promise<DeployReport> {
  const project = await newProject();
  const serve = (files: Partial<AgentFiles>): Promise<StartedServer> =>
    startServer(project, { ...ORIGINAL, ...files }, { args: keep ? [] : ["--no-keep-versions"] });
  try {
    let server = await serve({});
    const deploys = Object.values(DEPLOYS);
    const asked = Array.from({ length: runs }, (_, index) => {
      const files = deploys[index % deploys.length] ?? {};
      return { id: `run-${index}`, files, agent: "refund" in files ? "refund" : "order" };
    });
    await inParts(asked, ({ id, agent }) =>
      server.post(agent, { type: "ChatRequest", input: "", request_id: id }, "?wait=completed"),
    );
    let [held, unforeseen] = [0, 0];
    for (const files of deploys) {
      const foreseen = checks ? await checkHeld(project, { ...ORIGINAL, ...files }) : undefined;
      await server.kill();
      server = await serve(files);
      const mine = asked.filter((run) => run.files === files);
      await inParts(mine, ({ id, agent }) =>
        server.post(
          agent,
          { type: "ResumeWithInput", request_id: id, request_keys: { ok: id } },
          "?wait=true",
        ),
      );
      await inParts(mine, async ({ id }) => {
        const { status, run_id: runId } = await server.status(id);
        if (status === "held") held += 1;
        if (foreseen && foreseen.has(String(runId)) !== (status === "held")) unforeseen += 1;
      });
    }
    if (!keep) {
      await server.kill();
      server = await serve({});
    }
    const ends: Record<string, number> = {};
    await inParts(asked, async ({ id }) => {
      const { finish_reason: reason, result } = await server.ended(id);
      const end = String(result) === `ok: ${id}` ? String(reason) : `${String(reason)} without its answer`;
      ends[end] = (ends[end] ?? 0) + 1;
    });
    await server.kill();
    return { held, unforeseen, ended: Object.values(ends).reduce((sum, count) => sum + count, 0), ends };
  } finally {
    await project.remove();
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { runs: { type: "string", default: "1000" }, keep: { type: "boolean", default: true } },
    allowNegative: true,
  });
  const report = await deployUnder({ runs: Number(values.runs), keep: values.keep, checks: true });
  process.stdout.write(`${JSON.stringify(report)}\n`);
  if (
    report.ends["success"] !== Number(values.runs) ||
    (values.keep && report.held > 0) ||
    report.unforeseen > 0
  )
    process.exitCode = 1;
}
