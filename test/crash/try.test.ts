import { resolve } from 'node:path'
import { test } from 'vitest'
import { Ground, Recorder, Real } from './harness.ts'
import { FILES, twelveTasks } from './twelve-tasks.ts'
test('try', async () => {
  const recorder = await Recorder.open()
  for (let i = 0; i < 12; i++) {
    const ground = new Ground(twelveTasks(recorder), FILES)
  const engine = ground.drive({ UV_THREADPOOL_SIZE: '1', NODE_OPTIONS: `--require ${resolve(import.meta.dirname, 'pool-thread.cjs')}` })
  const [, thread] = await engine.says(/\{"pool":(\d+)\}/)
  const tracer = new Real(['strace', '-qq', '-o', '/dev/null', '-e', 'trace=fsync', '-e', `inject=fsync:signal=SIGKILL:when=${3 + i % 3}`, '-p', thread!])
  const e = await engine.end()
  await tracer.end()
    const ended = await ground.drive({}).end()
    console.log(i, e.signal, e.code, ended.out.split('\n').at(-2)?.slice(0, 300))
    ground.remove()
  }
  await recorder.close()
})
