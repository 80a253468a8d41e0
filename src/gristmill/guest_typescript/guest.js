// The life of a child that runs TypeScript: it waits for a program, runs it and reports; in a session, repeatedly.
//
// It speaks the same framed messages as the Python guest (gristmill/guest/calls/channel.py) over its standard input and output, which
// are the two ends of one socket; what a program prints goes to standard error. It runs sealed; it is not a defence.

const { Console } = Deno[Deno.internal];
const { stdin, stdout, stderr, pid } = Deno;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const encode = JSON.stringify;
const PROGRAM = "program.ts";

// -- the channel --------------------------------------------------------------------------------------------------------

let nonce = "";
let nextCall = 0;
let callBytes = Infinity;
const openCalls = new Map(); // id -> { resolve, reject, tool }

function send(...message) {
  const body = encoder.encode(encode(message));
  const frame = new Uint8Array(4 + body.length);
  new DataView(frame.buffer).setUint32(0, body.length, true);
  frame.set(body, 4);
  writeWhole(stdout, frame);
  return body.length;
}

function writeWhole(stream, bytes) {
  for (let at = 0; at < bytes.length; ) at += stream.writeSync(bytes.subarray(at));
}

let received = new Uint8Array(1 << 16);
let length = 0;

async function readFrame() {
  for (;;) {
    if (length >= 4) {
      const size = new DataView(received.buffer).getUint32(0, true);
      if (length >= 4 + size) {
        const message = JSON.parse(decoder.decode(received.subarray(4, 4 + size)));
        received.copyWithin(0, 4 + size, length);
        length -= 4 + size;
        return message;
      }
      if (received.length < 4 + size) received = grow(received, 4 + size);
    }
    const count = await stdin.read(received.subarray(length));
    if (count === null) Deno.exit(0); // the host has closed the channel
    length += count;
  }
}

function grow(bytes, size) {
  const larger = new Uint8Array(Math.max(size, bytes.length * 2));
  larger.set(bytes);
  return larger;
}

// -- calls --------------------------------------------------------------------------------------------------------------

class ToolError extends Error {
  constructor(tool, code, message) {
    super(message);
    this.name = "ToolError";
    this.tool = tool;
    this.code = code;
  }
}

class PlanStopped extends Error {
  constructor(message) {
    super(message);
    this.name = "PlanStopped";
  }
}

function callTool(tool, ...given) {
  if (typeof tool !== "string") throw new TypeError("callTool(name, arguments) needs the name of a tool, such as 'server.tool'");
  // callTool("server", "tool", {...}) is written, too.
  if (typeof given[0] === "string" && !tool.includes(".")) tool = `${tool}.${given.shift()}`;
  const { named, positional } = sortArguments(given);
  const id = ++nextCall;
  return new Promise((resolve, reject) => {
    const frame = ["call", nonce, id, tool, named, positional];
    const size = encoder.encode(encode(frame)).length;
    if (size > callBytes) throw new RangeError(`the arguments of ${tool} have ${size} bytes, more than ${callBytes}`);
    openCalls.set(id, { resolve, reject, tool });
    send(...frame);
  });
}

function sortArguments(given) {
  const first = given[0];
  const isRecord = typeof first === "object" && first !== null && !Array.isArray(first);
  if (given.length === 0 || (given.length === 1 && first === undefined)) return { named: {}, positional: [] };
  if (given.length === 1 && isRecord) return { named: toPlain(first), positional: [] };
  return { named: {}, positional: given.map(toPlain) };
}

function settle([kind, id, value, extra]) {
  const call = openCalls.get(id);
  if (call === undefined) return;
  openCalls.delete(id);
  if (kind === "value") {
    if (extra) saveFiles(extra);
    call.resolve(value);
  } else if (kind === "planned") {
    call.resolve(makePlanned(value, call.tool, []));
  } else {
    call.reject(new ToolError(call.tool, value, extra));
  }
}

function saveFiles(files) {
  for (const [path, content] of Object.entries(files)) {
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    if (folder) Deno.mkdirSync(folder, { recursive: true });
    Deno.writeFileSync(path, Uint8Array.fromBase64(content));
  }
}

// The result of a call that waits for approval: it can be indexed, passed to other calls and shown, but not known.
function makePlanned(number, tool, path) {
  const stop = (why) => {
    throw new PlanStopped(
      `the result of ${tool} (call ${number} of the plan) ${why}, but the call is not made before it is approved: the plan ends here`,
    );
  };
  const shown = `<result${path.map((part) => `[${encode(part)}]`).join("")} of planned call ${number}, ${tool}>`;
  return new Proxy(function planned() {}, {
    get(_, key) {
      if (key === "then") return undefined; // it is no promise
      if (key === "toJSON") return () => ({ $planned: [number, ...path] });
      if (key === "toString" || key === Symbol.toStringTag) return key === "toString" ? () => shown : "PlannedResult";
      if (key === Symbol.toPrimitive) return (hint) => (hint === "string" ? shown : stop("decides how the program goes on"));
      if (key === Symbol.for("Deno.customInspect") || key === Symbol.for("nodejs.util.inspect.custom")) return () => shown;
      if (typeof key === "symbol") return stop("is taken apart");
      return makePlanned(number, tool, [...path, /^(0|[1-9]\d*)$/.test(key) ? Number(key) : key]);
    },
    apply: () => stop(`is asked for .${path.at(-1) ?? "call"}`),
    ownKeys: () => stop("is taken apart"),
    has: () => stop("decides how the program goes on"),
  });
}

// -- what programs find -------------------------------------------------------------------------------------------------

function makeTool(key) {
  const tool = (...given) => callTool(key, ...given);
  Object.defineProperty(tool, "name", { value: key });
  return tool;
}

const IGNORED = new Set(["then", "toJSON", "constructor", "prototype", "$$typeof"]);

function makeServer(name) {
  const own = { __esModule: true };
  return new Proxy(makeTool(name), {
    get(target, key) {
      if (typeof key === "symbol" || IGNORED.has(key)) return target[key];
      if (key === "default") return serverProxies.get(name);
      return (own[key] ??= makeTool(`${name}.${key}`));
    },
  });
}

const serverProxies = new Map();

function getServer(name) {
  if (!serverProxies.has(name)) serverProxies.set(name, makeServer(name));
  return serverProxies.get(name);
}

// `servers.pam.get_expenses(...)`, `tools.get_expenses(...)`: the second is a tool whose name is unique among all servers.
const servers = new Proxy({}, {
  get: (target, key) => (typeof key === "symbol" || IGNORED.has(key) ? target[key] : getServer(key)),
});

const discovery = {
  searchTools(query = "", options = {}) {
    const { detailLevel, detail_level, limit = 5, server = null, budgetTokens, budget_tokens } = options;
    return callTool("gristmill.search_tools", {
      query,
      detail_level: detailLevel ?? detail_level ?? "full",
      limit,
      server,
      budget_tokens: budgetTokens ?? budget_tokens ?? 1200,
    });
  },
  listServers: () => callTool("gristmill.list_servers", {}),
  async listCategories() {
    return (await callTool("gristmill.list_servers", {})).map((server) => server.name);
  },
  listTools: (server) => callTool("gristmill.list_tools", { server }),
  describe: (keys) => callTool("gristmill.describe", { keys, language: "typescript" }),
};

const globals = {
  servers, tools: servers, mcp: servers, codemode: servers, ToolError,
  callTool, callMCPTool: callTool, callMcpTool: callTool, call_tool: callTool, call_mcp_tool: callTool,
  ...discovery, search_tools: discovery.searchTools, list_servers: discovery.listServers, list_tools: discovery.listTools,
};
for (const [name, value] of Object.entries(globals)) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

// What the transformed program uses (guard/program/typescript/prepare_typescript.py).
const given = {
  server: getServer,
  tool: (server, name) => {
    const tool = makeTool(`${server}.${name}`);
    return new Proxy(tool, { get: (target, key) => (key === "default" || key === name ? tool : getServer(server)[key] ?? target[key]) });
  },
  named: makeTool,
  client: globals,
  missing(name) {
    throw new Error(`there is no module '${name}' in the sandbox: only tools ("./servers/...") and modules of Node that Deno has ("node:path")`);
  },
};

const print = (text) => writeWhole(stderr, encoder.encode(text));
globalThis.console = new Console(print);
for (const name of ["alert", "confirm", "prompt"]) {
  globalThis[name] = () => {
    throw new Error(`${name}() needs a person, and nobody is there: pass values in context`);
  };
}

// -- values -------------------------------------------------------------------------------------------------------------

// Returns what JSON can carry of `value`: maps become objects, sets arrays, dates and large integers text.
function toPlain(value) {
  const seen = new Set();
  const convert = (part) => {
    if (typeof part === "bigint") return Number.isSafeInteger(Number(part)) ? Number(part) : part.toString();
    if (typeof part === "number") return Number.isFinite(part) ? part : null;
    if (typeof part !== "object" || part === null) {
      if (typeof part === "function" && typeof part.toJSON === "function") return part.toJSON();
      return typeof part === "function" || typeof part === "symbol" || part === undefined ? undefined : part;
    }
    if (typeof part.toJSON === "function") return part.toJSON();
    if (seen.has(part)) throw new TypeError("a value that contains itself cannot be sent");
    seen.add(part);
    let plain;
    if (part instanceof Map) plain = convert(Object.fromEntries(part));
    else if (part instanceof Set || ArrayBuffer.isView(part)) plain = Array.from(part, (item) => convert(item) ?? null);
    else if (part instanceof Error) plain = { name: part.name, message: part.message };
    else if (Array.isArray(part)) plain = part.map((item) => convert(item) ?? null);
    else {
      plain = {};
      for (const key of Object.keys(part)) {
        const item = convert(part[key]);
        if (item !== undefined) plain[key] = item;
      }
    }
    seen.delete(part);
    return plain;
  };
  return convert(value);
}

function freezeDeeply(value) {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(freezeDeeply);
    Object.freeze(value);
  }
  return value;
}

// -- errors -------------------------------------------------------------------------------------------------------------

// Shows an error as its program sees it: the program's own lines, and none of ours.
function describeError(error) {
  if (!(error instanceof Error)) return { text: `Uncaught ${safeString(error)}`, kind: "Error" };
  const unparsed = /^(?:SyntaxError: )?(.*?)\n[^]*?\bat data:[^:]*,[^:]*:(\d+):(\d+)/.exec(error.message);
  if (unparsed && programs) return describeSyntaxError(unparsed[1], Number(unparsed[2]));
  const kind = String(error.name || "Error").slice(0, 200);
  const lines = String(error.stack ?? "").split("\n").filter((line) => line.trimStart().startsWith("at ") && line.includes("data:"));
  const places = lines.map((line) => {
    const found = /^\s*at (?:async )?(.*?)\s*\(?data:[^:]*?(?:;base64)?,[^:)]*:(\d+):(\d+)\)?$/.exec(line);
    if (!found) return "";
    const name = found[1] && found[1] !== "default" && found[1] !== "Module.default" ? ` in ${found[1]}` : "";
    return `    at ${PROGRAM}:${found[2]}${name}`;
  });
  const cause = error.cause === undefined ? "" : `\n  caused by ${safeString(error.cause)}`;
  return { text: [`${kind}: ${error.message}${cause}`, ...places.filter(Boolean).slice(0, 20)].join("\n"), kind };
}

function describeSyntaxError(reason, line) {
  const shown = programLines[line - 1] ?? "";
  return { text: `SyntaxError: ${reason}\n    at ${PROGRAM}:${line}${shown && line > 1 ? `\n      ${shown.trim().slice(0, 200)}` : ""}`, kind: "SyntaxError" };
}

function safeString(value) {
  try {
    return typeof value === "string" ? value : Deno.inspect(value);
  } catch {
    return "a value that cannot be shown";
  }
}

// A promise that is rejected and that nothing waits for must fail the program, not the process.
let unhandled = [];
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  unhandled.push(event.reason);
});
globalThis.addEventListener("error", (event) => {
  event.preventDefault();
  unhandled.push(event.error);
});

// -- one program --------------------------------------------------------------------------------------------------------

let programs = 0;
let programLines = [];

async function runProgram(text) {
  programLines = text.split("\n");
  // The number makes the address new: a module is evaluated once per address.
  const module = await import(`data:application/typescript;base64,${encoder.encode(`${text}\n// ${++programs}`).toBase64()}`);
  return await module.default(given);
}

async function execute(code, resultBytes) {
  let result = null;
  let failure = null;
  unhandled = [];
  try {
    result = await runProgram(code);
  } catch (error) {
    failure = { error };
  }
  if (openCalls.size) await settleOpenCalls();
  await new Promise((resolve) => setTimeout(resolve, 0)); // rejections are told after the current turn
  if (failure === null && unhandled.length) failure = { error: unhandled[0] };
  let text = "null";
  if (failure === null) {
    try {
      text = encode(toPlain(result) ?? null);
    } catch (error) {
      failure = { error };
    }
  }
  if (failure !== null) {
    const { text: shown, kind } = describeError(failure.error);
    const code = failure.error instanceof ToolError ? String(failure.error.code) : "";
    return ["null", shown, kind, code.startsWith("limit.") ? code.slice(6) : null];
  }
  const size = encoder.encode(text).length;
  if (size <= resultBytes) return [text, null, null, null];
  return [encode(`the result has ${size} bytes, more than ${resultBytes}: write it to a file, or return less`), null, null, "result_bytes"];
}

async function settleOpenCalls() {
  while (openCalls.size) await new Promise((resolve) => (onSettled = resolve));
}

let onSettled = null;

async function run(order) {
  const [, number, code, context, resultBytes, mostCallBytes, , kept] = order;
  nonce = number;
  callBytes = mostCallBytes;
  if (kept) send("begun", nonce);
  globalThis.context = freezeDeeply(context ?? {});
  const [text, error, kind, limit] = await execute(code, resultBytes);
  const body = encoder.encode(`["done",${encode(nonce)},${text},${encode(error)},${encode(kind)},${encode(limit)}]`);
  const frame = new Uint8Array(4 + body.length);
  new DataView(frame.buffer).setUint32(0, body.length, true);
  frame.set(body, 4);
  nonce = null;
  openCalls.clear();
  writeWhole(stdout, frame);
}

// What every program needs is loaded before the child reports that it is ready.
await runProgram("export default async function () { return (1 as number); }");
send("ready", "", pid);
for (;;) {
  const message = await readFrame();
  if (message[0] === "run") {
    run(message).catch((error) => {
      print(`${error}\n`);
      Deno.exit(70);
    });
  } else if (message[0] === "value" || message[0] === "error" || message[0] === "planned") {
    settle(message);
    if (!openCalls.size && onSettled) onSettled();
  }
}
