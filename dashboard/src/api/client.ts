// The only way from the pages to the HTTP API. Paths, parameters, bodies and answers have the types of the OpenAPI document, so a
// request that the document does not know does not compile.
import type { paths } from "./api.d.ts";
import { fillPath } from "./fill-path.ts";
import { type Request, send } from "./send.ts";

type Method = "get" | "post" | "put" | "delete";
type PathOf<M extends Method> = { [P in keyof paths]: paths[P][M] extends object ? P : never }[keyof paths];
type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;

/** The JSON of a successful answer. */
type Answer<O> = O extends { responses: infer R }
  ? { [S in keyof R & (200 | 201 | 202)]: R[S] extends { content: { "application/json": infer B } } ? B : never }[keyof R &
      (200 | 201 | 202)]
  : never;

/** A filter that is empty is not sent. An operation without a query has none at all. */
type Fillable<Q> = [Q] extends [never] ? object : { [K in keyof Q]: Q[K] | "" | null };

type Merge<T> = { [K in keyof T]: T[K] };

/** The parameters of the path and of the query together. */
type Parameters<O> = O extends { parameters: infer G }
  ? Merge<(G extends { path: infer V } ? V : object) & (G extends { query?: infer Q } ? Fillable<NonNullable<Q>> : object)>
  : never;

type Body<O> = O extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;

const JSON_TYPE = { "Content-Type": "application/json" };

const sendTo = (path: string, given: object, request: Request) => send(fillPath(path, given), request);

/** Reads JSON. */
export const get = async <P extends PathOf<"get">>(
  path: P,
  given: Parameters<Operation<P, "get">>,
  signal?: AbortSignal,
): Promise<Answer<Operation<P, "get">>> => (await sendTo(path, given, { signal })).json();

/** Reads the body of an answer that is not JSON. */
export const download = <P extends PathOf<"get">>(path: P, given: Parameters<Operation<P, "get">>, signal?: AbortSignal) =>
  sendTo(path, given, { signal });

/** Sends JSON and reads JSON. */
export const post = async <P extends PathOf<"post">>(
  path: P,
  given: Parameters<Operation<P, "post">>,
  body: Body<Operation<P, "post">>,
): Promise<Answer<Operation<P, "post">>> =>
  (await sendTo(path, given, { method: "POST", body: JSON.stringify(body), headers: JSON_TYPE })).json();

/** Uploads a file. */
export const upload = <P extends PathOf<"put">>(path: P, given: Parameters<Operation<P, "put">>, file: Blob) =>
  sendTo(path, given, { method: "PUT", body: file });

export const remove = <P extends PathOf<"delete">>(path: P, given: Parameters<Operation<P, "delete">>) =>
  sendTo(path, given, { method: "DELETE" });
