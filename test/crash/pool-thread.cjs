// Preloaded into an engine that is to be killed in its thread pool: says which thread that is, and waits until strace holds it.
// With UV_THREADPOOL_SIZE=1 there is exactly one, and it begins with the first request. Worker threads preload this too.

const { readdirSync, readFileSync, stat, writeSync } = require('node:fs')

if (require('node:worker_threads').isMainThread) waitForTracer()

function waitForTracer() {
  const before = new Set(readdirSync('/proc/self/task'))
  stat('/', () => {})
  const [thread] = readdirSync('/proc/self/task').filter(each => !before.has(each))
  if (thread === undefined) throw new Error('the thread pool began before it was looked for')
  writeSync(1, `{"pool":${thread}}\n`)
  const clock = new Int32Array(new SharedArrayBuffer(4))
  const deadline = Date.now() + 120_000
  while (/^TracerPid:\s*0$/m.test(readFileSync(`/proc/self/task/${thread}/status`, 'utf8'))) {
    if (Date.now() > deadline) throw new Error('nobody came to trace')
    Atomics.wait(clock, 0, 0, 2)
  }
}
