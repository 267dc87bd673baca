import { copyJson } from "../../protocol/json.ts";
import { CHAT } from "../agent/agent.ts";
import type { Agent } from "../agent/agent.ts";
import { errorMessage } from "../agent/error-message.ts";
import type { MachineRequest } from "../agent/machine-port.ts";
import { parseWith } from "../agent/definition/schema.ts";
import { endRequest } from "../activation/end-request.ts";
import { isFromActor } from "../activation/mailbox.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import type { TurnInput } from "../activation/turn-input.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import type { RunContext } from "../run-context.ts";

/** A request of an operation, and the agent whose machine it is for. */
export interface AskedMachine extends MachineRequest {
  readonly agent: Agent;
}

/** A request of an operation for an agent that is a state machine; `undefined` for any other request. */
export function toMachineRequest(
  { secrets, agents }: RunContext,
  { runId, state }: RunLedger,
  { requestId, request, agent: name }: AcceptedRequest,
): AskedMachine | undefined {
  const agent = agents.find(name);
  if (agent?.machine === undefined || request.type !== "OperationRequest") return undefined;
  if (request.operation === CHAT) return undefined;
  const config = state.config ? secrets.reveal(state.config.args) : {};
  return { requestId, runId, request, config, agent };
}

/** Whether a request for a machine joins the open turn of its run. */
export function mayJoinTurn(accepted: AcceptedRequest): boolean {
  return accepted.request.on_busy === undefined || isFromActor(accepted);
}

/**
 * Gives an operation to the machine of the open turn, in one commit: the request with its end, and the new state of the
 * machine. Throws `not_accepted` if the machine does not take it, and writes nothing then. Returns the encoded
 * RequestStarted; `undefined` if the turn has ended in the meantime.
 */
export async function joinTurn(
  context: RunContext,
  ledger: RunLedger,
  turn: TurnInput,
  accepted: AcceptedRequest,
  { agent, ...asked }: AskedMachine,
): Promise<string | undefined> {
  const { operation: name } = asked.request;
  const declared = agent.operations[name]?.input;
  const input = declared
    ? await parseWith(declared, copyJson(asked.request.input), `the input of ${agent.name}.${name}`)
    : asked.request.input;
  const machine = await turn.machine();
  const open = ledger.started;
  if (machine === undefined || machine.ended || open === undefined) return undefined;
  // From the check to the end of the request nothing is awaited, so that no result or delay comes in between.
  machine.check(asked, input);
  const speaker = ledger.speakerOf(accepted);
  ledger.accept(accepted);
  context.telemetry.accepted(agent.name);
  const started = ledger.start(speaker, accepted, context.agents.versionOf(agent));
  const error = machine.join(asked, input, (callId) => {
    const body = asked.request.input;
    ledger.hand(ledger.speakerOf(open.accepted), accepted.requestId, { name, body, callId });
  });
  const end =
    error === undefined
      ? ({ finishReason: "success" } as const)
      : ({ finishReason: "error", error: { code: "agent_error", message: errorMessage(error) } } as const);
  endRequest(context, ledger, speaker, accepted, { ...end, result: null, output: null });
  ledger.save();
  return started.text;
}
