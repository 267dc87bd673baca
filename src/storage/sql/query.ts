/** A value of a statement. A list of texts is one value. */
export type QueryValue = string | number | readonly string[];

/** A statement with its values, and what its rows mean. An engine runs it as it can, at once or later. */
export interface SqlQuery<Answer> {
  readonly text: string;
  readonly values: readonly QueryValue[];
  toAnswer(rows: readonly object[]): Answer;
}

/** Conditions of a statement with their values. */
export class Conditions {
  readonly values: QueryValue[];
  text: string;

  constructor(text: string, ...values: readonly QueryValue[]) {
    this.text = text;
    this.values = [...values];
  }

  add(text: string, ...values: readonly QueryValue[]): void {
    this.text += ` AND ${text}`;
    this.values.push(...values);
  }
}

/** `toAnswer` says what the rows of the statement are. */
export function toQuery<Answer>(
  text: string,
  values: readonly QueryValue[],
  toAnswer: (rows: readonly never[]) => Answer,
): SqlQuery<Answer> {
  return { text, values, toAnswer: (rows) => toAnswer(rows as readonly never[]) };
}
