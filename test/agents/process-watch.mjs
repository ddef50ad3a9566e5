// Loaded before Planfold (`node --import`): writes down every process it starts and every connection it makes, a line each.
import childProcess from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

const tell = what => appendFileSync(process.env.PLANFOLD_WATCH_FILE, `${what}\n`)
const { spawn } = childProcess.ChildProcess.prototype
childProcess.ChildProcess.prototype.spawn = function (options) {
  tell(`process ${options.file}`)
  return spawn.call(this, options)
}
for (const name of ['spawnSync', 'execSync', 'execFileSync']) {
  const before = childProcess[name]
  childProcess[name] = (...args) => {
    tell(`process ${args[0]}`)
    return before(...args)
  }
}
const { connect } = net.Socket.prototype
net.Socket.prototype.connect = function (...args) {
  tell('connection')
  return connect.apply(this, args)
}
syncBuiltinESMExports()
