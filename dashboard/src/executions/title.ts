import { shortenId } from "../text/format.ts";

/** The title of the page of an execution. */
export const titleOf = (id: string) => `Execution ${shortenId(id)}`;
