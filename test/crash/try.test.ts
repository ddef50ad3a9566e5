import { resolve } from 'node:path'
import { readFileSync } from 'node:fs'
import { test } from 'vitest'
import { Ground, Recorder, Real } from './harness.ts'
import { FILES, twelveTasks } from './twelve-tasks.ts'
test('try', async () => {
  const recorder = await Recorder.open()
  for (let i = 0; i < 24; i++) {
    const ground = new Ground(twelveTasks(recorder), FILES)
  const engine = ground.drive({ UV_THREADPOOL_SIZE: '1', NODE_OPTIONS: `--require ${resolve(import.meta.dirname, 'pool-thread.cjs')}` })
  const [, thread] = await engine.says(/\{"pool":(\d+)\}/)
  const tracer = new Real(['strace', '-qq', '-y', '-o', '/tmp/strace.out', '-e', 'trace=fsync,fdatasync,rename,link,linkat,renameat', '-p', thread!])
  const e = await engine.end()
  await tracer.end()
    const end = JSON.parse(e.out.split('\n').at(-2)!).end
    console.log(i, e.signal, e.code, end.status, JSON.stringify(end.driven), readFileSync('/tmp/strace.out', 'utf8').split('\n').length)
    if (i === 0) console.log(readFileSync('/tmp/strace.out', 'utf8'))
    ground.remove()
  }
  await recorder.close()
})
