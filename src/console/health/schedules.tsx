import "../styles/letters.css";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { ScheduleSummary } from "../../protocol/answers/schedule.ts";
import { useConsole } from "../app/context.ts";
import { changeSchedule } from "../data/requests.ts";
import type { ScheduleAct } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { SHOWN, readActorSchedules } from "../data/schedules.ts";
import { ActButton } from "../parts/act-button.tsx";
import { useInterval } from "../parts/hooks/interval.ts";
import { RefusalNote } from "../parts/refusal.tsx";
import { State } from "../parts/state.tsx";
import { exactTime, momentTime } from "../parts/time.ts";

/** The times at which actors get requests, or one of them does, with what can be done about them. */
export function ScheduleList({ runId }: { readonly runId?: string }): VNode {
  const { server } = useConsole();
  const { value, error, reload } = useResource(`${server.url} schedules ${runId ?? ""}`, (signal) =>
    readActorSchedules(server, signal, runId),
  );
  useInterval(reload, AGAIN_MS);
  return (
    <section class="dead-letters" aria-label="Schedules">
      <div class="heading">
        <h2>Schedules</h2>
        {value !== undefined && <span class="second number">{toCount(value)}</span>}
      </div>
      {runId === undefined && <p class="second">The times at which actors get requests and messages.</p>}
      {error !== undefined && value === undefined && <RefusalNote error={error} />}
      {value !== undefined && value.length > 0 && (
        <ul class="letters">
          {value.map((schedule) => (
            <Row key={`${schedule.run_id} ${schedule.id}`} schedule={schedule} onDone={reload} />
          ))}
        </ul>
      )}
    </section>
  );
}

const AGAIN_MS = 10_000;

function Row({
  schedule,
  onDone,
}: {
  readonly schedule: ScheduleSummary;
  readonly onDone: () => void;
}): VNode {
  const { server, say } = useConsole();
  const [isBusy, setBusy] = useState(false);
  const { id, run_id: runId, agent, key, operation, input, paused, defined, next_at: next, last } = schedule;
  const act = async (what: ScheduleAct): Promise<void> => {
    setBusy(true);
    try {
      await changeSchedule(server, schedule, what);
      onDone();
    } catch (thrown) {
      say(toAgentError(thrown).message);
    }
    setBusy(false);
  };
  const button = (what: ScheduleAct, word: string, title: string): VNode => (
    <ActButton
      key={`${what} ${id}`}
      class="button"
      disabled={isBusy}
      title={title}
      onAct={() => void act(what)}
    >
      {word}
    </ActButton>
  );
  return (
    <li class="letter">
      <div class="about">
        <p class="who">
          {paused && <State name="held" word="paused" />}
          <a href={`#/runs/${encodeURIComponent(runId)}`}>
            {agent}
            {key !== undefined && ` ${key}`}: {operation}
          </a>
          <span class="second">{whenOf(schedule)}</span>
          {next !== undefined && (
            <time class="second" title={exactTime(next)}>
              next {momentTime(next)}
            </time>
          )}
        </p>
        {last?.error !== undefined && (
          <p dir="auto">
            {last.error.code}: {last.error.message}
          </p>
        )}
        <code class="one-line second">
          {id} {JSON.stringify(input)}
        </code>
      </div>
      <div class="actions">
        {button("run", "Run now", "Sends its request now, besides its times")}
        {paused
          ? button("resume", "Resume", "Goes on with its times from now on")
          : button("pause", "Pause", "Leaves its times out until it is resumed")}
        {!defined && button("remove", "Remove", "Removes it for good")}
      </div>
    </li>
  );
}

function whenOf({ cron, timezone = "UTC", every_ms: everyMs, at }: ScheduleSummary): string {
  if (cron !== undefined) return `${cron} ${timezone}`;
  return everyMs === undefined ? `once at ${at ?? ""}` : `every ${everyMs / 1_000} s`;
}

function toCount({ length }: readonly unknown[]): string {
  if (length === 0) return "none";
  return length === SHOWN ? `the first ${SHOWN}` : String(length);
}
