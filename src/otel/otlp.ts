import type { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { AgentError } from "../errors.ts";
import type { Listener } from "../node/listener.ts";
import { exportTraces } from "./export-traces.ts";
import type { TraceExporter } from "./sender.ts";
import type { Attributes } from "./span.ts";

/**
 * Makes the exporter of OpenTelemetry for a collector that takes OTLP over HTTP: `http://localhost:4318` for example, to which
 * `/v1/traces` is added. Headers, time limits and certificates are those of `OTEL_EXPORTER_OTLP_…`. Needs the package
 * `@opentelemetry/exporter-trace-otlp-proto`.
 */
export async function otlpExporter(url: string): Promise<TraceExporter> {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
    throw new AgentError("invalid_request", `${JSON.stringify(url)} is not the address of a collector`, {
      hint: "for example http://localhost:4318",
    });
  const Exporter = await loadExporter();
  const base = url.replace(/\/+$/, "");
  return new Exporter({ url: base.endsWith(PATH) ? base : `${base}${PATH}` });
}

const PATH = "/v1/traces";

async function loadExporter(): Promise<typeof OTLPTraceExporter> {
  try {
    return (await import("@opentelemetry/exporter-trace-otlp-proto")).OTLPTraceExporter;
  } catch (cause) {
    throw new AgentError("unavailable", "traces need the package @opentelemetry/exporter-trace-otlp-proto", {
      hint: "npm install @opentelemetry/api @opentelemetry/exporter-trace-otlp-proto",
      cause,
    });
  }
}

/** What makes the spans, as the variables `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say it. */
export function resourceFrom(variables: Readonly<Record<string, string | undefined>>): Attributes {
  const { OTEL_SERVICE_NAME: name = "", OTEL_RESOURCE_ATTRIBUTES: list = "" } = variables;
  const given = list.split(",").flatMap((entry) => {
    const at = entry.indexOf("=");
    return at < 1 ? [] : [[entry.slice(0, at).trim(), decode(entry.slice(at + 1).trim())] as const];
  });
  return {
    "service.name": "troupe",
    ...Object.fromEntries(given),
    ...(name !== "" && { "service.name": name }),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

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
