import type { VNode } from "preact";
import { compareReports, isFlawed, linesOf, toTable } from "../../eval/report.ts";
import type { CaseReport, EvalReport, ReportPage } from "../../eval/report.ts";
import type { Json } from "../../protocol/json.ts";
import { useConsole } from "../app/context.ts";
import { readEvaluation } from "../data/inspect.ts";
import { useResource } from "../data/resource.ts";
import { RefusalNote } from "../parts/refusal.tsx";
import { State } from "../parts/state.tsx";
import { SumsTable } from "./sums-table.tsx";

interface EvaluationViewProps {
  /** The data sets of the project. */
  readonly names: readonly string[];
  /** The one that is shown. */
  readonly name: string;
  onSelect(name: string): void;
}

/** What the newest evaluation of a data set has found: the scores, what is different from the one before, and each case. */
export function EvaluationView({ names, name, onSelect }: EvaluationViewProps): VNode {
  const { server } = useConsole();
  const { value, error } = useResource(`${server.url} ${name}`, async (signal) => ({
    name,
    ...(name === "" ? { reports: [] } : await readEvaluation(server, name, signal)),
  }));
  return (
    <div class="sums-body">
      {names.length > 0 && (
        <select
          class="input"
          aria-label="Data set"
          value={name}
          onChange={({ currentTarget }) => onSelect(currentTarget.value)}
        >
          {names.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
      {error !== undefined && <RefusalNote error={error} />}
      {value?.name === name ? <Page {...value} /> : <div aria-busy="true" />}
    </div>
  );
}

function Page({ name, reports, before }: ReportPage & { readonly name: string }): VNode {
  const [report] = reports;
  if (report === undefined)
    return (
      <p class="second">
        {name === "" ? (
          <>
            There is no data set. <b>Add to data set</b> on the page of a run makes one.
          </>
        ) : (
          <>
            Nothing is known of it yet: <code>npx troupe eval run {name}</code> does its conversations again.
          </>
        )}
      </p>
    );
  const all = [...reports, ...(before === undefined ? [] : [before])];
  const titles = [...reports.map(({ variant }) => variant ?? "now"), "before"];
  return (
    <>
      <div class="scores">
        <SumsTable
          title={`${report.cases.length.toLocaleString()} cases, ${WHEN.format(new Date(report.at))}`}
          rows={toRows(all)}
          keyOf={([what = ""]) => what}
          columns={[
            { label: "Score", isText: true, cell: ([what]) => what },
            ...all.map((_, at) => ({
              label: titles[at] ?? "before",
              cell: (row: readonly string[]) => row[at + 1],
            })),
          ]}
          none=""
        />
      </div>
      {before !== undefined && <Changes now={report} before={before} />}
      <section class="sums" aria-label="Cases">
        <h2>Cases</h2>
        {report.cases.slice(0, SHOWN).map((one, at) => (
          <Case key={one.id} sides={reports.map(({ cases }) => cases[at])} titles={titles} />
        ))}
        {report.cases.length > SHOWN && (
          <p class="second">
            The first {SHOWN}. <code>evals/.kept/{name}/newest.html</code> has all.
          </p>
        )}
      </section>
    </>
  );
}

const SHOWN = 200;
const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** The means of the scores with their 95 % confidence, then the other figures. */
function toRows(all: readonly EvalReport[]): readonly (readonly string[])[] {
  const { scorers, figures } = toTable(all);
  return [
    ...scorers.map((name) => [
      name,
      ...all.map(({ scores: { [name]: score } }) =>
        score === undefined
          ? "–"
          : `${score.mean.toFixed(3)} (${score.low.toFixed(2)}–${score.high.toFixed(2)})`,
      ),
    ]),
    ...figures.map(({ what, texts }) => [what, ...texts]),
  ];
}

function Changes({ now, before }: { readonly now: EvalReport; readonly before: EvalReport }): VNode {
  const { worse, better, changed } = compareReports(now, before);
  return (
    <p class="note-line">
      Since {WHEN.format(new Date(before.at))}:{" "}
      <span class={worse.length > 0 ? "state failed" : ""}>{worse.length} worse</span>, {better.length}{" "}
      better, {changed.length} with another answer.
    </p>
  );
}

interface CaseProps {
  /** The case in each report. */
  readonly sides: readonly (CaseReport | undefined)[];
  readonly titles: readonly string[];
}

function Case({ sides, titles }: CaseProps): VNode {
  const [first] = sides;
  if (first === undefined) return <></>;
  const isBad = sides.some((one) => one !== undefined && isFlawed(one));
  return (
    <details class="case" open={isBad}>
      <summary>
        <State name={isBad ? "failed" : "done"} word={isBad ? "below 1" : "as wanted"} />
        <span class="one-line">{toText(first.input)}</span>
      </summary>
      <div class="case-sides">
        {sides.map(
          (one, at) =>
            one && (
              <div key={titles[at]}>
                <h3>{sides.length > 1 ? titles[at] : "Answer"}</h3>
                <pre>{toText(one.output)}</pre>
                {(one.incomplete ?? one.error) !== undefined && (
                  <p class="state failed">{one.incomplete ?? one.error?.message}</p>
                )}
                {linesOf(one).map((line) => (
                  <p key={line} class="second">
                    {line}
                  </p>
                ))}
              </div>
            ),
        )}
        {first.expected !== undefined && (
          <div>
            <h3>Expected</h3>
            <pre>{toText(first.expected)}</pre>
          </div>
        )}
      </div>
    </details>
  );
}

function toText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 1);
}
