/** Splits the key of a tool (`server.tool`) into the names of its server and of the tool. */
export function splitKey(key: string): [server: string, tool: string] {
  const place = key.indexOf(".");
  return [key.slice(0, place), key.slice(place + 1)];
}
