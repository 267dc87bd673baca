import type { CallMode } from "../../protocol/actors.ts";
import type { Json } from "../../protocol/json.ts";
import { checkAddress } from "../agent/actor-address.ts";
import { checkCallOptions, toRetryPolicy } from "../agent/call-options.ts";
import type { AskOptions, ToldRequest } from "../agent/turn-api.ts";
import { INPUT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";
import { actorCallName } from "../replay/actor-request.ts";
import { actorSignature, callSignature } from "../replay/signature.ts";
import { toActorCallee, toToldRequest } from "./ask.ts";
import { attempted, call, supervised } from "./calls.ts";
import { askAttempts } from "./retry.ts";
import type { Sequence } from "./sequence.ts";

/** Asks an actor. */
export function ask(
  sequence: Sequence,
  address: unknown,
  operation: string,
  input: unknown,
  options: AskOptions,
): Promise<Json> {
  return send(sequence, "ask", address, operation, input, options);
}

/** Tells an actor something. The handler ends when all its tells have arrived. */
export function tell(
  sequence: Sequence,
  address: unknown,
  operation: string,
  input: unknown,
  options: AskOptions,
): Promise<ToldRequest> {
  const told = send(sequence, "tell", address, operation, input, options).then(toToldRequest);
  sequence.actor.tells.push(told);
  return told;
}

async function send(
  sequence: Sequence,
  mode: CallMode,
  address: unknown,
  operation: string,
  input: unknown,
  options: AskOptions,
): Promise<Json> {
  const what = `turn.${mode}`;
  checkAddress(address, what);
  const { name: agent } = address.agent;
  checkCallOptions(options, sequence.actor.describe(`${what} to ${agent}`));
  const { timeoutMs, retry } = options;
  const { key, runId } = address;
  if (address.agent.remote) {
    const place = { ...(key !== undefined && { key }), ...(runId !== undefined && { runId }) };
    return call(sequence, address.agent, operation, input, options, { mode, ...place });
  }
  const args = toJson(input, `the input of ${agent}`, INPUT_LIMIT_BYTES);
  const name = actorCallName(agent, operation);
  const callee = toActorCallee(address);
  const signature = actorSignature(mode, callee, callSignature(name, args));
  const make = askAttempts(signature, { mode, callee, address, name, args, timeoutMs }, { agent, operation });
  const { result } = attempted(sequence, toRetryPolicy(retry, "unsafe"), make);
  return mode === "ask" ? supervised(sequence.actor, result) : result;
}
