import "../styles/audit.css";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import { nextQuery } from "../../client/wire/wire.ts";
import { AUDIT_ACTIONS } from "../../ports/audit.ts";
import type { AuditAction } from "../../ports/audit.ts";
import type { AuditRow } from "../../runtime/access/audit-row.ts";
import { useConsole } from "../app/context.ts";
import { useRunChanges } from "../data/changes.ts";
import type { PageServer } from "../data/page-server.ts";
import { useResource } from "../data/resource.ts";
import { ActButton } from "../parts/act-button.tsx";
import { Choice, TextFilter } from "../parts/filters.tsx";
import type { Option } from "../parts/filters.tsx";
import { RefusalNote } from "../parts/refusal.tsx";
import { exactTime, momentTime } from "../parts/time.ts";
import { withQuery } from "../places/place.ts";
import type { ConsolePlace } from "../places/place.ts";

type AuditPlaceOf = Extract<ConsolePlace, { readonly name: "audit" }>;

/** Who did what, the newest first; for operators. */
export function AuditTrailPlace({ place }: { readonly place: AuditPlaceOf }): VNode {
  const { server } = useConsole();
  const asked = toQuery(place);
  const key = JSON.stringify(asked);
  const first = useResource(`${server.url} ${key}`, (signal) => readPage(server, asked, signal));
  const [more, setMore] = useState<More>({ key, rows: [] });
  const further = more.key === key ? more : { key, rows: [] };
  const { value, error, reload } = first;
  // Pages that are shown stay as they are: new entries would move them.
  useRunChanges(server, reload, () => further.rows.length === 0);

  const rows = [...(value?.rows ?? []), ...further.rows];
  const next = further.rows.length === 0 ? value?.next : further.next;
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>Audit</h1>
      </div>
      <Filters place={place} />
      {error !== undefined && <RefusalNote error={error} />}
      {value !== undefined && rows.length === 0 && (
        <p class="second">
          {isFiltered(place)
            ? "No entry fits the filter."
            : "There are no entries yet. Requests without a name are not listed."}
        </p>
      )}
      {rows.length > 0 && (
        <>
          <div class="audit-head" aria-hidden="true">
            <span>Time</span>
            <span>Who</span>
            <span>Did</span>
            <span>What</span>
            <span>Owner</span>
          </div>
          <ul class="list" aria-label="Audit trail">
            {rows.map((row, at) => (
              <Row key={`${row.at} ${at}`} row={row} place={place} />
            ))}
          </ul>
        </>
      )}
      {next !== undefined && (
        <MoreButton
          read={() => readPage(server, { ...asked, cursor: next })}
          onRead={(page) => setMore({ key, rows: [...further.rows, ...page.rows], next: page.next })}
        />
      )}
      <p class="second foot">
        <code>npx troupe audit --json</code> exports all entries, one a line.
      </p>
    </div>
  );
}

/** The pages behind the first one, for the filters that they were read with. */
interface More extends AuditRows {
  readonly key: string;
}

interface AuditRows {
  readonly rows: readonly AuditRow[];
  /** The cursor of the next page. */
  readonly next?: string | undefined;
}

type AuditAsked = Readonly<Record<string, string | undefined>>;

async function readPage(server: PageServer, query: AuditAsked, signal?: AbortSignal): Promise<AuditRows> {
  const { json, headers } = await server.ask("GET", "/audit", { query, signal });
  return { rows: json as readonly AuditRow[], next: nextQuery(headers).get("cursor") ?? undefined };
}

/** What the filters of the address mean for the server. The days are those of the browser. */
function toQuery({ query: { owner, by, action, run, from, until } }: AuditPlaceOf): AuditAsked {
  return {
    limit: "100",
    owner,
    by,
    action,
    run_id: run,
    from: toMoment(from, 0),
    before: toMoment(until, 1),
  };
}

/** The start of a day, or of one that follows it. */
function toMoment(day: string | undefined, later: number): string | undefined {
  const [year = 0, month = 1, date = 1] = day?.split("-").map(Number) ?? [];
  const start = new Date(year, month - 1, date + later);
  return day === undefined || Number.isNaN(start.getTime()) ? undefined : start.toISOString();
}

function isFiltered({ query }: AuditPlaceOf): boolean {
  return Object.keys(query).length > 0;
}

function Filters({ place }: { readonly place: AuditPlaceOf }): VNode {
  const { go } = useConsole();
  const { owner = "", by = "", action = "", run, from = "", until = "" } = place.query;
  const change = (changes: Readonly<Record<string, string>>): void =>
    go(withQuery(place, changes), { replace: true });
  return (
    <div class="filters">
      <Choice
        label="What was done"
        value={action}
        options={[["", "everything"], ...AUDIT_ACTIONS.map((name): Option => [name, WORDS[name]])]}
        onChange={(value) => change({ action: value })}
      />
      <TextFilter label="Who, by id" value={by} onChange={(value) => change({ by: value })} />
      <TextFilter label="Owner" value={owner} onChange={(value) => change({ owner: value })} />
      <label class="day">
        from{" "}
        <input
          class="input"
          type="date"
          value={from}
          max={until}
          onChange={({ currentTarget }) => change({ from: currentTarget.value })}
        />
      </label>
      <label class="day">
        until{" "}
        <input
          class="input"
          type="date"
          value={until}
          min={from}
          onChange={({ currentTarget }) => change({ until: currentTarget.value })}
        />
      </label>
      {run !== undefined && (
        <button
          type="button"
          class="button"
          onClick={() => go(withQuery(place, { run: undefined }), { replace: true })}
        >
          of {run} ✕
        </button>
      )}
    </div>
  );
}

function Row({ row, place }: { readonly row: AuditRow; readonly place: AuditPlaceOf }): VNode {
  const { go } = useConsole();
  const { at, by, action, owner, count } = row;
  const name = by.name ?? by.id;
  return (
    <li class="row audit-row">
      <time class="second number" dateTime={at} title={exactTime(at)}>
        {momentTime(at)}
      </time>
      <button
        type="button"
        class="one-line who"
        title={`${by.id}: show only what this one did`}
        dir="auto"
        onClick={() => go(withQuery(place, { by: by.id }))}
      >
        {name}
      </button>
      <span class={action === "refuse" ? "did state failed" : "did"}>
        {WORDS[action as AuditAction] ?? action}
        {count !== undefined && ` ${count} times`}
      </span>
      <span class="what">
        <What row={row} />
      </span>
      <span class="second one-line owner">{owner}</span>
    </li>
  );
}

/** The run that it is about, at the event that has the content. That of a removed run leads nowhere. */
function What({
  row: { agent, run_id: run, request_id: request, event, detail },
}: {
  readonly row: AuditRow;
}) {
  const at = event === undefined ? "" : `?at=${event}`;
  return (
    <>
      {run !== undefined &&
        (agent === undefined ? (
          <span class="second">{run}, removed</span>
        ) : (
          <a href={`#/runs/${encodeURIComponent(run)}${at}`} title={run}>
            {agent}
          </a>
        ))}{" "}
      {detail !== undefined && <span dir="auto">{detail} </span>}
      {request !== undefined && <code class="second">{request}</code>}
    </>
  );
}

/** In words what the server calls an action. */
const WORDS: Readonly<Record<AuditAction, string>> = {
  process: "asked",
  message: "sent a message",
  answer: "answered",
  cancel: "canceled",
  create: "created a run",
  configure: "configured",
  fork: "forked",
  remove: "removed a run",
  end: "ended a held turn",
  retry: "tried again",
  resend: "sent again",
  dismiss: "dismissed a dead letter",
  link: "made an answer link",
  erase: "erased",
  create_key: "made a key",
  revoke_key: "revoked a key",
  sign_in: "signed in",
  sign_out: "signed out",
  refuse: "was refused",
  resume: "resumed an actor",
  schedule: "changed a schedule",
};

interface MoreButtonProps {
  read(): Promise<AuditRows>;
  onRead(page: AuditRows): void;
}

function MoreButton({ read, onRead }: MoreButtonProps): VNode {
  const { say } = useConsole();
  const [isBusy, setBusy] = useState(false);
  const act = async (): Promise<void> => {
    setBusy(true);
    try {
      onRead(await read());
    } catch (thrown) {
      say(toAgentError(thrown).message);
    }
    setBusy(false);
  };
  return (
    <ActButton class="button more-rows" disabled={isBusy} onAct={() => void act()}>
      Older entries
    </ActButton>
  );
}
