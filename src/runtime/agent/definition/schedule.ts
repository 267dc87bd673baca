import { AgentError } from "../../../errors.ts";
import { isKey } from "../../../protocol/ids.ts";
import type { Json } from "../../../protocol/json.ts";
import type { ChatInput, ChatOperations, Operations } from "../agent.ts";
import type { OperationInput } from "../turn-api.ts";
import { toDueTimes } from "../schedule-times.ts";
import type { ScheduleTimes, DueTimes } from "../schedule-times.ts";

/** Calls an operation of an agent at fixed times. */
export interface ScheduleOptions {
  /** Five fields: minute, hour, day of the month, month, day of the week. */
  readonly cron: string;
  /** The IANA name of the time zone of the fields. Default `UTC`. */
  readonly timezone?: string;
  /** The name of an operation of the agent. */
  readonly operation: string;
  /** The input of the operation. Default `{}`. */
  readonly input?: unknown;
  /**
   * What happens when the turn of an earlier time is still open: `skip` (default) leaves this time out, `queue` starts
   * its turn afterwards.
   */
  readonly overlap?: "skip" | "queue";
}

/** The schedules of an agent by name. */
export type ScheduledOperations = { readonly [name: string]: ScheduleOptions };

/** What schedules must be, so that each calls an operation of the agent with an input that it takes. */
export type FittingSchedules<Ops extends Operations, Schedules extends ScheduledOperations> = {
  readonly [Name in keyof Schedules]: FittingSchedule<Ops, Schedules[Name]>;
};

type FittingSchedule<Ops extends Operations, Given extends ScheduleOptions> =
  // A name that is known only at run time is checked then.
  string extends Given["operation"]
    ? unknown
    : Given["operation"] extends keyof ChatOperations
      ? FittingInput<ChatInput>
      : Given["operation"] extends keyof Ops
        ? FittingInput<OperationInput<Ops[Given["operation"]]>>
        : { readonly operation: NoSuchOperation<keyof Ops | keyof ChatOperations> };

/** What stands in the error of the compiler for a name that is none of the known ones. */
export interface NoSuchOperation<Known> {
  readonly known: Known;
}

/** The input can be left out if `{}` is one. */
type FittingInput<Input> =
  Record<never, never> extends Input ? { readonly input?: Input } : { readonly input: Input };

/** A schedule of an agent. */
export interface Schedule extends DueTimes {
  readonly operation: string;
  readonly input: Json;
  readonly overlap: "skip" | "queue";
  /** The key of the run that gets its requests. */
  readonly key: string;
  /** Its times in words: if they change, the schedule starts again. */
  readonly text: string;
  readonly times: ScheduleTimes;
}

/** The schedules of an agent by name; throws an error that names the agent and the schedule. */
export function toSchedules(
  agent: string,
  operations: Operations,
  schedules: ScheduledOperations,
): { readonly [name: string]: Schedule } {
  const entries = Object.entries(schedules).map(([name, options]) => {
    const refuse = (fact: string): AgentError =>
      new AgentError("invalid_request", `schedule ${name} of agent ${agent} ${fact}`);
    return [name, toSchedule(name, operations, options, refuse)] as const;
  });
  return Object.fromEntries(entries);
}

function toSchedule(
  name: string,
  operations: Operations,
  { cron: fields, timezone = "UTC", operation, input = {}, overlap = "skip" }: ScheduleOptions,
  refuse: (fact: string) => AgentError,
): Schedule {
  const key = `schedule-${name}`;
  if (!isKey(key)) throw refuse("has a wrong name: use letters, digits and signs of _ - . : @");
  const times = { cron: fields, timezone };
  const found = toDueTimes(times, 0, refuse);
  const called = Object.hasOwn(operations, operation) ? operations[operation] : undefined;
  if (called === undefined) {
    const names = Object.keys(operations).join(", ");
    throw refuse(`calls the operation ${operation}, which the agent does not have; its operations: ${names}`);
  }
  if (called.read === true && called.logged !== true)
    throw refuse(`calls the operation ${operation}, which only reads: its answer would be lost`);
  if (overlap !== "skip" && overlap !== "queue")
    throw refuse(`has the overlap ${JSON.stringify(overlap)}; use "skip" or "queue"`);
  const checked = called.input["~standard"].validate(input);
  // An asynchronous schema is checked when the request is sent.
  if ("issues" in checked && checked.issues !== undefined)
    throw refuse(`has an input that does not fit: ${checked.issues[0]?.message ?? "unknown issue"}`);
  return {
    operation,
    input: input as Json,
    overlap,
    key,
    text: `${fields} ${timezone}`,
    times,
    ...found,
  };
}
