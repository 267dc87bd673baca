import type { ArtifactId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { withoutSecrets } from "../secrets/config-secrets.ts";
import type { Turn, TurnRequestInfo } from "../agent/turn-api.ts";

/** The `turn` of the event that a request becomes. A machine can keep it in its context, which the log has. */
export interface MachineTurn {
  readonly request: TurnRequestInfo;
  /** The `request_metadata` of the request. */
  readonly metadata: JsonObject;
  /** The configuration, with `{$secret: name}` in place of each secret value. */
  readonly config: JsonObject;
  readonly attachments: readonly ArtifactId[];
}

/** The event that a request becomes: the fields of its input, and the turn. */
export function toMachineEvent(
  type: string,
  fields: unknown,
  turn: Turn,
): { readonly type: string; readonly turn: MachineTurn } {
  const { request, metadata, config } = turn;
  const { args } = withoutSecrets(config, "config");
  return {
    ...(fields as JsonObject),
    turn: { request, metadata, config: args, attachments: request.attachments },
    type,
  };
}
