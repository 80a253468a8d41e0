// Sends one request to the service: with the token, and with errors that the pages can show. Only `client.ts` and `streams.ts` use it.
import { BASE, isGatewayStatus, reportAnswer, reportLost } from "./connection.ts";
import { Lost, Problem } from "./errors.ts";
import type { ProblemAnswer } from "./shapes.ts";
import { onUnauthorized, token } from "./token.ts";

export interface Request {
  method?: string;
  body?: BodyInit;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Throws `Problem` if the service answers with an error, and `Lost` if it does not answer. */
export async function send(where: string, { method = "GET", body, headers, signal }: Request = {}): Promise<Response> {
  const secret = token.get();
  const sent = { ...headers, ...(secret ? { Authorization: `Bearer ${secret}` } : {}) };
  const response = await fetch(new URL(where, BASE), { method, body, headers: sent, signal, cache: "no-store" }).catch(
    (error: unknown) => throwLost(error, signal),
  );
  if (response.ok) {
    reportAnswer();
    return response;
  }
  const answer: Partial<ProblemAnswer> | null = await response.json().catch(() => null);
  if (isGatewayStatus(response.status) && !answer?.code) throwLost(null); // a proxy says it, not the service
  reportAnswer();
  if (response.status === 401) onUnauthorized.call();
  throw new Problem(response.status, answer);
}

/** Notes that the connection is lost; an error that our own `signal` caused is thrown as it is. */
export function throwLost(error: unknown, signal?: AbortSignal): never {
  if (signal?.aborted) throw error;
  reportLost();
  throw new Lost();
}
