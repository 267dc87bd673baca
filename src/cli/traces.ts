import type { Client } from "../client/client-api.ts";
import { exportPast } from "../otel/export-past.ts";
import type { PastRun } from "../otel/export-past.ts";
import { otlpExporter, resourceFrom } from "../otel/otlp.ts";
import type { TraceExporter } from "../otel/sender.ts";
import { Command, Option } from "./vendor/commander.ts";
import { addConnectionOptions, connectToServer, requireServer, talk } from "./connect.ts";
import type { ConnectionOptions } from "./connect.ts";
import { EXIT, Exit } from "./exit.ts";
import { parseTime } from "./option-values.ts";
import { stderr } from "./print/terminal.ts";

interface ExportOptions extends ConnectionOptions {
  /** In milliseconds since 1970. */
  readonly since: number;
  readonly otlp: string;
  readonly agent?: string;
  readonly content: boolean;
}

/** `troupe traces`: the traces of what was. */
export function tracesCommand(): Command {
  return new Command("traces")
    .description("Exports the traces of past runs to a collector of OpenTelemetry.")
    .addHelpText("after", "\nExample: troupe traces export --since 2030-01-01 --otlp http://localhost:4318")
    .addCommand(
      addConnectionOptions(new Command("export"))
        .description("Exports the spans that ended since a time, from the log. Twice gives the same ids.")
        .addOption(
          new Option("--since <time>", "for example 2030-01-31, or with a time 2030-01-31T12:00Z")
            .argParser(parseTime)
            .makeOptionMandatory(),
        )
        .addOption(
          new Option("--otlp <url>", "the collector, which takes OTLP over HTTP: http://localhost:4318")
            .env("TROUPE_OTLP")
            .makeOptionMandatory(),
        )
        .option("--agent <name>", "only runs of this agent")
        .option("--content", "also inputs and results, which may be confidential", false)
        .action(run),
    );
}

async function run({ since, otlp, agent, content, ...options }: ExportOptions): Promise<void> {
  const client = connectToServer(options);
  await talk(client, async () => {
    await requireServer(client);
    const collector = new Collector(otlp, await otlpExporter(otlp));
    const count = await exportPast(readRuns(client, since, agent), {
      exporter: collector,
      since: new Date(since),
      resource: resourceFrom(process.env),
      content: content ? "all" : "none",
    }).catch((thrown: unknown) => {
      throw collector.refusal ?? thrown;
    });
    stderr.line(`${count} span${count === 1 ? "" : "s"} exported`);
  });
}

/** Gives spans to the exporter, and knows whether the collector has not taken them: the server is not to blame for that. */
class Collector implements TraceExporter {
  readonly #url: string;
  readonly #exporter: TraceExporter;
  refusal: Exit | undefined;

  constructor(url: string, exporter: TraceExporter) {
    this.#url = url;
    this.#exporter = exporter;
  }

  export(...[spans, done]: Parameters<TraceExporter["export"]>): void {
    this.#exporter.export(spans, (result) => {
      const { code, error } = result;
      if (code !== 0)
        this.refusal = new Exit(
          EXIT.unavailable,
          `the collector ${this.#url} has not taken the spans${error === undefined ? "" : `: ${error.message}`}`,
          "--otlp names another one",
        );
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}

/** The runs that have changed since a time, the newest first. */
async function* readRuns(client: Client, since: number, agent: string | undefined): AsyncGenerator<PastRun> {
  let cursor: string | undefined;
  do {
    // oxlint-disable-next-line no-await-in-loop -- pages follow one another
    const page = await client.runs({
      limit: 100,
      ...(agent !== undefined && { agent }),
      ...(cursor !== undefined && { cursor }),
    });
    for (const { run_id: runId, updated_at: updatedAt } of page.runs) {
      if (Date.parse(updatedAt) < since) return;
      yield { runId, events: client.run(runId).events({ soFar: true }) };
    }
    cursor = page.next;
  } while (cursor !== undefined);
}
