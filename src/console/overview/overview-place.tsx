import "../styles/overview.css";
import type { VNode } from "preact";
import { readActors } from "../data/actors.ts";
import type { StatisticsRow } from "../../protocol/answers/statistics.ts";
import { useConsole } from "../app/context.ts";
import { useRunChanges } from "../data/changes.ts";
import type { InboxSummary } from "../data/inbox.ts";
import { hoursAgo, useRunCount, useRunPages } from "../data/pages.ts";
import { countText } from "../data/counts.ts";
import { inboxItems } from "../inbox/inbox-items.ts";
import { useResource } from "../data/resource.ts";
import { AgentMark } from "../parts/agent-name.tsx";
import { Figure } from "../parts/figure.tsx";
import { useInterval } from "../parts/hooks/interval.ts";
import { lazy } from "../parts/lazy.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import { SIGNS } from "../parts/state.tsx";
import { duration, exactTime, timeAgo } from "../parts/time.ts";
import { RunListRow } from "../runs/run-row.tsx";
import { RANGES, knownCost, knownSpend, readSums, tokenCount, totalCount } from "../statistics/statistics.ts";
import { readAgentLinks } from "./agent-links.ts";
import { FirstSteps } from "./first-steps.tsx";
import { summarize, toFailures } from "./summary.ts";
import type { Failure } from "./summary.ts";

const GraphPart = lazy(async () => (await import("./agent-graph.tsx")).AgentGraph);

/** What goes on: who works with whom, what waits for a person, what has failed, what was asked last. */
export function OverviewPlace({ inbox }: { readonly inbox: InboxSummary | undefined }): VNode {
  const { server } = useConsole();
  const pages = useRunPages(server, NEWEST);
  const count = useRunCount(server, NEWEST, pages);
  const failed = useRunPages(server, { ...FAILED, updated_after: hoursAgo(DAY_HOURS) });
  const links = useResource(`${server.url} links`, (signal) => readAgentLinks(server, signal));
  const actors = useResource(`${server.url} actors`, (signal) => readActors(server, signal));
  const { reload } = actors;
  useInterval(reload, AGAIN_MS);
  const sums = useResource(`${server.url} sums`, (signal) => readSums(server, "agent", RANGES[0], signal));
  useRunChanges(server, sums.reload);
  const lastDay = sums.value?.total;
  const { rows: runs, error } = pages;
  if (runs === undefined) {
    return error === undefined ? (
      <div class="page" aria-busy="true" />
    ) : (
      <div class="page">
        <RefusalNote error={error} />
      </div>
    );
  }
  // The run of an actor with schedules has no turn until the first of its times.
  if (!pages.hasMore && runs.every(({ turns }) => turns === 0)) return <FirstSteps />;
  const { working, medianMs } = summarize(runs, actors.value);
  const failures = toFailures(failed.rows ?? []);
  const failedCount = lastDay?.turns.error ?? 0;
  const asked = inboxItems(inbox?.waits.rows ?? [], inbox?.held.rows ?? []);
  const open = inbox === undefined ? "–" : countText(inbox.count);
  return (
    <div class="page overview">
      <div class="heading">
        <h1 tabIndex={-1}>Overview</h1>
      </div>
      <dl class="figures">
        <Figure name="Running now" href="#/runs?state=running" tone={working > 0 ? "running" : undefined}>
          {working.toLocaleString()}
        </Figure>
        <Figure name="Waiting for you" href="#/inbox" tone={asked.length > 0 ? "waiting" : undefined}>
          {open}
        </Figure>
        <Figure
          name="Failed in a day"
          href="#/statistics?view=failures"
          tone={failedCount > 0 ? "failed" : undefined}
        >
          {lastDay === undefined ? "–" : failedCount.toLocaleString()}
        </Figure>
        <Figure name="Median turn" note={`of the last ${runs.length}`}>
          {medianMs === undefined ? "–" : duration(medianMs)}
        </Figure>
        <Figure name="Turns in a day" href="#/statistics?view=latency">
          {lastDay === undefined ? "–" : totalCount(lastDay.turns).toLocaleString()}
        </Figure>
        <Figure name="Spend in a day" href="#/statistics" note={lastDay && spendNote(lastDay)}>
          {lastDay === undefined ? "–" : knownSpend(lastDay)}
        </Figure>
        <Figure name="All runs" href="#/runs">
          {count}
        </Figure>
      </dl>
      <div class="overview-grid">
        <section aria-label="Agents" class="panel graph-panel">
          <h2>Who works with whom</h2>
          {links.error !== undefined && <RefusalNote error={links.error} />}
          {(links.error === undefined || links.value !== undefined) && (
            <GraphPart links={links.value} actors={actors.value ?? []} />
          )}
        </section>
        <section aria-label="Open questions" class="panel questions-panel">
          <h2>
            <a href="#/inbox">Waiting for you</a>
          </h2>
          {asked.length === 0 ? (
            <p class="second">No agent waits for an answer.</p>
          ) : (
            <ul class="list">
              {asked.slice(0, SHOWN).map((item) => (
                <li key={item.name}>
                  <a class="row asked-row" href={`#/inbox?wait=${encodeURIComponent(item.name)}`}>
                    <span class={`state ${item.kind === "held" ? "held" : "waiting"}`} aria-hidden="true">
                      {SIGNS[item.kind === "held" ? "held" : "waiting"]}
                    </span>
                    <span class="one-line" dir="auto">
                      {item.text}
                    </span>
                    <span class="second number" title={exactTime(item.since)}>
                      {timeAgo(item.since)}
                    </span>
                    <span class="second one-line from">{item.agent}</span>
                  </a>
                </li>
              ))}
            </ul>
          )}
          {asked.length > SHOWN && (
            <p>
              <a href="#/inbox">All {open} →</a>
            </p>
          )}
        </section>
        <section aria-label="Failures" class="panel failures-panel">
          <h2>
            <a href="#/runs?state=failed&since=day">Failures of the last day</a>
          </h2>
          {failed.error !== undefined && <RefusalNote error={failed.error} />}
          {failed.rows?.length === 0 && <p class="second">No turn has failed.</p>}
          {failed.hasMore && <p class="second">Of the newest {failed.rows?.length} runs that have failed.</p>}
          {failures.length > 0 && (
            <ul class="list">
              {failures.slice(0, SHOWN).map((failure) => (
                <li key={`${failure.agent} ${failure.code} ${failure.message}`}>
                  <FailureRow failure={failure} />
                </li>
              ))}
            </ul>
          )}
        </section>
      </div>
      <section aria-label="Newest runs" class="newest">
        <h2>
          <a href="#/runs">Newest runs</a>
        </h2>
        <ul class="list">
          {runs.slice(0, NEWEST_SHOWN).map((run) => (
            <li key={run.run_id}>
              <RunListRow run={run} />
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

const NEWEST = {} as const;
const FAILED = { finish_reason: "error", status: "idle" } as const;
const DAY_HOURS = 24;
const AGAIN_MS = 2_000;
const SHOWN = 5;
const NEWEST_SHOWN = 10;

function FailureRow({ failure }: { readonly failure: Failure }): VNode {
  const { agent, code, message, count, newest } = failure;
  const href =
    count === 1
      ? `#/runs/${newest.run_id}`
      : `#/runs?state=failed&since=day&agent=${encodeURIComponent(agent)}&error=${encodeURIComponent(code)}`;
  return (
    <a class="row asked-row" href={href}>
      <AgentMark name={agent} />
      <span class="one-line" dir="auto">
        {message}
      </span>
      <span class="number state failed">{count}×</span>
      <span class="second one-line from">
        {agent} · {code}
      </span>
    </a>
  );
}

/** What the known cost leaves out, and the tokens. */
function spendNote(row: StatisticsRow): string {
  const tokens = `${compact(tokenCount(row))} tokens`;
  return row.unknown_costs > 0 && knownCost(row) !== undefined ? `+ unknown; ${tokens}` : tokens;
}

function compact(count: number): string {
  return new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 }).format(count);
}
