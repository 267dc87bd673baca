import type { MetricFamily } from "../../ports/metrics.ts";

/**
 * A histogram without labels for what happens very often: an observation changes three numbers, where that of the library
 * makes the key of its labels.
 */
export class FastHistogram {
  /** How many observations there were. */
  total = 0;
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  /** The observations of each bucket, without those of the buckets below it. */
  readonly #counts: number[];
  #sum = 0;

  /** `bounds` are the upper bounds of the buckets, in ascending order. */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.total += 1;
    this.#sum += value;
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
  }

  /** It in Prometheus format. */
  text(): string {
    const { name, help, type, samples } = this.family();
    const lines = samples.map(({ name: of, labels: { le }, value }) =>
      le === undefined ? `${of} ${value}` : `${of}{le="${le}"} ${value}`,
    );
    return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
  }

  family(): MetricFamily {
    const name = this.#name;
    let below = 0;
    const buckets = this.#bounds.map((bound, index) => {
      below += this.#counts[index] ?? 0;
      return { name: `${name}_bucket`, labels: { le: String(bound) }, value: below };
    });
    const samples = [
      ...buckets,
      { name: `${name}_bucket`, labels: { le: "+Inf" }, value: this.total },
      { name: `${name}_sum`, labels: {}, value: this.#sum },
      { name: `${name}_count`, labels: {}, value: this.total },
    ];
    return { name, help: this.#help, type: "histogram", samples };
  }
}
