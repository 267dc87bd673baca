import { createRandom } from "../../../src/testing/event-log/random.ts";
import { toPicker } from "../../laws/program.ts";
import type { Part } from "../../laws/model.ts";

/** One step of a remote agent. */
export type RemoteStep =
  | { readonly do: "text"; readonly content: string }
  | { readonly do: "tool"; readonly name: string }
  | { readonly do: "complete"; readonly name: string }
  | { readonly do: "ask"; readonly key: string }
  | { readonly do: "file"; readonly name: string };

/** All steps of a remote agent for one request. */
export interface RemotePart extends Part {
  readonly steps: readonly RemoteStep[];
}

/** The steps for a number; always the same. */
export function remotePart(program: number): RemotePart {
  const pick = toPicker(createRandom(program));
  const steps = Array.from({ length: pick.below(5) }, (_, index): RemoteStep => {
    const name = `far${program}x${index}`;
    switch (pick.below(6)) {
      case 0:
        return { do: "tool", name };
      case 1:
        return { do: "ask", key: name };
      case 2:
        return { do: "file", name };
      case 3:
        return { do: "complete", name };
      default:
        return { do: "text", content: name };
    }
  });
  return { steps, items: steps.map(toItem), ok: !pick.chance(20), value: { program, far: steps.length } };
}

/** The steps as they appear in a history. */
function toItem(step: RemoteStep): string {
  switch (step.do) {
    case "text":
      return `text ${step.content}`;
    case "tool":
      return `call ${step.name} {}`;
    case "complete":
      return "complete";
    case "ask":
      return `wait ${JSON.stringify({ [step.key]: `${step.key}?` })}`;
    case "file":
      return `file ${step.name}`;
    default: {
      const never: never = step;
      return never;
    }
  }
}
