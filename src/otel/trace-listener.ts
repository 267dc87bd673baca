import type { Listener } from "../node/listener.ts";
import { exportTraces } from "./export-traces.ts";
import { otlpExporter, resourceFrom } from "./otlp.ts";

/** Exports the traces of a server to a collector, as long as it listens. */
export async function traceListener(
  url: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Listener> {
  const exporter = await otlpExporter(url);
  return {
    name: "traces",
    async listen(runtime, { report }) {
      const traces = await exportTraces(runtime, { exporter, resource: resourceFrom(variables), report });
      return { address: new URL(url).host, close: () => traces.close() };
    },
  };
}
