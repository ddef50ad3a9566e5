// Runs one candidate in a process of its own, so that none warms another up: `candidate-process.ts planfold chain 1000`. As a
// lane (`candidate-process.ts planfold lane`) it stays, and runs a stretch whenever it is told to.

import { planfold, raw } from './candidates.ts'
import { lane } from './lanes.ts'

const [who, shape, tasks] = process.argv.slice(2)
if (shape === 'lane') await lane(who!)
else {
  const answer = await (who === 'raw' ? raw(shape!, Number(tasks)) : planfold(shape!, Number(tasks)))
  console.log(JSON.stringify(answer))
}
