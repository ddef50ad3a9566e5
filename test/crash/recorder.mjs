// The effect recorder: a process of its own that survives every kill and tells what really happened in the world. Each effect
// is one line in its file, synced before it is acknowledged. Tasks reach it through bash's /dev/tcp. One line in, one out:
//
//   effect KEY ATTEMPT NAME PID  ->  ok        an effect happened; while NAME is blocked the answer is held back
//   seen KEY                     ->  yes | no  has this key had its effect?
//   block NAME, release NAME     ->  ok

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { createServer } from 'node:net'

const file = openSync(process.argv[2], 'a')
const keys = new Set()
/** Blocked names, each with the answers held back. */
const blocked = new Map()

const server = createServer({ noDelay: true }, socket => {
  let rest = ''
  // A task that is killed in the middle leaves a broken connection; what it said before stays said.
  socket.on('error', () => {})
  socket.setEncoding('utf8')
  socket.on('data', text => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) answer(line.split(' '), word => socket.writable && socket.write(`${word}\n`))
  })
})

function answer([verb, ...words], say) {
  if (verb === 'effect') {
    const [key, attempt, name, pid] = words
    const at = process.hrtime.bigint().toString()
    writeSync(file, `${JSON.stringify({ key, attempt: Number(attempt), name, pid: Number(pid), at })}\n`)
    fdatasyncSync(file)
    keys.add(key)
    const held = blocked.get(name)
    if (held === undefined) say('ok')
    else held.push(() => say('ok'))
  } else if (verb === 'seen') say(keys.has(words[0]) ? 'yes' : 'no')
  else if (verb === 'block') {
    blocked.set(words[0], [])
    say('ok')
  } else if (verb === 'release') {
    for (const release of blocked.get(words[0]) ?? []) release()
    blocked.delete(words[0])
    say('ok')
  } else say(`what is '${verb}'?`)
}

server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
// It ends with whoever started it.
process.stdin.resume()
process.stdin.on('end', () => {
  closeSync(file)
  process.exit(0)
})
