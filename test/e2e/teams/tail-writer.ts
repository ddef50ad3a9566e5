// A process that writes so many notes: `tail-writer.ts DATABASE FOLDER NAME COUNT SHARED_PLAN`. Every fourth goes to a plan that others write to.

import type { PlanId } from '../../../src/domain/id.ts'
import { compose, parsePlan, trusted } from '../../../src/index.ts'

const [database, cwd, name, count, shared] = process.argv.slice(2) as [string, string, string, string, PlanId]
const { engine, close } = await compose({ cwd, environment: process.env, caller: trusted('ana'), database })
const parsed = parsePlan(`planfold: 1\nname: ${name}\ntasks: [{ id: a }]`)
if (!parsed.ok) throw new Error('the plan is wrong')
const made = await engine.submit(null, { type: 'create', definition: parsed.definition })
if (!made.ok) throw new Error(made.refusal.message)
const go = new Promise(resolve => process.once('message', resolve))
process.send!('ready')
await go
for (let at = 0; at < Number(count); at++) {
  const said = await engine.submit(at % 4 === 3 ? shared : made.plan, { type: 'note', text: `${name} ${at}` })
  if (!said.ok) throw new Error(said.refusal.message)
}
await close()
process.disconnect()
