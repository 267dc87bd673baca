import { createRuntime, defineAgent, defineTool, operation } from "troupe";
import type { CreateRuntimeOptions } from "troupe";
import { createMetrics } from "troupe/http";
import { serve } from "troupe/node";
import * as z from "zod";
import {
  callsTool,
  COLLECTOR,
  DELTAS,
  PORT,
  WINDOW_MS,
  WIRES,
  obeySignals,
  tick,
  toContent,
} from "./setting.ts";

/** Serves the measured agents on a log, with metrics as `troupe serve` has them. */
export async function serveTurns(
  log?: CreateRuntimeOptions["log"],
  router?: CreateRuntimeOptions["router"],
): Promise<void> {
  const metrics = createMetrics();
  const runtime = createRuntime({
    agents: [bench, asker, filler],
    // The option of a commit to compare with may have another name.
    ...(WINDOW_MS !== undefined && { textWindowMs: WINDOW_MS, commitIntervalMs: WINDOW_MS }),
    telemetry: metrics,
    ...(log && { log }),
    ...(router && { router }),
  });
  await runtime.ready();
  obeySignals(() => runtime.close());
  // Loaded only for its measurement: a commit to compare with may not have it.
  const adapters = WIRES
    ? [
        (await import("troupe/adapters/a2a")).a2a(),
        (await import("troupe/adapters/ag-ui")).agUi(),
        (await import("troupe/adapters/agentscope")).agentscope(),
        (await import("troupe/adapters/mcp")).mcp(),
        (await import("troupe/adapters/openai")).openai(),
        (await import("troupe/adapters/ui")).ui(),
      ]
    : [];
  await serve(runtime, { port: PORT, metrics, adapters });
  if (COLLECTOR !== undefined) {
    const { exportTraces, otlpExporter } = await import("troupe/otel");
    await exportTraces(runtime, { exporter: await otlpExporter(COLLECTOR), report: console.error });
  }
  console.log("READY");
}

const lookup = defineTool({
  name: "lookup",
  description: "Finds something at once.",
  input: z.object({}),
  effect: "idempotent",
  run: () => "found",
});

const bench = defineAgent({
  name: "bench",
  purpose: "Says texts, each in its own turn of the event loop or at a pace.",
  async chat(input, turn) {
    for (let index = 0; index < DELTAS; index += 1) {
      await tick(input);
      if (callsTool(index)) await turn.tool(lookup, {});
      const said = turn.text(toContent(input, index));
      // A turn may be this far ahead of its log.
      if (index % 500 === 499) await said;
    }
  },
});

const asker = defineAgent({
  name: "asker",
  purpose: "Asks something and waits for the answer.",
  async chat(_, turn) {
    await turn.waitForInput({ answer: "What now?" });
  },
});

const filler = defineAgent({
  name: "filler",
  purpose: "Fills a run with texts, a commit for some of them together.",
  operations: {
    fill: operation({
      description: "Says so many texts.",
      input: z.object({ texts: z.int(), together: z.int() }),
      async run({ texts, together }, turn) {
        for (let index = 1; index <= texts; index += 1) {
          const said = turn.text(`text ${index}`);
          if (index % together === 0) await said;
        }
      },
    }),
  },
});
