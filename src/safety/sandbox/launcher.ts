// What runs first inside a sandbox, as its process 1: a few lines of shell. It says that it is ready, waits for the word to go, starts
// the command, says how that ended, and stays until its lifeline is cut: then it ends, and the kernel ends everything with it. So
// nothing runs before its parent has answered, and nothing outlives it, also when the parent is killed while the sandbox is made.
//
//   descriptor 3: the lifeline, held open by the parent    4: `ready`, then `exit N`

export const LIFELINE = 3
export const STATUS = 4
export const INFO = 5
export const ARGUMENTS = 6

/** The command keeps its own three streams and gets none of ours; process 1 holds none of the command's. */
const LAUNCH = `
exec 7<&0 </dev/null
echo ready >&${STATUS}
read -r go <&${LIFELINE} || exit 137
( exec <&7 7<&- ${LIFELINE}<&-; "$@" ${STATUS}>&-; echo "exit $?" >&${STATUS} ) &
exec ${STATUS}>&- 7<&- >/dev/null 2>&1
read -r end <&${LIFELINE}
exit 137
`

/** Passes connections to a port of the sandbox's loopback on to a socket, and starts the command when it listens. */
const FORWARD = `
const net = require('net'), { spawn } = require('child_process'), { constants } = require('os')
const [port, socket, file, ...args] = process.argv.slice(1)
const server = net.createServer({ allowHalfOpen: true }, here => {
  const there = net.connect({ path: socket, allowHalfOpen: true })
  here.pipe(there).pipe(here)
  here.on('error', () => there.destroy())
  there.on('error', () => here.destroy())
})
server.listen(Number(port), '127.0.0.1', () => {
  const child = spawn(file, args, { stdio: 'inherit' })
  child.on('error', error => { console.error(file + ': ' + (error.code === 'ENOENT' ? 'command not found' : error.message)); process.exit(error.code === 'ENOENT' ? 127 : 126) })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
})
`

export interface Forwarding {
  readonly node: string
  readonly port: number
  readonly socket: string
}

export function launching(argv: readonly string[], forwarding: Forwarding | null): readonly string[] {
  const command =
    forwarding === null ? argv : [forwarding.node, '-e', FORWARD, String(forwarding.port), forwarding.socket, ...argv]
  return ['/bin/sh', '-c', LAUNCH, 'planfold', ...command]
}
