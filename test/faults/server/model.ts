import { setImmediate } from "node:timers/promises";
import type { Model } from "troupe";
import type { OutsideServices } from "./services.ts";

/** A model that streams four words and records each request. */
export function createModel({ outside, reached }: OutsideServices): Model {
  return {
    name: "fixture",
    async *generate(input, { callId }) {
      const { requestId, key } = input as { readonly requestId: string; readonly key: string };
      outside.act({ kind: "completion", key, requestId, callId });
      for (const text of ["I ", "think ", "so", "."]) {
        await setImmediate();
        yield { type: "text", text };
        reached("in the middle of a completion");
      }
      reached("after completion, before its result");
      yield { type: "result", result: key, usage: { output_tokens: 4 } };
    },
  };
}
