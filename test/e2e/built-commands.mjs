// Runs one command of the built program after the other in this process, each through its own `main.js`: `node built-commands.mjs MAIN < lines`.
// A line is the words of a command as a JSON array; what it answers is written as a line { exit, stdout, stderr }.

import { writeSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

const [, , main] = process.argv
const lines = (await text(process.stdin)).trim().split('\n')
process.setMaxListeners(0)
for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0)

for (const [number, line] of lines.entries()) {
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'])
    process[name].write = (chunk, ...more) => {
      said[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
      more.find(one => typeof one === 'function')?.()
      return true
    }
  process.argv = [process.execPath, main, ...JSON.parse(line)]
  const exit = await new Promise((resolve, reject) => {
    process.exit = resolve
    process.removeAllListeners('uncaughtException')
    import(`${pathToFileURL(main)}?${number}`).catch(reject)
  })
  writeSync(1, `${JSON.stringify({ exit, ...said })}\n`)
}
process.exitCode = 0
process.reallyExit(0)
