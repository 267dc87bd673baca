import type { Call, Picker, Programs, Step, Steps } from "./program.ts";

/** A changed version of the programs: one step is changed, dropped, added or moved. */
export function mutate(programs: Programs, pick: Picker): Programs {
  const candidates = [...programs].filter(([, steps]) => steps.length > 0);
  if (candidates.length === 0) return programs;
  const [id, steps] = pick.of(candidates);
  return new Map([...programs, [id, changed(steps, pick)]]);
}

function changed(steps: Steps, pick: Picker): Steps {
  const at = pick.below(steps.length);
  const step = steps[at] as Step;
  switch (pick.below(5)) {
    case 0:
      return steps.toSpliced(at, 1);
    case 1:
      return steps.toSpliced(at, 0, { do: "text", content: "new", awaited: true });
    case 2:
      return steps.toSpliced(at, 2, ...steps.slice(at, at + 2).toReversed());
    default:
      return steps.toSpliced(at, 1, changedStep(step, pick));
  }
}

function changedStep(step: Step, pick: Picker): Step {
  switch (step.do) {
    case "text":
      return { ...step, content: `${step.content}!` };
    case "call":
    case "start":
      return { ...step, call: changedCall(step.call) };
    case "follow":
      return { ...step, content: `${step.content}!` };
    case "together":
    case "race": {
      const at = pick.below(step.calls.length);
      return { ...step, calls: step.calls.map((call, index) => (index === at ? changedCall(call) : call)) };
    }
    case "all": {
      const at = pick.below(step.branches.length);
      const branches = step.branches.map((branch, index) =>
        index === at && branch.length > 0 ? changed(branch, pick) : branch,
      );
      return { ...step, branches };
    }
    case "now":
      return { do: "random" };
    case "random":
      return { do: "now" };
    case "choose":
      return { ...step, even: step.odd, odd: step.even };
    case "join":
    case "cancel":
    case "recall":
    case "received":
    case "config":
    case "attached":
    case "remember":
    case "breathe":
    case "fail":
      return { do: "text", content: "instead", awaited: false };
    default: {
      const never: never = step;
      return never;
    }
  }
}

function changedCall(call: Call): Call {
  switch (call.to) {
    case "agent":
      return { ...call, to: "safe" };
    case "keeper":
      return { ...call, to: "agent" };
    case "safe":
      return { ...call, to: "risky" };
    case "risky":
      return { ...call, program: call.program + 1_000 };
    case "effect":
    case "artifact":
      return { ...call, name: `${call.name}x` };
    case "sleep":
      return { ...call, ms: call.ms + 1 };
    case "receive":
      return { ...call, name: call.name === "red" ? "blue" : "red" };
    case "wait":
      return { ...call, key: `${call.key}x` };
    case "text":
      return { ...call, content: `${call.content}!` };
    case "model":
      return { to: "sleep", ms: 1 };
    case "ask":
    case "tell":
    case "remote":
      return { ...call, program: call.program + 1_000 };
    default: {
      const never: never = call;
      return never;
    }
  }
}
