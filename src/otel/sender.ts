import { AgentError } from "../errors.ts";
import type { Attributes, LogSpan } from "./span.ts";
import { toReadableSpan, toResource } from "./readable-span.ts";
import type { ReadableSpan, TraceResource } from "./readable-span.ts";

/** What spans are given to: an exporter of OpenTelemetry, for example `OTLPTraceExporter`. */
export interface TraceExporter {
  export(
    spans: ReadableSpan[],
    done: (result: { readonly code: number; readonly error?: Error }) => void,
  ): void;
  shutdown(): Promise<void>;
}

/** Collects spans and gives them to an exporter, some hundred at a time. */
export class SpanSender {
  readonly #exporter: TraceExporter;
  readonly #resource: TraceResource;
  #spans: ReadableSpan[] = [];
  /** The spans that the exporter has taken. */
  sent = 0;

  constructor(exporter: TraceExporter, attributes: Attributes) {
    this.#exporter = exporter;
    this.#resource = toResource(attributes);
  }

  /** Adds spans; those of traces that nobody wants to have recorded are left out. Resolves when there is room for more. */
  async add(spans: readonly LogSpan[]): Promise<void> {
    for (const span of spans) if (span.isSampled) this.#spans.push(toReadableSpan(span, this.#resource));
    if (this.#spans.length >= BATCH) await this.flush();
  }

  /** Resolves when the exporter has taken all spans; throws if it has not, and forgets them. */
  async flush(): Promise<void> {
    const spans = this.#spans;
    this.#spans = [];
    while (spans.length > 0) {
      // oxlint-disable-next-line no-await-in-loop -- an exporter is given one batch after the other
      await this.#export(spans.splice(0, BATCH));
    }
  }

  #export(spans: ReadableSpan[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const { length } = spans;
      const fail = (reason: string, cause?: unknown): void =>
        reject(new AgentError("unavailable", `${length} spans were not exported: ${reason}`, { cause }));
      const timer = setTimeout(() => fail(`the exporter did not answer within ${LIMIT_MS} ms`), LIMIT_MS);
      this.#exporter.export(spans, ({ code, error }) => {
        clearTimeout(timer);
        if (code !== SUCCESS) return fail(error?.message ?? "the exporter failed", error);
        this.sent += length;
        resolve();
      });
    });
  }
}

const SUCCESS = 0;

/** Spans that are exported at once, as the batch processor of OpenTelemetry has it. */
const BATCH = 512;

const LIMIT_MS = 60_000;
