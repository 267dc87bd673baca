import type { CallId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Actor } from "./actor.ts";
import type { Schema } from "./agent.ts";
import { openCall } from "./call.ts";

/** What is asked of the caller. */
export interface Question {
  readonly callId: CallId;
  readonly logged: boolean;
  readonly questions: { readonly [key: string]: string };
  readonly schema: Schema<unknown> | undefined;
  readonly jsonSchema?: JsonObject;
}

/** Asks the caller of the turn, who may take as long as it likes. */
export function wait(caller: Actor, { callId, logged, questions, schema, jsonSchema }: Question): void {
  const { turn, speaker } = caller;
  const { recorder, journal } = turn.options;
  const call = openCall(caller, { callId, name: "wait", args: null, logged }, "wait", () => {});
  const waitId =
    journal.waits.get(callId)?.waitId ??
    recorder.event(speaker, {
      type: "WaitForInput",
      request_keys: questions,
      ...(jsonSchema && { schema: jsonSchema }),
      call_id: callId,
    }).id;
  turn.asked({ call, callId, waitId, questions, schema });
}
