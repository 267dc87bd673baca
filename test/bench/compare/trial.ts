import { measure, warmUp } from "../harness/load.ts";
import type { Load } from "../harness/load.ts";
import { ServerProcess } from "../harness/server-process.ts";
import type { Setup } from "../harness/setup.ts";
import type { Row } from "../harness/turn-table.ts";

/** Something that can be measured again and again on any checkout, to compare two of them. */
export interface Trial {
  readonly what: string;
  /** Prepares the measurement on a checkout: starts a server, fills a log. */
  open(tree: string, setup: Setup): Promise<OpenTrial>;
}

export interface OpenTrial extends AsyncDisposable {
  /** One measurement: numbers by name, in each of which less is better. */
  sample(): Promise<Readonly<Record<string, number>>>;
}

/** Measures the turns of a server. */
export function turnTrial([what, name, options]: Row, load: (setup: Setup) => Load): Trial {
  return {
    what,
    async open(tree, setup) {
      const server = await ServerProcess.start(name, { ...options, tree });
      const loaded = { server, load: load(setup) };
      await warmUp(loaded, setup.warmUpTurns);
      return {
        async sample() {
          const { cpuMs, firstP50Ms } = await measure(loaded);
          return { "CPU ms a turn": cpuMs, "first event p50 ms": firstP50Ms };
        },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  };
}
