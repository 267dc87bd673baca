import type { ExpectStatic } from "vitest";
import { countInOrder, toolsIn } from "../eval/scorers.ts";
import type { Event } from "../protocol/events/events.ts";
import type { Json } from "../protocol/json.ts";

declare module "vitest" {
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> {
    /** The tools were called in this order; other calls may be between them. */
    toUseTools(names: readonly string[]): R;
    /** The last turn ended with this answer: equal to a value, with a text in it, or fitting a pattern. */
    toAnswer(answer: Json | RegExp): R;
    /** All turns together cost at most so much, in the unit of the models' prices. */
    toCost(most: number): R;
  }
}

/** What a matcher answers, as `expect.extend` of vitest takes it. */
interface Matched {
  readonly pass: boolean;
  message(): string;
}

/** The events of one or more turns, in their order. */
type Events = readonly Event[];

/** Matchers for the events of turns: `expect.extend(agentMatchers)`. */
export type AgentMatchers = Parameters<ExpectStatic["extend"]>[0];

/** The matchers of `troupe/testing/vitest`. */
export const agentMatchers: AgentMatchers = {
  toUseTools(events: Events, names: readonly string[]): Matched {
    const called = toolsIn(events);
    return {
      pass: countInOrder(called, names) === names.length,
      message: () =>
        `the tools ${names.join(", ")} were expected; called were ${called.join(", ") || "none"}`,
    };
  },
  toAnswer(events: Events, answer: Json | RegExp): Matched {
    const completed = events.findLast((event) => event.type === "RequestCompleted");
    const { output = null, result = null } = completed ?? {};
    const pass =
      answer instanceof RegExp
        ? answer.test(result ?? JSON.stringify(output))
        : typeof answer === "string" && output === null
          ? (result ?? "").includes(answer)
          : JSON.stringify(output) === JSON.stringify(answer);
    const got = completed === undefined ? "no turn has ended" : `got ${JSON.stringify(output ?? result)}`;
    return {
      pass,
      message: () =>
        `the answer ${String(answer instanceof RegExp ? answer : JSON.stringify(answer))} was expected; ${got}`,
    };
  },
  toCost(events: Events, most: number): Matched {
    const costs = events.flatMap((event) =>
      event.type === "RequestCompleted" ? (event.usage?.cost ?? []) : [],
    );
    const cost = costs.reduce((sum, one) => sum + one, 0);
    return { pass: cost <= most, message: () => `a cost of at most ${most} was expected; it was ${cost}` };
  },
};
