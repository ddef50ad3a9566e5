import { test } from 'vitest'
import { Ground, Recorder, driverEnd } from './harness.ts'
import { FILES, twelveTasks } from './twelve-tasks.ts'
test('try', async () => {
  const recorder = await Recorder.open()
  for (const wrap of [[], ['strace', '-qq', '-o', '/dev/null', '-e', 'trace=fsync', '-e', 'inject=fsync:signal=SIGKILL:when=1000'], ['strace', '-f', '--seccomp-bpf', '-qq', '-o', '/dev/null', '-e', 'trace=pwrite64', '-e', 'inject=pwrite64:signal=SIGKILL:when=1000']]) for (const t of [1,2,3]) {
    const ground = new Ground(twelveTasks(recorder), FILES)
    const ended = await ground.drive({}, ['/usr/bin/env', 'bash', '-c', 'time "$@"', 'x', ...wrap]).end()
    driverEnd(ended)
    console.log(ended.err.replaceAll('\n', ' ').replaceAll('user', '').replaceAll('real', 'REAL'))
    ground.remove()
  }
  await recorder.close()
})
