// An agent that is killed before it reports: it claims a task over MCP, edits files by itself and with a shell, says that it is half way,
// and never ends. Arguments: the built command, the task.

import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const [main, task] = process.argv.slice(2)
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [main, 'mcp', '--as', 'dying-agent'],
  env: { ...process.env },
  stderr: 'inherit',
})
const client = new Client({ name: 'dying-agent', version: '1' })
await client.connect(transport)
const { content } = await client.callTool({ name: 'plan_write', arguments: { action: 'claim', task } })

writeFileSync('src/sum.js', 'export const sum = (a, b) =>')
execFileSync('sh', ['-c', 'printf half > src/new.js; chmod +x src/tool.sh'])
rmSync('src/old.js')
console.info(`half way ${JSON.stringify({ mcp: transport.pid, said: content[0].text })}`)
setInterval(() => {}, 60_000)
