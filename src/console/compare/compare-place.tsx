import "../styles/compare.css";
import type { VNode } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { CallView, RunView } from "../../view/run-view.ts";
import { useConsole } from "../app/context.ts";
import { Empty } from "../parts/empty.tsx";
import { State } from "../parts/state.tsx";
import type { ConsolePlace } from "../places/place.ts";
import { callSigns } from "../../view/run-view.ts";
import { stateOfCall } from "../run/run-facts.ts";
import { useRunStore } from "../run/use-run-store.ts";
import { compareSteps, firstDifference } from "./compare.ts";
import type { ComparedStep } from "./compare.ts";

/** Two runs side by side, step by step. */
export function ComparePlace({
  place,
}: {
  readonly place: ConsolePlace & { readonly name: "compare" };
}): VNode {
  const { server } = useConsole();
  const a = useRunStore(server, place.a);
  const b = useRunStore(server, place.b);
  const steps = useMemo(() => compareSteps(a.view, b.view), [a.view, b.view]);
  const first = firstDifference(steps);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector("[data-difference]")?.scrollIntoView({ block: "center" });
  }, [first?.path]);
  const missing = [a, b].find(({ connection, view }) => connection.state === "closed" && view.head === 0);
  if (missing !== undefined) {
    return (
      <Empty title="There is no such run">
        <p>{missing.error?.message}</p>
      </Empty>
    );
  }
  const isRead = a.view.head > 0 && b.view.head > 0;
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>Compare</h1>
        <span class="second" role="status">
          {isRead &&
            (first === undefined ? "Both runs are the same." : `They begin to differ in ${first.path}.`)}
        </span>
      </div>
      <div class="compare-row compare-head">
        <span class="second">Step</span>
        <RunLink runId={place.a} />
        <RunLink runId={place.b} />
      </div>
      <ul class="list" aria-label="Steps" ref={list}>
        {steps.map((step) => (
          <Step key={step.path} step={step} a={a.view} b={b.view} isFirst={step === first} />
        ))}
      </ul>
    </div>
  );
}

function RunLink({ runId }: { readonly runId: string }): VNode {
  return (
    <a class="one-line mono" href={`#/runs/${runId}`}>
      {runId}
    </a>
  );
}

interface StepProps {
  readonly step: ComparedStep;
  readonly a: RunView;
  readonly b: RunView;
  readonly isFirst: boolean;
}

function Step({ step, a, b, isFirst }: StepProps): VNode {
  const { path, level, isDifferent } = step;
  const call = step.a ?? step.b;
  const name = call?.functionName ?? call?.name ?? "";
  return (
    <li
      class={isDifferent ? "compare-row different" : "compare-row"}
      {...(isFirst && { "data-difference": path })}
    >
      <span class="one-line" style={{ paddingInlineStart: `${Math.min(level, 8) * 12}px` }}>
        <span class="second" aria-hidden="true">
          {call && callSigns[call.kind]}{" "}
        </span>
        {level === 0 ? `${path}, ${name}` : name}
        <span class="only-read">{isDifferent ? ", different" : ", the same"}</span>
      </span>
      <Side call={step.a} view={a} />
      <Side call={step.b} view={b} />
    </li>
  );
}

function Side({ call, view }: { readonly call: CallView | undefined; readonly view: RunView }): VNode {
  if (call === undefined) return <span class="second">not called</span>;
  const said = view.parts.flatMap((one) => (one.kind === "text" && one.actor === call.key ? [one.text] : []));
  const { result, text, error, args } = call;
  const came =
    error ?? (result === undefined || result === null ? (text ?? said.join("")) : JSON.stringify(result));
  return (
    <span class="compare-side">
      <State {...stateOfCall(call, view)} />
      {args !== undefined && <span class="second clip">{toText(args)}</span>}
      {came !== "" && (
        <span class="clip" dir="auto">
          {came.slice(0, MOST)}
        </span>
      )}
    </span>
  );
}

const MOST = 600;

function toText(value: unknown): string {
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, MOST);
}
