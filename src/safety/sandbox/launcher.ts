// The first process inside a sandbox, a few lines of shell. It reports that it is ready, waits for the start, runs the command, reports its
// exit, and stays until its lifeline closes: then it exits, and the kernel kills everything else. So nothing runs before its parent has
// checked the sandbox, and nothing outlives the parent, even if that is killed during the setup.
//
//   descriptor 3: the lifeline, held open by the parent    4: `ready`, then `exit N`
//   read by bubblewrap, and closed: 5: its arguments    6: the filter of system calls    7: the shell
//
// The shell is an executable but unreadable copy. The kernel forbids tracing such a process, or reading its memory, without privileges over
// the namespace; and signals from inside do not reach process 1. So nothing inside can keep it alive.

export const LIFELINE = 3
export const STATUS = 4
export const ARGUMENTS = 5
export const FILTER = 6
export const SHELL = 7

const SHELL_INSIDE = '/run/planfold/sh'

export const launcherMounts = (): readonly string[] => [
  ...['--perms', '0111', '--file', String(SHELL), SHELL_INSIDE, '--seccomp', String(FILTER)],
]

/** The command has only its own three streams; process 1 has none of them. */
const LAUNCH = `
exec 9<&0 </dev/null
[ "$1" = 0 ] || ulimit -u "$1" 2>/dev/null || ulimit -p "$1" 2>/dev/null || :
shift
echo ready >&${STATUS}
read -r go <&${LIFELINE} || exit 137
( exec <&9 9<&- ${LIFELINE}<&-; "$@" ${STATUS}>&-; echo "exit $?" >&${STATUS} ) &
exec ${STATUS}>&- 9<&- >/dev/null 2>&1
read -r end <&${LIFELINE}
exit 137
`

/**
 * Forwards ports of the sandbox's loopback to sockets outside (the proxy, the model gateway), and starts the command when it listens. A
 * port of `tcp` becomes a proxy tunnel to its address, which the proxy may refuse.
 */
const FORWARD = `
const net = require('net'), { spawn } = require('child_process'), { constants } = require('os')
const [told, file, ...args] = process.argv.slice(1)
const { doors, tcp } = JSON.parse(told)
const open = (socket, here, begin) => {
  const there = net.connect({ path: socket, allowHalfOpen: true })
  here.on('error', () => there.destroy())
  there.on('error', () => here.destroy())
  begin(there)
}
const join = (here, there) => { here.pipe(there).pipe(here) }
const tunnel = (to, here, there) => {
  let head = Buffer.alloc(0)
  const hear = chunk => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\\r\\n\\r\\n')
    if (end < 0 && head.length < 65536) return
    there.off('data', hear)
    there.pause()
    if (!/^HTTP\\/1\\.1 200 /.test(head.toString('latin1', 0, 13))) { here.destroy(); there.destroy(); return }
    if (head.length > end + 4) there.unshift(head.subarray(end + 4))
    join(here, there)
  }
  there.on('data', hear)
  there.once('close', () => here.destroy())
  there.write('CONNECT ' + to + ' HTTP/1.1\\r\\nHost: ' + to + '\\r\\n\\r\\n')
}
const listen = (at, serve) => new Promise((resolve, reject) => {
  const server = net.createServer({ allowHalfOpen: true }, serve)
  server.once('error', reject)
  server.listen(at, '127.0.0.1', resolve)
})
const failed = (at, error) => console.error('planfold: port ' + at + ' cannot be forwarded (' + error.code + ')')
const run = () => {
  const child = spawn(file, args, { stdio: 'inherit' })
  child.on('error', error => { console.error(file + ': ' + (error.code === 'ENOENT' ? 'command not found' : error.message)); process.exit(error.code === 'ENOENT' ? 127 : 126) })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}
Promise.all([
  ...doors.map(({ port, socket }) => listen(port, here => open(socket, here, there => join(here, there))).catch(error => failed(port, error))),
  ...tcp.map(to => listen(to.port, here => open(to.proxy, here, there => tunnel(to.host + ':' + to.port, here, there))).catch(error => failed(to.port, error))),
]).then(run)
`

export interface Forwarding {
  readonly node: string
  readonly doors: readonly { readonly port: number; readonly socket: string }[]
  readonly tcp: readonly { readonly host: string; readonly port: number; readonly proxy: string }[]
}

/** `processesMax`: null where the kernel does not count per sandbox. */
export function launching(
  argv: readonly string[],
  forwarding: Forwarding | null,
  processesMax: number | null,
): readonly string[] {
  const command = forwarding === null ? argv : forwarded(forwarding, argv)
  return [SHELL_INSIDE, '-c', LAUNCH, 'sh', String(processesMax ?? 0), ...command]
}

const forwarded = ({ node, ...ports }: Forwarding, argv: readonly string[]): readonly string[] => [
  node,
  '-e',
  FORWARD,
  // Ends Node's own options.
  '--',
  JSON.stringify(ports),
  ...argv,
]
