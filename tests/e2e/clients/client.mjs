// The TypeScript SDK's client: `node client.mjs HOME MODE COMMAND ARGS...`, where HOME has the packages; prints what it saw.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [home, mode, command, ...args] = process.argv.slice(2);
const require = createRequire(`${home}/package.json`);
const load = async (name) => await import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load('@modelcontextprotocol/client');
const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');

const client = new Client({ name: 'ts', version: '1' }, mode === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {});
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const { tools } = await client.listTools();
const result = await client.callTool({ name: 'execute_code', arguments: { code: 'print("hi")\n6 * 7' } });
console.log(JSON.stringify({ version: client.getNegotiatedProtocolVersion(), tools: tools.map((tool) => tool.name), result }));
await client.close();
