// Runs one candidate in a process of its own, so that none warms another up: `candidate-process.ts planfold chain 1000`.

import { planfold, raw } from './candidates.ts'

const [who, shape, tasks] = process.argv.slice(2)
const answer = await (who === 'raw' ? raw(shape!, Number(tasks)) : planfold(shape!, Number(tasks)))
console.log(JSON.stringify(answer))
