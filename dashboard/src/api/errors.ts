// What can go wrong with a request.
import type { ProblemAnswer } from "./shapes.ts";

/** What the pages show of an error. `code` and `status` are known only if the service answered. */
export interface Trouble {
  message: string;
  code?: string | null;
  status?: number;
}

/** The service answered with an error. */
export class Problem extends Error implements Trouble {
  readonly status: number;
  readonly code: string | null;
  /** Whether the same request may succeed later. */
  readonly isTemporary: boolean;

  constructor(status: number, answer: Partial<ProblemAnswer> | null) {
    super(answer?.message || `The service answered ${status}.`);
    this.status = status;
    this.code = answer?.code || null;
    this.isTemporary = status === 429 || status >= 500;
  }
}

/** The service did not answer. */
export class Lost extends Error implements Trouble {
  constructor() {
    super("The service does not answer.");
  }
}

/** Turns what a `catch` caught into something that the pages can show. */
export const toTrouble = (error: unknown): Trouble => (error instanceof Error ? error : { message: String(error) });
