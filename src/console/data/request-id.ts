import { useMemo } from "preact/hooks";
import { randomId } from "../../client/wire/random-id.ts";
import type { RequestId } from "../../protocol/ids.ts";

/**
 * The id of the request that sends what a person has written, another one after each change of it. When the answer to it
 * was lost, sending the same again does not start a second turn.
 */
export function useRequestId(...written: readonly unknown[]): RequestId {
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- The id changes with what was written, and needs nothing of it.
  return useMemo(() => randomId("req_"), written);
}
