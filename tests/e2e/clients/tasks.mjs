// The TypeScript SDK 1.x with its experimental tasks: `node tasks.mjs HOME COMMAND ARGS...`; prints the messages of one call.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [home, command, ...args] = process.argv.slice(2);
const require = createRequire(`${home}/package.json`);
const load = async (name) => await import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');
const { CallToolResultSchema } = await load('@modelcontextprotocol/sdk/types.js');

const client = new Client({ name: 'ts', version: '1' });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
await client.listTools();
const call = { name: 'execute_code', arguments: { code: 'print("hi")\n6 * 7' } };
const messages = [];
for await (const message of client.experimental.tasks.callToolStream(call, CallToolResultSchema)) messages.push(message);
const { tasks } = await client.experimental.tasks.listTasks();
console.log(JSON.stringify({ capabilities: client.getServerCapabilities(), messages, tasks }));
await client.close();
