import { toHtml } from "../http/messages/html-page.ts";
import type { CaseReport, EvalReport } from "./report.ts";

/** A report as JUnit XML, which pipelines show: a case fails if a score of it is below its threshold, or it is incomplete. */
export function toJUnit(report: EvalReport, thresholds: { readonly [scorer: string]: number } = {}): string {
  const failed = report.cases.filter((one) => failureOf(one, thresholds) !== undefined).length;
  const lines = report.cases.map((one) => {
    const name = `name="${escapeXml(one.id)}" classname="${escapeXml(`${report.name}.${one.agent}`)}"`;
    const time = `time="${(one.model_ms / 1_000).toFixed(3)}"`;
    const failure = failureOf(one, thresholds);
    return failure === undefined
      ? `    <testcase ${name} ${time}/>`
      : `    <testcase ${name} ${time}><failure message="${escapeXml(failure)}"/></testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites>`,
    `  <testsuite name="${escapeXml(report.name)}" tests="${report.cases.length}" failures="${failed}" timestamp="${report.at}">`,
    ...lines,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

/** Why a case is bad; without a threshold a score must be 1. */
function failureOf(
  { scores, incomplete }: CaseReport,
  thresholds: { readonly [scorer: string]: number },
): string | undefined {
  if (incomplete !== undefined) return incomplete;
  const low = scores.find(({ name, score }) => score !== null && score < (thresholds[name] ?? 1));
  return low && `${low.name} is ${low.score}${low.reason === undefined ? "" : `: ${low.reason}`}`;
}

// oxlint-disable-next-line no-control-regex -- XML allows no other control characters
const FORBIDDEN = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g;

function escapeXml(text: string): string {
  return toHtml(text.replace(FORBIDDEN, "\uFFFD")).replaceAll("\n", "&#10;");
}
