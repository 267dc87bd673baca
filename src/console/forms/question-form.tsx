import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import { asksForSecret, useDraft } from "../data/drafts.ts";
import type { DraftKey } from "../data/drafts.ts";
import { ActButton } from "../parts/act-button.tsx";
import { refusalText } from "../parts/refusal.tsx";
import type { Questions } from "../../protocol/events/event-body.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { FormField } from "./form.tsx";
import { emptyDraft, readDraft } from "./draft.ts";
import type { Draft, Fault } from "./draft.ts";
import { answerSchema, yesNoKey } from "./question.ts";

interface QuestionFormProps {
  readonly questions: Questions;
  readonly schema: JsonObject | undefined;
  /** What a person has written is kept by it. */
  readonly draftKey: DraftKey;
  /** Set while the page shows the past, and when another client has answered. */
  readonly isDisabled: boolean;
  /** Sends the answer; throws an AgentError if the server refuses it. */
  onAnswer(values: JsonObject): Promise<void>;
}

/** The question of an agent as a form. A question for one boolean is two buttons. */
export function QuestionForm({
  questions,
  schema,
  draftKey,
  isDisabled,
  onAnswer,
}: QuestionFormProps): VNode {
  const whole = answerSchema(questions, schema);
  const key = yesNoKey(whole);
  const [isSending, setSending] = useState(false);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [refusal, setRefusal] = useState<string>();

  const send = async (values: JsonObject): Promise<void> => {
    setSending(true);
    setFaults([]);
    setRefusal(undefined);
    try {
      await onAnswer(values);
    } catch (thrown) {
      const error = toAgentError(thrown);
      const found = (error.details.issues ?? []).map(toFault);
      setFaults(found);
      setRefusal(refusalText(error));
      setSending(false);
    }
  };
  const isOff = isDisabled || isSending;
  const refused = refusal !== undefined && (
    <p class="note failed" role="alert">
      {refusal}
    </p>
  );

  if (key !== undefined) {
    return (
      <div class="form">
        <p class="asked" dir="auto">
          {questions[key] ?? key}
        </p>
        <div class="actions">
          <ActButton class="button primary" disabled={isOff} onAct={() => void send({ [key]: true })}>
            Yes
          </ActButton>
          <ActButton class="button" disabled={isOff} onAct={() => void send({ [key]: false })}>
            No
          </ActButton>
        </div>
        {refused}
      </div>
    );
  }
  return (
    <AnswerFields
      schema={whole}
      questions={questions}
      draftKey={draftKey}
      faults={faults}
      isDisabled={isOff}
      onFaults={setFaults}
      onSend={send}
    >
      {refused}
    </AnswerFields>
  );
}

interface AnswerFieldsProps {
  readonly schema: JsonObject;
  readonly questions: Questions;
  readonly draftKey: DraftKey;
  readonly faults: readonly Fault[];
  readonly isDisabled: boolean;
  readonly children: VNode | false;
  onFaults(faults: readonly Fault[]): void;
  onSend(values: JsonObject): Promise<void>;
}

function AnswerFields({
  schema,
  questions,
  draftKey,
  faults,
  isDisabled,
  children,
  onFaults,
  onSend,
}: AnswerFieldsProps): VNode {
  const isKept = useMemo(() => !asksForSecret(schema), [schema]);
  const [draft, setDraft] = useDraft<Draft>(draftKey, () => emptyDraft(schema, schema), isKept);
  const labelled = withLabels(schema, questions);
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        const { value, faults: found } = readDraft(labelled, labelled, draft);
        onFaults(found);
        if (found.length === 0) void onSend(isObject(value) ? value : {});
      }}
    >
      <FormField
        schema={labelled}
        root={labelled}
        path=""
        label=""
        draft={draft}
        isRequired
        faults={faults}
        isDisabled={isDisabled}
        onDraft={setDraft}
      />
      {children}
      <div class="actions">
        <ActButton class="button primary" disabled={isDisabled}>
          Answer
        </ActButton>
      </div>
    </form>
  );
}

/** The schema with the questions as the labels of its properties. */
function withLabels(schema: JsonObject, questions: Questions): JsonObject {
  const { properties } = schema;
  if (!isObject(properties)) return schema;
  const labelled = Object.entries(properties).map(([key, field]) => {
    const question = questions[key];
    const isAsked = question !== undefined && question !== "" && isObject(field);
    return [key, isAsked ? { ...field, title: question } : field] as const;
  });
  return { ...schema, properties: Object.fromEntries<Json>(labelled) };
}

/** A fault that the server found. Its path begins with the field of the request that holds the answer. */
export function toFault({ path, message }: Fault): Fault {
  return { path: path.replace(/^(?:request_keys|input)\.?/, ""), message };
}
