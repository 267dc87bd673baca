import { toHtml } from "../http/messages/html-page.ts";
import type { Json } from "../protocol/json.ts";
import { compareReports, isFlawed, linesOf, toTable } from "./report.ts";
import type { CaseReport, EvalReport, ScoreSummary } from "./report.ts";

/**
 * Reports as one page without scripts and without requests: the scores, those of the earlier report, and each case. Several
 * reports of one data set stand side by side.
 */
export function toReportPage(reports: readonly EvalReport[], before?: EvalReport): string {
  const [first] = reports;
  const name = toHtml(first?.name ?? "");
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Evaluation of ${name}</title><style>${STYLE}</style></head><body><main>`,
    `<h1>${name}</h1>`,
    first ? summary(reports, before) : "",
    first && before ? comparison(first, before) : "",
    cases(reports),
    "</main></body></html>",
    "",
  ].join("\n");
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d8dce3, #343a44); --dim: light-dark(#5b6472, #9aa4b2);
  --good: light-dark(#0b7a3e, #4ade80); --bad: light-dark(#b42318, #f97066); --bar: light-dark(#dbe7ff, #1f3357); }
* { box-sizing: border-box }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; background: Canvas; color: CanvasText }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.5rem; margin: 0 0 .25rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
p { margin: .25rem 0 } .dim { color: var(--dim) } .good { color: var(--good) } .bad { color: var(--bad) }
.scroll { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
th { font-weight: 600; color: var(--dim); white-space: nowrap }
td.number, th.number { text-align: right; white-space: nowrap }
.mean { background: linear-gradient(to right, var(--bar) var(--part), transparent var(--part)) }
details { border-bottom: 1px solid var(--line) } summary { cursor: pointer; padding: .5rem .25rem; display: flex; gap: .75rem; flex-wrap: wrap }
summary:hover { background: var(--bar) } summary .id { font-family: ui-monospace, monospace; font-size: .85em; color: var(--dim) }
summary .text { flex: 1 1 16rem; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .25rem 0; font: .85em/1.5 ui-monospace, monospace }
.sides { display: grid; gap: 0 1.5rem; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); padding: 0 .25rem 1rem }
.sides h3 { font-size: .8rem; color: var(--dim); margin: .75rem 0 0; font-weight: 600 }
`;

function summary(reports: readonly EvalReport[], before: EvalReport | undefined): string {
  const [first] = reports;
  if (first === undefined) return "";
  const columns = reports.map((report) => report.variant ?? "now");
  const head = ["", ...columns, ...(before ? ["before"] : [])]
    .map((text, at) => `<th${at === 0 ? "" : ' class="number"'}>${toHtml(text)}</th>`)
    .join("");
  const all = [...reports, ...(before ? [before] : [])];
  const { scorers, figures } = toTable(all);
  const scores = scorers.map((name) =>
    row(
      name,
      all.map(({ scores: known }) => scoreCell(known[name])),
    ),
  );
  return [
    `<p class="dim">${first.cases.length} cases, ${toHtml(first.at)}</p>`,
    `<h2>Scores</h2><div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>`,
    ...scores,
    ...figures.map(({ what, texts }) =>
      row(
        what,
        texts.map((text) => `<td class="number">${text}</td>`),
      ),
    ),
    "</tbody></table></div>",
  ].join("\n");
}

function row(title: string, cells: readonly string[]): string {
  return `<tr><th>${toHtml(title)}</th>${cells.join("")}</tr>`;
}

function scoreCell(score: ScoreSummary | undefined): string {
  if (score === undefined) return '<td class="number dim">–</td>';
  const { mean, low, high } = score;
  const part = `--part: ${(mean * 100).toFixed(1)}%`;
  return `<td class="number mean" style="${part}">${mean.toFixed(3)} <span class="dim">${low.toFixed(2)}–${high.toFixed(2)}</span></td>`;
}

function comparison(now: EvalReport, before: EvalReport): string {
  const { worse, better, changed } = compareReports(now, before);
  const list = (ids: readonly string[]): string =>
    ids.length === 0
      ? "none"
      : ids.map((id) => `<a href="#${encodeURIComponent(id)}">${toHtml(id)}</a>`).join(", ");
  return [
    `<h2>Since ${toHtml(before.at)}</h2>`,
    `<p>Worse: <span class="${worse.length > 0 ? "bad" : "dim"}">${list(worse)}</span></p>`,
    `<p>Better: <span class="${better.length > 0 ? "good" : "dim"}">${list(better)}</span></p>`,
    `<p>Another answer, the same score: <span class="dim">${list(changed)}</span></p>`,
  ].join("\n");
}

function cases(reports: readonly EvalReport[]): string {
  const [first, ...others] = reports;
  if (first === undefined) return "";
  const parts = first.cases.map((one, at) => {
    const all = [one, ...others.flatMap((report) => report.cases[at] ?? [])];
    const titles = reports.map(({ variant }) => variant ?? "now");
    return [
      `<details id="${encodeURIComponent(one.id)}"${isFlawed(one) ? " open" : ""}>`,
      `<summary>${all.map(mark).join(" ")}<span class="text">${toHtml(toText(one.input))}</span><span class="id">${toHtml(one.id)}</span></summary>`,
      `<div class="sides">${all.map((side, index) => answer(side, all.length > 1 ? titles[index] : undefined)).join("")}`,
      one.expected === undefined
        ? ""
        : `<div><h3>Expected</h3><pre>${toHtml(toText(one.expected))}</pre></div>`,
      "</div></details>",
    ].join("\n");
  });
  return `<h2>Cases</h2>\n${parts.join("\n")}`;
}

function mark(one: CaseReport): string {
  return isFlawed(one)
    ? '<span class="bad" title="below 1">✗</span>'
    : '<span class="good" title="all scores are 1">✓</span>';
}

function answer(one: CaseReport, title: string | undefined): string {
  const reason = one.incomplete ?? one.error?.message;
  const lines = linesOf(one).map((line) => `<p class="dim">${toHtml(line)}</p>`);
  return [
    `<div><h3>${toHtml(title ?? "Answer")}</h3>`,
    `<pre>${toHtml(toText(one.output))}</pre>`,
    reason === undefined ? "" : `<p class="bad">${toHtml(reason)}</p>`,
    ...lines,
    "</div>",
  ].join("\n");
}

function toText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 1);
}
