import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { RunView } from "../../view/run-view.ts";
import { toAgentError } from "../../errors.ts";
import { useConsole } from "../app/context.ts";
import { AttachmentPicker, useAttachments } from "../parts/attachments.tsx";
import { refusalText } from "../parts/refusal.tsx";
import { ActButton, pressSubmit } from "../parts/act-button.tsx";
import { useDraft } from "../data/drafts.ts";
import { sendTurn } from "../data/requests.ts";
import { useRequestId } from "../data/request-id.ts";

interface ComposerProps {
  readonly view: RunView;
  readonly runId: string;
  readonly agent: string;
  readonly isPast: boolean;
}

/** The box for the next message. While a question is open it is closed, and leads to the question. */
export function Composer({ view, runId, agent, isPast }: ComposerProps): VNode {
  const { server } = useConsole();
  const [text, setText, dropText] = useDraft(`run ${runId}`, () => "");
  const newest = useRef(text);
  newest.current = text;
  const [refusal, setRefusal] = useState<string>();
  const [isSending, setSending] = useState(false);
  const attachments = useAttachments();
  const { ids, isUploading } = attachments;
  const requestId = useRequestId(text, ids.join());
  const open = view.waits.find(({ state }) => state === "open");
  const isBusy = view.status === "running";

  const send = async (): Promise<void> => {
    if (text.trim() === "" || agent === "" || isSending || isUploading) return;
    setSending(true);
    setRefusal(undefined);
    try {
      await sendTurn(server, requestId, agent, "chat", text, {
        run_id: runId,
        ...(ids.length > 0 && { attachments: ids }),
      });
      attachments.clear();
      // The person may have typed on meanwhile.
      if (newest.current === text) {
        setText("");
        dropText();
      }
    } catch (thrown) {
      setRefusal(refusalText(toAgentError(thrown)));
    }
    setSending(false);
  };

  if (isPast) return <p class="composer second">The past is read-only.</p>;
  if (open !== undefined && view.status === "waiting") {
    const show = (): void => {
      const question = document.getElementById(`wait-${open.waitId}`);
      question?.scrollIntoView({ block: "center" });
      question?.focus({ preventScroll: true });
    };
    return (
      <div class="composer">
        <button type="button" class="button" onClick={show}>
          Answer the question
        </button>
        <span class="second">
          {view.turns.some(({ held }) => held !== undefined)
            ? `${agent} keeps the answer while it is held.`
            : `${agent} continues when it has the answer.`}
        </span>
      </div>
    );
  }
  return (
    <form
      class="composer"
      aria-busy={isSending}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {refusal !== undefined && (
        <p class="note failed" role="alert">
          {refusal}
        </p>
      )}
      <textarea
        class="input"
        rows={Math.min(8, text.split("\n").length)}
        dir="auto"
        aria-label={`Message to ${agent}`}
        placeholder={isBusy ? `Message to ${agent}, for after this turn` : `Message to ${agent}`}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onPaste={(event) => {
          const { files } = event.clipboardData ?? {};
          if (files === undefined || files.length === 0) return;
          event.preventDefault();
          attachments.add(files);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          pressSubmit(event.currentTarget);
        }}
      />
      <AttachmentPicker {...attachments} />
      <ActButton class="button primary" disabled={agent === "" || isUploading}>
        Send
      </ActButton>
    </form>
  );
}
